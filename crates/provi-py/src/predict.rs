//! Predictions of an answer at new rows, averaged by the library.

use numpy::IntoPyArray;
use provi::Gaussian;
use provi::predict::{Observation, Prediction, Rows as NewRows, predict as predictions};
use provi::sparse::AnyGaussian;
use provi::target::Family;
use provi_analysis::show::rows::LEVEL;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::answer::Answer;
use crate::design::Rows;
use crate::error::refuse;
use crate::model::{Data, Model};
use crate::wait::interruptible;

/// The mean response of each row with its interval, and its linear predictor, as columns by name; if `observed`,
/// also the standard deviation and the interval of a new response, and for a binary response the probability of a
/// 0.
#[pyfunction]
pub(crate) fn predict<'py>(
    py: Python<'py>,
    answer: &Answer,
    rows: Rows<'_>,
    intercept: bool,
    level: Option<f64>,
    observed: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let design = rows.design(intercept)?;
    let (fitted, level) = (answer.fitted.clone(), level.unwrap_or(LEVEL));
    let found = interruptible(py, move || -> provi_analysis::Result<_> {
        let (family, q) = (fitted.family()?, &fitted.gaussian);
        let complements = match observed {
            true => complements(family, q, &NewRows::new(&design), level)?,
            false => None,
        };
        let new = fitted.new_design(design, None)?;
        let observations = if observed { Some(new.observations(level)?) } else { None };
        Ok((new.predict(level)?, observations, complements))
    })?;
    let (means, new, complements) = found.map_err(refuse)?;
    let out = columns(py, &means)?;
    if let Some(new) = new {
        let put = |name: &str, pick: fn(&Observation) -> f64| {
            out.set_item(name, new.iter().map(pick).collect::<Vec<_>>().into_pyarray(py))
        };
        put("observed_sd", |y| y.sd)?;
        put("observed_low", |y| y.low)?;
        put("observed_high", |y| y.high)?;
        if let Some(complements) = complements {
            out.set_item("complement", complements.into_pyarray(py))?;
        }
    }
    Ok(out)
}

/// The probability of a 0 at each row, accurate even if that of a 1 is nearly 1: the links of the binary families
/// are symmetric, so it is the probability of a 1 under q mirrored at 0.
fn complements(
    family: Family,
    q: &AnyGaussian,
    rows: &NewRows<'_>,
    level: f64,
) -> provi::Result<Option<Vec<f64>>> {
    if !matches!(family, Family::Bernoulli | Family::Probit) {
        return Ok(None);
    }
    let AnyGaussian::Dense(q) = q else {
        return Ok(Some(predictions(family, q, rows, level)?.iter().map(|at| 1.0 - at.mean).collect()));
    };
    let parameters = q.parameters();
    let (mean, factor) = parameters.split_at(q.dim());
    let mirrored = Gaussian::new(&mean.iter().map(|x| -x).collect::<Vec<_>>(), factor)?;
    Ok(Some(predictions(family, &mirrored, rows, level)?.iter().map(|at| at.mean).collect()))
}

/// Predictions, as one array for each column.
pub(crate) fn columns<'py>(py: Python<'py>, rows: &[Prediction]) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    let put = |name: &str, pick: fn(&Prediction) -> f64| {
        out.set_item(name, rows.iter().map(pick).collect::<Vec<_>>().into_pyarray(py))
    };
    put("mean", |p| p.mean)?;
    put("low", |p| p.low)?;
    put("high", |p| p.high)?;
    put("predictor", |p| p.predictor)?;
    put("predictor_sd", |p| p.predictor_sd)?;
    Ok(out)
}

/// Default probability of an interval.
#[pyfunction]
#[pyo3(signature = (level=None))]
pub(crate) fn level(level: Option<f64>) -> f64 {
    level.unwrap_or(LEVEL)
}

/// Poisson regression on means of counts.
#[pyfunction]
pub(crate) fn poisson_rates(data: Data<'_>) -> PyResult<Model> {
    let prior = data.prior()?;
    data.make(|design, y| provi::target::Glm::poisson_rates(design, y, prior))
}
