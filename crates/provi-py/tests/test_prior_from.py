"""A fit as the prior of the next one."""

import numpy as np
import provi
import pytest


def table(start, stop):
    rng = np.random.default_rng(7)
    x, noise = rng.normal(size=60), rng.normal(size=60)
    return {"x": x[start:stop], "y": (1.0 + 0.5 * x + 0.4 * noise)[start:stop]}


def fit(start, stop, formula="y ~ x", **options):
    return provi.fit_formula(formula, table(start, stop), family="gaussian", noise_sd=0.4, progress=False, **options)


def test_half_after_half_is_the_whole(tmp_path):
    first = fit(0, 30, prior_scale=3.0)
    whole = fit(0, 60, prior_scale=3.0)
    first.save(tmp_path / "first.fit")
    for earlier in [first, tmp_path / "first.fit", str(tmp_path / "first.fit")]:
        second = fit(30, 60, prior_from=earlier)
        assert np.allclose(second.mean, whole.mean, rtol=0, atol=1e-9)
        assert np.allclose(second.cov, whole.cov, rtol=0, atol=1e-9)
        assert "about the posterior under this prior" in " ".join(second.prior)
        second.save(tmp_path / "second.fit", force=True)
        assert provi.load(tmp_path / "second.fit").prior == second.prior


def test_another_meaning_is_refused():
    first = fit(0, 30, prior_scale=3.0)
    with pytest.raises(ValueError, match="it has an intercept"):
        fit(30, 60, "y ~ 0 + x", prior_from=first)
    with pytest.raises(ValueError, match="leave one of the two out"):
        fit(30, 60, prior_scale=1.0, prior_from=first)
