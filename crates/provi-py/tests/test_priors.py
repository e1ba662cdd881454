"""The prior where none is given: scaled by the data, in every shell the same."""

import numpy as np
import pytest

import provi


@pytest.fixture
def line():
    """y = 1000 + 500x, with noise of sd 20."""
    random = np.random.default_rng(8)
    x = random.uniform(0.0, 4.0, size=60)
    return x[:, None], 1000.0 + 500.0 * x + 20.0 * random.normal(size=60)


def test_a_line_far_from_zero_is_found(line):
    X, y = line
    fit = provi.linear(X, y, intercept=True).fit(progress=False)
    assert abs(fit.mean[0] - 1000.0) < 25.0 and abs(fit.mean[1] - 500.0) < 12.0
    assert fit.conflicts == []
    assert "the intercept at the means of the columns" in fit.prior[0] and fit.prior[1].endswith(" on x0")
    # A column of ones is the intercept, wherever it stands.
    same = provi.linear(np.column_stack([X, np.ones(60)]), y).fit(progress=False)
    np.testing.assert_allclose(same.mean, fit.mean[::-1], rtol=1e-9)


def test_a_prior_in_conflict_is_called_out_above_the_table(line):
    X, y = line
    fit = provi.linear(X, y, intercept=True, prior_scale=2.5).fit(progress=False)
    assert fit.conflicts and repr(fit.summary()).startswith("prior and data disagree:")
    given = provi.linear(X, y, intercept=True, prior_scale=2.5, noise_sd=20.0).fit(progress=False)
    assert "posterior means are more than 2 prior sds" in given.conflicts[0]


def test_units_change_nothing_but_units(line):
    X, y = line
    plain = provi.linear(X, y, intercept=True).fit(progress=False)
    other = provi.linear(X * 1024.0, y / 64.0, intercept=True).fit(progress=False)
    np.testing.assert_allclose(other.mean * [64.0, 64.0 * 1024.0], plain.mean, rtol=1e-6)


def test_formulas_and_arrays_have_the_same_default(data):
    frame = {"a": data["X"][:, 0], "b": data["X"][:, 1], "y": data["count"], "w": data["weight"], "o": data["offset"]}
    fit = provi.fit_formula("y ~ a + b", frame, family="poisson", weights="w", offset="o", progress=False)
    same = provi.poisson(data["X"], data["count"], intercept=True, weights=data["weight"], offset=data["offset"])
    same = same.fit(progress=False)
    for key in ["prior_mean", "prior_sd"]:
        np.testing.assert_allclose(fit.model[key], same.model[key], rtol=1e-12)
    np.testing.assert_allclose(fit.mean, same.mean, rtol=1e-8)


def test_the_numbers_are_those_of_the_formulas(data):
    X, y, w = data["X"], data["label"], data["weight"]
    model = provi.logistic(X, y, intercept=True, weights=w).fit(progress=False).model
    center = np.average(X, axis=0, weights=w)
    sd = np.sqrt(np.average((X - center) ** 2, axis=0, weights=w))
    np.testing.assert_allclose(model["prior_sd"][1:], 2.5 / sd, rtol=1e-12)
    at = model["prior_at_means"]
    yes, n = (w * y).sum(), w.sum()
    assert at["intercept"] == 0 and at["sd"] == pytest.approx(2.5, rel=1e-12)
    assert at["mean"] == pytest.approx(np.log((yes + 0.5) / (n - yes + 0.5)), rel=1e-12)
    np.testing.assert_allclose(at["at"], [1.0, *center], rtol=1e-12)


def test_counts_have_the_default_of_their_single_trials():
    X = np.array([[0.0], [1.0], [3.0]])
    counts = provi.binomial(X, [1, 2, 0], [2, 3, 1], intercept=True).fit(progress=False)
    single = provi.logistic(np.repeat(X, [2, 3, 1], axis=0), [1, 0, 1, 1, 0, 0], intercept=True).fit(progress=False)
    np.testing.assert_allclose(counts.mean, single.mean, rtol=1e-9)


def test_without_an_intercept_nothing_is_centred(line):
    X, y = line
    model = provi.linear(X, y, noise_sd=20.0).fit(progress=False).model
    assert model.get("prior_at_means") is None and model["prior_mean"] == [0.0]
    assert model["prior_sd"][0] == pytest.approx(2.5 * y.std() / X.std(), rel=1e-12)


def test_hierarchical_models_have_it_too(data):
    groups = data["group"]
    fit = provi.hierarchical_logistic(data["X"], data["label"], groups, intercept=True).fit(progress=False)
    flat = provi.logistic(data["X"], data["label"], intercept=True).fit(progress=False)
    np.testing.assert_allclose(fit.model["prior_sd"][:3], flat.model["prior_sd"], rtol=1e-9)
    np.testing.assert_allclose(fit.model["prior_mean"][3:6], flat.model["prior_mean"], rtol=1e-9)


def test_estimators_find_what_scikit_learn_finds(line):
    datasets = pytest.importorskip("sklearn.datasets")
    from provi.sklearn import BayesianLinearRegression

    X, y = datasets.load_diabetes(return_X_y=True)
    assert BayesianLinearRegression().fit(X, y).score(X, y) >= 0.45
    X, y = line
    found = BayesianLinearRegression().fit(X, y)
    assert abs(found.intercept_ - 1000.0) < 25.0 and abs(found.coef_[0] - 500.0) < 12.0
