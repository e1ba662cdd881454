"""Models from PyTorch functions."""

from __future__ import annotations

from typing import Any, Callable, Optional, Sequence

import numpy as np

from ._model import Model, black_box
from ._scale import needs


def from_torch(
    fn: Callable[[Any], Any],
    dim: int,
    *,
    batched: bool = False,
    names: Optional[Sequence[str]] = None,
    mu: Any = None,
    smoothness: Any = None,
) -> Model:
    """A model from a PyTorch function of one point, a float64 tensor (d,), to its log density: differentiated and batched here.

    batched: the function takes points (n, d) and returns log densities (n,), each depending on its own point only.
    names: names of the coordinates.
    mu, smoothness: as in :func:`black_box`.

    Tensors the function uses should be float64 too, on the CPU.
    """
    try:
        import torch
    except ImportError as error:
        raise needs("torch", "from_torch", error) from error
    differentiated = None if batched else torch.func.vmap(torch.func.grad_and_value(fn))

    def evaluate(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # A copy: the array belongs to provi, and the function may keep its argument.
        z = torch.tensor(points, dtype=torch.float64)
        if differentiated is not None:
            gradient, value = differentiated(z)
        else:
            z.requires_grad_(True)
            value = fn(z)
            (gradient,) = torch.autograd.grad(value.sum(), z)
        return _array(value), _array(gradient)

    return black_box(evaluate, dim, names=names, mu=mu, smoothness=smoothness)


def _array(tensor: Any) -> np.ndarray:
    return tensor.detach().cpu().numpy()
