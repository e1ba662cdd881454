#!/usr/bin/env python3
"""Compares provi with lme4, NumPyro and bambi on mixed models whose scales are unknown: seconds and errors, one run, one core.

    python3 bench/compare/mixed.py --provi target/release/provi --cache target/compare/mixed.json

provi, NumPyro and bambi get the same priors, those of crates/provi-cli/tests/mixed/references.json; lme4 has none. The
reference of the simulated problem is a long NUTS run, which the first call makes and the file of --cache keeps. It needs
numpy and numpyro of requirements.txt; bambi==0.17.2 wants matplotlib<3.11 beside it, so it has an environment of its own
or none; lme4 and jsonlite belong to R (Debian: r-cran-lme4 r-cran-jsonlite). A tool that is not there is skipped.
The table goes to standard output, the progress to standard error.
"""

import argparse
import csv
import hashlib
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

from run import ONE_THREAD, ROOT, machine

TESTS = ROOT / "crates" / "provi-cli" / "tests"
ROUNDS = 3
# Columns that make each model; `slope` is the column whose slope varies between groups, if any.
PROBLEMS = {
    "sleepstudy-independent": {"y": "Reaction", "fixed": ["Days"], "group": "Subject", "slope": "Days"},
    "sleepstudy-correlated": {"y": "Reaction", "fixed": ["Days"], "group": "Subject", "slope": "Days", "correlated": True},
    "cbpp": {"y": "incidence", "trials": "size", "fixed": ["period"], "factors": ["period"], "group": "herd"},
    "epil": {"y": "y", "fixed": ["trt", "lbase"], "factors": ["trt"], "group": "subject"},
    "simulated": {"y": "y", "fixed": ["x"], "group": "g", "slope": "x"},
}
SIMULATED = {
    "data": "simulated.csv",
    "formula": "y ~ x + (x || g)",
    "family": "bernoulli",
    "options": ["--scales", "integrate", "--prior", "normal(0, 10)", "--prior", "sd(g)=half_t(3, 2.5)"],
}
SIMULATED_EFFECTS = [f"({what} | g)[{level}]" for level in ("g01", "g20", "g40") for what in ("1", "x")]
R = """
suppressMessages({library(lme4); library(jsonlite)})
a <- commandArgs(TRUE)
d <- read.csv(a[1], stringsAsFactors = TRUE)
loaded <- proc.time()[["elapsed"]]
f <- as.formula(a[2])
m <- if (a[3] == "gaussian") lmer(f, d) else glmer(f, d, family = if (a[3] == "poisson") poisson else binomial)
done <- proc.time()[["elapsed"]]
v <- as.data.frame(VarCorr(m))
u <- as.data.frame(ranef(m, condVar = TRUE))
cat(toJSON(list(beta = unname(fixef(m)), se = unname(sqrt(diag(as.matrix(vcov(m))))), fit = done - loaded, singular = isSingular(m),
                version = as.character(packageVersion("lme4")), scales = v[c("grp", "var1", "var2", "sdcor")],
                effects = data.frame(term = as.character(u$term), level = as.character(u$grp), mean = u$condval, sd = u$condsd)),
           auto_unbox = TRUE, digits = NA))
"""


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def simulate(path):
    """Writes 40 groups of 50 binary rows, whose intercepts and slopes vary independently."""
    random = np.random.default_rng(40)
    rows = [["g", "x", "y"]]
    for g in range(40):
        intercept, slope = -0.5 + random.normal(0, 1), 1 + random.normal(0, 0.5)
        for x in random.standard_normal(50):
            chance = 1 / (1 + np.exp(-(intercept + slope * x)))
            rows.append([f"g{g + 1:02}", f"{x:.4f}", int(random.random() < chance)])
    with open(path, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


class Model:
    """One problem: its table, and its priors as numbers."""

    def __init__(self, name, reference, data):
        self.name, self.data, self.family = name, str(data), reference["family"]
        self.formula, self.options = reference["formula"], reference["options"]
        columns = PROBLEMS[name]
        self.y, self.trials, self.fixed = columns["y"], columns.get("trials"), columns["fixed"]
        self.factors, self.group = columns.get("factors", []), columns["group"]
        self.slope, self.correlated = columns.get("slope"), columns.get("correlated", False)
        with open(data, newline="") as file:
            rows = list(csv.DictReader(file))
        self.table = {key: np.array([row[key] for row in rows]) for key in rows[0]}
        self.levels = sorted(set(self.table[self.group]))
        self.terms = ["(Intercept)"] + [self.slope] * (self.slope is not None)
        self.scales = [f"sd({self.group}:{term})" for term in self.terms]
        self.given = {}
        for spec in self.options:
            if match := re.fullmatch(r"(?:(.+)=)?(normal|half_t|lkj)\((.+)\)", spec):
                self.given[match[1] or ""] = [float(word) for word in match[3].split(",")]

    def prior(self, *names):
        """The numbers of the first of these priors that was given; '' is that of every coefficient."""
        return next(self.given[name] for name in names if name in self.given)

    def scale_prior(self, scale):
        return self.prior(scale, f"sd({self.group})")

    def effect(self, term, level):
        return f"({'1' if term == '(Intercept)' else term} | {self.group})[{level}]"

    def correlation(self):
        return f"cor({','.join(f'{self.group}:{term}' for term in self.terms)})"

    def design(self):
        """Names and columns of the population coefficients; factors have treatment contrasts."""
        names, columns = ["(Intercept)"], [np.ones(len(self.table[self.y]))]
        for name in self.fixed:
            value = self.table[name]
            if name in self.factors:
                levels = sorted(set(value))[1:]
                names += [f"{name}[{level}]" for level in levels]
                columns += [(value == level).astype(float) for level in levels]
            else:
                names.append(name)
                columns.append(value.astype(float))
        return names, np.column_stack(columns)


def summary(draws):
    """Mean, sd and 95 % ends of each quantity."""
    return {k: [float(np.mean(v)), float(np.std(v)), *map(float, np.quantile(v, [0.025, 0.975]))] for k, v in draws.items()}


# ---------------------------------------------------------------- the tools


def provi(model, command):
    """The command prints its table ROUNDS times, timed as a whole process; one more run, not timed, gives the numbers."""
    fit = [command, "fit", model.data, model.formula, "--family", model.family, *model.options, "--quiet"]
    seconds = []
    for _ in range(ROUNDS):
        begin = time.monotonic()
        done = subprocess.run(fit, capture_output=True, text=True)
        seconds.append(time.monotonic() - begin)
        if done.returncode not in (0, 1, 3):
            raise RuntimeError(done.stderr)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*fit, "--out", f"{folder}/fit"], capture_output=True)
        scales = json.loads(pathlib.Path(f"{folder}/fit/fit.json").read_text())["mixture"]["scales"]
        said = subprocess.run([command, "summary", f"{folder}/fit", "--groups", "--json"], capture_output=True, check=True)
    found = {s["name"]: [s["mean"], s["sd"], s["lower"], s["upper"]] for s in scales}
    found |= {c["name"]: [c["mean"], c["sd"], *c["interval"]] for c in json.loads(said.stdout)["coefficients"]}
    return {"seconds": statistics.median(seconds), "found": found, "apart": f"{min(seconds):.2f} to {max(seconds):.2f} s"}


def lme4(model, _):
    """Rscript is timed as a whole process. Scales are estimates without an sd and without ends."""
    formula = model.formula
    if model.trials:
        formula = formula.replace(f"{model.y} | trials({model.trials})", f"cbind({model.y}, {model.trials} - {model.y})")
    seconds, fits = [], []
    for _ in range(ROUNDS):
        begin = time.monotonic()
        done = subprocess.run(["Rscript", "-e", R, model.data, formula, model.family], capture_output=True, text=True)
        seconds.append(time.monotonic() - begin)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        said = json.loads(done.stdout)
        fits.append(said["fit"])

    def normal(mean, sd):
        return [mean, sd, mean - 1.96 * sd, mean + 1.96 * sd]

    found = {name: normal(b, se) for name, b, se in zip(model.design()[0], said["beta"], said["se"], strict=True)}
    found |= {model.effect(u["term"], u["level"]): normal(u["mean"], u["sd"]) for u in said["effects"]}
    for s in said["scales"]:
        name = "sigma" if s["grp"] == "Residual" else model.correlation() if s.get("var2") else f"sd({model.group}:{s['var1']})"
        found[name] = [s["sdcor"], None, None, None]
    apart = f"fit {statistics.median(fits):.2f} s, the rest is R's start" + ", singular" * said["singular"]
    return {"seconds": statistics.median(seconds), "found": found, "apart": apart}


def child(model, tool, **setting):
    """Runs a sampler in a process of its own, which says how long it took from its start to its summaries."""
    with tempfile.TemporaryDirectory() as folder:
        asked = {"tool": tool, "problem": model.name, "data": model.data, "setting": setting}
        asked["reference"] = {key: getattr(model, key) for key in ("family", "formula", "options")}
        # An empty folder of compiled code each time, as for a model that was never run before.
        environment = {**os.environ, "PYTENSOR_FLAGS": f"base_compiledir={folder}/pytensor", "NUMBA_CACHE_DIR": f"{folder}/numba"}
        asked["start"] = time.time()
        command = [sys.executable, __file__, "--child", json.dumps(asked)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def numpyro(model, _):
    return child(model, "numpyro", warmup=1000, draws=1000, seed=1)


def bambi(model, _):
    if model.correlated:
        raise NotImplementedError("bambi has no correlation between the effects of a group")
    return child(model, "bambi", seed=1)


TOOLS = {"provi": provi, "lme4": lme4, "NumPyro": numpyro, "bambi": bambi}
CHECKS = {
    "lme4": ["Rscript", "-e", "suppressMessages({library(lme4); library(jsonlite)}); cat(as.character(packageVersion('lme4')))"],
    "NumPyro": [sys.executable, "-c", "import numpyro; print(numpyro.__version__)"],
    "bambi": [sys.executable, "-c", "import bambi, pymc; print(bambi.__version__, 'with pymc', pymc.__version__)"],
}


def version(tool, command):
    """What the tool says of itself; None where it is not installed."""
    words = CHECKS.get(tool, [command, "--version"])
    if shutil.which(words[0]) is None:
        return None
    done = subprocess.run(words, capture_output=True, text=True)
    return done.stdout.strip().splitlines()[-1] if done.returncode == 0 else None


# ---------------------------------------------------------------- the samplers, each in a process of its own


def run_numpyro(model, start, warmup, draws, seed, again=True):
    """NUTS with its defaults, non-centred, 4 chains one after the other; a second, compiled run tells the compilation apart."""
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.diagnostics import effective_sample_size

    names, x = model.design()
    y = model.table[model.y].astype(float)
    trials = model.table[model.trials].astype(float) if model.trials else np.ones(len(y))
    which = np.searchsorted(model.levels, model.table[model.group])
    z = np.column_stack([np.ones(len(y))] + ([model.table[model.slope].astype(float)] if model.slope else []))
    means, sds = np.array([model.prior(name.strip("()"), "") for name in names]).T

    def half_t(prior):
        df, scale = np.array(prior).T
        return dist.FoldedDistribution(dist.StudentT(df, 0.0, scale))

    def density():
        beta = numpyro.sample("beta", dist.Normal(means, sds).to_event(1))
        scale = numpyro.sample("scale", half_t([model.scale_prior(s) for s in model.scales]).to_event(1))
        v = numpyro.sample("v", dist.Normal(0, 1).expand([len(model.levels), len(model.terms)]).to_event(2))
        if model.correlated:
            root = numpyro.sample("root", dist.LKJCholesky(len(model.terms), *model.prior(f"cor({model.group})")))
            numpyro.deterministic("correlation", root[1, 0])
            v = v @ root.T
        u = numpyro.deterministic("u", v * scale)
        eta = x @ beta + (z * u[which]).sum(1)
        if model.family == "gaussian":
            likelihood = dist.Normal(eta, numpyro.sample("sigma", half_t(model.prior("sigma"))))
        elif model.family == "poisson":
            likelihood = dist.Poisson(jnp.exp(eta))
        else:
            likelihood = dist.Binomial(trials, logits=eta)
        numpyro.sample("y", likelihood, obs=y)

    chains = {"num_warmup": warmup, "num_samples": draws, "num_chains": 4, "chain_method": "sequential", "progress_bar": False}
    sampler = numpyro.infer.MCMC(numpyro.infer.NUTS(density), **chains)

    def once():
        begin = time.monotonic()
        sampler.run(jax.random.PRNGKey(seed), extra_fields=("diverging",))
        jax.block_until_ready(sampler.get_samples())
        return time.monotonic() - begin

    first = once()
    drawn = {k: np.asarray(v) for k, v in sampler.get_samples(group_by_chain=True).items()}
    divergences = int(sampler.get_extra_fields()["diverging"].sum())
    kept = {name: drawn["beta"][:, :, k] for k, name in enumerate(names)}
    kept |= {name: drawn["scale"][:, :, k] for k, name in enumerate(model.scales)}
    for k, term in enumerate(model.terms):
        kept |= {model.effect(term, level): drawn["u"][:, :, j, k] for j, level in enumerate(model.levels)}
    if model.correlated:
        kept[model.correlation()] = drawn["correlation"]
    if "sigma" in drawn:
        kept["sigma"] = drawn["sigma"]
    found = summary(kept)
    seconds = time.time() - start
    ess = min(float(effective_sample_size(v)) for v in kept.values())
    sampling = once() if again else first
    apart = f"compilation {first - sampling:.1f} s, " * again
    apart += f"sampling {sampling:.1f} s, least ESS {ess:.0f}, {divergences} divergences"
    return {"seconds": seconds, "found": found, "apart": apart, "ess": ess}


def run_bambi(model, start, seed):
    """bambi's default sampler, 2 chains of 1000 after 1000, one after the other; predictors are not centred, as in the others."""
    import bambi
    import pandas

    def half_t(prior):
        return bambi.Prior("HalfStudentT", nu=prior[0], sigma=prior[1])

    def normal(prior):
        return bambi.Prior("Normal", mu=prior[0], sigma=prior[1])

    labels = [model.group, *model.factors]
    table = pandas.DataFrame({k: pandas.Categorical(v) if k in labels else v for k, v in model.table.items()})
    numbers = [c for c in (model.y, model.trials, *model.fixed) if c and c not in labels]
    table = table.astype({c: int if c in (model.y, model.trials) and model.family != "gaussian" else float for c in numbers})
    groups = ["1", model.slope][: len(model.terms)]
    priors = {name: normal(model.prior(name, "")) for name in ["Intercept", *model.fixed]}
    for term, scale in zip(groups, model.scales):
        priors[f"{term}|{model.group}"] = bambi.Prior("Normal", mu=0, sigma=half_t(model.scale_prior(scale)))
    if model.family == "gaussian":
        priors["sigma"] = half_t(model.prior("sigma"))
    response = f"p({model.y}, {model.trials})" if model.trials else model.y
    effects = [f"({'1' if term == '1' else f'0 + {term}'}|{model.group})" for term in groups]
    formula = f"{response} ~ {' + '.join([*model.fixed, *effects])}"
    built = bambi.Model(formula, table, family=model.family, priors=priors, center_predictors=False)
    drawn = built.fit(chains=2, cores=1, random_seed=seed, progressbar=False)
    posterior = drawn.posterior
    kept = {"(Intercept)": posterior["Intercept"].values}
    for name in model.fixed:
        value = posterior[name]
        if name in model.factors:
            dim = value.dims[-1]
            kept |= {f"{name}[{level}]": value.sel({dim: level}).values for level in value[dim].values}
        else:
            kept[name] = value.values
    for term, label, scale in zip(groups, model.terms, model.scales):
        kept[scale] = posterior[f"{term}|{model.group}_sigma"].values
        value = posterior[f"{term}|{model.group}"]
        dim = value.dims[-1]
        kept |= {model.effect(label, level): value.sel({dim: level}).values for level in value[dim].values}
    if model.family == "gaussian":
        kept["sigma"] = posterior["sigma"].values
    found = summary(kept)
    seconds = time.time() - start
    sampling = float(posterior.attrs["sampling_time"])
    apart = f"sampling {sampling:.1f} s, the rest is loading and compilation, {int(drawn.sample_stats['diverging'].sum())} divergences"
    return {"seconds": seconds, "found": found, "apart": apart}


def run_child(asked):
    model = Model(asked["problem"], asked["reference"], asked["data"])
    run = {"numpyro": run_numpyro, "bambi": run_bambi}[asked["tool"]]
    print(json.dumps(run(model, asked["start"], **asked["setting"])))


# ---------------------------------------------------------------- references and the report


def long_run(model, cache):
    """The reference of the simulated problem: 4 chains of 10 000 draws, kept in the cache for this table and these priors."""
    wanted = hashlib.sha256(pathlib.Path(model.data).read_bytes() + json.dumps(SIMULATED).encode()).hexdigest()
    if not (cache.exists() and json.loads(cache.read_text())["sha256"] == wanted):
        say("simulated: the reference, a long NUTS run")
        said = child(model, "numpyro", warmup=2000, draws=10_000, seed=2, again=False)
        wanted_names = [*model.design()[0], *model.scales, *SIMULATED_EFFECTS]
        keys = ("mean", "sd", "q025", "q975")
        quantities = {name: dict(zip(keys, said["found"][name])) for name in wanted_names}
        cache.parent.mkdir(parents=True, exist_ok=True)
        cache.write_text(json.dumps({"sha256": wanted, "ess": said["ess"], "quantities": quantities}, indent=1) + "\n")
        say(f"simulated: {said['seconds']:.0f} s, {said['apart']}")
    return json.loads(cache.read_text())


def errors(quantities, found):
    """The largest error of a mean in posterior sds, of an sd in per cent, of a 95 % end in posterior sds, each with whose it is."""
    worst = [(0.0, "-")] * 3
    for name, q in quantities.items():
        mean, sd, low, high = found[name]
        own = [abs(mean - q["mean"]) / q["sd"]]
        if sd is not None:
            own += [100 * abs(sd / q["sd"] - 1), max(abs(low - q["q025"]), abs(high - q["q975"])) / q["sd"]]
        worst = [max(w, (e, name)) for w, e in zip(worst, own)] + worst[len(own) :]
    return worst


def clock(seconds):
    return f"{seconds:.2f}" if seconds < 10 else f"{seconds:.0f}"


def ratio(times):
    return f"{times:.2g}" if times < 10 else f"{times:.0f}"


def measure(models, references, tools, command):
    """The lines of the table."""
    lines = [
        "| problem | tool | seconds | × provi | mean, sds | sd, % | 95 % end, sds | apart |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for model in models:
        ours = None
        for tool in tools:
            say(f"{model.name}: {tool}")
            try:
                said = TOOLS[tool](model, command)
            except RuntimeError as problem:
                say(f"{model.name}: {tool}: {problem}")
                reason = problem if isinstance(problem, NotImplementedError) else "failed, see the log"
                lines.append(f"| {model.name} | {tool} | – | – | – | – | – | {reason} |")
                continue
            worst = errors(references[model.name]["quantities"], said["found"])
            say(f"{model.name}: {tool}: {said['seconds']:.2f} s; " + "; ".join(f"{e:.4f} {name}" for e, name in worst))
            ours = said["seconds"] if tool == "provi" else ours
            times = ratio(said["seconds"] / ours) if ours else "–"
            mean, sd, end = (e for e, _ in worst)
            shown = f"{clock(said['seconds'])} | {times} | {mean:.3f} | {sd:.1f} | {end:.3f}"
            lines.append(f"| {model.name} | {tool} | {shown} | {said['apart']} |")
    return lines


NOTES = f"""
Seconds are wall-clock seconds of a whole process, from its start to its summaries, on one core: the median of {ROUNDS} for provi
and lme4, one run for the samplers. NumPyro: NUTS, non-centred, 4 chains of 1000 draws after 1000, one after the other;
bambi: 2 chains of 1000 after 1000; both load and compile anew. Errors are the largest over the quantities of the reference:
coefficients, some effects of groups, scales and correlations. lme4 has no priors; its ends are estimates ± 1.96 standard errors;
the sds of its effects are those given its coefficients and scales; its scales are estimates without an sd and without ends, so
they count in the column of means only."""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--provi", default="provi", help="the command [default: provi, as found in the path]")
    parser.add_argument("--cache", type=pathlib.Path, default=ROOT / "target/compare/mixed.json", help="the long NUTS run")
    parser.add_argument("--only", default="", help="problems, such as cbpp,epil")
    parser.add_argument("--tools", default="", help="tools beside provi, such as lme4,bambi")
    parser.add_argument("--child", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return run_child(options.child)
    os.environ.update(ONE_THREAD)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    wanted = ["provi", *(options.tools.split(",") if options.tools else list(TOOLS)[1:])]
    versions = {tool: version(tool, options.provi) for tool in wanted}
    if versions["provi"] is None:
        sys.exit(f"{options.provi} does not run")
    for tool in (t for t in wanted if versions[t] is None):
        print(f"{tool} is not installed: skipped\n")
    tools = [tool for tool in wanted if versions[tool]]
    stored = {r["name"]: r for r in json.loads((TESTS / "mixed" / "references.json").read_text())}
    stored["simulated"] = dict(SIMULATED)
    names = options.only.split(",") if options.only else list(PROBLEMS)
    with tempfile.TemporaryDirectory() as folder:
        models, notes = [], NOTES
        for name in names:
            data = TESTS / "gallery" / stored[name]["data"]
            if name == "simulated":
                data = pathlib.Path(folder) / SIMULATED["data"]
                simulate(data)
            models.append(Model(name, stored[name], data))
            if name == "simulated":
                stored[name] |= long_run(models[-1], options.cache)
                least = stored[name]["ess"]
                notes += f"\nThe reference of the simulated problem has {least:.0f} effective draws at least: means to {least**-0.5:.3f} sds."
        lines = measure(models, stored, tools, options.provi)
    print("\n".join(lines))
    print(notes)
    print(f"\n{'; '.join(f'{tool}: {versions[tool]}' for tool in tools)}. {machine()}.")


if __name__ == "__main__":
    main()
