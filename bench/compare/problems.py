"""The five workloads: their numbers, and the one evaluator of exact gaps that serves every package.

All have the form log p(z, x) = c - z'Pz/2 + b'z + sum_n [y_n a_n'z - softplus(a_n'z)], the sum empty for W1 and W5. For
q = N(m, CC'), f(m, C) = E_q[log q - log p] then needs only E softplus(t) for t ~ N(a'm, |C'a|^2), a one-dimensional
integral. Needs numpy only, and nothing of provi.
"""

import csv
import json
import pathlib

import numpy as np

NAMES = ["W1", "W2", "W3", "W4", "W5"]
TITLES = {
    "W1": "W1 linear regression, N = 1000, d = 20",
    "W2": "W2 logistic regression, breast cancer, N = 569, d = 31",
    "W3": "W3 logistic regression, N = 20 000, d = 50",
    "W4": "W4 hierarchical logistic, 40 groups of 50, d = 205",
    "W5": "W5 dense Gaussian, d = 500",
}
KINDS = {"W1": "linear", "W2": "logistic", "W3": "logistic", "W4": "hierarchical", "W5": "gaussian"}
STORED = pathlib.Path(__file__).resolve().parents[2] / "crates" / "provi" / "tests" / "data"
LOG_2PI = float(np.log(2 * np.pi))


def stored_rows(name):
    with open(STORED / f"{name}.csv", newline="") as file:
        return np.array([[float(x) for x in row] for row in list(csv.reader(file))[1:]])


def correlated_logistic(rows=20_000, columns=50, rho=0.9):
    """Features follow an AR(1) along the columns; coefficients are standard normal."""
    random = np.random.default_rng(303)
    x = random.standard_normal((rows, columns))
    for k in range(1, columns):
        x[:, k] = rho * x[:, k - 1] + np.sqrt(1 - rho**2) * x[:, k]
    beta = random.standard_normal(columns)
    chance = 1 / (1 + np.exp(-(x @ beta)))
    return x, (random.random(rows) < chance).astype(float)


def rotated_precision(d=500, condition=100.0):
    """Eigenvalues even on the log scale, eigenvectors uniform."""
    q, r = np.linalg.qr(np.random.default_rng(505).standard_normal((d, d)))
    q = q * np.sign(np.diag(r))
    p = (q * np.geomspace(condition**-0.5, condition**0.5, d)) @ q.T
    return (p + p.T) / 2


class Problem:
    """One workload. `x`, `y`, `group` are what packages get; `P`, `b`, `c`, `A` are the common form."""

    def __init__(self, name):
        self.name, self.y, self.group, self.A = name, None, None, None
        if name == "W3":
            self.x, self.y = correlated_logistic()
        elif name == "W5":
            self.x = rotated_precision()
        else:
            rows = stored_rows(name)
            self.y = rows[:, -1]
            if name == "W4":
                self.group, self.x = rows[:, 0].astype(int), rows[:, 1:-1]
            elif name == "W2":
                self.x = np.hstack([rows[:, :-1], np.ones((len(rows), 1))])
            else:
                self.x = rows[:, :-1]
        self.d = self.x.shape[1]
        self.P, self.b, self.c = np.eye(self.d), np.zeros(self.d), -0.5 * self.d * LOG_2PI
        if name == "W1":
            self.P = np.eye(self.d) + self.x.T @ self.x
            self.b = self.x.T @ self.y
            self.c -= 0.5 * len(self.y) * LOG_2PI + 0.5 * float(self.y @ self.y)
        elif name == "W4":
            self._hierarchy()
        elif name == "W5":
            self.P, self.c = self.x, 0.0
        else:
            self.A = self.x

    def _hierarchy(self):
        k, groups = self.x.shape[1], int(self.group.max()) + 1
        self.d = k * (groups + 1)
        self.A = np.zeros((len(self.y), self.d))
        for i in range(k):
            self.A[np.arange(len(self.y)), k * (self.group + 1) + i] = self.x[:, i]
        eye = np.eye(k)
        self.P = np.eye(self.d)
        self.P[:k, :k] = (1 + groups) * eye
        for g in range(groups):
            at = slice(k * (g + 1), k * (g + 2))
            self.P[at, :k] = self.P[:k, at] = -eye
        self.b, self.c = np.zeros(self.d), -0.5 * self.d * LOG_2PI

    def write(self, directory):
        """The raw numbers, for provi."""
        directory.mkdir(parents=True, exist_ok=True)
        shape = {"rows": self.x.shape[0], "columns": self.x.shape[1]}
        (directory / "shape.json").write_text(json.dumps(shape))
        for key in ("x", "y", "group"):
            value = getattr(self, key)
            if value is not None:
                np.ascontiguousarray(value, dtype="<f8").tofile(directory / f"{key}.f64")

    def value(self, m, C):
        """f(m, C), C lower triangular."""
        f = 0.5 * m @ (self.P @ m) + 0.5 * np.sum(C * (self.P @ C)) - self.b @ m - self.c
        f -= np.sum(np.log(np.abs(np.diag(C)))) + 0.5 * self.d * (LOG_2PI + 1)
        if self.A is not None:
            mu, sd = self.A @ m, np.linalg.norm(self.A @ C, axis=1)
            f += np.sum(expectation(softplus, mu, sd)) - self.y @ mu
        return float(f)

    def gradient(self, m, C):
        """The gradient of f on (m, lower triangle of C)."""
        mean, hessian = self.P @ m - self.b, self.P
        if self.A is not None:
            mu, sd = self.A @ m, np.linalg.norm(self.A @ C, axis=1)
            mean = mean + self.A.T @ (expectation(sigmoid, mu, sd) - self.y)
            hessian = hessian + self.A.T @ (expectation(sigmoid_slope, mu, sd)[:, None] * self.A)
        factor = np.tril(hessian @ C)
        factor[np.diag_indices(self.d)] -= 1 / np.diag(C)
        return mean, factor

    def optimum(self):
        """f* by closed form (W1, W5) or stored (W2, W4); None where it has to be solved for."""
        if self.name in ("W1", "W5"):
            return self.value(np.linalg.solve(self.P, self.b), inverse_factor(self.P))
        if self.name == "W3":
            return None
        return json.loads((STORED / f"{self.name}.optimum.json").read_text())["f_star"]

    def error_bound(self, m, C):
        """f(m, C) - f* <= |gradient|^2 / 2 where the prior is N(0, I): f is then 1-strongly convex (not for W4, W5)."""
        mean, factor = self.gradient(m, C)
        return 0.5 * float(mean @ mean + np.sum(factor**2))


def inverse_factor(P):
    """The lower triangular C with CC' = P^-1."""
    return np.linalg.cholesky(np.linalg.inv(P))


def softplus(t):
    return np.maximum(t, 0) + np.log1p(np.exp(-np.abs(t)))


def sigmoid(t):
    e = np.exp(-np.abs(t))
    return np.where(t >= 0, 1, e) / (1 + e)


def sigmoid_slope(t):
    e = np.exp(-np.abs(t))
    return e / (1 + e) ** 2


def expectation(phi, mu, sd, reach=9.0, block=2048):
    """E phi(t), t ~ N(mu, sd^2), by the trapezoid rule; its error falls like exp(-2 pi^2/(sd h)), the poles of phi at +-i pi."""
    out, order = np.empty(len(mu)), np.argsort(sd)
    for at in np.array_split(order, -(-len(mu) // block)):
        half = int(min(np.ceil(reach / min(0.4, 0.5 / max(sd[at[-1]], 1e-12))), 2000))
        u = np.linspace(-reach, reach, 2 * half + 1)
        w = np.exp(-0.5 * u * u)
        w /= w.sum()
        for part in np.array_split(at, max(1, len(at) * len(u) // 1_000_000)):
            out[part] = phi(mu[part, None] + sd[part, None] * u) @ w
    return out


class Gap:
    """f(m, C) - f*, in nats; infinite where (m, C) is not a Gaussian."""

    def __init__(self, problem, f_star):
        self.problem, self.f_star = problem, f_star

    def __call__(self, m, C):
        m, C = np.asarray(m, float), np.asarray(C, float)
        if not (np.isfinite(m).all() and np.isfinite(C).all() and (np.diag(C) != 0).all()):
            return float("inf")
        gap = self.problem.value(m, C) - self.f_star
        return gap if np.isfinite(gap) else float("inf")


def unpack(d, packed):
    """The lower triangle, packed row by row, as a matrix."""
    C = np.zeros((d, d))
    C[np.tril_indices(d)] = packed
    return C
