"""Answers on the scale of a model that was written elsewhere.

A black box lives on the real line: a scale parameter as its logarithm, a simplex in stick-breaking coordinates. The Gaussian and
its certificate speak of those coordinates; draws are carried back to the parameters their user wrote down.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from html import escape
from itertools import product
from typing import Any, Callable, Mapping, Optional, Sequence, Union

import numpy as np

from . import _provi
from ._certificate import Certificate, Estimates, Functional, Promise, SignProbability, Statement, Trust
from ._fit import Fit, Variable
from ._model import Model
from ._nuts import NutsStart
from ._plot import Plots
from ._table import Table

_SPACE = (
    "Certificate: about the unconstrained coordinates in fit.unconstrained. Rows with errors are such coordinates; "
    "the others are means over draws."
)


@dataclass(frozen=True)
class UserScale:
    """The way from coordinates back to the parameters of a model."""

    transform: Callable[[np.ndarray], Mapping[str, np.ndarray]]
    """From draws (n, d) to the model's own parameters, arrays (n, …)."""
    variables: tuple[Variable, ...]
    """Those parameters, with their axes."""
    unchanged: frozenset[str] = field(default_factory=frozenset)
    """Parameters that are their own coordinates: what is proved of these holds on the user's scale."""
    record: Optional[Callable[[Any], str]] = None
    """From an answer to its parameters as ``fit.json`` has them; by draws of the Gaussian otherwise."""
    order: tuple[int, ...] = ()
    """For each name of the variables, its position in that record."""
    log_likelihood: Optional[Callable[[np.ndarray], Mapping[str, np.ndarray]]] = None
    """From draws (n, d) to the log likelihood of each observation, arrays (n, …), where the model tells them apart."""
    posterior_predictive: Optional[Callable[[np.ndarray, int], Mapping[str, np.ndarray]]] = None
    """From draws (n, d) and a seed to replicated observations, arrays (n, …), where the model can make them."""
    observed: Optional[Mapping[str, np.ndarray]] = None
    """The observations themselves."""
    free: Optional[Sequence[str]] = None
    """What the coordinates are called in the model, in order, where they belong to parameters one by one; the others are
    computed from these."""


class ScaledModel(Model):
    """A model written elsewhere. Its fits are on its own scale; see :class:`ScaledFit`."""

    __slots__ = ("scale",)

    def __init__(self, model: Model, scale: UserScale) -> None:
        super().__init__(model._core, variables=model.variables, attrs={**model.attrs, "space": "unconstrained"})
        self.scale = scale

    def _answer(self, core: Any) -> Any:
        return ScaledFit(super()._answer(core), self.scale)


class ScaledFit(Plots):
    """An answer on the scale of the model's own parameters.

    ``unconstrained`` is the Gaussian in the coordinates in which it was found; ``certificate`` is about it. :meth:`sample`,
    :meth:`summary`, :meth:`to_arviz` and the plots are about the model's parameters.
    """

    __slots__ = ("__weakref__", "scale", "unconstrained")

    def __init__(self, unconstrained: Fit, scale: UserScale) -> None:
        self.unconstrained = unconstrained
        self.scale = scale

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The model's parameters, with their axes."""
        return self.scale.variables

    @property
    def names(self) -> list[str]:
        """A name for each number among the parameters, such as ``beta[0]``."""
        return [name for variable in self.variables for name in element_names(variable)]

    @property
    def certificate(self) -> Certificate:
        """What is proved about ``unconstrained``."""
        return self.unconstrained.certificate

    @property
    def elbo(self) -> float:
        return self.unconstrained.elbo

    @property
    def elbo_error(self) -> float:
        return self.unconstrained.elbo_error

    @property
    def elbo_exact(self) -> bool:
        return self.unconstrained.elbo_exact

    @property
    def log_evidence(self) -> tuple[Optional[float], Optional[float]]:
        """Proved lower and upper bound of log p(x); they are the same on any scale."""
        return self.unconstrained.log_evidence

    @property
    def estimates(self) -> Estimates:
        return self.unconstrained.estimates

    @property
    def khat(self) -> Optional[float]:
        return self.unconstrained.khat

    @property
    def trust(self) -> Optional[Trust]:
        """How far to trust the answer."""
        return self.unconstrained.trust

    @property
    def verdict(self) -> Optional[str]:
        """``"good"``, ``"fair"`` or ``"do not use"``; see :attr:`trust`."""
        return self.unconstrained.verdict

    @property
    def promise(self) -> Promise:
        return self.unconstrained.promise

    @property
    def trace(self) -> dict[str, np.ndarray]:
        return self.unconstrained.trace

    @property
    def method(self) -> str:
        return self.unconstrained.method

    @property
    def steps(self) -> int:
        return self.unconstrained.steps

    @property
    def stopped_early(self) -> bool:
        return self.unconstrained.stopped_early

    @property
    def gradient_evaluations(self) -> int:
        return self.unconstrained.gradient_evaluations

    @property
    def seed(self) -> int:
        return self.unconstrained.seed

    @property
    def seconds(self) -> float:
        return self.unconstrained.seconds

    def sample(
        self,
        n: int,
        seed: Optional[int] = None,
        *,
        exact: Any = None,
        tv: Optional[float] = None,
        weighted: Any = None,
    ) -> dict[str, np.ndarray]:
        """Independent draws of the parameters, by name: arrays (n, …); the fit's own seed if none is given.

        exact, tv: the model that was fitted, for draws of the posterior itself, or near it, as in :meth:`Fit.sample`.
        weighted: the model that was fitted: draws resampled in proportion to p/q, as in :meth:`Fit.sample`.
        """
        return self._by_variable(self.unconstrained.sample(n, seed, exact=exact, tv=tv, weighted=weighted))

    draws = sample

    def nuts_start(self, chains: int = 4, seed: Optional[int] = None) -> NutsStart:
        """Starting points and a mass matrix for NUTS, as :meth:`Fit.nuts_start`, for the model that this is a fit of."""
        fit = self.unconstrained
        points = fit.sample(chains, seed)
        free = self.scale.free
        called = [v.name for v in fit.variables] if free is None else free
        found = self._by_variable(points)
        kept = found if free is None else {name: found[name] for name in free}
        return NutsStart(points, fit.cov, kept, [(name, v.shape) for name, v in zip(called, fit.variables)])

    @property
    def mean(self) -> dict[str, np.ndarray]:
        """The mean of each parameter over the usual number of draws."""
        return {name: values.mean(axis=0) for name, values in self.sample(self._usual()).items()}

    @property
    def sd(self) -> dict[str, np.ndarray]:
        """The standard deviation of each parameter over the usual number of draws."""
        return {name: values.std(axis=0, ddof=1) for name, values in self.sample(self._usual()).items()}

    @property
    def cov(self) -> np.ndarray:
        """The covariance of the numbers in the order of ``names``, over the usual number of draws."""
        return np.cov(self._points(self._usual()), rowvar=False).reshape(len(self.names), len(self.names))

    def functional(
        self, v: Union[str, Mapping[str, float], Sequence[float], np.ndarray], level: Optional[float] = None
    ) -> Functional:
        """A linear combination of the parameters on the scale of the model.

        ``v`` is an expression in the names (``"mu - theta[0]"``), weights by name, or a vector in their order. If only
        parameters occur that are their own coordinates, it has the proved errors of :meth:`Fit.functional`; otherwise it is a mean
        over draws without any.
        """
        names = self.names
        if isinstance(v, str):
            weights = _provi.weights_of(v, names)
        elif isinstance(v, Mapping):
            weights = np.zeros(len(names))
            for name, weight in v.items():
                if name not in names:
                    raise KeyError(f"no parameter is called {name!r}; there are {', '.join(names)}")
                weights[names.index(name)] = weight
        else:
            weights = np.ascontiguousarray(v, dtype=np.float64)
            if weights.shape != (len(names),):
                raise ValueError(f"v has shape {weights.shape}, expected ({len(names)},)")
        own = {n for variable in self.variables if variable.name in self.scale.unchanged for n in element_names(variable)}
        used = {name: float(weight) for name, weight in zip(names, weights) if weight}
        if used.keys() <= own:
            return self.unconstrained.functional(used, level)
        values = self._points(self._usual()) @ weights
        tail = 0.5 * (1.0 - _provi.level(level))
        lower, upper = np.quantile(values, [tail, 1.0 - tail])
        nothing = Statement(None, None, None, None, "a mean over draws on the scale of the model")
        positive = SignProbability(float((values > 0.0).mean()), 0.0, 1.0, nothing)
        return Functional(
            mean=float(values.mean()),
            sd=float(values.std(ddof=1)),
            interval=(float(lower), float(upper)),
            mean_error=nothing,
            sd_error=nothing,
            positive=positive,
            digits=(None, None),
        )

    contrast = functional

    def _usual(self) -> int:
        chains, draws = self._core.usual_draws()
        return chains * draws

    def summary(self, level: Optional[float] = None, draws: Optional[int] = None) -> Table:
        """A row for each number among the parameters.

        A parameter that is a coordinate has the row of :meth:`Fit.summary`, with its proved errors. Any other has its mean,
        sd and interval from ``draws`` independent draws, and no proved error. A Stan model without ``draws`` has the numbers that
        its ``fit.json`` has, with importance weights where these can be believed.
        """
        exact = self.unconstrained.summary(level)
        if draws is None and level is None and self.scale.record is not None:
            return self._stored(json.loads(self.scale.record(self._core)), exact)
        found = self.sample(draws or self._usual())
        tail = 0.5 * (1.0 - _provi.level(level))
        columns: dict[str, list[np.ndarray]] = {name: [] for name in exact}
        nothing = np.full(1, np.nan)
        for variable in self.variables:
            values = found[variable.name].reshape(len(found[variable.name]), -1).astype(np.float64)
            if variable.name in self.scale.unchanged:
                at = [exact.index.index(name) for name in element_names(variable)]
                rows = {name: exact[name][at] for name in exact}
            else:
                rows = {name: np.repeat(nothing, values.shape[1]) for name in exact}
                rows["mean"], rows["sd"] = values.mean(axis=0), values.std(axis=0, ddof=1)
                rows["lower"], rows["upper"] = np.quantile(values, [tail, 1.0 - tail], axis=0)
                rows["p_positive"] = (values > 0.0).mean(axis=0)
            for name in exact:
                columns[name].append(rows[name])
        joined = {name: np.concatenate(parts) for name, parts in columns.items()}
        errors = [name for name in joined if name.endswith("_error")]
        footer = f"{_SPACE}\n{exact.footer}"
        return Table(
            self.names, joined, bounds=errors, probabilities=["p_positive"], footer=footer, header=exact.header
        )

    def _stored(self, record: dict[str, Any], exact: Table) -> Table:
        """The table that ``fit.json`` has."""
        order = np.array(self.scale.order, dtype=int)
        joined = {name: np.full(len(order), np.nan) for name in exact}
        for name in ("mean", "sd", "lower", "upper"):
            joined[name] = np.array(record[name], dtype=np.float64)[order]
        if not record["weighted"]:
            joined["p_positive"] = (self._points(record["draws"]) > 0.0).mean(axis=0)
        errors = [name for name in joined if name.endswith("_error")]
        how = "with importance weights" if record["weighted"] else "of the Gaussian itself"
        footer = f"{_SPACE}\nMeans over {record['draws']:,} draws {how}.\n{exact.footer}"
        return Table(
            self.names, joined, bounds=errors, probabilities=["p_positive"], footer=footer, header=exact.header
        )

    def save(self, path: Any, force: bool = False) -> Any:
        """Writes ``fit.json`` into the folder ``path``, with the Gaussian in its own coordinates and the parameters on the scale
        of the model, so that the command ``provi`` shows both; returns the path of the file. A folder that holds a fit is
        refused unless ``force``. ``Fit.load`` reads back ``unconstrained``: only the model has the map to
        its own scale."""
        record = self.scale.record(self._core) if self.scale.record is not None else self._record()
        return self._core.save(path, force, record)

    def _record(self) -> str:
        table = self.summary(draws=self._usual())
        found = {name: table[name].tolist() for name in ("mean", "sd", "lower", "upper")}
        rest = {"level": _provi.level(), "pareto_k": self.khat, "weighted": False, "draws": self._usual()}
        return json.dumps({"names": self.names, **found, **rest})

    def to_arviz(
        self,
        draws: Optional[int] = None,
        chains: Optional[int] = None,
        seed: Optional[int] = None,
        *,
        weighted: Any = None,
        posterior_predictive: Any = None,
    ) -> Any:
        """An ``InferenceData`` (ArviZ 0.x) or a ``DataTree`` (ArviZ 1.x) with independent draws of the parameters, under
        their dimensions; its attributes carry the certificate. Models of NumPyro and PyMC also have the group ``log_likelihood``, for
        ``arviz.loo`` and ``arviz.compare``, ``posterior_predictive``, observations replicated by the model itself for each draw, and
        ``observed_data``.

        posterior_predictive: a function that replicates the observations instead, from the draws by name as :meth:`sample` gives them
        and a ``numpy.random.Generator`` to arrays (n, …) by name; ``False`` leaves them out.
        """
        from ._arviz import to_arviz

        return to_arviz(_View(self), draws, chains, seed, weighted=weighted, posterior_predictive=posterior_predictive)

    @property
    def _core(self) -> Any:
        return self.unconstrained._core

    def _points(self, n: int) -> np.ndarray:
        """Draws of what ``names`` name, a column each."""
        found = self.sample(n)
        return np.concatenate([found[v.name].reshape(n, -1) for v in self.variables], axis=1)

    def _by_variable(self, points: np.ndarray) -> dict[str, np.ndarray]:
        found = self.scale.transform(points)
        return {variable.name: np.asarray(found[variable.name]) for variable in self.variables}

    def __repr__(self) -> str:
        inner = repr(self.unconstrained)
        return f"ScaledFit({', '.join(v.name for v in self.variables)}; unconstrained: {inner})"

    def _repr_html_(self) -> str:
        return f"<p><code>{escape(repr(self))}</code></p>{self.summary()._repr_html_()}"

    def __reduce__(self) -> Any:
        # The way back to a model's own scale may be a compiled function, which cannot be pickled: its draws can.
        stored = self.scale.transform
        if not getattr(stored, "portable", False):
            points = self.unconstrained.sample(self._usual())
            stored = _StoredDraws(points, {k: np.asarray(v) for k, v in self.scale.transform(points).items()})
        return _restore, (self.unconstrained, stored, self.variables, self.scale.unchanged, self.scale.free)


class _StoredDraws:
    """The way back to a model's own scale for the draws that were made before a fit was pickled, and for no others."""

    portable = True

    def __init__(self, points: np.ndarray, values: dict[str, np.ndarray]) -> None:
        self.points = points
        self.values = values

    def __call__(self, points: np.ndarray) -> dict[str, np.ndarray]:
        count = len(points)
        if count > len(self.points) or not np.array_equal(points, self.points[:count]):
            raise ValueError(
                f"a fit from a pickle has the {len(self.points)} draws that sample(n) makes with the fit's own seed; for others fit "
                "the model again, or draw before pickling"
            )
        return {name: values[:count] for name, values in self.values.items()}


def _restore(
    unconstrained: Fit,
    stored: Any,
    variables: tuple[Variable, ...],
    unchanged: frozenset[str],
    free: Optional[Sequence[str]] = None,
) -> ScaledFit:
    return ScaledFit(unconstrained, UserScale(stored, variables, unchanged, free=free))


class _View:
    """The Gaussian of a fit, under the variables of its user's scale."""

    def __init__(self, fit: ScaledFit) -> None:
        self.variables = fit.variables
        self._by_variable = fit._by_variable
        self._log_likelihood = fit.scale.log_likelihood
        self._posterior_predictive = fit.scale.posterior_predictive
        self._observed = fit.scale.observed
        self._fit = fit.unconstrained

    def __getattr__(self, name: str) -> Any:
        return getattr(self._fit, name)


def element_names(variable: Variable) -> list[str]:
    """``beta[0]``, ``theta[a,1]``, or the name alone of a single number."""
    if not variable.coords:
        return [variable.name]
    return [f"{variable.name}[{','.join(labels)}]" for labels in product(*variable.coords)]


def variable(
    name: str,
    shape: Sequence[int],
    dims: Optional[Sequence[Optional[str]]] = None,
    coords: Optional[Mapping[str, Any]] = None,
) -> Variable:
    """A variable of that shape; axes without a name are called as ArviZ calls them, labels without one are counted."""
    dims, coords = list(dims or [None] * len(shape)), coords or {}
    named = [dim or f"{name}_dim_{axis}" for axis, dim in enumerate(dims)]

    def labels(dim: str, size: int) -> tuple[str, ...]:
        given = coords.get(dim)
        return tuple(str(x) for x in (given if given is not None and len(given) == size else range(size)))

    return Variable(name, tuple(named), tuple(labels(dim, size) for dim, size in zip(named, shape)))


def needs(package: str, what: str, error: ImportError) -> ImportError:
    """The error of a package that is not there."""
    return ImportError(f"{what} needs {package}: pip install {package}")
