"""Hamiltonian Monte Carlo with many chains side by side, for the references: NumPy around one compiled gradient.

The chains share what they learn during the warm-up: the step size (dual averaging) and the metric (the covariance of all chains,
dense). Lengths of paths are drawn anew for every step, around a quarter of a turn of a Gaussian.
"""

import functools

import jax
import numpy as np

CHAINS = 32
# Lengths of the windows of the warm-up. After each but the last the metric is learned anew; the last fixes the step size.
WINDOWS = (40, 40, 60, 100, 160, 60)
LONGEST = 128


@functools.lru_cache(maxsize=None)
def _compiled(log_density, twin):
    def density(w, data):
        if twin is None:
            return log_density(w, data)
        return log_density(twin.to_z(w, data), data) + twin.log_jacobian(w, data)

    return jax.jit(jax.vmap(jax.value_and_grad(density), (0, None)))


class _Averaging:
    """Dual averaging of the logarithm of the step size, with the usual constants."""

    def __init__(self, size, target):
        self.center, self.target, self.sum, self.count, self.mean = np.log(3 * size), target, 0.0, 0, 0.0
        self.log_size = np.log(size)

    def learn(self, rate):
        self.count += 1
        share = 1.0 / (self.count + 10)
        self.sum = (1 - share) * self.sum + share * (self.target - rate)
        self.log_size = self.center - np.sqrt(self.count) / 0.05 * self.sum
        weight = self.count**-0.75
        self.mean = weight * self.log_size + (1 - weight) * self.mean


class Chains:
    """Positions (chains, d), their log densities and gradients; `root` is the Cholesky factor of the metric's inverse."""

    def __init__(self, problem, seed):
        compiled = _compiled(problem.log_density, problem.twin)
        self.random = np.random.default_rng(seed)
        self.evaluate = lambda w: tuple(map(np.asarray, compiled(w, problem.data)))
        center = 0.0 if problem.reference_start is None else problem.reference_start
        spread = 1.0 if problem.reference_start is None else 0.2
        self.w = spread * self.random.uniform(-1.0, 1.0, (CHAINS, problem.dim)) + center
        self.value, self.gradient = self.evaluate(self.w)
        self.root = np.eye(problem.dim)

    def step(self, size):
        """One path for every chain, taken or not; returns the mean chance of being taken."""
        size *= self.random.uniform(0.8, 1.2)
        count = int(np.clip(np.ceil(self.random.uniform(0.6, 2.2) / size), 1, LONGEST))
        momentum = self.random.standard_normal(self.w.shape)
        before = self.value - 0.5 * (momentum**2).sum(axis=1)
        w, gradient = self.w, self.gradient
        with np.errstate(all="ignore"):
            momentum = momentum + 0.5 * size * gradient @ self.root
            for k in range(count):
                w = w + size * momentum @ self.root.T
                value, gradient = self.evaluate(w)
                momentum = momentum + (size if k + 1 < count else 0.5 * size) * gradient @ self.root
            change = value - 0.5 * (momentum**2).sum(axis=1) - before
        change = np.where(np.isfinite(change), change, -np.inf)
        taken = np.log(self.random.random(CHAINS)) < change
        self.w = np.where(taken[:, None], w, self.w)
        self.value = np.where(taken, value, self.value)
        self.gradient = np.where(taken[:, None], gradient, self.gradient)
        return float(np.exp(np.minimum(change, 0.0)).mean())


def sample(problem, seed, draws, longer=1):
    """Draws (CHAINS, draws, d) in the coordinates of the twin, where there is one, and the mean rate of acceptance."""
    chains, size = Chains(problem, seed), 0.1
    for number, length in enumerate(WINDOWS):
        averaging, seen = _Averaging(size, problem.accept), []
        for _ in range(length * longer):
            averaging.learn(chains.step(float(np.exp(averaging.log_size))))
            seen.append(chains.w)
        size = float(np.exp(averaging.mean))
        if number + 1 < len(WINDOWS):
            late = np.concatenate(seen[len(seen) // 2 :])
            # A little of a small identity, for directions that the window has not seen.
            weight = len(late) / (len(late) + 5.0 * problem.dim)
            cov = weight * np.cov(late.T).reshape(problem.dim, problem.dim)
            chains.root = np.linalg.cholesky(cov + (1 - weight) * 1e-3 * np.eye(problem.dim))
    kept, rates = [], []
    for _ in range(draws):
        rates.append(chains.step(size))
        kept.append(chains.w)
    return np.stack(kept, axis=1), float(np.mean(rates))
