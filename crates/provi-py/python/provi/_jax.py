"""Models from JAX functions."""

from __future__ import annotations

import warnings
from typing import Any, Callable, Mapping, Optional, Sequence, Union

import numpy as np

from ._batches import in_batches
from ._constrained import ConstrainedModel, Layout
from ._domain import Domain
from ._fit import Variable
from ._model import Model, black_box
from ._scale import element_names, needs, variable


def from_jax(
    fn: Callable[[Any], Any],
    like: Union[int, Any],
    *,
    names: Optional[Sequence[str]] = None,
    mu: Any = None,
    smoothness: Any = None,
) -> Model:
    """A model from a JAX function of one point to its log density: differentiated, compiled and batched here.

    like: the number of coordinates, for a function of a vector; or an example of what the function takes, a pytree of arrays
        such as ``{"a": 0.0, "b": jnp.zeros(3)}``, whose leaves become the variables of the fit, named after their keys; or a
        mapping from names to :class:`Domain`, for a function of parameters by name that are not free.
    names: names of the coordinates.
    mu, smoothness: as in :func:`black_box`.

    The function is evaluated in float64, whatever JAX is set to elsewhere.
    """
    jax = _import()
    if isinstance(like, Mapping) and any(isinstance(domain, Domain) for domain in like.values()):
        if names is not None:
            raise TypeError("names has no effect: parameters with domains have names of their own")
        double(jax, stacklevel=2)
        layout = Layout(like)
        return ConstrainedModel(batched(jax, lambda theta: fn(layout.split(theta))), layout, mu, smoothness)
    flat, unravel, variables = _layout(jax, like)
    double(jax, stacklevel=2)
    dim = len(flat)
    if names is None and variables is not None:
        names = [name for v in variables for name in element_names(v)]
    one = fn if unravel is None else lambda z: fn(unravel(z))
    return black_box(
        batched(jax, one), dim, names=names, mu=mu, smoothness=smoothness, variables=variables
    )


def batched(jax: Any, one: Callable[[Any], Any]) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """A scalar function of a vector → log densities and gradients of a batch, compiled, in float64."""
    compiled = jax.jit(jax.vmap(jax.value_and_grad(one)))

    def evaluate(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with jax.enable_x64(True):
            return in_batches(compiled, points)

    return evaluate


def double(jax: Any, stacklevel: int) -> None:
    """Says so where JAX is not set to float64."""
    if not jax.config.jax_enable_x64:
        warnings.warn(
            "JAX is set to 32-bit floats; provi evaluates this model in 64 bits, but arrays that were made before keep the "
            'rounding they have: jax.config.update("jax_enable_x64", True) at the start of the program avoids it',
            stacklevel=stacklevel + 1,
        )


def _import() -> Any:
    try:
        import jax
    except ImportError as error:
        raise needs("jax", "from_jax", error) from error
    if not hasattr(jax, "enable_x64"):
        raise ImportError(f"from_jax needs a newer JAX than {jax.__version__}: pip install --upgrade jax")
    return jax


def _layout(jax: Any, like: Any) -> tuple[np.ndarray, Any, Optional[list[Variable]]]:
    """A flat example, the way back to the tree, and its leaves as variables; no way back and none of a plain vector."""
    if isinstance(like, (int, np.integer)) and not isinstance(like, bool):
        return np.zeros(int(like)), None, None
    from jax.flatten_util import ravel_pytree

    with jax.enable_x64(True):
        tree = jax.tree.map(lambda leaf: jax.numpy.asarray(leaf, dtype=jax.numpy.float64), like)
        flat, unravel = ravel_pytree(tree)
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    if len(leaves) == 1 and not leaves[0][0]:
        return np.asarray(flat), unravel, None
    variables = [variable(_name(path), leaf.shape) for path, leaf in leaves]
    return np.asarray(flat), unravel, variables


def _name(path: Sequence[Any]) -> str:
    """A leaf's name: its keys, with dots between."""
    word = lambda key: str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", key))))  # noqa: E731
    return ".".join(word(key) for key in path)
