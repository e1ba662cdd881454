"""Mixtures of models that were written elsewhere: on their own scale, under their own names."""

import numpy as np
import pytest

import provi

jax = pytest.importorskip("jax")
import jax.numpy as jnp


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def test_a_function_of_jax_with_two_modes():
    def density(p):
        below, above = jnp.sum((p["x"] + 3) ** 2), jnp.sum((p["x"] - 3) ** 2)
        return jnp.logaddexp(jnp.log(0.3) - 0.5 * below, jnp.log(0.7) - 0.5 * above) - 0.5 * p["s"] ** 2

    fit = provi.mixture(provi.from_jax(density, {"x": np.zeros(2), "s": 0.0}), seed=1, progress=False)
    assert fit.components == 2 and fit.verdict == "good" and np.allclose(fit.weights, [0.7, 0.3], atol=0.01)
    assert {name: x.shape for name, x in fit.draws(3).items()} == {"s": (3,), "x": (3, 2)}
    assert fit.summary().index == ["s", "x[0]", "x[1]"]
    # The mass is (2π)^{3/2}.
    assert abs(fit.estimates.log_evidence - 1.5 * np.log(2 * np.pi)) < 5 * fit.estimates.standard_error + 1e-6


def test_a_sign_that_the_data_do_not_tell():
    numpyro = pytest.importorskip("numpyro")
    dist = pytest.importorskip("numpyro.distributions")

    def model(y):
        mu, s = numpyro.sample("mu", dist.Normal(0, 5)), numpyro.sample("s", dist.HalfNormal(1))
        numpyro.sample("y", dist.Normal(jnp.abs(mu), s), obs=y)

    fit = provi.mixture(provi.from_numpyro(model, np.array([2.9, 3.1, 3.3, 2.7])), seed=1, progress=False)
    draws = fit.draws(4000)
    assert fit.components >= 2 and fit.verdict in ("good", "fair") and (draws["s"] > 0).all()
    # Both signs have half of the mass.
    assert abs((draws["mu"] > 0).mean() - 0.5) < 0.1 and abs(np.abs(draws["mu"]).mean() - 3.0) < 0.1
    assert fit.summary().index == ["mu", "s"]
