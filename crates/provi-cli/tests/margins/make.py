"""Average marginal effects at the maximum of the likelihood, with standard errors by the delta method.

These are the formulas of statsmodels' `get_margeff(at="overall")` and of R's marginaleffects (`avg_slopes`, `avg_comparisons`),
written out in numpy: slopes mean_i g'(s_i)·b, contrasts mean_i g(s_i1) − g(s_i0), and the gradient of each in the coefficients by the
chain rule. Run in this folder: `python make.py > margins.json` (numpy 2, Python 3.12).
"""

import csv
import json

import numpy as np


def read(name):
    with open(f"../gallery/{name}.csv") as file:
        return list(csv.DictReader(file))


def maximum(X, y, mean, weight):
    """Newton's steps with the expected information; the links are canonical, so they are Newton's own."""
    b = np.zeros(X.shape[1])
    for _ in range(60):
        s = X @ b
        b = b + np.linalg.solve(X.T @ (weight(s)[:, None] * X), X.T @ (y - mean(s)))
    return b, np.linalg.inv(X.T @ (weight(X @ b)[:, None] * X))


def sigmoid(s):
    return 1 / (1 + np.exp(-s))


LOGIT = (sigmoid, lambda s: sigmoid(s) * (1 - sigmoid(s)), lambda s: sigmoid(s) * (1 - sigmoid(s)) * (1 - 2 * sigmoid(s)))
LOG = (np.exp, np.exp, np.exp)


def slope(X, D, b, V, link):
    """mean g'(s)·(Db), and its standard error."""
    _, g1, g2 = link
    s, r = X @ b, D @ b
    gradient = (g2(s) * r)[:, None] * X + g1(s)[:, None] * D
    return describe((g1(s) * r).mean(), gradient.mean(0), V)


def contrast(X1, X0, b, V, link):
    g, g1, _ = link
    gradient = g1(X1 @ b)[:, None] * X1 - g1(X0 @ b)[:, None] * X0
    return describe((g(X1 @ b) - g(X0 @ b)).mean(), gradient.mean(0), V)


def describe(value, gradient, V):
    return {"estimate": float(value), "se": float(np.sqrt(gradient @ V @ gradient))}


def births():
    """low ~ age + log(lwt) * smoke + race, logistic."""
    rows = read("birthwt")
    column = lambda name: np.array([float(row[name]) for row in rows])
    race = np.array([row["race"] for row in rows])
    age, lwt, smoke = column("age"), column("lwt"), column("smoke")

    def design(race, smoke=smoke):
        return np.column_stack(
            [np.ones(len(rows)), age, np.log(lwt), smoke, race == "other", race == "white", np.log(lwt) * smoke]
        ).astype(float)

    X = design(race)
    b, V = maximum(X, column("low"), *LOGIT[:2])
    zero = np.zeros(len(rows))
    by_age = np.column_stack([zero, zero + 1, zero, zero, zero, zero, zero])
    by_lwt = np.column_stack([zero, zero, 1 / lwt, zero, zero, zero, smoke / lwt])
    all_of = lambda level: design(np.array([level] * len(rows)))
    return {
        "age": slope(X, by_age, b, V, LOGIT),
        "lwt": slope(X, by_lwt, b, V, LOGIT),
        "smoke: 1 − 0": contrast(design(race, np.ones(len(rows))), design(race, zero), b, V, LOGIT),
        "race: other − black": contrast(all_of("other"), all_of("black"), b, V, LOGIT),
        "race: white − black": contrast(all_of("white"), all_of("black"), b, V, LOGIT),
    }


def breaks():
    """breaks ~ wool * tension, Poisson."""
    rows = read("warpbreaks")
    wool, tension = (np.array([row[name] for row in rows]) for name in ("wool", "tension"))

    def design(wool, tension):
        # The levels of tension are in the order of their names: H, L, M.
        b, low, middle = wool == "B", tension == "L", tension == "M"
        return np.column_stack([np.ones(len(rows)), b, low, middle, b * low, b * middle]).astype(float)

    y = np.array([float(row["breaks"]) for row in rows])
    b, V = maximum(design(wool, tension), y, *LOG[:2])
    same = lambda level: np.array([level] * len(rows))
    return {
        "wool: B − A": contrast(design(same("B"), tension), design(same("A"), tension), b, V, LOG),
        "tension: L − H": contrast(design(wool, same("L")), design(wool, same("H")), b, V, LOG),
    }


print(json.dumps({"births": births(), "breaks": breaks()}, indent=2, ensure_ascii=False))
