"""Parameters that are not free: positive, bounded, ordered, on a simplex, a correlation or covariance matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Sequence, Union

import numpy as np

from . import _data

Shape = Union[int, Sequence[int]]


@dataclass(frozen=True)
class Domain:
    """Where a parameter lives; made by one of the functions below.

    A model over parameters with domains is given as a mapping from names to domains, wherever a number of coordinates could be: in
    :func:`black_box`, :func:`fit`, :func:`from_jax` and :func:`from_torch`. Its function then takes a mapping from the names to
    arrays. Free coordinates, their Jacobians and the way back are provi's business; the density is with respect to the numbers themselves
    (of a simplex, all but the last; of a matrix, its lower triangle), so that laws have their usual densities and the evidence is right.

    ``shape`` makes an array of such parameters; its axes come first.

    A gradient is by every number as if all were free: of ``log(p)`` on a simplex it is ``1/p`` in all n places, and of ``log det S`` it is the
    whole of S⁻¹, both triangles.

    >>> import numpy as np, provi
    >>> y = np.array([1.2, 0.7, 1.9, 1.4, 0.8])
    >>> def density(theta):                     # mu ~ N(0, 10²), sigma ~ exponential(1); arrays (n,)
    ...     mu, sigma = theta["mu"][:, None], theta["sigma"][:, None]
    ...     r = (y - mu) / sigma
    ...     value = (-0.5 * r**2 - np.log(sigma)).sum(1) - 0.005 * theta["mu"] ** 2 - theta["sigma"]
    ...     by_mu = (r / sigma).sum(1) - 0.01 * theta["mu"]
    ...     by_sigma = ((r**2 - 1) / sigma).sum(1) - 1
    ...     return value, {"mu": by_mu, "sigma": by_sigma}
    >>> domains = {"mu": provi.Domain.real(), "sigma": provi.Domain.positive()}
    >>> fit = provi.fit(density, domains, seed=1, progress=False)
    >>> fit.names, bool((fit.sample(1000)["sigma"] > 0).all())
    (['mu', 'sigma'], True)
    """

    kind: str
    bounds: tuple[float, ...] = ()
    size: int = 1
    axes: tuple[int, ...] = ()

    @staticmethod
    def real(shape: Shape = ()) -> Domain:
        """All real numbers."""
        return Domain("real", axes=_axes(shape))

    @staticmethod
    def positive(shape: Shape = ()) -> Domain:
        """The positive numbers: θ = exp(z)."""
        return Domain("positive", axes=_axes(shape))

    @staticmethod
    def above(lower: float, shape: Shape = ()) -> Domain:
        """The numbers above a bound: θ = lower + exp(z)."""
        return Domain("above", (float(lower),), axes=_axes(shape))

    @staticmethod
    def below(upper: float, shape: Shape = ()) -> Domain:
        """The numbers below a bound: θ = upper − exp(z)."""
        return Domain("below", (float(upper),), axes=_axes(shape))

    @staticmethod
    def between(lower: float, upper: float, shape: Shape = ()) -> Domain:
        """The numbers between two bounds: θ = lower + (upper − lower)/(1 + exp(−z))."""
        return Domain("between", (float(lower), float(upper)), axes=_axes(shape))

    @staticmethod
    def ordered(n: int, shape: Shape = ()) -> Domain:
        """n numbers, each above the one before: the differences are exp(z)."""
        return Domain("ordered", size=_size(n), axes=_axes(shape))

    @staticmethod
    def simplex(n: int, shape: Shape = ()) -> Domain:
        """n positive numbers with sum 1: softmax of an orthonormal basis of the vectors with sum 0."""
        return Domain("simplex", size=_size(n), axes=_axes(shape))

    @staticmethod
    def covariance(n: int, shape: Shape = ()) -> Domain:
        """Symmetric positive definite n × n matrices: LLᵀ with the logarithms of L's diagonal."""
        return Domain("covariance", size=_size(n), axes=_axes(shape))

    @staticmethod
    def correlation(n: int, shape: Shape = ()) -> Domain:
        """Symmetric positive definite n × n matrices with a diagonal of ones: inverse hyperbolic tangents of partial correlations."""
        return Domain("correlation", size=_size(n), axes=_axes(shape))


def _axes(shape: Shape) -> tuple[int, ...]:
    given = shape if isinstance(shape, Sequence) else (shape,)
    return tuple(_size(axis, "an axis of shape") for axis in given)


def _size(n: Any, what: str = "n") -> int:
    found = _data.whole(n, what)
    if not found:
        raise ValueError(f"{what} = {n}; must be at least 1")
    return found
