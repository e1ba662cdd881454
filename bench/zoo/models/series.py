"""Series in time: autoregression, states, volatility, hidden regimes, an ODE, and Gaussian processes."""

import jax
import jax.numpy as jnp
import numpy as np

from .problem import LOG_2PI, Problem, Twin, half_normal, normal, rng


def autoregression(z, data):
    """y_t ~ N(c + phi·y_{t−1}, sigma²), phi = tanh z₁; z = (c, ·, log sigma)."""
    phi, y = jnp.tanh(z[1]), data["y"]
    prior = normal(z[0], 0.0, 2.0) + half_normal(z[2], 2.0) + jnp.log1p(-(phi**2)) - jnp.log(2.0)
    return prior + normal(y[1:], z[0] + phi * y[:-1], jnp.exp(z[2]))


def _autoregression_quantities(z, data):
    return {"c": z[0], "phi": jnp.tanh(z[1]), "sigma": jnp.exp(z[2])}


def _autoregressive(steps, phi, seed):
    random = rng("ar", steps, phi, seed)
    y = np.zeros(steps)
    for t in range(1, steps):
        y[t] = 0.3 + phi * y[t - 1] + 0.8 * random.standard_normal()
    return {"y": y}


def level(z, data):
    """A level that wanders: x_t ~ N(x_{t−1}, q²), y_t ~ N(x_t, r²); z = (log q, log r, x)."""
    x = z[2:]
    wander = normal(x[0], 0.0, 5.0) + normal(x[1:], x[:-1], jnp.exp(z[0]))
    return half_normal(z[:2], 1.0) + wander + normal(data["y"], x, jnp.exp(z[1]))


def _level_by_quadrature(problem):
    """The states are Gaussian given q and r, so a grid over those two is all that is needed."""
    y = problem.data["y"]
    steps = len(y)
    shared = np.minimum.outer(np.arange(steps), np.arange(steps)).astype(float)
    log_q, log_r = np.linspace(-10.0, 1.5, 116), np.linspace(-5.0, 1.2, 125)
    shown = [0, steps // 2, steps - 1]
    rows = []
    for a in log_q:
        prior = 25.0 + np.exp(2 * a) * shared
        value, turn = np.linalg.eigh(prior)
        turned, heads = turn.T @ y, prior[shown] @ turn
        total = value[:, None] + np.exp(2 * log_r)
        log_weight = -0.5 * np.log(total).sum(axis=0) - 0.5 * (turned[:, None] ** 2 / total).sum(axis=0)
        log_weight += a + log_r - 0.5 * (np.exp(2 * a) + np.exp(2 * log_r))
        center = heads @ (turned[:, None] / total)
        variance = prior[shown, shown][:, None] - heads**2 @ (1.0 / total)
        hyper = np.stack([np.full(len(log_r), np.exp(a)), np.exp(log_r)])
        rows.append((log_weight, np.concatenate([hyper, center]), np.concatenate([0 * hyper, variance])))
    log_weight = np.concatenate([row[0] for row in rows])
    center, variance = (np.concatenate([row[k] for row in rows], axis=1) for k in (1, 2))
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    mean = center @ weight
    sd = np.sqrt((variance + (center - mean[:, None]) ** 2) @ weight)
    return {name: (float(m), float(s)) for name, m, s in zip(problem.names(), mean, sd)}


def _level_quantities(z, data):
    return {"q": jnp.exp(z[0]), "r": jnp.exp(z[1]), "x": z[jnp.array([2, 2 + len(data["y"]) // 2, -1])]}


def _wandering(steps, q, seed):
    random = rng("level", steps, q, seed)
    x = np.cumsum(q * random.standard_normal(steps))
    return {"y": x + 0.7 * random.standard_normal(steps)}


def volatility(z, data):
    """y_t ~ N(0, e^{h_t}), h an autoregression around mu; z = (mu, logit of (1+phi)/2, log sigma, h)."""
    mu, phi, log_sigma, h = z[0], 2 * jax.nn.sigmoid(z[1]) - 1, z[2], z[3:]
    sigma = jnp.exp(log_sigma)
    prior = normal(mu, 0.0, 2.0) + normal(z[1], 3.0, 1.0) + half_normal(log_sigma, 0.5)
    first = normal(h[0], mu, sigma / jnp.sqrt(1 - phi**2))
    return prior + first + normal(h[1:], mu + phi * (h[:-1] - mu), sigma) + normal(data["y"], 0.0, jnp.exp(0.5 * h))


def _volatility_to_z(w, data):
    mu, phi, sigma = w[0], 2 * jax.nn.sigmoid(w[1]) - 1, jnp.exp(w[2])
    first = w[3] / jnp.sqrt(1 - phi**2)
    step = lambda g, e: (phi * g + e, phi * g + e)
    _, rest = jax.lax.scan(step, first, w[4:])
    return jnp.concatenate([w[:3], mu + sigma * jnp.concatenate([first[None], rest])])


def _volatility_jacobian(w, data):
    phi = 2 * jax.nn.sigmoid(w[1]) - 1
    return len(data["y"]) * w[2] - 0.5 * jnp.log1p(-(phi**2))


VOLATILITY = Twin(_volatility_to_z, _volatility_jacobian)


def volatility_free(z, data):
    """The same from independent innovations."""
    return volatility(_volatility_to_z(z, data), data) + _volatility_jacobian(z, data)


def _volatility_quantities(z, data):
    h = z[jnp.array([3, 3 + len(data["y"]) // 2, -1])]
    return {"mu": z[0], "logit_phi": z[1], "sigma": jnp.exp(z[2]), "h": h}


def _volatility_free_quantities(z, data):
    return _volatility_quantities(_volatility_to_z(z, data), data)


def _volatile(steps, seed):
    random = rng("volatility", steps, seed)
    h = np.zeros(steps)
    for t in range(1, steps):
        h[t] = 0.9 * h[t - 1] + 0.4 * random.standard_normal()
    return {"y": np.exp(0.5 * h) * random.standard_normal(steps)}


def regimes(z, data):
    """Two hidden regimes, summed out: y_t ~ N(m_k, sigma²); z = (m₀, m₁, logit of staying in 0, in 1, log sigma)."""
    stay = z[2:4]
    prior = normal(z[:2], 0.0, 3.0) + normal(stay, 1.5, 1.0) + half_normal(z[4], 2.0)
    seen = -0.5 * ((data["y"][:, None] - z[:2]) * jnp.exp(-z[4])) ** 2 - z[4] - 0.5 * LOG_2PI
    go, keep = jax.nn.log_sigmoid(-stay), jax.nn.log_sigmoid(stay)
    step_matrix = jnp.array([[keep[0], go[0]], [go[1], keep[1]]])

    def forward(alpha, row):
        return jax.nn.logsumexp(alpha[:, None] + step_matrix, axis=0) + row, None

    alpha, _ = jax.lax.scan(forward, seen[0] - jnp.log(2.0), seen[1:])
    return prior + jax.nn.logsumexp(alpha)


def _ordered_to_free(w, data):
    return w.at[1].set(w[0] + jnp.exp(w[1]))


ORDERED = Twin(_ordered_to_free, lambda w, data: w[1])


def regimes_ordered(z, data):
    """The same with m₁ = m₀ + e^{z₁}: one name for each regime."""
    return regimes(_ordered_to_free(z, data), data) + z[1]


def _swapped(z, data):
    return z[jnp.array([1, 0, 3, 2, 4])]


def _regime_quantities(z, data):
    return {"m": z[:2], "stay": jax.nn.sigmoid(z[2:4]), "sigma": jnp.exp(z[4])}


def _regime_ordered_quantities(z, data):
    return _regime_quantities(_ordered_to_free(z, data), data)


def _hidden(steps, gap, seed):
    random = rng("hmm", steps, gap, seed)
    state, y = 0, np.zeros(steps)
    for t in range(steps):
        state = state if random.random() < 0.88 else 1 - state
        y[t] = (state - 0.5) * gap + 0.7 * random.standard_normal()
    return {"y": y}


def predators(z, data):
    """Lotka–Volterra by RK4, in logarithms: z = log (alpha, beta, gamma, delta, u₀, v₀, sigma), lognormal noise."""
    alpha, beta, gamma, delta = jnp.exp(z[:4])
    center, spread = jnp.array([0.0, -3.0, 0.0, -3.0, 2.3, 2.3, -1.0]), jnp.array([0.5, 0.5, 0.5, 0.5, 1.0, 1.0, 1.0])
    slope = lambda s: jnp.array([alpha - beta * jnp.exp(s[1]), delta * jnp.exp(s[0]) - gamma])
    h = 0.25

    def small(s, _):
        a = slope(s)
        b = slope(s + 0.5 * h * a)
        c = slope(s + 0.5 * h * b)
        e = slope(s + h * c)
        return s + h / 6 * (a + 2 * b + 2 * c + e), None

    def observed(s, _):
        s, _ = jax.lax.scan(small, s, None, length=4, unroll=4)
        return s, s

    _, path = jax.lax.scan(observed, z[4:6], None, length=data["y"].shape[0])
    return normal(z, center, spread) + normal(data["y"], path, jnp.exp(z[6]))


# The rates and the start that the data were made with.
HUNTED = np.log([0.55, 0.028, 0.8, 0.024, 30.0, 8.0, 0.25])


def _predator_quantities(z, data):
    return {"alpha": jnp.exp(z[0]), "beta": jnp.exp(z[1]), "gamma": jnp.exp(z[2]), "delta": jnp.exp(z[3]),
            "start": jnp.exp(z[4:6]), "sigma": jnp.exp(z[6])}


def _hunted(steps, seed):
    random = rng("predators", steps, seed)
    rate = np.array([0.55, 0.028, 0.8, 0.024])
    s, path, h = np.log([30.0, 8.0]), [], 0.05
    slope = lambda s: np.array([rate[0] - rate[1] * np.exp(s[1]), rate[3] * np.exp(s[0]) - rate[2]])
    for _ in range(steps):
        for _ in range(20):
            middle = s + 0.5 * h * slope(s)
            s = s + h * slope(middle)
        path.append(s)
    return {"y": np.array(path) + 0.25 * random.standard_normal((steps, 2))}


def decay(z, data):
    """y ~ N(A·e^{−k·t} + c, sigma²); z = (log A, log k, c, log sigma)."""
    curve = jnp.exp(z[0] - jnp.exp(z[1]) * data["t"]) + z[2]
    return normal(z[:2], 0.0, 1.0) + normal(z[2], 0.0, 2.0) + half_normal(z[3], 1.0) + normal(data["y"], curve, jnp.exp(z[3]))


def _decay_quantities(z, data):
    return {"a": jnp.exp(z[0]), "k": jnp.exp(z[1]), "c": z[2], "sigma": jnp.exp(z[3])}


def _decaying(rows, seed):
    random = rng("decay", rows, seed)
    t = np.linspace(0.0, 5.0, rows)
    return {"t": t, "y": 2.0 * np.exp(-0.9 * t) + 0.5 + 0.2 * random.standard_normal(rows)}


def process(z, data):
    """A Gaussian process, summed out: z = log (length, amplitude, noise)."""
    x, y = data["x"], data["y"]
    cov = jnp.exp(2 * z[1] - 0.5 * ((x[:, None] - x) * jnp.exp(-z[0])) ** 2) + (jnp.exp(2 * z[2]) + 1e-8) * jnp.eye(len(x))
    factor = jnp.linalg.cholesky(cov)
    white = jax.scipy.linalg.solve_triangular(factor, y, lower=True)
    return normal(z, jnp.array([0.0, 0.0, -1.0]), 1.0) - 0.5 * white @ white - jnp.sum(jnp.log(jnp.diag(factor)))


def _process_quantities(z, data):
    return {"length": jnp.exp(z[0]), "amplitude": jnp.exp(z[1]), "noise": jnp.exp(z[2])}


def _smooth(rows, seed):
    random = rng("process", rows, seed)
    x = np.sort(random.uniform(0.0, 6.0, rows))
    return {"x": x, "y": np.sin(1.5 * x) + 0.4 * x - 1.2 + 0.3 * random.standard_normal(rows)}


def problems():
    for phi in (0.0, 0.5, 0.8, 0.95):
        data = _autoregressive(150, phi, 0)
        yield Problem(f"ar-150-{phi:g}", autoregression, data, 3, _autoregression_quantities)
    for q, seed in ((0.3, 0), (1.0, 0), (1.0, 1)):
        data = _wandering(40, q, seed)
        yield Problem(f"level-40-{q:g}-{seed}", level, data, 42, _level_quantities, exact=_level_by_quadrature)
    for seed in (0,):
        data, dim = _volatile(40, seed), 43
        first = Problem(
            f"volatility-centred-{seed}", volatility, data, dim, _volatility_quantities, twin=VOLATILITY, accept=0.95
        )
        yield first
        yield Problem(
            f"volatility-free-{seed}", volatility_free, data, dim, _volatility_free_quantities, sampled_as=first
        )
    for gap, seed in ((2.0, 0), (3.0, 0), (3.0, 1)):
        data = _hidden(100, gap, seed)
        first = Problem(
            f"regimes-{gap:g}-{seed}", regimes, data, 5, _regime_quantities, twin=ORDERED, mirror=_swapped
        )
        yield first
        name = f"regimes-ordered-{gap:g}-{seed}"
        yield Problem(name, regimes_ordered, data, 5, _regime_ordered_quantities, sampled_as=first)
    for seed in range(3):
        yield Problem(f"predators-15-{seed}", predators, _hunted(15, seed), 7, _predator_quantities, reference_start=HUNTED)
    for seed in range(3):
        yield Problem(f"decay-40-{seed}", decay, _decaying(40, seed), 4, _decay_quantities)
    for seed in range(3):
        yield Problem(f"process-25-{seed}", process, _smooth(25, seed), 3, _process_quantities)
