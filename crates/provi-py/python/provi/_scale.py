"""Answers on the scale of a model that was written elsewhere.

A black box lives on the real line: a scale parameter as its logarithm, a simplex in stick-breaking coordinates. The Gaussian and
its certificate speak of those coordinates; draws are carried back to the parameters their user wrote down.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from html import escape
from itertools import product
from typing import Any, Callable, Mapping, Optional, Sequence

import numpy as np

from . import _provi
from ._certificate import Certificate, Estimates, Promise
from ._fit import Fit, Variable
from ._model import Model
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

    def sample(self, n: int, seed: Optional[int] = None) -> dict[str, np.ndarray]:
        """Independent draws of the parameters, by name: arrays (n, …); the fit's own seed if none is given."""
        return self._by_variable(self.unconstrained.sample(n, seed))

    draws = sample

    def summary(self, level: Optional[float] = None, draws: Optional[int] = None) -> Table:
        """A row for each number among the parameters.

        A parameter that is a coordinate has the row of :meth:`Fit.summary`, with its proved errors. Any other has its mean,
        sd and interval from ``draws`` independent draws, and no proved error.
        """
        exact = self.unconstrained.summary(level)
        chains, usual = self._core.usual_draws()
        found = self.sample(draws or chains * usual)
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
        return Table(self.names, joined, bounds=errors, probabilities=["p_positive"], footer=footer)

    def save(self, path: Any, force: bool = False) -> Any:
        """Writes ``fit.json`` into the folder ``path``, with the Gaussian in its own coordinates and the parameters on the scale
        of the model, so that the command ``provi`` shows both; returns the path of the file. A folder that holds a fit is
        refused unless ``force``. ``Fit.load`` reads back ``unconstrained``: only the model has the map to
        its own scale."""
        record = self.scale.record(self._core) if self.scale.record is not None else self._record()
        return self._core.save(path, force, record)

    def _record(self) -> str:
        chains, usual = self._core.usual_draws()
        table = self.summary(draws=chains * usual)
        found = {name: table[name].tolist() for name in ("mean", "sd", "lower", "upper")}
        rest = {"level": _provi.level(), "pareto_k": self.khat, "weighted": False, "draws": chains * usual}
        return json.dumps({"names": self.names, **found, **rest})

    def to_arviz(
        self, draws: Optional[int] = None, chains: Optional[int] = None, seed: Optional[int] = None
    ) -> Any:
        """An ``InferenceData`` (ArviZ 0.x) or a ``DataTree`` (ArviZ 1.x) with independent draws of the parameters, under
        their dimensions; its attributes carry the certificate."""
        from ._arviz import to_arviz

        return to_arviz(_View(self), draws, chains, seed)

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
        raise TypeError(
            "the way back to the model's own scale is a compiled function, which cannot be pickled; pickle fit.unconstrained, "
            "or the draws of fit.sample(n)"
        )


class _View:
    """The Gaussian of a fit, under the variables of its user's scale."""

    def __init__(self, fit: ScaledFit) -> None:
        self.variables = fit.variables
        self._by_variable = fit._by_variable
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
