"""Draws for ArviZ, straight from memory, laid out as `provi sample` lays out its Zarr stores."""

from __future__ import annotations

import json
from typing import Any, Optional

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
) -> Any:
    try:
        import arviz
        import xarray
    except ImportError as error:
        raise ImportError("to_arviz needs ArviZ: pip install arviz") from error
    usual_chains, usual_draws = fit._core.usual_draws()
    chains, draws = chains or usual_chains, draws or usual_draws
    points, law, bound = fit._drawn(chains * draws, seed, exact, tv, weighted)
    if len(points) < chains * draws:
        chains, draws = 1, len(points)
    by_variable = fit._by_variable(points)
    axes = {"chain": np.arange(chains), "draw": np.arange(draws)}
    library = {"inference_library": "provi", "inference_library_version": _provi.__version__}
    attrs = {**library, **_attributes(fit, seed, law, bound)}

    layout = {variable.name: variable for variable in fit.variables}
    data, coords = {}, dict(axes)
    for name, values in by_variable.items():
        shaped = values.reshape(chains, draws, *values.shape[1:])
        variable = layout.get(name)
        if variable is not None and variable.shape == values.shape[1:]:
            dims = variable.dims
            coords.update({dim: list(labels) for dim, labels in zip(dims, variable.coords)})
        else:
            dims = tuple(f"{name}_dim_{i}" for i in range(values.ndim - 1))
        data[name] = (("chain", "draw", *dims), shaped)
    posterior = xarray.Dataset(data, coords=coords, attrs=attrs)

    log_q = fit.log_density(points).reshape(chains, draws)
    stats = xarray.Dataset({"log_q": (("chain", "draw"), log_q)}, coords=axes, attrs=library)

    table = fit.summary()
    renamed = {"p_positive": "probability_positive", "p_error": "probability_positive_error"}
    kept = {renamed.get(name, name): table[name] for name in table if name not in ("lower", "upper")}
    moments = xarray.Dataset(
        {name: (("coefficient",), values) for name, values in kept.items()},
        coords={"coefficient": fit.names},
        attrs=library,
    )
    groups = {"posterior": posterior, "sample_stats": stats, "moments": moments}
    log_likelihood = getattr(fit, "_log_likelihood", None)
    if log_likelihood is not None:
        found = {name: np.asarray(values) for name, values in log_likelihood(points).items()}
        shaped = {
            name: (("chain", "draw", *(f"{name}_dim_{i}" for i in range(x.ndim - 1))), x.reshape(chains, draws, *x.shape[1:]))
            for name, x in found.items()
        }
        groups["log_likelihood"] = xarray.Dataset(shaped, coords=axes, attrs=library)
    if hasattr(arviz, "InferenceData"):
        return arviz.InferenceData(attrs=attrs, warn_on_custom_groups=False, **groups)
    tree = xarray.DataTree.from_dict(groups)
    tree.attrs.update(attrs)
    return tree


_NOTES = {
    "psis": "Pareto smoothed importance resampling: not covered by the certificate",
    "gaussian": "independent draws of the certified Gaussian",
    "exact": "independent draws of the posterior itself, by rejection",
    "tv": "independent draws whose law is within provi_draws_tv of the posterior in total variation",
}


def _note(fit: Any, law: str) -> str:
    if law == "gaussian" and not fit._record["certified"]:
        return "independent draws of the fitted Gaussian, about which nothing is proved"
    return _NOTES[law]


def _attributes(fit: Any, seed: Optional[int], law: str, bound: Optional[float]) -> dict[str, Any]:
    """What is proved, as flat attributes that survive file formats; the whole certificate as JSON in a string."""
    certificate = fit.certificate
    lower, upper = fit.log_evidence
    found = {
        "provi_seed": fit.seed if seed is None else seed,
        "provi_draws": law,
        "provi_draws_tv": bound,
        "provi_draws_note": _note(fit, law),
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
