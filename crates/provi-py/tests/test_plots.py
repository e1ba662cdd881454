"""Plots draw what the fit says."""

import builtins

import numpy as np
import pytest

import provi

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(scope="module")
def fit(data):
    return provi.logistic(data["X"], data["label"], names=["a", "b"], intercept=True).fit()


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_the_trace_shows_elbo_and_gap(fit):
    elbo, gap = fit.plot_trace()
    np.testing.assert_array_equal(elbo.lines[0].get_ydata(), fit.trace["elbo"])
    assert gap.get_yscale() == "log" and (gap.lines[0].get_ydata() > 0).all()
    bare = provi.fit(lambda z: (-0.5 * (z**2).sum(axis=1), -z), 2)
    assert bare.plot_trace()[1].texts[0].get_text() == "not proved along the way"


def test_marginals_have_the_mean_and_the_interval(fit):
    axes = fit.plot_marginals(["a", "b"], level=0.5)
    assert [ax.get_title() for ax in axes] == ["a", "b"]
    assert axes[0].lines[0].get_xdata()[0] == fit.mean[1]
    row = fit.summary(0.5).row("a")
    assert axes[0].patches[-1].get_x() == pytest.approx(row["lower"])
    with pytest.raises(KeyError, match="no parameter is called q"):
        fit.plot_marginals(["q"])


def test_pairs_fill_the_lower_triangle(fit):
    axes = fit.plot_pair(draws=50)
    assert axes.shape == (3, 3) and not axes[0, 1].get_visible()
    x, y = axes[1, 0].lines[0].get_data()
    np.testing.assert_array_equal(np.column_stack([x, y]), fit.sample(50)[:, :2])


def test_many_parameters_are_not_all_shown():
    fit = provi.fit(lambda z: (-0.5 * (z**2).sum(axis=1), -z), 20)
    assert sum(ax.get_visible() for ax in fit.plot_marginals().flat) == 12
    assert "8 more" in plt.gcf().get_supxlabel()


def test_without_matplotlib_the_way_out_is_named(fit, monkeypatch):
    found = builtins.__import__

    def absent(name, *rest, **more):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return found(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        fit.plot_pair()
