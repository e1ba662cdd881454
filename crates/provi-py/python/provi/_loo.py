"""Leave-one-out cross-validation."""

from __future__ import annotations

import json
from typing import Any, Optional

import numpy as np

from ._table import Table


class Loo:
    """How well a model predicts each row from the others; larger ``elpd`` is better.

    >>> import numpy as np, provi
    >>> X = np.array([[1.0, 0.5], [1.0, -1.5], [1.0, 2.0], [1.0, 0.1], [1.0, -0.4]])
    >>> model = provi.logistic(X, [1, 0, 1, 0, 1])
    >>> loo = model.fit(seed=1, progress=False).loo(model)
    >>> loo.method, len(loo.rows), loo.upper >= loo.elpd
    ('refit', 5, True)
    """

    __slots__ = ("_found", "notes", "rows")

    def __init__(self, text: str, notes: list[str]) -> None:
        self._found: dict[str, Any] = json.loads(text)
        self.notes = notes
        """What the numbers are and what to doubt, one sentence each."""
        names = ("elpd", "lower", "upper", "lpd", "pareto_k")
        found = self._found.pop("rows")
        columns = {name: np.array([np.nan if row[name] is None else row[name] for row in found]) for name in names}
        columns["refitted"] = np.array([row["refitted"] for row in found])
        columns["pit"] = np.array(self._found.pop("pit"))
        self.rows = Table([str(n + 1) for n in range(len(found))], columns)
        """A row for each row of the data: elpd, proved bounds of the posterior's own (NaN where there is none), lpd without leaving it
        out, k̂, whether it was refitted, and the LOO-PIT."""

    @property
    def method(self) -> str:
        """``"refit"`` or ``"psis"``."""
        return self._found["method"]

    @property
    def because(self) -> str:
        """Why this method."""
        return self._found["because"]

    @property
    def elpd(self) -> float:
        """elpd_loo."""
        return self._found["elpd"]["value"]

    @property
    def elpd_se(self) -> float:
        """Its standard error over rows."""
        return self._found["elpd"]["standard_error"]

    @property
    def p_loo(self) -> float:
        """The effective number of parameters."""
        return self._found["p_loo"]["value"]

    @property
    def lower(self) -> Optional[float]:
        """Proved lower bound of the posterior's own elpd_loo; with ``certify=True``."""
        return self._found["elpd_lower"]

    @property
    def upper(self) -> Optional[float]:
        """Proved upper bound of it."""
        return self._found["elpd_upper"]

    @property
    def confidence(self) -> Optional[float]:
        """The probability with which the bounds hold, at least."""
        return self._found["confidence"]

    @property
    def waic(self) -> Optional[dict[str, Any]]:
        """``elpd``, ``p_waic`` and the number of ``doubtful`` rows, from the draws of ``"psis"``."""
        return self._found["waic"]

    def difference(self, other: Loo) -> tuple[float, float]:
        """elpd of this model minus that of another of the same rows, and its standard error."""
        if len(self.rows) != len(other.rows):
            raise ValueError(f"one fit has {len(self.rows)} rows and the other {len(other.rows)}: they are not of the same data")
        by = self.rows["elpd"] - other.rows["elpd"]
        return float(by.sum()), float(np.sqrt(len(by) * np.var(by)))

    def __repr__(self) -> str:
        lines = [
            f"{len(self.rows)} rows left out by {self.method}: {self.because}",
            f"elpd_loo {self.elpd:.1f}, standard error {self.elpd_se:.1f}; p_loo {self.p_loo:.1f}",
        ]
        if self.waic is not None:
            lines.append(f"elpd_waic {self.waic['elpd']['value']:.1f}, p_waic {self.waic['p_waic']:.1f}")
        # Rounded outwards, so that what is printed is proved too.
        sides = [("at least", self.lower, np.floor), ("at most", self.upper, np.ceil)]
        proved = " and ".join(f"{word} {away(100 * value) / 100:.2f}" for word, value, away in sides if value is not None)
        if proved:
            lines.append(f"proved: the posterior's own elpd_loo is {proved}, with probability {self.confidence}")
        return "\n".join([*lines, *self.notes])
