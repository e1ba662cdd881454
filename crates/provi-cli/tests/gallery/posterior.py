"""Posterior means of the coefficients of quine-negbinomial at a given noise, by weighted draws: apart from provi's own code.

    python3 posterior.py        # needs numpy and scipy; writes `posterior` into quine-negbinomial.json

Days ~ NegBinomial(mean exp(s), size r = 1/sigma²) with sigma that of glm.nb, and independent N(0, 100²) priors as the options of the
file say. Draws are those of a multivariate t of 7 degrees of freedom about the mode; `error` is the standard error of the weighted mean.
"""

import csv
import json
import pathlib

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaln

here = pathlib.Path(__file__).parent
path = here / "quine-negbinomial.json"
file = json.loads(path.read_text())
rows = list(csv.DictReader((here / "quine.csv").open()))
names = [one["name"] for one in file["coefficients"]]


def column(name):
    if name == "(Intercept)":
        return np.ones(len(rows))
    key, level = name[:-1].split("[")
    return np.array([float(row[key] == level) for row in rows])


x = np.column_stack([column(name) for name in names])
y = np.array([float(row["Days"]) for row in rows])
sigma = file["scales"][0]["ml"]
r = 1 / sigma**2


def log_density(beta):
    s = beta @ x.T
    rows = gammaln(y + r) - gammaln(r) - gammaln(y + 1) + y * (s - np.log(r)) - (y + r) * np.logaddexp(0, s - np.log(r))
    return rows.sum(-1) - 0.5 * (beta**2).sum(-1) / 100**2


def hessian(beta):
    p = 1 / (1 + np.exp(-(x @ beta - np.log(r))))
    return (x.T * ((y + r) * p * (1 - p))) @ x + np.eye(len(beta)) / 100**2


mode = minimize(lambda b: -log_density(b[None])[0], np.zeros(len(names)), method="BFGS", options={"gtol": 1e-9}).x
for _ in range(20):
    p = 1 / (1 + np.exp(-(x @ mode - np.log(r))))
    mode = mode + np.linalg.solve(hessian(mode), x.T @ (y - (y + r) * p) - mode / 100**2)
rng = np.random.default_rng(20261117)
freedom, d, draws = 7, len(mode), 2_000_000
factor = np.linalg.cholesky(np.linalg.inv(hessian(mode)))
normal = rng.standard_normal((draws, d))
chi = rng.chisquare(freedom, draws) / freedom
z = normal / np.sqrt(chi)[:, None]
log_t = -0.5 * (freedom + d) * np.log1p((z**2).sum(1) / freedom)
beta = mode + z @ factor.T
log_w = np.concatenate([log_density(part) for part in np.array_split(beta, 100)]) - log_t
w = np.exp(log_w - log_w.max())
w /= w.sum()
mean = w @ beta
error = np.sqrt((w**2) @ (beta - mean) ** 2)
file["posterior"] = {
    "noise_sd": sigma,
    "draws": draws,
    "effective": round(1 / (w**2).sum()),
    "mean": [round(value, 9) for value in mean],
    "error": [float(f"{value:.2e}") for value in error],
}
path.write_text(json.dumps(file, indent=2) + "\n")
estimates = np.array([one["estimate"] for one in file["coefficients"]])
errors = np.array([one["standard_error"] for one in file["coefficients"]])
print("mode less glm.nb, in standard errors", np.abs(mode - estimates).max() / errors.min())
print("mean less glm.nb", ((mean - estimates) / errors).round(4), "Monte Carlo", (error / errors).max())
