"""Estimators for scikit-learn: the models of this package in pipelines, searches and cross validation.

>>> import numpy as np
>>> from provi.sklearn import BayesianLogisticRegression
>>> X = np.array([[0.5], [-1.5], [2.0], [0.1], [-0.3], [1.0]])
>>> classifier = BayesianLogisticRegression().fit(X, ["yes", "no", "yes", "no", "no", "yes"])
>>> classifier.certificate_.proves_gap(1e-9)
True
>>> classifier.predict_proba(X).shape
(6, 2)
"""

from __future__ import annotations

from typing import Any, Callable, Optional, Union

import numpy as np

from . import _data, _model, _provi

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.multiclass import check_classification_targets, type_of_target
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
except ImportError as error:
    raise ImportError("provi.sklearn needs scikit-learn: pip install 'scikit-learn>=1.6'") from error

__all__ = [
    "BayesianLinearRegression",
    "BayesianLogisticRegression",
    "BayesianPoissonRegressor",
    "BayesianProbitRegression",
]


class _Regression(BaseEstimator):
    """What the estimators have in common: a model of this package, fitted."""

    def __init__(
        self,
        *,
        prior_scale: Any = None,
        prior_mean: Any = None,
        fit_intercept: bool = True,
        accuracy: Optional[float] = None,
        random_state: Any = None,
    ) -> None:
        self.prior_scale = prior_scale
        self.prior_mean = prior_mean
        self.fit_intercept = fit_intercept
        self.accuracy = accuracy
        self.random_state = random_state

    def _run(self, make: Callable[..., Any], X: Any, y: np.ndarray, sample_weight: Any, **more: Any) -> None:
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        model = make(
            X,
            y,
            intercept=self.fit_intercept,
            prior_scale=self.prior_scale,
            prior_mean=self.prior_mean,
            weights=sample_weight,
            names=getattr(self, "feature_names_in_", None),
            **more,
        )
        seed = None if self.random_state is None else int(check_random_state(self.random_state).randint(2**31))
        self.fit_ = model.fit(accuracy=self.accuracy, seed=seed, progress=False)
        self.certificate_ = self.fit_.certificate
        self.intercept_, self.coef_ = self._split(self.fit_.mean)

    def _split(self, coefficients: np.ndarray) -> tuple[Any, np.ndarray]:
        if self.fit_intercept:
            return float(coefficients[0]), coefficients[1:]
        return 0.0, coefficients

    def _predictions(self, X: Any, level: Optional[float] = None, observed: bool = False) -> dict[str, np.ndarray]:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        rows, _ = _data.design(X)
        return _provi.predict(self.fit_._core, rows, bool(self.fit_intercept), level, observed)

    def _interval(self, X: Any, level: Optional[float], of: str) -> tuple[np.ndarray, np.ndarray]:
        if of == "observation":
            found = self._predictions(X, level, observed=True)
            return found["observed_low"], found["observed_high"]
        if of == "mean":
            found = self._predictions(X, level)
            return found["low"], found["high"]
        raise ValueError(f"of = {of!r}; must be 'observation' or 'mean'")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


_PARAMETERS = """
    Parameters
    ----------
    prior_scale : the prior standard deviation of every coefficient, or of each, the intercept's first, on the scale of the data as
        they are. Without one the prior is scaled by the data, and units do not matter: 2.5 s/sd(x) for a slope and 2.5 s for the
        intercept at the column means, with s = sd(y) for a linear model and 1 for the others.
    prior_mean : the prior mean of each coefficient, the intercept's first.
    fit_intercept : put a column of ones before the others.
    accuracy : stop as soon as no Gaussian is proved to be better by more than so many nats.
    random_state : what makes draws repeatable.{more}

    Attributes
    ----------
    coef_, intercept_ : the posterior mean.
    fit_ : the whole answer, a :class:`provi.Fit`.
    certificate_ : what is proved about it.{attributes}
"""


def _documented(more: str = "", attributes: str = "") -> Callable[[type], type]:
    def document(kind: type) -> type:
        kind.__doc__ = (kind.__doc__ or "").rstrip() + "\n" + _PARAMETERS.format(more=more, attributes=attributes)
        return kind

    return document


class _Regressor(RegressorMixin, _Regression):
    def predict(self, X: Any, return_std: bool = False) -> Union[np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """The mean response of each row, averaged over the answer.

        With ``return_std`` also the standard deviation of a new response: that of the mean and that of the noise together, as
        scikit-learn's ``BayesianRidge`` has it.
        """
        if not return_std:
            return self._predictions(X)["mean"]
        found = self._predictions(X, observed=True)
        return found["mean"], found["observed_sd"]

    def predict_interval(
        self, X: Any, level: Optional[float] = None, *, of: str = "observation"
    ) -> tuple[np.ndarray, np.ndarray]:
        """An interval for each row, of that probability under the answer: lower and upper ends.

        of: ``"observation"``, the interval that a new response falls into; or ``"mean"``, that of the mean response, which is
            narrower, as it leaves the noise out. The interval of a count has whole ends, and at least that probability.
        """
        return self._interval(X, level, of)


@_documented(
    "\n    noise_sd : the noise's standard deviation; without one it is unknown and integrated over, with the prior"
    "\n        half_t(3, sd(y)). ``accuracy`` needs one.",
    "\n    noise_sd_ : the noise's standard deviation: the one given, or its posterior mean.",
)
class BayesianLinearRegression(_Regressor):
    """Linear regression with a normal prior."""

    def __init__(
        self,
        *,
        prior_scale: Any = None,
        prior_mean: Any = None,
        fit_intercept: bool = True,
        noise_sd: Optional[float] = None,
        accuracy: Optional[float] = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            prior_scale=prior_scale,
            prior_mean=prior_mean,
            fit_intercept=fit_intercept,
            accuracy=accuracy,
            random_state=random_state,
        )
        self.noise_sd = noise_sd

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BayesianLinearRegression:
        """Fits the model; ``sample_weight`` multiplies each row's log likelihood."""
        least = 2 if self.noise_sd is None else 1
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, y_numeric=True, ensure_min_samples=least
        )
        self._run(_model.linear, X, y, sample_weight, noise_sd=self.noise_sd)
        self.noise_sd_ = self.fit_.model["noise_sd"]
        return self


@_documented()
class BayesianPoissonRegressor(_Regressor):
    """Poisson regression with log link and a normal prior.

    The response is a count; or a mean of counts, such as claims a year, with what it is a mean over as ``sample_weight``.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BayesianPoissonRegressor:
        """Fits the model; ``sample_weight`` multiplies each row's log likelihood."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, y_numeric=True)
        self._run(_rates, X, y, sample_weight)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


def _rates(X: Any, y: Any, *, intercept: bool, names: Any, weights: Any, prior_scale: Any, prior_mean: Any) -> Any:
    data = _model._arguments(X, y, intercept, names, weights, None, prior_scale, prior_mean, None)
    return _model.Model(_provi.poisson_rates(data))


class _Classifier(ClassifierMixin, _Regression):
    _make: Callable[..., Any]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> _Classifier:
        """Fits the model; ``sample_weight`` multiplies each row's log likelihood."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}. "
                "sklearn.multiclass.OneVsRestClassifier makes several of it."
            )
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"the labels have one class, {self.classes_[0]!r}, and two are needed")
        self._run(type(self)._make, X, labels.astype(np.float64), sample_weight)
        self.intercept_, self.coef_ = np.atleast_1d(self.intercept_), self.coef_[None, :]
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, averaged over the answer."""
        found = self._predictions(X, observed=True)
        return np.column_stack([found["complement"], found["mean"]])

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithms of :meth:`predict_proba`; −∞ where a probability is 0 in double precision."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def decision_function(self, X: Any) -> np.ndarray:
        """The log odds of the second class, averaged over the answer: positive where it is the likelier, and in the order of
        its probability."""
        first, second = self.predict_log_proba(X).T
        return second - first

    def predict(self, X: Any) -> np.ndarray:
        """The likelier class."""
        second = self.decision_function(X) > 0.0
        return self.classes_[second.astype(int)]

    def predict_interval(
        self, X: Any, level: Optional[float] = None, *, of: str = "mean"
    ) -> tuple[np.ndarray, np.ndarray]:
        """The central interval of each row's probability of the second class, of that probability under the answer: lower and
        upper ends. A label itself has no interval: :meth:`predict_proba` says how likely each is."""
        if of == "observation":
            raise ValueError("of = 'observation': a label has no interval; predict_proba has its probabilities")
        return self._interval(X, level, of)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


@_documented()
class BayesianLogisticRegression(_Classifier):
    """Logistic regression of two classes with a normal prior."""

    _make = staticmethod(_model.logistic)


@_documented()
class BayesianProbitRegression(_Classifier):
    """Probit regression of two classes with a normal prior."""

    _make = staticmethod(_model.probit)
