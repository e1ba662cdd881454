# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "scipy==1.17.1", "mpmath==1.3.0"]
# ///
"""Posterior means, standard deviations and log evidence of the models of this folder, computed without provi.

    python answers.py            # all models, some minutes
    python answers.py votes      # one of them

Reads the tables beside it and writes MODEL.json. Three methods, the first that applies:

closed form     Gaussian noise: the posterior is Gaussian; linear algebra with 60 digits.
grid            The product trapezoidal rule in coordinates that make the Laplace approximation N(0, I). For a smooth
                integrand that decays it converges faster than any power of the step. It is run twice, the
                second time shifted by half a step in every coordinate. The answer is the mean of the two;
                its error is their distance, plus what the border of the grid could hide, plus rounding.
nested grid     For one grouping factor: given the population coefficients the group effects are independent,
                so each costs a one-dimensional grid inside the grid over the population coefficients.

Every answer is then compared with importance sampling from a Student-t at the mode, which shares only the density
with the method it checks; a model where the two disagree is not written.
"""

import csv
import datetime
import json
import math
import platform
import sys
from dataclasses import dataclass, field
from pathlib import Path

import mpmath
import numpy
import scipy
from scipy.special import gammaln, log_ndtr

HERE = Path(__file__).parent
SEED = 1
DRAWS = 400_000
DEGREES = 10  # of freedom of the proposal
STEP, REACH = 0.75, 9.0  # of the grids, in posterior standard deviations
ROUNDING = 1e-10  # of sums over many rows and points, in standard deviations, and of the log evidence
DISAGREEMENT = 4.5  # standard errors of importance sampling
MISSING = {"", "NA"}


@dataclass
class Model:
    """One posterior: a normal(0, prior_scale) prior on every population coefficient."""

    name: str
    table: str
    formula: str  # as provi reads it; nothing below is derived from it
    family: str
    response: str
    numeric: list = field(default_factory=list)
    categories: list = field(default_factory=list)
    successes_and_failures: tuple = ()
    trials: str = ""
    exposure: str = ""  # its logarithm is the offset
    group: str = ""
    prior_scale: float = 2.5
    noise_sd: float | None = None
    group_scale: float | None = None
    shown_groups: list = field(default_factory=list)


MODELS = [
    Model(
        name="crime",
        table="crime.csv",
        formula="murder ~ poverty + single + urban",
        family="gaussian",
        response="murder",
        numeric=["poverty", "single", "urban"],
        prior_scale=10.0,
        noise_sd=2.0,
    ),
    Model(
        name="votes",
        table="votes.csv",
        formula="dole ~ conservative + decades + education",
        family="bernoulli",
        response="dole",
        numeric=["conservative", "decades", "education"],
    ),
    Model(
        name="travel",
        table="travel.csv",
        formula="flew ~ income + party",
        family="probit",
        response="flew",
        numeric=["income", "party"],
        prior_scale=1.0,
    ),
    Model(
        name="visits",
        table="visits.csv",
        formula="visits ~ log_coinsurance + diseases",
        family="poisson",
        response="visits",
        numeric=["log_coinsurance", "diseases"],
    ),
    Model(
        name="visits-exposure",
        table="plans.csv",
        formula="visits ~ health + log_coinsurance + offset(log(person_years))",
        family="poisson",
        response="visits",
        categories=["health"],
        numeric=["log_coinsurance"],
        exposure="person_years",
    ),
    Model(
        name="seen",
        table="plans.csv",
        formula="cbind(seen, unseen) ~ health + log_coinsurance",
        family="binomial",
        response="seen",
        successes_and_failures=("seen", "unseen"),
        categories=["health"],
        numeric=["log_coinsurance"],
    ),
    Model(
        name="rain",
        table="rain.csv",
        formula="wet | trials(days) ~ warmth",
        family="binomial",
        response="wet",
        trials="days",
        numeric=["warmth"],
    ),
    Model(
        name="penguins",
        table="penguins.csv",
        formula="bill_depth_mm ~ species + sex + bill_length_mm",
        family="gaussian",
        response="bill_depth_mm",
        categories=["species", "sex"],
        numeric=["bill_length_mm"],
        prior_scale=10.0,
        noise_sd=0.8,
    ),
    Model(
        name="firms",
        table="firms.csv",
        formula="log_invest ~ log_value + log_capital + (1 | firm)",
        family="gaussian",
        response="log_invest",
        numeric=["log_value", "log_capital"],
        group="firm",
        noise_sd=0.4,
        group_scale=0.5,
        shown_groups=["Diamond Match", "General Motors", "IBM"],
    ),
    Model(
        name="weather",
        table="weather.csv",
        formula="wet ~ warmth + wind + (1 | month)",
        family="bernoulli",
        response="wet",
        numeric=["warmth", "wind"],
        group="month",
        group_scale=0.5,
        shown_groups=["Jan", "Jul", "Oct"],
    ),
]


class Posterior:
    """The unnormalised posterior of a model: design, response, offset, prior, with every constant of the density."""

    def __init__(self, model):
        self.model = model
        with open(HERE / model.table, newline="") as file:
            rows = list(csv.DictReader(file))
        used = [model.response, *model.numeric, *model.categories, *model.successes_and_failures]
        used += [name for name in (model.trials, model.exposure, model.group) if name]
        rows = [row for row in rows if not any(row[name] in MISSING for name in used)]
        number = lambda name: numpy.array([float(row[name]) for row in rows])

        self.rows = len(rows)
        self.names = ["(Intercept)"]
        columns = [numpy.ones(len(rows))]
        for name in model.categories:
            for level in sorted({row[name] for row in rows})[1:]:
                self.names.append(f"{name}[{level}]")
                columns.append(numpy.array([float(row[name] == level) for row in rows]))
        for name in model.numeric:
            self.names.append(name)
            columns.append(number(name))
        self.population = len(columns)
        self.levels = sorted({row[model.group] for row in rows}) if model.group else []
        for level in self.levels:
            self.names.append(f"(1 | {model.group})[{level}]")
            columns.append(numpy.array([float(row[model.group] == level) for row in rows]))

        self.x = numpy.column_stack(columns)
        self.y = number(model.response)
        self.offset = numpy.log(number(model.exposure)) if model.exposure else numpy.zeros(len(rows))
        self.trials = number(model.trials) if model.trials else numpy.ones(len(rows))
        if model.successes_and_failures:
            self.trials = sum(number(name) for name in model.successes_and_failures)
        self.scales = numpy.full(self.dim, model.prior_scale)
        self.scales[self.population :] = model.group_scale

    @property
    def dim(self):
        return len(self.names)

    def likelihood(self, eta, rows=slice(None)):
        """log p(y | η), row by row along the last axis."""
        y, n = self.y[rows], self.trials[rows]
        match self.model.family:
            case "gaussian":
                sd = self.model.noise_sd
                return -0.5 * ((y - eta) / sd) ** 2 - math.log(sd) - 0.5 * math.log(2 * math.pi)
            case "bernoulli" | "binomial":
                choices = gammaln(n + 1) - gammaln(y + 1) - gammaln(n - y + 1)
                softplus = numpy.maximum(eta, 0) + numpy.log1p(numpy.exp(-numpy.abs(eta)))
                return y * eta - n * softplus + choices
            case "probit":
                return log_ndtr((2 * y - 1) * eta)
            case "poisson":
                return y * eta - numpy.exp(eta) - gammaln(y + 1)

    def slopes(self, eta):
        """First and second derivatives of log p(y | η) in η."""
        match self.model.family:
            case "gaussian":
                sd = self.model.noise_sd
                return (self.y - eta) / sd**2, numpy.full(self.rows, -1 / sd**2)
            case "bernoulli" | "binomial":
                p = 1 / (1 + numpy.exp(-eta))
                return self.y - self.trials * p, -self.trials * p * (1 - p)
            case "probit":
                sign = 2 * self.y - 1
                log_density = -0.5 * eta**2 - 0.5 * math.log(2 * math.pi)
                mills = sign * numpy.exp(log_density - log_ndtr(sign * eta))
                return mills, -mills * (mills + eta)
            case "poisson":
                return self.y - numpy.exp(eta), -numpy.exp(eta)

    def log_prior(self, z, which=slice(None)):
        scales = self.scales[which]
        return (-0.5 * (z / scales) ** 2 - numpy.log(scales) - 0.5 * math.log(2 * math.pi)).sum(axis=-1)

    def log_density(self, points):
        """log p(y, z) at each row of points, a few at a time."""
        size = max(1, 4_000_000 // self.rows)
        parts = []
        for start in range(0, len(points), size):
            z = points[start : start + size]
            eta = z @ self.x.T + self.offset
            parts.append(self.likelihood(eta).sum(axis=1) + self.log_prior(z))
        return numpy.concatenate(parts)

    def mode(self):
        """The mode and the precision there, by Newton with halved steps."""
        z = numpy.zeros(self.dim)
        for _ in range(100):
            first, second = self.slopes(self.x @ z + self.offset)
            gradient = self.x.T @ first - z / self.scales**2
            precision = (self.x.T * -second) @ self.x + numpy.diag(1 / self.scales**2)
            step = numpy.linalg.solve(precision, gradient)
            if gradient @ step < 1e-24:
                return z, precision
            length, here = 1.0, self.log_density(z[None])[0]
            while length > 1e-6 and not self.log_density((z + length * step)[None])[0] > here:
                length /= 2
            z = z + length * step if length > 1e-6 else z + step
        return z, precision


@dataclass
class Answer:
    mean: numpy.ndarray
    sd: numpy.ndarray
    log_evidence: float
    mean_error: numpy.ndarray
    sd_error: numpy.ndarray
    log_evidence_error: float
    method: str


def closed_form(posterior):
    """A = XᵀX/σ² + S⁻², b = Xᵀy/σ²: the posterior is N(A⁻¹b, A⁻¹)."""
    mpmath.mp.dps = 60
    noise = mpmath.mpf(posterior.model.noise_sd) ** 2
    x, y = mpmath.matrix(posterior.x.tolist()), mpmath.matrix(posterior.y.tolist())
    scales = [mpmath.mpf(s) for s in posterior.scales]
    a = x.T * x / noise
    for i, scale in enumerate(scales):
        a[i, i] += 1 / scale**2
    b = x.T * y / noise
    covariance = a**-1
    mean = covariance * b
    sd = [mpmath.sqrt(covariance[i, i]) for i in range(len(scales))]
    squares = (y.T * y)[0] / noise - (b.T * mean)[0]
    determinant = mpmath.log(mpmath.det(a)) + 2 * sum(mpmath.log(scale) for scale in scales)
    evidence = -(posterior.rows * mpmath.log(2 * mpmath.pi * noise) + determinant + squares) / 2
    mean, sd, evidence = numpy.array([float(m) for m in mean]), numpy.array([float(s) for s in sd]), float(evidence)
    unit = numpy.finfo(float).eps
    return Answer(mean, sd, evidence, abs(mean) * unit, sd * unit, abs(evidence) * unit, "closed form, 60 digits")


def axis(shift):
    count = round(REACH / STEP)
    return (numpy.arange(-count, count + 1) + shift) * STEP


def blocks(t, dim, size):
    """The points of the product grid, a block at a time, and which of them lie on its border."""
    total = len(t) ** dim
    for start in range(0, total, size):
        index = numpy.stack(numpy.unravel_index(numpy.arange(start, min(start + size, total)), [len(t)] * dim), axis=1)
        yield t[index], ((index == 0) | (index == len(t) - 1)).any(axis=1)


class Sums:
    """Weighted sums of values, from which moments and evidence follow."""

    def __init__(self, dim):
        self.weight, self.border = 0.0, 0.0
        self.first, self.second = numpy.zeros(dim), numpy.zeros(dim)

    def add(self, weights, first, second, border):
        self.weight += weights.sum()
        self.border += weights[border].sum()
        self.first += weights @ first
        self.second += weights @ second

    def moments(self, centre):
        """Values were given relative to a centre near the mean: no cancellation."""
        mean = self.first / self.weight
        return centre + mean, numpy.sqrt(self.second / self.weight - mean**2)


def two_grids(run, method):
    """The mean of a grid and its shifted twin, and their distance as the error."""
    (mean0, sd0, z0, border0), (mean1, sd1, z1, border1) = run(0.0), run(0.5)
    sd = (sd0 + sd1) / 2
    # What lies beyond the border weighs about as much as the border itself.
    rest = 4 * REACH**2 * max(border0, border1) + ROUNDING
    return Answer(
        (mean0 + mean1) / 2,
        sd,
        (z0 + z1) / 2,
        abs(mean0 - mean1) + rest * sd,
        abs(sd0 - sd1) + rest * sd,
        abs(z0 - z1) + rest,
        f"{method}, step {STEP} and reach {REACH} Laplace standard deviations, and the same shifted by half a step",
    )


def grid(posterior):
    mode, precision = posterior.mode()
    factor = numpy.linalg.cholesky(numpy.linalg.inv(precision))
    top = posterior.log_density(mode[None])[0]
    dim = posterior.dim

    def run(shift):
        sums = Sums(dim)
        for t, border in blocks(axis(shift), dim, 400_000):
            offsets = t @ factor.T
            weights = numpy.exp(posterior.log_density(mode + offsets) - top)
            sums.add(weights, offsets, offsets**2, border)
        volume = dim * math.log(STEP) + numpy.log(numpy.diag(factor)).sum()
        mean, sd = sums.moments(mode)
        return mean, sd, top + math.log(sums.weight) + volume, sums.border / sums.weight

    return two_grids(run, "product trapezoidal rule")


def nested_grid(posterior):
    mode, precision = posterior.mode()
    p, groups = posterior.population, range(len(posterior.levels))
    factor = numpy.linalg.cholesky(numpy.linalg.inv(precision)[:p, :p])
    # Under the Laplace approximation u_g given β has this deviation, and its mean moves along this slope.
    deviations = 1 / numpy.sqrt(numpy.diag(precision)[p:])
    slopes = -precision[p:, :p] * deviations[:, None] ** 2
    members = [numpy.flatnonzero(posterior.x[:, p + g]) for g in groups]
    top = posterior.log_density(mode[None])[0]
    tops = [posterior.likelihood((posterior.x @ mode)[m] + posterior.offset[m], m).sum() for m in members]

    def group(g, offsets, shift):
        """log ∫ p(y_g | β, u) p(u) du relative to the mode, and the first two moments of u − û."""
        rows = members[g]
        u = (offsets @ slopes[g])[:, None] + deviations[g] * axis(shift)
        eta = (mode[:p] + offsets) @ posterior.x[rows, :p].T + posterior.offset[rows]
        log_weight = numpy.empty_like(u)
        for k in range(u.shape[1]):
            moved = eta + (mode[p + g] + u[:, k])[:, None]
            log_weight[:, k] = posterior.likelihood(moved, rows).sum(axis=1) - tops[g]
        log_weight += posterior.log_prior((mode[p + g] + u)[..., None], [p + g])
        log_weight -= posterior.log_prior(mode[[p + g]], [p + g])
        highest = log_weight.max(axis=1)
        weights = numpy.exp(log_weight - highest[:, None])
        total = weights.sum(axis=1)
        first, second = (weights * u).sum(axis=1) / total, (weights * u**2).sum(axis=1) / total
        return highest + numpy.log(total * STEP * deviations[g]), first, second

    def run(shift):
        sums = Sums(posterior.dim)
        base = posterior.log_prior(mode[:p], slice(p))
        for t, border in blocks(axis(shift), p, 2_000):
            offsets = t @ factor.T
            inner = [group(g, offsets, shift) for g in groups]
            log_weight = posterior.log_prior(mode[:p] + offsets, slice(p)) - base + sum(z for z, _, _ in inner)
            first = numpy.column_stack([offsets, *(m for _, m, _ in inner)])
            second = numpy.column_stack([offsets**2, *(m for _, _, m in inner)])
            sums.add(numpy.exp(log_weight), first, second, border)
        volume = p * math.log(STEP) + numpy.log(numpy.diag(factor)).sum()
        mean, sd = sums.moments(mode)
        return mean, sd, top + math.log(sums.weight) + volume, sums.border / sums.weight

    return two_grids(run, "trapezoidal rule over each group effect inside one over the population")


def importance(posterior):
    """Self-normalised importance sampling from a Student-t with the mode and curvature of the posterior."""
    generator = numpy.random.default_rng(SEED)
    mode, precision = posterior.mode()
    factor = numpy.linalg.cholesky(numpy.linalg.inv(precision))
    dim = posterior.dim
    t = generator.standard_normal((DRAWS, dim))
    t /= numpy.sqrt(generator.chisquare(DEGREES, DRAWS) / DEGREES)[:, None]
    log_proposal = (
        gammaln((DEGREES + dim) / 2)
        - gammaln(DEGREES / 2)
        - dim / 2 * math.log(DEGREES * math.pi)
        - numpy.log(numpy.diag(factor)).sum()
        - (DEGREES + dim) / 2 * numpy.log1p((t**2).sum(axis=1) / DEGREES)
    )
    points = mode + t @ factor.T
    log_weight = posterior.log_density(points) - log_proposal
    highest = log_weight.max()
    weights = numpy.exp(log_weight - highest)
    evidence = highest + math.log(weights.mean())
    evidence_error = weights.std() / weights.mean() / math.sqrt(DRAWS)
    weights /= weights.sum()
    mean = weights @ points
    deviations = points - mean
    variance = weights @ deviations**2
    sd = numpy.sqrt(variance)
    mean_error = numpy.sqrt(weights**2 @ deviations**2)
    sd_error = numpy.sqrt(weights**2 @ (deviations**2 - variance) ** 2) / (2 * sd)
    return Answer(mean, sd, evidence, mean_error, sd_error, evidence_error, "importance sampling")


def disagreement(answer, check):
    """The largest difference, in standard errors of the check."""
    return max(
        (abs(answer.mean - check.mean) / check.mean_error).max(),
        (abs(answer.sd - check.sd) / check.sd_error).max(),
        abs(answer.log_evidence - check.log_evidence) / check.log_evidence_error,
    )


def write(model):
    posterior = Posterior(model)
    if model.family == "gaussian":
        answer = closed_form(posterior)
    else:
        answer = nested_grid(posterior) if model.group else grid(posterior)
    check = importance(posterior)
    worst = float(disagreement(answer, check))
    if not worst < DISAGREEMENT:
        sys.exit(f"{model.name}: {answer.method} and importance sampling differ by {worst:.1f} standard errors")

    shown = set(posterior.names[: posterior.population]) | {f"(1 | {model.group})[{level}]" for level in model.shown_groups}
    coefficients = [
        {
            "name": name,
            "mean": float(answer.mean[i]),
            "sd": float(answer.sd[i]),
            "mean_mcse": float(f"{answer.mean_error[i]:.1e}"),
            "sd_mcse": float(f"{answer.sd_error[i]:.1e}"),
        }
        for i, name in enumerate(posterior.names)
        if name in shown
    ]
    options = {
        "prior_scale": model.prior_scale,
        "noise_sd": model.noise_sd,
        "group_scale": {model.group: model.group_scale} if model.group else {},
        "exposure": model.exposure or None,
        "trials": model.trials or None,
        "successes_and_failures": list(model.successes_and_failures) or None,
    }
    record = {
        "data": model.table,
        "formula": model.formula,
        "family": model.family,
        "options": options,
        "rows": posterior.rows,
        "dimension": posterior.dim,
        "coefficients": coefficients,
        "log_evidence": float(answer.log_evidence),
        "log_evidence_error": float(f"{answer.log_evidence_error:.1e}"),
        "method": answer.method,
        "check": {
            "method": f"importance sampling, Student-t with {DEGREES} degrees of freedom at the mode",
            "draws": DRAWS,
            "seed": SEED,
            "log_evidence": float(check.log_evidence),
            "log_evidence_standard_error": float(f"{check.log_evidence_error:.1e}"),
            "largest_difference_in_standard_errors": float(f"{worst:.2f}"),
        },
        "software": {
            "python": platform.python_version(),
            "numpy": numpy.__version__,
            "scipy": scipy.__version__,
            "mpmath": mpmath.__version__,
        },
        "seed": SEED,
        "date": datetime.date.today().isoformat(),
    }
    (HERE / f"{model.name}.json").write_text(json.dumps(record, indent=2) + "\n")
    largest = max(answer.mean_error / answer.sd)
    print(f"{model.name}: means to {largest:.0e} sd, {worst:.2f} standard errors from the check", flush=True)


if __name__ == "__main__":
    wanted = sys.argv[1:]
    for each in MODELS:
        if not wanted or each.name in wanted:
            write(each)
