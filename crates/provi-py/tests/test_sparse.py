"""A q with a sparse factor: the dense answer, a file that numpy reads, and what is refused."""

import pickle

import numpy as np
import provi
import pytest


def read_sparse(path):
    """The mean and the precision of the first Gaussian of a file, as full arrays: for a small one."""
    words, at = np.fromfile(path, dtype="<u8"), 3

    def take(count, kind="<u8"):
        nonlocal at
        at += count
        return words[at - count : at].view(kind)

    d, fronts, constant = (int(x) for x in take(3))
    k = take(1, "<f8")[0]
    order, sizes = take(d).astype(int), take(2 * fronts).astype(int).reshape(-1, 2)
    below = [take(rows).astype(int) for _, rows in sizes]
    c, s, mean = take(d, "<f8"), take(d, "<f8"), take(d, "<f8")
    L, first = np.zeros((d, d)), 0
    for (columns, rows), under in zip(sizes, below):
        places = np.concatenate([np.arange(first, first + columns), under])
        L[places, first : first + columns] = take((columns + rows) * columns, "<f8").reshape(-1, columns)
        first += columns
    T = np.diag(s)  # b = T @ beta
    if constant:
        i = constant - 1
        T[i] = s[i] * c
        T[i, i] = s[i] * k
    L, place = np.tril(L), np.argsort(order)
    precision = T.T @ (L @ L.T)[np.ix_(place, place)] @ T
    return np.linalg.solve(T, mean), precision


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    x, g = rng.normal(size=80), np.arange(80) % 9
    p = 1 / (1 + np.exp(-(0.7 * x + (g - 4) / 4)))
    return {"y": (rng.random(80) < p).astype(int), "x": x + 5.0, "g": [f"g{k}" for k in g]}


def fit(table, **options):
    return provi.fit_formula("y ~ x + (1 | g)", table, progress=False, **options)


def test_the_factor_is_read_by_numpy_and_the_answer_is_the_dense_one(table, tmp_path):
    dense = fit(table, group_scale="0.8", factor="dense")
    sparse = fit(table, group_scale="0.8", factor="sparse")
    assert np.allclose(sparse.mean, dense.mean, atol=1e-5 * dense.sd.max())
    assert np.allclose(sparse.sd, dense.sd, rtol=1e-5)
    assert sparse.certificate.gap.key == "sparse-optimum" and sparse.certificate.gap.bound < 1e-9
    assert sparse.certificate.kl.bound is None
    sparse.save(tmp_path / "s.fit")
    mean, precision = read_sparse(tmp_path / "s.fit" / "factor.sparse")
    covariance = np.linalg.inv(precision)
    assert np.allclose(mean, sparse.mean, rtol=1e-9, atol=1e-9)
    assert np.allclose(np.sqrt(np.diag(covariance)), sparse.sd, rtol=1e-7)
    # Of a small model the covariance is there as well.
    assert np.allclose(sparse.cov, covariance, rtol=1e-6, atol=1e-9)
    back = provi.load(tmp_path / "s.fit")
    assert np.array_equal(back.mean, sparse.mean) and np.array_equal(back.sd, sparse.sd)
    again = pickle.loads(pickle.dumps(sparse))
    assert np.array_equal(again.sample(3, seed=1), sparse.sample(3, seed=1))
    new = {"x": [4.0, 6.0], "g": ["g1", "g5"]}
    assert np.allclose(sparse.predict(new)["mean"], dense.predict(new)["mean"], rtol=1e-5)


def test_scales_are_integrated_over_the_sparse_solver(table, tmp_path):
    found = fit(table, factor="sparse")
    scales = found.scales()
    assert len(scales) == 1
    assert pickle.loads(pickle.dumps(found)).sample_scales(2, seed=1).keys() == found.sample_scales(2, seed=1).keys()
    found.save(tmp_path / "m.fit")
    assert np.allclose(provi.load(tmp_path / "m.fit").mean, found.mean)


def test_a_kind_of_factor_that_there_is_not(table):
    with pytest.raises((ValueError, TypeError), match="dense or sparse"):
        fit(table, factor="full")
