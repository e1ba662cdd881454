"""BlackJAX: fullrank_vi with sticking the landing (its default), from N(0, I); 100 draws are its default."""

import blackjax
import jax.numpy as jnp
import optax
from blackjax.vi.fullrank_vi import _unflatten_cholesky

from peers.densities import log_density
from peers.loop import Decay, Loop

NAME = "BlackJAX"


def start(problem, setting):
    decay = Decay(setting["rate"], setting.get("last"))
    algorithm = blackjax.fullrank_vi(log_density(problem), optax.adam(decay), setting["draws"])
    state = algorithm.init(jnp.zeros(problem.d))
    read = lambda state: (state.mu, _unflatten_cholesky(state.chol_params, problem.d))
    return Loop(lambda key, state: algorithm.step(key, state)[0], state, read, decay, setting["seconds"])
