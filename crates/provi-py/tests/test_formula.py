"""Formulas on data frames of every make, and the file they share with the command."""

import json
import pathlib
import pickle
import subprocess

import numpy as np
import pytest

import provi

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

FORMULA = "label ~ a + size + (1 | town)"


@pytest.fixture
def columns(data):
    sizes, towns = ["small", "large", "huge"], ["Bern", "Basel", "Chur", "Genf"]
    random = np.random.default_rng(1)
    return {
        "label": data["label"] == 1.0,
        "a": data["X"][:, 0],
        "size": [sizes[i] for i in random.integers(0, 3, 60)],
        "town": [towns[i] for i in data["group"]],
    }


def in_pandas(columns):
    frame = pandas.DataFrame(columns)
    frame["size"] = pandas.Categorical(frame["size"], categories=["small", "large", "huge", "unseen"])
    return frame


def in_polars(columns):
    sizes = polars.Enum(["small", "large", "huge", "unseen"])
    return polars.DataFrame(columns).with_columns(polars.col("size").cast(sizes))


class OnlyArrow:
    """Speaks Arrow and nothing else."""

    def __init__(self, frame):
        self.frame = frame

    def __arrow_c_stream__(self, requested_schema=None):
        return self.frame.__arrow_c_stream__(requested_schema)


class OnlyInterchange:
    """Has ``__dataframe__`` and nothing else."""

    def __init__(self, frame):
        self.frame = frame

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        return self.frame.__dataframe__(nan_as_null=nan_as_null, allow_copy=allow_copy)


def in_arrow(columns):
    sizes = ["small", "large", "huge"]
    codes = pyarrow.array([sizes.index(s) for s in columns["size"]], pyarrow.int32())
    return pyarrow.table({**columns, "size": pyarrow.DictionaryArray.from_arrays(codes, sizes)})


def frames(columns):
    return {
        "pandas": in_pandas(columns),
        "polars": in_polars(columns),
        "lazy polars": in_polars(columns).lazy(),
        "pyarrow": in_arrow(columns),
        "Arrow": OnlyArrow(in_arrow(columns)),
        "interchange": OnlyInterchange(in_arrow(columns)),
        "mapping": {**columns, "size": in_pandas(columns)["size"]},
    }


def test_every_make_of_data_frame_gives_the_same_fit(columns):
    fits = {make: provi.fit_formula(FORMULA, frame, seed=1, audit_draws=1) for make, frame in frames(columns).items()}
    first = fits["pandas"]
    # In the order of the category: `small` is the reference, and a level that no row has is left out.
    assert first.names[:4] == ["(Intercept)", "a", "size[large]", "size[huge]"]
    assert first.names[4:] == [f"(1 | town)[{town}]" for town in ["Basel", "Bern", "Chur", "Genf"]]
    assert first.family == "bernoulli" and first.scales().index == ["sd(town:(Intercept))"]
    for make, fit in fits.items():
        assert fit.names == first.names, make
        np.testing.assert_array_equal(fit.mean, first.mean, err_msg=make)


def test_text_without_an_order_is_sorted(columns):
    fit = provi.fit_formula("label ~ size", columns)
    assert fit.names == ["(Intercept)", "size[large]", "size[small]"]
    fit = provi.fit_formula("label ~ size", columns, reference="size=small")
    assert fit.names == ["(Intercept)", "size[huge]", "size[large]"]


def test_it_is_the_model_of_its_matrix(data):
    frame = pandas.DataFrame(data["X"], columns=["a", "b"]).assign(y=data["value"])
    fit = provi.fit_formula("y ~ a + b", frame, family="gaussian", noise_sd=0.4, prior_scale=2.0)
    same = provi.linear(frame[["a", "b"]], frame["y"], noise_sd=0.4, prior_scale=2.0, intercept=True).fit()
    np.testing.assert_allclose(fit.mean, same.mean, rtol=1e-12)
    np.testing.assert_allclose(fit.cov, same.cov, rtol=1e-11)


def test_missing_values_are_dropped_counted_or_refused(columns):
    frame = in_pandas(columns)
    frame["label"] = frame["label"].astype("boolean")
    frame["n"] = pandas.array([None, *range(59)], dtype="Int64")
    frame.loc[1, "a"], frame.loc[2, "size"], frame.loc[3, "label"] = np.nan, None, pandas.NA
    fit = provi.fit_formula("label ~ a + size + n", frame)
    assert fit.model["rows"] == 56
    same = polars.DataFrame(frame.drop(columns="size").to_dict("list"), strict=False)
    assert provi.fit_formula("label ~ a + n", same).model["rows"] == 57
    with pytest.raises(ValueError, match="missing"):
        provi.fit_formula("label ~ a", frame, missing="error")


def test_predictions_are_those_of_the_library(columns):
    fit = provi.fit_formula(FORMULA, in_pandas(columns), group_scale=0.5)
    found = fit.predict(in_polars(columns).head(5))
    assert list(found) == ["mean", "low", "high", "predictor", "predictor_sd"] and len(found) == 5
    row = {"a": [0.0], "size": ["small"], "town": ["Bern"]}
    one = fit.predict(row, level=0.5)
    effect = fit.functional("(Intercept) + (1 | town)[Bern]")
    assert float(one["predictor"][0]) == pytest.approx(effect.mean, rel=1e-12)
    assert float(one["predictor_sd"][0]) == pytest.approx(effect.sd, rel=1e-12)
    elsewhere = {**row, "town": ["Zug"]}
    with pytest.raises(ValueError, match="Zug"):
        fit.predict(elsewhere)
    wider = fit.predict(elsewhere, new_groups=True)
    assert wider["predictor_sd"][0] > 0.5
    kept = fit.predict({"a": [0.0, np.nan], "size": ["small"] * 2, "town": ["Bern"] * 2}, drop_missing=True)
    assert kept.index == ["1"]


def test_the_means_of_a_gaussian_model_have_their_certified_error():
    data = {"y": [1.0, 2.1, 2.9, 4.2, 5.1], "x": [1.0, 2.0, 3.0, 4.0, 5.0], "w": [1.0, 2.0, 1.0, 1.0, 3.0]}
    fit = provi.fit_formula(
        "y ~ x", data, family="gaussian", noise_sd=0.5, prior_scale=5.0, weights="w", progress=False
    )
    new = fit.predict({"x": [0.0, 1.0]})
    assert new["mean_error"].shape == (2,) and (new["mean_error"] >= 0).all() and new["mean_error"].max() < 1e-6
    assert "mean_error" in repr(new)
    # What stands beside the formula is part of what was fitted.
    assert fit.model["weights"] == "w" and any("weights `w`" in note for note in fit.notes)


def test_contrasts_and_notes_are_kept(columns):
    fit = provi.fit_formula(FORMULA, in_pandas(columns), contrasts=["size[large] - size[huge]"])
    table = fit.contrasts()
    assert table.index == ["size[large] - size[huge]"]
    assert table["mean"][0] == pytest.approx(fit.mean[2] - fit.mean[3], rel=1e-12)
    assert np.isfinite(table["mean_error"][0])
    assert any("integrated over" in note for note in fit.notes)
    assert fit.notes[0] in repr(fit.summary())


def test_saved_fits_come_back(columns, tmp_path):
    fit = provi.fit_formula(FORMULA, in_pandas(columns), contrasts=["a"], seed=3)
    path = fit.save(tmp_path / "fit")
    assert pathlib.Path(path).name == "fit.json"
    with pytest.raises(FileExistsError):
        fit.save(tmp_path / "fit")
    fit.save(tmp_path / "fit", force=True)
    for again in (provi.load(path), provi.load(tmp_path / "fit"), pickle.loads(pickle.dumps(fit))):
        assert again.names == fit.names and again.formula == fit.formula and again.notes == fit.notes
        np.testing.assert_allclose(again.mean, fit.mean, rtol=1e-15)
        np.testing.assert_allclose(again.cov, fit.cov, rtol=1e-9)
        assert again.certificate.to_dict() == fit.certificate.to_dict()
        assert again.contrasts().to_dict().keys() == fit.contrasts().to_dict().keys()
        np.testing.assert_allclose(
            again.predict(in_pandas(columns))["mean"], fit.predict(in_pandas(columns))["mean"], rtol=1e-9
        )
    assert "<svg" in fit.report()


def test_the_command_reads_what_python_saved_and_the_reverse(command, columns, tmp_path):
    run = lambda *words: subprocess.run([command, *words], check=True, capture_output=True, text=True)  # noqa: E731
    frame = pandas.DataFrame(columns)
    frame.to_csv(tmp_path / "data.csv", index=False)

    fit = provi.fit_formula(FORMULA, frame, audit_draws=1)
    fit.save(tmp_path / "python")
    rows = json.loads(run("summary", str(tmp_path / "python"), "--json").stdout)["coefficients"]
    assert [row["name"] for row in rows] == fit.names
    np.testing.assert_allclose([row["mean"] for row in rows], fit.mean, rtol=1e-12)

    run("fit", str(tmp_path / "data.csv"), FORMULA, "--out", str(tmp_path / "command"))
    theirs = provi.load(tmp_path / "command")
    assert theirs.names == fit.names
    np.testing.assert_allclose(theirs.mean, fit.mean, rtol=1e-12)
    from_file = provi.fit_formula(FORMULA, tmp_path / "data.csv", audit_draws=1)
    np.testing.assert_allclose(from_file.mean, fit.mean, rtol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ({"formula": "label ~ b"}, ValueError, "`b`"),
        ({"formula": "label ~ ("}, ValueError, "formula"),
        ({"family": "laplace"}, ValueError, "the families are gaussian, bernoulli"),
        ({"prior": "cauchy(0, 1)"}, ValueError, "only normal priors"),
        ({"missing": "fill"}, ValueError, "drop or error"),
        ({"data": [1, 2, 3]}, TypeError, "list"),
        ({"data": {"label": [[1, 2]]}}, ValueError, "one value for each row"),
        ({"data": {"label": np.array([1j])}}, TypeError, "complex"),
        ({"contrasts": ["a - q"]}, ValueError, "q"),
        ({"data": "no such file.csv"}, ValueError, "no such file"),
    ],
)
def test_what_cannot_be_fitted_is_refused_in_the_library_s_words(columns, arguments, kind, words):
    given = {"formula": "label ~ a", "data": columns, **arguments}
    with pytest.raises(kind, match=words):
        provi.fit_formula(given.pop("formula"), given.pop("data"), **given)


def test_long_ids_stay_apart_in_frames_of_every_make():
    ids = [2**53 + i for i in range(6)] * 2
    columns = {"y": [i % 2 for i in range(12)], "id": ids}
    wide = {"y": columns["y"], "id": [2**64 + i for i in range(6)] * 2}
    unsigned = {"y": columns["y"], "id": np.array([2**63 + i for i in range(6)] * 2, dtype=np.uint64)}
    frames = [columns, pandas.DataFrame(columns), polars.DataFrame(columns), pyarrow.table(columns), wide, unsigned]
    how = {"group_scale": 1.0, "audit_draws": 1, "progress": False}
    fits = [provi.fit_formula("y ~ 1 + (1 | id)", frame, **how) for frame in frames]
    for frame, fit in zip(frames, fits, strict=True):
        assert len(fit.names) == 7, type(frame)
    assert "(1 | id)[9007199254740993]" in fits[0].names


def test_words_for_missing_values_are_named_and_kept(columns):
    columns = dict(columns, a=[-9.0 if i % 7 == 0 else x for i, x in enumerate(columns["a"])])
    columns["size"] = ["none" if i % 11 == 0 else x for i, x in enumerate(columns["size"])]
    fit = provi.fit_formula("label ~ a + size", pandas.DataFrame(columns), na=["none", -9], progress=False)
    assert "size[none]" not in fit.names
    assert fit.model["recipe"]["na"] == ["none", "-9"]
    with pytest.raises(ValueError, match="no value in any row"):
        fit.predict({"a": [-9.0], "size": ["small"]})
    said = provi.fit_formula("label ~ x", dict(columns, x=["-" if i % 3 else "1.5" for i in range(60)]), progress=False)
    assert any("--na '-'" in note for note in said.notes)


def test_an_ordered_response_has_gaps_and_probabilities_of_its_levels():
    rng = np.random.default_rng(4)
    x = rng.normal(size=120)
    y = np.digitize(0.8 * x + rng.logistic(size=120), [0.0, 1.2])
    data = {"rating": np.array(["low", "mid", "high"])[y].tolist(), "number": y + 1, "x": x}
    text = "ordered(rating, levels = c('low', 'mid', 'high')) ~ x"
    fit = provi.fit_formula(text, data, progress=False)
    same = provi.fit_formula("ordered(number) ~ x", data, progress=False)
    assert fit.family == "ordered" and fit.scales().index == ["gap(mid)"] and same.scales().index == ["gap(2)"]
    np.testing.assert_allclose(fit.mean, same.mean, rtol=1e-9)
    table = fit.predict({"x": [-1.0, 0.0, 2.0]})
    levels = np.stack([table[f"p({level})"] for level in ("low", "mid", "high")])
    np.testing.assert_allclose(levels.sum(axis=0), 1.0, atol=1e-9)
    np.testing.assert_allclose(levels.T @ [1, 2, 3], table["mean"], atol=1e-9)
    for level in ("low", "mid", "high"):
        p, low, high = (np.array(table[f"{what}({level})"]) for what in ("p", "low", "high"))
        assert (0 < low).all() and (low < p).all() and (p < high).all() and (high < 1).all()
    given = provi.fit_formula(text, data, gaps=[1.2], progress=False)
    assert given.certificate.kl.bound < 0.02 and "gap(mid) = 1.2" in str(given.certificate)
    with pytest.raises(ValueError, match="2 gap"):
        provi.fit_formula(text, data, gaps=[1.0, 2.0], progress=False)
    with pytest.raises(ValueError, match="levels = c"):
        provi.fit_formula("ordered(rating) ~ x", data, progress=False)
    pytest.importorskip("arviz")
    store = fit.to_arviz(log_likelihood=data)
    assert list(store.posterior["gap"].coords["level"].values) == ["mid"]
    assert store.log_likelihood["y"].shape[-1] == 120


def test_categories_whose_order_means_something_need_no_list_of_levels(tmp_path):
    rng = np.random.default_rng(4)
    x = rng.normal(size=60)
    names = np.array(["low", "mid", "high"])
    text = names[np.digitize(x + rng.logistic(size=60), [0.0, 1.2])].tolist()
    listed = provi.fit_formula("ordered(y, levels = c('low', 'mid', 'high')) ~ x", {"y": text, "x": x}, progress=False)
    ordered = pandas.DataFrame({"y": pandas.Series(text, dtype=pandas.CategoricalDtype(names, ordered=True)), "x": x})
    enum = polars.DataFrame({"y": polars.Series(text, dtype=polars.Enum(names.tolist())), "x": x})
    for frame in (ordered, enum, pyarrow.Table.from_pandas(ordered)):
        fit = provi.fit_formula("ordered(y) ~ x", frame, progress=False)
        np.testing.assert_array_equal(fit.mean, listed.mean)
        assert fit.scales().index == ["gap(mid)"]
    unordered = ordered.assign(y=ordered["y"].cat.as_unordered())
    with pytest.raises(ValueError, match="levels = c"):
        provi.fit_formula("ordered(y) ~ x", unordered, progress=False)
    # A file knows no order: the formula that is kept lists the levels.
    path = tmp_path / "rows.csv"
    path.write_text("y,x\n" + "".join(f"{level},{number!r}\n" for level, number in zip(text, x.tolist())))
    np.testing.assert_allclose(provi.fit_formula(fit.formula, path, progress=False).mean, listed.mean, rtol=1e-9)


def test_smooths_bend_as_much_as_the_data_ask_for(tmp_path):
    hours = np.arange(120.0) * 0.7
    noise = 0.2 * np.random.default_rng(4).standard_normal(120)
    data = {"y": np.cos(2 * np.pi * hours / 24) + noise, "hour": hours}
    fit = provi.fit_formula("y ~ s(hour, period = 24, k = 8)", data, family="gaussian", progress=False)
    assert fit.names == ["(Intercept)"] + [f"s(hour)[{j}]" for j in range(1, 7)]
    # A day later is the same hour, and beyond the data too.
    new = fit.predict({"hour": [3.0, 27.0, 3.0 + 24 * 9, 12.0]})
    np.testing.assert_allclose(new["mean"][:3], new["mean"][0], rtol=1e-9)
    assert abs(new["mean"][3] + 1.0) < 0.2
    fit.save(tmp_path / "fit")
    again = provi.load(tmp_path / "fit").predict(data)
    np.testing.assert_allclose(again["mean"], fit.predict(data)["mean"], rtol=1e-9)
    assert np.abs(again["mean"] - np.cos(2 * np.pi * hours / 24)).max() < 0.25
    curve = fit.effects("hour", points=5)
    assert len(curve["estimate"]) == 5
    with pytest.raises(ValueError, match="needs its period"):
        provi.fit_formula('y ~ s(hour, bs = "cc")', data, family="gaussian", progress=False)


def test_families_that_are_not_log_concave_and_levels_without_an_order():
    x = [-1.5, -1.2, -0.9, -0.7, -0.5, -0.4, -0.2, -0.1, 0.1, 0.3, 0.4, 0.6, 0.8, 0.9, 1.1, 1.3]
    data = {
        "x": x,
        "y": [0.1, 0.4, 0.9, 0.6, 1.2, 1.1, 1.5, 1.4, 1.9, 2.2, 25.0, 2.4, 2.9, 3.1, 3.0, 3.6],
        "count": [0, 0, 3, 0, 0, 2, 0, 1, 2, 0, 4, 3, 6, 0, 5, 7],
        "k": [4, 0, 5, 8, 1, 9, 3, 5, 3, 6, 12, 9, 3, 7, 19, 13],
        "n": [8, 12, 20, 15] * 4,
        "party": list("nlnrlnnrlrnrlrrl"),
    }
    fit = provi.fit_formula("y ~ x", data, family="student", seed=1, progress=False)
    assert fit.family == "student" and fit.names[-2:] == ["log(sigma)", "log(nu-1)"]
    assert abs(fit.mean[1] - 1.13) < 0.1 and fit.certificate.kl.bound is None
    known = provi.fit_formula("y ~ x", data, family="student", nu=4, seed=1, progress=False)
    assert known.names == ["(Intercept)", "x", "log(sigma)"]
    assert known.predict({"x": [0.0, 1.0]})["mean"].shape == (2,)
    for formula, family in [("k | trials(n) ~ x", "betabinomial"), ("count ~ x", "zipoisson")]:
        fit = provi.fit_formula(formula, data, family=family, seed=1, progress=False)
        assert (fit.predict({"x": [0.0], "n": [10]})["mean"] > 0).all()
    levels = provi.fit_formula("multinomial(party) ~ x", data, seed=1, progress=False)
    assert levels.names == ["n:(Intercept)", "n:x", "r:(Intercept)", "r:x"]
    assert levels.certificate.kl.bound is not None
    predicted = levels.predict({"x": [0.5]})
    assert abs(sum(predicted[f"p({level})"][0] for level in "lnr") - 1) < 1e-9
    points = levels.sample(3)
    found = levels._likelihoods(data, points, None)
    for likelihoods, z in zip(found, points):
        for value, at, level in zip(likelihoods, x, data["party"]):
            etas = {"l": 0.0, "n": z[0] + z[1] * at, "r": z[2] + z[3] * at}
            assert abs(value - etas[level] + np.log(np.exp(list(etas.values())).sum())) < 1e-12
    with pytest.raises(ValueError, match="takes no term such as"):
        provi.fit_formula("y ~ x + (1 | party)", data, family="student", progress=False)
    with pytest.raises(ValueError, match="not there for family student"):
        known.loo(data, certify=True)
    left_out = known.loo(data)
    assert left_out.method == "psis" and "weighted towards the posterior" in repr(left_out) and len(left_out.rows) == 16
    slope = known.effects("x", data=data)
    assert abs(slope.rows[0]["estimate"] - known.mean[1]) < 1e-9 and "outcome" not in slope.rows[0]
    found = levels.effects("x", values=[-1.0, 0.5])
    assert [row["outcome"] for row in found.rows] == ["l", "l", "n", "n", "r", "r"]
    assert abs(sum(row["estimate"] for row in found.rows) - 2) < 1e-9
    assert "x: -1 → l" in str(found) and "party = r" in found.html
