"""Parameters that are not free."""

import math
import pickle

import numpy as np
import pytest

import provi
from provi import Domain
from provi._constrained import Layout

Y = np.array([1.2, 0.7, 1.9, 1.4, 0.8])


def measured(theta):
    """mu ~ N(0, 10²), sigma ~ exponential(1), Y ~ N(mu, sigma²); a batch at a time."""
    mu, sigma = theta["mu"][:, None], theta["sigma"][:, None]
    r = (Y - mu) / sigma
    value = (-0.5 * r**2 - np.log(sigma)).sum(1) - 0.005 * theta["mu"] ** 2 - theta["sigma"]
    return value, {"mu": (r / sigma).sum(1) - 0.01 * theta["mu"], "sigma": ((r**2 - 1) / sigma).sum(1) - 1}


MEASURED = {"mu": Domain.real(), "sigma": Domain.positive()}


def by_hand(z):
    """The same in (mu, log sigma), its Jacobian written by hand."""
    sigma = np.exp(z[:, 1])
    value, gradient = measured({"mu": z[:, 0], "sigma": sigma})
    return value + z[:, 1], np.stack([gradient["mu"], gradient["sigma"] * sigma + 1], axis=1)


def test_a_positive_parameter_is_its_logarithm_with_the_jacobian():
    model, hand = provi.black_box(measured, MEASURED), provi.black_box(by_hand, 2)
    z = np.array([[0.3, -0.4], [2.0, 1.0]])
    for found, expected in zip(model.log_density(z), hand.log_density(z)):
        np.testing.assert_allclose(found, expected, rtol=1e-14)
    fit, other = model.fit(seed=1), hand.fit(seed=1)
    np.testing.assert_allclose(fit.unconstrained.mean, other.mean, rtol=1e-9)
    assert fit.names == ["mu", "sigma"] and fit.unconstrained.names == ["mu", "sigma_unconstrained"]
    np.testing.assert_allclose(fit.sample(5, seed=3)["sigma"], np.exp(fit.unconstrained.sample(5, seed=3)[:, 1]), rtol=1e-14)
    # What is proved of a real parameter is kept; a positive one has a mean over draws.
    assert fit.summary()["mean"][0] == fit.unconstrained.mean[0]


def test_one_point_at_a_time_gives_the_same():
    def one(theta):
        value, gradient = measured({name: np.asarray(x)[None] for name, x in theta.items()})
        return float(value[0]), {name: x[0] for name, x in gradient.items()}

    z = np.array([[0.3, -0.4], [2.0, 1.0]])
    many, single = provi.black_box(measured, MEASURED), provi.black_box(one, MEASURED, batched=False)
    for found, expected in zip(single.log_density(z), many.log_density(z)):
        np.testing.assert_allclose(found, expected, rtol=1e-15)


@pytest.mark.parametrize(
    ("domain", "shape"),
    [
        (Domain.real((2, 3)), (2, 3)),
        (Domain.positive(2), (2,)),
        (Domain.above(-1.5), ()),
        (Domain.below(2.5), ()),
        (Domain.between(-2, 5), ()),
        (Domain.ordered(3), (3,)),
        (Domain.simplex(4), (4,)),
        (Domain.simplex(3, shape=2), (2, 3)),
        (Domain.covariance(3), (3, 3)),
        (Domain.correlation(3), (3, 3)),
    ],
    ids=lambda x: getattr(x, "kind", ""),
)
def test_gradients_come_through_every_domain(domain, shape):
    def density(theta):
        x = theta["x"].reshape(len(theta["x"]), -1)
        weights = np.cos(np.arange(x.shape[1]) + 1.0)
        return x @ weights - 0.25 * (x**2).sum(1), {"x": (weights - 0.5 * x).reshape(theta["x"].shape)}

    model = provi.black_box(density, {"x": domain})
    z = np.sin(np.arange(2 * model.dim) + 0.4).reshape(2, -1)
    _, gradient = model.log_density(z)
    for k in range(model.dim):
        step = np.zeros(model.dim)
        step[k] = 1e-5
        slope = (model.log_density(z + step)[0] - model.log_density(z - step)[0]) / 2e-5
        np.testing.assert_allclose(gradient[:, k], slope, rtol=1e-6, atol=1e-7)
    theta = model.layout(z)
    assert theta["x"].shape == (2, *shape)
    np.testing.assert_allclose(model.layout.start({"x": theta["x"][1]}), z[1], atol=1e-10)


def test_a_dirichlet_posterior_has_its_moments_and_its_evidence():
    """Counts 30, 50, 20 under a Dirichlet(2, 2, 2): the posterior is Dirichlet(32, 52, 22), and its evidence is known."""
    counts, prior = np.array([30.0, 50.0, 20.0]), np.array([2.0, 2.0, 2.0])
    log_beta = lambda a: sum(math.lgamma(x) for x in a) - math.lgamma(sum(a))  # noqa: E731

    def density(theta):
        powers = counts + prior - 1
        return np.log(theta["p"]) @ powers - log_beta(prior), {"p": powers / theta["p"]}

    fit = provi.fit(density, {"p": Domain.simplex(3)}, seed=1)
    a = counts + prior
    mean, sd = a / a.sum(), np.sqrt(a * (a.sum() - a) / (a.sum() ** 2 * (a.sum() + 1)))
    # q is no Dirichlet: its error and that of 4000 draws are below a tenth of an sd here, and 0.01 nats.
    np.testing.assert_allclose(fit.mean["p"], mean, atol=0.1 * sd.min())
    np.testing.assert_allclose(fit.sd["p"], sd, rtol=0.1)
    evidence = log_beta(a) - log_beta(prior)
    assert evidence - 0.05 < fit.elbo < evidence + 4 * fit.elbo_error + 1e-3
    assert fit.verdict == "good"


def test_a_start_is_given_by_name():
    model = provi.black_box(measured, MEASURED)
    fit, other = model.fit(init={"sigma": 0.5}, seed=1), model.fit(seed=1)
    assert abs(fit.unconstrained.mean - other.unconstrained.mean).max() < 0.05
    # It is the point itself: the first thing that is evaluated.
    seen = []
    provi.fit(lambda t: seen.append(t) or measured(t), MEASURED, init={"mu": 0.25, "sigma": 0.5})
    assert (seen[0]["mu"][0], round(float(seen[0]["sigma"][0]), 12)) == (0.25, 0.5)
    for init, words in (
        ({"tau": 1.0}, "no parameter is called 'tau'; there are mu, sigma"),
        ({"sigma": -1.0}, "parameter sigma: its value = -1 is not above its lower bound"),
        ({"sigma": [1.0, 2.0]}, r"sigma has shape \(2,\), expected \(\)"),
    ):
        with pytest.raises(ValueError, match=words):
            model.fit(init=init)


def test_a_pickled_fit_keeps_its_scale():
    fit = provi.fit(measured, MEASURED, seed=1)
    again = pickle.loads(pickle.dumps(fit))
    np.testing.assert_array_equal(again.sample(7, seed=9)["sigma"], fit.sample(7, seed=9)["sigma"])
    start, later = fit.nuts_start(2, seed=4), again.nuts_start(2, seed=4)
    np.testing.assert_array_equal(start.points, later.points)
    assert again.names == fit.names and start.sites == later.sites


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Layout({"a": "positive"}), TypeError, "parameter 'a' is a str, expected a provi.Domain"),
        (lambda: Layout({"a": Domain.simplex(1)}), ValueError, "a: the length of a simplex = 1 is not at least 2"),
        (lambda: Layout({"a": Domain.between(2, 1)}), ValueError, "a: the upper bound = 1 is not above the lower bound"),
        (lambda: Layout({}), ValueError, "the list of parameters is empty"),
        (lambda: Layout({"a": Domain.positive(), "a_unconstrained": Domain.real()}), ValueError, "two numbers have this name"),
        (lambda: Domain.positive(0), ValueError, "an axis of shape = 0; must be at least 1"),
        (lambda: Domain.positive(shape=2.5), TypeError, "an axis of shape = 2.5; must be a whole number"),
        (lambda: Domain.ordered(None), ValueError, "n = None; must be at least 1"),
        (lambda: Domain.simplex(2.5), TypeError, "n = 2.5; must be a whole number"),
        (lambda: provi.black_box(measured, MEASURED, names=["a"]), TypeError, "names has no effect"),
        (lambda: provi.fit(lambda t: t["mu"], MEASURED), TypeError, "the function returned ndarray, expected a pair"),
        (lambda: provi.fit(lambda t: (t["mu"], t["mu"]), MEASURED), TypeError, "expected a mapping"),
        (lambda: provi.fit(lambda t: (t["mu"], {"mu": t["mu"]}), MEASURED), ValueError, "gradients of mu, expected mu, sigma"),
        (
            lambda: provi.fit(lambda t: (t["mu"], {"mu": t["mu"], "sigma": np.zeros((1, 3))}), MEASURED),
            ValueError,
            r"gradient of sigma of shape \(1, 3\), expected \(1,\)",
        ),
        (lambda: provi.fit(lambda t: (t["mu"].sum(), {}), MEASURED), ValueError, "gradients of nothing, expected mu, sigma"),
    ],
)
def test_mistakes_are_named(make, error, words):
    with pytest.raises(error, match=words):
        make()
