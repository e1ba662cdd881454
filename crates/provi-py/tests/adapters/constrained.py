"""What a model with a simplex and a positive scale has to give back, whoever wrote it."""

import numpy as np


def assert_constrained(fit, draws):
    """Shares that sum to one, a positive scale, a real mean with its proof kept apart from the rest."""
    assert draws["share"].shape == (400, 3) and draws["sigma"].shape == draws["mu"].shape == (400,)
    np.testing.assert_allclose(draws["share"].sum(axis=1), 1.0, atol=1e-12)
    assert (draws["share"] > 0).all() and (draws["sigma"] > 0).all()
    np.testing.assert_allclose(draws["half"], draws["share"] / 2, rtol=1e-12)
    table = fit.summary()
    # Dirichlet(1 + counts): mean 31/103, 51/103, 21/103, and sds near 0.045; mu has mean near that of the data.
    np.testing.assert_allclose([table.row(f"share[{i}]")["mean"] for i in "012"], np.array([31, 51, 21]) / 103, atol=0.01)
    assert 0.4 < table.row("sigma")["mean"] < 0.65
    # A coordinate has its row from the Gaussian itself.
    at = fit.unconstrained.names.index("mu")
    assert table.row("mu")["mean"] == fit.unconstrained.mean[at]
    assert table.row("mu")["sd"] == fit.unconstrained.sd[at]
    assert "unconstrained" in table.footer
