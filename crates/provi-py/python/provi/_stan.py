"""Models out of compiled libraries: Stan's, and those of any language that can export C functions."""

from __future__ import annotations

import json
import os
import re
import zlib
from typing import Any, Mapping, Optional, Sequence, Union

import numpy as np

from . import _probe, _provi
from ._fit import Variable
from ._model import Model
from ._scale import ScaledModel, UserScale

_Path = Union[str, "os.PathLike[str]"]


def from_stan(
    model: _Path,
    data: Any = None,
    *,
    seed: Optional[int] = None,
    transformed: bool = False,
    generated: bool = False,
    mu: Optional[float] = None,
    smoothness: Optional[float] = None,
    bridgestan: Optional[_Path] = None,
) -> ScaledModel:
    """The posterior of a Stan model.

    model: a library that BridgeStan compiled, or a ``.stan`` file, which is compiled if BridgeStan is installed:
        ``bridgestan`` is its folder, else the environment variable ``BRIDGESTAN``, else the newest in ``~/.bridgestan``.
    data: a mapping from names to numbers and arrays; or JSON, as a text that begins with ``{`` or as the path of a file.
    seed: for what the model draws itself, such as random generated quantities; by default the library's own.
    transformed, generated: also show transformed parameters and generated quantities.
    mu, smoothness: declared bounds of the curvature of −log p over the unconstrained space, as in :func:`black_box`.

    Stan computes on unconstrained parameters: the Gaussian and its certificate, in ``fit.unconstrained``, are about those.
    Draws, summaries and plots of a fit are on the scale of the model; positions are counted from 1, as in Stan.

    A library is first tried in another process: if it crashes, that is a ``RuntimeError``, and nothing else is lost.
    """
    core = _open(model, data, True, seed, mu, smoothness, bridgestan)
    shown = (bool(transformed), bool(generated))
    variables, columns = _arrange(_provi.constrained_names(core, *shown))

    def transform(points: np.ndarray) -> dict[str, np.ndarray]:
        points = np.ascontiguousarray(points, dtype=np.float64)
        # Other draws get other random quantities; the same draws get the same.
        digest = zlib.crc32(points.tobytes()) if seed is None else zlib.crc32(points.tobytes(), seed)
        found = _provi.constrain(core, points, *shown, digest)
        shapes = [(len(points), *variable.shape) for variable in variables]
        return {v.name: found[:, at].reshape(shape) for v, at, shape in zip(variables, columns, shapes)}

    def record(answer: Any) -> str:
        return _provi.constrained_record(core, answer, *shown)

    order = tuple(at for positions in columns for at in positions)
    scale = UserScale(transform, tuple(variables), record=record, order=order)
    return ScaledModel(Model(core, attrs={"model": "Stan"}), scale)


def from_library(
    path: _Path,
    data: Any = None,
    *,
    mu: Optional[float] = None,
    smoothness: Optional[float] = None,
) -> Model:
    """A log density in any language: a shared library with the functions of ``provi.h``.

    data: what is passed to its ``provi_open``: the contents of the file at that path, ``bytes`` unchanged, or a mapping or a
        text that begins with ``{`` as JSON.
    mu, smoothness: declared bounds of the curvature of −log p, in place of the library's own.
    """
    return Model(_open(path, data, False, None, mu, smoothness, None))


def _open(
    path: _Path,
    data: Any,
    stan: bool,
    seed: Optional[int],
    mu: Optional[float],
    smoothness: Optional[float],
    bridgestan: Optional[_Path],
) -> Any:
    if mu is None and smoothness is not None:
        raise ValueError("smoothness was declared without mu; declare mu too, 0 if all that is known is that −log p is convex")
    if seed is not None and not 0 <= seed < 2**32:
        raise ValueError(f"seed = {seed} is not between 0 and 2³² − 1, as Stan needs")
    file, text = _data(data)
    source = {
        "path": os.fspath(path),
        "stan": stan,
        "data_file": file,
        "data_text": text,
        "seed": seed,
        "mu": mu,
        "smoothness": smoothness,
        "bridgestan": None if bridgestan is None else os.fspath(bridgestan),
    }
    return _provi.open_library(source, _probe.command())


def _data(data: Any) -> tuple[Optional[str], Optional[str]]:
    """A path, or a text."""
    if data is None:
        return None, None
    if isinstance(data, Mapping):
        return None, json.dumps(_plain(data, "data"))
    if isinstance(data, bytes):
        return None, data.decode()
    if isinstance(data, str) and data.lstrip().startswith("{"):
        return None, data
    if isinstance(data, (str, os.PathLike)):
        return os.fspath(data), None
    raise TypeError(f"data is a {type(data).__name__}, expected a mapping, JSON, or the path of a file")


def _plain(value: Any, name: str) -> Any:
    """A value as JSON has it: arrays as lists, and booleans as 0 and 1, since Stan has none."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item, str(key)) for key, item in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [_plain(item, name) for item in value]
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (int, float, str)):
        return value
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if hasattr(value, "tolist"):
        return _plain(value.tolist(), name)
    raise TypeError(f"{name} holds a {type(value).__name__}, which is no number, array or text")


def _arrange(names: Sequence[str]) -> tuple[list[Variable], list[list[int]]]:
    """Stan's names as variables, with the columns of each, the last axis fastest.

    ``theta.2.1`` is a position of ``theta``; Stan counts the first axis fastest. A name that is no such position, as in a
    tuple, stands for itself.
    """
    found: dict[str, dict[tuple[int, ...], int]] = {}
    for column, name in enumerate(names):
        match = re.fullmatch(r"([^.:]+)((?:\.\d+)+)", name)
        base, at = (match[1], tuple(map(int, match[2][1:].split(".")))) if match else (name, ())
        found.setdefault(base, {})[at] = column
    variables, columns = [], []
    for base, positions in found.items():
        shape = tuple(map(max, zip(*positions)))
        dims = tuple(f"{base}_dim_{axis}" for axis in range(len(shape)))
        variables.append(Variable(base, dims, tuple(tuple(map(str, range(1, size + 1))) for size in shape)))
        columns.append([positions[at] for at in sorted(positions)])
    return variables, columns
