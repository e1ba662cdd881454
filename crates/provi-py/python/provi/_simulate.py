"""What a model says of itself: responses of its prior, and its calibration."""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any, Mapping, Optional, Union

import numpy as np

from . import _columns, _provi
from ._data import whole
from ._formula import _words


class PriorPredictive:
    """What the prior of a model expects, from :func:`prior_predictive`."""

    __slots__ = ("_html", "result")

    result: dict[str, Any]
    """Everything: statistics of data sets, quantiles of responses, probabilities."""

    def __init__(self, result: dict[str, Any], html: str) -> None:
        self.result, self._html = result, html

    @property
    def prior(self) -> list[str]:
        """The prior in words."""
        return self.result["prior"]

    @property
    def warnings(self) -> list[str]:
        """Where the prior puts most of its mass on implausible places."""
        return self.result["warnings"]

    def report(self) -> str:
        """The page with plots, HTML."""
        return self._html

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the page to a file."""
        pathlib.Path(path).write_text(self._html, encoding="utf-8")

    def __repr__(self) -> str:
        return f"PriorPredictive({self.result['draws']} data sets of {self.result['rows']} rows, {len(self.warnings)} warnings)"


class Calibration:
    """Ranks of true parameters among posterior draws, from :func:`calibrate`."""

    __slots__ = ("_html", "notes", "result", "verdict")

    result: dict[str, Any]
    """Everything, the band included."""
    verdict: str
    """What was found, in a sentence."""
    notes: list[str]
    """How it was done and what it does not say."""

    def __init__(self, result: dict[str, Any], verdict: str, notes: list[str], html: str) -> None:
        self.result, self.verdict, self.notes, self._html = result, verdict, notes, html

    @property
    def uniform(self) -> bool:
        """Whether no quantity leaves its band and no simulation failed."""
        return self.result["failed"] == 0 and all(one["outside"] is None for one in self.result["quantities"])

    @property
    def ranks(self) -> dict[str, np.ndarray]:
        """The ranks of each quantity, one for each simulation, from 0 to the number of draws."""
        return {one["name"]: np.array(one["ranks"], dtype=np.int64) for one in self.result["quantities"]}

    def report(self) -> str:
        """The page with the plots of the ranks, HTML."""
        return self._html

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the page to a file."""
        pathlib.Path(path).write_text(self._html, encoding="utf-8")

    def __repr__(self) -> str:
        return f"Calibration({self.verdict})"


def prior_predictive(formula: str, data: Any, *, draws: int = 500, seed: int = 0, **model: Any) -> PriorPredictive:
    """Simulates responses from the prior at the rows of a table, and fits nothing.

    formula, data, and the options of a model: as in :func:`fit_formula`.
    draws: the number of simulated data sets.

    >>> import provi
    >>> data = {"switch": [1, 0, 1, 1, 0, 0], "arsenic": [2.4, 0.7, 2.1, 1.2, 1.1, 0.6]}
    >>> provi.prior_predictive("switch ~ arsenic", data, prior_scale=50.0).warnings[0].split(":")[1]
    ' the prior is nearly certain of most responses before it has seen them; make it narrower'
    """
    text, html = _provi.prior_predictive(
        formula, _columns.source(data), _model(model), whole(draws, "draws", 10**6), whole(seed, "seed", 2**64 - 1)
    )
    return PriorPredictive(json.loads(text), html)


def calibrate(
    formula: str,
    data: Any,
    *,
    simulations: int = 200,
    draws: int = 99,
    level: float = 0.01,
    seed: int = 0,
    threads: Optional[int] = None,
    time_limit: Optional[float] = None,
    **model: Any,
) -> Calibration:
    """Simulation-based calibration at the rows of a table: parameters from the prior, responses from the model, a fit, and the rank of the truth among
    posterior draws, many times. Ranks of right posteriors are uniform.

    formula, data, and the options of a model: as in :func:`fit_formula`.
    simulations: how many data sets.
    draws: posterior draws in each, among which the truth is ranked.
    level: the probability of a false alarm, over all quantities together, at most.
    threads, time_limit: the result is the same for any number of threads; what was made until the time limit is kept.

    >>> import provi
    >>> data = {"switch": [1, 0, 1, 1, 0, 0], "arsenic": [2.4, 0.7, 2.1, 1.2, 1.1, 0.6]}
    >>> found = provi.calibrate("switch ~ arsenic", data, simulations=30)
    >>> found.uniform, sorted(found.ranks)
    (True, ['(Intercept)', 'arsenic', 'log likelihood'])
    """
    how = (whole(simulations, "simulations", 10**6), whole(draws, "draws", 9999), float(level), whole(seed, "seed", 2**64 - 1))
    text, verdict, notes, html = _provi.calibrate(
        formula, _columns.source(data), _model(model), how, (threads, None if time_limit is None else float(time_limit))
    )
    return Calibration(json.loads(text), verdict, notes, html)


def _model(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a model; those of a run have no place here."""
    known = _provi.model_keywords()
    for name in given:
        if name not in known:
            raise TypeError(f"`{name}` is no option of a model; they are {', '.join(known)}")
    model = {name: given.get(name) for name in known}
    model.update({name: _words(model[name]) for name in ("prior", "group_scale", "reference", "na")})
    model["gaps"] = [float(gap) for gap in model["gaps"] or ()]
    for name in ("prior_covariance", "prior_from"):
        model[name] = None if model[name] is None else os.fspath(model[name])
    model["standardize"] = bool(model["standardize"]) if model["standardize"] is not None else False
    return model
