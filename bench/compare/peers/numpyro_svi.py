"""NumPyro: SVI with AutoMultivariateNormal and Trace_ELBO, its default start."""

import jax
import numpyro
import optax
from numpyro.distributions import ImproperUniform, constraints
from numpyro.infer import SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoMultivariateNormal

from peers.densities import log_density
from peers.loop import Decay, Loop

NAME = "NumPyro"


def start(problem, setting):
    density = log_density(problem)

    def model():
        z = numpyro.sample("z", ImproperUniform(constraints.real_vector, (), (problem.d,)))
        numpyro.factor("log_density", density(z))

    decay = Decay(setting["rate"], setting.get("last"))
    optimiser = numpyro.optim.optax_to_numpyro(optax.adam(decay))
    svi = SVI(model, AutoMultivariateNormal(model), optimiser, Trace_ELBO(num_particles=setting["draws"]))
    state = svi.init(jax.random.PRNGKey(1))

    def read(state):
        found = svi.get_params(state)
        return found["auto_loc"], found["auto_scale_tril"]

    # SVI carries its own key; the loop's is not needed.
    return Loop(lambda key, state: svi.update(state)[0], state, read, decay, setting["seconds"])
