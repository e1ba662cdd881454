"""Bare shapes with known moments: Gaussians, heavy and skewed ones, funnels, bananas, rings, several modes."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln
from scipy.special import digamma, polygamma

from .problem import Problem, grid_moments, normal, rng


def _coordinates(z, data):
    return {"z": z[:6]}


def _known(means, sds):
    """The moments of the first coordinates, by name."""
    return lambda problem: {f"z[{i}]": (float(m), float(s)) for i, (m, s) in enumerate(list(zip(means, sds))[:6])}


def gaussian(z, data):
    r = z - data["mean"]
    return -0.5 * r @ data["precision"] @ r


def _gaussians(dim, condition):
    random = rng("gaussian", dim, condition)
    turn, _ = np.linalg.qr(random.standard_normal((dim, dim)))
    values = np.logspace(0.0, np.log10(condition), dim)
    mean = random.standard_normal(dim)
    data = {"mean": mean, "precision": (turn * values) @ turn.T}
    sds = np.sqrt(np.diag((turn / values) @ turn.T))
    return Problem(f"gaussian-{dim}-{condition:g}", gaussian, data, dim, _coordinates, exact=_known(mean, sds))


def heavy(z, data):
    """Independent Student t."""
    nu = data["nu"]
    return -0.5 * (nu + 1) * jnp.sum(jnp.log1p(z**2 / nu))


def skewed(z, data):
    """Logarithms of Gamma(k) variables."""
    k = data["k"]
    return jnp.sum(k * z - jnp.exp(z)) - len(z) * gammaln(k)


def soft(z, data):
    """Independent logistic variables."""
    return jnp.sum(-z - 2 * jnp.logaddexp(0.0, -z))


def funnel(z, data):
    """v ~ N(0, s²), the others N(0, e^v)."""
    return normal(z[0], 0.0, data["s"]) + normal(z[1:], 0.0, jnp.exp(0.5 * z[0]))


def banana(z, data):
    """A Gaussian with sds (s, 1), bent: z₁ is moved by b·(z₀² − s²)."""
    s, b = data["s"], data["b"]
    return normal(z[0], 0.0, s) + normal(z[1] - b * (z[0] ** 2 - s**2), 0.0, 1.0)


def squiggle(z, data):
    """z₁ follows sin(a·z₀)."""
    return normal(z[0], 0.0, 1.0) + normal(z[1], jnp.sin(data["a"] * z[0]), 0.3)


def ring(z, data):
    """All mass near radius R."""
    radius = jnp.sqrt(z @ z + 1e-12)
    return -0.5 * ((radius - data["radius"]) / data["width"]) ** 2


def modes(z, data):
    """Gaussians at ±a along every axis, with a share w of the lower one and sds of their own."""
    d = len(z)
    low = jnp.log(data["w"]) - 0.5 * jnp.sum(((z + data["a"]) / data["low"]) ** 2) - d * jnp.log(data["low"])
    high = jnp.log1p(-data["w"]) - 0.5 * jnp.sum(((z - data["a"]) / data["high"]) ** 2) - d * jnp.log(data["high"])
    return jnp.logaddexp(low, high)


def _modes(name, dim, a, w, low, high):
    data = {key: np.float64(value) for key, value in (("a", a), ("w", w), ("low", low), ("high", high))}
    mean = (1 - 2 * w) * a
    sd = np.sqrt(w * low**2 + (1 - w) * high**2 + a**2 - mean**2)
    return Problem(name, modes, data, dim, _coordinates, exact=_known([mean] * dim, [sd] * dim))


def box(z, data):
    """Flat between soft walls at ±1."""
    k = data["k"]
    return jnp.sum(jax.nn.log_sigmoid(k * (z + 1)) + jax.nn.log_sigmoid(k * (1 - z)))


def _scalar(**values):
    return {key: np.float64(value) for key, value in values.items()}


def problems():
    for dim, condition in ((2, 10.0), (10, 1e4), (50, 100.0)):
        yield _gaussians(dim, condition)
    for nu, dim in ((3.0, 2), (6.0, 3), (30.0, 5)):
        sds = [np.sqrt(nu / (nu - 2))] * dim
        yield Problem(f"heavy-{nu:g}-{dim}", heavy, _scalar(nu=nu), dim, _coordinates, exact=_known([0.0] * dim, sds))
    for k, dim in ((0.3, 2), (1.0, 3), (5.0, 3), (40.0, 3)):
        known = _known([digamma(k)] * dim, [np.sqrt(polygamma(1, k))] * dim)
        yield Problem(f"skewed-{k:g}-{dim}", skewed, _scalar(k=k), dim, _coordinates, exact=known)
    yield Problem("soft-5", soft, {}, 5, _coordinates, exact=_known([0.0] * 5, [np.pi / np.sqrt(3)] * 5))
    for s, dim in ((3.0, 3), (3.0, 10), (1.0, 5), (0.3, 5)):
        known = _known([0.0] * dim, [s] + [np.exp(s**2 / 4)] * (dim - 1))
        yield Problem(f"funnel-{s:g}-{dim}", funnel, _scalar(s=s), dim, _coordinates, exact=known)
    for s, b in ((10.0, 0.03), (3.0, 0.3), (1.0, 0.3), (1.0, 0.05)):
        known = _known([0.0, 0.0], [s, np.sqrt(1 + 2 * b**2 * s**4)])
        yield Problem(f"banana-{s:g}-{b:g}", banana, _scalar(s=s, b=b), 2, _coordinates, exact=known)
    for a in (1.0, 3.0):
        known = _known([0.0, 0.0], [1.0, np.sqrt(0.09 + 0.5 * (1 - np.exp(-2 * a**2)))])
        yield Problem(f"squiggle-{a:g}", squiggle, _scalar(a=a), 2, _coordinates, exact=known)
    for radius, width in ((6.0, 0.3), (3.0, 1.0), (10.0, 1.0)):
        edge = radius + 10 * width
        exact = lambda problem, edge=edge: grid_moments(problem, [(-edge, edge)] * 2)
        yield Problem(f"ring-{radius:g}-{width:g}", ring, _scalar(radius=radius, width=width), 2, _coordinates, exact=exact)
    yield _modes("modes-even-1", 1, 3.0, 0.5, 1.0, 1.0)
    yield _modes("modes-even-3", 3, 4.0, 0.5, 1.0, 1.0)
    yield _modes("modes-far-2", 2, 10.0, 0.3, 1.0, 1.0)
    yield _modes("modes-uneven-2", 2, 4.0, 0.8, 1.0, 0.3)
    yield _modes("modes-small-4", 4, 4.0, 0.97, 1.0, 1.0)
    yield _modes("modes-spike-2", 2, 2.0, 0.9, 2.0, 0.1)
    yield _modes("modes-near-3", 3, 0.4, 0.5, 1.0, 1.0)
    for k in (4.0, 30.0):
        exact = lambda problem: grid_moments(problem, [(-12.0, 12.0)] * 2, 1601)
        yield Problem(f"box-{k:g}", box, _scalar(k=k), 2, _coordinates, exact=exact)
