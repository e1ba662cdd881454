"""Data frames of any make → named columns with their types, for formulas."""

from __future__ import annotations

import os
from typing import Any, Callable, Mapping, Optional, Union

import numpy as np

# Name, kind, values, where they are missing, levels of a category: what the native module reads.
Column = tuple[str, str, Any, Optional[np.ndarray], Optional[list[str]]]
Source = Union[str, tuple[str, list[Column]]]


def source(data: Any) -> Source:
    """A path as it is; anything else as a table of columns.

    pandas, polars, pyarrow, whatever speaks Arrow or has ``__dataframe__``, and mappings of names to arrays. Categories with
    an order keep it (pandas ``Categorical``, polars ``Enum``, Arrow dictionaries); where it means something, ``ordered(column)`` needs no
    list of levels.
    """
    if isinstance(data, (str, os.PathLike)):
        return os.fspath(data)
    if isinstance(data, Mapping):
        return "the data", [column(str(name), values) for name, values in data.items()]
    package = type(data).__module__.split(".")[0]
    if package == "pandas":
        return "the data frame", [_pandas(str(name), data.iloc[:, i]) for i, name in enumerate(data.columns)]
    if package == "polars":
        frame = data.collect() if hasattr(data, "collect") else data
        return "the data frame", [_polars(series.name, series) for series in frame.get_columns()]
    table = _arrow_table(data)
    return "the table", [_arrow(name, values) for name, values in zip(table.column_names, table.columns)]


def column(name: str, values: Any) -> Column:
    """One column of a mapping: a Series of pandas or polars, or anything that is an array to numpy."""
    package = type(values).__module__.split(".")[0]
    if package == "pandas":
        return _pandas(name, _series(values))
    if package == "polars":
        return _polars(name, values)
    array = np.ma.asanyarray(values) if np.ma.isMaskedArray(values) else np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"column {name!r} has shape {array.shape}, expected one value for each row")
    missing = np.ma.getmaskarray(array) if np.ma.isMaskedArray(array) else None
    return _numpy(name, np.asarray(array), missing)


def _numpy(name: str, array: np.ndarray, missing: Optional[np.ndarray]) -> Column:
    kind = array.dtype.kind
    if kind == "f":
        return name, "numbers", np.ascontiguousarray(array, dtype=np.float64), missing, None
    if kind == "b":
        return name, "booleans", np.ascontiguousarray(array), missing, None
    if kind in "iu":
        if kind == "u" and array.dtype.itemsize == 8 and len(array) and array.max() > np.iinfo(np.int64).max:
            gaps = np.zeros(len(array), dtype=bool) if missing is None else missing
            return name, "digits", [None if gap else str(x) for x, gap in zip(array.tolist(), gaps)], None, None
        return name, "integers", np.ascontiguousarray(array, dtype=np.int64), missing, None
    if kind == "M":
        return _dates(name, array, missing)
    if kind in "OUST":
        return _objects(name, array.astype(object), missing)
    raise TypeError(f"column {name!r} has dtype {array.dtype}, which no formula can use")


def _dates(name: str, array: np.ndarray, missing: Optional[np.ndarray]) -> Column:
    gaps = np.isnat(array) if missing is None else np.isnat(array) | missing
    text = array.astype("datetime64[us]").astype(str)
    if all(t.endswith("T00:00:00.000000") for t, gap in zip(text, gaps) if not gap):
        text = array.astype("datetime64[D]").astype(str)
    return name, "dates", [None if gap else str(t) for t, gap in zip(text, gaps)], None, None


def _objects(name: str, values: np.ndarray, missing: Optional[np.ndarray]) -> Column:
    """Objects of Python, by what they all are."""
    gaps = np.array([x is None or x != x or type(x).__name__ in ("NAType", "NaTType") for x in values], dtype=bool)
    if missing is not None:
        gaps |= missing
    kept = [x for x, gap in zip(values, gaps) if not gap]
    of: Callable[..., bool] = lambda *kinds: bool(kept) and all(isinstance(x, kinds) for x in kept)  # noqa: E731
    fill = lambda nothing: [nothing if gap else x for x, gap in zip(values, gaps)]  # noqa: E731
    if of(bool, np.bool_):
        return name, "booleans", np.array(fill(False), dtype=bool), gaps, None
    if of(int, np.integer) and any(abs(int(x)) > np.iinfo(np.int64).max for x in kept):
        return name, "digits", [None if gap else str(int(x)) for x, gap in zip(values, gaps)], None, None
    if of(int, np.integer):
        return name, "integers", np.array(fill(0), dtype=np.int64), gaps, None
    if of(int, float, np.integer, np.floating) or not kept:
        return name, "numbers", np.array(fill(np.nan), dtype=np.float64), None, None
    if all(hasattr(x, "isoformat") for x in kept):
        return name, "dates", [None if gap else x.isoformat() for x, gap in zip(values, gaps)], None, None
    return name, "text", [None if gap else _text(x) for x, gap in zip(values, gaps)], None, None


def _text(x: Any) -> str:
    return x.decode() if isinstance(x, bytes) else str(x)


def _categories(ordered: bool) -> str:
    """Whether the order of the levels means something: ``ordered(column)`` then needs no list of them."""
    return "ordered categories" if ordered else "categories"


def _series(values: Any) -> Any:
    import pandas

    return values if isinstance(values, pandas.Series) else pandas.Series(values)


def _pandas(name: str, series: Any) -> Column:
    dtype, gaps = series.dtype, series.isna().to_numpy(dtype=bool)
    if hasattr(dtype, "categories"):
        levels = [str(level) for level in dtype.categories]
        return name, _categories(dtype.ordered), np.asarray(series.cat.codes, dtype=np.int64), None, levels
    kind = getattr(dtype, "kind", "O")
    if kind == "b":
        return name, "booleans", series.fillna(False).to_numpy(dtype=bool), gaps, None
    if kind in "iu":
        return _numpy(name, series.fillna(0).to_numpy(dtype=f"{kind}8"), gaps)
    if kind == "f":
        return name, "numbers", series.to_numpy(dtype=np.float64, na_value=np.nan), None, None
    if kind == "M":
        zone = getattr(dtype, "tz", None)
        plain = series.dt.tz_convert("UTC").dt.tz_localize(None) if zone is not None else series
        return _dates(name, plain.to_numpy(dtype="datetime64[us]"), None)
    return _objects(name, series.to_numpy(dtype=object), gaps)


def _polars(name: str, series: Any) -> Column:
    import polars

    dtype, gaps = series.dtype, series.is_null().to_numpy()
    if dtype == polars.Boolean:
        return name, "booleans", np.array(series.fill_null(False).to_numpy()), gaps, None
    if dtype.is_integer():
        return _numpy(name, np.array(series.fill_null(0).to_numpy()), gaps)
    if dtype.is_numeric():
        numbers = series.cast(polars.Float64).fill_null(float("nan"))
        return name, "numbers", np.array(numbers.to_numpy()), None, None
    if isinstance(dtype, polars.Enum):
        codes = series.to_physical().cast(polars.Int64).fill_null(-1)
        return name, _categories(True), np.array(codes.to_numpy()), None, list(dtype.categories)
    if dtype.is_temporal():
        return _objects(name, np.array(series.to_list(), dtype=object), gaps)
    text = series.cast(polars.String).to_list()
    return name, "text", text, None, None


def _arrow_table(data: Any) -> Any:
    """Anything that speaks Arrow, or the interchange protocol of data frames, as a table of pyarrow."""
    speaks = hasattr(data, "__arrow_c_stream__") or type(data).__module__.split(".")[0] == "pyarrow"
    if not speaks and not hasattr(data, "__dataframe__"):
        raise TypeError(
            f"data is a {type(data).__name__}; expected a data frame (pandas, polars, pyarrow, anything with "
            "__arrow_c_stream__ or __dataframe__), a mapping of names to arrays, or the path of a file"
        )
    try:
        import pyarrow
        from pyarrow.interchange import from_dataframe
    except ImportError as error:
        raise ImportError(f"reading a {type(data).__name__} needs pyarrow: pip install pyarrow") from error
    return pyarrow.table(data) if speaks else from_dataframe(data)


def _arrow(name: str, values: Any) -> Column:
    import pyarrow.types as types

    array = values.combine_chunks() if hasattr(values, "combine_chunks") else values
    kind, gaps = array.type, np.asarray(array.is_null())
    if types.is_dictionary(kind):
        array = array.unify_dictionaries() if hasattr(array, "unify_dictionaries") else array
        parts = array.chunks if hasattr(array, "chunks") else [array]
        levels = [str(level) for level in parts[0].dictionary.to_pylist()] if parts else []
        codes = [p.indices.fill_null(-1).to_numpy(zero_copy_only=False) for p in parts]
        return name, _categories(kind.ordered), np.concatenate(codes or [np.empty(0)]).astype(np.int64), None, levels
    if types.is_boolean(kind):
        return name, "booleans", np.array(array.fill_null(False), dtype=bool), gaps, None
    if types.is_integer(kind):
        return _numpy(name, np.array(array.fill_null(0)), gaps)
    if types.is_floating(kind):
        return name, "numbers", np.array(array, dtype=np.float64), None, None
    return _objects(name, np.array(array.to_pylist(), dtype=object), gaps)
