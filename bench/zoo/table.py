"""docs/zoo.md from the results."""

import statistics

import numpy as np
from cases import SPLITS, cases
from verdicts import confusion, right, verdict

METHODS = ("provi", "SVI", "SVI tuned", "Laplace", "Pathfinder", "ADVI")
RECIPES = ("natural-gradient", "bures-wasserstein", "batch-and-match")
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

Seconds leave compilation out; they were measured on two shared cores under load, and say little more than the order of size. Where a
cell is empty, the method has not run on the problem yet: `run.py` fills it in, in an order that depends on the names of the problems
alone, so that a part of them is a fair sample. The column "provi there" counts provi's right answers on the same problems.
"""


def write(results, page):
    plain = cases(("plain",))
    have = [case for case in plain if f"{case.name}/provi" in results]
    lines = [HEAD, f"provi as of commit {results.get('commit', 'unknown')}.", "", "## In short", ""]
    lines += ["| method | problems | right | provi there | off by more than 0.5 sd | median error | median evaluations | median seconds |"]
    lines += ["|---|---|---|---|---|---|---|---|"]
    lines += [_in_short(results, have, method) for method in METHODS]
    lines += ["", "A method that raised an error or returned no Gaussian counts as off."]
    lines += ["", *near_gaussian(results, have), "", _kept_recipes(results, page)]
    lines += ["", *[line for split in SPLITS for line in [*confusion(results, split), ""]], "## Every problem", ""]
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


def _in_short(results, have, method):
    ran = [case for case in have if f"{case.name}/{method}" in results]
    found = [results[f"{case.name}/{method}"] for case in ran]
    if not found:
        return f"| {method} | not run | | | | | | |"
    done = [r for r in found if "failed" not in r]
    errors = [r["mean_error"] for r in done] + [np.inf] * (len(found) - len(done))
    off = sum(not e <= 0.5 for e in errors)
    ours = sum(right(results[f"{case.name}/provi"]) for case in ran)
    start = f"| {method} | {len(found)} | {sum(right(r) for r in found)} | {ours} | {off} | {_number(statistics.median(errors))} "
    if not done:
        return f"{start}| | |"
    evaluations, seconds = (statistics.median(r[key] for r in done) for key in ("evaluations", "seconds"))
    return f"{start}| {evaluations:.0f} | {seconds:.2f} |"


BEGIN, END = "<!-- recipes: written by bench/zoo/run.py --recipes -->", "<!-- end of the recipes -->"


def recipes(results):
    """provi's unproven recipes beside its default, on the problems that all of them have run on."""
    methods = ("provi", *RECIPES, "mixture")
    have = [case for case in cases(("plain",)) if all(f"{case.name}/{method}" in results for method in methods)]
    lines = [BEGIN, "## Recipes", ""]
    if not have:
        return [*lines, "Not run.", END]
    lines += [
        "provi's own unproven [recipes](guide/methods.md#recipes) on the same problems: each 400 steps of 32 draws from the Laplace approximation; and a "
        f"[mixture](guide/mixtures.md) of at most eight Gaussians, with its defaults. {len(have)} problems on which all of them have run, from the default start; commit "
        f"{results.get('commit', 'unknown')}. They are taken in an order that depends on their names alone, so a part of them is a fair sample. A failure counts as off.",
        "",
    ]
    lines += ["| method | problems | right | off by more than 0.5 sd | median error | median evaluations | median seconds |"]
    lines += ["|---|---|---|---|---|---|---|", *(_in_short(results, have, method) for method in methods), ""]
    lines += [*_mixture_words(results, have), "", "Error · ratio, and the evaluations and components of the mixture; a dash is a failure.", ""]
    lines += ["| problem | d | " + " | ".join(methods) + " | evaluations | components | verdict |"]
    lines += ["|---|---|" + "---|" * (len(methods) + 3)]
    for case in have:
        cells = [_pair(results[f"{case.name}/{method}"]) for method in methods]
        last = results[f"{case.name}/mixture"]
        spent = "– | –" if "failed" in last else f"{last['evaluations']} | {last['components']}"
        lines.append(f"| {case.problem.name} | {case.problem.dim} | {' | '.join(cells)} | {spent} | {verdict(last)} |")
    return [*lines, END]


def _mixture_words(results, have):
    pairs = [(results[f"{case.name}/provi"], results[f"{case.name}/mixture"]) for case in have]
    both = [(one, many) for one, many in pairs if "failed" not in one and "failed" not in many]
    if not both:
        return []
    more = sum(many["components"] > 1 for _, many in both)
    noise = lambda one, many: 3 * np.hypot(one["elbo_error"] or 0.0, many["elbo_error"] or 0.0)  # noqa: E731
    known = [(one, many) for one, many in both if all(x is not None and np.isfinite(x) for x in (one["elbo"], many["elbo"]))]
    higher = sum(many["elbo"] > one["elbo"] + noise(one, many) for one, many in known)
    lower = sum(many["elbo"] < one["elbo"] - noise(one, many) for one, many in known)
    gained = sum(right(many) and not right(one) for one, many in both)
    lost = sum(right(one) and not right(many) for one, many in both)
    good = [many for _, many in both if verdict(many) == "good"]
    off = [many for _, many in both if not many["mean_error"] <= 0.5]
    return [
        f"The mixture has several components on {more} of {len(both)} problems. Its ELBO is higher than that of provi's Gaussian by more than three standard errors on {higher}, and lower on "
        f"{lower}. It is right on {gained} problems where the Gaussian is not, and not right on {lost} where the Gaussian is. Of its answers called good, {sum(right(r) for r in good)} of {len(good)} "
        f"are right; of those off by more than 0.5 sd, {sum(verdict(r) == 'do not use' for r in off)} of {len(off)} are called \"do not use\"."
    ]


def _kept_recipes(results, page):
    """The section of the recipes: of these results if they have run, else the one that is there."""
    text = page.read_text() if page.exists() else ""
    if BEGIN in text and not any(key.endswith("/mixture") for key in results):
        return text[text.index(BEGIN) : text.index(END) + len(END)]
    return "\n".join(recipes(results))


def write_recipes(results, page):
    """The section of the recipes alone; the rest of the page stays as it is."""
    text, section = page.read_text(), "\n".join(recipes(results))
    if BEGIN in text:
        text = text[: text.index(BEGIN)] + section + text[text.index(END) + len(END) :]
    else:
        at = text.index("## Is the verdict right?")
        text = f"{text[:at]}{section}\n\n{text[at:]}"
    page.write_text(text)


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
    return "∞" if not np.isfinite(x) else f"{x:.2g}" if x < 100 else f"{x:.0f}" if x < 1e6 else f"{x:.0e}"
