//! What an answer says about new rows, averaged by the library.

use numpy::{IntoPyArray, PyReadonlyArray1};
use provi::predict::{Prediction, Rows as NewRows, predict as predictions};
use provi_analysis::options::FamilyName;
use provi_analysis::rows::LEVEL;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::answer::Answer;
use crate::design::{Rows, numbers};
use crate::error::raise;
use crate::model::{Data, Model};

/// The mean response of each row with its interval, and its linear predictor, as columns by name.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn predict<'py>(
    py: Python<'py>,
    answer: &Answer,
    family: &str,
    noise_sd: Option<f64>,
    rows: Rows<'_>,
    intercept: bool,
    offset: Option<PyReadonlyArray1<'_, f64>>,
    level: Option<f64>,
) -> PyResult<Bound<'py, PyDict>> {
    let family: FamilyName = family.parse().map_err(PyValueError::new_err)?;
    // Only the gaussian family has a noise, and its mean does not depend on it.
    let family = family.family(noise_sd.unwrap_or(1.0));
    let (design, offsets) = (rows.design(intercept)?, offset.as_ref().map(numbers));
    let found = py.detach(|| {
        let rows = NewRows { offsets: offsets.as_deref(), ..NewRows::new(&design) };
        predictions(family, &answer.fitted.gaussian, &rows, level.unwrap_or(LEVEL))
    });
    columns(py, &found.map_err(raise)?)
}

/// Predictions, a column each.
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

/// The probability of an interval where none is given.
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
