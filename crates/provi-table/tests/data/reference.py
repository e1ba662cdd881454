"""Reference values for the tests, by other means than the crate's own.

Needs numpy, scipy and pyarrow. Writes bases.json (orthonormal polynomials by QR, B-splines by scipy) and the
Parquet files, next to this script.
"""
import datetime
import decimal
import json
import pathlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.interpolate import BSpline

here = pathlib.Path(__file__).parent
x = np.array([1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 4.0, 7.5])


def poly(x, degree):
    q, r = np.linalg.qr(np.vander(x - x.mean(), degree + 1, increasing=True))
    return (q * np.sign(np.diag(r)))[:, 1:]


def bs(x, count, at):
    inner = np.quantile(x, np.linspace(0, 1, count - 3 + 2)[1:-1])
    knots = np.concatenate([[x.min()] * 4, inner, [x.max()] * 4])
    size = len(knots) - 4
    columns = [BSpline(knots, np.eye(size)[i], 3, extrapolate=True)(at) for i in range(1, size)]
    return np.stack(columns, axis=1)


beyond = np.array([0.0, 14.0])
json.dump(
    {
        "x": x.tolist(),
        "poly3": poly(x, 3).tolist(),
        "bs3": bs(x, 3, x).tolist(),
        "bs5": bs(x, 5, x).tolist(),
        "beyond": beyond.tolist(),
        "bs5_beyond": bs(x, 5, beyond).tolist(),
    },
    open(here / "bases.json", "w"),
    indent=1,
)

table = pa.table(
    {
        "y": pa.array([1, 0, 1, 1], pa.int32()),
        "big": pa.array([1, 2, 3, 2**53 + 1], pa.int64()),
        "unsigned": pa.array([0, 1, 2**32 - 1, 7], pa.uint32()),
        "half": pa.array([0.5, None, float("nan"), -1.5], pa.float32()),
        "dose": pa.array([0.1, 0.2, 0.3, 0.7], pa.float64()),
        "price": pa.array([decimal.Decimal("1.25"), None, decimal.Decimal("-3.50"), decimal.Decimal("0.01")], pa.decimal128(9, 2)),
        "flag": pa.array([True, False, None, True]),
        "town": pa.array(["Bern", "Basel", None, "Zürich"]),
        "kind": pa.array(["a", "b", "a", "b"]).dictionary_encode(),
        "day": pa.array([datetime.date(2024, 1, 31), None, datetime.date(1969, 12, 31), datetime.date(2000, 2, 29)]),
        "at": pa.array([datetime.datetime(2024, 1, 31, 13, 45, 7)] * 4, pa.timestamp("us")),
        "empty": pa.array([None] * 4, pa.float64()),
    }
)
for codec in ["none", "snappy", "zstd", "gzip"]:
    pq.write_table(table, here / f"table-{codec}.parquet", compression=codec, row_group_size=3)
pq.write_table(pa.table({"x": [1.0], "list": [[1, 2]]}), here / "nested.parquet")
pq.write_table(pa.table({"x": pa.array([], pa.float64())}), here / "no-rows.parquet")
