"""Models from PyTorch functions."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional, Sequence, Union

import numpy as np

from ._constrained import ConstrainedModel, Layout
from ._domain import Domain
from ._model import Model, black_box
from ._scale import needs


def from_torch(
    fn: Callable[[Any], Any],
    dim: Union[int, Mapping[str, Domain]],
    *,
    batched: bool = False,
    names: Optional[Sequence[str]] = None,
    mu: Any = None,
    smoothness: Any = None,
) -> Model:
    """A model from a PyTorch function of one point, a float64 tensor (d,), to its log density: differentiated and batched here.

    dim: the number of coordinates; or a mapping from names to :class:`Domain`, for a function of parameters by name that are not free.
    batched: the function takes points (n, d) and returns log densities (n,), each depending on its own point only.
    names: names of the coordinates.
    mu, smoothness: as in :func:`black_box`.

    Tensors the function uses should be float64 too, on the CPU.
    """
    try:
        import torch
    except ImportError as error:
        raise needs("torch", "from_torch", error) from error
    layout = Layout(dim) if isinstance(dim, Mapping) else None
    if layout is not None and names is not None:
        raise TypeError("names has no effect: parameters with domains have names of their own")
    of_row = fn if layout is None else lambda row: fn(layout.split(row))
    differentiated = None if batched else torch.func.vmap(torch.func.grad_and_value(of_row))

    def evaluate(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # A copy: the array belongs to provi, and the function may keep its argument.
        z = torch.tensor(points, dtype=torch.float64)
        if differentiated is not None:
            gradient, value = differentiated(z)
        else:
            z.requires_grad_(True)
            value = of_row(z)
            (gradient,) = torch.autograd.grad(value.sum(), z)
        return _array(value), _array(gradient)

    if layout is not None:
        return ConstrainedModel(evaluate, layout, mu, smoothness)
    return black_box(evaluate, dim, names=names, mu=mu, smoothness=smoothness)


def _array(tensor: Any) -> np.ndarray:
    return tensor.detach().cpu().numpy()
