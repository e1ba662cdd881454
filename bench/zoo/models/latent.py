"""Models whose parts can be exchanged or change sign: mixtures, factors, a matrix of rank one."""

import jax
import jax.numpy as jnp
import numpy as np

from .problem import Problem, Twin, grid_moments, half_normal, normal, rng


def mixture(z, data):
    """Half of y ~ N(z₀, 1), half ~ N(z₁, 1), nobody knows which."""
    parts = -0.5 * (data["y"][:, None] - z) ** 2
    return normal(z, 0.0, 5.0) + jnp.sum(jax.nn.logsumexp(parts, axis=1))


def _mixture_quantities(z, data):
    return {"m": z}


def _mixture_exact(problem):
    # With few rows one part can explain all of them, and the other follows its prior.
    edge = 9.0 if len(problem.data["y"]) >= 40 else 36.0
    return grid_moments(problem, [(-edge, edge)] * 2, 601 if edge == 9.0 else 1201)


def mixture_ordered(z, data):
    """Names by order: means (z₀, z₀ + e^{z₁}), a common sd e^{z₂}, a share logit⁻¹(z₃) of the lower one."""
    means = jnp.array([z[0], z[0] + jnp.exp(z[1])])
    share = jnp.array([jax.nn.log_sigmoid(z[3]), jax.nn.log_sigmoid(-z[3])])
    parts = share - 0.5 * ((data["y"][:, None] - means) * jnp.exp(-z[2])) ** 2 - z[2]
    prior = normal(means, 0.0, 5.0) + z[1] + half_normal(z[2], 2.0) + normal(z[3], 0.0, 1.5)
    return prior + jnp.sum(jax.nn.logsumexp(parts, axis=1))


def _mixture_ordered_quantities(z, data):
    return {"m": jnp.array([z[0], z[0] + jnp.exp(z[1])]), "sd": jnp.exp(z[2]), "share": jax.nn.sigmoid(z[3])}


def _mixed(rows, gap, seed):
    random = rng("mixture", rows, gap, seed)
    return {"y": gap * (random.random(rows) < 0.5) - gap / 2 + random.standard_normal(rows)}


def factor(z, data):
    """One factor, summed out: y ~ N(0, l·lᵀ + diag psi); z = (l, log psi), and l and −l are alike."""
    p = len(z) // 2
    loading, psi = z[:p], jnp.exp(z[p:])
    cov = jnp.outer(loading, loading) + jnp.diag(psi)
    root = jnp.linalg.cholesky(cov)
    white = jax.scipy.linalg.cho_solve((root, True), data["products"])
    seen = -0.5 * jnp.trace(white) - data["rows"] * jnp.sum(jnp.log(jnp.diag(root)))
    return normal(loading, 0.0, 1.0) + normal(z[p:], 0.0, 1.0) + seen


def _first_positive(w, data):
    return w.at[0].set(jnp.exp(w[0]))


POSITIVE = Twin(_first_positive, lambda w, data: w[0])


def _other_sign(z, data):
    p = len(z) // 2
    return jnp.concatenate([-z[:p], z[p:]])


def factor_signed(z, data):
    """The same with the first loading e^{z₀}."""
    return factor(_first_positive(z, data), data) + z[0]


def _factor_quantities(z, data):
    p = len(z) // 2
    return {"l": z[:p], "psi": jnp.exp(z[p:])}


def _factor_signed_quantities(z, data):
    return _factor_quantities(_first_positive(z, data), data)


def _factors(rows, p, seed):
    random = rng("factor", rows, p, seed)
    loading = random.uniform(0.5, 1.2, p)
    y = random.standard_normal((rows, 1)) * loading + 0.8 * random.standard_normal((rows, p))
    return {"products": y.T @ y, "rows": np.float64(rows)}


def rank_one(z, data):
    """Y ~ N(u·vᵀ, 0.5²) with standard normal u and v; (u, v) and (−u, −v) are alike."""
    rows = data["y"].shape[0]
    return normal(z, 0.0, 1.0) + normal(data["y"], jnp.outer(z[:rows], z[rows:]), 0.5)


def _rank_one_quantities(z, data):
    rows = data["y"].shape[0]
    return {"u": z[:2], "v": z[rows : rows + 2], "product": z[:2] * z[rows : rows + 2]}


def _negated(z, data):
    return -z


def _matrix(rows, columns, seed):
    random = rng("rank", rows, columns, seed)
    u, v = random.standard_normal(rows), random.standard_normal(columns)
    # The largest first: its sign is what names the two sides in the reference run.
    u = u[np.argsort(-np.abs(u))]
    return {"y": np.outer(u, v) + 0.5 * random.standard_normal((rows, columns))}


def _leading(y):
    """The singular vectors of the largest singular value with an even split of its size, the first entry in logarithms."""
    left, size, right = np.linalg.svd(y)
    z = np.sqrt(size[0]) * np.concatenate([left[:, 0], right[0]]) * np.sign(left[0, 0])
    return np.concatenate([[np.log(z[0])], z[1:]])


def problems():
    for rows, gap, seed in ((40, 4.0, 0), (150, 4.0, 0), (40, 1.0, 0), (150, 2.0, 0), (12, 2.0, 0)):
        data = _mixed(rows, gap, seed)
        yield Problem(f"mixture-{rows}-{gap:g}", mixture, data, 2, _mixture_quantities, exact=_mixture_exact)
    for rows, gap in ((100, 4.0), (300, 4.0), (300, 3.0)):
        data = _mixed(rows, gap, 0)
        yield Problem(f"mixture-ordered-{rows}-{gap:g}", mixture_ordered, data, 4, _mixture_ordered_quantities)
    p = 5
    for seed in (0, 1):
        data = _factors(250, p, seed)
        first = Problem(
            f"factor-250x{p}-{seed}", factor, data, 2 * p, _factor_quantities, twin=POSITIVE, mirror=_other_sign,
            reference_start=np.concatenate([[0.0], np.ones(p - 1), np.zeros(p)]),
        )
        yield first
        name = f"factor-signed-250x{p}-{seed}"
        yield Problem(name, factor_signed, data, 2 * p, _factor_signed_quantities, sampled_as=first)
    for seed in range(3):
        data = _matrix(5, 6, seed)
        yield Problem(
            f"rank-5x6-{seed}", rank_one, data, 11, _rank_one_quantities, twin=POSITIVE, mirror=_negated,
            reference_start=_leading(data["y"]),
        )
