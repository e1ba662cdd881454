"""Models over parameters with domains: provi's bijections around a function of the parameters."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import numpy as np

from . import _provi
from ._domain import Domain
from ._fit import Variable
from ._model import black_box
from ._scale import ScaledModel, UserScale, element_names, variable

Domains = Mapping[str, Domain]


class Layout:
    """The parameters of a mapping, one after the other in a row of numbers."""

    def __init__(self, domains: Domains) -> None:
        wrong = [name for name, domain in domains.items() if not isinstance(domain, Domain)]
        if wrong:
            found = type(domains[wrong[0]]).__name__
            raise TypeError(f"parameter {wrong[0]!r} is a {found}, expected a provi.Domain such as provi.Domain.positive()")
        self.domains = {str(name): domain for name, domain in domains.items()}
        self.core = _provi.Parameters([(name, d.kind, d.bounds, d.size, d.axes) for name, d in self.domains.items()])
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.free: list[Variable] = []
        for name, (shape, free) in zip(self.domains, self.core.shapes()):
            self.shapes[name] = tuple(shape)
            called = name if self.domains[name].kind == "real" else f"{name}_unconstrained"
            self.free.append(variable(called, free))

    portable = True  # Its maps go with a pickled fit.

    def __reduce__(self) -> Any:
        return Layout, (self.domains,)

    @property
    def numbers(self) -> int:
        return sum(_count(shape) for shape in self.shapes.values())

    @property
    def coordinates(self) -> int:
        return sum(_count(v.shape) for v in self.free)

    def split(self, row: Any) -> dict[str, Any]:
        """The parameters of rows (…, numbers), as arrays (…, shape) of the same library."""
        found, at = {}, 0
        for name, shape in self.shapes.items():
            found[name] = row[..., at : at + _count(shape)].reshape((*row.shape[:-1], *shape))
            at += _count(shape)
        return found

    def join(self, given: Any, count: int) -> np.ndarray:
        """Gradients by name as rows (count, numbers); what has another shape is refused."""
        if not isinstance(given, Mapping):
            raise TypeError(f"the function returned a gradient of type {type(given).__name__}, expected a mapping with a gradient for each parameter")
        if given.keys() != self.shapes.keys():
            found = ", ".join(map(str, given)) or "nothing"
            raise ValueError(f"the function returned gradients of {found}, expected {', '.join(self.shapes)}")
        rows = []
        for name, shape in self.shapes.items():
            values = np.asarray(given[name], dtype=np.float64)
            if values.shape != (count, *shape):
                raise ValueError(f"the function returned a gradient of {name} of shape {values.shape}, expected {(count, *shape)}")
            rows.append(values.reshape(count, -1))
        return np.concatenate(rows, axis=1)

    def __call__(self, points: np.ndarray) -> dict[str, np.ndarray]:
        """From draws of the coordinates (n, d) to the parameters."""
        theta, _ = self.core.constrain(np.ascontiguousarray(points, dtype=np.float64))
        return self.split(theta)

    def start(self, given: Mapping[str, Any]) -> np.ndarray:
        """The coordinates of a point; a parameter without a value begins where its coordinates are 0."""
        unknown = [name for name in given if name not in self.shapes]
        if unknown:
            raise ValueError(f"init: no parameter is called {unknown[0]!r}; there are {', '.join(self.shapes)}")
        parts = []
        for (name, domain), free in zip(self.domains.items(), self.free):
            if name not in given:
                parts.append(np.zeros(free.size))
                continue
            value = np.asarray(given[name], dtype=np.float64)
            if value.shape != self.shapes[name]:
                raise ValueError(f"init: {name} has shape {value.shape}, expected {self.shapes[name]}")
            parts.append(Layout({name: domain}).core.unconstrain(value.ravel()))
        return np.concatenate(parts)


class ConstrainedModel(ScaledModel):
    """A model over parameters with domains."""

    __slots__ = ("layout",)

    def __init__(self, evaluate: Callable[[np.ndarray], tuple[Any, Any]], layout: Layout, mu: Any, smoothness: Any) -> None:
        """evaluate: from the parameters' numbers (n, numbers) to log densities (n,) and their slopes (n, numbers)."""

        def density(points: np.ndarray) -> tuple[Any, np.ndarray]:
            theta, volumes = layout.core.constrain(points)
            theta.flags.writeable = False  # The gradient is computed from it after the call.
            values, slopes = evaluate(theta)
            values = np.asarray(values)
            if values.shape != volumes.shape:
                raise ValueError(f"the function returned a log density of shape {values.shape}, expected {volumes.shape}")
            return values + volumes, layout.core.pull_back(points, theta, np.ascontiguousarray(slopes, dtype=np.float64))

        names = [name for v in layout.free for name in element_names(v)]
        box = black_box(density, layout.coordinates, names=names, mu=mu, smoothness=smoothness, variables=layout.free)
        variables = tuple(variable(name, shape) for name, shape in layout.shapes.items())
        unchanged = frozenset(name for name, domain in layout.domains.items() if domain.kind == "real")
        super().__init__(box, UserScale(layout, variables, unchanged))
        self.layout = layout

    def _start(self, init: Any) -> np.ndarray:
        return self.layout.start(init) if isinstance(init, Mapping) else super()._start(init)


def of_function(fn: Callable[[Any], Any], domains: Domains, batched: bool, mu: Any, smoothness: Any) -> ConstrainedModel:
    """A model from a function of parameters by name to its log density and the gradient by name."""
    layout = Layout(domains)

    def evaluate(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if batched:
            values, gradient = _pair(fn(layout.split(theta)))
            return values, layout.join(gradient, len(theta))
        found = [_pair(fn(layout.split(row))) for row in theta]
        one = lambda g: {k: np.asarray(v)[None] for k, v in g.items()} if isinstance(g, Mapping) else g  # noqa: E731
        values = np.array([_number(value) for value, _ in found])
        return values, np.concatenate([layout.join(one(gradient), 1) for _, gradient in found])

    return ConstrainedModel(evaluate, layout, mu, smoothness)


def _pair(found: Any) -> tuple[Any, Any]:
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise TypeError(f"the function returned {type(found).__name__}, expected a pair (log density, gradient)")
    return found[0], found[1]


def _number(value: Any) -> float:
    if np.shape(value) != ():
        raise ValueError(f"the function returned a log density of shape {np.shape(value)}, expected ()")
    return float(value)


def _count(shape: Sequence[int]) -> int:
    return int(np.prod(shape, dtype=int))
