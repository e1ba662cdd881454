"""Where a sampler begins: starting points and a mass matrix from a fit."""

from __future__ import annotations

import json
import os
import pathlib
from dataclasses import dataclass
from typing import Any, Mapping, Sequence, Union

import numpy as np


@dataclass(frozen=True)
class NutsStart:
    """Starting points of chains and a mass matrix for NUTS, from a fit: :meth:`Fit.nuts_start`.

    The points are independent draws of q, spread as the posterior is where q is near it, and the covariance of q stands in for
    the one that a warm-up has to learn. A sampler that starts so still needs some warm-up for its step size.
    """

    points: np.ndarray
    """(chains, d), in the coordinates of the fit: on the real line."""
    inverse_mass_matrix: np.ndarray
    """(d, d), the covariance of q. NumPyro, Stan and nutpie call it the inverse mass matrix or metric, PyMC a scaling with
    ``is_cov=True``."""
    parameters: Mapping[str, np.ndarray]
    """The same points on the scale of the model, by name: arrays (chains, …)."""
    sites: Sequence[tuple[str, tuple[int, ...]]]
    """What the coordinates are called in the model, and their shapes, in order."""

    @property
    def chains(self) -> int:
        return len(self.points)

    def numpyro_kernel(self) -> dict[str, Any]:
        """Options of ``numpyro.infer.NUTS``."""
        return {"inverse_mass_matrix": self.inverse_mass_matrix, "dense_mass": True}

    def numpyro_params(self) -> dict[str, np.ndarray]:
        """``init_params`` of ``numpyro.infer.MCMC.run``: unconstrained values by site, with an axis of chains if there are several."""
        out, at = {}, 0
        for name, shape in self.sites:
            size = int(np.prod(shape, dtype=int))
            out[name] = self.points[:, at : at + size].reshape(self.chains, *shape)
            at += size
        return out if self.chains > 1 else {name: values[0] for name, values in out.items()}

    def pymc_initvals(self) -> list[dict[str, np.ndarray]]:
        """``initvals`` of ``pymc.sample``, a dict for each chain."""
        return [{name: values[k] for name, values in self.parameters.items()} for k in range(self.chains)]

    def write_cmdstan(self, folder: Union[str, "os.PathLike[str]"]) -> tuple[list[pathlib.Path], pathlib.Path]:
        """Writes ``init_1.json``, … and ``metric.json`` for CmdStan and CmdStanPy; returns the paths.

        CmdStan: ``sample algorithm=hmc metric=dense_e metric_file=metric.json`` with ``init=init_1.json``. CmdStanPy:
        ``model.sample(inits=inits, metric=metric, …)``.
        """
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        inits = []
        for k, values in enumerate(self.pymc_initvals()):
            inits.append(folder / f"init_{k + 1}.json")
            inits[-1].write_text(json.dumps({name: np.asarray(value).tolist() for name, value in values.items()}))
        metric = folder / "metric.json"
        metric.write_text(json.dumps({"inv_metric": self.inverse_mass_matrix.tolist()}))
        return inits, metric
