"""How far to trust a black box: the verdict in every place where a reader looks, and weighted draws."""

import json
import pickle
import warnings

import numpy as np
import pytest

import provi
from provi._fit import Variable
from provi._scale import ScaledModel, UserScale


def two_modes(z):
    """Normals of weights 1 : 3 around −6 and 6, and a standard normal beside them."""
    a, b = -0.5 * (z[:, 0] + 6.0) ** 2 + np.log(0.25), -0.5 * (z[:, 0] - 6.0) ** 2 + np.log(0.75)
    value = np.logaddexp(a, b)
    gradient = -z.copy()
    gradient[:, 0] = -np.exp(a - value) * (z[:, 0] + 6.0) - np.exp(b - value) * (z[:, 0] - 6.0)
    return value - 0.5 * z[:, 1] ** 2, gradient


def skewed(z):
    """The logarithm of a gamma variable of shape 3: skewed to the left."""
    return (3.0 * z - np.exp(z))[:, 0], 3.0 - np.exp(z)


def test_a_good_answer_says_so_first_and_warns_of_nothing(density):
    with warnings.catch_warnings():
        warnings.simplefilter("error", provi.TrustWarning)
        fit = provi.fit(density, 2, seed=1)
    assert fit.verdict == "good" and fit.trust.usable and fit.trust.witnesses["draws"] >= 4000
    assert repr(fit.summary()).startswith("Trust: good: ") and repr(fit).startswith("Fit(trust=good, ")
    assert str(fit.certificate).startswith(f"Trust: {fit.trust.line}\n")
    assert "(estimated, not proved)" in str(fit.trust)
    search = fit.model["search"]
    assert search["settled"] and search["at_the_answer"] == search["beginnings"]


def test_an_answer_not_to_be_used_warns_and_says_why(tmp_path, command):
    with pytest.warns(provi.TrustWarning, match="do not use: another place has about the same ELBO"):
        fit = provi.fit(two_modes, 2, seed=1)
    assert fit.verdict == "do not use" and not fit.trust.usable
    assert repr(fit.summary()).startswith("Trust: do not use: ")
    assert fit.model["search"]["rivals"][0]["beginnings"] >= 1
    # The file says the same, and the command prints it first.
    stored = json.loads(fit.save(tmp_path / "fit").read_text())
    assert stored["trust"]["verdict"] == "do not use" and stored["trust"]["reasons"] == list(fit.trust.reasons)
    import subprocess

    said = subprocess.run([command, "summary", str(tmp_path / "fit")], capture_output=True, text=True, check=True)
    assert said.stdout.startswith("trust  do not use: "), said.stdout
    assert provi.Fit.load(tmp_path / "fit").verdict == "do not use"
    assert pickle.loads(pickle.dumps(fit)).verdict == "do not use"


def test_a_certified_model_has_a_certificate_in_place_of_a_verdict(data):
    fit = provi.logistic(data["X"], data["label"]).fit(seed=1)
    assert fit.trust is None and fit.verdict is None and "trust" not in repr(fit)


def test_a_declared_curvature_proves_the_verdict_or_leaves_it_to_estimates():
    """−log p bends by between 1 and 1.05 everywhere: cos adds at most 0.05."""
    bent = lambda z: (-0.5 * (1.025 * z**2 - 0.05 * np.cos(z)).sum(axis=1), -(1.025 * z + 0.025 * np.sin(z)))  # noqa: E731
    fit = provi.black_box(bent, 2, mu=1.0, smoothness=1.05).fit(seed=1)
    assert fit.verdict == "good" and "it is proved that every mean is within" in fit.trust.line
    assert "not proved" not in fit.trust.line and repr(fit.summary()).startswith("Trust: good: it is proved")
    assert 0.0 < fit.trust.witnesses["proved_mean_error"] <= 0.1 and fit.trust.witnesses["residual"] is None
    # Half of a declaration does not prove it: the witnesses are heard.
    loose = provi.black_box(bent, 2, mu=1e-3).fit(seed=1)
    assert loose.verdict == "good" and "(estimated, not proved)" in loose.trust.line
    assert loose.trust.witnesses["residual"] is not None
    # A declaration that the run contradicts proves nothing.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrong = provi.black_box(bent, 2, mu=3.0, smoothness=4.0).fit(seed=1)
    assert "proved that" not in wrong.trust.line and wrong.trust.witnesses["proved_kl"] is None


def test_draws_do_not_call_an_uncertified_fit_certified(density, data):
    pytest.importorskip("arviz")
    found = provi.fit(density, 2, seed=1).to_arviz(draws=10, chains=1)
    attrs = found.posterior.attrs
    assert "certified" not in attrs["provi_draws_note"] and attrs["provi_verdict"].startswith("good: ")
    proved = provi.logistic(data["X"], data["label"]).fit(seed=1).to_arviz(draws=10, chains=1).posterior.attrs
    assert "certified" in proved["provi_draws_note"] and "provi_verdict" not in proved


def test_weighted_draws_are_closer_to_the_posterior():
    model = provi.black_box(skewed, 1)
    fit = model.fit(seed=1)
    # E log Γ(3) = ψ(3), Var = ψ'(3).
    mean, sd = 0.9227843350984671, np.sqrt(0.3949340668482264)
    plain, weighted = fit.sample(20_000, seed=2), fit.sample(20_000, seed=2, weighted=model)
    skewness = lambda x: (((x - x.mean()) / x.std()) ** 3).mean()  # noqa: E731
    assert abs(skewness(plain)) < 0.1 and skewness(weighted) < -0.3
    assert abs(weighted.mean() - mean) < 0.03 and abs(weighted.std() / sd - 1) < 0.03
    with pytest.raises(TypeError, match="weighted takes the model"):
        fit.sample(10, weighted=True)
    with pytest.raises(ValueError, match="neither exact"):
        fit.sample(10, weighted=model, tv=0.1)


def test_a_density_that_does_not_fall_off_is_named():
    with pytest.raises(ValueError, match="is flat along `b`.*give `b` a prior"):
        provi.fit(lambda z: (-0.5 * z[:, 0] ** 2, np.stack([-z[:, 0], 0 * z[:, 0]], 1)), 2, names=["a", "b"])


@pytest.fixture(scope="module")
def scaled():
    """A location, and a rate whose logarithm is the coordinate."""
    box = provi.black_box(lambda z: (-0.5 * ((z - [1.0, 0.0]) ** 2).sum(axis=1), [1.0, 0.0] - z), 2, names=["a", "log_rate"])
    scale = UserScale(lambda z: {"a": z[:, 0], "rate": np.exp(z[:, 1])}, (Variable("a"), Variable("rate")), frozenset(["a"]))
    return ScaledModel(box, scale).fit(seed=1)


def test_moments_and_functionals_are_on_the_scale_of_the_model(scaled):
    assert abs(scaled.mean["a"] - 1.0) < 0.1 and abs(scaled.mean["rate"] / np.exp(0.5) - 1.0) < 0.15
    assert scaled.cov.shape == (2, 2) and abs(scaled.cov[0, 0] - 1.0) < 0.15 and scaled.sd["rate"] > 1.0
    both = scaled.functional("rate - a")
    np.testing.assert_allclose(both.mean, scaled.mean["rate"] - scaled.mean["a"], rtol=1e-12)
    assert both.mean_error.bound is None and "draws" in both.mean_error.reason
    assert scaled.functional({"a": 2.0}).mean == scaled.unconstrained.functional({"a": 2.0}).mean
    with pytest.raises(KeyError, match="no parameter is called 'b'"):
        scaled.functional({"b": 1.0})
    assert repr(scaled.summary()).startswith("Trust: good: ") and "trust=good" in repr(scaled)


def test_a_pickle_keeps_the_draws_on_the_scale_of_the_model(scaled):
    again = pickle.loads(pickle.dumps(scaled))
    np.testing.assert_array_equal(again.sample(100)["rate"], scaled.sample(100)["rate"])
    assert again.summary().to_dict() == scaled.summary().to_dict() and again.verdict == scaled.verdict
    with pytest.raises(ValueError, match="a fit from a pickle has the 2000 draws"):
        again.sample(100, seed=9)
    assert pickle.loads(pickle.dumps(again)).mean["rate"] == scaled.mean["rate"]


def test_the_table_and_the_file_give_one_answer(scaled, tmp_path):
    stored = json.loads(scaled.save(tmp_path / "fit").read_text())["constrained"]
    table = scaled.summary()
    assert stored["mean"] == table["mean"].tolist() and stored["sd"] == table["sd"].tolist()


def test_a_black_box_has_replicates_by_its_users_function():
    density = lambda z: (-0.5 * (z**2).sum(axis=1), -z)  # noqa: E731
    fit = provi.fit(density, 2, seed=1)

    def replicate(draws, rng):
        (z,) = draws.values()
        return {"y": z[:, :1] + 1e-3 * rng.standard_normal((len(z), 3))}

    found = fit.to_arviz(draws=40, chains=2, posterior_predictive=replicate)
    again = found["posterior_predictive"]["y"]
    assert again.shape == (2, 40, 3)
    (name,) = found["posterior"].data_vars
    assert abs(again.values - found["posterior"][name].values[..., :1]).max() < 0.006
    with pytest.raises(ValueError, match="expected a first axis of the 80 draws"):
        fit.to_arviz(draws=40, chains=2, posterior_predictive=lambda draws, rng: {"y": [1.0]})
    with pytest.raises(TypeError, match="expected a function"):
        fit.to_arviz(draws=4, chains=1, posterior_predictive=3)
