#!/usr/bin/env python3
"""Many group effects: provi beside lme4 and NumPyro's mean-field guide, on the same file in one run.

    python3 bench/groups.py --provi target/release/provi                      # a million rows, 100 000 groups, 20 columns
    python3 bench/groups.py --provi target/release/provi --curve docs/groups.svg   # cost from 10² to 10⁵ groups, provi alone

A logistic model y ~ x0 + … + (1 | g), simulated with a deviation of 0.8 between groups. Every tool reads the CSV file itself; a tool
that takes longer than --cap seconds is "not finished". Seconds are those of the whole process; peak memory is the process's own. The largest
difference of a coefficient from provi's with the scale integrated out is shown beside each. NumPyro and numpy are those of
compare/requirements.txt, lme4 belongs to R (Debian: r-cran-lme4). A tool that is not there is skipped.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

DEVIATION, PRIOR = 0.8, 2.5
LME4 = """
suppressMessages(library(lme4))
a <- commandArgs(TRUE)
d <- read.csv(a[1])
d$g <- factor(d$g)
m <- glmer(as.formula(a[2]), d, family = binomial, nAGQ = as.integer(a[3]))
cat(sprintf('{"mean": [%s], "sd": %.10g}', paste(sprintf("%.10g", fixef(m)), collapse = ","), attr(VarCorr(m)$g, "stddev")))
"""
NUMPYRO = """
import json, sys, time
import jax, numpy as np, numpyro, pandas
import numpyro.distributions as dist
from numpyro.infer import SVI, Trace_ELBO, autoguide
jax.config.update("jax_enable_x64", True)
path, sd, prior, steps = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
table = pandas.read_csv(path)
y, g = table["y"].to_numpy(float), pandas.factorize(table["g"])[0]
x = table.drop(columns=["y", "g"]).to_numpy()
x = np.column_stack([np.ones(len(x)), x])
groups = g.max() + 1
def model():
    beta = numpyro.sample("beta", dist.Normal(0, prior).expand([x.shape[1]]).to_event(1))
    u = numpyro.sample("u", dist.Normal(0, sd).expand([groups]).to_event(1))
    numpyro.sample("y", dist.Bernoulli(logits=x @ beta + u[g]), obs=y)
guide = autoguide.AutoNormal(model)
svi = SVI(model, guide, numpyro.optim.Adam(0.01), Trace_ELBO())
result = svi.run(jax.random.PRNGKey(0), steps, progress_bar=False)
loss = jax.jit(lambda key: Trace_ELBO().loss(key, result.params, model, guide))
losses = np.array([loss(key) for key in jax.random.split(jax.random.PRNGKey(1), 50)])
mean = np.asarray(guide.median(result.params)["beta"])
print(json.dumps({"mean": mean.tolist(), "elbo": -losses.mean(), "error": losses.std() / 50**0.5}))
"""


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def simulate(path, rows, groups, columns):
    """Writes the table, and returns the formula."""
    random = np.random.default_rng(21)
    beta, effects = 0.3 * random.normal(size=columns), DEVIATION * random.normal(size=groups)
    names = [f"x{j}" for j in range(columns)]
    with open(path, "w") as file:
        file.write(",".join(["y", *names, "g"]) + "\n")
        for first in range(0, rows, 100_000):
            x = random.normal(size=(min(100_000, rows - first), columns)).round(4)
            g = random.integers(groups, size=len(x))
            y = random.uniform(size=len(x)) < 1 / (1 + np.exp(0.3 - x @ beta - effects[g]))
            np.savetxt(file, np.column_stack([y, x, g]), fmt=["%d", *["%.4f"] * columns, "g%d"], delimiter=",")
    return "y ~ " + " + ".join([*names, "(1 | g)"])


def call(command, cap):
    """Runs a command: what it printed, its seconds and its peak memory in bytes; None in place of the text if it did not finish."""
    begin = time.monotonic()
    with tempfile.TemporaryFile("w+") as out:
        child = subprocess.Popen([str(word) for word in command], stdout=out, stderr=subprocess.PIPE, text=True)
        deadline, usage = begin + cap, None
        while usage is None and time.monotonic() < deadline:
            pid, status, found = os.wait4(child.pid, os.WNOHANG)
            usage = found if pid else None
            time.sleep(0 if pid else 0.02)
        if usage is None:
            child.kill()
            _, _, usage = os.wait4(child.pid, 0)
            return None, cap, usage.ru_maxrss * 1024
        seconds = time.monotonic() - begin
        if os.waitstatus_to_exitcode(status) not in (0, 1):
            sys.exit(f"{command[0]} failed: {child.stderr.read()[-2000:]}")
        out.seek(0)
        return out.read(), seconds, usage.ru_maxrss * 1024


def provi(binary, path, formula, options, cap):
    """Fits by the command: fit.json, seconds, memory."""
    with tempfile.TemporaryDirectory() as folder:
        fit = pathlib.Path(folder) / "fit"
        command = [binary, "fit", path, formula, "--out", fit, "--quiet", *options]
        text, seconds, memory = call(command, cap)
        return (None if text is None else json.loads((fit / "fit.json").read_text())), seconds, memory


def line(name, seconds, memory, error="", deviation="", elbo=""):
    print(f"| {name} | {seconds} | {memory / 1e9:.2f} GB | {error} | {deviation} | {elbo} |", flush=True)


def rivals(arguments):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "groups.csv"
        say("simulating")
        formula = simulate(path, arguments.rows, arguments.groups, arguments.columns)
        columns = 1 + arguments.columns
        print("| tool | seconds | peak memory | largest difference of a coefficient | deviation of groups | ELBO |")
        print("|---|---|---|---|---|---|")
        say("provi, scale integrated out")
        prior = ["--prior", f"normal(0, {PRIOR})"]
        found, seconds, memory = provi(arguments.provi, path, formula, ["--scales", "integrate", *prior], arguments.cap)
        if found is None:
            return line("provi, scale integrated out", "not finished", memory)
        mean = np.array(found["mean"][:columns])
        scale = found["mixture"]["scales"][0]
        line("provi, scale integrated out", f"{seconds:.1f}", memory, "0", f"{scale['mean']:.4f}")
        say("provi, scale given")
        found, seconds, memory = provi(
            arguments.provi, path, formula, ["--group-scale", DEVIATION, *prior], arguments.cap)
        off = np.max(np.abs(np.array(found["mean"][:columns]) - mean))
        line("provi, scale given", f"{seconds:.1f}", memory, f"{off:.1e}", DEVIATION, f"{-found['neg_elbo']:.2f}")
        for points in (0, 1) if shutil.which("Rscript") else ():
            name = f"lme4 glmer, nAGQ = {points}"
            say(name)
            text, seconds, memory = call(["Rscript", "-e", LME4, path, formula, points], arguments.cap)
            if text is None:
                line(name, f"not finished in {arguments.cap}", memory)
                continue
            answer = json.loads(text)
            off = np.max(np.abs(np.array(answer["mean"]) - mean))
            line(name, f"{seconds:.1f}", memory, f"{off:.1e}", f"{answer['sd']:.4f}")
        if subprocess.run([sys.executable, "-c", "import numpyro, pandas"], capture_output=True).returncode == 0:
            for steps in (1000, 5000):
                name = f"NumPyro mean-field, scale given, {steps} steps of Adam(0.01)"
                say(name)
                text, seconds, memory = call(
                    [sys.executable, "-c", NUMPYRO, path, DEVIATION, PRIOR, steps], arguments.cap)
                if text is None:
                    line(name, f"not finished in {arguments.cap}", memory)
                    continue
                answer = json.loads(text)
                off = np.max(np.abs(np.array(answer["mean"]) - mean))
                elbo = f"{answer['elbo']:.2f} ± {answer['error']:.2f}"
                line(name, f"{seconds:.1f}", memory, f"{off:.1e}", DEVIATION, elbo)


def curve(arguments):
    """Cost against the number of coefficients, ten rows a group; with a dense factor as far as --factor dense is sensible."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    found = {"sparse": [], "dense": []}
    print("| groups | factor | seconds of the solver | seconds | peak memory | gap ≤ |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for groups in (100, 300, 1000, 3000, 10_000, 30_000, 100_000):
            path = pathlib.Path(folder) / "groups.csv"
            formula = simulate(path, 10 * groups, groups, arguments.columns)
            for factor in ("sparse", "dense"):
                if factor == "dense" and groups > 1000:
                    continue
                say(f"{groups} groups, {factor}")
                options = ["--group-scale", DEVIATION, "--factor", factor, "--audit-draws", 100]
                fit, seconds, memory = provi(arguments.provi, path, formula, options, arguments.cap)
                solver, gap = fit["seconds"], fit["certificate"]["gap"]["bound"]
                found[factor].append((groups + 1 + arguments.columns, solver, memory))
                print(f"| {groups} | {factor} | {solver:.3f} | {seconds:.2f} | {memory / 1e6:.0f} MB | {gap:.1e} |", flush=True)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for name, marker in (("sparse", "o"), ("dense", "s")):
        d, seconds, memory = np.array(found[name]).T
        axes[0].loglog(d, seconds, marker + "-", label=f"{name} factor")
        axes[1].loglog(d, memory / 1e6, marker + "-", label=f"{name} factor")
    d, seconds, _ = np.array(found["sparse"]).T
    axes[0].loglog(d, seconds[-1] * d / d[-1], "k:", label="linear in d")
    axes[0].set(xlabel="coefficients d", ylabel="seconds of the solver")
    axes[1].set(xlabel="coefficients d", ylabel="peak memory of the process, MB")
    axes[0].legend()
    figure.savefig(arguments.curve)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--provi", required=True, type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--groups", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--cap", type=float, default=1200)
    parser.add_argument("--curve", type=pathlib.Path)
    arguments = parser.parse_args()
    curve(arguments) if arguments.curve else rivals(arguments)


if __name__ == "__main__":
    main()
