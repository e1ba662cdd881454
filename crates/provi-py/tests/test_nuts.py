"""Starting points and mass matrices for samplers."""

import json

import numpy as np
import pytest

import provi

PRECISION = np.array([[2.0, -1.2], [-1.2, 1.0]])


def fit():
    box = provi.black_box(
        lambda z: (-0.5 * np.einsum("ni,ij,nj->n", z, PRECISION, z), -z @ PRECISION), 2, names=["a", "b"], mu=0.2, smoothness=3.0
    )
    return box.fit(seed=1)


def test_the_points_are_draws_and_the_matrix_is_the_covariance():
    found = fit()
    start = found.nuts_start(chains=3, seed=7)
    assert np.array_equal(start.points, found.sample(3, 7)) and start.chains == 3
    assert np.array_equal(start.inverse_mass_matrix, found.cov)
    assert np.allclose(start.inverse_mass_matrix, np.linalg.inv(PRECISION), rtol=1e-6)
    assert np.array_equal(start.parameters["beta"], start.points)
    # A single chain has no axis of chains in NumPyro, several have.
    assert start.numpyro_params()["beta"].shape == (3, 2)
    assert found.nuts_start(chains=1).numpyro_params()["beta"].shape == (2,)


def test_cmdstan_reads_what_is_written(tmp_path):
    start = fit().nuts_start(chains=2, seed=7)
    inits, metric = start.write_cmdstan(tmp_path / "new")
    assert [path.name for path in inits] == ["init_1.json", "init_2.json"]
    assert np.array_equal(json.loads(metric.read_text())["inv_metric"], start.inverse_mass_matrix)
    assert np.array_equal(json.loads(inits[1].read_text())["beta"], start.points[1])


def test_a_number_of_chains_is_whole():
    with pytest.raises(TypeError, match="n"):
        fit().nuts_start(chains=1.5)
