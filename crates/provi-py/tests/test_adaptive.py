"""Steps that the draws decide: with a promise in a ball, and as a recipe without one."""

import numpy as np
import pytest

import provi

RNG = np.random.default_rng(5)
X = np.column_stack([np.ones(80), RNG.normal(size=80)])
Y = (X[:, 1] + RNG.normal(size=80) > 0).astype(float)


def model():
    return provi.logistic(X, Y, prior_scale=1.0)


@pytest.mark.parametrize("method", ["proj-adaptive", "proj-adaptive-stl", "dowg"])
def test_steps_that_the_draws_decide_come_near_and_are_certified(method):
    best = model().fit(seed=1)
    fit = model().fit(method=method, steps=400, draws=16, seed=1)
    assert fit.method == method and fit.steps == 400
    assert 0 <= best.elbo - fit.elbo + 1e-9 and best.elbo - fit.elbo <= fit.certificate.gap.bound < 50.0
    again = model().fit(method=method, steps=400, draws=16, seed=1)
    assert np.array_equal(again.mean, fit.mean)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "proj-adaptive", "subsample": 8}, "noise on a ball"),
        ({"method": "proj-adaptive", "family_of_q": "meanfield"}, "full factor"),
        ({"method": "dowg", "distance": 0.1}, "proved methods"),
    ],
)
def test_what_they_cannot_do_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        model().fit(**options)
