"""The estimators are scikit-learn's to judge."""

import os
import pickle
import subprocess
import sys
import textwrap

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


@parametrize_with_checks([BayesianLogisticRegression()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([*ALL, BayesianLinearRegression(noise_sd=0.5)])
def test_scikit_learn_checks_of_every_estimator(estimator, check):
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
    # One prior for both: the default one is read off the data, in which weights count and offsets do not.
    rates = BayesianPoissonRegressor(prior_scale=2.5).fit(data["X"], data["count"] / exposure, sample_weight=exposure)
    fit = provi.poisson(data["X"], data["count"], intercept=True, prior_scale=2.5, offset=np.log(exposure)).fit()
    np.testing.assert_allclose(np.r_[rates.intercept_, rates.coef_], fit.mean, rtol=1e-7)
    np.testing.assert_allclose(rates.fit_.cov, fit.cov, rtol=1e-6)


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


def rows_with_intercept(X):
    return np.column_stack([np.ones(len(X)), X])


def test_the_deviation_of_a_new_response_counts_mean_and_noise(data):
    from scipy.stats import norm

    X, A = data["X"], rows_with_intercept(data["X"])
    found = BayesianLinearRegression(prior_scale=2.0, noise_sd=0.5).fit(X, data["value"])
    mean, std = found.predict(X, return_std=True)
    variance = np.einsum("ni,ij,nj->n", A, found.fit_.cov, A)
    np.testing.assert_array_equal(mean, found.predict(X))
    np.testing.assert_allclose(std, np.sqrt(variance + found.noise_sd_**2), rtol=1e-10)
    half = norm.ppf(0.95)
    low, high = found.predict_interval(X, 0.9)
    np.testing.assert_allclose([low, high], [mean - half * std, mean + half * std], rtol=1e-9)
    low, high = found.predict_interval(X, 0.9, of="mean")
    np.testing.assert_allclose(high - low, 2 * half * np.sqrt(variance), rtol=1e-9)
    counts = BayesianPoissonRegressor(prior_scale=2.0).fit(X, data["count"])
    mean, std = counts.predict(X, return_std=True)
    variance = np.einsum("ni,ij,nj->n", A, counts.fit_.cov, A)
    np.testing.assert_allclose(std, np.sqrt(mean + mean**2 * np.expm1(variance)), rtol=1e-9)
    low, high = counts.predict_interval(X, 0.9)
    assert (low == low.round()).all() and (high == high.round()).all() and (low <= mean).all() and (mean <= high + 1).all()


def simulated(family, random):
    """A data set whose coefficients are drawn from the prior that is fitted, and one more row with its response."""
    X = random.normal(size=(16, 2))
    predictor = rows_with_intercept(X) @ (0.7 * random.normal(size=3))
    if family == "gaussian":
        y, estimator = predictor + 0.8 * random.normal(size=16), BayesianLinearRegression(prior_scale=0.7, noise_sd=0.8)
    else:
        y, estimator = random.poisson(np.exp(predictor)).astype(float), BayesianPoissonRegressor(prior_scale=0.7)
    return estimator.fit(X[:15], y[:15]), X[15:], y[15]


@pytest.mark.parametrize(
    ("family", "trials"), [("gaussian", 300), ("poisson", 40), pytest.param("poisson", 300, marks=pytest.mark.slow)]
)
def test_new_responses_fall_into_their_intervals(family, trials):
    """Coefficients from the prior, noise known: an interval of 90 % then holds a new response 90 % of the time, a count more
    often. False alarms: 1e-6, by the exact binomial law."""
    from scipy.stats import binom

    random, level = np.random.default_rng(11), 0.9
    inside = {"observation": 0, "mean": 0}
    for _ in range(trials):
        found, X, y = simulated(family, random)
        for of in inside:
            low, high = found.predict_interval(X, level, of=of)
            inside[of] += bool(low[0] <= y <= high[0])
    least, most = binom.ppf([1e-6, 1 - 1e-6], trials, level)
    assert least <= inside["observation"]
    assert family == "poisson" or inside["observation"] <= most
    # The interval of the mean, in place of the one asked for, would be found out.
    assert inside["mean"] < least


@pytest.mark.parametrize("kind", [BayesianLogisticRegression, BayesianProbitRegression])
def test_scores_and_log_probabilities_go_with_the_probabilities(kind, data):
    found = kind(prior_scale=2.0).fit(data["X"], data["label"])
    X = np.vstack([data["X"], [[40.0, -40.0], [-40.0, 40.0]]])
    probability, logs, score = found.predict_proba(X), found.predict_log_proba(X), found.decision_function(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.exp(logs), probability, rtol=1e-12)
    np.testing.assert_allclose(score, logs[:, 1] - logs[:, 0], rtol=1e-12)
    assert np.isfinite(logs).all() and np.isfinite(score).all()
    np.testing.assert_array_equal(found.predict(X), found.classes_[(score > 0).astype(int)])
    # By symmetry the sign of the score is that of the mean predictor.
    predictor = rows_with_intercept(X) @ found.fit_.mean
    np.testing.assert_array_equal(score > 0, predictor > 0)
    low, high = found.predict_interval(X)
    assert (low <= high).all()
    with pytest.raises(ValueError, match="a label has no interval"):
        found.predict_interval(X, of="observation")


def test_intervals_of_nothing_are_refused(data):
    found = BayesianLinearRegression().fit(data["X"], data["value"])
    with pytest.raises(ValueError, match="of = 'both'; must be 'observation' or 'mean'"):
        found.predict_interval(data["X"], of="both")
    for level in (0.0, 1.0, np.nan):
        with pytest.raises(ValueError, match="probability of an interval"):
            found.predict_interval(data["X"], level)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits the memory of a process")
def test_where_memory_forbids_integrating_over_the_noise_the_record_has_it():
    code = """
    import resource
    from pathlib import Path

    import numpy as np

    import provi
    from provi.sklearn import BayesianLinearRegression

    def limited(squares):
        "Leaves the process so many bytes, in squares of the number of coefficients."
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (4096 * pages + squares * d * d, resource.RLIM_INFINITY))

    d = 800
    random = np.random.default_rng(3)
    X = random.normal(size=(60, d))
    y = 0.01 * X.sum(axis=1) + 0.5 * random.normal(size=60)
    estimator = BayesianLinearRegression(prior_scale=0.01, fit_intercept=False)
    # With enough memory the noise is integrated over, and its posterior mean is the noise.
    free = estimator.fit(X[:, :3], y)
    assert len(free.fit_.scales()) == 1 and free.noise_sd_ == free.fit_.model["noise_sd"]
    known = provi.linear(X, y, prior_scale=0.01, scales="maximise").noise_sd

    # Gaussians at fifty values of the noise take 200 d^2 bytes, and half of what is left must hold them; the audit of one Gaussian takes
    # 215 d^2 and about 50 MB.
    limited(390)
    found = estimator.fit(X, y)
    limited(100)
    try:
        estimator.fit(X, y)
        said = "it was fitted"
    except MemoryError as error:
        said = str(error)
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    assert "needs about" in said and "make the model smaller" in said, said
    assert len(found.fit_.scales()) == 0
    assert any("the scales are not integrated over" in note for note in found.fit_.notes), found.fit_.notes
    assert "the scales are not integrated over" in str(found.fit_.summary())
    assert found.noise_sd_ == found.fit_.model["noise_sd"]
    np.testing.assert_allclose(found.noise_sd_, known, rtol=1e-9)
    assert 0.3 < known < 0.7, known
    mean, sd = found.predict(X[:5], return_std=True)
    variance = np.einsum("ni,ij,nj->n", X[:5], found.fit_.cov, X[:5])
    np.testing.assert_allclose(sd, np.sqrt(variance + found.noise_sd_**2), rtol=1e-9)
    """
    # The C library would set addresses aside for each thread, which count against the limit.
    env = {**os.environ, "MALLOC_ARENA_MAX": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    process = subprocess.run(command, capture_output=True, text=True, timeout=300, env=env)
    assert process.returncode == 0, process.stderr
