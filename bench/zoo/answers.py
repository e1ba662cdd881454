"""Answers by provi and by other packages, all of them Gaussians over the same coordinates, and how far off they are.

Densities take their data as an argument, so that problems which differ in their data alone share compiled code.
"""

import functools
import time
import warnings
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from models.problem import flat
from scipy.optimize import minimize
from scipy.stats import norm, qmc

POINTS = 1 << 13
# A batch is filled up to one of these, so that few sizes are compiled.
SIZES = (1, 16, 256)


@dataclass
class Answer:
    mean: np.ndarray
    factor: np.ndarray
    evaluations: int
    seconds: float
    """Without compilation."""
    notes: dict = field(default_factory=dict)


@functools.lru_cache(maxsize=None)
def _batched(log_density):
    return jax.jit(jax.vmap(jax.value_and_grad(log_density), (0, None)))


def function(problem):
    """Points (n, d) to log densities and gradients."""
    compiled = _batched(problem.log_density)

    def evaluate(z):
        values, gradients = np.empty(len(z)), np.empty(z.shape)
        for first in range(0, len(z), SIZES[-1]):
            part = z[first : first + SIZES[-1]]
            size = next(size for size in SIZES if size >= len(part))
            filled = np.concatenate([part, np.repeat(part[-1:], size - len(part), axis=0)])
            value, gradient = compiled(filled, problem.data)
            at = slice(first, first + len(part))
            values[at], gradients[at] = np.asarray(value)[: len(part)], np.asarray(gradient)[: len(part)]
        return values, gradients

    return evaluate


@functools.lru_cache(maxsize=None)
def _quantities(quantities):
    return jax.jit(jax.vmap(flat(quantities), (0, None)))


@functools.lru_cache(maxsize=None)
def _standard(dim):
    """Quasi-random standard normal points, the same for every answer: the comparison adds no noise of its own."""
    points = qmc.Sobol(dim, seed=1).random(POINTS)
    return norm.ppf(np.clip(points, 1e-12, 1 - 1e-12))


def moments(problem, answer):
    """Means and sds of the quantities under an answer."""
    draws = answer.mean + _standard(problem.dim) @ answer.factor.T
    return moments_of(problem, draws)


def moments_of(problem, draws):
    values = np.asarray(_quantities(problem.quantities)(draws, problem.data))
    return values.mean(axis=0), values.std(axis=0)


def errors(problem, reference, found):
    """The largest error of a mean in posterior sds, and the worst ratio of sds (its distance from 1 counts, in logarithms)."""
    mean, sd = np.array(list(reference.values())).T
    off = np.abs(found[0] - mean) / sd
    ratio = found[1] / sd
    if not (np.isfinite(off).all() and np.isfinite(ratio).all()):
        return np.inf, np.inf
    with np.errstate(divide="ignore"):
        worst = np.argmax(np.abs(np.log(ratio)))
    return float(off.max()), float(ratio[worst])


def provi(problem, init=None, evaluations=None, seed=1):
    import provi as package

    counted, calls = _counted(problem)
    options = {} if evaluations is None else {"evaluations": evaluations}
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = package.black_box(counted, problem.dim).fit(init=init, seed=seed, progress=False, **options)
    seconds = time.perf_counter() - begin
    return Answer(fit.mean, fit.factor, fit.gradient_evaluations, seconds, {"called": calls[0], **witnesses(fit)})


# Steps and draws of the recipes: about as many evaluations as provi's own search makes, at the median.
RECIPE_STEPS, RECIPE_DRAWS = 400, 32


def recipe(problem, method, seed=1):
    """An unproven recipe on (m, Σ), from the Laplace approximation."""
    import provi as package

    evaluate, calls = _counted(problem)
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = package.black_box(evaluate, problem.dim)
        fit = model.fit(method=method, steps=RECIPE_STEPS, draws=RECIPE_DRAWS, seed=seed, progress=False)
    seconds = time.perf_counter() - begin
    return Answer(fit.mean, fit.factor, fit.gradient_evaluations, seconds, {"called": calls[0], **witnesses(fit)})


def mixture(problem, seed=1):
    """Moments of a mixture of at most eight Gaussians, evaluations, seconds, and what it says about itself."""
    import provi as package

    evaluate, calls = _counted(problem)
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = package.mixture(package.black_box(evaluate, problem.dim), seed=seed, progress=False)
    seconds = time.perf_counter() - begin
    # Each component has its share of the quasi-random points.
    ends = np.round(np.cumsum(fit.weights) * POINTS).astype(int)
    counts = np.diff(np.concatenate([[0], ends]))
    standard = _standard(problem.dim)
    parts = zip(counts, fit.means, fit.covs)
    draws = np.concatenate([mean + standard[:n] @ np.linalg.cholesky(cov).T for n, mean, cov in parts])
    notes = {"called": calls[0], "khat": fit.khat, "elbo": fit.elbo, "elbo_error": fit.elbo_error, "components": fit.components}
    notes |= {"trust": fit.trust.to_dict(), "estimates": fit.estimates.to_dict()}
    return moments_of(problem, draws), fit.gradient_evaluations, seconds, notes


def _counted(problem):
    """The compiled density, and how many points it was called with."""
    evaluate, calls = function(problem), [0]
    for size in SIZES:
        evaluate(np.zeros((size, problem.dim)))

    def counted(z):
        calls[0] += len(z)
        return evaluate(z)

    return counted, calls


def witnesses(fit):
    """What the fit says about itself, as plain numbers and words."""
    record = fit._record
    found = {"khat": fit.khat, "elbo": fit.elbo, "elbo_error": fit.elbo_error, "estimates": record["estimates"]}
    found["model"] = {key: value for key, value in record["model"].items() if key not in ("data", "names")}
    if "trust" in record:
        found["trust"] = record["trust"]
    return found


def _svi(problem):
    """SVI with a full-rank Gaussian, from NumPyro's default start: a compiled loop for one density and one shape."""
    return _svi_for(problem.log_density, problem.dim, tuple((k, np.shape(v)) for k, v in problem.data.items()))


@functools.lru_cache(maxsize=None)
def _svi_for(density, dim, shapes):
    import numpyro
    import optax
    from numpyro.distributions import ImproperUniform, constraints
    from numpyro.infer import SVI, Trace_ELBO
    from numpyro.infer.autoguide import AutoMultivariateNormal, AutoNormal

    def model(data):
        z = numpyro.sample("z", ImproperUniform(constraints.real_vector, (), (dim,)))
        numpyro.factor("log_density", density(z, data))

    def made(guide, rate, last, steps, draws):
        schedule = rate if last is None else optax.exponential_decay(rate, steps, last / rate)
        optimiser = numpyro.optim.optax_to_numpyro(optax.adam(schedule))
        svi = SVI(model, guide(model), optimiser, Trace_ELBO(num_particles=draws))
        loop = jax.jit(lambda state, data: jax.lax.fori_loop(0, steps, lambda _, s: svi.update(s, data)[0], state))
        return svi, loop

    return {
        "default": lambda: made(AutoMultivariateNormal, 0.01, None, 5000, 1),
        "tuned": lambda: made(AutoMultivariateNormal, 0.05, 1e-4, 3000, 10),
        "mean-field": lambda: made(AutoNormal, 0.01, None, 5000, 1),
    }


SVI_EVALUATIONS = {"default": 5000, "tuned": 30000, "mean-field": 5000}
_LOOPS = {}


def svi(problem, setting):
    options = _svi(problem)
    key = (id(options), setting)
    if key not in _LOOPS:
        _LOOPS[key] = options[setting]()
    machine, loop = _LOOPS[key]
    state = machine.init(jax.random.PRNGKey(1), problem.data)
    compiled = loop.lower(state, problem.data).compile()
    begin = time.perf_counter()
    state = jax.block_until_ready(compiled(state, problem.data))
    seconds = time.perf_counter() - begin
    found = machine.get_params(state)
    if setting == "mean-field":
        mean, factor = found["z_auto_loc"], jnp.diag(found["z_auto_scale"])
    else:
        mean, factor = found["auto_loc"], found["auto_scale_tril"]
    return Answer(np.asarray(mean), np.asarray(factor), SVI_EVALUATIONS[setting], seconds)


@functools.lru_cache(maxsize=None)
def _hessian(log_density):
    return jax.jit(jax.hessian(log_density))


def laplace(problem):
    """Mode from the origin by BFGS, and the curvature there."""
    evaluate, hessian = function(problem), _hessian(problem.log_density)
    evaluate(np.zeros((1, problem.dim)))
    hessian(np.zeros(problem.dim), problem.data)
    begin = time.perf_counter()

    def negative(z):
        value, gradient = evaluate(z[None])
        return (-value[0], -gradient[0]) if np.isfinite(value[0]) else (1e300, np.zeros_like(z))

    found = minimize(negative, np.full(problem.dim, 1e-3), jac=True, method="BFGS", options={"maxiter": 2000})
    curvature = -np.asarray(hessian(found.x, problem.data))
    cov = np.linalg.inv(curvature)
    factor = np.linalg.cholesky(0.5 * (cov + cov.T))
    return Answer(found.x, factor, int(found.nfev) + problem.dim, time.perf_counter() - begin)


@functools.lru_cache(maxsize=None)
def _pathfinder(log_density):
    from blackjax.vi import pathfinder

    def run(key, start, data):
        state, _ = pathfinder.approximate(key, lambda z: log_density(z, data), start)
        draws, _ = pathfinder.sample(key, state, POINTS)
        return draws

    return jax.jit(run)


def _pathfinder_draws(problem):
    key = jax.random.PRNGKey(1)
    start = jax.random.uniform(key, (problem.dim,), minval=-2.0, maxval=2.0)
    compiled = _pathfinder(problem.log_density).lower(key, start, problem.data).compile()
    begin = time.perf_counter()
    draws = jax.block_until_ready(compiled(key, start, problem.data))
    return np.asarray(draws), time.perf_counter() - begin


# 200 draws at each of 31 points of the path; its line searches are not counted by the package.
PATHFINDER_EVALUATIONS = 31 * 200


def pathfinder_moments(problem):
    """BlackJAX, one path with its defaults, from a point of the cube (−2, 2)ᵈ; moments of its own draws."""
    draws, seconds = _pathfinder_draws(problem)
    return moments_of(problem, draws), PATHFINDER_EVALUATIONS, seconds


def pathfinder(problem):
    """The Gaussian with the moments of its draws, which are those of a Gaussian."""
    draws, seconds = _pathfinder_draws(problem)
    factor = np.linalg.cholesky(np.atleast_2d(np.cov(draws.T)))
    return Answer(draws.mean(axis=0), factor, PATHFINDER_EVALUATIONS, seconds)


@functools.lru_cache(maxsize=None)
def _single(log_density):
    return jax.jit(jax.value_and_grad(log_density))


@functools.lru_cache(maxsize=None)
def _advi(dim):
    """PyMC's full-rank ADVI with its defaults over so many coordinates: what to put the density in, and how to begin and run it.

    The density and its gradient are one call of compiled code in every step. All problems of a dimension share what PyTensor
    compiled; before each, every shared variable is set to what it was in the beginning, generators of random numbers included."""
    import pymc as pm
    import pytensor
    import pytensor.tensor as pt
    from pytensor.gradient import DisconnectedType
    from pytensor.graph.basic import Apply
    from pytensor.graph.op import Op

    holder = {}

    class Density(Op):
        def make_node(self, z):
            return Apply(self, [pt.as_tensor_variable(z)], [pt.dscalar(), pt.dvector()])

        def perform(self, node, inputs, outputs):
            value, gradient = holder["density"](inputs[0], holder["data"])
            outputs[0][0], outputs[1][0] = np.array(value), np.array(gradient)

        def connection_pattern(self, node):
            return [[True, False]]

        def grad(self, inputs, output_gradients):
            # The same node again, which PyTensor merges with the first: one call gives both.
            if isinstance(output_gradients[0].type, DisconnectedType):
                return [DisconnectedType()()]
            return [output_gradients[0] * self(inputs[0])[1]]

    density = Density()
    with pm.Model() as model:
        z = pm.Flat("z", shape=dim)
        pm.Potential("log_density", density(z)[0])
        method = pm.FullRankADVI(random_seed=1)
    made, kept = method.objective.step_function, {}

    def step_function(**options):
        if not kept:
            kept["step"] = made(**options)
            kept["start"] = [(variable, variable.get_value(borrow=False)) for variable in kept["step"].get_shared()]
        for variable, value in kept["start"]:
            variable.set_value(value, borrow=False)
        kept["begin"] = time.perf_counter()
        return kept["step"]

    method.objective.step_function = step_function
    results = pytensor.function([], [method.approx.mean, method.approx.cov])

    def run(steps):
        with model:
            method.hist = np.asarray(())
            pm.fit(steps, method=method, progressbar=False)
        seconds = time.perf_counter() - kept["begin"]
        return *results(), seconds

    return holder, run


def pymc_advi(problem, steps=10_000):
    start, data = np.zeros(problem.dim), jax.device_put(problem.data)
    holder, run = _advi(problem.dim)
    holder.update(density=_single(problem.log_density).lower(start, data).compile(), data=data)
    mean, cov, seconds = run(steps)
    return Answer(mean, np.linalg.cholesky(cov), steps, seconds)


ELBO_DRAWS = 1 << 17


def elbos(problem, ours, theirs, seed=7):
    """The ELBOs of two answers, ours minus theirs, and the standard error of that: many draws, the same noise for both.

    An answer with the higher ELBO is the better Gaussian in the sense that all of these methods seek, whichever mean is nearer."""
    random, parts = np.random.default_rng(seed), []
    evaluate = function(problem)
    # Factors of one kind, so that one noise gives points near each other.
    factors = [np.linalg.cholesky(answer.factor @ answer.factor.T) for answer in (ours, theirs)]
    for _ in range(ELBO_DRAWS >> 12):
        noise = random.standard_normal((1 << 12, problem.dim))
        parts.append([evaluate(answer.mean + noise @ factor.T)[0] for answer, factor in zip((ours, theirs), factors)])
    values = np.concatenate(parts, axis=1)
    entropies = [np.linalg.slogdet(factor)[1] + 0.5 * problem.dim * (1.0 + np.log(2.0 * np.pi)) for factor in factors]
    found = values.mean(axis=1) + entropies
    difference = values[0] - values[1]
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    return {"ours": float(found[0]), "theirs": float(found[1]), "difference": float(found[0] - found[1]), "error": float(error)}
