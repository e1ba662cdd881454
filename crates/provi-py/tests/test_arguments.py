"""Arguments that a stranger might give: refused in words, and never the end of the interpreter."""

import inspect
import pickle

import numpy as np
import pytest

import provi

sparse = pytest.importorskip("scipy.sparse")

NORMAL = lambda z: (-0.5 * (z * z).sum(axis=1), -z)  # noqa: E731


def masked(values):
    return np.ma.masked_array(values, mask=np.arange(np.size(values)).reshape(np.shape(values)) == 0)


def far():
    """A sparse matrix of few entries and very many columns."""
    return sparse.csr_array((np.ones(3), ([0, 1, 2], [0, 1, 2])), shape=(3, 10**12))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda X, y: provi.logistic(masked(X), y), ValueError, "X holds 1 masked values"),
        (lambda X, y: provi.logistic(X, masked(y)), ValueError, "y holds 1 masked values"),
        (lambda X, y: provi.linear(X, [10**400] * len(y)), TypeError, "y has dtype object"),
        (lambda X, y: provi.logistic(X + 0j, y), TypeError, "X is complex"),
        (lambda X, y: provi.logistic(np.full(X.shape, None), y), ValueError, "the design holds NaN at row 0"),
        (lambda X, y: provi.logistic(X, y, names="ab"), TypeError, "names = 'ab' is one text"),
        (lambda X, y: provi.logistic(X, y, prior_scale="wide"), TypeError, "prior_scale = 'wide'; must be a number"),
        (lambda X, y: provi.logistic(X, y, prior_scale={}), TypeError, "prior_scale is a dict, expected a number"),
        (lambda X, y: provi.logistic(X, y, prior_scale=[1.0]), ValueError, "expected 2"),
        (lambda X, y: provi.logistic(X, y, prior_scale=np.nan), ValueError, "nan|NaN"),
        (lambda X, y: provi.logistic(X, y, prior_mean=[0.0]), ValueError, "expected 2"),
        (lambda X, y: provi.logistic(X, y, prior_cov=np.ones((2, 3))), ValueError, "expected"),
        (lambda X, y: provi.logistic(X, y, prior_cov=-np.eye(2)), ValueError, "positive"),
        (lambda X, y: provi.logistic(X, y, prior_scale=1.0, prior_cov=np.eye(2)), ValueError, "both given"),
        (lambda X, y: provi.logistic(X[:0], y[:0]), ValueError, "."),
        (lambda X, y: provi.logistic(X[:, :0], y), ValueError, "."),
        (lambda X, y: provi.logistic(X * np.nan, y), ValueError, "nan|NaN"),
        (lambda X, y: provi.logistic(X, y * np.nan), ValueError, "nan|NaN"),
        (lambda X, y: provi.logistic(X, y, weights=-np.ones(len(y))), ValueError, "weight"),
        (lambda X, y: provi.logistic(far(), [0, 1, 0]), ValueError, "dim = 1000000000000; must be at most"),
        (lambda X, y: provi.fit(NORMAL, 10**12), ValueError, "dim = 1000000000000; must be at most"),
        (lambda X, y: provi.fit(NORMAL, -1), ValueError, "dim = -1; must be between"),
        (lambda X, y: provi.fit(NORMAL, 2.5), TypeError, "dim = 2.5; must be a whole number"),
        (lambda X, y: provi.fit(NORMAL, 2, names="ab"), TypeError, "names = 'ab' is one text"),
        (lambda X, y: provi.fit(NORMAL, 2, mu="1"), TypeError, "mu = '1'; must be a number"),
        (lambda X, y: provi.FiniteSum(NORMAL, 10**17, 2), MemoryError, "indices of 100000000000000000 terms need"),
        (lambda X, y: provi.FiniteSum(NORMAL, -3, 2), ValueError, "terms = -3"),
    ],
)
def test_models_of_nothing_are_refused(data, call, error, words):
    with pytest.raises(error, match=words):
        call(data["X"], data["label"])


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"threads": -1}, ValueError, "threads = -1; must be between"),
        ({"threads": 10**6}, ValueError, "threads = 1000000; must be between 1 and 1024"),
        ({"threads": "2"}, TypeError, "threads = '2'; must be a whole number"),
        ({"threads": True}, TypeError, "threads = True; must be a whole number"),
        ({"seed": -1}, ValueError, "seed = -1"),
        ({"seed": 2**64}, ValueError, "seed = 18446744073709551616"),
        ({"seed": 0.5}, TypeError, "seed = 0.5"),
        ({"draws": 2**40, "method": "prox-energy", "steps": 5}, ValueError, "draws = 1099511627776; must be between 0 and 4294967295"),
        ({"steps": -5, "method": "prox-energy"}, ValueError, "steps = -5"),
        ({"init": "here"}, TypeError, "init"),
        ({"time_limit": "1 s"}, TypeError, "."),
    ],
)
def test_options_that_cannot_be_are_refused(data, options, error, words):
    for model in (provi.logistic(data["X"], data["label"]), provi.black_box(NORMAL, 2)):
        with pytest.raises(error, match=words):
            model.fit(progress=False, **options)


def test_any_layout_and_any_kind_of_number_is_the_same_data(data):
    X, y = np.round(4 * data["X"]), data["label"]
    expected = provi.logistic(X, y).fit(progress=False).mean
    strided = np.repeat(X, 2, axis=1)[:, ::2]
    for given in (np.asfortranarray(X), strided, X[::-1][::-1], X.astype(np.int8), X.astype(np.float16), X.tolist(), X.astype(object)):
        np.testing.assert_array_equal(provi.logistic(given, y.astype(bool)).fit(progress=False).mean, expected)


def test_more_draws_than_there_is_memory_for_are_refused(data):
    fit = provi.logistic(data["X"], data["label"]).fit(progress=False)
    with pytest.raises(MemoryError, match="10000000000000000 draws need about"):
        fit.sample(10**16)
    with pytest.raises(ValueError, match="n = -1"):
        fit.sample(-1)
    with pytest.raises(ValueError, match="point has length 0, expected 2"):
        fit.log_density(np.zeros((4, 0)))
    assert fit.sample(0).shape == (0, 2)


def test_whole_numbers_beyond_any_float_stay_apart_as_groups():
    ids = [2**63 + k // 4 for k in range(24)]
    y = [float(k % 3 == 0) for k in range(24)]
    for given in (np.array(ids, dtype=np.uint64), [2**70 + k // 4 for k in range(24)]):
        fit = provi.fit_formula("y ~ 1 + (1 | g)", {"y": y, "g": given}, group_scale=1.0, progress=False)
        assert fit.dim == 7, fit.names


def test_a_damaged_pickle_is_refused(data):
    fit = provi.logistic(data["X"], data["label"]).fit(progress=False)
    record, numbers = fit._core.state()
    for broken in (numbers[:-8], numbers[:3], b"", numbers + numbers):
        with pytest.raises(ValueError):
            provi._provi.Answer.restore(record, broken)
    again = pickle.loads(pickle.dumps(fit))
    np.testing.assert_array_equal(again.cov, fit.cov)


# Of a run, but not of a formula's: its search draws nothing.
SEARCH = {"starts", "evaluations"}


@pytest.mark.parametrize(
    ("function", "keywords"),
    [
        (provi.Model.fit, set(provi._provi.run_keywords()) - {"contrast"}),
        (provi.fit_formula, set(provi._provi.run_keywords()) - {"contrast"} - SEARCH | {"contrasts"}),
        (provi.fit_formula, set(provi._provi.model_keywords())),
    ],
)
def test_every_option_of_the_library_is_a_keyword(function, keywords):
    taken = inspect.signature(function).parameters
    assert keywords <= set(taken), "name the new option in the signature and in the docstring"
    said = inspect.getdoc(function) + inspect.getdoc(provi.Model.fit)
    assert not [name for name in keywords if name not in said], "say what the new option does in the docstring"


def test_options_are_refused_in_the_library_s_words(data):
    model = provi.logistic(data["X"], data["label"])
    for options, error, words in [
        ({"method": "adam"}, ValueError, "adam.*auto, prox-energy"),
        ({"coordinates": "polar", "steps": 3}, ValueError, "polar.*original, curvature, laplace"),
        ({"sampling": "all", "steps": 3}, ValueError, "all.*uniform, importance, reshuffle"),
        ({"method": 3}, TypeError, "method = 3; must be a text"),
        ({"accuracy": "high"}, TypeError, "accuracy = 'high'; must be a number"),
        ({"memory_budget": 2.5}, TypeError, "memory_budget = 2.5; must be a whole number"),
        ({"memory_budget": "1B"}, MemoryError, "needs"),
        ({"memory": 1}, MemoryError, "needs"),
        ({"device": "gpu"}, ValueError, "`gpu` is not a device; use auto, cpu or cuda:0"),
        ({"device": 0}, TypeError, "device = 0; must be a text"),
        ({"device": "cuda:4000000000"}, ValueError, "device cuda:4000000000 cannot be used: no "),
        ({"starts": -1}, ValueError, "starts = -1; must be between 0 and 4294967295"),
    ]:
        with pytest.raises(error, match=words):
            model.fit(progress=False, **options)
    assert model.fit(progress=False, seed=np.float64(3.0), memory_budget="2GiB").seed == 3


def test_options_of_a_model_are_refused_in_the_library_s_words(data):
    table = {"y": data["label"], "x": data["X"][:, 1]}
    for options, error, words in [
        ({"family": "laplace"}, ValueError, "`laplace` is not a family; the families are gaussian"),
        ({"missing": "guess"}, ValueError, "use drop or error"),
        ({"prior": "cauchy(0, 1)"}, ValueError, "nothing with the prior `cauchy`"),
        ({"standardize": "yes"}, TypeError, "standardize = 'yes'; must be True or False"),
        ({"weights": 3}, TypeError, "weights = 3; must be a text"),
        ({"contrasts": "z"}, ValueError, "z"),
    ]:
        with pytest.raises(error, match=words):
            provi.fit_formula("y ~ x", table, progress=False, **options)


def words_of(call):
    """What a refused call says."""
    with pytest.raises((ValueError, TypeError, MemoryError)) as refused:
        call()
    return str(refused.value)


def refused_options(data, folder):
    """For each option of two words, a call whose refusal names it."""
    table = {"y": data["value"], "count": data["count"], "x": data["X"][:, 0]}
    (folder / "prior.csv").write_text("name,(Intercept),x\n(Intercept),1,0\nx,0,1\n")
    fit = lambda formula, **options: lambda: provi.fit_formula(formula, table, progress=False, **options)  # noqa: E731
    linear = lambda **options: fit("y ~ x", family="gaussian", **options)  # noqa: E731
    linear(noise_sd=1.0)().save(folder / "earlier.fit")
    both = {"prior_from": folder / "earlier.fit", "prior_covariance": folder / "prior.csv"}
    return {
        "prior_from": linear(noise_sd=1.0, **both),
        "noise_sd": fit("count ~ x", family="poisson", noise_sd=1.0),
        "prior_scale": linear(prior_scale=-1.0),
        "prior_covariance": linear(prior_covariance=folder / "prior.csv", prior_scale=1.0),
        "group_scale": linear(group_scale="town=1"),
        "time_limit": linear(noise_sd=1.0, time_limit=-1.0),
        "memory_budget": linear(memory_budget=2.5),
        "table_accuracy": linear(table_accuracy=0.1),
        "failure_probability": linear(failure_probability="small"),
        "audit_draws": linear(audit_draws=-1),
        "family_of_q": linear(family_of_q=3),
    }


def test_refusals_spell_options_as_keywords(data, tmp_path):
    known = {name for name in provi._provi.run_keywords() + provi._provi.model_keywords() if "_" in name}
    calls = refused_options(data, tmp_path)
    assert set(calls) == known, "name the new option here, with a call whose refusal names it"
    for name, call in calls.items():
        said = words_of(call)
        assert name in said, said
        assert "--" not in said and not [other for other in known if other.replace("_", "-") in said], said


def test_refusals_of_a_table_spell_options_as_keywords(tmp_path):
    (tmp_path / "t.csv").write_text("y,x,noise-sd\n1,2,3\n2,3O,5\n4,3,4\n3,5,6\n")
    fit = lambda formula, **options: provi.fit_formula(  # noqa: E731
        formula, tmp_path / "t.csv", family="gaussian", noise_sd=1.0, progress=False, **options
    )
    assert "mark it as missing (NA, or na='3O')" in words_of(lambda: fit("y ~ x"))
    assert "mark it as missing: na='5'" in words_of(lambda: fit('y ~ factor(x, levels = c("2", "3", "3O"))'))
    assert fit("y ~ x", na="3O").model["rows"] == 3
    # The user's own names stay as they are.
    assert "column `noise-sd`" in words_of(lambda: fit("y ~ factor(`noise-sd`, levels = c(\"3\", \"4\"))"))
