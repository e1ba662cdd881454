#!/usr/bin/env python3
"""Rows a second of a pass over Parquet: provi's, and pyarrow with the two matrix products in numpy.

    python3 bench/stream.py                 # 2 million rows, d = 30, half a gigabyte
    python3 bench/stream.py --rows 50000000 --fit   # 12 GB, and a whole fit within 2 GiB; some twenty minutes

One file, one machine, one run; both readers have all cores, and the file is in the system's cache as far as that goes. The values at
the first point must agree. Needs cargo and pip; makes its own virtual environment.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time
import venv

ROOT = pathlib.Path(__file__).resolve().parents[1]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PACKAGES = ["numpy==2.4.6", "pyarrow==26.0.1"]
D, GROUP, PASSES = 30, 250_000, 3


def again_inside(home):
    """Runs this script in an environment that has what it needs."""
    python = home / "bin" / "python"
    if not python.exists():
        venv.create(home, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    sys.exit(subprocess.run([python, __file__, *sys.argv[1:], "--inside"]).returncode)


def make(path, rows):
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    generator = np.random.default_rng(7)
    beta = 0.3 * generator.normal(size=D)
    schema = pa.schema([(name, pa.float64()) for name in ["y", *(f"x{i}" for i in range(D))]])
    part = path.with_suffix(".part")
    with pq.ParquetWriter(part, schema, compression="none", use_dictionary=False) as writer:
        for first in range(0, rows, GROUP):
            x = generator.normal(size=(min(GROUP, rows - first), D))
            chance = 1 / (1 + np.exp(0.5 - x @ beta))
            y = (generator.uniform(size=len(x)) < chance).astype(float)
            writer.write_table(pa.table([y, *(np.ascontiguousarray(x[:, i]) for i in range(D))], schema=schema))
    part.rename(path)


def python_pass(path, count):
    """Values and gradients of the log likelihood at `count` points, row group by row group."""
    import numpy as np
    import pyarrow.parquet as pq

    points = 0.01 * (np.arange(count * (D + 1)) % 7).reshape(count, D + 1).T
    values, gradients = np.zeros(count), np.zeros((D + 1, count))
    file = pq.ParquetFile(path)
    for group in range(file.num_row_groups):
        table = file.read_row_group(group)
        y = table.column(0).to_numpy()
        x = np.column_stack([np.ones(len(y)), *(table.column(1 + i).to_numpy() for i in range(D))])
        s = x @ points
        values += (y[:, None] * s - np.logaddexp(0, s)).sum(axis=0)
        gradients += x.T @ (y[:, None] - 1 / (1 + np.exp(-s)))
    return values


def timed(work):
    best, found = float("inf"), None
    for _ in range(PASSES):
        begin = time.perf_counter()
        found = work()
        best = min(best, time.perf_counter() - begin)
    return best, found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--memory", type=int, default=256, metavar="MIB", help="for provi's passes")
    parser.add_argument("--file", type=pathlib.Path, help="an existing file of this layout")
    parser.add_argument("--fit", action="store_true", help="fit it too, within 2 GiB")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.inside:
        again_inside(TARGET / "stream-venv")
    import resource

    import numpy
    import pyarrow

    path = options.file or TARGET / f"stream-{options.rows}.parquet"
    if not path.exists():
        make(path, options.rows)
    build = ["cargo", "build", "--release", "--quiet", "-p", "provi-limits", "-p", "provi-cli"]
    subprocess.run(build, cwd=ROOT, check=True)
    limits = [TARGET / "release" / "provi-limits", "stream", path, str(options.memory)]
    ours = json.loads(subprocess.run(limits, check=True, capture_output=True, text=True).stdout)
    rows = ours["rows"]
    print(f"{rows} rows, d = {D + 1}; {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}; numpy {numpy.__version__}, pyarrow {pyarrow.__version__}")
    print(f"provi: {ours['ready']:.1f} s until the first pass (learning, digest, curvature), peak {ours['peak'] / 2**20:.0f} MiB of {options.memory} allowed\n")
    print("| points a pass | provi, rows/s | pyarrow and numpy, rows/s | × |\n|---|---|---|---|")
    for count in (1, 10):
        theirs, values = timed(lambda count=count: python_pass(path, count))
        mine = ours[str(count)]
        print(f"| {count} | {rows / mine:.3g} | {rows / theirs:.3g} | {theirs / mine:.2f} |")
        if count == 1:
            # The same point and the same rows: the values differ by the prior alone.
            assert abs(ours["value_1"] - values[0]) < 1e-6 * abs(values[0]) + 200, (ours["value_1"], values[0])
    if options.fit:
        begin = time.perf_counter()
        fit = [TARGET / "release" / "provi", "fit", path, "y ~ .", "--memory", "2GiB", "--audit-draws", "1000", "--json", "--quiet"]
        answer = json.loads(subprocess.run(fit, check=True, capture_output=True, text=True).stdout)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
        gap, kl = answer["certificate"]["gap"]["bound"], answer["certificate"]["kl"]["bound"]
        print(f"\nfit with its certificate: {time.perf_counter() - begin:.0f} s, peak {peak:.2f} GiB; gap ≤ {gap:.2g} nats, KL ≤ {kl:.2g} nats")


if __name__ == "__main__":
    main()
