"""``from_stan`` on genuine Stan models: ``cargo xtask stan`` compiles them and names their folder."""

import json
import os
import pathlib

import numpy as np
import pytest

import provi

ROOT = pathlib.Path(__file__).resolve().parents[4]
DATA = ROOT / "crates/provi-ffi/tests/models"
MODELS = ["logistic", "regression", "schools", "poisson", "hierarchical"]


@pytest.fixture(scope="module")
def folder():
    found = os.environ.get("PROVI_STAN_MODELS")
    return pathlib.Path(found) if found else pytest.skip("needs compiled models: cargo xtask stan")


def w2():
    """The gold logistic regression, and the least −ELBO of any Gaussian, computed elsewhere."""
    folder = ROOT / "crates/provi/tests/data"
    table = np.loadtxt(folder / "W2.csv", delimiter=",", skiprows=1)
    X, y = np.column_stack([table[:, :30], np.ones(len(table))]), table[:, 30].astype(int)
    return X, y, json.loads((folder / "W2.optimum.json").read_text())["f_star"]


def model(folder, name, **options):
    if name == "logistic":
        X, y, _ = w2()
        data = {"N": len(y), "D": 31, "x": X, "y": y}
    else:
        data = DATA / f"{name}.json"
    return provi.from_stan(folder / f"{name}_model.so", data, **options)


@pytest.mark.parametrize("name", MODELS)
def test_gradients_agree_with_differences(folder, name):
    target = model(folder, name)
    d, h = target.dim, 1e-6
    z = 0.3 * np.sin(7.0 * np.arange(d) + 1.0)
    _, gradient = target.log_density(z[None, :])
    steps = h * np.eye(d)
    above, below = target.log_density(z + steps)[0], target.log_density(z - steps)[0]
    np.testing.assert_allclose(gradient[0], (above - below) / (2.0 * h), rtol=1e-5, atol=1e-4)


def test_w2_reaches_the_gold_optimum(folder):
    X, y, optimum = w2()
    fit = model(folder, "logistic").fit(seed=1, progress=False)
    twin = provi.logistic(X, y, prior_scale=1.0)
    exact = provi.certify(fit.unconstrained.mean, fit.unconstrained.cov, twin)
    assert exact.elbo_exact and -1e-9 < -exact.elbo - optimum < 1e-2
    assert fit.names[:2] == ["beta[1]", "beta[2]"] and fit.sample(7)["beta"].shape == (7, 31)


def test_draws_come_back_by_the_names_and_shapes_of_stan(folder):
    fit = model(folder, "schools", transformed=True).fit(seed=1, progress=False)
    draws = fit.sample(200, seed=2)
    assert (draws["tau"] > 0).all() and draws["theta"].shape == draws["eta"].shape == (200, 8)
    theta = draws["mu"][:, None] + draws["tau"][:, None] * draws["eta"]
    np.testing.assert_allclose(draws["theta"], theta, rtol=1e-12)
    assert "free(tau)" in fit.unconstrained.names and "theta[3]" in fit.names


def test_cmdstan_gets_parameters_on_their_own_scale_and_a_metric_of_the_coordinates(folder, tmp_path):
    fit = model(folder, "schools").fit(seed=1, progress=False)
    start = fit.nuts_start(chains=2, seed=3)
    inits, metric = start.write_cmdstan(tmp_path)
    one = json.loads(inits[0].read_text())
    assert one.keys() == {"mu", "tau", "eta"} and len(one["eta"]) == 8
    assert one["tau"] == pytest.approx(np.exp(start.points[0][1]), rel=1e-12)
    assert np.shape(json.loads(metric.read_text())["inv_metric"]) == (10, 10)


def test_a_positive_scale_is_the_exponential_of_its_coordinate(folder, tmp_path):
    fit = model(folder, "regression", transformed=True, generated=True).fit(seed=1, progress=False)
    assert fit.names == ["alpha", "beta", "sigma", "variance", "y_next"]
    draws, points = fit.sample(300, seed=3), fit.unconstrained.sample(300, seed=3)
    np.testing.assert_allclose(draws["sigma"], np.exp(points[:, 2]), rtol=1e-12)
    np.testing.assert_allclose(draws["variance"], draws["sigma"] ** 2, rtol=1e-12)
    assert len(np.unique(draws["y_next"])) == 300
    saved = json.loads(fit.save(tmp_path / "r.fit").read_text())
    assert saved["constrained"]["names"] == fit.names and saved["model"]["kind"] == "stan"


def test_moments_of_a_poisson_model_agree_with_draws_weighted_by_hand(folder):
    target = model(folder, "poisson")
    fit = target.fit(seed=1, progress=False)
    points = fit.unconstrained.sample(40_000, seed=5)
    ratio = target.log_density(points)[0] - fit.unconstrained.log_density(points)
    weights = np.exp(ratio - ratio.max())
    weights /= weights.sum()
    assert 1.0 / (weights**2).sum() > 20_000, "the Gaussian is near enough for weights to be believed"
    mean = weights @ points
    sd = np.sqrt(weights @ (points - mean) ** 2)
    assert np.abs((fit.unconstrained.mean - mean) / sd).max() < 0.1
    np.testing.assert_allclose(fit.unconstrained.sd, sd, rtol=0.15)


def test_what_stan_says_is_passed_on(folder):
    with pytest.raises(ValueError, match="variable does not exist"):
        provi.from_stan(folder / "regression_model.so")
    with pytest.raises(ValueError, match="must be greater than or equal to 0"):
        provi.from_stan(folder / "regression_model.so", {"N": -1, "x": [], "y": []})
