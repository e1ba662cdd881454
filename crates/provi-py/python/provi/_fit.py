"""An answer: a Gaussian, what is proved about it, and how it was reached."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from html import escape
from typing import Any, Callable, Mapping, Optional, Sequence, Union

import numpy as np

from . import _data, _provi
from ._loo import Loo
from ._certificate import Certificate, Estimates, Functional, PosteriorMoments, Promise, Trust, bound_text
from ._nuts import NutsStart
from ._plot import Plots
from ._table import Table

Transform = Callable[[np.ndarray], Mapping[str, np.ndarray]]


@dataclass(frozen=True)
class Variable:
    """Some coordinates of a fit under one name, with a label for each position.

    ``dims`` names its axes and ``coords`` has the labels of each; without axes it is one number.
    """

    name: str
    dims: tuple[str, ...] = ()
    coords: tuple[tuple[str, ...], ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(labels) for labels in self.coords)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=int))


class Fit(Plots):
    """q = N(mean, cov), in the coordinates of the model, with its certificate.

    Nothing in it refers to the model: it can be pickled, sent and kept. If the model has a transform to its user's
    own scale, :meth:`draws` and :meth:`to_arviz` are on that scale, everything else in the coordinates.

    >>> import numpy as np, provi
    >>> X = np.array([[1.0, 0.5], [1.0, -1.5], [1.0, 2.0], [1.0, 0.1], [1.0, -0.4]])
    >>> fit = provi.logistic(X, [1, 0, 1, 0, 1], names=["one", "dose"]).fit(seed=1, progress=False)
    >>> fit.mean.shape, fit.cov.shape, fit.sample(100).shape
    ((2,), (2, 2), (100, 2))
    >>> fit.functional("dose - one").mean_error.bound is not None
    True
    >>> sorted(fit.trace)
    ['elbo', 'gamma', 'gap', 'step']
    """

    __slots__ = ("__weakref__", "_core", "_record", "attrs", "transform", "variables")

    def __init__(
        self,
        core: Any,
        *,
        variables: Optional[Sequence[Variable]] = None,
        transform: Optional[Transform] = None,
        attrs: Optional[Mapping[str, Any]] = None,
    ) -> None:
        self._core = core
        self._record: dict[str, Any] = json.loads(core.record())
        self.variables: tuple[Variable, ...] = tuple(variables) if variables else _one_vector(core.names)
        """The coordinates under their names, in order."""
        self.transform = transform
        """From draws (n, d) to the user's own scale: a dict of arrays (n, …)."""
        self.attrs: dict[str, Any] = dict(attrs or {})
        """Facts about the model, for ArviZ."""
        found = sum(variable.size for variable in self.variables)
        if found != len(self.names):
            raise ValueError(f"the variables have {found} coordinates, the fit has {len(self.names)}")

    @property
    def names(self) -> list[str]:
        """A name for each coordinate."""
        return list(self._record["names"])

    @property
    def dim(self) -> int:
        return len(self._record["names"])

    @property
    def mean(self) -> np.ndarray:
        return self._core.mean

    @property
    def sd(self) -> np.ndarray:
        """The standard deviation of each coordinate."""
        return self._core.sd

    @property
    def cov(self) -> np.ndarray:
        return self._core.cov

    @property
    def factor(self) -> np.ndarray:
        """C, lower triangular, with ``cov = C @ C.T``."""
        return self._core.factor

    @property
    def elbo(self) -> float:
        """The evidence lower bound in nats, with every constant of the model."""
        return self._core.elbo[0]

    @property
    def elbo_error(self) -> float:
        """A bound of its error if ``elbo_exact``, a standard error if not."""
        return self._core.elbo[1]

    @property
    def elbo_exact(self) -> bool:
        """Whether it is computed by quadrature or a closed form, rather than from draws."""
        return self._core.elbo[2]

    @property
    def certificate(self) -> Certificate:
        """What is proved; of a black box, its text begins with the verdict."""
        return Certificate._from(self._record["certificate"], "\n".join([*self._verdict_line(), self._core.describe()]))

    @property
    def log_evidence(self) -> tuple[Optional[float], Optional[float]]:
        """Proved lower and upper bound of log p(x); ``None`` for a side without a bound."""
        evidence = self._record["certificate"]["evidence"]
        return evidence["lower"], evidence["upper"]

    @property
    def estimates(self) -> Estimates:
        """Evidence, KL and k̂ by importance sampling: not bounds."""
        return Estimates(**self._record["estimates"])

    @property
    def trust(self) -> Optional[Trust]:
        """How far to trust the answer of a black box, by estimates or, where its declared curvature proves enough, by that;
        ``None`` for the built-in models, whose certificate speaks."""
        found = self._record["trust"]
        return None if found is None else Trust._from(found, self._record["verdict"])

    @property
    def verdict(self) -> Optional[str]:
        """``"good"``, ``"fair"`` or ``"do not use"``; see :attr:`trust`."""
        return None if self.trust is None else self.trust.verdict

    @property
    def posterior(self) -> Optional[PosteriorMoments]:
        """The posterior's own means and standard deviations with their proved errors; ``None`` where they were not measured.
        ``mean`` and ``sd`` are those of the Gaussian."""
        found = self._record["posterior"]
        return None if found is None else PosteriorMoments._from(found)

    @property
    def khat(self) -> Optional[float]:
        """k̂ of the importance weights."""
        return self._record["estimates"]["pareto_k"]

    @property
    def model(self) -> dict[str, Any]:
        """The model and its data, as in a ``fit.json``."""
        return dict(self._record["model"])

    @property
    def prior(self) -> list[str]:
        """The prior as text, on the scale of the data, that of scales which are integrated over last; empty for a model that has its
        own."""
        scales = json.loads(self._core.scales(None))
        return [*self._record["model"].get("prior", []), *(f"{row['prior']} on {row['name']}" for row in scales)]

    @property
    def conflicts(self) -> list[str]:
        """Strong conflicts between prior and data, one sentence each; also printed above the table of :meth:`summary`."""
        return list(_provi.conflicts(self._core))

    @property
    def notes(self) -> list[str]:
        """What the answer is conditional on, and warnings about the data, one sentence each."""
        return list(_provi.notes(self._core))

    @property
    def promise(self) -> Promise:
        """The bound promised before the first draw, if any."""
        return Promise(**self._record["promise"])

    @property
    def trace(self) -> dict[str, np.ndarray]:
        """``step``, ``gamma``, ``elbo`` and ``gap`` along the run; the ELBO is noisy where it is drawn, and ``gap`` is
        NaN where it is not proved."""
        return self._core.trace

    @property
    def method(self) -> str:
        return self._record["method"]

    @property
    def family_of_q(self) -> str:
        """The family in which the Gaussian was sought; ``"full"`` for all of them."""
        return self._record["family_of_q"] or "full"

    @property
    def steps(self) -> int:
        return self._record["steps"]

    @property
    def stopped_early(self) -> bool:
        """Whether ctrl-C or the time limit ended the run."""
        return self._record["stopped_early"]

    @property
    def gradient_evaluations(self) -> int:
        return self._record["gradient_evaluations"]

    @property
    def seed(self) -> int:
        return self._record["seed"]

    @property
    def seconds(self) -> float:
        return self._record["seconds"]

    def sample(
        self,
        n: int,
        seed: Optional[int] = None,
        *,
        exact: Any = None,
        tv: Optional[float] = None,
        weighted: Any = None,
        device: Optional[str] = None,
    ) -> np.ndarray:
        """Independent draws (n, d) in the coordinates of the fit; the fit's own seed if none is given.

        weighted: the model that was fitted: draws of q resampled in proportion to p/q, Pareto smoothed. They are closer to the
            posterior where q is somewhat off, which a verdict of "fair" says; nothing is proved of them. Weights whose tail is too
            heavy are refused.

        exact: draws of the posterior itself in place of q, by rejection: the model that was fitted or, of a formula, its data.
            A log density of your own has them where ``mu`` and ``smoothness`` bound its curvature. Where a draw would take too many proposals they are refused with that number. Ctrl-C keeps those that there are.
        tv: where exact draws cost too much, allow draws whose law is proved to be within this total variation of the posterior.
        device: where exact draws are judged, ``"auto"``, ``"cpu"`` or ``"cuda:0"``, as in :meth:`Model.fit`.

        >>> import numpy as np, provi
        >>> X = np.array([[1.0, 0.5], [1.0, -1.5], [1.0, 2.0], [1.0, 0.1], [1.0, -0.4]])
        >>> model = provi.logistic(X, [1, 0, 1, 0, 1])
        >>> fit = model.fit(seed=1, progress=False)
        >>> fit.sample(1000, exact=model).shape
        (1000, 2)
        """
        return self._drawn(n, seed, exact, tv, weighted, device)[0]

    def _drawn(
        self,
        n: int,
        seed: Optional[int],
        exact: Any,
        tv: Optional[float],
        weighted: Any = None,
        device: Optional[str] = None,
    ) -> tuple[np.ndarray, str, Optional[float], Optional[str]]:
        """Draws, what they are draws of, what is proved of its total variation from the posterior, and what that rests on."""
        count, seed = _data.whole(n, "n"), _data.whole(seed, "seed")
        if weighted is not None:
            if exact is not None or tv is not None:
                raise ValueError("weighted draws are neither exact nor of a proved total variation; leave out exact and tv")
            return self._weighted(weighted, count, seed), "psis", None, None
        if exact is None:
            if tv is not None:
                raise ValueError("tv goes with exact: draws of the fitted Gaussian have the certificate's own bound")
            if self._record["integrated"]:
                return self._core.sample(count, seed), "mixture", None, None
            return self._core.sample(count, seed), "gaussian", self.certificate.tv.bound, None
        points, law, bound, note = self._exact(exact, count, seed, tv, device)
        if len(points) < count:
            warnings.warn(f"stopped: {len(points)} of {count} draws were made", stacklevel=3)
        return points, law, bound, note

    def _weighted(self, model: Any, count: int, seed: Optional[int]) -> np.ndarray:
        if not isinstance(getattr(model, "_core", None), _provi.Model):
            raise TypeError("weighted takes the model that was fitted, such as provi.black_box(fn, dim)")
        seed = self.seed if seed is None else seed
        pool = self._core.sample(max(4 * count, 4000), seed)
        ratios = model.log_density(pool)[0] - self.log_density(pool)
        chosen, _ = _provi.resampled(np.ascontiguousarray(ratios), count, seed)
        return pool[chosen]

    def _exact(
        self, exact: Any, count: int, seed: Optional[int], tv: Optional[float], device: Optional[str] = None
    ) -> tuple[np.ndarray, str, Optional[float], Optional[str]]:
        core = getattr(exact, "_core", None)
        if not isinstance(core, _provi.Model):
            raise TypeError("exact takes the model that was fitted, such as provi.logistic(X, y)")
        return _provi.exact_of_model(self._core, core, count, seed, tv, device)

    def draws(
        self,
        n: int,
        seed: Optional[int] = None,
        *,
        exact: Any = None,
        tv: Optional[float] = None,
        weighted: Any = None,
        device: Optional[str] = None,
    ) -> dict[str, np.ndarray]:
        """Independent draws by the names of the variables, on the user's own scale: arrays (n, …); as in :meth:`sample`."""
        return self._by_variable(self.sample(n, seed, exact=exact, tv=tv, weighted=weighted, device=device))

    def nuts_start(self, chains: int = 4, seed: Optional[int] = None) -> NutsStart:
        """Starting points and a mass matrix for NUTS, in NumPyro, PyMC, nutpie or Stan.

        >>> import numpy as np, provi
        >>> X = np.array([[1.0, 0.5], [1.0, -1.5], [1.0, 2.0], [1.0, 0.1], [1.0, -0.4]])
        >>> start = provi.logistic(X, [1, 0, 1, 0, 1]).fit(seed=1, progress=False).nuts_start(chains=2)
        >>> start.points.shape, start.inverse_mass_matrix.shape
        ((2, 2), (2, 2))
        """
        points = self.sample(chains, seed)
        return NutsStart(points, self.cov, self._by_variable(points), [(v.name, v.shape) for v in self.variables])

    def log_density(self, z: Any) -> np.ndarray:
        """log q at points (n, d)."""
        return self._core.log_density(np.ascontiguousarray(z, dtype=np.float64))

    def functional(
        self, v: Union[str, Mapping[str, float], Sequence[float], np.ndarray], level: Optional[float] = None
    ) -> Functional:
        """A linear combination of the coordinates with its certified errors.

        ``v`` is an expression in the names (``"a - b"``, ``"0.5*a + b"``), weights by name, or a vector.
        """
        if isinstance(v, str):
            weights = self._core.weights(v)
        elif isinstance(v, Mapping):
            weights = np.zeros(self.dim)
            names = {name: i for i, name in enumerate(self.names)}
            for name, weight in v.items():
                if name not in names:
                    raise KeyError(f"no coordinate is called {name!r}; there are {', '.join(self.names)}")
                weights[names[name]] = weight
        else:
            weights = np.ascontiguousarray(v, dtype=np.float64)
        found, interval, digits = self._core.functional(weights, level)
        return Functional._from(json.loads(found), interval, digits)

    contrast = functional

    def summary(self, level: Optional[float] = None) -> Table:
        """A row for each coordinate: mean, sd, interval, sign, and proved bounds of their errors."""
        rows = [Functional._from(json.loads(f), i, d) for f, i, d in self._core.coordinates(level)]
        table = self._rows(rows, self.names, self._footer(), "\n".join([*self._verdict_line(), *self.conflicts]))
        return table.extended(self.scales(level))

    def scales(self, level: Optional[float] = None) -> Table:
        """A row for each scale or correlation that is integrated over, ``sigma``, ``sd(group:effect)`` or ``cor(…)``: mean, sd, interval and median. Empty if there
        is none."""
        rows = json.loads(self._core.scales(level))
        columns = {name: np.array([row[name] for row in rows]) for name in ("mean", "sd", "lower", "upper", "median")}
        return Table([row["name"] for row in rows], columns)

    def sample_scales(self, n: int, seed: Optional[int] = None) -> dict[str, np.ndarray]:
        """Draws of the scales that are integrated over, by their names. Those of :meth:`sample` with the same seed belong to them."""
        drawn = self._core.sample_scales(_data.whole(n, "n"), _data.whole(seed, "seed"))
        names = [row["name"] for row in json.loads(self._core.scales(None))]
        return {name: drawn[:, k] for k, name in enumerate(names)}

    def _verdict_line(self) -> list[str]:
        trust = self.trust
        return [] if trust is None else [f"Trust: {trust.line}"]

    def _rows(self, rows: Sequence[Functional], names: Sequence[str], footer: str = "", header: str = "") -> Table:
        pick = lambda get: np.array([_or_nan(get(row)) for row in rows])  # noqa: E731
        columns = {
            "mean": pick(lambda r: r.mean),
            "mean_error": pick(lambda r: r.mean_error.bound),
            "sd": pick(lambda r: r.sd),
            "sd_error": pick(lambda r: r.sd_error.bound),
            "lower": pick(lambda r: r.interval[0]),
            "upper": pick(lambda r: r.interval[1]),
            "p_positive": pick(lambda r: r.positive.value),
            "p_error": pick(lambda r: r.positive.error.bound),
        }
        errors = [name for name in columns if name.endswith("_error")]
        return Table(names, columns, bounds=errors, probabilities=["p_positive"], footer=footer, header=header)

    def loo(
        self,
        data: Any,
        *,
        method: Optional[str] = None,
        certify: bool = False,
        draws: Optional[int] = None,
        seed: Optional[int] = None,
    ) -> Loo:
        """Leave-one-out cross-validation: how well each row is predicted from the others.

        data: the model that was fitted or, of a formula, its data.
        method: ``"refit"`` solves the model again without each row; ``"psis"`` reweights draws of the posterior itself (of the fitted
            Gaussian, if those cost too much) by Pareto smoothed importance ratios, and refits rows with k̂ above 0.7. By default
            ``"refit"`` if that takes about ten seconds or less.
        certify: audit every refit, for a proved lower bound of elpd beside the upper one; that takes about as long as an audit of the
            fit for each row.
        draws, seed: of ``"psis"``, WAIC, audits and the randomised LOO-PIT of counts and labels; 4000 draws and the fit's own seed by
            default.
        """
        asked = {"method": method, "certify": certify, "draws": _data.whole(draws, "draws"), "seed": _data.whole(seed, "seed")}
        return Loo(*self._left_out(data, {name: value for name, value in asked.items() if value is not None}))

    def _left_out(self, model: Any, asked: dict[str, Any]) -> tuple[str, list[str]]:
        return _provi.loo_of_model(self._core, _fitted_model(model, "loo"), asked)

    def _likelihoods(self, model: Any, points: np.ndarray, scales: Optional[np.ndarray]) -> np.ndarray:
        return _provi.likelihoods_of_model(_fitted_model(model, "log_likelihood"), points, scales)

    def to_arviz(
        self,
        draws: Optional[int] = None,
        chains: Optional[int] = None,
        seed: Optional[int] = None,
        *,
        exact: Any = None,
        tv: Optional[float] = None,
        weighted: Any = None,
        posterior_predictive: Any = None,
        log_likelihood: Any = None,
    ) -> Any:
        """An ``InferenceData`` (ArviZ 0.x) or a ``DataTree`` (ArviZ 1.x) with independent draws of the answer or, with ``exact`` or
        ``weighted``, of the posterior itself or towards it as in :meth:`sample`; its attributes carry the certificate, and ``provi_draws`` says what was drawn.

        posterior_predictive: a function that replicates the observations, from the draws by variable and a
        ``numpy.random.Generator`` to arrays (n, …) by name, for the group ``posterior_predictive``.

        log_likelihood: the model that was fitted or, of a formula, its data, for the group ``log_likelihood`` that ``az.loo`` and
        ``az.compare`` read: log p(y | draw) of every row.
        """
        from ._arviz import to_arviz

        return to_arviz(self, draws, chains, seed, exact, tv, weighted, posterior_predictive, log_likelihood)

    def save(self, path: Any, force: bool = False) -> Any:
        """Writes ``fit.json`` into the folder ``path``, where the command ``provi`` reads it too; returns the path of the
        file. A folder that holds a fit is refused unless ``force``."""
        return self._core.save(path, force, None)

    @classmethod
    def load(cls, path: Any) -> Fit:
        """A fit from its folder or its ``fit.json``, written by Python or by the command."""
        return cls(_provi.Answer.load(path))

    def _points(self, n: int) -> np.ndarray:
        """Draws of what ``names`` name, a column each."""
        return self.sample(n)

    def _by_variable(self, points: np.ndarray) -> dict[str, np.ndarray]:
        if self.transform is not None:
            return {name: np.asarray(values) for name, values in self.transform(points).items()}
        out, at = {}, 0
        for variable in self.variables:
            out[variable.name] = points[:, at : at + variable.size].reshape(len(points), *variable.shape)
            at += variable.size
        return out

    def _footer(self) -> str:
        early = ", stopped early" if self.stopped_early else ""
        family = "" if self.family_of_q == "full" else f" within {self.family_of_q}"
        steps = f"{self.method}{family}, {self.steps:,} steps{early}, seed {self.seed}"
        said = f"{self.certificate}\n{steps}"
        above = self.conflicts
        return "\n".join([said, *(note for note in self.notes if note not in said and note not in above)])

    def __repr__(self) -> str:
        gap, kl = self.certificate.gap.bound, self.certificate.kl.bound
        words = [] if self.trust is None else [f"trust={self.verdict or 'unknown'}"]
        words += [f"dim={self.dim}", f"elbo={self.elbo:.4f}", f"method={self.method!r}"]
        if self.certificate.family is not None:
            gap = self.certificate.family.gap.bound
            words.append(f"family_of_q={self.family_of_q!r}")
        words += [f"gap≤{bound_text(gap)}"] if gap is not None else []
        words += [f"kl≤{bound_text(kl)}"] if kl is not None else []
        return f"Fit({', '.join(words)}{', stopped early' if self.stopped_early else ''})"

    def _repr_html_(self) -> str:
        return f"<p><code>{escape(repr(self))}</code></p>{self.summary()._repr_html_()}"

    def __reduce__(self) -> Any:
        return _restore, (type(self), self._core.state(), self.variables, self.transform, self.attrs)


def _restore(kind: type, state: tuple[Any, ...], variables: Any, transform: Any, attrs: Any) -> Fit:
    return kind(_provi.Answer.restore(*state), variables=variables, transform=transform, attrs=attrs)


def _fitted_model(model: Any, what: str) -> Any:
    core = getattr(model, "_core", None)
    if not isinstance(core, _provi.Model):
        raise TypeError(f"{what} takes the model that was fitted, such as provi.logistic(X, y)")
    return core


def _one_vector(names: Sequence[str]) -> tuple[Variable, ...]:
    return (Variable("beta", ("coefficient",), (tuple(names),)),)


def _or_nan(value: Optional[float]) -> float:
    return float("nan") if value is None else value
