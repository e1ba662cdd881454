"""Posteriors in several parts: signs that nothing tells apart, phases, wells, lumps of unequal mass. A Gaussian holds one part.

All have closed forms or quadrature over two coordinates. They came after the limits of the verdict were chosen, so a third of
them by name may be looked at, as of the models whose references are sampled, and the rest is held out.
"""

import jax
import jax.numpy as jnp
import numpy as np

from .problem import Problem, grid_moments, normal, rng


def _coordinates(z, data):
    return {"z": z[:6]}


def cauchy(z, data):
    """A location z₀ with a log scale z₁ behind few Cauchy observations that fall into groups."""
    r = (data["y"] - z[0]) * jnp.exp(-z[1])
    return normal(z[0], 0.0, 6.0) + normal(z[1], -0.5, 0.4) + jnp.sum(-z[1] - jnp.log1p(r**2))


def hyperbola(z, data):
    """The product of two numbers is known, with noise."""
    return normal(z, 0.0, 2.0) + normal(z[0] * z[1], data["c"], 0.5)


def bend(z, data):
    """y = z₀·tanh(z₁x): both signs can change together."""
    return normal(z, 0.0, 2.0) + normal(data["y"], z[0] * jnp.tanh(z[1] * data["x"]), 0.3)


def square(z, data):
    """y = z₀²x + z₁: the sign of z₀ is lost."""
    return normal(z, 0.0, 2.0) + normal(data["y"], z[0] ** 2 * data["x"] + z[1], 0.5)


def phase(z, data):
    """A wave of unknown phase z₀, known up to full turns, and log amplitude z₁."""
    return normal(z[0], 0.0, 4.0) + normal(z[1], 0.0, 1.0) + normal(data["y"], jnp.exp(z[1]) * jnp.cos(data["x"] + z[0]), 0.5)


def frequency(z, data):
    """A wave of unknown frequency z₀ and log amplitude z₁."""
    return normal(z[0], 0.0, 3.0) + normal(z[1], 0.0, 0.5) + normal(data["y"], jnp.exp(z[1]) * jnp.cos(z[0] * data["x"]), 0.7)


def change(z, data):
    """A step of height z₁ at time z₀."""
    level = z[1] * jax.nn.sigmoid(25.0 * (data["x"] - z[0]))
    return normal(z[0], 0.5, 0.4) + normal(z[1], 0.0, 2.0) + normal(data["y"], level, 0.6)


def wells(z, data):
    """Independent double wells around ±a, tilted."""
    return jnp.sum(-data["k"] * (z**2 - data["a"] ** 2) ** 2 + data["tilt"] * z)


def _wells_exact(problem):
    x = np.linspace(-6.0, 6.0, 200_001)
    k, a, tilt = (float(problem.data[name]) for name in ("k", "a", "tilt"))
    log = -k * (x**2 - a**2) ** 2 + tilt * x
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    mean = float(weight @ x)
    sd = float(np.sqrt(weight @ (x - mean) ** 2))
    return {name: (mean, sd) for name in problem.names()}


def lumps(z, data):
    """Round Gaussians along the diagonal: centres mᵢ(1, …, 1), sds sᵢ, shares wᵢ."""
    square = jnp.sum((z[None, :] - data["m"][:, None]) ** 2, axis=1)
    return jax.nn.logsumexp(jnp.log(data["w"]) - 0.5 * square / data["s"] ** 2 - len(z) * jnp.log(data["s"]))


def _lumps(which, dim, parts):
    w, m, s = np.array(parts, dtype=float).T
    mean = w @ m
    sd = np.sqrt(w @ (s**2 + (m - mean) ** 2))
    exact = lambda problem: {key: (float(mean), float(sd)) for key in problem.names()}  # noqa: E731
    return Problem(f"lumps-{dim}-{which}", lumps, {"w": w, "m": m, "s": s}, dim, _coordinates, exact=exact, fresh=True)


def _on_grid(bounds, points=1201):
    return lambda problem: grid_moments(problem, bounds, points)


def _scalar(**values):
    return {key: np.float64(value) for key, value in values.items()}


def problems():
    for k, y in enumerate(([-5, -4.6, 5], [-6, 5.5, 6, 6.2], [-4, -3.8, 4, 4.3], [-7, -1, 1.2, 7])):
        data = {"y": np.array(y, dtype=float)}
        yield Problem(f"cauchy-{k}", cauchy, data, 2, _coordinates, exact=_on_grid([(-40, 40), (-3.2, 2.2)]), fresh=True)
    for c in (1.0, 3.0, 6.0):
        yield Problem(f"hyperbola-{c:g}", hyperbola, _scalar(c=c), 2, _coordinates, exact=_on_grid([(-14, 14)] * 2), fresh=True)
    for seed in range(3):
        random = rng("bend", seed)
        x = random.uniform(-2, 2, 15)
        data = {"x": x, "y": 1.5 * np.tanh(1.2 * x) + 0.3 * random.standard_normal(15)}
        yield Problem(f"bend-{seed}", bend, data, 2, _coordinates, exact=_on_grid([(-14, 14)] * 2, 1601), fresh=True)
    for seed in range(3):
        random = rng("square", seed)
        x = random.uniform(0, 1, 12)
        data = {"x": x, "y": 2.0 * x + 0.5 * random.standard_normal(12)}
        yield Problem(f"square-{seed}", square, data, 2, _coordinates, exact=_on_grid([(-8, 8), (-14, 14)]), fresh=True)
    for seed in range(3):
        random = rng("phase", seed)
        x = random.uniform(0, 6, 10)
        data = {"x": x, "y": 1.2 * np.cos(x + 0.7) + 0.5 * random.standard_normal(10)}
        yield Problem(f"phase-{seed}", phase, data, 2, _coordinates, exact=_on_grid([(-28, 28), (-8, 3)]), fresh=True)
    for seed in range(3):
        random = rng("frequency", seed)
        x = random.uniform(0, 3, 12)
        data = {"x": x, "y": np.cos((2.0 + seed) * x) + 0.7 * random.standard_normal(12)}
        yield Problem(f"frequency-{seed}", frequency, data, 2, _coordinates, exact=_on_grid([(-21, 21), (-4, 2.5)], 1601), fresh=True)
    for seed in range(3):
        random = rng("change", seed)
        x = np.linspace(0.0, 1.0, 14)
        data = {"x": x, "y": 1.2 * (x > 0.3 + 0.2 * seed) + 0.6 * random.standard_normal(14)}
        yield Problem(f"change-{seed}", change, data, 2, _coordinates, exact=_on_grid([(-2.5, 3.5), (-14, 14)]), fresh=True)
    for dim, k, a, tilt in ((1, 2.0, 1.5, 0.0), (1, 1.0, 1.5, 0.3), (2, 1.0, 1.6, 0.2), (3, 0.7, 1.8, 0.0), (5, 1.5, 1.5, 0.1)):
        data = _scalar(k=k, a=a, tilt=tilt)
        yield Problem(f"wells-{dim}-{a:g}-{tilt:g}", wells, data, dim, _coordinates, exact=_wells_exact, fresh=True)
    cases = (
        (1, ((0.2, -6, 1), (0.3, 0, 1), (0.5, 5, 0.7))),
        (3, ((0.35, -5, 1), (0.3, 0, 0.5), (0.35, 6, 1))),
        (8, ((0.5, -2, 0.5), (0.5, 2, 0.5))),
        (2, ((0.6, -3, 1), (0.4, 3, 0.5))),
        (1, ((0.75, 0, 1), (0.25, 8, 0.5))),
        (2, ((0.7, -5, 2), (0.3, 5, 0.5))),
        (5, ((0.55, -3, 0.8), (0.45, 3, 1.2))),
        (10, ((0.8, 0, 1), (0.2, 2.5, 0.4))),
        (3, ((0.85, 0, 1.5), (0.15, 3, 0.2))),
        (2, ((0.8, 1, 1), (0.2, -2, 0.1))),
        (4, ((0.5, -4, 2), (0.5, 4, 0.3))),
    )
    for which, (dim, parts) in enumerate(cases):
        yield _lumps(which, dim, parts)
