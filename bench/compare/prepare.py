"""Writes one workload's numbers for provi, and its f*; called by run.py.

    prepare.py WORKLOAD DIRECTORY PROVI

W3's optimum is solved for by provi and accepted only if numpy's own gradient there proves it to 1e-9 nats.
"""

import json
import pathlib
import subprocess
import sys

import numpy as np

import problems


def main():
    name, directory, provi = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    problem = problems.Problem(name)
    problem.write(directory)
    f_star = problem.optimum()
    if f_star is None:
        out = directory / "optimum"
        subprocess.run([provi, problems.KINDS[name], directory, "optimum", "0", "0", out], check=True)
        w = np.fromfile(out.with_suffix(".f64"))
        m, C = w[: problem.d], problems.unpack(problem.d, w[problem.d :])
        bound = problem.error_bound(m, C)
        if not bound <= 1e-9:
            sys.exit(f"{name}: the optimum is only proved to {bound:g} nats")
        f_star = problem.value(m, C)
    (directory / "f_star.json").write_text(json.dumps(f_star))


if __name__ == "__main__":
    main()
