"""The workloads' log densities in JAX, every constant included; a batch of points becomes one matrix product."""

import jax
import jax.numpy as jnp

from problems import LOG_2PI


def log_density(problem):
    """z -> log p(z, x) for one z."""
    x = jnp.asarray(problem.x)
    y = None if problem.y is None else jnp.asarray(problem.y)
    if problem.name == "W5":
        return lambda z: -0.5 * z @ (x @ z)
    if problem.name == "W1":
        constant = -0.5 * (len(problem.y) + problem.d) * LOG_2PI
        return lambda z: constant - 0.5 * jnp.sum((y - x @ z) ** 2) - 0.5 * z @ z
    constant = -0.5 * problem.d * LOG_2PI
    if problem.name != "W4":

        def logistic(z):
            t = x @ z
            return constant + y @ t - jnp.sum(jax.nn.softplus(t)) - 0.5 * z @ z

        return logistic
    k, groups = x.shape[1], int(problem.group.max()) + 1
    # Rows are sorted by group, with as many in each.
    x, y = x.reshape(groups, -1, k), y.reshape(groups, -1)

    def hierarchical(z):
        theta, local = z[:k], z[k:].reshape(groups, k)
        t = jnp.einsum("gnk,gk->gn", x, local)
        prior = theta @ theta + jnp.sum((local - theta) ** 2)
        return constant + jnp.sum(y * t - jax.nn.softplus(t)) - 0.5 * prior

    return hierarchical
