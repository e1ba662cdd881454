"""Answers with another base law than the normal one."""

import math
import pickle

import numpy as np
import pytest

import provi

SCALE = np.array([[1.0, 0.0], [0.5, 0.8]])
PRECISION = np.linalg.inv(SCALE @ SCALE.T)


def density(z):
    off = z - [1.0, -2.0]
    pull = off @ PRECISION
    return -0.5 * (off * pull).sum(axis=1), -pull


def sought(**options):
    return provi.location_scale(density, 2, names=["a", "b"], progress=False, seed=1, **options)


def test_moments_of_a_gaussian_target_are_those_of_every_law():
    for law in ["student-t:8", "laplace", "logistic", "uniform"]:
        fit = sought(base_law=law, steps=4000)
        assert fit.base_law == law and fit.names == ["a", "b"]
        np.testing.assert_allclose(fit.mean, [1.0, -2.0], atol=0.03)
        np.testing.assert_allclose(fit.cov, SCALE @ SCALE.T, atol=0.05)
        np.testing.assert_allclose(fit.factor @ fit.factor.T, fit.cov, rtol=1e-12)
        np.testing.assert_allclose(fit.sd, np.sqrt(np.diag(fit.cov)), rtol=1e-12)
        assert "nothing is certified" in repr(fit)


def test_draws_densities_and_the_elbo_belong_to_the_law():
    fit = sought(base_law="laplace", steps=2000)
    draws = fit.sample(4000)
    u = np.linalg.solve(fit.factor, (draws - fit.mean).T)
    # log s(u) = -sqrt(2)|u| - log(2)/2.
    by_hand = (-math.sqrt(2) * abs(u) - 0.5 * math.log(2)).sum(axis=0) - math.log(np.linalg.det(fit.factor))
    np.testing.assert_allclose(fit.log_density(draws), by_hand, rtol=1e-9, atol=1e-9)
    values, _ = density(draws)
    ratios = values - by_hand
    # Five standard errors of either mean: a false alarm in 10^6.
    error = math.hypot(ratios.std() / math.sqrt(len(ratios)), fit.elbo_error)
    assert abs(ratios.mean() - fit.elbo) < 5 * error
    assert abs(-by_hand.mean() - fit.entropy) < 5 * by_hand.std() / math.sqrt(len(by_hand))
    assert np.array_equal(fit.sample(5), fit.sample(5)) and not np.array_equal(fit.sample(5), fit.sample(5, seed=9))
    # A kurtosis of 6: that of a normal law is rejected.
    assert abs((u**4).mean() - 3) > 1
    assert fit.estimates.log_evidence is not None and fit.promise.value is None


def test_a_promise_and_a_pickle():
    fit = sought(base_law="logistic", distance=0.2, mu=1 / 1.7, smoothness=3.0)
    assert fit.promise.value <= 0.2 and fit.promise.provenance == "declared"
    again = pickle.loads(pickle.dumps(fit))
    assert again.record == fit.record and np.array_equal(again.sample(3), fit.sample(3))
    table = fit.summary(level=0.9)
    assert list(table) == ["mean", "sd", "5%", "95%", "P(>0)"] and "nothing is proved" in table.footer


def test_models_of_data_and_domains_are_taken_and_nonsense_is_refused():
    x = np.column_stack([np.ones(40), np.linspace(-1, 1, 40)])
    y = (np.arange(40) % 3 > 0).astype(float)
    model = provi.logistic(x, y, names=["one", "x"])
    fit = provi.location_scale(model, base_law="student-t:6", steps=300, progress=False)
    assert fit.names == ["one", "x"] and fit.record["model"]["family"] == "bernoulli"
    with pytest.raises(ValueError, match="known: gaussian"):
        provi.location_scale(model, base_law="cauchy", progress=False)
    with pytest.raises(ValueError, match="fourth moment"):
        provi.location_scale(model, base_law="student-t:4", progress=False)
    with pytest.raises(ValueError, match="prox-energy"):
        provi.location_scale(model, base_law="laplace", method="proj-stl", progress=False)
    with pytest.raises(ValueError, match="auto seeks a Gaussian"):
        provi.location_scale(model, base_law="laplace", method="auto", progress=False)
    with pytest.raises(TypeError, match="smoothness is an argument for a function"):
        provi.location_scale(model, base_law="laplace", smoothness=3.0)
    with pytest.raises(TypeError, match="base_law"):
        provi.location_scale(model, base_law=3, progress=False)
    with pytest.raises(TypeError, match="dimension"):
        provi.location_scale(density, base_law="laplace")
    with pytest.raises(ValueError, match="dimension 2"):
        provi.location_scale(model, 3, base_law="laplace")
    with pytest.raises(ValueError, match="scale"):
        provi.location_scale(provi.linear(x, y), base_law="laplace", progress=False)
    with pytest.raises(ValueError, match="shape"):
        fit.log_density(np.zeros(2))


def test_an_interrupt_keeps_the_answer():
    calls = 0

    def interrupting(z):
        nonlocal calls
        calls += 1
        if calls == 400:
            raise KeyboardInterrupt
        return density(z)

    fit = provi.location_scale(interrupting, 2, base_law="laplace", steps=100000, progress=False)
    assert fit.stopped_early and fit.promise.value is None
