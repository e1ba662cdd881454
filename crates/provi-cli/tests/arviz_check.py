"""Opens draws.zarr of a fit with the ArviZ at hand, and holds it against fit.json.

usage: arviz_check.py FIT_FOLDER
"""

import json
import sys
import warnings

warnings.simplefilter("ignore")
import arviz as az
import numpy as np
import xarray as xr

folder = sys.argv[1]
store = folder + "/draws.zarr"
with open(folder + "/fit.json", encoding="utf-8") as file:
    fit = json.load(file)

major = int(az.__version__.split(".")[0])
if major >= 1:
    data = az.from_zarr(store)
else:
    data = az.InferenceData.from_datatree(xr.open_datatree(store, engine="zarr"))

beta = data["posterior"]["beta"]
assert beta.dims == ("chain", "draw", "coefficient"), beta.dims
assert beta.shape == (4, 500, len(fit["names"])), beta.shape
assert [str(name) for name in beta["coefficient"].values] == fit["names"]

# Six standard errors of the mean of 2000 independent draws.
sd = np.sqrt(np.diag(np.array(fit["covariance"])))
means = beta.mean(("chain", "draw")).values
assert np.all(np.abs(means - np.array(fit["mean"])) < 6 * sd / np.sqrt(2000)), means

stats = data["sample_stats"]
weights = stats["lp"].values - stats["log_q"].values
assert np.allclose(weights, stats["log_weight"].values, atol=1e-9)
# The mean log weight is the ELBO.
error = weights.std() / np.sqrt(weights.size)
assert abs(weights.mean() + fit["neg_elbo"]) < 6 * error + 1e-9

moments = data["moments"]
assert np.allclose(moments["mean"].values, fit["mean"], rtol=0, atol=0)
bounds = [m["mean_error"]["bound"] for m in fit["certificate"]["moments"]]
assert np.array_equal(moments["mean_error"].values, np.array(bounds, dtype=float), equal_nan=True)

attributes = data["posterior"].attrs
assert json.loads(attributes["provi_certificate"]) == fit["certificate"]
assert attributes["inference_library"] == "provi"

# Ratios of exact draws: provi's own beside ArviZ's, of the same draws.
with open(folder + "-loo.json", encoding="utf-8") as file:
    own = json.load(file)["models"][0]
exact = folder + "-exact.zarr"
drawn = az.from_zarr(exact) if major >= 1 else az.InferenceData.from_datatree(xr.open_datatree(exact, engine="zarr"))
assert drawn["log_likelihood"]["y"].dims == ("chain", "draw", "row")
assert own["draws_of"] == "exact" and drawn["posterior"].attrs["provi_draws"] == "exact"
theirs = az.loo(drawn, pointwise=True, reff=1.0)
values = np.asarray(theirs.elpd_i if hasattr(theirs, "elpd_i") else theirs.loo_i)
ks = np.asarray(theirs.pareto_k)
for row, elpd, k in zip(own["rows"], values, ks):
    assert row["pareto_k"] is None or abs(row["pareto_k"] - k) < 1e-8, (row, k)
    assert row["refitted"] or abs(row["elpd"] - elpd) < 1e-8, (row, elpd)
theirs = az.waic(drawn) if hasattr(az, "waic") else None
if theirs is not None:
    assert abs(theirs.elpd_waic - own["waic"]["elpd"]["value"]) < 1e-8
    assert abs(theirs.se - own["waic"]["elpd"]["standard_error"]) < 1e-8
    assert abs(theirs.p_waic - own["waic"]["p_waic"]) < 1e-8

summary = az.summary(data, var_names=["beta"])
assert list(summary.index) == [f"beta[{name}]" for name in fit["names"]], list(summary.index)
print(f"ArviZ {az.__version__}: {len(fit['names'])} coefficients, {beta.sizes['chain']} x {beta.sizes['draw']} draws")
