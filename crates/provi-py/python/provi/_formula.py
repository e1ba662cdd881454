"""Formulas on data frames."""

from __future__ import annotations

import os
from typing import Any, Mapping, Optional, Sequence, Union

import numpy as np

from . import _columns, _data, _provi
from ._fit import Fit
from ._certificate import bound_text
from ._effects import Effects, effects
from ._model import _options
from ._progress import Progress, Watcher
from ._robust import Robust
from ._table import Table

Words = Union[None, str, float, Sequence[Union[str, float]]]


class FormulaFit(Fit):
    """The fit of a formula: a :class:`Fit` that knows its table's columns."""

    __slots__ = ()

    @property
    def formula(self) -> str:
        """The formula in canonical form."""
        return self.model["formula"]

    @property
    def family(self) -> str:
        return self.model["family"]

    def contrasts(self, level: Optional[float] = None) -> Table:
        """A row for each contrast that was asked for, as in :meth:`summary`."""
        asked = _provi.contrasts(self._core)
        return self._rows([self.functional(text, level) for text in asked], asked)

    def predict(
        self,
        data: Any,
        *,
        level: Optional[float] = None,
        time: Optional[float] = None,
        new_groups: bool = False,
        drop_missing: bool = False,
    ) -> Table:
        """The mean response of each row of new data, averaged over the answer, with the interval of that mean.

        For a gaussian model the column ``mean_error`` bounds the error of each mean. For an ordered response the mean is that of the levels'
        numbers, from 1 on, and the columns ``p(level)``, ``low(level)`` and ``high(level)`` hold the probability of each level and
        its interval.

        time: for a fit of ``surv(time, event)``, the probability that the event of a row comes after this time, instead of its mean time.
        new_groups: groups that the fit has not seen are predicted from the population, with the spread between groups added,
            instead of refused.
        drop_missing: rows with missing values are left out, instead of refused; the table's index says which rows are left, the
            first being 1.
        """
        rows = _columns.source(data)
        columns, index, error = _provi.predict_table(self._core, rows, (level, time), new_groups, drop_missing)
        footer = "" if error is None else f"each probability is within {bound_text(error, 2)} of the posterior's own"
        if "mean_error" in columns:
            footer = "each mean is within its mean_error of the posterior's own"
        return Table([str(row) for row in index], columns, footer=footer)

    def effects(
        self,
        variables: Union[None, str, Sequence[str]] = None,
        *,
        data: Any = None,
        by: Optional[str] = None,
        kind: Optional[str] = None,
        scale: Optional[str] = None,
        compare: Optional[str] = None,
        values: Optional[Sequence[Any]] = None,
        at: Optional[Mapping[str, Any]] = None,
        points: Optional[int] = None,
        level: Optional[float] = None,
        draws: Optional[int] = None,
        seed: Optional[int] = None,
    ) -> Effects:
        """What the model says about its variables: predicted responses, slopes and contrasts, each with an interval.

        Without ``data`` on a grid: the other variables are held at their means and most common levels, which the footer names. With
        ``data``, a table as in :meth:`predict`, averages over its rows, each with its own values.

        variables: a name or several; all variables by default.
        by: a second variable; with ``data``, a column whose values split the rows.
        kind: ``"predictions"``, the default on a grid; ``"slopes"``; or ``"contrasts"``. With ``data``, by default slopes of numbers
            and contrasts of categories.
        scale: ``"response"`` or ``"link"``.
        compare: how contrasts compare: ``"difference"``, ``"ratio"`` (of risks or rates) or ``"odds-ratio"``.
        values: values of the one variable; a contrast compares with the first.
        at: where other variables are held on a grid, by name.
        points: of the grid of a number, 41 by default.
        draws, seed: of the draws behind intervals that have no formula.
        """
        options = {"by": by, "kind": kind, "scale": scale, "compare": compare, "points": points}
        options |= {"level": level, "draws": draws, "seed": seed}
        return effects(self._core, variables, data, values, at, **options)

    def _exact(
        self, exact: Any, count: int, seed: Optional[int], tv: Optional[float], device: Optional[str] = None
    ) -> tuple[np.ndarray, str, Optional[float], Optional[str]]:
        return _provi.exact_of_table(self._core, _columns.source(exact), count, seed, tv, device)

    def robust(
        self, data: Any, method: str = "sandwich", *, cluster: Optional[str] = None, refits: int = 200
    ) -> Robust:
        """The spread of the estimate over data sets, for a model that may be wrong: not the posterior's, and covered by no certificate.

        data: the data of the fit.
        method: ``"sandwich"``, H⁻¹JH⁻¹ at the estimate (HC0); or ``"bootstrap"``, by refits with random weights from the fit's seed.
        cluster: a column; rows with the same value belong together.
        refits: of the bootstrap.
        """
        count = _data.whole(refits, "refits")
        return Robust(*_provi.robust_of_table(self._core, _columns.source(data), method, cluster, count))

    def _left_out(self, data: Any, asked: dict[str, Any]) -> tuple[str, list[str]]:
        return _provi.loo_of_table(self._core, _columns.source(data), asked)

    def _likelihoods(self, data: Any, points: np.ndarray, scales: Optional[np.ndarray]) -> np.ndarray:
        return _provi.likelihoods_of_table(self._core, _columns.source(data), points, scales)

    def report(self, level: Optional[float] = None) -> str:
        """The report page, HTML."""
        return _provi.report(self._core, level)


def fit_formula(
    formula: str,
    data: Any,
    *,
    family: Optional[str] = None,
    noise_sd: Optional[float] = None,
    gaps: Sequence[float] = (),
    nu: Optional[float] = None,
    prior: Words = None,
    prior_scale: Optional[float] = None,
    prior_covariance: Union[None, str, os.PathLike[str]] = None,
    prior_from: Union[None, str, os.PathLike[str], Fit] = None,
    group_scale: Words = None,
    scales: Optional[str] = None,
    factor: Optional[str] = None,
    standardize: bool = False,
    weights: Optional[str] = None,
    offset: Optional[str] = None,
    exposure: Optional[str] = None,
    reference: Words = None,
    missing: Optional[str] = None,
    na: Words = None,
    contrasts: Sequence[str] = (),
    accuracy: Optional[float] = None,
    kl: Optional[float] = None,
    table_accuracy: Optional[float] = None,
    seed: Optional[int] = None,
    threads: Optional[int] = None,
    device: Optional[str] = None,
    time_limit: Optional[float] = None,
    method: Optional[str] = None,
    progress: Progress = None,
    distance: Optional[float] = None,
    steps: Optional[int] = None,
    draws: Optional[int] = None,
    coupling: Optional[str] = None,
    coordinates: Optional[str] = None,
    subsample: Optional[int] = None,
    sampling: Optional[str] = None,
    family_of_q: Optional[str] = None,
    failure_probability: Optional[float] = None,
    audit_draws: Optional[int] = None,
    memory_budget: Union[None, int, str] = None,
    memory: Optional[int] = None,
) -> FormulaFit:
    """Fits a formula such as ``"y ~ x + (1 | group)"`` to the columns of a data frame.

    data: pandas, polars, pyarrow, anything that supports Arrow or has ``__dataframe__``; a mapping of names to arrays; or the path
        of a CSV or Parquet file. Categories with an order keep it.
    family: how the response depends on the predictors; for a binary response, bernoulli if it is not given.
    noise_sd: the noise of the gaussian family; without it, it is unknown: see ``scales``.
    gaps: the distances between the cut points of a response ``ordered(y)``, one for each level but the first and the last; without them, they
        are unknown: see ``scales``.
    nu: the degrees of freedom of the noise of the student family; without them, they are unknown, with the prior gamma(2, 0.1) above 1.
    prior: ``"normal(0, 2.5)"``, or of some coefficients ``"dose=normal(1, 0.5)"``; one or several. Coefficients without one
        have a prior scaled by the data: 2.5 sd(y)/sd(x) for a slope (2.5/sd(x) unless gaussian), around the mean response
        for the intercept at the column means. ``fit.prior`` has all of it.
    prior_scale: short for the prior ``normal(0, prior_scale)`` of every coefficient, on the scale of the data.
    prior_covariance: a CSV file with the prior mean and covariance of the population's coefficients; it is the whole prior.
    prior_from: an earlier fit, or its folder: its Gaussian becomes the prior of the coefficients that both models have. Columns that it does not
        have, effects of groups and scales keep priors of their own; ``fit.prior`` says which. Columns such as ``scale(x)`` keep the constants
        of the earlier data. Do not use the same data again: they would count twice.
    group_scale: the standard deviation between groups, ``0.5``, ``"clinic=0.5"`` or ``"clinic:age=0.1"``; one or several. The effects of a
        group are then independent.
    scales: what happens to a noise and to deviations between groups that are not given: ``"integrate"``, the default, integrates over them,
        with the priors of ``prior``, such as ``"sd(clinic)=exponential(1)"``, ``"sigma=half_t(3, 10)"`` or ``"cor(clinic)=lkj(2)"``;
        :meth:`Fit.scales` has the result. ``"maximise"`` takes those with the largest ELBO, which then count as known.
    factor: how q is held: ``"dense"``, by the factor of its covariance, or ``"sparse"``, by the sparse factor of its precision, for
        thousands of group effects. Sparse above 2000 coefficients if it is not given and has few entries.
    standardize: priors are about standardized predictors.
    weights, offset, exposure: the names of such columns.
    reference: the reference level of a category, ``"town=Bern"``; one or several.
    missing: what to do with rows that have a missing value, ``"drop"`` or ``"error"``.
    na: cell texts that mean a missing value, such as ``["none", -9]``, in addition to the usual ones (``"NA"``, ``"."``, …); one or several.
    contrasts: linear combinations of coefficients, such as ``"a - b"``, to be kept with the fit.

    The other options are those of :meth:`Model.fit`.

    >>> import provi
    >>> data = {"switch": [1, 0, 1, 1, 0, 0], "arsenic": [2.4, 0.7, 2.1, 1.2, 1.1, 0.6], "town": list("abbaab")}
    >>> fit = provi.fit_formula("switch ~ arsenic + town", data, progress=False)
    >>> fit.names, fit.family, fit.certificate.proves_gap(1e-9)
    (['(Intercept)', 'arsenic', 'town[b]'], 'bernoulli', True)
    >>> fit.predict({"arsenic": [1.0], "town": ["b"]})["mean"].shape
    (1,)
    """
    given = locals()
    options = {**_options(given), "contrast": _words(contrasts)}
    model = {name: given[name] for name in _provi.model_keywords()}
    model.update({name: _words(model[name]) for name in ("prior", "group_scale", "reference", "na")})
    model["gaps"] = [float(gap) for gap in model["gaps"] or ()]
    if prior_covariance is not None:
        model["prior_covariance"] = os.fspath(prior_covariance)
    earlier = prior_from._core if isinstance(prior_from, Fit) else None
    model["prior_from"] = None if earlier is not None or prior_from is None else os.fspath(prior_from)
    with Watcher(progress) as observer:
        core = _provi.fit_formula(formula, _columns.source(data), model, options, observer, earlier)
    return FormulaFit(core)


def load(path: Union[str, os.PathLike[str]]) -> Fit:
    """A fit that was saved, by this package or by the command ``provi``: its folder, or the `fit.json` in it. That of a formula
    is a :class:`FormulaFit`."""
    fit = Fit.load(path)
    return FormulaFit(fit._core) if fit.model["kind"] == "formula" else fit


def _words(given: Words) -> list[str]:
    if given is None:
        return []
    return [str(x) for x in ([given] if isinstance(given, (str, int, float, np.number)) else given)]
