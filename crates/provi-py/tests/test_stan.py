"""Models out of libraries: a fixture with BridgeStan's symbols, and the examples of provi.h."""

import json
import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

import provi
from provi._stan import _arrange

ROOT = pathlib.Path(__file__).resolve().parents[3]
STAN = ROOT / "crates/provi-ffi"
REGRESSION = {"x": np.array([-1, 0, 1, 2, 3]), "y": np.array([-0.8, 0.3, 0.9, 2.2, 2.9])}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Builds the fixture, whole or spoilt, when it is first asked for."""
    rustc, folder = os.environ.get("RUSTC") or shutil.which("rustc"), tmp_path_factory.mktemp("libraries")
    if rustc is None:
        pytest.skip("needs rustc, which compiles the model library of this test")

    def build(spoilt=""):
        library = folder / f"{spoilt or 'fixture'}_model.so"
        if not library.exists():
            flags = ["--cfg", spoilt] if spoilt else ["-O"]
            source = STAN / "tests/fixture/bridgestan.rs"
            subprocess.run([rustc, "--edition", "2024", "-o", library, source, *flags], check=True)
        return library

    return build


@pytest.fixture
def library(built):
    return built()


def w2():
    """The gold logistic regression, and the least −ELBO of any Gaussian, computed elsewhere."""
    folder = ROOT / "crates/provi/tests/data"
    table = np.loadtxt(folder / "W2.csv", delimiter=",", skiprows=1)
    X, y = np.column_stack([table[:, :30], np.ones(len(table))]), table[:, 30].astype(int)
    return X, y, json.loads((folder / "W2.optimum.json").read_text())["f_star"]


@pytest.mark.slow
def test_w2_through_a_library_reaches_the_gold_optimum(library):
    X, y, optimum = w2()
    fit = provi.from_stan(library, {"N": len(y), "D": 31, "x": X, "y": y}).fit(seed=1, progress=False)
    # The exact −ELBO, by the same model inside provi.
    twin = provi.logistic(X, y, prior_scale=1.0)
    exact = provi.certify(fit.unconstrained.mean, fit.unconstrained.cov, twin)
    assert exact.elbo_exact and -1e-9 < -exact.elbo - optimum < 1e-3
    assert fit.names[:2] == ["beta[1]", "beta[2]"] and len(fit.names) == 31
    assert fit.sample(10)["beta"].shape == (10, 31)
    assert fit.certificate.gap.bound is None


def test_the_command_finds_the_same_answer(command, library, tmp_path):
    data = tmp_path / "data.json"
    data.write_text(json.dumps({name: values.tolist() for name, values in REGRESSION.items()}))
    out = tmp_path / "m.fit"
    words = ["fit", "--stan", library, "--data", data, "--out", out, "--seed", "7", "--quiet"]
    subprocess.run([command, *words], check=True, capture_output=True)
    theirs = json.loads((out / "fit.json").read_text())
    ours = provi.from_stan(library, data, seed=7).fit(seed=7, progress=False)
    assert ours.unconstrained.names == theirs["names"] == ["alpha", "beta", "free(sigma)"]
    np.testing.assert_allclose(ours.unconstrained.mean, theirs["mean"], rtol=1e-12)
    assert ours.names == theirs["constrained"]["names"]
    # Theirs are weighted draws, ours are draws of the Gaussian: near, in units of the posterior.
    off = (ours.summary()["mean"] - theirs["constrained"]["mean"]) / theirs["constrained"]["sd"]
    assert np.abs(off).max() < 0.3


def test_a_positive_scale_comes_back_positive_and_as_draws(library):
    model = provi.from_stan(str(library), REGRESSION, transformed=True, generated=True)
    fit = model.fit(seed=1, progress=False)
    assert model.names == ["alpha", "beta", "free(sigma)"]
    assert fit.names == ["alpha", "beta", "sigma", "variance", "y_next"]
    draws, points = fit.sample(500, seed=3), fit.unconstrained.sample(500, seed=3)
    assert (draws["sigma"] > 0).all()
    np.testing.assert_allclose(draws["sigma"], np.exp(points[:, 2]), rtol=1e-14)
    np.testing.assert_array_equal(draws["alpha"], points[:, 0])
    np.testing.assert_allclose(draws["variance"], draws["sigma"] ** 2, rtol=1e-14)
    noise = lambda found: (found["y_next"] - found["alpha"]) / found["sigma"]  # noqa: E731
    assert (fit.sample(500, seed=3)["y_next"] == draws["y_next"]).all(), "a pure function of the seed"
    assert not np.isclose(noise(fit.sample(500, seed=4)), noise(draws)).any(), "other draws, other quantities"
    table = fit.summary()
    assert "about the unconstrained coordinates" in str(table)
    assert np.isnan(table["mean_error"]).all()
    assert "about the unconstrained parameters" in str(fit.certificate)


def test_a_saved_fit_has_both_scales_for_the_command(command, library, tmp_path):
    data = tmp_path / "data.json"
    data.write_text(json.dumps({name: values.tolist() for name, values in REGRESSION.items()}))
    fit = provi.from_stan(library, data, transformed=True).fit(seed=7, progress=False)
    path = fit.save(tmp_path / "p.fit")
    found = json.loads(path.read_text())
    assert found["constrained"]["names"] == ["alpha", "beta", "sigma", "variance"]
    assert found["names"] == fit.unconstrained.names and found["model"]["library"]["path"] == str(library)
    words = [command, "fit", "--stan", library, "--data", data, "--transformed", "--seed", "7", "--json", "--quiet"]
    theirs = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
    assert theirs["constrained"] == found["constrained"], "the command's own record, number for number"
    said = subprocess.run([command, "summary", tmp_path / "p.fit"], check=True, capture_output=True, text=True).stdout
    assert "on the constrained scale" in said and "free(sigma)" in said
    check = [command, "certify", tmp_path / "p.fit", "--stan", library, "--data", data]
    subprocess.run(check, check=True, capture_output=True)
    assert (provi.Fit.load(path).mean == fit.unconstrained.mean).all()
    with pytest.raises(FileExistsError, match="holds a fit already"):
        fit.save(tmp_path / "p.fit")


def test_no_seed_is_the_librarys_own(library):
    models = [provi.from_stan(library, REGRESSION, seed=seed, generated=True) for seed in (None, 0)]
    draws = [model.fit(progress=False).sample(5, seed=3)["y_next"] for model in models]
    assert (draws[0] == draws[1]).all()
    with pytest.raises(ValueError, match="seed = -1"):
        provi.from_stan(library, REGRESSION, seed=-1)


def test_data_are_a_mapping_a_text_or_a_file(library, tmp_path):
    text = '{"x": [-1, 0, 1, 2, 3], "y": [-0.8, 0.3, 0.9, 2.2, 2.9]}'
    (tmp_path / "data.json").write_text(text)
    given = [REGRESSION, {"x": range(-1, 4), "y": REGRESSION["y"].tolist()}, text, tmp_path / "data.json"]
    points = np.array([[0.1, 0.9, -0.5]])
    values = [provi.from_stan(library, data).log_density(points)[0] for data in given]
    assert all((value == values[0]).all() for value in values)


def test_a_library_of_one_thread_gives_the_same_bits(library):
    fits = [provi.from_stan(library, {**REGRESSION, "mode": mode}).fit(progress=False) for mode in ("", "serial")]
    assert (fits[0].unconstrained.mean == fits[1].unconstrained.mean).all()


def test_a_declared_curvature_is_what_the_certificate_rests_on(library):
    X, y, _ = w2()
    X, y = X[:100, -4:], y[:100]
    data = {"D": 4, "x": X, "y": y}
    top = float(1.0 + 0.25 * np.linalg.eigvalsh(X.T @ X).max())
    fit = provi.from_stan(library, data, mu=1.0, smoothness=top).fit(progress=False)
    assert fit.certificate.kl.provenance == "declared"
    with pytest.raises(ValueError, match="declare mu too"):
        provi.from_stan(library, data, smoothness=2.0)


def test_positions_are_read_the_first_axis_fastest():
    names = ["mu", "theta.1.1", "theta.2.1", "theta.1.2", "theta.2.2", "theta.1.3", "theta.2.3", "pair:1", "z.real"]
    variables, columns = _arrange(names)
    assert [variable.name for variable in variables] == ["mu", "theta", "pair:1", "z.real"]
    assert variables[1].shape == (2, 3) and columns[1] == [1, 3, 5, 2, 4, 6]


@pytest.mark.parametrize(
    ("data", "kind", "words"),
    [
        ({"x": [1.0]}, ValueError, "refused the data: variable does not exist.*name=y"),
        ({"x": [1.0, 2.0, 3.0], "y": [1.0, 2.0]}, ValueError, "mismatch in dimension"),
        ({"x": object(), "y": [1.0]}, TypeError, "x holds a object"),
        (3, TypeError, "data is a int"),
        ("nowhere.json", FileNotFoundError, "no file `nowhere.json`"),
        ({**REGRESSION, "mode": "segfault"}, RuntimeError, "crashed while evaluating the density .*segmentation fault"),
    ],
)
def test_what_is_wrong_with_the_data_is_said(library, data, kind, words):
    with pytest.raises(kind, match=words):
        provi.from_stan(library, data)


def test_what_is_wrong_with_the_library_is_said(built, tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match="no file `nowhere.so`"):
        provi.from_stan("nowhere.so")
    with pytest.raises(ValueError, match="no symbol `bs_param_constrain`"):
        provi.from_stan(built("missing_symbol"), REGRESSION)
    with pytest.raises(ValueError, match="version 1"):
        provi.from_stan(built("other_version"), REGRESSION)
    with pytest.raises(ValueError, match="provi.h"):
        provi.from_library(built())
    (tmp_path / "text.so").write_text("no library")
    with pytest.raises(OSError, match="cannot be loaded as a shared library"):
        provi.from_stan(tmp_path / "text.so")
    (tmp_path / "model.stan").write_text("parameters { real x; } model { x ~ normal(0, 1); }")
    with pytest.raises(RuntimeError, match="no BridgeStan was found .*set BRIDGESTAN"):
        provi.from_stan(tmp_path / "model.stan", bridgestan=tmp_path)
    # A package called provi in the current folder is not what probes.
    (tmp_path / "provi").mkdir()
    (tmp_path / "provi/__init__.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    assert provi.from_stan(built(), REGRESSION).dim == 3


def test_what_a_model_says_while_it_runs_is_passed_on(library):
    with pytest.raises((RuntimeError, ValueError), match="lub_constrain: lower bound must be below"):
        provi.from_stan(library, {**REGRESSION, "mode": "always"}).fit(progress=False)
    failing = provi.from_stan(library, {**REGRESSION, "mode": "gq"}, generated=True).fit(progress=False)
    with pytest.raises(RuntimeError, match="normal_rng: Scale parameter is 0"):
        failing.sample(5)


def test_a_density_in_c_is_fitted(tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("needs cc, which compiles the density of this test")
    library = tmp_path / "density.so"
    words = ["-O2", "-shared", "-fPIC", f"-I{STAN / 'include'}", "-o", library, STAN / "examples/density.c", "-lm"]
    subprocess.run([compiler, *words], check=True)
    fit = provi.from_library(library, mu=1.0, smoothness=4.0).fit(progress=False)
    np.testing.assert_allclose(fit.mean, [1.0, -2.0], atol=1e-6)
    np.testing.assert_allclose(fit.sd, [1.0, 0.5], atol=1e-6)
    assert fit.certificate.kl.provenance == "declared"
