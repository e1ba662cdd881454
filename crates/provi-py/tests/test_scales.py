"""Scales that are integrated over."""

import pickle

import numpy as np
import pytest

import provi

FORMULA = "y ~ x + (1 | clinic)"


@pytest.fixture(scope="module")
def clinics():
    random = np.random.default_rng(5)
    clinic = np.repeat(np.arange(5), 6)
    x = random.normal(size=30)
    y = 2 + 0.5 * x + np.array([-1.0, 0.4, 1.2, -0.3, 0.1])[clinic] + 0.7 * random.normal(size=30)
    return {"y": y, "x": x, "clinic": [f"c{k}" for k in clinic]}


@pytest.fixture(scope="module")
def fit(clinics):
    return provi.fit_formula(
        FORMULA, clinics, family="gaussian", scales="integrate", prior=["sd(clinic)=exponential(1)"], progress=False
    )


def test_scales_have_rows_draws_and_arviz_variables(fit):
    assert fit.scales().index == ["sd(clinic:(Intercept))", "sigma"]
    table = fit.summary()
    assert table.index[-2:] == fit.scales().index and len(table) == fit.dim + 2
    sigma = table.row("sigma")
    assert 0.4 < sigma["lower"] < sigma["mean"] < sigma["upper"] < 1.3
    draws = fit.sample_scales(4000, seed=1)
    # Five standard errors: 6e-7 each.
    for name in fit.scales().index:
        row = table.row(name)
        assert abs(draws[name].mean() - row["mean"]) < 5 * row["sd"] / np.sqrt(4000) + 0.02 * row["sd"]
    points = fit.sample(4000, seed=1)
    assert np.all(np.abs(points.mean(axis=0) - fit.mean) < 5 * fit.sd / np.sqrt(4000))
    assert fit.certificate.gap.bound is None and fit.certificate.kl.provenance == "estimated"
    arviz = pytest.importorskip("arviz")
    tree = fit.to_arviz(draws=50, chains=2, seed=1)
    posterior = tree["posterior"]
    assert posterior["sigma"].shape == (2, 50) and posterior["sd"].shape == (2, 50, 1), arviz.__version__
    assert np.array_equal(np.asarray(posterior["sigma"]).ravel(), fit.sample_scales(100, seed=1)["sigma"])


def test_effects_of_a_group_are_correlated(clinics):
    names = ["sd(clinic:(Intercept))", "sd(clinic:x)", "sigma", "cor(clinic:(Intercept),clinic:x)"]
    data = {"family": "gaussian", "progress": False}
    fit = provi.fit_formula("y ~ x + (x | clinic)", clinics, prior="cor(clinic)=lkj(2)", **data)
    assert fit.scales().index == names
    row = fit.scales().row(names[3])
    assert -1 < row["lower"] < row["mean"] < row["upper"] < 1
    draws = fit.sample_scales(500, seed=1)[names[3]]
    assert np.all(np.abs(draws) < 1)
    apart = provi.fit_formula("y ~ x + (x || clinic)", clinics, **data)
    assert apart.scales().index == names[:3]
    # A group nobody has seen has their covariance: at the far end of x the two models differ.
    new = {"x": [3.0], "clinic": ["new"]}
    wide = [f.predict(new, new_groups=True) for f in (fit, apart)]
    assert float(wide[0]["high"][0]) != float(wide[1]["high"][0])
    with pytest.raises(ValueError, match="fits no correlations of this model"):
        provi.fit_formula("y ~ x + (x || clinic)", clinics, prior="cor(clinic)=lkj(2)", **data)
    pytest.importorskip("arviz")
    posterior = fit.to_arviz(draws=20, chains=2, seed=1)["posterior"]
    assert posterior["cor"].shape == (2, 20, 1) and posterior["sd"].shape == (2, 20, 2)


def test_a_mixture_is_kept_pickled_and_predicted(fit, clinics, tmp_path):
    again = pickle.loads(pickle.dumps(fit))
    fit.save(tmp_path / "f")
    loaded = provi.load(tmp_path / "f")
    for other in (again, loaded):
        assert np.array_equal(other.sample(20, seed=2), fit.sample(20, seed=2))
        assert other.scales().to_dict() == fit.scales().to_dict()
    seen, unseen = ({"x": [0.3], "clinic": [name]} for name in ("c1", "new"))
    width = lambda found: float(found["high"][0] - found["low"][0])  # noqa: E731
    assert width(fit.predict(unseen, new_groups=True)) > 1.5 * width(fit.predict(seen))
    known = provi.fit_formula(FORMULA, clinics, family="gaussian", scales="maximise", progress=False)
    assert fit.functional("(Intercept)").sd > 1.02 * known.functional("(Intercept)").sd
    assert len(known.scales()) == 0


def test_what_needs_known_scales_says_so(clinics):
    with pytest.raises(ValueError, match="needs scales that are known"):
        provi.fit_formula(FORMULA, clinics, family="gaussian", scales="integrate", method="prox-energy", progress=False)
    with pytest.raises(ValueError, match="its scales are sigma"):
        provi.fit_formula(
            FORMULA, clinics, family="gaussian", scales="integrate", prior="sd(town)=exponential(1)", progress=False
        )


def noise_by_quadrature(X, y, prior_sd, prior_scale):
    """Nodes of log sigma with their posterior weights, and the posterior of the coefficients at each: exact given sigma."""
    from scipy.stats import multivariate_normal, t

    log_sigma = np.linspace(-4.0, 4.0, 1601)
    found = []
    for log in log_sigma:
        sigma = np.exp(log)
        cov = np.linalg.inv(X.T @ X / sigma**2 + np.eye(X.shape[1]) / prior_sd**2)
        evidence = multivariate_normal(cov=sigma**2 * np.eye(len(y)) + prior_sd**2 * X @ X.T).logpdf(y)
        found.append((evidence + t(3, scale=prior_scale).logpdf(sigma) + log, cov @ (X.T @ y / sigma**2), cov))
    logs, means, covs = (np.array(x) for x in zip(*found))
    weights = np.exp(logs - logs.max())
    return np.exp(log_sigma), weights / weights.sum(), means, covs


def test_an_unknown_noise_of_arrays_is_integrated_over():
    random = np.random.default_rng(3)
    X = random.normal(size=(9, 2))
    y = X @ [1.0, -0.5] + 0.6 * random.normal(size=9)
    fit = provi.linear(X, y, noise_prior="half_t(3, 1.5)", prior_scale=2.0).fit(progress=False)
    sigma, weights, means, covs = noise_by_quadrature(X, y, 2.0, 1.5)
    mean = weights @ means
    sd = np.sqrt(np.einsum("k,kii->i", weights, covs) + weights @ (means - mean) ** 2)
    row = fit.scales().row("sigma")
    # The weights of a sum over the noise are right to a few parts in ten thousand; the moments given the noise are exact.
    np.testing.assert_allclose(fit.mean, mean, atol=1e-3 * sd.min())
    np.testing.assert_allclose(fit.sd, sd, rtol=2e-3)
    np.testing.assert_allclose(row["mean"], weights @ sigma, rtol=5e-3)
    # With the noise of the largest ELBO the deviations are too small, which this would have noticed.
    known = provi.linear(X, y, scales="maximise", prior_scale=2.0).fit(progress=False)
    assert np.all(known.sd < 0.95 * sd) and len(known.scales()) == 0


def test_arrays_and_formulas_have_the_same_noise(data):
    frame = {"a": data["X"][:, 0], "b": data["X"][:, 1], "y": data["value"]}
    fit = provi.fit_formula("y ~ a + b", frame, family="gaussian", progress=False)
    model = provi.linear(data["X"], data["value"], intercept=True)
    same = model.fit(progress=False)
    assert model.noise_sd is None
    np.testing.assert_allclose(same.mean, fit.mean, rtol=1e-9)
    np.testing.assert_allclose(same.cov, fit.cov, rtol=1e-9)
    assert same.prior[-1] == fit.prior[-1] and same.prior[-1].startswith("half_t(3, ") and same.prior[-1].endswith(" on sigma")
    assert same.certificate.kl.provenance == "estimated" and "sigma" in same.summary().index
    again = pickle.loads(pickle.dumps(same))
    np.testing.assert_allclose(again.cov, same.cov, rtol=1e-12)


def test_what_needs_a_known_noise_says_so(data):
    model = provi.linear(data["X"], data["value"])
    for wrong in (
        lambda: model.log_density(np.zeros((1, 2))),
        lambda: model.fit(accuracy=0.1),
        lambda: model.fit(method="prox-energy", distance=0.1),
        lambda: provi.certify(np.zeros(2), np.eye(2), model),
    ):
        with pytest.raises(ValueError, match=r"needs scales that are known.*\(noise_sd, group_scale\)"):
            wrong()
    with pytest.raises(ValueError, match="noise_prior has no effect: the noise is given"):
        provi.linear(data["X"], data["value"], noise_sd=1.0, noise_prior="exponential(1)")
    with pytest.raises(ValueError, match="noise_prior = normal"):
        provi.linear(data["X"], data["value"], noise_prior="normal(0, 1)")
    with pytest.raises(ValueError, match="use maximise or integrate"):
        provi.linear(data["X"], data["value"], scales="ignore")


def test_new_responses_of_an_estimator_count_the_uncertain_noise():
    from scipy.optimize import brentq
    from scipy.stats import norm

    sklearn = pytest.importorskip("provi.sklearn")
    random = np.random.default_rng(4)
    X = random.normal(size=(8, 1))
    y = 0.7 * X[:, 0] + 0.5 * random.normal(size=8)
    found = sklearn.BayesianLinearRegression(prior_scale=2.0, fit_intercept=False).fit(X, y)
    sigma, weights, means, covs = noise_by_quadrature(X, y, 2.0, float(np.format_float_positional(y.std(ddof=1), precision=3, fractional=False)))
    x = np.array([[1.5]])
    at, var = means @ x[0], covs[:, 0, 0] * 1.5**2 + sigma**2
    mean, sd = found.predict(x, return_std=True)
    centre = weights @ at
    np.testing.assert_allclose(mean[0], centre, atol=2e-3 * sd[0])
    np.testing.assert_allclose(sd[0], np.sqrt(weights @ (var + (at - centre) ** 2)), rtol=1e-2)
    low, high = found.predict_interval(x, 0.9)
    for end, tail in ((low[0], 0.05), (high[0], 0.95)):
        exact = brentq(lambda v: weights @ norm.cdf((v - at) / np.sqrt(var)) - tail, -50, 50)
        assert abs(end - exact) < 0.02 * sd[0]
    assert found.noise_sd_ == pytest.approx(weights @ sigma, rel=0.02)


def test_a_large_mixture_survives_a_pickle(data):
    # Its factors are more than a record holds.
    random = np.random.default_rng(6)
    X = random.normal(size=(40, 220))
    fit = provi.linear(X, X[:, 0] + random.normal(size=40), prior_scale=0.3).fit(progress=False)
    again = pickle.loads(pickle.dumps(fit))
    np.testing.assert_array_equal(again.sample(5, seed=1), fit.sample(5, seed=1))
    with pytest.raises(ValueError, match="not the state of a fit"):
        type(fit._core).restore(fit._core.state()[0], fit._core.state()[1][:-8])
