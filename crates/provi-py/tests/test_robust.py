"""The spread of an estimate for a model that may be wrong, beside the formula that defines it."""

import numpy as np
import pytest

import provi


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(4)
    x = random.normal(size=90)
    town = np.repeat([f"t{i:02}" for i in range(30)], 3)
    noise = (0.3 + np.abs(x)) * random.normal(size=90) + np.repeat(random.normal(size=30), 3)
    return {"y": 1 + 0.5 * x + noise, "x": x, "town": town}


def by_hand(table, labels):
    X = np.column_stack([np.ones(90), table["x"]])
    bread = np.linalg.inv(X.T @ X)
    residual = table["y"] - X @ (bread @ X.T @ table["y"])
    scores = np.array([(X * residual[:, None])[labels == label].sum(axis=0) for label in np.unique(labels)])
    return bread @ scores.T @ scores @ bread


def test_it_is_hc0_and_that_of_clusters(table):
    fit = provi.fit_formula("y ~ x", table, family="gaussian", noise_sd=1.0, prior_scale=1e4, progress=False)
    rows = fit.robust(table)
    assert np.allclose(rows.covariance, by_hand(table, np.arange(90)), rtol=1e-5) and rows.clusters == 90
    towns = fit.robust(table, cluster="town")
    assert np.allclose(towns.covariance, by_hand(table, table["town"]), rtol=1e-5) and towns.clusters == 30
    assert not np.allclose(towns.sd, rows.sd, rtol=0.02)
    assert np.allclose(rows.sd**2, np.diag(rows.covariance)) and "certificate" in " ".join(rows.notes)
    drawn = fit.robust(table, "bootstrap", refits=60)
    assert drawn.unconverged == 0 and np.all(np.abs(drawn.sd / rows.sd - 1) < 0.5)
    assert "bootstrap_sd" in repr(drawn)


def test_what_cannot_be_is_said(table):
    fit = provi.fit_formula("y ~ x", table, family="gaussian", noise_sd=1.0, progress=False)
    with pytest.raises(ValueError, match="sandwich"):
        fit.robust(table, "hc3")
    with pytest.raises(ValueError, match="nothing"):
        fit.robust(table, cluster="nothing")
