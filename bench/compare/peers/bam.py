"""Batch and match, our own implementation of the published update (Cai, Modi, Pillaud-Vivien, Margossian, Gower, Blei,
Saul 2024): the package that has it is not on the index.

With the batch's mean z, covariance C of points, mean g, covariance G of scores, and a regulariser l,
    U = l G + l/(1+l) g g',   V = S + l C + l/(1+l) (m - z)(m - z)',
the new covariance solves S U S + S = V. It is found from one symmetric eigendecomposition in the coordinates of V's
Cholesky factor L: S = 2 L (I + (I + 4 L'UL)^(1/2))^-1 L'. The new mean is (m + l (S g + z))/(1 + l).
"""

import jax
import jax.numpy as jnp

from peers.densities import log_density
from peers.loop import Decay, Loop

NAME = "BaM (own)"


def start(problem, setting):
    d, batch = problem.d, setting["draws"]
    scores = jax.vmap(jax.grad(log_density(problem)))
    scale = d * batch if setting["regulariser"] == "dB" else setting["regulariser"]

    def step(key, state):
        m, C, i = state
        weight = scale / (1 + i)
        z = m + jax.random.normal(key, (batch, d)) @ C.T
        g = scores(z)
        z_mean, g_mean = z.mean(0), g.mean(0)
        z_odd, g_odd = z - z_mean, g - g_mean
        shrunk = weight / (1 + weight)
        V = C @ C.T + weight / batch * z_odd.T @ z_odd + shrunk * jnp.outer(m - z_mean, m - z_mean)
        L = jnp.linalg.cholesky(V)
        # L'UL as a product of the scores in the coordinates of L.
        g_odd, g_mean_in = g_odd @ L, g_mean @ L
        inner = weight / batch * g_odd.T @ g_odd + shrunk * jnp.outer(g_mean_in, g_mean_in)
        values, vectors = jnp.linalg.eigh(inner)
        root = L @ (vectors * jnp.sqrt(2 / (1 + jnp.sqrt(1 + 4 * jnp.maximum(values, 0)))))
        S = root @ root.T
        m = (m + weight * (S @ g_mean + z_mean)) / (1 + weight)
        return m, jnp.linalg.cholesky(S), i + 1

    state = (jnp.zeros(d), jnp.eye(d), 0)
    return Loop(step, state, lambda state: state[:2], Decay(1.0, None), setting["seconds"])
