"""Rows in place of all of them: the options, and finite sums of one's own."""

import numpy as np
import pytest

import provi

Y = np.array([0.3, 1.9, 0.8, 1.2, -0.4])


def terms(z, indices, weights):
    assert z.dtype == np.float64 and indices.dtype == np.int64 and len(indices) == len(weights)
    miss = Y[indices] - z
    return -0.5 * miss**2 @ weights, (miss @ weights)[:, None]


def prior(z):
    return -0.5 * z[:, 0] ** 2, -z


def location(**changes):
    given = {"rest": prior, "mu": 6.0, "smoothness": 6.0, "term_smoothness": 1.0, **changes}
    return provi.FiniteSum(terms, len(Y), 1, **given)


def test_a_finite_sum_is_the_density_of_all_its_terms():
    z = np.array([[0.2], [-1.0]])
    value, gradient = location().log_density(z)
    np.testing.assert_allclose(value, -0.5 * ((Y - z) ** 2).sum(axis=1) - 0.5 * z[:, 0] ** 2, rtol=1e-14)
    np.testing.assert_allclose(gradient[:, 0], (Y - z).sum(axis=1) - z[:, 0], rtol=1e-14)
    fit = location().fit(seed=1)
    np.testing.assert_allclose(fit.mean, Y.sum() / 6, atol=1e-8)
    assert fit.certificate.kl.provenance == "declared"


@pytest.mark.parametrize("sampling", ["uniform", "importance"])
def test_a_plan_on_a_subsample_makes_a_promise(sampling):
    sizes = set()

    def counted(z, indices, weights):
        sizes.add(len(indices))
        return terms(z, indices, weights)

    model = provi.FiniteSum(counted, len(Y), 1, rest=prior, mu=6.0, smoothness=6.0, term_smoothness=np.ones(5))
    fit = model.fit(method="prox-energy", distance=0.02, subsample=2, sampling=sampling, seed=3)
    assert fit.promise.value <= 0.02 and fit.promise.provenance == "declared"
    assert abs(fit.mean[0] - Y.sum() / 6) < 0.3
    assert sizes == {1, 2, 5}  # the pass over single terms, the steps, and the whole


def test_epochs_and_sums_without_a_smoothness_promise_nothing():
    fit = location().fit(method="prox-energy", steps=200, subsample=2, sampling="reshuffle")
    assert fit.promise.value is None and "reshuffled" in fit.promise.reason
    with pytest.raises(ValueError, match="M_n of each term"):
        location(term_smoothness=None).fit(method="prox-energy", distance=0.02, subsample=2)


def test_models_of_data_take_a_subsample(data):
    model = provi.logistic(data["X"], data["label"], prior_scale=1.0)
    run = {"method": "prox-energy", "steps": 2000, "subsample": 16, "sampling": "importance", "seed": 2}
    fit = model.fit(**run)
    assert np.array_equal(fit.mean, model.fit(**run, threads=1).mean)
    exact = model.fit()
    assert (abs(fit.mean - exact.mean) < exact.sd).all()
    assert fit.gradient_evaluations < 2000 * 10


def test_what_cannot_be_subsampled_is_refused(data, density):
    model = provi.logistic(data["X"], data["label"])
    for options, message in (
        ({"method": "proj-stl", "subsample": 8}, "unproven recipe"),
        ({"method": "auto", "subsample": 8}, "subsample"),
        ({"method": "prox-energy", "subsample": 61}, "61 of 60 terms"),
        ({"method": "prox-energy", "subsample": 8, "sampling": "antithetic"}, "reshuffle"),
        ({"method": "prox-energy", "sampling": "uniform"}, "sampling"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(**options)
    with pytest.raises(ValueError, match="FiniteSum"):
        provi.fit(density, 2, mu=0.8, smoothness=5.0, method="prox-energy", subsample=1)
    with pytest.raises(ValueError, match="term_smoothness has length 2"):
        location(term_smoothness=[1.0, 2.0])
    with pytest.raises(TypeError, match="not callable"):
        provi.FiniteSum(3, 5, 1)


def test_what_the_functions_raise_is_what_the_user_sees():
    def broken(z, indices, weights):
        raise ZeroDivisionError("term 3")

    with pytest.raises(ZeroDivisionError, match="term 3"):
        provi.FiniteSum(broken, 5, 1).fit()
    with pytest.raises(ValueError, match=r"gradient of shape \(1,\), expected \(1, 1\)"):
        provi.FiniteSum(lambda z, i, w: (z[:, 0], z[:, 0]), 5, 1).log_density([[0.0]])
