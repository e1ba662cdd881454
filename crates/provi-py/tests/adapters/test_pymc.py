"""PyMC models, back on their own scale."""

import numpy as np
import pytest

import provi
from constrained import assert_constrained

pymc = pytest.importorskip("pymc")


@pytest.fixture(scope="module")
def logistic(gold):
    problem, _ = gold
    with pymc.Model() as model:
        beta = pymc.Normal("beta", 0.0, 1.0, shape=problem.d)
        pymc.Bernoulli("y", logit_p=problem.x @ beta, observed=problem.y)
    return model


def test_the_gold_logistic_regression_is_fitted_from_pymc(gold, logistic):
    problem, gap = gold
    fit = provi.from_pymc(logistic).fit(seed=1)
    q = fit.unconstrained
    assert 0.0 <= gap(q.mean, q.factor) <= 0.01
    assert fit.names[0] == "beta[0]" and fit.sample(5)["beta"].shape == (5, problem.d)


def test_positive_and_simplex_variables_come_back_constrained(survey):
    with pymc.Model(coords={"answer": ["0", "1", "2"]}):
        share = pymc.Dirichlet("share", np.ones(3), dims="answer")
        pymc.Multinomial("answers", n=100, p=share, observed=survey["answers"])
        mu, sigma = pymc.Normal("mu", 0.0, 5.0), pymc.HalfNormal("sigma", 2.0)
        pymc.Normal("value", mu, sigma, observed=survey["value"])
        pymc.Deterministic("half", share / 2, dims="answer")
        fit = provi.from_pymc().fit(seed=1)
    assert_constrained(fit, fit.sample(400, seed=2))
    assert fit.unconstrained.names == ["share_simplex__[0]", "share_simplex__[1]", "mu", "sigma_log__"]
    posterior = fit.to_arviz(draws=10, chains=2).posterior
    assert posterior["share"].dims == ("chain", "draw", "answer") and list(posterior["answer"].values) == ["0", "1", "2"]


def test_pymc_s_own_gaussian_is_certified(gold):
    problem, gap = gold
    # Bernoulli(logit_p=…) has gradients that are not finite far out, where ADVI begins.
    with pymc.Model() as written_out:
        beta = pymc.Normal("beta", 0.0, 1.0, shape=problem.d)
        t = pymc.math.dot(problem.x, beta)
        pymc.Potential("likelihood", pymc.math.dot(problem.y, t) - pymc.math.log1pexp(t).sum())
        fast = pymc.adam(learning_rate=0.02)
        found = pymc.fit(2000, method="fullrank_advi", obj_optimizer=fast, random_seed=1, progressbar=False)
    mean, cov = found.mean.eval(), found.cov.eval()
    proved = provi.certify(mean, cov, provi.logistic(problem.x, problem.y, prior_scale=1.0))
    exact = gap(mean, np.linalg.cholesky(cov))
    assert exact <= proved.certificate.gap.bound
    boxed = provi.certify(mean, cov, provi.from_pymc(written_out))
    assert abs(boxed.elbo - proved.elbo) <= 6 * boxed.elbo_error


def test_observations_are_replicated_for_each_draw():
    y = np.array([1.0, 2.0, 0.5, 1.5])
    with pymc.Model() as model:
        scale = pymc.HalfNormal("scale", 1.0)
        mu = pymc.Deterministic("mu", 2.0 * scale)
        pymc.Normal("y", mu, 0.001, observed=y)
    fit = provi.from_pymc(model).fit(seed=1)
    found = fit.to_arviz(draws=100, chains=2, seed=3)
    again = found.posterior_predictive["y"]
    assert again.dims == ("chain", "draw", "y_dim_0") and again.shape == (2, 100, 4)
    off = again.values - found.posterior["mu"].values[..., None]
    assert np.abs(off).max() < 0.006 and off.std() == pytest.approx(0.001, rel=0.15)
    assert (found.observed_data["y"].values == y).all()


def test_discrete_variables_are_refused():
    with pymc.Model() as model:
        pymc.Poisson("k", 3.0)
    with pytest.raises(ValueError, match="k of the PyMC model is discrete"):
        provi.from_pymc(model)


def test_nuts_begins_where_the_fit_says(survey):
    from pymc.blocking import DictToArrayBijection
    from pymc.initial_point import make_initial_point_fns_per_chain

    with pymc.Model() as model:
        share = pymc.Dirichlet("share", np.ones(3))
        pymc.Multinomial("answers", n=100, p=share, observed=survey["answers"])
        mu, sigma = pymc.Normal("mu", 0.0, 5.0), pymc.HalfNormal("sigma", 2.0)
        pymc.Normal("value", mu, sigma, observed=survey["value"])
        fit = provi.from_pymc().fit(seed=1)
    start = fit.nuts_start(chains=2, seed=3)
    values = start.pymc_initvals()
    assert set(values[0]) == {"share", "mu", "sigma"}
    # PyMC's own coordinates of these values are the points, in the order of the matrix.
    made = make_initial_point_fns_per_chain(model=model, overrides=values, jitter_rvs=set(), chains=2)
    for k in range(2):
        point = made[k](None)
        flat = DictToArrayBijection.map({v.name: point[v.name] for v in model.value_vars}).data
        assert np.allclose(flat, start.points[k], atol=1e-9)
    with model:
        step = pymc.NUTS(scaling=start.inverse_mass_matrix, is_cov=True)
        drawn = pymc.sample(
            100, tune=30, chains=1, cores=1, step=step, initvals=values[0], random_seed=1, progressbar=False,
            compute_convergence_checks=False,
        )
    # Some fifty effective draws: five of their standard errors.
    assert abs(float(drawn.posterior["mu"].mean()) - fit.mean["mu"]) < 5.0 * fit.sd["mu"] / 7.0
