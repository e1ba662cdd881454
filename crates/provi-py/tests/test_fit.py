"""Answers: numbers, tables, pickles, ArviZ, certificates of somebody else's Gaussian."""

import copy
import dataclasses
import json
import pickle

import numpy as np
import pytest

import provi


@pytest.fixture(scope="module")
def fit(data):
    return provi.logistic(data["X"], data["label"], names=["a", "b"], intercept=True).fit(seed=2)


def test_the_gaussian_is_there_in_all_its_forms(fit):
    assert fit.dim == 3 and fit.names == ["(Intercept)", "a", "b"]
    np.testing.assert_allclose(fit.factor @ fit.factor.T, fit.cov, rtol=1e-12)
    np.testing.assert_allclose(np.sqrt(np.diag(fit.cov)), fit.sd, rtol=1e-12)
    assert (np.triu(fit.factor, 1) == 0).all()
    x = fit.sample(5)
    quadratic = np.einsum("ni,ij,nj->n", x - fit.mean, np.linalg.inv(fit.cov), x - fit.mean)
    expected = -0.5 * (quadratic + np.linalg.slogdet(2 * np.pi * fit.cov)[1])
    np.testing.assert_allclose(fit.log_density(x), expected, rtol=1e-10)


def test_draws_follow_their_seed(fit):
    draws = fit.sample(20_000, seed=7)
    np.testing.assert_array_equal(draws, fit.sample(20_000, seed=7))
    assert not np.array_equal(draws[:5], fit.sample(5, seed=8))
    # Six standard errors.
    assert (np.abs(draws.mean(axis=0) - fit.mean) < 6 * fit.sd / np.sqrt(20_000)).all()
    assert fit.draws(4)["beta"].shape == (4, 3)


def test_the_same_seed_gives_the_same_bits_on_any_threads(data):
    model = provi.logistic(data["X"], data["label"])
    one, two = (model.fit(method="proj-stl", steps=300, threads=n, seed=9) for n in (1, 2))
    np.testing.assert_array_equal(one.mean, two.mean)
    assert one.method == "proj-stl" and one.steps == 300 and one.promise.reason


def test_a_planned_distance_is_promised(data):
    model = provi.linear(data["X"], data["value"], noise_sd=0.5)
    fit = model.fit(distance=0.01)
    assert fit.promise.value <= 0.01 and fit.promise.provenance == "proved"


def test_the_summary_is_a_table_with_certified_errors(fit):
    table = fit.summary()
    np.testing.assert_array_equal(table["mean"], fit.mean)
    errors = [moment.mean_error.bound for moment in fit.certificate.moments]
    np.testing.assert_array_equal(table["mean_error"], errors)
    assert list(table.to_dict()) == fit.names and table.to_dict()["a"]["sd"] == fit.sd[1]
    text, html = repr(table), table._repr_html_()
    assert "mean_error" in text and "KL to the posterior" in text and html.count("<tr>") == 4
    frame = table.to_pandas()
    assert frame.loc["b", "mean"] == fit.mean[2] and frame.index.name == "name"
    narrow, wide = fit.summary(level=0.5), fit.summary(level=0.99)
    assert (wide["upper"] > narrow["upper"]).all()
    # What is printed of a bound is no less than the bound.
    for name in ("mean_error", "sd_error"):
        printed = [float(row[list(table).index(name) + 1]) for row in table._cells()]
        assert (np.array(printed) >= table[name]).all()


def test_functionals_by_expression_by_name_and_by_vector_agree(fit):
    by_words, by_name, by_vector = (
        fit.functional(v) for v in ("2*a - b", {"a": 2.0, "b": -1.0}, [0.0, 2.0, -1.0])
    )
    assert by_words == by_name == by_vector
    v = np.array([0.0, 2.0, -1.0])
    assert by_words.mean == pytest.approx(v @ fit.mean) and by_words.sd == pytest.approx(np.sqrt(v @ fit.cov @ v))
    assert by_words.mean_error.bound > 0 and 0 <= by_words.positive.lower <= by_words.positive.upper <= 1
    with pytest.raises(KeyError, match="no coordinate is called 'c'"):
        fit.functional({"c": 1.0})
    with pytest.raises(ValueError, match="c"):
        fit.functional("a - c")


def test_the_certificate_is_plain_frozen_data(fit):
    certificate = fit.certificate
    assert certificate.gap.bound <= 1e-9 and certificate.proves_gap(1e-9) and not certificate.proves_gap(0.0)
    assert certificate.gap.provenance == "proved" and certificate.kl.confidence == pytest.approx(1 - 1e-6)
    with pytest.raises(dataclasses.FrozenInstanceError):
        certificate.gap.bound = 0.0
    plain = certificate.to_dict()
    assert json.loads(json.dumps(plain)) == plain and plain["moments"][1]["name"] == "a"
    lower, upper = fit.log_evidence
    assert fit.elbo - 1e-6 <= lower <= upper
    assert fit.estimates.log_evidence == pytest.approx(lower, abs=0.1)
    assert fit.khat == fit.estimates.pareto_k and fit.estimates.reliability
    posterior = fit.posterior
    allowed = posterior.mean_error + [moment.mean_error.bound for moment in certificate.moments]
    assert np.all(np.abs(posterior.mean - fit.mean) <= allowed)
    assert np.all(posterior.mean_error < 0.2 * posterior.sd) and posterior.key == "psi-moments"
    assert "gap" in str(certificate) and "gap≤" in repr(fit)


def test_the_trace_shows_the_way(fit):
    trace = fit.trace
    assert {name: values.shape for name, values in trace.items()} == dict.fromkeys(trace, trace["step"].shape)
    assert trace["elbo"][-1] >= trace["elbo"][0] and trace["gap"][-1] <= 1e-6


def test_a_pickle_is_the_same_fit(fit):
    for again in (pickle.loads(pickle.dumps(fit)), copy.deepcopy(fit)):
        np.testing.assert_array_equal(again.mean, fit.mean)
        np.testing.assert_array_equal(again.factor, fit.factor)
        np.testing.assert_array_equal(again.sample(3, seed=1), fit.sample(3, seed=1))
        for name, values in fit.trace.items():
            np.testing.assert_array_equal(again.trace[name], values)
        assert again.certificate == fit.certificate and again.estimates == fit.estimates
        assert again.functional("a") == fit.functional("a") and again.variables == fit.variables


def test_a_saved_fit_is_read_back(fit, tmp_path):
    path = fit.save(tmp_path / "it.fit")
    again = provi.load(tmp_path / "it.fit")
    assert path.name == "fit.json" and again.names == fit.names and again.certificate == fit.certificate
    np.testing.assert_array_equal(again.mean, fit.mean)
    np.testing.assert_allclose(again.cov, fit.cov, rtol=1e-12)
    assert again.functional("a - b").mean_error.bound == pytest.approx(fit.functional("a - b").mean_error.bound)
    with pytest.raises(FileExistsError):
        fit.save(tmp_path / "it.fit")
    with pytest.raises(OSError):
        provi.load(tmp_path / "nothing")


def test_a_chosen_noise_is_said_to_be_chosen(data):
    chosen = provi.linear(data["X"], data["value"], scales="maximise").fit()
    given = provi.linear(data["X"], data["value"], noise_sd=0.4).fit()
    assert "empirical Bayes: noise sd = " in str(chosen.certificate)
    assert "for noise sd = 0.4 as given" in str(given.certificate)


def test_arviz_gets_draws_and_the_certificate(fit):
    arviz = pytest.importorskip("arviz")
    data = fit.to_arviz(draws=250, chains=2, seed=3)
    beta = data["posterior"]["beta"]
    assert beta.dims == ("chain", "draw", "coefficient") and beta.shape == (2, 250, 3)
    np.testing.assert_array_equal(beta.values.reshape(500, 3), fit.sample(500, seed=3))
    assert list(beta["coefficient"].values) == fit.names
    attrs = data["posterior"].attrs
    assert attrs["provi_gap_bound"] == fit.certificate.gap.bound
    assert json.loads(attrs["provi_certificate"]) == fit.certificate.to_dict()
    assert data["sample_stats"]["log_q"].shape == (2, 250)
    np.testing.assert_array_equal(data["moments"]["mean_error"].values, fit.summary()["mean_error"])
    summary = arviz.summary(data)
    assert summary.shape[0] == 3
    usual = fit.to_arviz()["posterior"]["beta"]
    assert usual.shape == (4, 500, 3)


def test_somebody_elses_gaussian_is_certified(data):
    model = provi.logistic(data["X"], data["label"])
    best = model.fit()
    again = provi.certify(best.mean, best.cov, model, seed=11)
    assert again.certificate.proves_gap(1e-6) and again.method == "given" and again.names == best.names
    assert again.elbo == pytest.approx(best.elbo, abs=1e-9)
    worse = provi.certify(best.mean + best.sd, best.cov, model, seed=11)
    assert worse.elbo < best.elbo - 0.1 and worse.certificate.gap.bound >= best.elbo - worse.elbo
    fresh = [provi.certify(best.mean, best.cov, model) for _ in range(2)]
    assert again.seed == 11 and fresh[0].seed != fresh[1].seed
    with pytest.raises(ValueError, match="positive definite"):
        provi.certify(best.mean, -best.cov, model)
    with pytest.raises(ValueError, match="Gaussian has length 3, expected 2"):
        provi.certify(np.zeros(3), np.eye(3), model)


def test_one_name_serves_models_and_functions(data, density):
    model = provi.logistic(data["X"], data["label"])
    np.testing.assert_array_equal(provi.fit(model, seed=1).mean, model.fit(seed=1).mean)
    with pytest.raises(ValueError, match="dimension 2"):
        provi.fit(model, 5)


def test_the_version_is_the_packages():
    from importlib.metadata import PackageNotFoundError, version

    try:
        assert version("provi") == provi.__version__
    except PackageNotFoundError:
        assert provi.__version__


def test_exact_draws_are_of_the_posterior_and_say_so():
    rng = np.random.default_rng(3)
    X = np.column_stack([np.ones(60), rng.normal(size=60)])
    y = (rng.uniform(size=60) < 1 / (1 + np.exp(-X[:, 1]))).astype(float)
    model = provi.logistic(X, y)
    fit = model.fit(seed=1, progress=False)
    draws = fit.sample(4000, seed=2, exact=model)
    assert draws.shape == (4000, 2)
    assert np.array_equal(draws, fit.sample(4000, seed=2, exact=model))
    # Six standard errors, beside what the certificate allows: a false alarm has probability 2e-9.
    errors = fit.summary()["mean_error"] + 6 * draws.std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - fit.mean) <= errors)
    for said, more in [("exact", {"exact": model}), ("gaussian", {})]:
        attrs = fit.to_arviz(draws=50, chains=2, **more)["posterior"].attrs
        assert attrs["provi_draws"] == said
    assert fit.to_arviz(draws=50, exact=model)["posterior"].attrs["provi_draws_tv"] < 1e-6
    with pytest.raises(TypeError, match="the model that was fitted"):
        fit.sample(3, exact=X)
    with pytest.raises(ValueError, match="tv goes with exact"):
        fit.sample(3, tv=0.1)
    data = {"y": y.astype(int), "x": X[:, 1]}
    formula = provi.fit_formula("y ~ x", data, progress=False)
    assert formula.sample(10, exact=data).shape == (10, 2)


def test_models_are_compared_by_their_evidence_and_families_of_q_by_their_elbos():
    random = np.random.default_rng(5)
    x = random.normal(size=80)
    data = {"y": (random.uniform(size=80) < 1 / (1 + np.exp(-1.5 * x))).astype(int), "x": x, "z": x + 0.3 * random.normal(size=80)}
    small, large = (provi.fit_formula(f, data, seed=1, progress=False) for f in ("y ~ 1", "y ~ x"))
    found = provi.compare(small, large, names=["without x", "with x"])
    assert [model.fit for model in found.models] == ["with x", "without x"]
    low, high = found.models[1].log_bayes_factor
    assert found.models[1].decided and 0 < low <= high and found.models[1].elbo_below is None
    assert "decided" in str(found) and 0.99 < found.confidence <= 1
    full, mean = (
        provi.fit_formula("y ~ x + z", data, seed=1, progress=False, family_of_q=q) for q in (None, "meanfield")
    )
    families = provi.compare(full, mean).models
    # Correlated columns cost a mean-field q ½ log of the determinant of their correlation, at least in part.
    assert [model.family_of_q for model in families] == ["full", "meanfield"]
    assert families[1].elbo_below > 0.5 and families[1].elbo_exact and families[1].elbo_below_error < 1e-6
    assert families[1].elbo_below == pytest.approx(families[0].elbo - families[1].elbo, abs=1e-12)
    with pytest.raises(ValueError, match="force=True"):
        provi.compare(small, provi.fit_formula("y ~ 1", {**data, "y": 1 - data["y"]}, seed=1, progress=False))
    with pytest.raises(ValueError, match="two fits"):
        provi.compare(small)
    with pytest.raises(ValueError, match="1 entries for 2 fits"):
        provi.compare(small, large, names=["one"])
