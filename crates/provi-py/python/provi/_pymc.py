"""Models from PyMC."""

from __future__ import annotations

from typing import Any, Callable, Optional, Sequence

import numpy as np

from ._batches import in_batches
from ._fit import Variable
from ._model import black_box
from ._scale import ScaledModel, UserScale, element_names, needs, variable


def from_pymc(model: Optional[Any] = None) -> ScaledModel:
    """The posterior of a PyMC model; inside its ``with`` block it need not be named.

    Every free variable is mapped to the real line by PyMC's own transform; draws are returned on the scale of the model,
    deterministic variables included, under its dims and coords.
    """
    try:
        import pymc
    except ImportError as error:
        raise needs("pymc", "from_pymc", error) from error
    model = pymc.modelcontext(model)
    if model.discrete_value_vars:
        found = ", ".join(v.name for v in model.discrete_value_vars)
        raise ValueError(
            f"{found} of the PyMC model is discrete, and a Gaussian needs real coordinates; sum it out, with "
            "pymc.Mixture for example"
        )
    values = model.value_vars
    if not values:
        raise ValueError("the PyMC model has no free variable")
    point = model.initial_point()
    shapes = {v.name: np.shape(point[v.name]) for v in values}
    outputs = [v for v in model.unobserved_value_vars if v not in values or v.name in model.named_vars]
    density, back, terms = _compiled(pymc, model, values, shapes, outputs)

    owner = {model.rvs_to_values[rv].name: rv.name for rv in model.free_RVs}
    unchanged = frozenset(
        rv.name for rv in model.free_RVs if model.rvs_to_transforms[rv] is None
    )
    coordinates = [_variable(model, v.name, owner[v.name], shapes[v.name]) for v in values]
    names = [name for v in coordinates for name in element_names(v)]

    def transform(points: np.ndarray) -> dict[str, np.ndarray]:
        return dict(zip((v.name for v in outputs), back(points)))

    def log_likelihood(points: np.ndarray) -> dict[str, np.ndarray]:
        return dict(zip((rv.name for rv in model.observed_RVs), terms(points)))

    def posterior_predictive(points: np.ndarray, seed: int) -> dict[str, np.ndarray]:
        import xarray

        found, free = transform(points), [rv.name for rv in model.free_RVs]
        axes = {name: [f"{name}_axis_{i}" for i in range(found[name].ndim - 1)] for name in free}
        draws = xarray.Dataset({name: (("chain", "draw", *axes[name]), found[name][None]) for name in free})
        made = pymc.sample_posterior_predictive(
            draws,
            model=model,
            var_names=[rv.name for rv in model.observed_RVs],
            random_seed=seed,
            progressbar=False,
            return_inferencedata=False,
        )
        return {name: np.asarray(values)[0] for name, values in made.items()}

    example = transform(_flat(point, values)[None])
    variables = tuple(_variable(model, name, name, found.shape[1:]) for name, found in example.items())
    box = black_box(
        lambda points: in_batches(density, points),
        len(names),
        names=names,
        variables=coordinates,
        attrs={"model": "PyMC"},
    )
    scale = UserScale(
        transform,
        variables,
        unchanged,
        log_likelihood=log_likelihood if model.observed_RVs else None,
        posterior_predictive=posterior_predictive if model.observed_RVs else None,
        observed={rv.name: np.asarray(model.rvs_to_values[rv].eval()) for rv in model.observed_RVs},
        free=[owner[v.name] for v in values],
    )
    return ScaledModel(box, scale)


Compiled = Callable[[np.ndarray], Any]


def _compiled(
    pymc: Any, model: Any, values: Sequence[Any], shapes: dict[str, tuple[int, ...]], outputs: Sequence[Any]
) -> tuple[Compiled, Compiled, Compiled]:
    """Log density with gradient, the model's own variables, and the log likelihood of each observation, of a batch of flat points
    (n, d)."""
    import pytensor
    import pytensor.tensor as pt
    from pytensor.graph.replace import clone_replace, vectorize_graph

    point = pt.vector("point", shape=(sum(int(np.prod(s, dtype=int)) for s in shapes.values()),))
    parts, at = {}, 0
    for value in values:
        size = int(np.prod(shapes[value.name], dtype=int))
        part = point[at : at + size].reshape(shapes[value.name])
        parts[value] = pt.specify_shape(part, shapes[value.name]).astype(value.dtype)
        at += size
    points = pt.matrix("points", shape=(None, at))

    def of_batch(found: Sequence[Any]) -> Compiled:
        try:
            graph = vectorize_graph(found, replace={point: points})
            return pymc.compile([points], graph)
        except NotImplementedError:  # an operation without batches: evaluate point by point
            one = pymc.compile([point], found)
            return lambda z: [np.stack(column) for column in zip(*(one(row) for row in z))]

    logp = clone_replace(model.logp(), replace=parts, rebuild_strict=False)
    gradient = pytensor.grad(logp, point)
    back = clone_replace(list(outputs), replace=parts, rebuild_strict=False)
    observed = model.logp(vars=model.observed_RVs, sum=False) if model.observed_RVs else []
    terms = clone_replace(list(observed), replace=parts, rebuild_strict=False)
    return of_batch([logp, gradient]), of_batch(back), _when_asked(lambda: of_batch(terms))


def _when_asked(compile_: Callable[[], Compiled]) -> Compiled:
    """A function that is compiled at its first call."""
    made: list[Compiled] = []

    def call(points: np.ndarray) -> Any:
        if not made:
            made.append(compile_())
        return made[0](points)

    return call


def _flat(point: dict[str, np.ndarray], values: Sequence[Any]) -> np.ndarray:
    return np.concatenate([np.ravel(point[v.name]).astype(np.float64) for v in values])


def _variable(model: Any, name: str, owner: str, shape: tuple[int, ...]) -> Variable:
    """A variable with the dims its model gives it, where they have its shape."""
    dims = model.named_vars_to_dims.get(owner)
    coords = {dim: labels for dim, labels in model.coords.items() if labels is not None}
    if dims is None or len(dims) != len(shape):
        return variable(name, shape)
    sizes = {dim: len(labels) for dim, labels in coords.items()}
    kept = [dim if sizes.get(dim, size) == size else None for dim, size in zip(dims, shape)]
    return variable(name, shape, kept, coords)
