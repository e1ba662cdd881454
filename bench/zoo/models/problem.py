"""A posterior, the quantities that are compared, and how its reference answer is found.

Everything is meant for float64: the programs set JAX to it, the tests use `jax.enable_x64`.
"""

import zlib
from dataclasses import dataclass, field
from typing import Any, Callable, Optional

import jax
import jax.numpy as jnp
import numpy as np

LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class Twin:
    """Other coordinates w of the same posterior, in which the reference run mixes: z = to_z(w), with log |dz/dw|."""

    to_z: Callable[[Any, Any], Any]
    log_jacobian: Callable[[Any, Any], Any]


@dataclass(frozen=True, eq=False)
class Problem:
    name: str
    log_density: Callable[[Any, Any], Any]
    data: dict
    dim: int
    quantities: Callable[[Any, Any], dict]
    """From one z to the named quantities, numbers or vectors, on the scale of the model."""
    twin: Optional[Twin] = None
    mirror: Optional[Callable[[Any, Any], Any]] = None
    """z to the point of equal density on the other side, where the twin covers one side only."""
    exact: Optional[Callable[["Problem"], dict]] = None
    """Means and sds by quadrature or a closed form: {name: (mean, sd)}."""
    accept: float = 0.9
    """The rate of acceptance that the reference run aims at."""
    sampled_as: Optional["Problem"] = None
    """The same posterior and quantities in other coordinates, if that is what the reference run samples."""
    reference_start: Any = None
    """Around which the chains of the reference run begin, in the coordinates of the twin."""
    fresh: bool = False
    """Whether the problem came after the limits of the verdict were chosen, so that a closed form does not mean it was looked at."""
    later: bool = False
    """Whether it came after the limits in use, and was not looked at before they were fixed."""
    bad_start: Optional[Callable[["Problem"], np.ndarray]] = field(default=None)

    def names(self):
        # Of the pairs, not of the dictionary: JAX would sort its keys.
        found = []
        jax.eval_shape(lambda z: found.extend(self.quantities(z, self.data).items()), jnp.zeros(self.dim))
        return [name for key, value in found for name in labels(key, value.shape)]

    def far_start(self):
        """A start that nobody would choose: five units out in a direction that the name fixes."""
        if self.bad_start is not None:
            return self.bad_start(self)
        return 5.0 * rng(self.name, 99).standard_normal(self.dim)


def labels(key, shape):
    return [key] if not shape else [f"{key}[{i}]" for i in range(shape[0])]


def flat(quantities):
    """The named quantities of one z as a vector, in the order of `Problem.names`."""
    return lambda z, data: jnp.concatenate([jnp.atleast_1d(value) for value in quantities(z, data).values()])


def rng(*words):
    """A generator that depends on the words alone."""
    return np.random.default_rng(zlib.crc32("/".join(map(str, words)).encode()))


def normal(x, mean, sd):
    """Σ log N(x; mean, sd²)."""
    x, mean, sd = jnp.broadcast_arrays(x, mean, sd)
    return jnp.sum(-0.5 * ((x - mean) / sd) ** 2 - jnp.log(sd) - 0.5 * LOG_2PI)


def half_normal(log_x, scale):
    """Σ of the log density of log x, where x is half-normal with this scale."""
    return jnp.sum(0.5 * jnp.log(2.0 / jnp.pi) - jnp.log(scale) - 0.5 * (jnp.exp(log_x) / scale) ** 2 + log_x)


def half_cauchy(log_x, scale):
    """Σ of the log density of log x, where x is half-Cauchy with this scale."""
    return jnp.sum(jnp.log(2.0 / jnp.pi) - jnp.log(scale) - jnp.log1p((jnp.exp(log_x) / scale) ** 2) + log_x)


def weighted(values, log_weights):
    """Mean and sd of values (points,) under weights that need no constant."""
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    mean = weights @ values
    return float(mean), float(np.sqrt(weights @ (values - mean) ** 2))


def grid_moments(problem, bounds, points=801):
    """Means and sds of the quantities over a grid of one or two coordinates; the density must vanish at its edges."""
    axes = [np.linspace(low, high, points) for low, high in bounds]
    z = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    density = np.asarray(jax.jit(jax.vmap(problem.log_density, (0, None)))(z, problem.data))
    values = np.asarray(jax.jit(jax.vmap(flat(problem.quantities), (0, None)))(z, problem.data))
    top = density.max()
    for k, (low, high) in enumerate(bounds):
        edge = (z[:, k] == low) | (z[:, k] == high)
        assert density[edge].max() < top - 20, f"{problem.name}: the grid cuts the posterior off at {(low, high)}"
    return {name: weighted(values[:, i], density) for i, name in enumerate(problem.names())}
