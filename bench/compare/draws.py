#!/usr/bin/env python3
"""Draws of a logistic posterior: exact ones by `provi sample --exact`, and NUTS of NumPyro, on the same tables.

    cargo build --release -p provi-cli
    PYTHON bench/compare/draws.py PROVI     # PYTHON with requirements.txt, PROVI the command

Prints a table. A NUTS draw counts as the smallest effective sample size of a coefficient says; its compilation and warm-up are
listed apart. Times of provi are of whole commands: reading, fitting, certifying; then the envelope and the draws.
"""

import csv
import pathlib
import subprocess
import sys
import tempfile
import time

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.diagnostics import effective_sample_size
from numpyro.infer import MCMC, NUTS

jax.config.update("jax_enable_x64", True)
numpyro.set_host_device_count(2)
PRIOR = 2.5


def table(rows, columns, seed):
    """Correlated columns, logits of standard deviation about 1.2."""
    rng = np.random.default_rng(seed)
    x = 0.8 * rng.standard_normal((rows, columns)) + 0.6 * rng.standard_normal((rows, 1))
    beta = rng.standard_normal(columns)
    s = x @ beta
    s *= 1.2 / s.std()
    return x, (rng.random(rows) < 1 / (1 + np.exp(-s))).astype(int)


def by_provi(provi, folder, x, y, draws):
    path = folder / "table.csv"
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow([f"x{j}" for j in range(x.shape[1])] + ["y"])
        out.writerows([*map(repr, map(float, row)), int(label)] for row, label in zip(x, y))
    begin = time.perf_counter()
    fit = [provi, "fit", path, "y ~ 0 + .", "--family", "bernoulli", "--prior", f"normal(0, {PRIOR})", "--quiet"]
    subprocess.run([*fit, "--out", folder / "fit"], check=True, capture_output=True)
    fitted = time.perf_counter()
    sample = [provi, "sample", folder / "fit", "--exact", "--data", path, "-n", str(draws), "--out", folder / "draws.csv"]
    subprocess.run(sample, check=True, capture_output=True)
    return fitted - begin, time.perf_counter() - fitted


def by_nuts(x, y, draws):
    x, y = jnp.asarray(x), jnp.asarray(y)

    def model():
        beta = numpyro.sample("beta", dist.Normal(0, PRIOR).expand([x.shape[1]]).to_event(1))
        numpyro.sample("y", dist.BernoulliLogits(x @ beta), obs=y)

    def run(warmup, kept, seed):
        mcmc = MCMC(NUTS(model), num_warmup=warmup, num_samples=kept, num_chains=2, progress_bar=False)
        begin = time.perf_counter()
        mcmc.warmup(jax.random.PRNGKey(seed))
        warm = time.perf_counter()
        mcmc.run(jax.random.PRNGKey(seed + 1))
        beta = np.asarray(mcmc.get_samples(group_by_chain=True)["beta"])
        return warm - begin, time.perf_counter() - warm, effective_sample_size(beta).min()

    first = run(1000, draws, 0)
    again = run(1000, draws, 10)
    return first, again


def main():
    provi = pathlib.Path(sys.argv[1]).resolve()
    print("| table | provi: fit and proof | envelope and 20 000 exact draws | draws a second | NUTS: compilation and warm-up | 2 × 5000 draws | smallest ESS | effective draws a second |")
    print("|---|---|---|---|---|---|---|---|")
    for rows, columns in [(569, 4), (1000, 20)]:
        x, y = table(rows, columns, 1)
        with tempfile.TemporaryDirectory() as folder:
            fit, sample = by_provi(provi, pathlib.Path(folder), x, y, 20_000)
        (first, *_), (_, seconds, ess) = by_nuts(x, y, 5000)
        print(
            f"| {rows} × {columns} | {fit:.2f} s | {sample:.2f} s | {20_000 / sample:.0f} "
            f"| {first:.1f} s | {seconds:.1f} s | {ess:.0f} | {ess / seconds:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
