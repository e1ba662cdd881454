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
    return ScaledModel(box, UserScale(transform, variables, unchanged, log_likelihood=log_likelihood))


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
