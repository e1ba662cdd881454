"""Draws for ArviZ, straight from memory, laid out as `provi sample` lays out its Zarr stores."""

from __future__ import annotations

import json
import warnings
from typing import Any, Mapping, Optional

import numpy as np

from . import _provi


def to_arviz(
    fit: Any,
    draws: Optional[int],
    chains: Optional[int],
    seed: Optional[int],
    exact: Any = None,
    tv: Optional[float] = None,
    weighted: Any = None,
    posterior_predictive: Any = None,
    rows: Any = None,
) -> Any:
    try:
        import arviz
        import xarray
    except ImportError as error:
        raise ImportError("to_arviz needs ArviZ: pip install arviz") from error
    usual_chains, usual_draws = fit._core.usual_draws()
    chains, draws = chains or usual_chains, draws or usual_draws
    points, law, bound, note = fit._drawn(chains * draws, seed, exact, tv, weighted)
    if len(points) < chains * draws:
        chains, draws = 1, len(points)
    by_variable = fit._by_variable(points)
    axes = {"chain": np.arange(chains), "draw": np.arange(draws)}
    library = {"inference_library": "provi", "inference_library_version": _provi.__version__}
    attrs = {**library, **_attributes(fit, seed, law, bound, note or _note(fit, law))}

    layout = {variable.name: variable for variable in fit.variables}
    data, coords = _shaped(by_variable, layout, chains, draws)
    if law == "mixture":
        found = {name: x.reshape(chains, draws) for name, x in fit.sample_scales(chains * draws, seed).items()}
        if "sigma" in found:
            data["sigma"] = (("chain", "draw"), found["sigma"])
        for kind, dim in (("sd", "scale"), ("cor", "correlation"), ("gap", "level")):
            names = [name for name in found if name.startswith(f"{kind}(")]
            if names:
                data[kind] = (("chain", "draw", dim), np.stack([found[name] for name in names], axis=-1))
                coords[dim] = [name[len(kind) + 1 : -1] for name in names]
    posterior = xarray.Dataset(data, coords=coords, attrs=attrs)

    log_q = fit.log_density(points).reshape(chains, draws)
    stats = xarray.Dataset({"log_q": (("chain", "draw"), log_q)}, coords=axes, attrs=library)

    table = fit.summary()
    renamed = {"p_positive": "probability_positive", "p_error": "probability_positive_error"}
    kept = {renamed.get(name, name): table[name][: fit.dim] for name in table if name not in ("lower", "upper")}
    moments = xarray.Dataset(
        {name: (("coefficient",), values) for name, values in kept.items()},
        coords={"coefficient": fit.names},
        attrs=library,
    )
    groups = {"posterior": posterior, "sample_stats": stats, "moments": moments}
    log_likelihood = getattr(fit, "_log_likelihood", None)
    if rows is not None:
        drawn = [data[name][1].reshape(chains * draws, -1) for name in ("sigma", "gap") if law == "mixture" and name in data]
        scales = np.ascontiguousarray(np.hstack(drawn)) if drawn else None
        found = fit._likelihoods(rows, points, scales).reshape(chains, draws, -1)
        coords = {**axes, "row": np.arange(found.shape[-1])}
        groups["log_likelihood"] = xarray.Dataset({"y": (("chain", "draw", "row"), found)}, coords=coords, attrs=library)
    elif log_likelihood is not None:
        groups["log_likelihood"] = _by_draw(xarray, log_likelihood(points), chains, draws, library)
    replicated = _replicated(fit, points, by_variable, fit.seed if seed is None else seed, posterior_predictive)
    if replicated is not None:
        groups["posterior_predictive"] = _by_draw(xarray, replicated, chains, draws, library)
        observed = {name: np.asarray(x) for name, x in (getattr(fit, "_observed", None) or {}).items()}
        if observed:
            named = {name: (tuple(f"{name}_dim_{i}" for i in range(x.ndim)), x) for name, x in observed.items()}
            groups["observed_data"] = xarray.Dataset(named, attrs=library)
    return packed(groups, attrs)


def packed(groups: Mapping[str, Any], attrs: Mapping[str, Any]) -> Any:
    """Groups as the installed ArviZ holds them."""
    import arviz
    import xarray

    if hasattr(arviz, "InferenceData"):
        return arviz.InferenceData(attrs=attrs, warn_on_custom_groups=False, **groups)
    tree = xarray.DataTree.from_dict(groups)
    tree.attrs.update(attrs)
    return tree


def groups_of(by_variable: Any, layout: Any, log_q: np.ndarray, chains: int, draws: int, attrs: dict[str, Any]) -> dict[str, Any]:
    """The draws of a law about which nothing is proved, and its log density at them."""
    try:
        import arviz  # noqa: F401
        import xarray
    except ImportError as error:
        raise ImportError("to_arviz needs ArviZ: pip install arviz") from error
    library = {"inference_library": "provi", "inference_library_version": _provi.__version__}
    data, coords = _shaped(by_variable, layout, chains, draws)
    stats = {"log_q": (("chain", "draw"), log_q.reshape(chains, draws))}
    axes = {"chain": np.arange(chains), "draw": np.arange(draws)}
    return {
        "posterior": xarray.Dataset(data, coords=coords, attrs={**library, **attrs}),
        "sample_stats": xarray.Dataset(stats, coords=axes, attrs=library),
    }


def _shaped(by_variable: Any, layout: Any, chains: int, draws: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays (n, …) by name under their dimensions, and the labels of these."""
    data: dict[str, Any] = {}
    coords: dict[str, Any] = {"chain": np.arange(chains), "draw": np.arange(draws)}
    for name, values in by_variable.items():
        shaped = values.reshape(chains, draws, *values.shape[1:])
        variable = layout.get(name)
        if variable is not None and variable.shape == values.shape[1:]:
            dims = variable.dims
            coords.update({dim: list(labels) for dim, labels in zip(dims, variable.coords)})
        else:
            dims = tuple(f"{name}_dim_{i}" for i in range(values.ndim - 1))
        data[name] = (("chain", "draw", *dims), shaped)
    return data, coords


def _by_draw(xarray: Any, found: Mapping[str, Any], chains: int, draws: int, attrs: dict[str, Any]) -> Any:
    """Arrays (n, …) by name as a group."""
    axes = {"chain": np.arange(chains), "draw": np.arange(draws)}
    shaped = {}
    for name, values in found.items():
        x = np.asarray(values)
        if x.shape[:1] != (chains * draws,):
            raise ValueError(f"{name} has shape {x.shape}, expected a first axis of the {chains * draws} draws")
        shaped[name] = (("chain", "draw", *(f"{name}_dim_{i}" for i in range(x.ndim - 1))), x.reshape(chains, draws, *x.shape[1:]))
    return xarray.Dataset(shaped, coords=axes, attrs=attrs)


def _replicated(fit: Any, points: np.ndarray, by_variable: Any, seed: int, asked: Any) -> Optional[Mapping[str, Any]]:
    """Replicated observations: by the user's function, or by the model itself where it can."""
    if asked is False:
        return None
    if asked is not None:
        if not callable(asked):
            raise TypeError(f"posterior_predictive is a {type(asked).__name__}, expected a function of draws and a generator, or False")
        found = asked(by_variable, np.random.default_rng(seed))
        if not isinstance(found, Mapping):
            raise TypeError(f"posterior_predictive returned a {type(found).__name__}, expected arrays by name")
        return found
    own = getattr(fit, "_posterior_predictive", None)
    if own is None:
        return None
    try:
        return own(points, seed)
    except Exception as error:  # a model that can be evaluated need not be one that can be drawn from
        warnings.warn(
            f"the model's observations could not be replicated ({type(error).__name__}: {error}), so there is no group "
            "posterior_predictive; give a function, or False",
            stacklevel=4,
        )
        return None


_NOTES = {
    "psis": "Pareto smoothed importance resampling: not covered by the certificate",
    "gaussian": "independent draws of the certified Gaussian",
    "mixture": "independent draws of a mixture of Gaussians over the scales, with the scales of each draw",
}


def _note(fit: Any, law: str) -> str:
    if law == "gaussian" and not fit._record["certified"]:
        return "independent draws of the fitted Gaussian, about which nothing is proved"
    return _NOTES[law]


def _attributes(fit: Any, seed: Optional[int], law: str, bound: Optional[float], note: str) -> dict[str, Any]:
    """What is proved, as flat attributes that survive file formats; the whole certificate as JSON in a string."""
    certificate = fit.certificate
    lower, upper = fit.log_evidence
    found = {
        "provi_seed": fit.seed if seed is None else seed,
        "provi_draws": law,
        "provi_draws_tv": bound,
        "provi_draws_note": note,
        "provi_verdict": None if fit.trust is None else fit.trust.line,
        "provi_gap_bound": certificate.gap.bound,
        "provi_kl_bound": certificate.kl.bound,
        "provi_tv_bound": certificate.tv.bound,
        "provi_log_evidence_lower": lower,
        "provi_log_evidence_upper": upper,
        "provi_failure_probability": certificate.grounds.failure_probability,
        "provi_certificate": json.dumps(certificate.to_dict()),
        **{f"provi_{key}": value for key, value in fit.attrs.items()},
    }
    return {key: value for key, value in found.items() if value is not None}
