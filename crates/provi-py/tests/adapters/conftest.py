"""What the tests of the adapters share: the gold problem, and models that need constraints."""

import pathlib
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "bench" / "compare"))

from problems import Gap, Problem


@pytest.fixture(scope="session")
def gold():
    """Logistic regression on the breast cancer data (N = 569, d = 31), and the exact distance to its stored optimum."""
    problem = Problem("W2")
    return problem, Gap(problem, problem.optimum())


@pytest.fixture(scope="session")
def survey():
    """Shares of three answers, and a measurement with noise of its own."""
    random = np.random.default_rng(4)
    return {"answers": np.array([30, 50, 20]), "value": 1.0 + 0.5 * random.standard_normal(40)}


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
