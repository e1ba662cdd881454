"""Data as users have them → the arrays of the native module, names carried through."""

from __future__ import annotations

import ctypes
from typing import Any, Optional

import numpy as np

Names = Optional[list[str]]


def design(X: Any, names: Any = None) -> tuple[Any, Names]:
    """The rows of X as one float64 array, or as compressed rows if X is sparse; and the names of its columns."""
    found: Names = None
    if _is_sparse(X):
        rows: Any = _compressed(X)
        width = rows[3][1]
    else:
        rows, found = _dense(X)
        width = rows.shape[1]
    if names is not None:
        found = _given(names)
        if len(found) != width:
            raise ValueError(f"{len(found)} names were given for {width} columns of X")
    return rows, found


def vector(values: Any, what: str) -> np.ndarray:
    """One number for each row: an array, a list, a Series, a column of a data frame."""
    if hasattr(values, "__dataframe__") or hasattr(values, "columns"):
        array, _ = _dense(values)
    else:
        array = _floats(_materialised(values), what)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{what} has shape {array.shape}, expected one number for each row")
    return np.ascontiguousarray(array)


def optional_vector(values: Any, what: str) -> Optional[np.ndarray]:
    return None if values is None else vector(values, what)


def labels(values: Any, what: str) -> tuple[list[int], list[str]]:
    """Group labels as numbers from 0, and the labels in that order."""
    array = np.asarray(_materialised(values))
    if array.ndim != 1:
        raise ValueError(f"{what} has shape {array.shape}, expected one label for each row")
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise ValueError(f"{what} holds missing values")
    if array.dtype == object and any(x is None or x != x for x in array):
        raise ValueError(f"{what} holds missing values")
    levels, codes = np.unique(array, return_inverse=True)
    return [int(code) for code in codes], [str(level) for level in levels]


def whole(value: Any, what: str, most: int = 2**64 - 1) -> Optional[int]:
    """A whole number that the library can hold, or none."""
    if value is None:
        return None
    exact = isinstance(value, (int, np.integer)) or (isinstance(value, (float, np.floating)) and float(value).is_integer())
    if not exact or isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{what} = {value!r}; must be a whole number")
    if not 0 <= value <= most:
        raise ValueError(f"{what} = {value}; must be between 0 and {most}")
    return int(value)


def names(given: Any) -> Names:
    """A name for each coordinate, or none."""
    return None if given is None else _given(given)


def _given(given: Any) -> list[str]:
    if isinstance(given, (str, bytes)):
        raise TypeError(f"names = {given!r} is one text; give a list with a name for each")
    return [str(name) for name in given]


def _number(value: Any, what: str) -> float:
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{what} = {value!r}; must be a number")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{what} is a {type(value).__name__}, expected a number") from None


def spread(value: Any) -> Any:
    """One number, or one for each coefficient."""
    if value is None or np.ndim(value) == 0:
        return None if value is None else _number(value, "prior_scale")
    return vector(value, "prior_scale")


def square(value: Any, what: str) -> Optional[np.ndarray]:
    """A matrix; a data frame is taken by position."""
    if value is None:
        return None
    array = _floats(_materialised(value), what)
    if array.ndim != 2:
        raise ValueError(f"{what} has shape {array.shape}, expected a matrix")
    return np.ascontiguousarray(array)


def curvature(value: Any, what: str) -> Any:
    """A number, or a matrix."""
    if value is None or np.ndim(value) == 0:
        return None if value is None else _number(value, what)
    return square(value, what)


def _is_sparse(X: Any) -> bool:
    return hasattr(X, "tocsr") and hasattr(X, "nnz")


def _compressed(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[int, int]]:
    csr = X.tocsr()
    if len(csr.shape) != 2:
        raise ValueError(f"X has shape {csr.shape}, expected a matrix")
    index = lambda array: np.ascontiguousarray(array, dtype=np.int64)  # noqa: E731
    values = _floats(csr.data, "X")
    return index(csr.indptr), index(csr.indices), np.ascontiguousarray(values), (int(csr.shape[0]), int(csr.shape[1]))


def _dense(X: Any) -> tuple[np.ndarray, Names]:
    names: Names = None
    if isinstance(X, np.ndarray) or not _is_frame(X):
        array = _floats(_materialised(X), "X")
        if array.ndim == 1:
            raise ValueError(
                f"X has shape {array.shape}, expected (rows, columns); a single column is X.reshape(-1, 1)"
            )
    else:
        names, columns = _columns(X)
        array = np.column_stack(columns) if columns else np.empty((0, 0))
    if array.ndim != 2:
        raise ValueError(f"X has shape {array.shape}, expected (rows, columns)")
    return np.ascontiguousarray(array), names


def _is_frame(X: Any) -> bool:
    named = hasattr(X, "columns") and hasattr(X, "to_numpy")
    return named or hasattr(X, "__dataframe__") or hasattr(X, "__arrow_c_stream__")


def _columns(X: Any) -> tuple[list[str], list[np.ndarray]]:
    """The columns of a data frame, each by its name."""
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):
        names = [str(name) for name in X.columns]
        picked = [X.iloc[:, i] if hasattr(X, "iloc") else X[name] for i, name in enumerate(X.columns)]
        return names, [_floats(column.to_numpy(), f"column {name!r}") for name, column in zip(names, picked)]
    if not hasattr(X, "__dataframe__"):
        X = _from_arrow(X)
    frame = X.__dataframe__(allow_copy=True)
    names = [str(name) for name in frame.column_names()]
    parts = [_interchange(frame.get_column(i), name) for i, name in enumerate(names)]
    return names, parts


def _from_arrow(X: Any) -> Any:
    for library, read in (("pyarrow", lambda m: m.table(X)), ("polars", lambda m: m.DataFrame(X))):
        try:
            module = __import__(library)
        except ImportError:
            continue
        return read(module)
    raise TypeError(f"{type(X).__name__} speaks Arrow; reading it needs pyarrow or polars")


# Kinds of the interchange protocol that are numbers: signed, unsigned, float, bool.
_KINDS = {0: "i", 1: "u", 2: "f", 20: "b"}


def _interchange(column: Any, name: str) -> np.ndarray:
    """A column of the data frame interchange protocol, read from its buffers."""
    if column.null_count:
        raise ValueError(f"column {name!r} holds {column.null_count} missing values")
    pieces = []
    for chunk in column.get_chunks() if column.num_chunks() > 1 else [column]:
        kind, bits, _, _ = chunk.dtype
        if int(kind) not in _KINDS:
            raise TypeError(f"column {name!r} is not numeric; use provi.fit_formula for categories")
        buffer, _ = chunk.get_buffers()["data"]
        if int(kind) == 20 and bits == 1:
            packed = np.frombuffer(_bytes(buffer), dtype=np.uint8)
            found = np.unpackbits(packed, bitorder="little")[chunk.offset : chunk.offset + chunk.size()]
        else:
            dtype = np.dtype(f"{_KINDS[int(kind)]}{bits // 8}")
            found = np.frombuffer(_bytes(buffer), dtype=dtype)[chunk.offset : chunk.offset + chunk.size()]
        pieces.append(found.astype(np.float64))
    return np.concatenate(pieces)


def _bytes(buffer: Any) -> Any:
    return (ctypes.c_char * buffer.bufsize).from_address(buffer.ptr)


def _materialised(values: Any) -> Any:
    """A Series as an array; anything else as it is."""
    to_numpy = getattr(values, "to_numpy", None)
    return to_numpy() if callable(to_numpy) else values


def _floats(values: Any, what: str) -> np.ndarray:
    if np.ma.isMaskedArray(values) and np.ma.getmaskarray(values).any():
        raise ValueError(f"{what} holds {np.ma.getmaskarray(values).sum()} masked values; leave their rows out")
    array = np.asarray(values)
    if array.dtype == np.float64:
        return array
    if array.dtype.kind == "c":
        raise TypeError(f"{what} is complex, expected real numbers")
    if array.dtype.kind not in "biuf":
        try:
            return array.astype(np.float64) if array.dtype == object else _refuse(array, what)
        except (TypeError, ValueError, OverflowError):
            _refuse(array, what)
    return array.astype(np.float64)


def _refuse(array: np.ndarray, what: str) -> Any:
    raise TypeError(f"{what} has dtype {array.dtype}, expected numbers; use provi.fit_formula for categories")
