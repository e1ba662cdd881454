"""NumPyro models, back on their own scale."""

import numpy as np
import pytest

import provi
from constrained import assert_constrained

numpyro = pytest.importorskip("numpyro")
import jax
import jax.numpy as jnp
import numpyro.distributions as dist

pytestmark = pytest.mark.filterwarnings("ignore:JAX is set to 32-bit")


def logistic(x, y):
    beta = numpyro.sample("beta", dist.Normal(0.0, 1.0).expand([x.shape[1]]).to_event(1))
    numpyro.sample("y", dist.Bernoulli(logits=x @ beta), obs=y)


def survey_model(answers, value):
    share = numpyro.sample("share", dist.Dirichlet(jnp.ones(3)))
    numpyro.sample("answers", dist.Multinomial(100, probs=share), obs=answers)
    mu, sigma = numpyro.sample("mu", dist.Normal(0.0, 5.0)), numpyro.sample("sigma", dist.HalfNormal(2.0))
    numpyro.sample("value", dist.Normal(mu, sigma), obs=value)
    numpyro.deterministic("half", share / 2)


def test_the_gold_logistic_regression_is_fitted_from_numpyro(gold):
    problem, gap = gold
    fit = provi.from_numpyro(logistic, problem.x, problem.y).fit(seed=1)
    q = fit.unconstrained
    assert 0.0 <= gap(q.mean, q.factor) <= 0.01
    assert fit.names[:2] == ["beta[0]", "beta[1]"] and fit.sample(5)["beta"].shape == (5, problem.d)


def test_positive_and_simplex_sites_come_back_constrained(survey):
    fit = provi.from_numpyro(survey_model, **survey).fit(seed=1)
    assert_constrained(fit, fit.sample(400, seed=2))
    assert fit.unconstrained.dim == 4 and "sigma_unconstrained" in fit.unconstrained.names
    data = fit.to_arviz(draws=10, chains=2)
    assert data.posterior["share"].shape == (2, 10, 3) and data.posterior["sigma"].min() > 0
    assert data.posterior.attrs["provi_space"] == "unconstrained"
    again = __import__("pickle").loads(__import__("pickle").dumps(fit))
    assert (again.sample(50)["sigma"] == fit.sample(50)["sigma"]).all()


def test_observations_have_their_log_likelihood(survey):
    fit = provi.from_numpyro(survey_model, **survey).fit(seed=1)
    found = fit.to_arviz(draws=20, chains=2)
    assert all(np.isfinite(x).all() for x in found.log_likelihood.data_vars.values()) and len(found.log_likelihood.data_vars) > 0


def test_observations_are_replicated_for_each_draw():
    y = np.array([1.0, 2.0, 0.5, 1.5])

    def model(y):
        mu = numpyro.sample("mu", dist.Normal(0.0, 1.0))
        numpyro.factor("none", 0.0)
        numpyro.sample("y", dist.Normal(mu, 0.001), obs=y)

    fit = provi.from_numpyro(model, y).fit(seed=1)
    found = fit.to_arviz(draws=200, chains=2, seed=3)
    again = found.posterior_predictive["y"]
    assert again.dims == ("chain", "draw", "y_dim_0") and again.shape == (2, 200, 4)
    # Each replicate belongs to its own draw, and is not the data.
    off = again.values - found.posterior["mu"].values[..., None]
    assert np.abs(off).max() < 0.006 and off.std() == pytest.approx(0.001, rel=0.1)
    assert (found.observed_data["y"].values == y).all() and "none" not in found.posterior_predictive
    same = fit.to_arviz(draws=200, chains=2, seed=3).posterior_predictive["y"]
    assert (same.values == again.values).all()
    assert not hasattr(fit.to_arviz(draws=5, chains=1, posterior_predictive=False), "posterior_predictive")
    own = fit.to_arviz(draws=5, chains=1, posterior_predictive=lambda draws, rng: {"mean": draws["mu"]})
    assert list(own.posterior_predictive.data_vars) == ["mean"]


def test_a_discrete_site_is_refused_by_name():
    def model(y):
        share = numpyro.sample("share", dist.Beta(1.0, 1.0))
        which = numpyro.sample("which", dist.Bernoulli(share))
        numpyro.sample("y", dist.Normal(which * 2.0, 1.0), obs=y)

    with pytest.raises(ValueError, match="which of the NumPyro model is discrete.*MixtureSameFamily"):
        provi.from_numpyro(model, 1.0)


def test_plates_name_their_axes():
    def model(y):
        with numpyro.plate("town", 3):
            level = numpyro.sample("level", dist.Normal(0.0, 2.0))
            slope = numpyro.sample("slope", dist.Normal(0.0, 1.0).expand([2]).to_event(1))
            numpyro.sample("y", dist.Normal(level + slope.sum(-1), 1.0), obs=y)

    fit = provi.from_numpyro(model, np.array([1.0, 0.0, -1.0])).fit()
    posterior = fit.to_arviz(draws=2, chains=1).posterior
    assert posterior["level"].dims == ("chain", "draw", "town")
    assert posterior["slope"].dims == ("chain", "draw", "town", "slope_dim_1")
    assert fit.plot_marginals(["level[0]"]).shape == (1,)


def test_numpyro_s_own_gaussian_is_certified(gold):
    from numpyro.infer import SVI, Trace_ELBO
    from numpyro.infer.autoguide import AutoMultivariateNormal

    problem, gap = gold
    guide = AutoMultivariateNormal(logistic)
    svi = SVI(logistic, guide, numpyro.optim.Adam(0.01), Trace_ELBO(num_particles=8))
    params = svi.run(jax.random.key(0), 1000, problem.x, problem.y, progress_bar=False).params
    mean = np.asarray(params["auto_loc"], dtype=np.float64)
    factor = np.asarray(params["auto_scale_tril"], dtype=np.float64)

    proved = provi.certify(mean, factor @ factor.T, provi.logistic(problem.x, problem.y, prior_scale=1.0))
    exact = gap(mean, factor)
    assert exact <= proved.certificate.gap.bound and proved.certificate.gap.provenance == "proved"
    boxed = provi.certify(mean, factor @ factor.T, provi.from_numpyro(logistic, problem.x, problem.y))
    assert boxed.certificate.gap.bound is None
    assert abs(boxed.elbo - proved.elbo) <= 6 * boxed.elbo_error


def test_a_model_without_continuous_sites_is_refused():
    with pytest.raises(ValueError, match="no continuous latent site"):
        provi.from_numpyro(lambda: numpyro.sample("y", dist.Normal(0.0, 1.0), obs=1.0))


def test_nuts_begins_where_the_fit_says(survey):
    model = provi.from_numpyro(survey_model, **survey)
    fit = model.fit(seed=1)
    start = fit.nuts_start(chains=2, seed=3)
    params = start.numpyro_params()
    assert set(params) == {"mu", "share", "sigma"}
    # NumPyro flattens its sites in the order of the coordinates, so the matrix belongs to them.
    with jax.enable_x64(True):
        for k in range(2):
            own = {name: jnp.asarray(values[k]) for name, values in params.items()}
            assert np.array_equal(jax.flatten_util.ravel_pytree(own)[0], start.points[k])
            energy = numpyro.infer.util.potential_energy(survey_model, (), survey, own)
            assert float(energy) == pytest.approx(-model.log_density(start.points[k : k + 1])[0][0], abs=1e-9)
        kernel = numpyro.infer.NUTS(survey_model, **start.numpyro_kernel())
        run = numpyro.infer.MCMC(kernel, num_warmup=30, num_samples=200, num_chains=2, progress_bar=False, chain_method="sequential")
        run.run(jax.random.key(0), **survey, init_params=params)
    drawn = np.asarray(run.get_samples()["mu"])
    # Some hundred effective draws: five of their standard errors.
    assert abs(drawn.mean() - fit.mean["mu"]) < 5.0 * fit.sd["mu"] / 10.0
