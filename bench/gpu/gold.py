"""Writes the reference problems for `provi-gpu-check --gold`: python3 gold.py FOLDER_OF_WORKLOADS OUT

The folder has workloads.py and the optima (gold/Wk.npz); each problem becomes one file of little-endian 64-bit numbers:
family, rows, d, f*, the part of f that is not the rows', rows, responses, m, C packed by rows.
"""

import json
import os
import sys

import numpy as np


def main():
    source, out = sys.argv[1:]
    sys.path.insert(0, source)
    import workloads

    os.makedirs(out, exist_ok=True)
    for name in workloads.NAMES:
        model = workloads.Model(name)
        d = model.d
        with open(os.path.join(workloads.GOLD, name + ".json")) as file:
            best = json.load(file)["f_star"]
        mean, factor = workloads.load_q(os.path.join(workloads.GOLD, name + ".npz"))
        entropy = np.sum(np.log(np.abs(np.diag(factor)))) + 0.5 * d * (workloads.LOG2PI + 1)
        prior = model.P0
        if name == "W1":
            # The rows are Gaussian: P0 holds them, and the prior alone is I.
            rows, response, family, prior = model.data["X"], model.data["y"], 1.0, np.eye(d)
            constant = 0.5 * (len(rows) + d) * workloads.LOG2PI
        elif name == "W5":
            rows, response, family, prior = np.linalg.cholesky(model.P0).T, np.zeros(d), 1.0, np.zeros((d, d))
            constant = 0.0
        else:
            rows, response, family, constant = model.A, model.y, 0.0, -model.c0
        quadratic = 0.5 * mean @ (prior @ mean) + 0.5 * np.sum(factor * (prior @ factor))
        head = [family, len(rows), d, best, quadratic + constant - entropy]
        packed = factor[np.tril_indices(d)]
        parts = [np.asarray(part, dtype="<f8").ravel() for part in (head, rows, response, mean, packed)]
        np.concatenate(parts).tofile(os.path.join(out, name + ".f64"))
        print(name, rows.shape, best)


if __name__ == "__main__":
    main()
