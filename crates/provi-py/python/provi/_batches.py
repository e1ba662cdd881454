"""Points in batches that a compiled function has seen before."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

# Most points in one call: more would only take memory.
_MOST = 256


def in_batches(
    evaluate: Callable[[np.ndarray], tuple[Any, Any]], points: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """``evaluate`` at all points, a power of two of them at a time, so that a few compilations serve every batch."""
    n = len(points)
    values, gradients = np.empty(n), np.empty(points.shape)
    for first in range(0, n, _MOST):
        part = points[first : first + _MOST]
        padded = np.concatenate([part, np.repeat(part[-1:], _room(len(part)) - len(part), axis=0)])
        value, gradient = evaluate(padded)
        at = slice(first, first + len(part))
        values[at], gradients[at] = np.asarray(value)[: len(part)], np.asarray(gradient)[: len(part)]
    return values, gradients


def _room(n: int) -> int:
    return 1 << (n - 1).bit_length()
