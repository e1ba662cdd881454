"""Sandwich standard errors of a logistic and a linear regression, by statsmodels: writes statsmodels.json beside this file.

    python make.py            needs statsmodels and pandas

Data: ../gallery/birthwt.csv (Hosmer and Lemeshow 1989, MASS::birthwt). The clusters are the ages of the mothers. Without small-sample
factors (HC0; `use_correction=False`), as provi states its own. The estimate is the maximum of the likelihood, so that provi needs a nearly
flat prior to be compared with it.
"""

import json
import pathlib

import numpy
import pandas
import statsmodels
import statsmodels.api as sm

HERE = pathlib.Path(__file__).resolve().parent
data = pandas.read_csv(HERE.parent / "gallery" / "birthwt.csv")
design = pandas.DataFrame({"(Intercept)": 1.0, "lwt": data.lwt, "smoke": data.smoke, "ptl": data.ptl}).astype(float)
clustered = {"groups": data.age.to_numpy(), "use_correction": False}


def numbers(model, **options):
    hc0 = model.fit(cov_type="HC0", **options)
    cluster = model.fit(cov_type="cluster", cov_kwds=clustered, **options)
    return {
        "estimate": [float(x) for x in hc0.params],
        "model_based": [float(x) for x in model.fit(**options).bse],
        "hc0": [float(x) for x in hc0.bse],
        "cluster": [float(x) for x in cluster.bse],
    }


out = {
    "statsmodels": statsmodels.__version__,
    "names": list(design.columns),
    "logistic": numbers(sm.Logit(data.low, design), disp=0, tol=1e-14, maxiter=100),
    "linear": numbers(sm.OLS(numpy.log(data.lwt), design.drop(columns="lwt"))),
}
(HERE / "statsmodels.json").write_text(json.dumps(out, indent=1) + "\n")
