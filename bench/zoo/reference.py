#!/usr/bin/env python3
"""Finds the reference answers and stores them, one small file for each problem, with how they were found.

    python3 bench/zoo/reference.py                   # those that are missing
    python3 bench/zoo/reference.py --again NAME …    # these anew

Closed forms and quadrature where the model has them, else Hamiltonian Monte Carlo: 32 chains in the coordinates in which
the model mixes, r-hat below 1.01, the error of every mean below a thirtieth of a posterior sd and that of every sd below
6 %, in a longer run if the first falls short.
Needs jax and arviz.
"""

import argparse
import json
import pathlib
import sys
import time
import warnings
from dataclasses import replace

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import jax
from models import problems
from models.problem import flat

STORE = HERE / "references"
# (draws of each chain, how many times as long the warm-up): the first run that is good enough counts.
LENGTHS = ((250, 1), (1000, 2))
MEAN_ERROR, SD_ERROR, R_HAT = 1 / 30, 0.06, 1.01


def set_up():
    """float64, and compiled code kept across runs, in the build folder."""
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_compilation_cache_dir", str(HERE.parents[1] / "target" / "zoo" / "jax"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)


def stored(problem):
    """The reference of a problem: {name: (mean, sd)}, in the order of its names."""
    record = json.loads((STORE / f"{problem.name}.json").read_text())
    return {name: tuple(record["moments"][name]) for name in problem.names()}


def by_hmc(asked, seed=1):
    import arviz as az
    import hmc

    problem = replace(asked.sampled_as, mirror=asked.mirror) if asked.sampled_as else asked
    values = jax.jit(jax.vmap(jax.vmap(flat(problem.quantities), (0, None)), (0, None)))
    to_z = jax.jit(jax.vmap(jax.vmap(problem.twin.to_z, (0, None)), (0, None))) if problem.twin else None
    for draws, longer in LENGTHS:
        w, rate = hmc.sample(problem, seed, draws, longer)
        z = to_z(w, problem.data) if to_z else w
        one_side = np.asarray(values(z, problem.data))
        scale = one_side.std(axis=(0, 1))
        squares = (one_side - one_side.mean(axis=(0, 1))) ** 2
        chains = az.convert_to_dataset({"q": one_side, "squares": squares})
        r_hat = float(az.rhat(chains)["q"].max())
        mean_error = float((az.mcse(chains, method="mean")["q"].values / scale).max())
        # d sd² = 2 sd d sd: the error of the sd, in sds, from that of the mean square.
        sd_error = float((az.mcse(chains, method="mean")["squares"].values / (2 * scale**2)).max())
        if r_hat < R_HAT and mean_error < MEAN_ERROR and sd_error < SD_ERROR:
            break
    both = one_side
    if problem.mirror:
        flip = jax.jit(jax.vmap(jax.vmap(problem.mirror, (0, None)), (0, None)))
        both = np.concatenate([one_side, np.asarray(values(flip(z, problem.data), problem.data))])
    moments = zip(problem.names(), both.mean(axis=(0, 1)), both.std(axis=(0, 1)))
    how = "HMC" + (" in other coordinates" if problem.twin or asked.sampled_as else "") + (", both sides" if problem.mirror else "")
    return {
        "method": how,
        "moments": {name: [float(mean), float(sd)] for name, mean, sd in moments},
        "chains": hmc.CHAINS, "warmup": longer * sum(hmc.WINDOWS), "draws": draws, "target_accept": problem.accept, "seed": seed,
        "r_hat": round(r_hat, 5), "acceptance": round(rate, 3),
        "mean_error_in_sds": round(mean_error, 5), "sd_error_relative": round(sd_error, 5),
        "met": bool(r_hat < R_HAT and mean_error < MEAN_ERROR and sd_error < SD_ERROR),
        "versions": {"jax": jax.__version__, "numpy": np.__version__},
    }


def by_formula(problem):
    found = {name: list(pair) for name, pair in problem.exact(problem).items()}
    moments = {name: found[name] for name in problem.names()}
    return {"method": "quadrature or closed form", "moments": moments, "met": True, "versions": {"numpy": np.__version__}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--again", nargs="*", default=[], help="problems to do anew")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)
    set_up()
    STORE.mkdir(exist_ok=True)
    for problem in sorted(problems(), key=lambda problem: problem.exact is None):
        path = STORE / f"{problem.name}.json"
        if path.exists() and problem.name not in options.again:
            continue
        begin = time.monotonic()
        record = by_formula(problem) if problem.exact else by_hmc(problem)
        path.write_text(json.dumps({"problem": problem.name, "dim": problem.dim, **record}, indent=1) + "\n")
        note = "" if record["met"] else f"  NOT MET: r-hat {record['r_hat']}, mean error {record['mean_error_in_sds']}"
        print(f"{problem.name}: {record['method']}, {time.monotonic() - begin:.1f} s{note}", flush=True)


if __name__ == "__main__":
    main()
