"""JAX functions, compiled and batched here."""

import warnings

import numpy as np
import pytest

import provi

jax = pytest.importorskip("jax")
import jax.numpy as jnp


def logistic(problem):
    def log_density(z):
        s = problem.x @ z
        return problem.c - 0.5 * z @ z + problem.y @ s - jnp.sum(jnp.logaddexp(0.0, s))

    return log_density


def test_the_gold_logistic_regression_is_fitted_from_a_jax_function(gold):
    problem, gap = gold
    with pytest.warns(UserWarning, match="jax_enable_x64"):
        model = provi.from_jax(logistic(problem), problem.d)
    fit = model.fit(seed=1)
    assert 0.0 <= gap(fit.mean, fit.factor) <= 0.01
    assert not jax.config.jax_enable_x64 and jnp.ones(1).dtype == jnp.float32


def test_it_computes_in_float64_and_only_there(gold):
    problem, _ = gold
    with pytest.warns(UserWarning):
        upper = np.eye(problem.d) + 0.25 * problem.x.T @ problem.x
        model = provi.from_jax(logistic(problem), problem.d, mu=1.0, smoothness=upper)
    exact = provi.logistic(problem.x, problem.y, prior_scale=1.0).fit()
    found = provi.certify(exact.mean, exact.cov, model, seed=1)
    # The same ELBO as the library's own model of the same data, but for the draws it is measured with.
    assert abs(found.elbo - exact.elbo) <= 6 * found.elbo_error
    assert found.certificate.gap.provenance == "declared"


def test_a_tree_of_parameters_keeps_its_names():
    def log_density(p):
        return -0.5 * (p["a"] - 1.0) ** 2 - 0.5 * jnp.sum((p["b"]["c"] - jnp.arange(6.0).reshape(2, 3)) ** 2)

    with jax.enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("error")
        model = provi.from_jax(log_density, {"a": 0.0, "b": {"c": np.zeros((2, 3))}})
    assert model.names[:3] == ["a", "b.c[0,0]", "b.c[0,1]"]
    fit = model.fit()
    draws = fit.draws(7)
    assert draws["a"].shape == (7,) and draws["b.c"].shape == (7, 2, 3)
    np.testing.assert_allclose(fit.mean, [1, 0, 1, 2, 3, 4, 5], atol=1e-8)
    assert fit.to_arviz().posterior["b.c"].dims == ("chain", "draw", "b.c_dim_0", "b.c_dim_1")


def test_what_the_function_raises_is_raised():
    def wrong(z):
        raise ZeroDivisionError("in the model")

    with pytest.warns(UserWarning), pytest.raises(ZeroDivisionError, match="in the model"):
        provi.from_jax(wrong, 2).fit()


def test_parameters_with_domains_are_differentiated_and_carried_over():
    """A Dirichlet posterior and a positive rate, in JAX: counts 30, 50, 20; gamma(5, 2)."""
    counts = jnp.array([31.0, 51.0, 21.0])

    def log_density(theta):
        return counts @ jnp.log(theta["p"]) + 4.0 * jnp.log(theta["rate"]) - 2.0 * theta["rate"]

    model = provi.from_jax(log_density, {"p": provi.Domain.simplex(3), "rate": provi.Domain.positive()})
    fit = model.fit(seed=1, progress=False)
    assert fit.names == ["p[0]", "p[1]", "p[2]", "rate"]
    np.testing.assert_allclose(fit.mean["p"], np.array([32.0, 52.0, 22.0]) / 106.0, atol=0.005)
    np.testing.assert_allclose(fit.mean["rate"], 2.5, atol=0.12)
    assert fit.verdict == "good"
