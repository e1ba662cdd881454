"""Models of the same data, compared by bounds of their log evidence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional

from ._provi import Answer

if TYPE_CHECKING:
    from ._fit import Fit


@dataclass(frozen=True)
class Compared:
    """One of several fits that were compared."""

    fit: str
    """Its name."""
    formula: str
    family: str
    family_of_q: str
    """The family in which q was sought: ``"full"``, ``"meanfield"``, …"""
    evidence: tuple[Optional[float], Optional[float]]
    """Bounds of the log evidence."""
    log_bayes_factor: Optional[tuple[Optional[float], Optional[float]]]
    """Bounds of the log evidence of the first minus that of this one; ``None`` for the first."""
    decided: Optional[bool]
    """Whether these bounds exclude 0."""
    strength: Optional[str]
    """How much better the first is at least, if that is decided."""
    elbo: float
    elbo_below: Optional[float]
    """By how much the ELBO is below the largest; ``None`` unless all are fits of one model."""
    elbo_below_error: Optional[float]
    """A bound of the error of that number if ``elbo_exact``, otherwise a standard error."""
    elbo_exact: Optional[bool]


@dataclass(frozen=True)
class Comparison:
    """What the certificates of several fits say about each other; ``print`` shows it as a table."""

    models: tuple[Compared, ...]
    """The fits; the first has the largest lower bound of the log evidence."""
    confidence: float
    """The probability with which all bounds hold together, at least."""
    notes: tuple[str, ...]
    """What the numbers are conditional on, where that differs between the fits."""

    def __str__(self) -> str:
        rows = [("", "log evidence", "log BF of the first", "", "ELBO")]
        for model in self.models:
            verdict = "" if model.decided is None else f"decided, {model.strength}" if model.decided else "not decided"
            factor = "" if model.log_bayes_factor is None else _interval(model.log_bayes_factor)
            elbo = f"{model.elbo:.4f}"
            if model.elbo_below and model.elbo_below_error is not None:
                kind = "±" if model.elbo_exact else "standard error"
                elbo += f", {model.elbo_below:.4f} below ({kind} {model.elbo_below_error:.1e})"
            rows.append((model.fit, _interval(model.evidence), factor, verdict, elbo))
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        lines += [f"note: {note}" for note in self.notes]
        lines.append(f"all bounds hold together with probability at least {self.confidence:.6f}")
        return "\n".join(lines)


def _interval(bounds: tuple[Optional[float], Optional[float]]) -> str:
    low, high = ("?" if bound is None else f"{bound:.3f}" for bound in bounds)
    return f"{low} to {high}"


def _pair(record: Mapping[str, Any]) -> tuple[Optional[float], Optional[float]]:
    return record.get("lower"), record.get("upper")


def compare(*fits: Fit, names: Optional[list[str]] = None, force: bool = False) -> Comparison:
    """Compares models of the same data by the bounds of their log evidence.

    A difference counts as decided if the bounds exclude 0. Fits of one model that differ in the family of q
    (``family_of_q="meanfield"``) have one evidence, and are compared by their ELBOs: what a smaller family costs in nats.

    Args:
        fits: two fits or more.
        names: what they are called; default ``"fit 1"``, ``"fit 2"``, …
        force: compare fits of different data all the same.

    >>> import provi
    >>> data = {"y": [1, 0, 1, 0, 1, 0, 0, 1], "x": [0.5, 0.1, 1.2, -0.3, 0.9, 0.2, -1.0, 0.4]}
    >>> small, large = (provi.fit_formula(f, data, seed=1, progress=False) for f in ("y ~ 1", "y ~ x"))
    >>> provi.compare(small, large, names=["without x", "with x"]).models[0].fit
    'with x'
    """
    if len(fits) < 2:
        raise ValueError("compare needs two fits or more")
    if names is not None and len(names) != len(fits):
        raise ValueError(f"names has {len(names)} entries for {len(fits)} fits")
    called = names if names is not None else [f"fit {i + 1}" for i in range(len(fits))]
    record = json.loads(Answer.compare([(name, fit._core) for name, fit in zip(called, fits)], force))
    models = []
    for entry in record["models"]:
        factor, below = entry["log_bayes_factor"], entry["elbo_below"] or {}
        models.append(
            Compared(
                **{key: entry[key] for key in ("fit", "formula", "family", "family_of_q", "decided", "strength", "elbo")},
                evidence=_pair(entry["evidence"]),
                log_bayes_factor=None if factor is None else _pair(factor),
                elbo_below=below.get("nats"),
                elbo_below_error=below.get("error"),
                elbo_exact=below.get("exact"),
            )
        )
    return Comparison(tuple(models), record["confidence"], tuple(record["notes"]))
