"""Models from NumPyro."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ._fit import Variable
from ._jax import batched, double
from ._model import black_box
from ._scale import ScaledModel, UserScale, element_names, needs, variable


def from_numpyro(model: Callable[..., Any], *args: Any, **kwargs: Any) -> ScaledModel:
    """The posterior of a NumPyro model, called with these arguments.

    Every continuous latent site is mapped to the real line by NumPyro's own bijection; draws are returned as NumPyro would give
    them, deterministic sites included. Sites keep their names, and plates name their axes.
    """
    try:
        import jax
        import numpyro  # noqa: F401
    except ImportError as error:
        raise needs("numpyro", "from_numpyro", error) from error
    from jax.flatten_util import ravel_pytree
    from numpyro.infer.util import initialize_model

    double(jax, stacklevel=2)
    _refuse_discrete(model, args, kwargs)
    with jax.enable_x64(True):
        found = initialize_model(jax.random.key(0), model, model_args=args, model_kwargs=kwargs)
        example = found.param_info.z
        if not example:
            raise ValueError("the NumPyro model has no continuous latent site")
        flat, unravel = ravel_pytree(example)
        back = jax.jit(jax.vmap(lambda z: found.postprocess_fn(unravel(z))))
        shapes = jax.eval_shape(found.postprocess_fn, example)

    def transform(points: np.ndarray) -> dict[str, np.ndarray]:
        with jax.enable_x64(True):
            return {name: np.asarray(values) for name, values in back(points).items()}

    def log_likelihood(points: np.ndarray) -> dict[str, np.ndarray]:
        from numpyro.infer import log_likelihood

        draws = transform(points)
        latent = {name: draws[name] for name in example}
        with jax.enable_x64(True):
            return {name: np.asarray(x) for name, x in log_likelihood(model, latent, *args, **kwargs).items()}

    trace = found.model_trace
    observed = {name: site["value"] for name, site in trace.items() if _is_observation(site)}

    def posterior_predictive(points: np.ndarray, seed: int) -> dict[str, np.ndarray]:
        from numpyro.infer import Predictive

        draws = transform(points)
        latent = {name: draws[name] for name in example}
        with jax.enable_x64(True):
            again = Predictive(_unobserved(model, observed), posterior_samples=latent, return_sites=list(observed))
            made = again(jax.random.key(seed), *args, **kwargs)
        return {name: np.asarray(made[name]) for name in observed}

    unchanged = frozenset(name for name in example if _is_its_own_coordinate(trace[name]))
    called = {name: name if name in unchanged else f"{name}_unconstrained" for name in example}
    coordinates = [_variable(trace, name, z.shape, called[name]) for name, z in sorted(example.items())]
    names = [name for v in coordinates for name in element_names(v)]
    box = black_box(
        batched(jax, lambda z: -found.potential_fn(unravel(z))),
        len(flat),
        names=names,
        variables=coordinates,
        attrs={"model": "NumPyro"},
    )
    sites = [name for name in trace if name in shapes]
    variables = tuple(_variable(trace, name, shapes[name].shape, name) for name in sites)
    scale = UserScale(
        transform,
        variables,
        unchanged,
        log_likelihood=log_likelihood,
        posterior_predictive=posterior_predictive if observed else None,
        observed={name: np.asarray(value) for name, value in observed.items()},
        free=sorted(example),
    )
    return ScaledModel(box, scale)


def _refuse_discrete(model: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    from numpyro import handlers

    trace = handlers.trace(handlers.seed(model, 0)).get_trace(*args, **kwargs)
    latent = [site for site in trace.values() if site["type"] == "sample" and not site["is_observed"]]
    found = [site["name"] for site in latent if getattr(site["fn"].support, "is_discrete", False)]
    if found:
        raise ValueError(
            f"{', '.join(found)} of the NumPyro model is discrete, and a Gaussian needs real coordinates; sum it out, with "
            "numpyro.distributions.MixtureSameFamily for example"
        )


def _unobserved(model: Callable[..., Any], observed: dict[str, Any]) -> Callable[..., Any]:
    """The model with its observations drawn anew, in the shape that they have: a site without a plate may be narrower."""
    from numpyro.primitives import Messenger

    class Unobserved(Messenger):  # type: ignore[misc]
        def process_message(self, msg: dict[str, Any]) -> None:
            if msg["type"] != "sample" or msg["name"] not in observed:
                return
            law, shape = msg["fn"], np.shape(msg["value"])
            batch = shape[: len(shape) - law.event_dim]
            msg["fn"] = law if law.batch_shape == batch else law.expand(batch)
            msg["is_observed"], msg["value"] = False, None

    return Unobserved(model)


def _is_observation(site: dict[str, Any]) -> bool:
    """Whether a site has data of a law that can be drawn from; ``numpyro.factor`` has not."""
    from numpyro.distributions import Unit

    return site["type"] == "sample" and site["is_observed"] and not isinstance(site["fn"], Unit)


def _variable(trace: dict[str, Any], name: str, shape: tuple[int, ...], called: str) -> Variable:
    """A site, its plates naming the axes they stand for."""
    site = trace[name]
    dims: list[Any] = [None] * len(shape)
    batch = len(shape) - (site["fn"].event_dim if site["type"] == "sample" else 0)
    for frame in site.get("cond_indep_stack", []):
        axis = batch + frame.dim
        if 0 <= axis < len(shape) and shape[axis] == frame.size:
            dims[axis] = frame.name
    return variable(called, shape, dims)


def _is_its_own_coordinate(site: dict[str, Any]) -> bool:
    from numpyro.distributions import biject_to
    from numpyro.distributions.transforms import IdentityTransform

    found = biject_to(site["fn"].support)
    return isinstance(getattr(found, "base_transform", found), IdentityTransform)
