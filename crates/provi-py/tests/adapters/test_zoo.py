"""A few posteriors of bench/zoo against their stored references: an answer is right, or provi says that it is not to be used."""

import json
import sys
import warnings

import pytest

import provi

from conftest import ROOT

jax = pytest.importorskip("jax")
sys.path.insert(0, str(ROOT / "bench" / "zoo"))

import answers
import reference
from models import problems
from verdicts import off, right

PROBLEMS = {problem.name: problem for problem in problems()}

# Near a Gaussian: nothing excuses a wrong answer, and a right one must not be refused.
EASY = ["linear-100x3-0", "gamma-100x3-0", "means-centred-30x20", "skewed-40-3"]
# Collapsing modes, exchangeable parts, an ODE, several modes: wrong answers are allowed, silent ones are not.
HARD = ["means-centred-30x5", "means-centred-100x20", "mixture-150-4", "modes-far-2", "rank-5x6-0", "predators-15-0"]


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def fitted(name, folder):
    """What fit.json says about trust, and the errors of the answer."""
    problem = PROBLEMS[name]
    model = provi.from_jax(lambda z: problem.log_density(z, problem.data), problem.dim)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = model.fit(seed=1, progress=False)
    answer = answers.Answer(fit.mean, fit.factor, fit.gradient_evaluations, fit.seconds)
    error, ratio = answers.errors(problem, reference.stored(problem), answers.moments(problem, answer))
    record = json.loads(fit.save(folder / "fit").read_text())
    return record["trust"], {"mean_error": error, "sd_ratio": ratio}


@pytest.mark.parametrize("name", EASY)
def test_an_answer_near_a_gaussian_is_right(name, tmp_path):
    trust, found = fitted(name, tmp_path)
    assert right(found), (found, trust)
    assert trust["verdict"] in ("good", "fair"), trust


@pytest.mark.parametrize("name", HARD)
def test_a_wrong_answer_is_not_called_good(name, tmp_path):
    trust, found = fitted(name, tmp_path)
    assert right(found) or trust["verdict"] != "good", (found, trust)
    assert not off(found) or trust["verdict"] == "do not use", (found, trust)


def test_every_problem_has_a_reference_that_met_its_goal():
    for problem in problems():
        record = json.loads((reference.STORE / f"{problem.name}.json").read_text())
        assert record["met"] and record["dim"] == problem.dim, problem.name
        moments = reference.stored(problem)
        assert list(moments) == problem.names() and all(sd > 0 for _, sd in moments.values()), problem.name
