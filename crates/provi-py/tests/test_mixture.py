"""Mixtures by boosting: what they find, their shapes, and what is refused."""

import pathlib
import pickle
import re
import warnings

import numpy as np
import pytest

import provi

MEANS, SDS, WEIGHTS = (-3.0, 3.0), (1.0, 0.6), (0.3, 0.7)


def two_modes(z):
    """e² Σ w N(m, s²I) in two dimensions, with its gradient."""
    parts = zip(WEIGHTS, MEANS, SDS)
    logs = np.stack([np.log(w) - ((z - m) ** 2).sum(axis=1) / (2 * s * s) - 2 * np.log(s) - np.log(2 * np.pi) for w, m, s in parts])
    total = np.logaddexp(*logs)
    slopes = [np.exp(log - total)[:, None] * (m - z) / s**2 for log, m, s in zip(logs, MEANS, SDS)]
    return total + 2.0, slopes[0] + slopes[1]


MODEL = provi.black_box(two_modes, 2, names=["a", "b"])


@pytest.fixture(scope="module")
def fit():
    return provi.mixture(MODEL, seed=3, progress=False)


def test_two_modes_are_found_with_their_weights_and_evidence(fit):
    assert fit.components == 2 and fit.verdict == "good" and fit.khat is not None
    assert np.allclose(fit.weights, [0.7, 0.3], atol=0.01) and abs(fit.weights.sum() - 1) < 1e-12
    assert np.allclose(fit.means, [[3, 3], [-3, -3]], atol=0.03) and fit.covs.shape == (2, 2, 2)
    assert np.allclose(fit.covs[0], 0.36 * np.eye(2), atol=0.02)
    assert abs(fit.estimates.log_evidence - 2.0) < 5 * fit.estimates.standard_error + 1e-6
    assert abs(fit.elbo - 2.0) < 5 * fit.elbo_error + 1e-3
    with pytest.warns(provi.TrustWarning, match="about the same ELBO"):
        one = MODEL.fit(seed=3, progress=False)
    assert fit.elbo > one.elbo + 0.3


def test_the_result_has_what_a_fit_has(fit):
    assert fit.names == ["a", "b"] and fit.dim == 2 and fit.seed == 3 and not fit.stopped_early and fit.seconds > 0
    assert repr(fit).startswith("MixtureFit(trust=good, components=2, dim=2, elbo=2.0") and "<table>" in fit._repr_html_()
    table = fit.summary()
    assert table.index == ["a", "b"] and "Trust: good" in repr(table) and "Unproven" in repr(table)
    assert list(table) == ["mean", "sd", "lower", "median", "upper"]
    assert np.allclose(table["mean"], fit.mean) and np.allclose(fit.mean, 0.3 * -3 + 0.7 * 3, atol=0.1)
    assert np.allclose(fit.sd**2, np.diag(fit.cov))
    assert fit.quantile(0.5).shape == (2,) and fit.quantile([0.1, 0.9]).shape == (2, 2)
    draws = fit.sample(4000)
    assert draws.shape == (4000, 2) and np.array_equal(draws, fit.sample(4000)) and not np.array_equal(draws, fit.sample(4000, seed=9))
    # Five standard errors of a part of 4000 draws: a false alarm of 6e-7.
    assert abs((draws[:, 0] < 0).mean() - 0.3) < 5 * np.sqrt(0.3 * 0.7 / 4000)
    weighted = fit.sample(2000, weighted=MODEL)
    assert weighted.shape == (2000, 2) and abs((weighted[:, 0] < 0).mean() - 0.3) < 0.06
    parts = [w * np.exp(-0.5 * ((draws[:5] - m) @ np.linalg.inv(c) * (draws[:5] - m)).sum(axis=1)) / np.sqrt(np.linalg.det(2 * np.pi * c))
             for w, m, c in zip(fit.weights, fit.means, fit.covs)]
    assert np.allclose(fit.log_density(draws[:5]), np.log(sum(parts)))
    assert set(fit.draws(3)) == {"beta"} and fit.draws(3)["beta"].shape == (3, 2)
    assert fit.rounds[0]["kept"] and fit.rounds[0]["rise"] > 0.3 and "ELBO" in fit.ending
    assert fit.gradient_evaluations >= fit.rounds[-1]["evaluations"] > 0
    other = pickle.loads(pickle.dumps(fit))
    assert np.array_equal(other.sample(7), fit.sample(7)) and repr(other) == repr(fit) and other.trust == fit.trust


def test_draws_go_to_arviz(fit):
    pytest.importorskip("arviz")
    data = fit.to_arviz(draws=50, chains=2)
    posterior = data["posterior"] if "posterior" in data else data.posterior
    assert posterior["beta"].shape == (2, 50, 2) and posterior.attrs["provi_verdict"].startswith("good")
    assert data["sample_stats"]["log_q"].shape == (2, 50)


def test_parameters_with_domains_are_on_their_own_scale():
    def density(p):
        """scale is a mixture of two log-normal laws."""
        x = np.log(p["scale"])
        logs = np.stack([np.log(0.5) - 2 * (x + 2) ** 2, np.log(0.5) - 2 * (x - 2) ** 2])
        total = np.logaddexp(*logs)
        slope = -4 * (np.exp(logs[0] - total) * (x + 2) + np.exp(logs[1] - total) * (x - 2))
        return total - x, {"scale": (slope - 1) / p["scale"]}

    model = provi.black_box(density, {"scale": provi.Domain.positive()})
    fit = provi.mixture(model, seed=1, progress=False)
    assert fit.components == 2 and fit.verdict == "good"
    draws = fit.draws(1000)["scale"]
    assert draws.shape == (1000,) and (draws > 0).all()
    table = fit.summary()
    assert table.index == ["scale"] and "draws" in repr(table) and table["lower"][0] > 0
    other = pickle.loads(pickle.dumps(fit))
    assert np.array_equal(other.draws(5)["scale"], fit.draws(5)["scale"])


def test_a_gaussian_keeps_one_component_and_models_of_data_work():
    X, y = np.array([[1.0, 0.5], [1.0, -1.5], [1.0, 2.0], [1.0, 0.1]]), [1, 0, 1, 0]
    fit = provi.mixture(provi.logistic(X, y, prior_scale=1.0), components=2, evaluations=30_000, progress=False)
    assert fit.components <= 2 and fit.verdict == "good"
    best = provi.logistic(X, y, prior_scale=1.0).fit(progress=False)
    assert np.allclose(fit.mean, best.mean, atol=0.1)
    one = provi.mixture(provi.black_box(lambda z: (-0.5 * (z * z).sum(axis=1), -z), 3), progress=False)
    assert one.components == 1 and np.allclose(one.sd, 1.0)


def test_a_run_can_be_stopped_and_watched():
    seen = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", provi.TrustWarning)
        fit = provi.mixture(MODEL, time_limit=1e-6, progress=False)
        provi.mixture(MODEL, evaluations=20_000, progress=lambda *at: seen.append(at))
    assert fit.stopped_early and "stopped early" in repr(fit) and fit.components == 1

    def interrupted(z):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        provi.mixture(provi.black_box(interrupted, 1), progress=False)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: provi.mixture(two_modes), TypeError, "mixture takes a model, such as provi.black_box"),
        (lambda: provi.mixture(MODEL, components=0), ValueError, "number of components"),
        (lambda: provi.mixture(MODEL, components=65), ValueError, "number of components"),
        (lambda: provi.mixture(MODEL, components=2.5), TypeError, "components = 2.5; must be a whole number"),
        (lambda: provi.mixture(MODEL, components=None), TypeError, "components = None"),
        (lambda: provi.mixture(MODEL, init=[0.0]), ValueError, "start"),
        (lambda: provi.mixture(MODEL, evaluations=-3), ValueError, "evaluations"),
        (lambda: provi.mixture(MODEL, time_limit=-1.0), ValueError, "time"),
        (lambda: provi.mixture(MODEL, threads=0), ValueError, "threads = 0"),
        (lambda: provi.mixture(provi.linear(np.eye(2), [1.0, -1.0])), ValueError, "mixture"),
        (lambda: provi.mixture(provi.black_box(lambda z: (np.full(len(z), np.nan), z), 1)), ValueError, "."),
    ],
)
def test_what_cannot_be_done_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_what_a_result_cannot_do_is_refused(fit):
    with pytest.raises(ValueError, match="expected"):
        fit.log_density([1.0, 2.0])
    with pytest.raises(ValueError, match="point"):
        fit.log_density(np.ones((2, 3)))
    with pytest.raises(TypeError, match="the model that was fitted"):
        fit.sample(3, weighted=True)
    with pytest.raises(ValueError, match="level"):
        fit.quantile(1.5)


def test_the_page_of_the_guide_runs(capsys):
    page = pathlib.Path(__file__).resolve().parents[3] / "docs" / "guide" / "mixtures.md"
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    assert blocks
    names = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)
    assert "Trust" in capsys.readouterr().out
