"""Models: from data with a likelihood, or from any log density."""

from __future__ import annotations

import warnings
from typing import Any, Callable, Mapping, Optional, Sequence, Union

import numpy as np

from . import _data, _provi
from ._certificate import TrustWarning
from ._domain import Domain
from ._fit import Fit, Transform, Variable
from ._function import CFunction
from ._progress import Progress, Watcher

class Model:
    """A posterior, which can be fitted any number of times. Made by :func:`logistic` and similar functions, or by
    :func:`black_box`."""

    __slots__ = ("__weakref__", "_core", "attrs", "transform", "variables")

    def __init__(
        self,
        core: Any,
        *,
        variables: Optional[Sequence[Variable]] = None,
        transform: Optional[Transform] = None,
        attrs: Optional[Mapping[str, Any]] = None,
    ) -> None:
        self._core = core
        self.variables = tuple(variables) if variables else None
        self.transform = transform
        self.attrs = dict(attrs or {})

    @property
    def dim(self) -> int:
        """The number of coordinates."""
        return self._core.dim

    @property
    def names(self) -> list[str]:
        """A name for each coordinate."""
        return self._core.names

    @property
    def noise_sd(self) -> Optional[float]:
        """The noise of a linear or gamma model: the one given, or the one that maximises the ELBO; ``None`` if it is integrated over."""
        return self._core.noise_sd

    def fit(
        self,
        *,
        accuracy: Optional[float] = None,
        kl: Optional[float] = None,
        table_accuracy: Optional[float] = None,
        seed: Optional[int] = None,
        threads: Optional[int] = None,
        device: Optional[str] = None,
        time_limit: Optional[float] = None,
        method: Optional[str] = None,
        progress: Progress = None,
        init: Any = None,
        starts: Optional[int] = None,
        evaluations: Optional[int] = None,
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
    ) -> Fit:
        """Finds the best Gaussian and certifies it. The library chooses options that are not given.

        accuracy: stop as soon as it is proved that no Gaussian is better by more than this many nats.
        kl: make draws until the answer is proved to be within so many nats of the posterior.
        table_accuracy: make draws until every posterior mean and sd is proved within this part of its sd, such as 0.01.
        seed: the seed of the random draws; the same seed gives the same bits on any number of threads.
        threads: how many to use, instead of all.
        device: where log densities of many draws are taken: ``"auto"``, the default, on a card if there is one and the table is large enough;
            ``"cpu"``; or ``"cuda:0"``, which is refused if it cannot be used. Numbers are the same up to rounding, and the certificate counts it.
        time_limit: seconds after which the run stops and keeps the answer so far.
        method: how the answer is found, by its name in `docs/automatic.md` and `provi explain methods`; or an unproven recipe:
            ``"natural-gradient"``, ``"bures-wasserstein"`` or ``"batch-and-match"``, for black boxes too, and ``"dowg"``.
        progress: a bar on standard error or in the notebook; by default if there is a terminal or notebook. Or a function
            ``f(step, steps, elbo, gap)``.
        init: where the search begins.
        starts: search a black box from this many starts, compare the results and keep the best.
        evaluations: the most evaluations of a black box; by default 20 000 and 100 for each coordinate. The search ends before if
            its ELBO no longer rises.
        distance, steps, draws, coordinates: for methods that plan their steps.
        coupling: how the draws of such a step depend on each other: ``"independent"``, the default, ``"antithetic"``, ``"latin"`` (a Latin
            hypercube) or ``"sobol"`` (scrambled points). A promise counts N of them as N, N/2, N − 1 and 1 independent draws.
        subsample: use this many rows, or terms of a :class:`FiniteSum`, for each draw of such a step instead of all; for
            prox-energy and proj-entropy, whose promise then accounts for the added noise. The certificate is about all rows.
        sampling: how they are drawn, ``"uniform"``, ``"importance"``, or ``"reshuffle"``, which has no promise.
        family_of_q: the Gaussians among which the answer is sought: ``"full"``, the default; ``"meanfield"``, independent coordinates;
            ``"blocks:3,4"``, independent blocks of 3 and 4; ``"arrow:k"``, all tied to the first k and to nothing else; ``"banded:k"``; or
            ``"lowrank:k"``, a diagonal plus a rank of k, a recipe without a theorem about the family. ``certificate.family`` bounds the gap
            to the best of them. Without a method, all but the last need a model with exact expectations.
        failure_probability, audit_draws: options of the certificate.
        memory_budget: bytes that the run may use on top of the data, or a text such as ``"2GiB"``; a run that needs more is refused.
            ``memory`` is its old name.

        Ctrl-C stops the run and keeps the answer so far, and ``fit.stopped_early`` says so; a second one raises.
        """
        options = _options(locals())
        if init is not None:
            init = self._start(init)
        with Watcher(progress) as observer:
            core = _provi.fit(self._core, options, init, observer)
        return _warned(self._answer(core))

    def log_density(
        self, z: Any, out: Optional[tuple[np.ndarray, np.ndarray]] = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """log p(z, x), with every constant, and its gradient at points (n, d); into ``out`` if that is given. A noise that is integrated
        over has no such density of the coefficients alone, and is refused."""
        z = np.ascontiguousarray(z, dtype=np.float64)
        if z.ndim != 2:
            raise ValueError(f"z has shape {z.shape}, expected (points, {self.dim})")
        values, gradients = out if out is not None else (np.empty(len(z)), np.empty_like(z))
        _provi.log_density(self._core, z, values, gradients)
        return values, gradients

    def _start(self, init: Any) -> np.ndarray:
        return _data.vector(init, "init")

    def _answer(self, core: Any) -> Fit:
        return Fit(core, variables=self.variables, transform=self.transform, attrs=self.attrs)

    def __repr__(self) -> str:
        rows = f", rows={self._core.rows:,}" if self._core.rows is not None else ""
        return f"Model({self._core.family}, dim={self.dim}{rows}{', sparse' if self._core.is_sparse else ''})"


def _warned(fit: Any) -> Any:
    """The fit, after a warning if its answer should not be used."""
    trust = fit.trust
    if trust is not None and not trust.usable:
        warnings.warn(f"Trust: {trust.line}", TrustWarning, stacklevel=3)
    return fit


Function = Union[Callable[[np.ndarray], Any], CFunction]


def black_box(
    fn: Function,
    dim: Union[int, Mapping[str, Domain]],
    *,
    batched: bool = True,
    names: Optional[Sequence[str]] = None,
    mu: Any = None,
    smoothness: Any = None,
    variables: Optional[Sequence[Variable]] = None,
    transform: Optional[Transform] = None,
    attrs: Optional[Mapping[str, Any]] = None,
) -> Model:
    """A model from a log density over d = ``dim`` real coordinates.

    ``fn`` maps points (n, d) to log densities (n,) and gradients (n, d), all float64; with ``batched=False`` it maps one
    point (d,) to a number and a gradient (d,). The array that it receives is valid only during the call. A
    :class:`CFunction` runs without the interpreter's lock.

    ``mu`` and ``smoothness`` declare bounds of −∇² log p over all z, as numbers or matrices: a certificate then rests on
    them, says so, and is withdrawn if a draw contradicts them. ``transform`` maps draws (n, d) to the user's own scale.

    ``dim`` can also be a mapping from names to :class:`Domain`: parameters that are positive, bounded, ordered, on a simplex, or a
    matrix. ``fn`` then takes a mapping from the names to arrays (n, …), returns log densities (n,) and a mapping with the gradients, and
    fits are on the scale of the parameters.

    >>> import numpy as np, provi
    >>> def density(z):
    ...     return -0.5 * (z**2).sum(axis=1), -z
    >>> fit = provi.black_box(density, 2, names=["a", "b"], mu=1.0, smoothness=1.0).fit(progress=False)
    >>> bool(abs(fit.sd - 1.0).max() < 1e-6), fit.certificate.kl.provenance
    (True, 'declared')
    """
    if isinstance(dim, Mapping):
        from ._constrained import of_function

        given = {"names": names, "variables": variables, "transform": transform, "attrs": attrs}
        unused = [word for word, value in given.items() if value is not None]
        if unused:
            raise TypeError(f"{unused[0]} has no effect: parameters with domains have names and a scale of their own")
        if isinstance(fn, CFunction):
            raise TypeError("a C function takes free coordinates; give their number, or a Python function of the parameters")
        return of_function(fn, dim, batched, mu, smoothness)
    names = _data.names(names)
    mu, smoothness = _data.curvature(mu, "mu"), _data.curvature(smoothness, "smoothness")
    dim = _data.whole(dim, "dim")
    if isinstance(fn, CFunction):
        core = _provi.Model.native(fn.address, fn.user, fn.thread_safe, fn, dim, names, mu, smoothness)
    else:
        core = _provi.Model.callback(fn, dim, batched, names, mu, smoothness)
    return Model(core, variables=variables, transform=transform, attrs=attrs)


class FiniteSum(Model):
    """A model from a log density that is a sum over data: log p(z) = rest(z) + Σ_n log p_n(z), n = 0 … terms − 1.

    ``fn(z, indices, weights)`` maps points (n, d), indices (b,) and weights (b,) to Σ_j weights[j]·log p_{indices[j]} at each
    point, (n,), and its gradients (n, d). Indices may repeat. The weights contain all scaling: a fit with
    ``subsample=b`` passes b indices with weights that correct for the terms left out; a fit without it passes
    all indices with weights 1. ``rest(z)`` is the prior, or whatever belongs to no datum: values (n,) and gradients (n, d).

    ``mu`` and ``smoothness`` are as in :func:`black_box`, about the whole; ``term_smoothness`` declares a bound of −∇² log p_n
    over all z for each term, or one for all. With these, a plan on a subsample has a promise.

    >>> import numpy as np, provi
    >>> y = np.array([0.3, 1.9, 0.8, 1.2])
    >>> def terms(z, indices, weights):
    ...     miss = y[indices] - z                                       # (n, b)
    ...     return -0.5 * miss**2 @ weights, (miss @ weights)[:, None]
    >>> def prior(z):
    ...     return -0.5 * z[:, 0] ** 2, -z
    >>> model = provi.FiniteSum(terms, 4, 1, rest=prior, mu=5.0, smoothness=5.0, term_smoothness=1.0)
    >>> fit = model.fit(method="prox-energy", distance=0.05, subsample=2, progress=False)
    >>> fit.promise.value <= 0.05, bool(abs(fit.mean[0] - y.sum() / 5) < 0.5)
    (True, True)
    """

    __slots__ = ()

    def __init__(
        self,
        fn: Callable[[np.ndarray, np.ndarray, np.ndarray], Any],
        terms: int,
        dim: int,
        *,
        rest: Optional[Callable[[np.ndarray], Any]] = None,
        names: Optional[Sequence[str]] = None,
        mu: Any = None,
        smoothness: Any = None,
        term_smoothness: Any = None,
        variables: Optional[Sequence[Variable]] = None,
        transform: Optional[Transform] = None,
        attrs: Optional[Mapping[str, Any]] = None,
    ) -> None:
        names = _data.names(names)
        mu, smoothness = _data.curvature(mu, "mu"), _data.curvature(smoothness, "smoothness")
        terms, dim = _data.whole(terms, "terms"), _data.whole(dim, "dim")
        if term_smoothness is not None:
            if np.ndim(term_smoothness) == 0:
                term_smoothness = np.full(terms, term_smoothness)
            term_smoothness = _data.vector(term_smoothness, "term_smoothness")
        core = _provi.Model.finite_sum(fn, rest, terms, dim, names, mu, smoothness, term_smoothness)
        super().__init__(core, variables=variables, transform=transform, attrs=attrs)


def fit(
    model: Union[Model, Function],
    dim: Union[None, int, Mapping[str, Domain]] = None,
    *,
    batched: bool = True,
    names: Optional[Sequence[str]] = None,
    mu: Any = None,
    smoothness: Any = None,
    **options: Any,
) -> Fit:
    """Fits a model, or a function as in :func:`black_box`; the options are those of :meth:`Model.fit`.

    >>> import provi
    >>> fit = provi.fit(lambda z: (-0.5 * (z - 3.0) ** 2 @ [1.0], 3.0 - z), 1, progress=False)
    >>> round(float(fit.mean[0]), 6)
    3.0
    """
    if not isinstance(model, Model):
        if dim is None:
            raise TypeError("fit(fn, dim) needs the dimension of a function, or its parameters with their domains")
        model = black_box(model, dim, batched=batched, names=names, mu=mu, smoothness=smoothness)
    elif dim is not None and dim != model.dim:
        raise ValueError(f"dim = {dim} was given for a model of dimension {model.dim}")
    return model.fit(**options)


def certify(
    mean: Any,
    cov: Any,
    model: Model,
    *,
    seed: Optional[int] = None,
    threads: Optional[int] = None,
    device: Optional[str] = None,
    failure_probability: Optional[float] = None,
    audit_draws: Optional[int] = None,
) -> Fit:
    """Certifies a Gaussian that was found elsewhere: a certificate does not depend on how an answer was found.

    The draws have a fresh seed each time, so that no Gaussian can be tuned to them; ``.seed`` of the result is that seed,
    and ``seed=`` repeats them.

    >>> import numpy as np, provi
    >>> model = provi.linear(np.eye(2), [1.0, -1.0], noise_sd=1.0, prior_scale=1.0)
    >>> provi.certify([0.5, -0.5], 0.5 * np.eye(2), model).certificate.proves_gap(1e-9)
    True
    >>> provi.certify([0.4, -0.5], 0.5 * np.eye(2), model).certificate.proves_gap(1e-3)
    False
    """
    mean = _data.vector(mean, "mean")
    cov = _data.square(cov, "cov")
    return model._answer(_provi.certify(model._core, mean, cov, _options(locals())))


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a run among the arguments; the library reads, checks and refuses them."""
    options = {name: given.get(name) for name in _provi.run_keywords()}
    if options["memory_budget"] is None:
        options["memory_budget"] = given.get("memory")
    return options


def _arguments(
    X: Any, y: Any, intercept: bool, names: Any, weights: Any, offset: Any, scale: Any, mean: Any, cov: Any
) -> dict[str, Any]:
    rows, found = _data.design(X, names)
    return {
        "rows": rows,
        "response": _data.vector(y, "y"),
        "intercept": bool(intercept),
        "names": found,
        "weights": _data.optional_vector(weights, "weights"),
        "offset": _data.optional_vector(offset, "offset"),
        "prior": {
            "scale": _data.spread(scale),
            "mean": _data.optional_vector(mean, "prior_mean"),
            "cov": _data.square(cov, "prior_cov"),
        },
    }


_SHARED = """
    X: the design, one row per observation: a numpy array, a scipy.sparse matrix (which stays sparse), or a data frame
        (pandas, polars, pyarrow, anything with ``__dataframe__``), whose column names are carried through.
    intercept: put a column of ones before the others.
    prior_scale: the prior standard deviation, one for all coefficients or one for each, on the scale of the data. Without one the
        prior is scaled by the data: 2.5 s/sd(x) for a slope and 2.5 s for the intercept at the column means, around the link of the
        mean response, with s = sd(y) for a linear model and 1 for the others. A column that does not vary is the intercept.
    prior_mean, prior_cov: the prior's mean and covariance; ``prior_cov`` replaces ``prior_scale``. A mean without a scale uses the
        standard deviations above, and no coefficient is centred.
    weights: factors of each row's log likelihood.
    offset: a known part of each row's linear predictor.
    names: names of the columns.
"""


def _documented(function: Callable[..., Model]) -> Callable[..., Model]:
    function.__doc__ = (function.__doc__ or "").replace("    {shared}\n", _SHARED.lstrip("\n"))
    return function


@_documented
def linear(
    X: Any,
    y: Any,
    *,
    noise_sd: Optional[float] = None,
    noise_prior: Optional[str] = None,
    scales: Optional[str] = None,
    intercept: bool = False,
    prior_scale: Any = None,
    prior_mean: Any = None,
    prior_cov: Any = None,
    weights: Any = None,
    offset: Any = None,
    names: Optional[Sequence[str]] = None,
) -> Model:
    """Linear regression.

    noise_sd: the noise's standard deviation; without it, it is unknown: see ``scales``.
    noise_prior: the prior of an unknown noise, such as ``"exponential(1)"``; by default ``half_t(3, s)`` with s = sd(y).
    scales: what happens to an unknown noise: ``"integrate"``, the default, integrates over it, and :meth:`Fit.scales` has the result;
        ``"maximise"`` takes the one with the largest ELBO, which then counts as known. Proofs of ``accuracy``, ``kl`` and
        ``table_accuracy`` and the methods of planned steps need a known noise.
    {shared}
    >>> import numpy as np, provi
    >>> model = provi.linear(np.eye(2), [1.0, -1.0], noise_sd=1.0, prior_scale=1.0)
    >>> model.fit(progress=False).mean
    array([ 0.5, -0.5])
    """
    data = _arguments(X, y, intercept, names, weights, offset, prior_scale, prior_mean, prior_cov)
    return Model(_provi.Model.noisy("linear", data, (noise_sd, noise_prior, scales)))


@_documented
def logistic(
    X: Any,
    y: Any,
    *,
    intercept: bool = False,
    prior_scale: Any = None,
    prior_mean: Any = None,
    prior_cov: Any = None,
    weights: Any = None,
    offset: Any = None,
    names: Optional[Sequence[str]] = None,
) -> Model:
    """Logistic regression; labels 0 and 1, or −1 and 1.

    {shared}
    >>> import numpy as np, provi
    >>> model = provi.logistic(np.array([[0.5], [-1.5], [2.0], [0.1]]), [1, 0, 1, 0], intercept=True)
    >>> model.names, model.fit(progress=False).certificate.proves_gap(1e-9)
    (['(Intercept)', 'x0'], True)
    """
    data = _arguments(X, y, intercept, names, weights, offset, prior_scale, prior_mean, prior_cov)
    return Model(_provi.Model.logistic(data))


@_documented
def probit(
    X: Any,
    y: Any,
    *,
    intercept: bool = False,
    prior_scale: Any = None,
    prior_mean: Any = None,
    prior_cov: Any = None,
    weights: Any = None,
    offset: Any = None,
    names: Optional[Sequence[str]] = None,
) -> Model:
    """Probit regression; labels 0 and 1, or −1 and 1.

    {shared}
    """
    data = _arguments(X, y, intercept, names, weights, offset, prior_scale, prior_mean, prior_cov)
    return Model(_provi.Model.probit(data))


@_documented
def cloglog(
    X: Any,
    y: Any,
    *,
    trials: Any = None,
    intercept: bool = False,
    prior_scale: Any = None,
    prior_mean: Any = None,
    prior_cov: Any = None,
    weights: Any = None,
    offset: Any = None,
    names: Optional[Sequence[str]] = None,
) -> Model:
    """Regression with the complementary log-log link, ``P(1) = 1 - exp(-exp(s))``; labels 0 and 1, or −1 and 1.

    trials: the number of trials of each row, if ``y`` counts successes.
    {shared}
    """
    data = _arguments(X, y, intercept, names, weights, offset, prior_scale, prior_mean, prior_cov)
    return Model(_provi.Model.cloglog(data, None if trials is None else _data.vector(trials, "trials")))


@_documented
def poisson(
    X: Any,
    y: Any,
    *,
    intercept: bool = False,
    prior_scale: Any = None,
    prior_mean: Any = None,
    prior_cov: Any = None,
    weights: Any = None,
    offset: Any = None,
    names: Optional[Sequence[str]] = None,
) -> Model:
    """Poisson regression with log link; an exposure is an ``offset`` of its logarithm.

    {shared}
    """
    data = _arguments(X, y, intercept, names, weights, offset, prior_scale, prior_mean, prior_cov)
    return Model(_provi.Model.poisson(data))


@_documented
def gamma(
    X: Any,
    y: Any,
    *,
    noise_sd: Optional[float] = None,
    noise_prior: Optional[str] = None,
    scales: Optional[str] = None,
    intercept: bool = False,
    prior_scale: Any = None,
    prior_mean: Any = None,
    prior_cov: Any = None,
    weights: Any = None,
    offset: Any = None,
    names: Optional[Sequence[str]] = None,
) -> Model:
    """Gamma regression of positive numbers with log link: the mean is the exponential of the linear predictor, and the standard
    deviation is ``noise_sd`` times the mean. The shape is ``1 / noise_sd**2``.

    noise_sd: the noise relative to the mean; without it, it is unknown: see ``scales``.
    noise_prior: the prior of an unknown noise, such as ``"exponential(1)"``; by default ``half_t(3, 1)``.
    scales: what happens to an unknown noise: ``"integrate"``, the default, or ``"maximise"``, as in :func:`linear`.
    {shared}
    >>> import numpy as np, provi
    >>> model = provi.gamma(np.ones((3, 1)), [0.5, 1.0, 2.0], noise_sd=0.5, prior_scale=1.0)
    >>> model.fit(progress=False).certificate.proves_gap(1e-9)
    True
    """
    data = _arguments(X, y, intercept, names, weights, offset, prior_scale, prior_mean, prior_cov)
    return Model(_provi.Model.noisy("gamma", data, (noise_sd, noise_prior, scales)))


@_documented
def negative_binomial(
    X: Any,
    y: Any,
    *,
    noise_sd: Optional[float] = None,
    noise_prior: Optional[str] = None,
    scales: Optional[str] = None,
    intercept: bool = False,
    prior_scale: Any = None,
    prior_mean: Any = None,
    prior_cov: Any = None,
    weights: Any = None,
    offset: Any = None,
    names: Optional[Sequence[str]] = None,
) -> Model:
    """Regression of counts whose rates vary, with log link: the mean m is the exponential of the linear predictor, and the variance is
    ``m + (noise_sd * m)**2``. The shape of the rates, ``theta`` in R, is ``1 / noise_sd**2``.

    noise_sd: the standard deviation of a rate relative to its mean; without it, it is unknown: see ``scales``.
    noise_prior: the prior of an unknown noise, such as ``"exponential(1)"``; by default ``half_t(3, 1)``.
    scales: what happens to an unknown noise: ``"integrate"``, the default, or ``"maximise"``, as in :func:`linear`.
    {shared}
    >>> import numpy as np, provi
    >>> model = provi.negative_binomial(np.ones((4, 1)), [0, 3, 1, 9], noise_sd=0.8, prior_scale=1.0)
    >>> model.fit(progress=False).certificate.proves_gap(1e-9)
    True
    """
    data = _arguments(X, y, intercept, names, weights, offset, prior_scale, prior_mean, prior_cov)
    return Model(_provi.Model.noisy("negative_binomial", data, (noise_sd, noise_prior, scales)))


@_documented
def weibull(
    X: Any,
    time: Any,
    event: Any = None,
    *,
    upper: Any = None,
    entry: Any = None,
    time_unit: Optional[float] = None,
    noise_sd: Optional[float] = None,
    noise_prior: Optional[str] = None,
    scales: Optional[str] = None,
    intercept: bool = False,
    prior_scale: Any = None,
    prior_mean: Any = None,
    prior_cov: Any = None,
    weights: Any = None,
    offset: Any = None,
    names: Optional[Sequence[str]] = None,
) -> Model:
    """Regression of times to an event, some of them censored, with a log-linear hazard: a time exceeds t with probability
    ``exp(-(t / time_unit)**(1 / noise_sd) * exp(s))``, s being the linear predictor. A coefficient is the logarithm of a ratio of hazards.

    event: 1 where the event was seen at that time, 0 where the row was censored: its event comes later. By default all were seen.
    upper: instead of ``event``, where times are known only within intervals: the event came after ``time`` and at ``upper`` or before. A time of 0 is
        censoring on the left, an infinite or missing (NaN) upper end on the right, and equal ends are an event at that time.
    entry: the time from which on each row is watched; had its event come earlier, there would be no row. By default 0.
    time_unit: the time at which the exponential of s is the cumulative hazard; by default the mean time, to two digits.
    noise_sd: the scale of the logarithm of the time; without it, it is unknown: see ``scales``. With 1, times are exponential.
    noise_prior: the prior of an unknown noise, such as ``"exponential(1)"``; by default ``half_t(3, 1)``.
    scales: what happens to an unknown noise: ``"integrate"``, the default, or ``"maximise"``, as in :func:`linear`.
    {shared}
    >>> import numpy as np, provi
    >>> model = provi.weibull(np.ones((4, 1)), [3.0, 8.0, 5.0, 9.0], [1, 1, 0, 0], noise_sd=0.7, prior_scale=1.0)
    >>> model.fit(progress=False).certificate.proves_gap(1e-9)
    True
    """
    data = _arguments(X, time, intercept, names, weights, offset, prior_scale, prior_mean, prior_cov)
    if event is not None and upper is not None:
        raise ValueError("give event or upper: an event that was seen has an upper end that is its time, and a censored one an infinite one")
    seen, begun = _data.optional_vector(event, "event"), _data.optional_vector(entry, "entry")
    ends = _data.optional_vector(upper, "upper")
    if ends is not None:
        ends = np.where(np.isnan(ends), np.inf, ends)
    return Model(_provi.Model.weibull(data, (seen, ends, begun), time_unit, (noise_sd, noise_prior, scales)))


@_documented
def exponential(
    X: Any,
    y: Any,
    *,
    intercept: bool = False,
    prior_scale: Any = None,
    prior_mean: Any = None,
    prior_cov: Any = None,
    weights: Any = None,
    offset: Any = None,
    names: Optional[Sequence[str]] = None,
) -> Model:
    """Regression of positive numbers that are exponential, such as waiting times, with log link: :func:`gamma` with a noise of 1.

    {shared}
    """
    data = _arguments(X, y, intercept, names, weights, offset, prior_scale, prior_mean, prior_cov)
    return Model(_provi.Model.exponential(data))


@_documented
def binomial(
    X: Any,
    successes: Any,
    trials: Any,
    *,
    intercept: bool = False,
    prior_scale: Any = None,
    prior_mean: Any = None,
    prior_cov: Any = None,
    weights: Any = None,
    offset: Any = None,
    names: Optional[Sequence[str]] = None,
) -> Model:
    """Logistic regression on counts: ``successes`` among ``trials`` in each row.

    {shared}
    """
    data = _arguments(X, successes, intercept, names, weights, offset, prior_scale, prior_mean, prior_cov)
    return Model(_provi.Model.binomial(data, _data.vector(trials, "trials")))


@_documented
def hierarchical_logistic(
    X: Any,
    y: Any,
    groups: Any,
    *,
    group_scale: Optional[float] = None,
    intercept: bool = False,
    prior_scale: Optional[float] = None,
    weights: Any = None,
    offset: Any = None,
    names: Optional[Sequence[str]] = None,
) -> Model:
    """Logistic regression in which each group has its own coefficients::

        theta ~ N(0, prior_scale²),   z[g] ~ N(theta, group_scale²),   P(y = 1) = sigmoid(x · z[g])

    groups: a label for each row.
    group_scale: the standard deviation of a group's coefficients around those of the population.
    {shared}
    >>> import numpy as np, provi
    >>> model = provi.hierarchical_logistic(np.ones((4, 1)), [1, 0, 1, 1], ["b", "a", "b", "a"], names=["one"])
    >>> model.names
    ['theta[one]', 'z[a,one]', 'z[b,one]']
    """
    data = _arguments(X, y, intercept, names, weights, offset, prior_scale, None, None)
    codes, levels = _data.labels(groups, "groups")
    core = _provi.Model.hierarchical_logistic(data, codes, levels, group_scale)
    columns = tuple(name[len("theta[") : -1] for name in core.names[: core.dim // (1 + len(levels))])
    variables = (
        Variable("theta", ("coefficient",), (columns,)),
        Variable("z", ("group", "coefficient"), (tuple(levels), columns)),
    )
    return Model(core, variables=variables)
