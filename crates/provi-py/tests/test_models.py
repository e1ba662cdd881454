"""Models from arrays, sparse matrices and data frames."""

import csv
import json
import subprocess

import numpy as np
import pandas
import polars
import pyarrow
import pytest
import scipy.sparse

import provi


def close(a, b, tolerance=1e-12):
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("formula", "options", "make"),
    [
        ("label ~ a + b", ["--family", "bernoulli"], lambda d, **k: provi.logistic(d["X"], d["label"], **k)),
        ("label ~ a + b", ["--family", "probit"], lambda d, **k: provi.probit(d["X"], d["label"], **k)),
        ("count ~ a + b", ["--family", "poisson"], lambda d, **k: provi.poisson(d["X"], d["count"], **k)),
        ("label ~ a + b", ["--family", "cloglog"], lambda d, **k: provi.cloglog(d["X"], d["label"], **k)),
        (
            "successes | trials(trials) ~ a + b",
            ["--family", "cloglog"],
            lambda d, **k: provi.cloglog(d["X"], d["successes"], trials=d["trials"], **k),
        ),
        (
            "positive ~ a + b",
            ["--family", "exponential"],
            lambda d, **k: provi.exponential(d["X"], d["positive"], **k),
        ),
        (
            "positive ~ a + b",
            ["--family", "gamma", "--noise-sd", "0.3"],
            lambda d, **k: provi.gamma(d["X"], d["positive"], noise_sd=0.3, **k),
        ),
        (
            "positive ~ a + b",
            ["--family", "gamma", "--scales", "maximise"],
            lambda d, **k: provi.gamma(d["X"], d["positive"], scales="maximise", **k),
        ),
        (
            "count ~ a + b",
            ["--family", "negbinomial", "--noise-sd", "0.5"],
            lambda d, **k: provi.negative_binomial(d["X"], d["count"], noise_sd=0.5, **k),
        ),
        (
            "surv(positive, label) ~ a + b",
            ["--noise-sd", "0.6", "--family", "weibull"],
            lambda d, **k: provi.weibull(d["X"], d["positive"], d["label"], noise_sd=0.6, **k),
        ),
        (
            "surv(positive, label) ~ a + b",
            ["--scales", "maximise"],
            lambda d, **k: provi.weibull(d["X"], d["positive"], d["label"], scales="maximise", **k),
        ),
        (
            "interval(positive, upper) ~ a + b",
            ["--noise-sd", "0.6"],
            lambda d, **k: provi.weibull(d["X"], d["positive"], upper=d["upper"], noise_sd=0.6, **k),
        ),
        (
            "surv(entry, positive, label) ~ a + b",
            ["--noise-sd", "0.6"],
            lambda d, **k: provi.weibull(d["X"], d["positive"], d["label"], entry=d["entry"], noise_sd=0.6, **k),
        ),
        (
            "successes | trials(trials) ~ a + b",
            [],
            lambda d, **k: provi.binomial(d["X"], d["successes"], d["trials"], **k),
        ),
        (
            "value ~ a + b",
            ["--family", "gaussian", "--scales", "maximise"],
            lambda d, **k: provi.linear(d["X"], d["value"], scales="maximise", **k),
        ),
        (
            "label ~ a + b",
            ["--weights", "weight", "--offset", "offset", "--prior-scale", "1.5"],
            lambda d, **k: provi.logistic(
                d["X"], d["label"], weights=d["weight"], offset=d["offset"], prior_scale=1.5, **k
            ),
        ),
    ],
)
def test_the_answer_is_that_of_the_command(command, data, tmp_path, formula, options, make):
    names = ["label", "count", "trials", "successes", "value", "positive", "entry", "upper", "weight", "offset"]
    with open(tmp_path / "data.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", *names])
        columns = [data["X"][:, 0], data["X"][:, 1], *(data[name] for name in names)]
        writer.writerows([[repr(float(x)) for x in row] for row in zip(*columns)])
    out = tmp_path / "it.fit"
    words = ["fit", tmp_path / "data.csv", formula, *options, "--seed", "3", "--quiet", "--out", out]
    subprocess.run([command, *words], check=True, stdout=subprocess.DEVNULL)
    stored = json.loads((out / "fit.json").read_text())

    fit = make(data, intercept=True, names=["a", "b"]).fit(seed=3)
    assert fit.names == stored["names"]
    close(fit.mean, stored["mean"])
    close(fit.cov, stored["covariance"])
    close(-fit.elbo, stored["neg_elbo"])
    certificate = fit.certificate.to_dict()
    for statement in ("gap", "kl", "tv"):
        close(certificate[statement]["bound"], stored["certificate"][statement]["bound"], 1e-9)
    close(fit.khat, stored["estimates"]["pareto_k"], 1e-9)


def test_a_linear_model_has_its_textbook_posterior(data):
    X, y = data["X"], data["value"]
    fit = provi.linear(X, y, noise_sd=0.4, prior_cov=[[2.0, 0.3], [0.3, 1.0]], prior_mean=[0.5, -0.5]).fit()
    prior = np.linalg.inv([[2.0, 0.3], [0.3, 1.0]])
    cov = np.linalg.inv(X.T @ X / 0.16 + prior)
    close(fit.cov, cov, 1e-8)
    close(fit.mean, cov @ (X.T @ y / 0.16 + prior @ [0.5, -0.5]), 1e-8)
    assert fit.certificate.kl.bound < 1e-6 and fit.elbo_exact
    assert provi.linear(X, y, scales="maximise").noise_sd == pytest.approx(0.4, abs=0.3)


def test_a_sparse_design_stays_sparse_and_gives_the_same(data):
    X = np.where(np.abs(data["X"]) < 0.7, 0.0, data["X"])
    dense = provi.logistic(X, data["label"], intercept=True).fit()
    for kind in (scipy.sparse.csr_matrix, scipy.sparse.csc_array, scipy.sparse.coo_matrix):
        model = provi.logistic(kind(X), data["label"], intercept=True)
        assert "sparse" in repr(model)
        sparse = model.fit()
        # Sparse columns are not centred inside: both searches end within 1e-10 nats of the optimum, at places of their own.
        close(sparse.mean, dense.mean, 1e-6)
        assert sparse.names == dense.names == ["(Intercept)", "x0", "x1"]


class Interchange:
    """Anything with `__dataframe__`, and nothing else."""

    def __init__(self, frame):
        self.frame = frame

    def __dataframe__(self, allow_copy=True):
        return self.frame.__dataframe__(allow_copy=allow_copy)


@pytest.mark.parametrize(
    "frame",
    [
        pandas.DataFrame,
        polars.DataFrame,
        pyarrow.table,
        lambda columns: Interchange(pandas.DataFrame(columns)),
        lambda columns: Interchange(pyarrow.table(columns)),
    ],
)
def test_data_frames_carry_their_names(data, frame):
    columns = {"age": data["X"][:, 0], "on": data["X"][:, 1] > 0, "n": np.arange(60, dtype=np.int32)}
    plain = provi.logistic(np.column_stack(list(columns.values())), data["label"]).fit()
    fit = provi.logistic(frame(columns), data["label"]).fit()
    assert fit.names == ["age", "on", "n"]
    close(fit.mean, plain.mean)


def test_responses_may_be_columns_booleans_and_lists(data):
    X, y = data["X"], data["label"]
    expected = provi.logistic(X, y).fit().mean
    for response in (list(y), y > 0, pandas.Series(y), polars.Series(y), y.reshape(-1, 1), 2 * y - 1, y.astype(np.int8)):
        close(provi.logistic(X, response).fit().mean, expected)


def test_any_memory_layout_of_x_is_the_same_matrix(data):
    X, y = data["X"], data["label"]
    expected = provi.logistic(X, y).fit().mean
    for same in (np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], X.tolist()):
        close(provi.logistic(same, y).fit().mean, expected)


def test_the_log_density_of_a_model_is_its_formula(data):
    X, y = data["X"], data["label"]
    z = np.array([[0.3, -0.2], [1.0, 0.5]])
    value, gradient = provi.logistic(X, y, prior_scale=2.0).log_density(z)
    eta = z @ X.T
    prior = -(z**2).sum(axis=1) / 8 - 2 * np.log(2.0) - np.log(2 * np.pi)
    close(value, (y * eta - np.log1p(np.exp(eta))).sum(axis=1) + prior)
    close(gradient, (y - 1 / (1 + np.exp(-eta))) @ X - z / 4)
    with pytest.raises(ValueError, match="point has length 3, expected 2"):
        provi.logistic(X, y).log_density(np.zeros((1, 3)))


def test_groups_have_coefficients_of_their_own(data):
    labels = np.array(["north", "east", "south", "west"])[data["group"]]
    model = provi.hierarchical_logistic(
        pandas.DataFrame({"a": data["X"][:, 0]}), data["label"], labels, intercept=True, group_scale=0.5
    )
    fit = model.fit(audit_draws=1)
    assert fit.names[:4] == ["theta[(Intercept)]", "theta[a]", "z[east,(Intercept)]", "z[east,a]"]
    draws = fit.draws(10)
    assert draws["theta"].shape == (10, 2) and draws["z"].shape == (10, 4, 2)
    wide = provi.hierarchical_logistic(data["X"], data["label"], labels, group_scale=50.0).fit(audit_draws=1)
    tight = provi.hierarchical_logistic(data["X"], data["label"], labels, group_scale=0.01).fit(audit_draws=1)
    spread = lambda fit: fit.mean[2:].reshape(4, 2).std(axis=0)  # noqa: E731
    assert (spread(tight) < 0.01).all() and (spread(wide) > 0.1).all()


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda X, y: provi.logistic(X, y[:-1]), ValueError, "response has length 59, expected 60"),
        (lambda X, y: provi.logistic(X[:, 0], y), ValueError, r"reshape\(-1, 1\)"),
        (lambda X, y: provi.logistic(X, y + 0.5), ValueError, "0 or 1"),
        (lambda X, y: provi.logistic(np.where(X == X[3, 1], np.nan, X), y), ValueError, "NaN at row 3, column 1"),
        (lambda X, y: provi.logistic(X, y, prior_scale=-1.0), ValueError, "prior sd = -1"),
        (lambda X, y: provi.logistic(X, y, prior_scale=1.0, prior_cov=np.eye(2)), ValueError, "both given"),
        (lambda X, y: provi.logistic(X, y, prior_cov=-np.eye(2)), ValueError, "positive definite"),
        (lambda X, y: provi.logistic(X, y, names=["a"]), ValueError, "1 names were given for 2 columns"),
        (lambda X, y: provi.logistic(X.astype(str), y), TypeError, "fit_formula"),
        (lambda X, y: provi.logistic(X + 1j, y), TypeError, "complex"),
        (lambda X, y: provi.logistic(pandas.DataFrame({"a": ["x"] * 60}), y), TypeError, "column 'a'"),
        (lambda X, y: provi.logistic(X, y).fit(method="adam"), ValueError, "unknown method `adam`; known: auto"),
        (lambda X, y: provi.logistic(X, y).fit(threads=0), ValueError, "threads = 0"),
        (lambda X, y: provi.logistic(X, y).fit(time_limit=-1.0), ValueError, "time.limit"),
        (lambda X, y: provi.logistic(X, y).fit(accuracy=0.0), ValueError, "accuracy"),
        (lambda X, y: provi.logistic(X, y).fit(method="auto", steps=5), ValueError, "steps"),
        (lambda X, y: provi.logistic(X, y).fit(init=[0.0]), ValueError, "start has length 1, expected 2"),
        (lambda X, y: provi.logistic(X, y).fit(memory_budget=10), MemoryError, "memory"),
        (lambda X, y: provi.logistic(X, y).fit(memory=10), MemoryError, "memory"),
        (lambda X, y: provi.poisson(X, y).fit(method="prox-energy"), ValueError, "smoothness"),
    ],
)
def test_what_is_wrong_is_said(data, make, error, words):
    with pytest.raises(error, match=words):
        make(data["X"], data["label"])


def test_an_unknown_relative_noise_is_integrated_over(data):
    fit = provi.gamma(data["X"], data["positive"], intercept=True).fit(seed=1, progress=False)
    drawn = fit.sample_scales(200, seed=1)
    assert list(drawn) == ["sigma"] and 0 < drawn["sigma"].mean() < 1
    with pytest.raises(ValueError, match="number above 0"):
        provi.gamma(data["X"], -data["positive"])


def test_probabilities_to_survive_a_time(data):
    table = {"t": data["positive"], "e": data["label"], "x": data["X"][:, 0]}
    fit = provi.fit_formula("surv(t, e) ~ x", table, seed=1, progress=False)
    early, late = (fit.predict(table, time=time)["mean"] for time in (0.5, 3.0))
    assert ((0 < late) & (late < early) & (early < 1)).all()
    assert (fit.predict(table)["mean"] > 0).all()
    counts = provi.fit_formula("y ~ x", {"y": data["count"], "x": table["x"]}, family="poisson", progress=False)
    with pytest.raises(ValueError, match="no times to an event"):
        counts.predict({"x": table["x"]}, time=1.0)


def test_times_and_events_are_checked(data):
    X, time = data["X"], data["positive"]
    fit = provi.weibull(X, time, data["label"], intercept=True).fit(seed=1, progress=False)
    assert list(fit.sample_scales(200, seed=1)) == ["sigma"]
    with pytest.raises(ValueError, match="a time above 0"):
        provi.weibull(X, -time)
    with pytest.raises(ValueError, match="an event of 1 .* or 0"):
        provi.weibull(X, time, 2.0 * data["label"])
    with pytest.raises(ValueError, match="events has length 3"):
        provi.weibull(X, time, [1, 0, 1])
    with pytest.raises(ValueError, match="unit of time"):
        provi.weibull(X, time, time_unit=0.0)
    with pytest.raises(ValueError, match="after the row's entry"):
        provi.weibull(X, time, entry=2.0 * time)
    with pytest.raises(ValueError, match="not before its start"):
        provi.weibull(X, time, upper=0.5 * time)
    with pytest.raises(ValueError, match="upper ends has length 3"):
        provi.weibull(X, time, upper=[1, 2, 3])
    with pytest.raises(ValueError, match="give event or upper"):
        provi.weibull(X, time, data["label"], upper=time)
    with pytest.raises(ValueError, match="whole number"):
        provi.negative_binomial(X, time)
    with pytest.raises(ValueError, match="whole number"):
        provi.negative_binomial(X, -data["count"])


def test_a_log_link_of_probabilities_is_refused_with_the_reason(data):
    table = {"y": data["label"], "x": data["X"][:, 0]}
    with pytest.raises(ValueError, match="every Gaussian is infinitely far from it; fit bernoulli or binomial"):
        provi.fit_formula("y ~ x", table, family="log-binomial", progress=False)
