"""The tutorial runs from its first cell to its last, and the guide with its adapters."""

import pathlib
import runpy

import pytest

HERE = pathlib.Path(__file__).resolve()
TUTORIAL = HERE.parents[4] / "docs" / "tutorial.py"


def test_the_tutorial_runs(tmp_path, monkeypatch, capsys):
    jax = pytest.importorskip("jax")
    pytest.importorskip("numpyro")
    monkeypatch.chdir(tmp_path)
    before = jax.config.jax_enable_x64
    try:
        runpy.run_path(str(TUTORIAL))
    finally:
        jax.config.update("jax_enable_x64", before)
    out = capsys.readouterr().out
    assert "gap to the best Gaussian at most" in out and (tmp_path / "tutorial-marginals.svg").exists()


@pytest.mark.filterwarnings("ignore:JAX is set to 32-bit")
def test_the_guide_runs_whole():
    pytest.importorskip("numpyro")
    guide = runpy.run_path(str(HERE.parents[1] / "test_guide.py"))
    assert guide["run_blocks"]() == []
