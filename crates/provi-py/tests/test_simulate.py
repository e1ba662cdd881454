"""Responses of the prior, and calibration."""

import numpy as np
import provi
import pytest

DATA = {"y": [0, 1] * 6, "x": np.linspace(-1.0, 1.0, 12), "c": [0, 1, 2, 3] * 3}


def test_a_prior_is_simulated_before_the_fit(tmp_path):
    found = provi.prior_predictive("c ~ x", DATA, family="poisson", prior="normal(0, 0.5)", draws=100, seed=3)
    assert found.result["kind"] == "count" and found.warnings == [] and found.prior
    assert found.result == provi.prior_predictive("c ~ x", DATA, family="poisson", prior="normal(0, 0.5)", draws=100, seed=3).result
    found.save(tmp_path / "prior.html")
    assert "<svg" in (tmp_path / "prior.html").read_text(encoding="utf-8")
    wide = provi.prior_predictive("y ~ x", DATA, prior_scale=100.0, draws=50)
    assert "nearly certain" in wide.warnings[0] and "1 warnings" in repr(wide)


def test_a_model_is_calibrated_whatever_the_threads(tmp_path):
    one, two = (provi.calibrate("y ~ x", DATA, simulations=25, seed=4, threads=n) for n in (1, 2))
    assert one.result == two.result and one.uniform
    assert one.ranks["x"].shape == (25,) and one.ranks["x"].max() <= 99
    assert one.verdict.startswith("no sign of a wrong posterior") and one.notes
    one.save(tmp_path / "ranks.html")
    stopped = provi.calibrate("y ~ x", DATA, simulations=1_000_000, time_limit=2.0)
    assert 0 < stopped.result["made"] < 1_000_000


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="simulations"):
        provi.calibrate("y ~ x", DATA, simulations=3)
    with pytest.raises(TypeError, match="`accuracy` is no option of a model"):
        provi.calibrate("y ~ x", DATA, accuracy=0.1)
    with pytest.raises(ValueError, match="draws"):
        provi.prior_predictive("y ~ x", DATA, draws=1)
