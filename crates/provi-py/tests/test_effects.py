"""Effects of a formula's variables."""

import numpy as np
import pandas
import pytest

import provi


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(3)
    x, town = random.normal(size=80), random.choice(["Bern", "Basel", "Chur"], size=80)
    z = random.normal(size=80)
    value = 1 + 0.5 * x - 0.2 * z + 0.3 * (town == "Bern") + 0.1 * random.normal(size=80)
    low = (random.random(80) < 1 / (1 + np.exp(-x))).astype(float)
    return pandas.DataFrame({"value": value, "low": low, "x": x, "z": z, "town": town})


@pytest.fixture(scope="module")
def linear(table):
    return provi.fit_formula("value ~ x * z + town", table, family="gaussian", noise_sd=0.1, progress=False)


@pytest.fixture(scope="module")
def logistic(table):
    return provi.fit_formula("low ~ x + town", table, progress=False)


def test_the_average_slope_is_the_coefficient_at_the_mean(table, linear):
    found = linear.effects("x", data=table)
    expected = linear.functional(f"x + {float(table['z'].mean())!r}*`x:z`")
    assert found["estimate"] == pytest.approx([expected.mean], rel=1e-12)
    assert found["error"][0] < 1e-6 and found.rows[0]["status"] == "proved"
    assert found.index == ["x: slope"] and "80 rows" in found.footer


def test_a_grid_says_where_the_others_are(table, logistic):
    found = logistic.effects("x", at={"town": "Chur"}, points=3)
    grid = np.linspace(table["x"].min(), table["x"].max(), 3)
    assert [row["value"] for row in found.rows] == pytest.approx(list(grid))
    same = logistic.predict({"x": grid, "town": ["Chur"] * 3})
    for name, column in [("estimate", "mean"), ("low", "low"), ("high", "high")]:
        np.testing.assert_allclose(found[name], same[column], rtol=1e-12)
    assert "town = Chur" in found.footer and "certified" in repr(found)
    assert "<svg" in found.html and "<svg" in found._repr_html_()
    assert list(found.to_pandas()["variable"]) == ["x"] * 3


def test_contrasts_and_ratios(logistic):
    odds = logistic.effects("x", compare="odds-ratio", values=[0, 1])
    slope = logistic.functional("x")
    assert odds["estimate"][0] == pytest.approx(np.exp(slope.mean), rel=1e-10)
    towns = logistic.effects("town", kind="contrasts", by="x", scale="link")
    assert len(towns) == 6 and {row["reference"] for row in towns.rows} == {"Basel"}


def test_what_has_no_answer_is_refused(logistic, table):
    with pytest.raises(ValueError, match="did you mean `town`"):
        logistic.effects("twon")
    with pytest.raises(ValueError, match="use predictions, slopes, contrasts"):
        logistic.effects("x", kind="means")
    with pytest.raises(ValueError, match="no column `tow`"):
        logistic.effects("x", data=table, by="tow")
