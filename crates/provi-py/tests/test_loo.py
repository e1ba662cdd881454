"""Leave-one-out cross-validation."""

import numpy as np
import pandas
import pytest

import provi


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(4)
    x, z = random.normal(size=(2, 60))
    low = (random.random(60) < 1 / (1 + np.exp(-x))).astype(float)
    return pandas.DataFrame({"low": low, "value": 1 + x + 0.5 * random.normal(size=60), "x": x, "z": z})


def test_refits_of_a_linear_model_have_the_closed_form(table):
    X = np.column_stack([np.ones(60), table["x"]])
    y = table["value"].to_numpy()
    model = provi.linear(X, y, noise_sd=0.5, prior_scale=2.0)
    loo = model.fit(progress=False).loo(model)
    cov = np.linalg.inv(X.T @ X / 0.25 + np.eye(2) / 4)
    left = 1 - np.einsum("ij,jk,ik->i", X, cov, X) / 0.25
    miss = (y - X @ cov @ X.T @ y / 0.25) / left
    spread = 0.25 / left
    exact = -0.5 * np.log(2 * np.pi * spread) - 0.5 * miss**2 / spread
    assert loo.method == "refit" and np.allclose(loo.rows["elpd"], exact, atol=1e-9)
    assert np.isclose(loo.elpd_se, np.sqrt(60 * np.var(exact)))


def test_formulas_are_compared_and_both_ways_agree(table):
    small, large = (provi.fit_formula(f"low ~ {terms}", table, progress=False) for terms in ("z", "x"))
    a, b = small.loo(table), large.loo(table)
    by, error = b.difference(a)
    assert np.isclose(by, b.elpd - a.elpd) and by > error > 0
    drawn = large.loo(table, method="psis", draws=2000)
    assert abs(drawn.elpd - b.elpd) < 0.3 and drawn.waic["p_waic"] > 0.5
    assert b.lower is None and b.upper > b.elpd - 0.1 and "proved" in repr(b)
    assert np.all((b.rows["pit"] >= 0) & (b.rows["pit"] <= 1))


def test_a_noise_that_is_integrated_over_loses_the_row(table):
    fit = provi.fit_formula("value ~ x", table, family="gaussian", progress=False)
    a, b = fit.loo(table, method="refit"), fit.loo(table, method="psis")
    assert abs(a.elpd - b.elpd) < 0.3 and a.p_loo > 2


def test_arviz_reads_the_log_likelihood(table):
    az = pytest.importorskip("arviz")
    fit = provi.fit_formula("low ~ x", table, progress=False)
    data = fit.to_arviz(exact=table, log_likelihood=table)
    found = az.loo(data, reff=1.0)
    value = getattr(found, "elpd", None)
    value = found.elpd_loo if value is None else value
    assert abs(value - fit.loo(table).elpd) < 0.5


def test_what_cannot_be_left_out_is_refused(table):
    fit = provi.fit_formula("low ~ x", table, progress=False)
    with pytest.raises(ValueError, match="refit"):
        fit.loo(table, method="waic")
    with pytest.raises(ValueError, match="refits"):
        fit.loo(table, method="psis", certify=True)
    box = provi.black_box(lambda z: (-0.5 * float(z @ z), -z), 2, batched=False)
    with pytest.raises(ValueError, match="linear predictor"):
        box.fit(progress=False).loo(box)
