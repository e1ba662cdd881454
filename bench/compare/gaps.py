"""Adds the exact gap to every rung of provi's ladders; called by run.py.

    gaps.py WORKLOAD F_STAR OUT...
"""

import json
import pathlib
import sys

import numpy as np

import problems


def main():
    name, f_star = sys.argv[1], float(sys.argv[2])
    problem = problems.Problem(name)
    gap = problems.Gap(problem, f_star)
    for out in map(pathlib.Path, sys.argv[3:]):
        found = json.loads(out.with_suffix(".json").read_text())
        answers = np.fromfile(out.with_suffix(".f64")).reshape(len(found["rungs"]), -1)
        for rung, w in zip(found["rungs"], answers):
            rung["gap"] = gap(w[: problem.d], problems.unpack(problem.d, w[problem.d :]))
        out.with_suffix(".json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
