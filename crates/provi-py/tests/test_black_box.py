"""Log densities of one's own: Python functions, and C functions."""

import ctypes
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

import provi
from provi._fit import Variable
from provi._scale import ScaledModel, UserScale


def test_a_batched_function_is_fitted(density):
    shapes = set()

    def fn(z):
        assert z.dtype == np.float64 and z.flags.c_contiguous
        shapes.add(z.shape)
        return density(z)

    fit = provi.fit(fn, 2, names=["a", "b"], seed=1)
    np.testing.assert_allclose(fit.mean, [1.0, 2.0], atol=1e-9)
    np.testing.assert_allclose(fit.cov, [[1.0, 0.15], [0.15, 0.25]], atol=1e-9)
    assert fit.names == ["a", "b"] and fit.certificate.kl.bound is None
    assert max(n for n, _ in shapes) >= 100 and all(d == 2 for _, d in shapes)


def test_the_scalar_form_gives_the_same_bits(density):
    def one(z):
        value, gradient = density(z[None, :])
        return float(value[0]), gradient[0]

    batched, scalar = provi.fit(density, 2, seed=1), provi.fit(one, 2, batched=False, seed=1)
    np.testing.assert_allclose(scalar.mean, batched.mean, rtol=1e-12)
    assert scalar.gradient_evaluations == batched.gradient_evaluations


def test_a_declared_curvature_is_certified_and_watched(density):
    precision = np.linalg.inv([[1.0, 0.15], [0.15, 0.25]])
    for mu, smoothness in ((0.8, 5.0), (precision, precision)):
        fit = provi.fit(density, 2, mu=mu, smoothness=smoothness)
        assert fit.certificate.kl.bound < 0.05 and fit.certificate.kl.provenance == "declared"
    wrong = provi.fit(density, 2, mu=3.0, smoothness=5.0)
    assert wrong.certificate.kl.bound is None and "declared" in wrong.certificate.kl.reason
    with pytest.raises(ValueError, match="declare mu too"):
        provi.fit(density, 2, smoothness=5.0)


def test_a_transform_gives_draws_on_the_users_scale(density):
    model = provi.black_box(density, 2, transform=np_exp, attrs={"source": "test"})
    fit = model.fit()
    draws = fit.draws(50, seed=4)
    np.testing.assert_array_equal(draws["rate"], np.exp(fit.sample(50, seed=4)[:, 0]))


def np_exp(z):
    return {"rate": np.exp(z[:, 0]), "shift": z[:, 1:]}


class Mine(Exception):
    pass


def test_a_fit_on_another_scale_is_saved_with_both(density, tmp_path):
    scale = UserScale(lambda z: {"a": np.exp(z[:, 0]), "b": z[:, 1]}, (Variable("a", (), ()), Variable("b", (), ())), frozenset())
    fit = ScaledModel(provi.black_box(density, 2), scale).fit(progress=False)
    found = json.loads(fit.save(tmp_path / "s.fit").read_text())
    table, kept = fit.summary(), found["constrained"]
    assert kept["names"] == ["a", "b"] and kept["weighted"] is False and kept["pareto_k"] == fit.khat
    for column in ("mean", "sd", "lower", "upper"):
        assert kept[column] == table[column].tolist()
    assert found["mean"] == fit.unconstrained.mean.tolist()


def test_an_exception_of_the_function_is_raised_unchanged(density):
    mine = Mine("no luck")

    def fn(z):
        if len(z) > 1:
            raise mine
        return density(z)

    with pytest.raises(Mine) as caught:
        provi.fit(fn, 2)
    assert caught.value is mine


@pytest.mark.parametrize(
    ("spoil", "error", "words"),
    [
        (lambda v, g: v, TypeError, "the function returned ndarray, expected a pair"),
        (lambda v, g: None, TypeError, "the function returned NoneType, expected a pair"),
        (lambda v, g: (v[:, None], g), ValueError, r"log density of shape \(1, 1\), expected \(1,\)"),
        (lambda v, g: (v, g[:, :1]), ValueError, r"gradient of shape \(1, 1\), expected \(1, 2\)"),
        (lambda v, g: (v, g.astype(np.float32)), TypeError, "gradient of dtype float32, expected float64"),
        (lambda v, g: (v.astype(int), g), TypeError, "log density of dtype int64, expected float64"),
        (lambda v, g: (v * np.nan, g), ValueError, "no point with a finite log density"),
        (lambda v, g: (v, g * np.nan), ValueError, "no point with a finite log density"),
        (lambda v, g: (v, -g), ValueError, "disagrees with finite differences"),
    ],
)
def test_a_wrong_result_is_named(density, spoil, error, words):
    with pytest.raises(error, match=words):
        provi.fit(lambda z: spoil(*density(z)), 2)


def test_lists_and_strided_arrays_are_read_too(density):
    expected = provi.fit(density, 2, seed=2).mean
    for reshape in (
        lambda v, g: [v.tolist(), g.tolist()],
        lambda v, g: (np.repeat(v, 2)[::2], np.asfortranarray(g)),
    ):
        np.testing.assert_allclose(provi.fit(lambda z: reshape(*density(z)), 2, seed=2).mean, expected, rtol=1e-12)


def test_a_kept_argument_is_not_written_again(density):
    kept = []

    def fn(z):
        kept.append((z, z.copy()))
        return density(z)

    provi.fit(fn, 2, evaluations=500)
    assert len(kept) > 5 and all((z == copy).all() for z, copy in kept)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda f: provi.fit(f), TypeError, "needs the dimension"),
        (lambda f: provi.fit(f, 0), ValueError, "dimension 0"),
        (lambda f: provi.fit(3, 2), TypeError, "int is not callable"),
        (lambda f: provi.fit(f, 2, names=["a"]), ValueError, "names has length 1, expected 2"),
        (lambda f: provi.fit(f, 2, mu=-1.0), ValueError, "at least 0"),
        (lambda f: provi.fit(f, 2, mu=np.eye(3)), ValueError, "expected 2"),
        (lambda f: provi.fit(f, 2, init=[np.nan, 0.0]), ValueError, "no point with a finite log density"),
        (lambda f: provi.fit(provi.CFunction(0), 2), ValueError, "address of the C function is 0"),
        (lambda f: provi.CFunction("f"), TypeError, "function is a str"),
    ],
)
def test_wrong_arguments_are_refused(density, call, error, words):
    with pytest.raises(error, match=words):
        call(density)


SOURCE = r"""
#include <stddef.h>
struct user { double center; long calls; };
int normal(size_t n, size_t d, const double *z, double *logp, double *grad, void *data) {
    struct user *user = data;
    if (user->center < 0) return 7;
    user->calls += 1;
    for (size_t k = 0; k < n; k++) {
        logp[k] = 0;
        for (size_t i = 0; i < d; i++) {
            double x = z[k * d + i] - user->center;
            logp[k] -= 0.5 * x * x;
            grad[k * d + i] = -x;
        }
    }
    return 0;
}
"""


class User(ctypes.Structure):
    _fields_ = [("center", ctypes.c_double), ("calls", ctypes.c_long)]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    compiler = shutil.which("cc")
    if compiler is None or sys.platform == "win32":
        pytest.skip("needs cc, which compiles the C function of this test")
    path = tmp_path_factory.mktemp("c")
    (path / "normal.c").write_text(SOURCE)
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", path / "normal.so", path / "normal.c"], check=True)
    return ctypes.CDLL(str(path / "normal.so"))


def test_a_c_function_is_called_with_its_data(library):
    user = User(3.0, 0)
    address = ctypes.cast(library.normal, ctypes.c_void_p).value
    fits = [
        provi.fit(provi.CFunction(function, user, thread_safe=safe), 2, mu=1.0, smoothness=1.0, seed=5)
        for function, safe in ((library.normal, False), (address, False), (library.normal, True))
    ]
    assert user.calls > 10
    for fit in fits:
        np.testing.assert_allclose(fit.mean, [3.0, 3.0], atol=1e-9)
        np.testing.assert_array_equal(fit.mean, fits[0].mean)
        assert fit.certificate.kl.bound < 1e-3


def test_a_failing_c_function_is_an_error(library):
    with pytest.raises(RuntimeError, match="the C function returned 7"):
        provi.fit(provi.CFunction(library.normal, User(-1.0, 0)), 2)


def test_a_declared_curvature_gives_exact_draws():
    """V = Σ ½a_i z_i² + b_i log cosh(z_i − s_i): the curvature along z_i is between a_i and a_i + b_i."""
    a, b, s = np.array([0.8, 3.0]), np.array([1.0, 2.0]), np.array([0.7, -1.2])

    def fn(z):
        value = -0.5 * a * z**2 - b * np.log(np.cosh(z - s))
        return value.sum(axis=1), -a * z - b * np.tanh(z - s)

    model = provi.black_box(fn, 2, mu=np.diag(a), smoothness=np.diag(a + b))
    fit = model.fit(seed=1, progress=False)
    draws = fit.sample(200_000, seed=2, exact=model)
    assert np.array_equal(draws[:100], fit.sample(100, seed=2, exact=model))
    # Kolmogorov and Smirnov, at a level of 1e-7, against sums over a grid; draws of the Gaussian fail.
    grid = np.linspace(-12, 12, 40_001)

    def off(points):
        worst = 0.0
        for i in range(2):
            p = np.exp(-0.5 * a[i] * grid**2 - b[i] * np.log(np.cosh(grid - s[i])))
            cdf = np.interp(np.sort(points[:, i]), grid, np.cumsum(p) / p.sum())
            worst = max(worst, np.abs(cdf - (np.arange(len(points)) + 0.5) / len(points)).max())
        return worst

    level = np.sqrt(0.5 * np.log(2 / 1e-7) / len(draws)) + 1e-3
    assert off(draws) < level < off(fit.sample(200_000, seed=2))
    attrs = fit.to_arviz(draws=50, exact=model)["posterior"].attrs
    assert attrs["provi_draws"] == "exact" and "declared" in attrs["provi_draws_note"]
    near = fit.sample(500, exact=provi.black_box(fn, 2, mu=1e-6, smoothness=5.0), tv=0.3)
    assert near.shape == (500, 2)
    with pytest.raises(ValueError, match="declare both"):
        fit.sample(10, exact=provi.black_box(fn, 2))


def test_an_error_in_a_function_ends_exact_draws():
    def fn(z):
        if len(z) > 1 and np.abs(z).max() > 1.5:
            raise RuntimeError("too far")
        return -0.5 * (z**2).sum(axis=1), -z

    model = provi.black_box(fn, 1, mu=1.0, smoothness=1.0)
    fit = provi.fit(lambda z: (-0.5 * (z**2).sum(axis=1), -z), 1, mu=1.0, smoothness=1.0, progress=False)
    with pytest.raises(RuntimeError, match="too far"):
        fit.sample(1000, exact=model)
