"""What the tests of the adapters share: the gold problem, and data for a model with constraints."""

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
