"""The tutorial runs from its first cell to its last."""

import pathlib
import runpy

import pytest

TUTORIAL = pathlib.Path(__file__).resolve().parents[4] / "docs" / "tutorial.py"


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
