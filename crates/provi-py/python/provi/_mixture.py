"""Mixtures of Gaussians by boosting: a recipe for densities that are not log-concave. Nothing is proved about them."""

from __future__ import annotations

import json
import warnings
from html import escape
from typing import Any, Mapping, Optional, Sequence

import numpy as np

from . import _data, _provi
from ._certificate import Estimates, Trust, TrustWarning
from ._fit import Transform, Variable, _one_vector
from ._model import Model
from ._progress import Progress, Watcher
from ._scale import ScaledModel, UserScale, element_names
from ._table import Table

_SAID = "Unproven: a mixture of Gaussians by boosting; every number is an estimate."


def mixture(
    model: Model,
    *,
    components: int = 8,
    evaluations: Optional[int] = None,
    seed: Optional[int] = None,
    init: Any = None,
    threads: Optional[int] = None,
    time_limit: Optional[float] = None,
    progress: Progress = None,
) -> MixtureFit:
    """Fits a mixture of Gaussians to a model whose posterior is not log-concave: several modes, a ring, a curved ridge.

    The first component is the Gaussian of :meth:`Model.fit`. Further ones are added where the density exceeds the mixture, as long as the
    ELBO rises beyond its noise; see `docs/guide/mixtures.md`. Nothing is proved: the answer has a verdict, and estimates with standard errors.

    model: any model, such as those of :func:`black_box`, :func:`from_jax` and :func:`from_stan`, with or without domains.
    components: the most components, 1 to 64.
    evaluations: the most evaluations of the log density, those of the estimates not counted; by default 120 000 and 600 for each coordinate. The
        search ends before if its ELBO no longer rises.
    seed: the seed of the random draws; the same seed gives the same bits on any number of threads.
    init: where the search begins.
    threads: how many to use, instead of all.
    time_limit: seconds after which the run stops and keeps the mixture so far. Ctrl-C does the same.
    progress: a bar on standard error or in the notebook, or a function ``f(step, steps, elbo, gap)``.

    >>> import numpy as np, provi
    >>> def density(z):                                     # 0.3 N(-4, 1) + 0.7 N(4, 1)
    ...     logs = np.stack([np.log(0.3) - (z[:, 0] + 4)**2 / 2, np.log(0.7) - (z[:, 0] - 4)**2 / 2])
    ...     total = np.logaddexp(*logs)
    ...     part = np.exp(logs - total)
    ...     return total, -(part[0] * (z[:, 0] + 4) + part[1] * (z[:, 0] - 4))[:, None]
    >>> fit = provi.mixture(provi.black_box(density, 1), progress=False)
    >>> np.round(fit.weights, 2), fit.verdict
    (array([0.7, 0.3]), 'good')
    """
    if not isinstance(getattr(model, "_core", None), _provi.Model):
        raise TypeError(f"mixture takes a model, such as provi.black_box(fn, dim), not a {type(model).__name__}")
    components = _data.whole(components, "components")
    if components is None:
        raise TypeError("components = None; must be a whole number")
    start = None if init is None else model._start(init)
    options = {"evaluations": evaluations, "seed": seed, "threads": threads, "time_limit": time_limit}
    with Watcher(progress) as observer:
        core, record = _provi.boost(model._core, components, options, start, observer)
    scale = model.scale if isinstance(model, ScaledModel) else None
    fit = MixtureFit(core, json.loads(record), variables=model.variables, transform=model.transform, scale=scale, attrs=model.attrs)
    if not fit.trust.usable:
        warnings.warn(f"Trust: {fit.trust.line}", TrustWarning, stacklevel=2)
    return fit


class MixtureFit:
    """A mixture of Gaussians, ``sum(weights[k] * N(means[k], covs[k]))``, made by :func:`mixture`; nothing is proved about it.

    Numbers as ``means`` and ``covs`` are in the coordinates of the model, unconstrained if it has domains. :meth:`summary`, :meth:`draws` and
    :meth:`to_arviz` are on the scale of its parameters.
    """

    __slots__ = ("__weakref__", "_core", "_record", "attrs", "scale", "transform", "variables")

    def __init__(
        self,
        core: Any,
        record: Mapping[str, Any],
        *,
        variables: Optional[Sequence[Variable]] = None,
        transform: Optional[Transform] = None,
        scale: Optional[UserScale] = None,
        attrs: Optional[Mapping[str, Any]] = None,
    ) -> None:
        self._core = core
        self._record = dict(record)
        self.variables = scale.variables if scale else tuple(variables or _one_vector(record["names"]))
        self.transform = transform
        self.scale = scale
        self.attrs = dict(attrs or {})

    @property
    def names(self) -> list[str]:
        """A name for each coordinate."""
        return list(self._record["names"])

    @property
    def dim(self) -> int:
        """The number of coordinates."""
        return len(self._record["names"])

    @property
    def components(self) -> int:
        """The number of components."""
        return len(self.weights)

    @property
    def weights(self) -> np.ndarray:
        """The weights of the components, (k,), the largest first."""
        return self._core.weights()

    @property
    def means(self) -> np.ndarray:
        """Their means, (k, d)."""
        return self._core.means()

    @property
    def covs(self) -> np.ndarray:
        """Their covariances, (k, d, d)."""
        return self._core.covariances()

    @property
    def mean(self) -> np.ndarray:
        """The mean of the mixture, (d,)."""
        return self._core.mean()

    @property
    def sd(self) -> np.ndarray:
        """The standard deviations of the mixture, (d,)."""
        return self._core.sd()

    @property
    def cov(self) -> np.ndarray:
        """The covariance of the mixture, (d, d)."""
        return self._core.cov()

    @property
    def elbo(self) -> float:
        """The ELBO, estimated from draws that had no part in the search; NaN if there was no time for them."""
        return _or_nan(self._record["elbo"])

    @property
    def elbo_error(self) -> float:
        """Its standard error."""
        return _or_nan(self._record["elbo_standard_error"])

    @property
    def estimates(self) -> Estimates:
        """The evidence, the KL and k̂, by importance sampling from the mixture."""
        return Estimates(**self._record["estimates"])

    @property
    def trust(self) -> Trust:
        """How far to trust the answer."""
        return Trust._from(self._record["trust"], self._record["verdict"])

    @property
    def verdict(self) -> Optional[str]:
        """``"good"``, ``"fair"`` or ``"do not use"``; see :attr:`trust`."""
        return self.trust.verdict

    @property
    def khat(self) -> Optional[float]:
        """k̂ of the importance weights."""
        return self._record["estimates"]["pareto_k"]

    @property
    def rounds(self) -> list[dict[str, Any]]:
        """What happened when each component was tried: the rise of the ELBO, its standard error, and whether the component was kept."""
        return [dict(found) for found in self._record["rounds"]]

    @property
    def ending(self) -> str:
        """Why the search ended."""
        return self._record["ending"]

    @property
    def stopped_early(self) -> bool:
        """Whether the run was stopped before its end."""
        return self._record["stopped_early"]

    @property
    def gradient_evaluations(self) -> int:
        """Evaluations of the log density with its gradient, those of the estimates not counted."""
        return self._record["gradient_evaluations"]

    @property
    def seed(self) -> int:
        return self._record["seed"]

    @property
    def seconds(self) -> float:
        return self._record["seconds"]

    def log_density(self, z: Any) -> np.ndarray:
        """log q at points (n, d)."""
        z = np.ascontiguousarray(z, dtype=np.float64)
        if z.ndim != 2:
            raise ValueError(f"z has shape {z.shape}, expected (points, {self.dim})")
        return self._core.log_density(z)

    def quantile(self, levels: Any) -> np.ndarray:
        """The quantiles of each coordinate at these levels, (d, levels); (d,) for one level."""
        given = np.atleast_1d(np.asarray(levels, dtype=np.float64))
        found = self._core.quantiles([float(level) for level in given])
        return found[:, 0] if np.ndim(levels) == 0 else found

    def sample(self, n: int, seed: Optional[int] = None, *, weighted: Any = None) -> np.ndarray:
        """Independent draws (n, d) in the coordinates of the fit; the fit's own seed if none is given.

        weighted: the model that was fitted: draws of the mixture resampled in proportion to p/q, Pareto smoothed. They are better where
            the verdict is "fair". Weights whose tail is too heavy are refused.
        """
        n = _data.whole(n, "n") or 0
        seed = self.seed if seed is None else seed
        if weighted is None:
            return self._core.sample(n, seed)
        if not isinstance(getattr(weighted, "_core", None), _provi.Model):
            raise TypeError("weighted takes the model that was fitted, such as provi.black_box(fn, dim)")
        pool = self._core.sample(max(4 * n, 4000), seed)
        ratios = weighted.log_density(pool)[0] - self.log_density(pool)
        chosen, _ = _provi.resampled(np.ascontiguousarray(ratios), n, seed)
        return pool[chosen]

    def draws(self, n: int, seed: Optional[int] = None, *, weighted: Any = None) -> dict[str, np.ndarray]:
        """Draws by parameter, arrays (n, …), on the scale of the model."""
        return self._by_variable(self.sample(n, seed, weighted=weighted))

    def summary(self, level: Optional[float] = None, *, weighted: Any = None) -> Table:
        """Mean, sd, median and interval of each coordinate under the mixture; of a model with a scale of its own, and with ``weighted`` (the
        model that was fitted), from draws."""
        tail = 0.5 * (1.0 - _provi.level(level))
        levels = [tail, 0.5, 1.0 - tail]
        if weighted is None and self.scale is None and self.transform is None:
            names, mean, sd, bounds = self.names, self.mean, self.sd, self._core.quantiles(levels).T
            how = ""
        else:
            count = self._usual()
            found = self.draws(count, weighted=weighted)
            layout = {v.name: v for v in self.variables}
            names = [name for key, x in found.items() for name in _element_names(key, x, layout)]
            values = np.concatenate([np.asarray(x, dtype=np.float64).reshape(count, -1) for x in found.values()], axis=1)
            mean, sd, bounds = values.mean(axis=0), values.std(axis=0, ddof=1), np.quantile(values, levels, axis=0)
            how = f"\nFrom {count:,} draws{' with importance weights' if weighted is not None else ''}."
        columns = {"mean": mean, "sd": sd, "lower": bounds[0], "median": bounds[1], "upper": bounds[2]}
        return Table(names, columns, header=f"Trust: {self.trust.line}", footer=f"{_SAID}{how}\n{self._footer()}")

    def to_arviz(
        self,
        draws: Optional[int] = None,
        chains: Optional[int] = None,
        seed: Optional[int] = None,
        *,
        weighted: Any = None,
    ) -> Any:
        """An ``InferenceData`` (ArviZ 0.x) or a ``DataTree`` (ArviZ 1.x) with independent draws of the parameters, under their dimensions."""
        from ._arviz import groups_of, packed

        usual_chains, usual_draws = self._core.usual_draws()
        chains, draws = chains or usual_chains, draws or usual_draws
        points = self.sample(chains * draws, seed, weighted=weighted)
        law = "psis" if weighted is not None else "boosted"
        attrs = {
            "provi_seed": self.seed if seed is None else seed,
            "provi_draws": law,
            "provi_draws_note": "independent draws of a mixture of Gaussians, about which nothing is proved",
            "provi_verdict": self.trust.line,
            **{f"provi_{key}": value for key, value in self.attrs.items()},
        }
        layout = {variable.name: variable for variable in self.variables}
        return packed(groups_of(self._by_variable(points), layout, self.log_density(points), chains, draws, attrs), attrs)

    def _usual(self) -> int:
        chains, draws = self._core.usual_draws()
        return chains * draws

    def _by_variable(self, points: np.ndarray) -> dict[str, np.ndarray]:
        transform = self.scale.transform if self.scale else self.transform
        if transform is not None:
            found = {name: np.asarray(values) for name, values in transform(points).items()}
            return {v.name: found[v.name] for v in self.variables} if self.scale else found
        out, at = {}, 0
        for variable in self.variables:
            out[variable.name] = points[:, at : at + variable.size].reshape(len(points), *variable.shape)
            at += variable.size
        return out

    def _footer(self) -> str:
        early = ", stopped early" if self.stopped_early else ""
        e = self.estimates
        lines = [f"ELBO {self.elbo:.3f} ± {self.elbo_error:.1g}"]
        if e.log_evidence is not None and e.standard_error is not None:
            lines[0] += f", log evidence {e.log_evidence:.3f} ± {e.standard_error:.1g}"
        weights = ", ".join(f"{w:.3f}" for w in self.weights)
        lines.append(f"{self.components} components with weights {weights}{early}, seed {self.seed}: {self.ending}.")
        return "\n".join(lines)

    def __repr__(self) -> str:
        words = [f"trust={self.verdict or 'unknown'}", f"components={self.components}", f"dim={self.dim}", f"elbo={self.elbo:.4f}"]
        return f"MixtureFit({', '.join(words)}{', stopped early' if self.stopped_early else ''})"

    def _repr_html_(self) -> str:
        return f"<p><code>{escape(repr(self))}</code></p>{self.summary()._repr_html_()}"

    def __reduce__(self) -> Any:
        if self.scale is not None and not getattr(self.scale.transform, "portable", False):
            raise TypeError("the way back to this model's own scale cannot be pickled; keep fit.draws(n), or fit.weights, fit.means and fit.covs")
        state = (self.weights, self.means, self._core.factors())
        return _restore, (state, self._record, self.variables, self.transform, self.scale, self.attrs)


def _restore(state: tuple[Any, ...], record: Any, variables: Any, transform: Any, scale: Any, attrs: Any) -> MixtureFit:
    return MixtureFit(_provi.Mixture(*state), record, variables=variables, transform=transform, scale=scale, attrs=attrs)


def _element_names(name: str, values: np.ndarray, layout: Mapping[str, Variable]) -> list[str]:
    known = layout.get(name)
    if known is not None and known.shape == values.shape[1:]:
        return element_names(known)
    return [f"{name}[{','.join(map(str, at))}]" for at in np.ndindex(values.shape[1:])] if values.ndim > 1 else [name]


def _or_nan(value: Optional[float]) -> float:
    return float("nan") if value is None else value
