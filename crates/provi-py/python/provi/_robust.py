"""The spread of an estimate for a model that may be wrong."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ._table import Table


class Robust:
    """A frequentist spread of the estimate over data sets. It is not the posterior's, and no certificate covers it.

    >>> import provi
    >>> table = {"y": [1, 0, 1, 0, 1, 1], "x": [0.5, -1.5, 2.0, 0.1, -0.4, 1.0]}
    >>> fit = provi.fit_formula("y ~ x", table, progress=False)
    >>> found = fit.robust(table)
    >>> found.method, found.names, found.covariance.shape
    ('sandwich', ['(Intercept)', 'x'], (2, 2))
    """

    __slots__ = ("_found", "notes")

    def __init__(self, text: str, notes: list[str]) -> None:
        self._found: dict[str, Any] = json.loads(text)
        self.notes = notes
        """What it is and what it is not, one sentence each."""

    @property
    def method(self) -> str:
        """``"sandwich"`` or ``"bootstrap"``."""
        return self._found["method"]

    @property
    def clusters(self) -> int:
        """The number of clusters, or of rows."""
        return self._found["clusters"]

    @property
    def unconverged(self) -> int:
        """Refits of the bootstrap that did not converge."""
        return self._found["unconverged"]

    @property
    def names(self) -> list[str]:
        """The population's coefficients."""
        return list(self._found["names"])

    @property
    def estimate(self) -> np.ndarray:
        """The estimate whose spread it is: the mean of the best Gaussian."""
        return np.array(self._found["estimate"])

    @property
    def sd(self) -> np.ndarray:
        """Standard deviations of the spread."""
        return np.array(self._found["sd"])

    @property
    def covariance(self) -> np.ndarray:
        """Its covariance."""
        return np.array(self._found["covariance"])

    def __repr__(self) -> str:
        columns = {"estimate": self.estimate, f"{self.method}_sd": self.sd}
        return repr(Table(self.names, columns, footer="; ".join(self.notes)))
