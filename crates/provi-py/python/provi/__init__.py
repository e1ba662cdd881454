"""Gaussian variational inference with certified answers.

A model is made from data, or from any log density, and fitted:

>>> import numpy as np, provi
>>> X = np.array([[1.0, 0.5], [1.0, -1.5], [1.0, 2.0], [1.0, 0.1]])
>>> fit = provi.logistic(X, [1, 0, 1, 0], names=["one", "x"]).fit()
>>> fit.certificate.gap.bound < 1e-9          # proved: no Gaussian is better by more
True
>>> [name for name in fit.names]
['one', 'x']

Every number comes from the library; this package turns data into its arrays and its answers into tables.
"""

from __future__ import annotations

from ._certificate import (
    Certificate,
    Estimates,
    FamilyGap,
    Functional,
    Grounds,
    Interval,
    MomentStatement,
    PosteriorMoments,
    Promise,
    SignProbability,
    Statement,
    Trust,
    TrustWarning,
)
from ._domain import Domain
from ._compare import Compared, Comparison, compare
from ._fit import Fit, Variable
from ._effects import Effects
from ._located import LocationScaleFit, location_scale
from ._loo import Loo
from ._robust import Robust
from ._formula import FormulaFit, fit_formula, load
from ._function import CFunction
from ._jax import from_jax
from ._model import (
    FiniteSum,
    Model,
    binomial,
    black_box,
    certify,
    cloglog,
    exponential,
    fit,
    gamma,
    hierarchical_logistic,
    linear,
    logistic,
    negative_binomial,
    poisson,
    probit,
    weibull,
)
from ._mixture import MixtureFit, mixture
from ._numpyro import from_numpyro
from ._nuts import NutsStart
from ._provi import __version__
from ._simulate import Calibration, PriorPredictive, calibrate, prior_predictive
from ._pymc import from_pymc
from ._scale import ScaledFit, ScaledModel
from ._stan import from_library, from_stan
from ._table import Table
from ._torch import from_torch

__all__ = [
    "CFunction",
    "Calibration",
    "Certificate",
    "Compared",
    "Comparison",
    "Domain",
    "Estimates",
    "FamilyGap",
    "FiniteSum",
    "Fit",
    "Effects",
    "Loo",
    "FormulaFit",
    "Functional",
    "Grounds",
    "Interval",
    "LocationScaleFit",
    "MixtureFit",
    "Model",
    "MomentStatement",
    "NutsStart",
    "PosteriorMoments",
    "PriorPredictive",
    "Promise",
    "Robust",
    "ScaledFit",
    "ScaledModel",
    "SignProbability",
    "Statement",
    "Table",
    "Trust",
    "TrustWarning",
    "Variable",
    "__version__",
    "binomial",
    "black_box",
    "calibrate",
    "certify",
    "cloglog",
    "compare",
    "exponential",
    "fit",
    "fit_formula",
    "from_jax",
    "from_library",
    "from_numpyro",
    "from_pymc",
    "from_stan",
    "from_torch",
    "gamma",
    "hierarchical_logistic",
    "linear",
    "load",
    "location_scale",
    "logistic",
    "mixture",
    "negative_binomial",
    "poisson",
    "prior_predictive",
    "probit",
    "weibull",
]
