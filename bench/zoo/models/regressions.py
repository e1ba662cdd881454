"""Regressions with unknown scales: near-Gaussian with enough data; robust, ordinal and sparse ones."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln

from .problem import Problem, Twin, half_cauchy, half_normal, normal, rng


def linear(z, data):
    """y ~ N(x·beta, sigma²); z = (beta, log sigma)."""
    return normal(z[:-1], 0.0, 2.5) + half_normal(z[-1], 2.5) + normal(data["y"], data["x"] @ z[:-1], jnp.exp(z[-1]))


def student(z, data):
    """Robust: y ~ t_nu(x·beta, sigma); z = (beta, log sigma, log nu), nu ~ Gamma(2, 0.1)."""
    beta, log_sigma, log_nu = z[:-2], z[-2], z[-1]
    nu = jnp.exp(log_nu)
    r = (data["y"] - data["x"] @ beta) * jnp.exp(-log_sigma)
    rows = len(data["y"])
    constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * jnp.log(nu * jnp.pi) - log_sigma
    seen = rows * constant - (nu + 1) / 2 * jnp.sum(jnp.log1p(r**2 / nu))
    return normal(beta, 0.0, 2.5) + half_normal(log_sigma, 2.5) + 2 * log_nu - 0.1 * nu + 2 * jnp.log(0.1) + seen


def logistic(z, data):
    """y ~ Bernoulli(logit⁻¹(a + x·beta)), beta ~ N(0, tau²); z = (a, beta, log tau)."""
    s = z[0] + data["x"][:, 1:] @ z[1:-1]
    seen = data["y"] @ s - jnp.sum(jnp.logaddexp(0.0, s))
    return normal(z[0], 0.0, 5.0) + half_normal(z[-1], 2.0) + normal(z[1:-1], 0.0, jnp.exp(z[-1])) + seen


def negative_binomial(z, data):
    """Counts with mean e^{x·beta} and variance mean + mean²/phi; z = (beta, log phi)."""
    s, phi, y = data["x"] @ z[:-1], jnp.exp(z[-1]), data["y"]
    log_total = jnp.logaddexp(s, z[-1])
    seen = gammaln(y + phi) - gammaln(phi) - gammaln(y + 1) + phi * (z[-1] - log_total) + y * (s - log_total)
    return normal(z[:-1], 0.0, 2.5) + normal(z[-1], 0.0, 1.5) + jnp.sum(seen)


def gamma(z, data):
    """y ~ Gamma with mean e^{x·beta} and shape k; z = (beta, log k)."""
    s, k, y = data["x"] @ z[:-1], jnp.exp(z[-1]), data["y"]
    seen = k * (z[-1] - s) - gammaln(k) + (k - 1) * jnp.log(y) - k * y * jnp.exp(-s)
    return normal(z[:-1], 0.0, 2.5) + normal(z[-1], 0.0, 1.5) + jnp.sum(seen)


def uneven(z, data):
    """Noise that varies with x as well: y ~ N(x·beta, e^{2 x·gamma}); z = (beta, gamma)."""
    p = data["x"].shape[1]
    return normal(z, 0.0, 2.5) + normal(data["y"], data["x"] @ z[:p], jnp.exp(data["x"] @ z[p:]))


def weibull(z, data):
    """Times to an event, some censored: hazard k t^{k−1} e^{−k·x·beta}; z = (beta, log k)."""
    s, k = data["x"] @ z[:-1], jnp.exp(z[-1])
    log_t = jnp.log(data["t"])
    hazard = z[-1] + (k - 1) * log_t - k * s
    return normal(z[:-1], 0.0, 2.5) + normal(z[-1], 0.0, 1.0) + data["event"] @ hazard - jnp.sum(jnp.exp(k * (log_t - s)))


def beta_shares(z, data):
    """Shares: y ~ Beta(m·phi, (1−m)·phi), m = logit⁻¹(x·beta); z = (beta, log phi)."""
    m, phi, y = jax.nn.sigmoid(data["x"] @ z[:-1]), jnp.exp(z[-1]), data["y"]
    a, b = m * phi, (1 - m) * phi
    seen = gammaln(phi) - gammaln(a) - gammaln(b) + (a - 1) * jnp.log(y) + (b - 1) * jnp.log1p(-y)
    return normal(z[:-1], 0.0, 2.5) + normal(z[-1], 2.0, 1.5) + jnp.sum(seen)


def _with_scale(z, data):
    return {"beta": z[:-1], "scale": jnp.exp(z[-1])}


def _student_quantities(z, data):
    return {"beta": z[:-2], "sigma": jnp.exp(z[-2]), "log_nu": z[-1]}


def _two_parts(z, data):
    p = data["x"].shape[1]
    return {"beta": z[:p], "gamma": z[p:]}


def _design(random, rows, p):
    return np.column_stack([np.ones(rows), random.standard_normal((rows, p - 1))])


def _responses(kind, random, x):
    """Data that the model itself would draw."""
    rows, p = x.shape
    beta = 0.6 * random.standard_normal(p)
    s = x @ beta
    if kind == "linear":
        return {"y": s + 0.7 * random.standard_normal(rows)}
    if kind == "student":
        return {"y": s + 0.5 * random.standard_t(3, rows)}
    if kind == "logistic":
        return {"y": (random.random(rows) < 1 / (1 + np.exp(-s))).astype(float)}
    if kind == "negbin":
        return {"y": random.negative_binomial(2.0, 2.0 / (2.0 + np.exp(1.0 + s))).astype(float)}
    if kind == "gamma":
        return {"y": random.gamma(3.0, np.exp(s) / 3.0)}
    if kind == "uneven":
        return {"y": s + np.exp(x @ (0.3 * random.standard_normal(p))) * random.standard_normal(rows)}
    if kind == "weibull":
        time, end = np.exp(s) * random.weibull(1.5, rows), random.exponential(4.0, rows)
        return {"t": np.minimum(time, end) + 1e-3, "event": (time <= end).astype(float)}
    m = 1 / (1 + np.exp(-s))
    return {"y": np.clip(random.beta(8 * m, 8 * (1 - m)), 1e-4, 1 - 1e-4)}


KINDS = {
    "linear": (linear, _with_scale, 1),
    "student": (student, _student_quantities, 2),
    "logistic": (logistic, _with_scale, 1),
    "negbin": (negative_binomial, _with_scale, 1),
    "gamma": (gamma, _with_scale, 1),
    "uneven": (uneven, _two_parts, None),
    "weibull": (weibull, _with_scale, 1),
    "shares": (beta_shares, _with_scale, 1),
}


def ordinal(z, data):
    """Answers 0 … K−1 with ordered cut points: z = (first cut, log gaps, beta)."""
    top = 3
    gaps = jnp.exp(z[1:top])
    cuts = z[0] + jnp.concatenate([jnp.zeros(1), jnp.cumsum(gaps)])
    s = data["x"] @ z[top:]
    edges = jnp.concatenate([jnp.array([-60.0]), cuts, jnp.array([60.0])])
    answer = data["y"].astype(int)
    below, above = edges[answer] - s, edges[answer + 1] - s
    # log(σ(above) − σ(below)), without cancellation.
    share = jax.nn.log_sigmoid(above) + jax.nn.log_sigmoid(-below) + jnp.log1p(-jnp.exp(below - above))
    return normal(cuts, 0.0, 5.0) + jnp.sum(z[1:top]) + normal(z[top:], 0.0, 2.5) + jnp.sum(share)


def _ordinal_quantities(z, data):
    return {"cut": z[0] + jnp.concatenate([jnp.zeros(1), jnp.cumsum(jnp.exp(z[1:3]))]), "beta": z[3:]}


def _ordinal(rows, p, seed):
    random = rng("ordinal", rows, p, seed)
    x = random.standard_normal((rows, p))
    latent = x @ (0.8 * random.standard_normal(p)) + random.logistic(size=rows)
    return {"x": x, "y": np.digitize(latent, [-1.5, 0.0, 1.5]).astype(float)}


def horseshoe(z, data):
    """Sparse: beta_j ~ N(0, tau²·lambda_j²) with half-Cauchy scales; z = (log sigma, log tau, log lambda, beta)."""
    p = data["x"].shape[1]
    local, beta = z[2 : 2 + p], z[2 + p :]
    scales = half_normal(z[0], 2.0) + half_cauchy(z[1], 0.2) + half_cauchy(local, 1.0)
    return scales + normal(beta, 0.0, jnp.exp(z[1] + local)) + normal(data["y"], data["x"] @ beta, jnp.exp(z[0]))


def _horseshoe_to_centred(w, data):
    p = data["x"].shape[1]
    return jnp.concatenate([w[: 2 + p], jnp.exp(w[1] + w[2 : 2 + p]) * w[2 + p :]])


HORSESHOE = Twin(
    _horseshoe_to_centred, lambda w, data: data["x"].shape[1] * w[1] + jnp.sum(w[2 : 2 + data["x"].shape[1]])
)


def horseshoe_free(z, data):
    """The same with beta = tau·lambda·eta."""
    return horseshoe(_horseshoe_to_centred(z, data), data) + HORSESHOE.log_jacobian(z, data)


def _horseshoe_quantities(z, data):
    return {"sigma": jnp.exp(z[0]), "log_tau": z[1], "beta": z[2 + data["x"].shape[1] :]}


def _horseshoe_free_quantities(z, data):
    return _horseshoe_quantities(_horseshoe_to_centred(z, data), data)


def _sparse(p, seed):
    random = rng("horseshoe", p, seed)
    x = random.standard_normal((60, p))
    beta = np.zeros(p)
    beta[:2] = 1.5, -1.0
    return {"x": x, "y": x @ beta + random.standard_normal(60)}


SIZES = ((100, 3, 6), (200, 8, 2))
# Data on which the chains of the reference run do not agree.
UNMIXED = {("logistic", 100, 3)}
LARGER = ("linear", "student", "logistic")


def problems():
    for kind, (density, quantities, extra) in KINDS.items():
        for rows, p, seeds in SIZES if kind in LARGER else SIZES[:1]:
            for seed in range(seeds):
                if (kind, rows, seed) in UNMIXED:
                    continue
                random = rng(kind, rows, p, seed)
                x = _design(random, rows, p)
                data = {"x": x, **_responses(kind, random, x)}
                dim = 2 * p if extra is None else p + extra
                name = f"{kind}-{rows}x{p}-{seed}"
                yield Problem(name, density, data, dim, quantities, reference_start=np.zeros(dim))
    for seed in range(4):
        yield Problem(f"ordinal-150x3-{seed}", ordinal, _ordinal(150, 3, seed), 6, _ordinal_quantities)
    p = 5
    for seed in (0, 1):
        data = _sparse(p, seed)
        dim = 2 + 2 * p
        first = Problem(
            f"horseshoe-centred-{seed}", horseshoe, data, dim, _horseshoe_quantities, twin=HORSESHOE, accept=0.97
        )
        yield first
        yield Problem(f"horseshoe-free-{seed}", horseshoe_free, data, dim, _horseshoe_free_quantities, sampled_as=first)
