"""Answers of location-scale families with another base law than the normal one."""

from __future__ import annotations

import json
from typing import Any, Mapping, Optional, Sequence, Union

import numpy as np

from . import _data, _provi
from ._certificate import Estimates, Promise
from ._domain import Domain
from ._model import Function, Model, _options, black_box
from ._progress import Progress, Watcher
from ._table import Table


class LocationScaleFit:
    """An answer q = law of m + Cu, from :func:`location_scale`: C is lower triangular, the coordinates of u are independent, with mean 0, variance 1 and
    the base law. No certificate speaks of it: what is proved is about Gaussians."""

    __slots__ = ("__weakref__", "_core", "record")

    record: dict[str, Any]
    """Everything, as ``provi location-scale --json`` prints it."""

    def __init__(self, core: Any) -> None:
        self._core = core
        self.record = json.loads(core.record())

    @property
    def base_law(self) -> str:
        """The law of the coordinates of u, such as ``"student-t:8"``."""
        return self.record["base_law"]

    @property
    def names(self) -> list[str]:
        """A name for each coordinate."""
        return list(self.record["names"])

    @property
    def mean(self) -> np.ndarray:
        """m, the mean of q."""
        return np.array(self.record["mean"])

    @property
    def sd(self) -> np.ndarray:
        """The standard deviations of q."""
        return np.array(self.record["sd"])

    @property
    def cov(self) -> np.ndarray:
        """CCᵀ, the covariance of q."""
        return self._core.cov

    @property
    def factor(self) -> np.ndarray:
        """C, lower triangular. Another factor of the same covariance makes another q."""
        rows = self.record["factor"]
        full = np.zeros((len(rows), len(rows)))
        for i, row in enumerate(rows):
            full[i, : i + 1] = row
        return full

    @property
    def elbo(self) -> float:
        """The ELBO, with the entropy of this law."""
        return -self.record["neg_elbo"]

    @property
    def elbo_error(self) -> float:
        """Its standard error."""
        return self.record["neg_elbo_error"]

    @property
    def entropy(self) -> float:
        """The entropy of q."""
        return self.record["entropy"]

    @property
    def promise(self) -> Promise:
        """The bound known before the first draw, on the distance to the best member of the same family; or why there is none."""
        return Promise(**self.record["plan_bound"])

    @property
    def estimates(self) -> Estimates:
        """Evidence, KL and k̂ from weighted draws of q. Not bounds."""
        return Estimates(**self.record["estimates"])

    @property
    def stopped_early(self) -> bool:
        """Whether fewer steps were made than planned."""
        return self.record["stopped_early"]

    def sample(self, n: int, seed: Optional[int] = None) -> np.ndarray:
        """Draws of q, (n, d); a pure function of the seed, which is the run's if none is given."""
        return self._core.sample(_data.whole(n, "n"), None if seed is None else _data.whole(seed, "seed", 2**64 - 1))

    def log_density(self, z: Any) -> np.ndarray:
        """log q at points (n, d); −∞ outside of the support."""
        z = np.ascontiguousarray(z, dtype=np.float64)
        if z.ndim != 2:
            raise ValueError(f"z has shape {z.shape}, expected (points, {len(self.names)})")
        return self._core.log_density(z)

    def summary(self, level: float = 0.95) -> Table:
        """Mean, sd, central interval and probability of being positive of each coordinate of q."""
        rows, draws = self._core.marginals(level)
        mean, sd, low, high, positive = (np.array(column) for column in zip(*rows))
        ends = [f"{round(100 * p, 4):g}%" for p in (0.5 * (1 - level), 0.5 * (1 + level))]
        columns = {"mean": mean, "sd": sd, ends[0]: low, ends[1]: high, "P(>0)": positive}
        footer = f"mean, sd: those of q ({self.base_law}); the rest: of {draws:,} draws of q; nothing is proved about the posterior"
        footer = "\n".join([footer, *self.record["model"].get("warnings", [])])
        return Table(self.names, columns, probabilities=["P(>0)"], footer=footer)

    def __reduce__(self) -> Any:
        return _restored, (json.dumps(self.record),)

    def __repr__(self) -> str:
        early = ", stopped early" if self.stopped_early else ""
        return f"LocationScaleFit({self.base_law}, dim={len(self.names)}, elbo={self.elbo:.4f} ± {self.elbo_error:.1g}{early}; nothing is certified)"


def _restored(record: str) -> LocationScaleFit:
    return LocationScaleFit(_provi.Located.restore(record))


def location_scale(
    model: Union[Model, Function],
    dim: Union[None, int, Mapping[str, Domain]] = None,
    *,
    base_law: str,
    method: Optional[str] = None,
    distance: Optional[float] = None,
    steps: Optional[int] = None,
    draws: Optional[int] = None,
    coupling: Optional[str] = None,
    coordinates: Optional[str] = None,
    subsample: Optional[int] = None,
    sampling: Optional[str] = None,
    family_of_q: Optional[str] = None,
    init: Any = None,
    seed: Optional[int] = None,
    threads: Optional[int] = None,
    time_limit: Optional[float] = None,
    memory_budget: Union[None, int, str] = None,
    progress: Progress = None,
    batched: bool = True,
    names: Optional[Sequence[str]] = None,
    mu: Any = None,
    smoothness: Any = None,
) -> LocationScaleFit:
    """Seeks the best q = law of m + Cu with another base law than the normal one, by planned steps.

    model, dim, batched, names, mu, smoothness: a model, or a function as in :func:`black_box`. Parameters with domains are sought in their
        unconstrained coordinates, and the answer is about these.
    base_law: ``"student-t:8"`` (more than 4 degrees of freedom), ``"laplace"``, ``"logistic"``, ``"uniform"`` or ``"gaussian"``.
    method: ``"prox-controlled"``, the default where an upper bound of the curvature is known, ``"prox-energy"``, ``"proj-controlled"`` or
        ``"proj-entropy-triangular"``. Where no such bound is known, no method has a theorem: the steps of prox-energy are made, and called unproven.
    distance: plan steps whose expected squared distance to the best member of the family is proved to be at most this; ``.promise`` holds the bound.
    The other options are those of :meth:`Model.fit`. There is no certificate: what is proved of an answer is proved of Gaussians.

    Ctrl-C stops the run and keeps the answer so far, and ``.stopped_early`` says so.

    >>> import provi
    >>> density = lambda z: (-0.5 * (z**2).sum(axis=1), -z)
    >>> fit = provi.location_scale(density, 2, base_law="laplace", mu=1.0, smoothness=1.0, distance=0.05, progress=False)
    >>> fit.promise.value <= 0.05, bool(abs(fit.sd - 1.0).max() < 0.3)
    (True, True)
    """
    if not isinstance(model, Model):
        if dim is None:
            raise TypeError("location_scale(fn, dim) needs the dimension of a function, or its parameters with their domains")
        model = black_box(model, dim, batched=batched, names=names, mu=mu, smoothness=smoothness)
    else:
        if dim is not None and dim != model.dim:
            raise ValueError(f"dim = {dim} was given for a model of dimension {model.dim}")
        given = [word for word, value in {"names": names, "mu": mu, "smoothness": smoothness}.items() if value is not None]
        if given:
            raise TypeError(f"{given[0]} is an argument for a function; a model has its own")
    if not isinstance(base_law, str):
        raise TypeError(f"base_law is a {type(base_law).__name__}, expected a name such as 'student-t:8'")
    options = _options(locals())
    start = None if init is None else model._start(init)
    with Watcher(progress) as observer:
        return LocationScaleFit(_provi.locate(model._core, base_law, options, start, observer))
