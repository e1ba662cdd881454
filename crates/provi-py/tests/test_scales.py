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
