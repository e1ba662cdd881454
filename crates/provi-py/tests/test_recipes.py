"""Unproven recipes: models, formulas and black boxes, and what is refused."""

import numpy as np
import pytest

import provi

RNG = np.random.default_rng(5)
X = np.column_stack([np.ones(80), RNG.normal(size=80)])
Y = (X[:, 1] + RNG.normal(size=80) > 0).astype(float)
RECIPES = ["natural-gradient", "bures-wasserstein", "batch-and-match"]


@pytest.mark.parametrize("method", RECIPES)
def test_a_recipe_comes_near_the_best_gaussian_and_is_certified(method):
    best = provi.logistic(X, Y, prior_scale=1.0).fit(seed=1)
    fit = provi.logistic(X, Y, prior_scale=1.0).fit(method=method, steps=300, draws=32, seed=1)
    assert fit.method == method and fit.steps == 300 and method in repr(fit)
    assert 0 <= best.elbo - fit.elbo + 1e-9 and best.elbo - fit.elbo <= fit.certificate.gap.bound < 0.05
    again = provi.logistic(X, Y, prior_scale=1.0).fit(method=method, steps=300, draws=32, seed=1)
    assert np.array_equal(again.mean, fit.mean)


@pytest.mark.parametrize("method", RECIPES)
def test_a_recipe_takes_formulas_and_black_boxes(method):
    table = {"y": Y, "x": X[:, 1]}
    fit = provi.fit_formula("y ~ x", table, prior_scale=1.0, method=method, steps=200, draws=32)
    assert fit.method == method and fit.certificate.gap.bound < 0.1
    precision = np.array([[2.0, -1.2], [-1.2, 1.0]])
    box = provi.black_box(lambda z: (-0.5 * z @ precision @ z, -precision @ z), 2, batched=False)
    found = box.fit(method=method, steps=50, draws=8)
    assert np.allclose(found.cov, np.linalg.inv(precision), rtol=1e-5) and abs(found.mean).max() < 1e-5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "natural-gradient", "distance": 0.1}, "proved methods"),
        ({"method": "bures-wasserstein", "family_of_q": "meanfield"}, "keeps a family"),
        ({"method": "batch-and-match", "subsample": 8}, "the recipe natural-gradient"),
    ],
)
def test_what_a_recipe_cannot_do_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        provi.logistic(X, Y, prior_scale=1.0).fit(**options)


@pytest.mark.parametrize("coupling", ["independent", "antithetic", "latin", "sobol"])
def test_draws_of_a_step_may_depend_on_each_other(coupling):
    model = provi.logistic(X, Y, prior_scale=1.0)
    options = {"method": "proj-stl", "steps": 200, "draws": 16, "seed": 1}
    fit = model.fit(coupling=coupling, **options)
    assert fit.certificate.gap.bound < 0.05
    assert np.array_equal(fit.mean, model.fit(coupling=coupling, threads=1, **options).mean)
    assert np.array_equal(fit.mean, model.fit(**options).mean) == (coupling == "independent")


@pytest.mark.parametrize(("coupling", "method"), [("latin", "exact"), ("halton", "proj-stl")])
def test_a_coupling_that_cannot_be_is_refused(coupling, method):
    with pytest.raises(ValueError, match="draws|coupling"):
        provi.logistic(X, Y, prior_scale=1.0).fit(method=method, coupling=coupling)
