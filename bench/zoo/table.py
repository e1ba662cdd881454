"""docs/zoo.md from the results."""

import statistics

import numpy as np
from cases import CONDITIONS, SPLITS, cases
from verdicts import confusion, of_plain, right, verdict

METHODS = ("provi", "SVI", "SVI tuned", "Laplace", "Pathfinder", "ADVI")
RECIPES = ("natural-gradient", "bures-wasserstein", "batch-and-match")
HEAD = """# The zoo

How far off are black-box answers? Every problem below is a log density in JAX, written for this page with small synthetic data
([bench/zoo](../bench/zoo)). Every method gets the density and its gradient, nothing else, and runs once with a fixed seed. Its
answer is held against a stored reference: a closed form, quadrature, or Hamiltonian Monte Carlo, 32 chains with r-hat
below 1.01.

*Error* is the largest error of a posterior mean over the named quantities of a problem, in posterior sds, on the scale of the
model. *Ratio* is the sd of the answer over that of the posterior, the worst of them. An answer is called right here if every
mean is within 0.1 sd and every sd within 20 %. *Evaluations* are of the density with its gradient; those that provi makes for its
verdict alone are not among them, and are told below.

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
| ADVI | PyMC 5.28 `fullrank_advi`, 10 000 steps, defaults; each step calls the compiled density once |

Seconds leave compilation out; they were measured on two shared cores under load, and say little more than the order of size.
"""


def write(results, page):
    """The page. A section for which there are no results stays as it is."""
    kept = sections(page.read_text()) if page.exists() else {}
    plain = [case for case in cases(("plain",)) if f"{case.name}/provi" in results]
    have, later = ([case for case in plain if case.problem.later == flag] for flag in (False, True))
    lines = [HEAD, f"provi as of commit {results.get('commit', 'unknown')}.", "", *in_short(results, have)]
    lines += ["", *near_gaussian(results), "", _kept_recipes(results, page), "", *(of_plain(results, have) if have else []), ""]
    for split in SPLITS:
        title = f"Is the verdict right? ({split} cases)"
        lines += [*(confusion(results, split) if _has_all_conditions(results, split) else kept.get(title, [])), ""]
    lines += every("Every problem", results, have) if have else kept.get("Every problem", [])
    lines += ["", *(every("Every later problem", results, later) if later else kept.get("Every later problem", []))]
    page.write_text("\n".join(lines).rstrip() + "\n")


def sections(text):
    """The lines below each heading of the second order, with it, by its words."""
    found, lines = {}, None
    for line in text.splitlines():
        if line.startswith("## "):
            lines = found.setdefault(line.removeprefix("## "), [])
        if lines is not None:
            lines.append(line)
    return {title: "\n".join(lines).rstrip().splitlines() for title, lines in found.items()}


def _has_all_conditions(results, split):
    ran = {case.condition for case in cases() if case.split == split and f"{case.name}/provi" in results}
    return ran == set(CONDITIONS)


def in_short(results, have):
    lines = ["## In short", "", *_short_head(), *[_in_short(results, have, method) for method in METHODS], ""]
    lines += ["A method that raised an error, returned no Gaussian or took too long counts as off, with an infinite error."]
    failed = {m: [case.problem.name for case in have if _failed(results.get(f"{case.name}/{m}"))] for m in METHODS}
    told = [f"{method} on {len(names)} ({', '.join(names[:12])}{', …' if len(names) > 12 else ''})" for method, names in failed.items() if names]
    lines[-1] += f" It happened to {_listed(told)}." if told else " It happened to none."
    late = [f"{method} on {case.problem.name}" for case in have for method in METHODS if _late(results.get(f"{case.name}/{method}"))]
    lines[-1] += f" What took too long: {', '.join(late)}." if late else " None took too long."
    if any(case.problem.later for case in cases(("plain",))):
        lines[-1] += " The problems from trend-0 on, which were written later to test the verdict, are not among these."
    absent = {m: [case.problem.name for case in have if f"{case.name}/{m}" not in results] for m in METHODS}
    parts = [f"{method} on {len(names)}" + (f" ({', '.join(names)})" if len(names) <= 25 else "") for method, names in absent.items() if names]
    if parts:
        lines += ["", f"Not run for want of time, an empty cell below: {_listed(parts)}. Problems of few dimensions ran first at the end, so what has run is no fair sample."]
    same = [case for case in have if all(f"{case.name}/{method}" in results for method in METHODS)]
    if same and len(same) < len(have):
        lines += ["", "### All of them on the same problems", "", f"The {len(same)} problems on which all of them have run.", ""]
        lines += [*_short_head(), *[_in_short(results, same, method) for method in METHODS]]
    return lines


def _short_head():
    return [
        "| method | problems | right | off by more than 0.5 sd | median error | median evaluations | median seconds |",
        "|---|---|---|---|---|---|---|",
    ]


def _failed(record):
    return record is not None and ("failed" in record or not np.isfinite(record["mean_error"]))


def _late(record):
    return record is not None and record.get("failed", "").startswith("not done after")


def _listed(words):
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def every(title, results, have):
    """Every answer: errors of all methods, and what provi's cost and says."""
    others = [m for m in METHODS[1:] if any(f"{case.name}/{m}" in results for case in have)]
    lines = [f"## {title}", "", f"provi as of commit {results.get('commit', 'unknown')}: error · ratio, evaluations, seconds, verdict."]
    lines[-1] += " The others: error · ratio; a dash is a failure." if others else ""
    head = ["problem", "d", "provi", "evaluations", "s", "verdict", *others]
    lines += ["", f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for case in have:
        ours = results[f"{case.name}/provi"]
        spent = ("–", "–") if "failed" in ours else (f"{ours['evaluations']}", f"{ours['seconds']:.2f}")
        cells = [case.problem.name, f"{case.problem.dim}", _pair(ours), *spent, verdict(ours)]
        cells += [_pair(results.get(f"{case.name}/{method}")) for method in others]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _in_short(results, have, method):
    found = [results[f"{case.name}/{method}"] for case in have if f"{case.name}/{method}" in results]
    if not found:
        return f"| {method} | not run | | | | | |"
    done = [r for r in found if "failed" not in r]
    errors = [r["mean_error"] for r in done] + [np.inf] * (len(found) - len(done))
    off = sum(not e <= 0.5 for e in errors)
    start = f"| {method} | {len(found)} | {sum(right(r) for r in found)} | {off} | {_number(statistics.median(errors))} "
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
# The same of a reference that is exact: what the quasi-random points leave over.
POINTS_LEAVE = 1e-3


def _compared(results):
    """The problems with provi's and tuned SVI's answers on which some method is right: (case, records by method, the best)."""
    for case in cases(("plain",)):
        found = {m: r for m in METHODS if (r := results.get(f"{case.name}/{m}")) is not None and "failed" not in r}
        if "provi" in found and "SVI tuned" in found and any(right(r) for r in found.values()):
            yield case, found, min(found, key=lambda m: found[m]["mean_error"])


def behind(results):
    """Where provi's error is more than 20 % larger than the least of another method: (case, that method)."""
    return [(case, best) for case, found, best in _compared(results) if not _near(found["provi"], found[best])]


def _near(record, best):
    return record["mean_error"] <= 1.2 * best["mean_error"]


def near_gaussian(results):
    """Where some method is right: is provi the best or within 20 % of it, for no more evaluations than tuned SVI?"""
    compared = list(_compared(results))
    if not compared:
        return ["## Near-Gaussian problems", "", "Not run."]
    costly = [case.problem.name for case, found, _ in compared if found["provi"]["evaluations"] > found["SVI tuned"]["evaluations"]]
    called = [(found["provi"].get("called"), found["SVI tuned"]["evaluations"]) for _, found, _ in compared]
    within = sum(ours is not None and ours <= theirs for ours, theirs in called)
    known = [ours for ours, _ in called if ours is not None]
    far, missed, unresolved = behind(results), [], []
    for case, best in far:
        ours, theirs = (results[f"{case.name}/{method}"]["mean_error"] for method in ("provi", best))
        (unresolved if ours - theirs <= (POINTS_LEAVE if case.problem.exact else REFERENCE) else missed).append((case, best))
    lines = [
        "## Near-Gaussian problems",
        "",
        "The goal: best, or within 20 % of the best error, wherever a Gaussian is enough, for no more evaluations than tuned SVI. A Gaussian is "
        f"enough where the answer of some method is right, which is so on {len(compared)} of the problems that tuned SVI has run on. provi's error is the smallest or within 20 % of it "
        f"on {len(compared) - len(far)} of them. On {len(unresolved)} more it is larger by less than the reference may be off itself: 1/30 sd for a sampled "
        f"one, 1/1000 sd for an exact one, which is what the quasi-random points leave over. "
        + (f"The goal is missed on {len(missed)}: {', '.join(case.problem.name for case, _ in missed)}. " if missed else "It is missed on none. ")
        + f"provi made no more evaluations than tuned SVI on {len(compared) - len(costly)} of the {len(compared)}"
        + (f"; it made more on {_listed(costly)}. " if costly else ". ")
        + (
            f"These are the evaluations of the search, as `fit.gradient_evaluations` counts them. For its verdict, which the others do not give, provi calls the density at more points: "
            f"{statistics.median(known):.0f} in all at the median, and with those it stays within the number of tuned SVI on {within} of the {len(compared)}."
            if known
            else ""
        ),
        "",
        f"The methods on these {len(compared)} problems; the last column counts those where the error is best or within 20 % of the best.",
        "",
        "| method | right | median error | median evaluations | best or within 20 % |",
        "|---|---|---|---|---|",
    ]
    for method in METHODS:
        found = [(records[method], records[best]) for _, records, best in compared if method in records]
        if found:
            errors = [r["mean_error"] for r, _ in found] + [np.inf] * sum(_failed(results.get(f"{case.name}/{method}")) and method not in records for case, records, _ in compared)
            evaluations = statistics.median(r["evaluations"] for r, _ in found)
            lines.append(
                f"| {method} | {sum(right(r) for r, _ in found)} | {_number(statistics.median(errors))} | {evaluations:.0f} "
                f"| {sum(_near(r, best) for r, best in found)} |"
            )
    return [*lines, *_reasons(results, missed, unresolved)]


def _reasons(results, missed, unresolved):
    """Where another method's error is smaller: whose Gaussian fits better, by the ELBO that they all seek."""
    pairs = [(case, best, True) for case, best in missed] + [(case, best, False) for case, best in unresolved]
    pairs = [(*p, found) for p in pairs if "difference" in (found := results.get(f"{p[0].name}/elbos", {})) and found["other"] == p[1]]
    if not pairs:
        told = [
            f"{case.problem.name} ({_number(results[f'{case.name}/provi']['mean_error'])} for {_number(results[f'{case.name}/{best}']['mean_error'])} by {best})"
            for case, best in missed + unresolved
        ]
        if not told:
            return []
        return [
            "",
            f"provi's error is more than 20 % above the least on {_listed(told)}. Whose Gaussian has the higher ELBO there has not been compared yet: "
            "`run.py --elbos` does it. No reason for the misses is established in this run.",
        ]
    sure = lambda found: abs(found["difference"]) > 3 * found["error"]  # noqa: E731
    higher = sum(sure(found) and found["difference"] > 0 for *_, found in pairs)
    lower = [case.problem.name for case, _, _, found in pairs if sure(found) and found["difference"] < 0]
    lines = [
        "",
        "Why is another method's error smaller on some? All methods but Laplace and Pathfinder seek the Gaussian with the highest ELBO, and its mean is not that of the posterior. "
        f"The table holds the ELBOs of both answers against each other, with {1 << 17} draws and the same noise for both. provi's is higher by more than three standard errors on "
        f"{higher} of {len(pairs)}, lower on {len(lower)}" + (f" ({', '.join(lower)})" if lower else "") + f", and cannot be told from the other's on {len(pairs) - higher - len(lower)}. "
        "Where provi's is not the lower one, the smaller error of the other is luck: a Gaussian that fits no better lies nearer in the one mean that counts here.",
        "",
        "| problem | goal | provi's error | least error | by | provi's evaluations | that method's | provi's ELBO less the other's |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for case, best, is_missed, found in pairs:
        ours, theirs = (results[f"{case.name}/{method}"] for method in ("provi", best))
        lines.append(
            f"| {case.problem.name} | {'missed' if is_missed else 'within the error of the reference'} | {_number(ours['mean_error'])} | {_number(theirs['mean_error'])} | {best} "
            f"| {ours['evaluations']} | {theirs['evaluations']} | {found['difference']:.2g} ± {found['error']:.1g} |"
        )
    return lines


def _pair(record):
    if record is None:
        return ""
    if _failed(record):
        return "–"
    text = f"{_number(record['mean_error'])} · {_number(record['sd_ratio'])}"
    return f"**{text}**" if right(record) else text


def _number(x):
    return "∞" if not np.isfinite(x) else f"{x:.2g}" if x < 100 else f"{x:.0f}" if x < 1e6 else f"{x:.0e}"
