import os
import shutil
import types

import numpy as np
import pytest


@pytest.fixture(scope="session")
def command():
    """The command built from the same sources; `cargo xtask python` builds it and names it."""
    found = os.environ.get("PROVI_COMMAND") or shutil.which("provi")
    if found is None:
        pytest.skip("needs the provi command: cargo build -p provi-cli, then PROVI_COMMAND=target/debug/provi")
    return found


@pytest.fixture(scope="session")
def data():
    """Two predictors, and a response for each family; nobody may write to them, since all tests share them."""
    random = np.random.default_rng(5)
    X = random.normal(size=(60, 2))
    eta = X @ [1.0, -0.5] + 0.3
    columns = {
        "X": X,
        "label": (random.random(60) < 1 / (1 + np.exp(-eta))).astype(float),
        "count": random.poisson(np.exp(0.5 * eta)).astype(float),
        "trials": np.full(60, 7.0),
        "successes": random.binomial(7, 1 / (1 + np.exp(-eta))).astype(float),
        "value": eta + 0.4 * random.normal(size=60),
        "weight": random.uniform(0.5, 2.0, size=60),
        "offset": 0.2 * random.normal(size=60),
        "group": random.integers(0, 4, size=60),
    }
    columns["positive"] = np.exp(0.5 * (columns["value"] + eta))
    columns["entry"] = 0.4 * columns["positive"]
    columns["upper"] = np.where(columns["label"] > 0.5, 1.7 * columns["positive"], np.inf)
    for values in columns.values():
        values.setflags(write=False)
    return types.MappingProxyType(columns)


def correlated(z):
    """A Gaussian with mean (1, 2), sds 1 and ½, correlation 0.3: batches in, log densities and gradients out."""
    precision = np.linalg.inv([[1.0, 0.15], [0.15, 0.25]])
    x = z - np.array([1.0, 2.0])
    pull = x @ precision
    return -0.5 * (x * pull).sum(axis=1), -pull


@pytest.fixture
def density():
    return correlated
