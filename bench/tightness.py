"""The first two tables of docs/tightness.md: what `provi fit` proves of KL and means by default and with ten times the draws; and what
it proves of probabilities.

    tightness.py PROVI

Rows of R's own data sets are left out where there is no Rscript. Logistic regressions with prior N(0, 1) on every coefficient, made here from fixed seeds, the breast cancer data of the tests, and tables of the gallery with
their default priors. The reference KL of a logistic regression is f(q) + log p(x): f is exact, log p(x) by importance sampling from q with 400 000 draws in
antithetic pairs. For the others it is the middle of the interval that ten times the draws prove. Seconds are of processor time.
"""

import json
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
GALLERY = ROOT / "crates" / "provi-cli" / "tests" / "gallery"
MADE = [
    ("s", 500, 5),
    ("s", 100, 3),
    ("c", 200, 6),
    ("c", 200, 10),
    ("c", 1000, 10),
    ("s", 1000, 20),
    ("s", 2000, 20),
    ("c", 2000, 20),
    ("c", 1000, 21),
    ("c", 600, 30),
    ("c", 2000, 50),
]
GIVEN = [
    ("birthwt, N = 189, d = 10", "birthwt.csv", "low ~ age + lwt + race + smoke + ptl + ht + ui + ftv", []),
    ("cbpp, 15 herds", "cbpp.csv", "incidence | trials(size) ~ factor(period) + (1 | herd)", ["--group-scale", "herd=0.64"]),
    ("epil, 59 patients", "epil.csv", "y ~ lbase * trt + lage + V4 + (1 | subject)", ["--family", "poisson", "--group-scale", "subject=0.5"]),
]
FROM_R = [
    ("infert, N = 248, d = 7", "datasets::infert", "case ~ age + parity + education + induced + spontaneous", []),
    ("Pima.tr, N = 200, d = 8", "MASS::Pima.tr", "type ~ npreg + glu + bp + skin + bmi + ped + age", []),
    ("bacteria, 50 children", "MASS::bacteria", "y ~ trt + week + (1 | ID)", ["--group-scale", "ID=1.2"]),
]
PAIRS = 200_000
TEN = 200_000


def design(kind, rows, columns):
    """Standard normal features, the first one constant; or correlated ones, with logits of standard deviation 1.5."""
    rng = np.random.default_rng([rows, columns])
    if kind == "s":
        x = np.column_stack([np.ones(rows), rng.normal(size=(rows, columns - 1))])
        beta = rng.normal(size=columns)
        beta /= np.linalg.norm(beta[1:])
        beta[0] *= 0.3
    else:
        z = rng.normal(size=(rows, columns))
        x = 0.8 * z + 0.6 * z[:, :1]
        beta = rng.normal(size=columns)
        beta *= 1.5 / (x @ beta).std()
    return x, (rng.uniform(size=rows) < 1 / (1 + np.exp(-x @ beta))).astype(float)


def fit(provi, table, formula, options):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = subprocess.run(
        [provi, "fit", table, formula, *options, "--seed", "3", "--json", "--quiet"], check=True, capture_output=True, text=True
    ).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return json.loads(said), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def divergence(found, x, y):
    """KL(q‖p) with its standard error."""
    mean, cov = np.array(found["mean"]), np.array(found["covariance"])
    factor, d = np.linalg.cholesky(cov), len(mean)
    rng, logs = np.random.default_rng(1), []
    for _ in range(0, PAIRS, 10_000):
        u = rng.normal(size=(10_000, d))
        for side in (u, -u):
            z = mean + side @ factor.T
            s = z @ x.T
            log_p = s @ y - np.logaddexp(0, s).sum(axis=1) - 0.5 * (z**2).sum(axis=1)
            logs.append(log_p + 0.5 * (side**2).sum(axis=1) + np.log(np.diag(factor)).sum())
    logs = np.array(logs).reshape(-1, 2, 10_000).transpose(0, 2, 1).reshape(-1, 2)
    top = logs.max()
    ratios = np.exp(logs - top).mean(axis=1)
    evidence = top + np.log(ratios.mean())
    return evidence + found["neg_elbo"], ratios.std() / ratios.mean() / np.sqrt(len(ratios))


def interval(found):
    """The middle of log p(x) from both sides, above the ELBO."""
    evidence = found["certificate"]["evidence"]
    return found["neg_elbo"] + 0.5 * (evidence["lower"] + evidence["upper"])


def row(provi, name, table, formula, options, rows=None):
    """A row of each of the two tables."""
    plain, seconds = fit(provi, table, formula, options)
    ten, _ = fit(provi, table, formula, [*options, "--audit-draws", str(TEN)])
    kl, error = divergence(plain, *rows) if rows is not None else (interval(ten), None)

    def of(found):
        posterior, cov = found["posterior"], found["covariance"]
        moments = found["certificate"]["moments"]
        errors = posterior["mean_error"] if posterior else [m["mean_error"]["bound"] for m in moments]
        return found["certificate"]["kl"], max(e / np.sqrt(cov[i][i]) for i, e in enumerate(errors))

    def signs(found):
        posterior = found["posterior"]
        tv = f"{found['certificate']['tv']['bound']:.2g}"
        return tv, f"{max(posterior['positive_error']):.2g}" if posterior and posterior.get("positive_error") else "–"

    (first, mean), (second, mean_ten) = of(plain), of(ten)
    keys = " → ".join(dict.fromkeys([first["key"], second["key"]]))
    shown = f"{kl:.2e}" + (f" ± {error:.0e}" if error is not None else "")
    (tv, sign), (tv_ten, sign_ten) = signs(plain), signs(ten)
    return (
        f"| {name} | {shown} | {first['bound'] / kl:.2f} × | {second['bound'] / kl:.2f} × | {keys} | {mean:.2g} | {mean_ten:.2g} | {seconds:.2f} |",
        f"| {name} | {tv} | {sign} | {tv_ten} | {sign_ten} |",
    )


def main():
    provi = sys.argv[1]
    print("| table | KL | default | ten times | by | means ± default | ten times | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    second = []

    def show(rows):
        print(rows[0], flush=True)
        second.append(rows[1])

    with tempfile.TemporaryDirectory() as folder:
        for kind, rows, columns in MADE:
            x, y = design(kind, rows, columns)
            path = pathlib.Path(folder) / f"{kind}{rows}x{columns}.csv"
            header = ",".join([*(f"x{j}" for j in range(columns)), "y"])
            np.savetxt(path, np.column_stack([x, y]), delimiter=",", header=header, comments="", fmt="%.17g")
            name = f"{kind}, N = {rows}, d = {columns}"
            show(row(provi, name, path, "y ~ 0 + .", ["--prior", "normal(0,1)"], (x, y)))
    path = ROOT / "crates" / "provi" / "tests" / "data" / "W2.csv"
    numbers = np.loadtxt(path, delimiter=",", skiprows=1)
    formula = f"{path.read_text().split(chr(10), 1)[0].split(',')[-1]} ~ ."
    x = np.column_stack([np.ones(len(numbers)), numbers[:, :-1]])
    show(row(provi, "breast cancer, d = 31", path, formula, ["--prior", "normal(0,1)"], (x, numbers[:, -1])))
    for name, table, formula, options in GIVEN:
        show(row(provi, name, GALLERY / table, formula, options))
    if shutil.which("Rscript"):
        with tempfile.TemporaryDirectory() as folder:
            for name, data, formula, options in FROM_R:
                path = pathlib.Path(folder) / "table.csv"
                subprocess.run(["Rscript", "-e", f"write.csv({data}, '{path}', row.names = FALSE)"], check=True)
                show(row(provi, name, path, formula, options))
    print("\n| table | TV ≤, default | P(>0) ± | TV ≤, ten times | P(>0) ± |")
    print("|---|---|---|---|---|")
    print("\n".join(second))


if __name__ == "__main__":
    main()
