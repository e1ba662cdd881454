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


@pytest.mark.parametrize("batched", [False, True])
def test_parameters_with_domains_are_differentiated_and_carried_over(batched):
    """A covariance with the density of an inverse Wishart law, and a bounded number."""

    def log_density(theta):
        s = theta["s"]
        return -4.0 * torch.logdet(s) - 2.0 * torch.linalg.inv(s).diagonal(dim1=-2, dim2=-1).sum(-1) + torch.log(theta["u"])

    domains = {"s": provi.Domain.covariance(2), "u": provi.Domain.between(0.0, 1.0)}
    model = provi.from_torch(log_density, domains, batched=batched)
    assert model.dim == 4
    z = np.sin(np.arange(8.0)).reshape(2, 4)
    value, gradient = model.log_density(z)
    for k in range(4):
        step = 1e-5 * np.eye(4)[k]
        slope = (model.log_density(z + step)[0] - model.log_density(z - step)[0]) / 2e-5
        np.testing.assert_allclose(gradient[:, k], slope, rtol=1e-6, atol=1e-7)
    draws = model.fit(seed=1, progress=False).sample(10)
    assert draws["s"].shape == (10, 2, 2) and (np.linalg.eigvalsh(draws["s"]) > 0).all()
