"""Families of q: the option, what the certificate says, and what a small family costs."""

import numpy as np
import pytest

import provi

RNG = np.random.default_rng(3)
COMMON = RNG.normal(size=60)
X = np.column_stack([np.ones(60), COMMON, COMMON + 0.4 * RNG.normal(size=60)])
Y = (COMMON + RNG.normal(size=60) > 0).astype(float)


def model():
    return provi.logistic(X, Y, prior_scale=1.0)


def test_a_mean_field_is_independent_and_costs_what_the_elbos_say():
    full, field = model().fit(seed=1), model().fit(family_of_q="meanfield", seed=1)
    assert full.family_of_q == "full" and full.certificate.family is None
    assert field.family_of_q == "meanfield" and field.certificate.family.name == "meanfield"
    assert np.count_nonzero(field.cov) == 3
    assert field.certificate.family.gap.bound < 1e-9 and field.certificate.proves_gap(1e-9)
    lost = full.elbo - field.elbo
    assert 1e-3 < lost <= field.certificate.gap.bound
    assert np.all(field.sd[1:] < 0.9 * full.sd[1:])
    assert "meanfield" in repr(field) and field.certificate.to_dict()["family"]["name"] == "meanfield"
    assert "family" not in full.certificate.to_dict()


def test_a_family_is_kept_by_a_file(tmp_path):
    field = model().fit(family_of_q="arrow:1", seed=1)
    field.save(tmp_path / "arrow.fit")
    back = provi.load(tmp_path / "arrow.fit")
    assert back.family_of_q == "arrow:1" and back.certificate.family == field.certificate.family


@pytest.mark.parametrize("family", ["meanfield", "blocks:1,2", "arrow:1", "banded:1"])
def test_a_plan_in_a_family_keeps_it(family):
    fit = model().fit(family_of_q=family, method="prox-energy", steps=300, seed=2)
    assert fit.family_of_q == family and fit.method == "prox-energy"
    best = model().fit(family_of_q=family, seed=2)
    assert best.elbo - fit.elbo <= fit.certificate.family.gap.bound


def test_low_rank_is_a_recipe_for_models_and_black_boxes():
    field, low, full = (model().fit(family_of_q=name, seed=1) for name in ("meanfield", "lowrank:1", "full"))
    assert low.family_of_q == "lowrank:1"
    assert field.elbo <= low.elbo + 1e-9 and low.elbo <= full.elbo + 1e-9
    # A correlated Gaussian, through a function: two coordinates are a diagonal and a rank of 1.
    precision = np.array([[2.0, -1.2], [-1.2, 1.0]])
    box = provi.black_box(lambda z: (-0.5 * z @ precision @ z, -precision @ z), 2, batched=False)
    found = box.fit(family_of_q="lowrank:1", seed=1)
    # 512 draws know a variance to about 1/sqrt(256), a sixteenth.
    assert np.allclose(found.cov, np.linalg.inv(precision), rtol=0.25)
    assert abs(found.mean).max() < 1e-3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"family_of_q": "lowrank:3"}, "3 coordinates"),
        ({"family_of_q": "lowrank:1", "method": "prox-energy"}, "auto"),
        ({"family_of_q": "diagonal"}, "meanfield"),
        ({"family_of_q": "blocks:2,2"}, "add up"),
        ({"family_of_q": "arrow:4"}, "arrow:3"),
        ({"family_of_q": "meanfield", "method": "proj-stl"}, "prox-energy"),
    ],
)
def test_what_does_not_fit_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        model().fit(**options)
