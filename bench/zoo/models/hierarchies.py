"""Groups that share a mean and a spread: centred and non-centred, means alone and with varying slopes."""

import jax.numpy as jnp
import numpy as np

from .problem import Problem, Twin, half_normal, normal, rng

SHOWN = 3


def _means(mu, log_tau, log_sigma, data):
    """Priors, and what the groups' own scatter says about sigma."""
    groups = data["mean"].shape[0]
    scatter = -groups * (data["n"] - 1.0) * log_sigma - 0.5 * data["within"] * jnp.exp(-2.0 * log_sigma)
    return normal(mu, 0.0, 5.0) + half_normal(log_tau, 2.0) + half_normal(log_sigma, 2.0) + scatter


def centred(z, data):
    """mean_j ~ N(theta_j, sigma²/n), theta_j ~ N(mu, tau²); z = (mu, log tau, log sigma, theta)."""
    mu, log_tau, log_sigma, theta = z[0], z[1], z[2], z[3:]
    seen = normal(data["mean"], theta, jnp.exp(log_sigma) / jnp.sqrt(data["n"]))
    return _means(mu, log_tau, log_sigma, data) + normal(theta, mu, jnp.exp(log_tau)) + seen


def non_centred(z, data):
    """The same with theta = mu + tau·eta; z = (mu, log tau, log sigma, eta)."""
    mu, log_tau, log_sigma, eta = z[0], z[1], z[2], z[3:]
    theta = mu + jnp.exp(log_tau) * eta
    seen = normal(data["mean"], theta, jnp.exp(log_sigma) / jnp.sqrt(data["n"]))
    return _means(mu, log_tau, log_sigma, data) + normal(eta, 0.0, 1.0) + seen


def centred_quantities(z, data):
    return {"mu": z[0], "tau": jnp.exp(z[1]), "sigma": jnp.exp(z[2]), "theta": z[3 : 3 + SHOWN]}


def non_centred_quantities(z, data):
    theta = z[0] + jnp.exp(z[1]) * z[3 : 3 + SHOWN]
    return {"mu": z[0], "tau": jnp.exp(z[1]), "sigma": jnp.exp(z[2]), "theta": theta}


def means_by_quadrature(problem):
    """mu and theta are Gaussian given tau and sigma, so a grid over those two is all that is needed."""
    mean, n, within = (np.asarray(problem.data[key]) for key in ("mean", "n", "within"))
    groups = len(mean)
    freedom = groups * (n - 1.0)
    middle, spread = 0.5 * np.log(within / freedom), 1.0 / np.sqrt(2.0 * freedom)
    tau = np.exp(np.linspace(-14.0, 3.0, 1701))[:, None]
    sigma = np.exp(np.linspace(middle - 8 * spread, middle + 8 * spread, 161))[None, :]
    noise = sigma**2 / n
    total = tau**2 + noise
    precision = groups / total + 1.0 / 25.0
    mu = mean.sum() / total / precision
    log_weight = (
        -0.5 * (tau**2 + sigma**2) / 4.0
        + np.log(tau) + np.log(sigma)
        - freedom * np.log(sigma) - 0.5 * within / sigma**2
        - 0.5 * groups * np.log(total) - 0.5 * np.log(precision)
        - 0.5 * (mean**2).sum() / total + 0.5 * mu**2 * precision
    )
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()

    def moments(center, variance):
        first = (weight * center).sum()
        return float(first), float(np.sqrt((weight * (variance + (center - first) ** 2)).sum()))

    found = {
        "mu": moments(mu, 1.0 / precision),
        "tau": moments(tau + 0 * sigma, 0.0),
        "sigma": moments(sigma + 0 * tau, 0.0),
    }
    share = tau**2 / total
    for j in range(SHOWN):
        center = share * mean[j] + (1.0 - share) * mu
        found[f"theta[{j}]"] = moments(center, tau**2 * noise / total + (1.0 - share) ** 2 / precision)
    return found


def collapsed(problem):
    """A start inside the pole of the centred density: tau = e⁻⁸ and all groups alike."""
    start = np.zeros(problem.dim)
    start[1] = -8.0
    return start


def _groups(groups, n, tau, seed):
    random = rng("groups", groups, n, tau, seed)
    theta = 1.0 + tau * random.standard_normal(groups)
    y = theta[:, None] + random.standard_normal((groups, n))
    within = ((y - y.mean(axis=1, keepdims=True)) ** 2).sum()
    return {"mean": y.mean(axis=1), "n": np.float64(n), "within": np.float64(within)}


def slopes_centred(z, data):
    """y = a_g + b_g·x + noise, a_g ~ N(mu_a, tau_a²), b_g ~ N(mu_b, tau_b²);
    z = (mu_a, mu_b, log tau_a, log tau_b, log sigma, a, b)."""
    groups = data["y"].shape[0]
    a, b = z[5 : 5 + groups], z[5 + groups :]
    seen = normal(data["y"], a[:, None] + b[:, None] * data["x"], jnp.exp(z[4]))
    drawn = normal(a, z[0], jnp.exp(z[2])) + normal(b, z[1], jnp.exp(z[3]))
    return normal(z[:2], 0.0, 5.0) + half_normal(z[2:5], 1.0) + drawn + seen


def slopes_non_centred(z, data):
    to_z, log_jacobian = SLOPES.to_z, SLOPES.log_jacobian
    return slopes_centred(to_z(z, data), data) + log_jacobian(z, data)


def _slopes_to_centred(w, data):
    groups = data["y"].shape[0]
    a = w[0] + jnp.exp(w[2]) * w[5 : 5 + groups]
    b = w[1] + jnp.exp(w[3]) * w[5 + groups :]
    return jnp.concatenate([w[:5], a, b])


SLOPES = Twin(_slopes_to_centred, lambda w, data: data["y"].shape[0] * (w[2] + w[3]))


def slopes_quantities(z, data):
    groups = data["y"].shape[0]
    scales = {"tau_a": jnp.exp(z[2]), "tau_b": jnp.exp(z[3]), "sigma": jnp.exp(z[4])}
    return {"mu_a": z[0], "mu_b": z[1], **scales, "a": z[5:7], "b": z[5 + groups : 7 + groups]}


def slopes_non_centred_quantities(z, data):
    return slopes_quantities(_slopes_to_centred(z, data), data)


def _slopes(groups, n, seed):
    random = rng("slopes", groups, n, seed)
    x = random.standard_normal((groups, n))
    a = 1.0 + 0.8 * random.standard_normal(groups)
    b = -0.5 + 0.4 * random.standard_normal(groups)
    return {"x": x, "y": a[:, None] + b[:, None] * x + random.standard_normal((groups, n))}


def slopes_collapsed(problem):
    start = np.zeros(problem.dim)
    start[2:4] = -6.0
    return start


def problems():
    for groups in (8, 30, 100, 300):
        for n in (2, 5, 20):
            data = _groups(groups, n, 0.5, 0)
            parts = [("centred", centred, centred_quantities), ("free", non_centred, non_centred_quantities)]
            for word, density, quantities in parts:
                if word == "free" and groups == 300:
                    continue
                name = f"means-{word}-{groups}x{n}"
                yield Problem(
                    name, density, data, groups + 3, quantities, exact=means_by_quadrature, bad_start=collapsed
                )
    for groups, n, seed in ((12, 6, 0), (12, 6, 1)):
        data = _slopes(groups, n, seed)
        dim = 5 + 2 * groups
        first = Problem(
            f"slopes-centred-{groups}x{n}-{seed}", slopes_centred, data, dim, slopes_quantities, twin=SLOPES,
            bad_start=slopes_collapsed,
        )
        yield first
        yield Problem(
            f"slopes-free-{groups}x{n}-{seed}", slopes_non_centred, data, dim, slopes_non_centred_quantities,
            sampled_as=first, bad_start=slopes_collapsed,
        )
