"""PyTorch functions, differentiated and batched here."""

import numpy as np
import pytest

import provi

torch = pytest.importorskip("torch", reason="torch is not installed: no CPU build for this platform at hand")


@pytest.mark.parametrize("batched", [False, True])
def test_the_gold_logistic_regression_is_fitted_from_a_torch_function(gold, batched):
    problem, gap = gold
    x, y = torch.tensor(problem.x), torch.tensor(problem.y)

    def log_density(z):
        s = z @ x.T
        inner = (y * s - torch.nn.functional.softplus(s)).sum(-1)
        return problem.c - 0.5 * (z * z).sum(-1) + inner

    fit = provi.from_torch(log_density, problem.d, batched=batched).fit(seed=1)
    assert 0.0 <= gap(fit.mean, fit.factor) <= 0.01


def test_what_the_function_raises_is_raised():
    def wrong(z):
        raise ZeroDivisionError("in the model")

    with pytest.raises(ZeroDivisionError, match="in the model"):
        provi.from_torch(wrong, 2).fit()
