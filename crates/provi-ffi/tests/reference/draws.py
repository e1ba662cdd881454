"""Reference draws of a BridgeStan model, made without provi: python3 draws.py LIBRARY DATA OUT.csv [STEPS]

Four chains of random-walk Metropolis with a learnt covariance, by the library's own log density; nothing but Python's standard
library. For few parameters: a chain of STEPS (100,000 unless said) has about one independent draw in 10 d. Draws with a split
R-hat above 1.01 anywhere are refused. Better references, such as long runs of NUTS, fit the same CSV.
"""

import csv
import ctypes
import math
import random
import sys

CHAINS, KEPT, WORST = 4, 5000, 1.01


class Library:
    """What is called of bridgestan.h, version 2."""

    def __init__(self, path, data):
        self.lib = lib = ctypes.CDLL(path)
        for name in ("bs_name", "bs_param_names", "bs_param_unc_names"):
            getattr(lib, name).restype = ctypes.c_char_p
        lib.bs_model_construct.restype = lib.bs_rng_construct.restype = ctypes.c_void_p
        text = open(data, "rb").read() if data else b""
        self.message = ctypes.c_char_p()
        found = lib.bs_model_construct(text, ctypes.c_uint(1), ctypes.byref(self.message))
        if not found:
            raise SystemExit(f"{path} refused the data: {self.message.value.decode()}")
        self.model = ctypes.c_void_p(found)
        self.rng = ctypes.c_void_p(lib.bs_rng_construct(ctypes.c_uint(1), ctypes.byref(self.message)))
        self.dim = lib.bs_param_unc_num(self.model)
        self.names = lib.bs_param_names(self.model, True, False).decode().split(",")
        self.value = ctypes.c_double()
        self.point, self.gradient = (ctypes.c_double * self.dim)(), (ctypes.c_double * self.dim)()
        self.row = (ctypes.c_double * len(self.names))()

    def log_density(self, z):
        self.point[:] = z
        code = self.lib.bs_log_density_gradient(
            self.model, False, True, self.point, ctypes.byref(self.value), self.gradient, None
        )
        value = self.value.value
        return value if code == 0 and math.isfinite(value) else -math.inf

    def constrained(self, z):
        self.point[:] = z
        if self.lib.bs_param_constrain(self.model, True, False, self.point, self.row, self.rng, None):
            raise SystemExit("a draw could not be brought to the constrained scale")
        return list(self.row)


def factor(matrix):
    """The lower Cholesky factor."""
    out = [[0.0] * len(matrix) for _ in matrix]
    for i in range(len(matrix)):
        for j in range(i + 1):
            rest = matrix[i][j] - sum(out[i][k] * out[j][k] for k in range(j))
            out[i][j] = math.sqrt(max(rest, 1e-12)) if i == j else rest / out[j][j]
    return out


def covariance(points):
    n, d = len(points), len(points[0])
    mean = [sum(z[i] for z in points) / n for i in range(d)]
    entry = lambda i, j: sum((z[i] - mean[i]) * (z[j] - mean[j]) for z in points) / n  # noqa: E731
    return factor([[entry(i, j) + (1e-9 if i == j else 0.0) for j in range(d)] for i in range(d)])


def walk(model, seed, steps):
    """One chain: five rounds that learn size and shape of a step, then `steps` that learn nothing."""
    chance, d = random.Random(seed), model.dim
    value = -math.inf
    while value == -math.inf:
        z = [chance.uniform(-1.0, 1.0) for _ in range(d)]
        value = model.log_density(z)
    shape = [[0.1 if i == j else 0.0 for j in range(d)] for i in range(d)]
    size, kept = 2.38 / math.sqrt(d), []
    rounds = [max(1000, steps // 20)] * 5 + [steps]
    for number, length in enumerate(rounds):
        seen, accepted = [], 0
        every = max(1, length // KEPT)
        for step in range(length):
            u = [chance.gauss(0.0, size) for _ in range(d)]
            trial = [z[i] + sum(shape[i][k] * u[k] for k in range(i + 1)) for i in range(d)]
            found = model.log_density(trial)
            if math.log(chance.random() or 5e-324) < found - value:
                z, value, accepted = trial, found, accepted + 1
            if number + 1 == len(rounds):
                if step % every == 0:
                    kept.append(z)
            elif step >= length // 2 and step % 5 == 0:
                seen.append(z)
        if seen:
            shape = covariance(seen)
            size *= 1.5 if accepted > 0.4 * length else 0.67 if accepted < 0.15 * length else 1.0
    return kept


def split_r_hat(chains):
    halves = [half for chain in chains for half in (chain[: len(chain) // 2], chain[len(chain) // 2 :])]
    n = min(map(len, halves))
    means = [sum(half[:n]) / n for half in halves]
    within = sum(sum((x - m) ** 2 for x in half[:n]) / (n - 1) for half, m in zip(halves, means)) / len(halves)
    grand = sum(means) / len(means)
    between = n * sum((m - grand) ** 2 for m in means) / (len(means) - 1)
    return math.sqrt(((n - 1) / n * within + between / n) / within)


def main(library, data, out, steps="100000"):
    model = Library(library, data)
    chains = [[model.constrained(z) for z in walk(model, seed, int(steps))] for seed in range(CHAINS)]
    worst = max(split_r_hat([[row[j] for row in chain] for chain in chains]) for j in range(len(model.names)))
    print(f"{model.dim} parameters, {CHAINS} chains of {steps} steps, split R-hat at most {worst:.4f}")
    if not worst <= WORST:
        raise SystemExit(f"the chains have not met: R-hat is above {WORST}; make more steps")
    with open(out, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(model.names)
        writer.writerows([repr(x) for x in row] for chain in chains for row in chain)


if __name__ == "__main__":
    if not 4 <= len(sys.argv) <= 5:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
