"""docs/zoo.md from the results."""

import statistics

import numpy as np
from cases import cases
from verdicts import confusion, right, verdict

METHODS = ("provi", "SVI", "SVI tuned", "Laplace", "Pathfinder", "ADVI")
HEAD = """# The zoo

How far off are black-box answers? Every problem below is a log density in JAX, written for this page with small synthetic data
([bench/zoo](../bench/zoo)). Every method gets the density and its gradient, nothing else, and runs once with a fixed seed. Its
answer is held against a stored reference: a closed form, quadrature, or Hamiltonian Monte Carlo, 32 chains with r-hat
below 1.01.

*Error* is the largest error of a posterior mean over the named quantities of a problem, in posterior sds, on the scale of the
model. *Ratio* is the sd of the answer over that of the posterior, the worst of them. An answer is called right here if every
mean is within 0.1 sd and every sd within 20 %.

```sh
python3 bench/zoo/reference.py   # finds the references that are missing
python3 bench/zoo/run.py         # runs the methods and writes this page
python3 bench/zoo/calibrate.py   # how well provi's verdict separates
```

| method | setting |
|---|---|
| provi | `provi.black_box(f, d).fit()`, defaults |
| SVI | NumPyro 0.22 `AutoMultivariateNormal`, Adam 0.01, one draw, 5000 steps |
| SVI tuned | the same, Adam from 0.05 to 0.0001, ten draws, 3000 steps |
| Laplace | mode by BFGS from the origin, curvature by `jax.hessian` |
| Pathfinder | BlackJAX 1.7.1 `pathfinder.approximate`, one path, defaults |
| ADVI | PyMC 5.28 `fullrank_advi`, 10 000 steps, defaults, each of which calls back into Python |

Seconds leave compilation out; they were measured on two shared cores under load, and say little more than the order of size. The other
packages have run on a part of the problems so far: where a cell is empty, `run.py` fills it in.
"""


def write(results, page):
    plain = cases(("plain",))
    have = [case for case in plain if f"{case.name}/provi" in results]
    lines = [HEAD, f"provi as of commit {results.get('commit', 'unknown')}.", "", "## In short", ""]
    lines += ["| method | problems | right | off by more than 0.5 sd | median error | median evaluations | median seconds |"]
    lines += ["|---|---|---|---|---|---|---|"]
    for method in METHODS:
        found = [results[key] for case in have if (key := f"{case.name}/{method}") in results]
        if not found:
            lines.append(f"| {method} | not run | | | | | |")
            continue
        done = [r for r in found if "failed" not in r]
        errors = [r["mean_error"] for r in done] + [np.inf] * (len(found) - len(done))
        off = sum(not e <= 0.5 for e in errors)
        lines.append(
            f"| {method} | {len(found)} | {sum(right(r) for r in found)} | {off} | {_number(statistics.median(errors))} "
            f"| {statistics.median(r['evaluations'] for r in done):.0f} | {statistics.median(r['seconds'] for r in done):.2f} |"
        )
    lines += ["", "A method that raised an error or returned no Gaussian counts as off."]
    lines += ["", *near_gaussian(results, have)]
    lines += ["", *confusion(results, held_out=True), "", *confusion(results, held_out=False), "", "## Every problem", ""]
    lines += ["provi: error · ratio, evaluations, seconds, verdict. The others: error · ratio; a dash is a failure.", ""]
    lines += ["| problem | d | provi | evaluations | s | verdict | " + " | ".join(METHODS[1:]) + " |"]
    lines += ["|---|---|---|---|---|---|" + "---|" * len(METHODS[1:])]
    for case in have:
        ours = results[f"{case.name}/provi"]
        cells = [_pair(results.get(f"{case.name}/{method}")) for method in METHODS[1:]]
        spent = "– | –" if "failed" in ours else f"{ours['evaluations']} | {ours['seconds']:.2f}"
        lines.append(
            f"| {case.problem.name} | {case.problem.dim} | {_pair(ours)} | {spent} | {verdict(ours)} | " + " | ".join(cells) + " |"
        )
    page.write_text("\n".join(lines) + "\n")


# Errors of means below this, in sds, are within the error that a sampled reference may have itself.
REFERENCE = 1 / 30


def near_gaussian(results, have):
    """Where some method is right: is provi the best or within 20 % of it, for no more evaluations than tuned SVI?"""
    strict, within, cheaper, missed, compared = 0, 0, 0, [], 0
    for case in have:
        found = {m: r for m in METHODS if (r := results.get(f"{case.name}/{m}")) is not None and "failed" not in r}
        if "provi" not in found or "SVI tuned" not in found or not any(right(r) for r in found.values()):
            continue
        compared += 1
        ours, best = found["provi"], min(found, key=lambda m: found[m]["mean_error"])
        least = found[best]["mean_error"]
        cheaper += ours["evaluations"] <= found["SVI tuned"]["evaluations"]
        if ours["mean_error"] <= 1.2 * least:
            strict += 1
        elif ours["mean_error"] - least <= REFERENCE:
            within += 1
        else:
            missed.append(f"{case.problem.name} ({_number(ours['mean_error'])} for {_number(least)} by {best})")
    lines = ["## Near-Gaussian problems", ""]
    lines += [
        f"The goal: best, or within 20 % of the best error, wherever a Gaussian is enough, for no more evaluations than tuned SVI. Of the {compared} "
        f"problems on which some method is right and tuned SVI has run, provi's error is the smallest or within 20 % of it on {strict}. On {within} more it is "
        "larger by less than 1/30 sd, which is what the means of sampled references may be off themselves. "
        + (f"It is missed on {len(missed)}: {', '.join(missed)}." if missed else "It is missed on none.")
        + f" provi made no more evaluations than tuned SVI on {cheaper} of the {compared}."
    ]
    return lines


def _pair(record):
    if record is None:
        return ""
    if "failed" in record:
        return "–"
    text = f"{_number(record['mean_error'])} · {_number(record['sd_ratio'])}"
    return f"**{text}**" if right(record) else text


def _number(x):
    return "∞" if not np.isfinite(x) else f"{x:.2g}" if x < 100 else f"{x:.0f}"
