"""The estimators are scikit-learn's to judge."""

import pickle

import numpy as np
import pytest

import provi

pytest.importorskip("sklearn")

from scipy import sparse
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from provi.sklearn import (
    BayesianLinearRegression,
    BayesianLogisticRegression,
    BayesianPoissonRegressor,
    BayesianProbitRegression,
)

ALL = [
    BayesianLinearRegression(),
    BayesianLogisticRegression(),
    BayesianPoissonRegressor(),
    BayesianProbitRegression(),
]


@parametrize_with_checks([*ALL, BayesianLinearRegression(noise_sd=0.5)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_an_estimator_is_the_model_of_its_name(data):
    X, y = data["X"], data["label"]
    found = BayesianLogisticRegression(prior_scale=1.5).fit(X, y, sample_weight=data["weight"])
    fit = provi.logistic(X, y, intercept=True, prior_scale=1.5, weights=data["weight"]).fit()
    np.testing.assert_array_equal(np.r_[found.intercept_, found.coef_[0]], fit.mean)
    assert found.certificate_.proves_gap(1e-9)


def test_probabilities_are_averaged_over_the_answer(data):
    found = BayesianProbitRegression().fit(data["X"], data["label"])
    A = np.column_stack([np.ones(60), data["X"]])
    mu, variance = A @ found.fit_.mean, np.einsum("ni,ij,nj->n", A, found.fit_.cov, A)
    from scipy.stats import norm

    np.testing.assert_allclose(found.predict_proba(data["X"])[:, 1], norm.cdf(mu / np.sqrt(1 + variance)), rtol=1e-10)
    low, high = found.predict_interval(data["X"])
    assert (low < found.predict_proba(data["X"])[:, 1]).all() and (low < high).all()


def test_rates_with_exposures_as_weights_are_counts_with_offsets(data):
    exposure = np.round(4 * data["weight"])
    rates = BayesianPoissonRegressor().fit(data["X"], data["count"] / exposure, sample_weight=exposure)
    fit = provi.poisson(data["X"], data["count"], intercept=True, offset=np.log(exposure)).fit()
    np.testing.assert_allclose(np.r_[rates.intercept_, rates.coef_], fit.mean, rtol=1e-9)
    np.testing.assert_allclose(rates.fit_.cov, fit.cov, rtol=1e-8)


def test_sparse_rows_give_the_same_answer(data):
    X = np.where(np.abs(data["X"]) > 0.7, data["X"], 0.0)
    dense = BayesianLinearRegression().fit(X, data["value"])
    rows = BayesianLinearRegression().fit(sparse.csr_array(X), data["value"])
    np.testing.assert_allclose(rows.coef_, dense.coef_, rtol=1e-9)
    np.testing.assert_allclose(rows.predict(sparse.csr_array(X)), dense.predict(X), rtol=1e-9)


def test_pipelines_pickles_and_several_classes(data):
    y = np.where(data["label"] == 1.0, "yes", "no")
    scores = cross_val_score(make_pipeline(StandardScaler(), BayesianLogisticRegression()), data["X"], y, cv=3)
    assert scores.mean() > 0.5
    found = BayesianLogisticRegression().fit(data["X"], y)
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.predict_proba(data["X"]), found.predict_proba(data["X"]))
    with pytest.raises(ValueError, match="OneVsRestClassifier"):
        BayesianLogisticRegression().fit(data["X"], data["group"])
    several = OneVsRestClassifier(BayesianLogisticRegression()).fit(data["X"], data["group"])
    np.testing.assert_allclose(several.predict_proba(data["X"]).sum(axis=1), 1.0)
