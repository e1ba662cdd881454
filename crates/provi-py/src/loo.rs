//! Leave-one-out cross-validation, and the log likelihood of every row.

use std::sync::Arc;

use numpy::{PyArray2, PyReadonlyArray2};
use provi::Matrix;
use provi::stop::Signal;
use provi::target::{Family, Gaps};
use provi_analysis::Result;
use provi_analysis::run::loo::{FittedLoo, LooAsked, LooRows};
use provi_analysis::run::robust::RobustAsked;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::answer::{Answer, room, square};
use crate::columns::Source;
use crate::error::refuse;
use crate::model::{Kind, Model};
use crate::wait::{Shared, Viewer, on_a_thread};

/// What was found as JSON, and sentences about it; of the model that was fitted.
#[pyfunction]
pub(crate) fn loo_of_model(
    py: Python<'_>,
    answer: &Answer,
    model: &Model,
    asked: &Bound<'_, PyDict>,
) -> PyResult<(String, Vec<String>)> {
    let (asked, fitted, kind) = (loo_asked(asked)?, answer.fitted.clone(), Arc::clone(&model.kind));
    needs_rows(&kind)?;
    stoppable(py, move |stop| {
        let Some(rows) = rows(&kind) else { return Err(provi_analysis::Error::LooNeedsRows) };
        stop.cover(|| fitted.loo(rows, &asked, &mut |_, _| ()))
    })
}

/// The same of a formula, with the data that it was fitted to.
#[pyfunction]
pub(crate) fn loo_of_table(
    py: Python<'_>,
    answer: &Answer,
    source: Source<'_>,
    asked: &Bound<'_, PyDict>,
) -> PyResult<(String, Vec<String>)> {
    let (asked, fitted) = (loo_asked(asked)?, answer.fitted.clone());
    let data = source.data(&fitted.file.model.formula)?;
    stoppable(py, move |stop| {
        if fitted.file.likelihood().is_some() {
            let model = stop.cover(|| fitted.regression(&data, false))?;
            return stop.cover(|| fitted.loo_of_regression(&model, &asked, &mut |_, _| ()));
        }
        let model = stop.cover(|| fitted.model(&data, false))?;
        stop.cover(|| fitted.loo(LooRows::of(&model)?, &asked, &mut |_, _| ()))
    })
}

/// log p(y | draw) of every row at each draw, one a row. `scales`: the noise of each draw, or the gaps between cut points, if they were drawn too.
#[pyfunction]
pub(crate) fn likelihoods_of_model<'py>(
    py: Python<'py>,
    model: &Model,
    points: PyReadonlyArray2<'py, f64>,
    scales: Option<PyReadonlyArray2<'py, f64>>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let kind = Arc::clone(&model.kind);
    needs_rows(&kind)?;
    let (points, scales) = (matrix(&points)?, scales.as_ref().map(matrix).transpose()?);
    let count = kind.glm().map_or(0, |glm| glm.design().rows());
    room(points.rows().saturating_mul(count).saturating_mul(2), || "log likelihoods".to_owned())?;
    likelihoods(py, move |stop| {
        let Some(glm) = kind.glm() else { return Err(provi_analysis::Error::LooNeedsRows) };
        let families = scales.map(|scales| families(glm.family(), &scales)).transpose()?;
        Ok(stop.cover(|| glm.log_likelihoods(&points, families.as_deref()))?)
    })
}

/// The same of a formula, with the data that it was fitted to.
#[pyfunction]
pub(crate) fn likelihoods_of_table<'py>(
    py: Python<'py>,
    answer: &Answer,
    source: Source<'_>,
    points: PyReadonlyArray2<'py, f64>,
    scales: Option<PyReadonlyArray2<'py, f64>>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let fitted = answer.fitted.clone();
    let data = source.data(&fitted.file.model.formula)?;
    let (points, scales) = (matrix(&points)?, scales.as_ref().map(matrix).transpose()?);
    let count = points.rows().saturating_mul(fitted.file.model.rows).saturating_mul(2);
    room(count, || "log likelihoods".to_owned())?;
    likelihoods(py, move |stop| {
        if fitted.file.likelihood().is_some() {
            let model = stop.cover(|| fitted.regression(&data, false))?;
            return Ok(stop.cover(|| model.regression().log_likelihoods(&points))?);
        }
        let model = stop.cover(|| fitted.model(&data, false))?;
        let rows = LooRows::of(&model)?;
        let families = scales.map(|scales| families(rows.glm.family(), &scales)).transpose()?;
        Ok(stop.cover(|| rows.glm.log_likelihoods(&points, families.as_deref()))?)
    })
}

/// On a thread of its own, so that other threads of Python go on and ctrl-C is heard.
fn likelihoods<'py>(
    py: Python<'py>,
    work: impl FnOnce(&Signal) -> Result<Matrix> + Send + 'static,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let shared = Arc::new(Shared::default());
    let its = Arc::clone(&shared);
    let found = on_a_thread(py, &shared, &mut Viewer::new(None), move || work(&Signal::on(&its.stop)))?;
    square(py, &found.map_err(refuse)?)
}

/// A spread of the estimate under a model that may be wrong, as JSON, and sentences about it; of a formula, with its data.
#[pyfunction]
pub(crate) fn robust_of_table(
    py: Python<'_>,
    answer: &Answer,
    source: Source<'_>,
    method: &str,
    cluster: Option<String>,
    refits: usize,
) -> PyResult<(String, Vec<String>)> {
    let method = method.parse().map_err(PyValueError::new_err)?;
    let (asked, fitted) = (RobustAsked { method, cluster, refits }, answer.fitted.clone());
    let data = source.data(&fitted.file.model.formula)?;
    let shared = Arc::new(Shared::default());
    let its = Arc::clone(&shared);
    let found = on_a_thread(py, &shared, &mut Viewer::new(None), move || {
        let stop = Signal::on(&its.stop);
        let model = stop.cover(|| fitted.model(&data, false))?;
        stop.cover(|| fitted.robust(&model, &data, &asked))
    })?;
    let found = found.map_err(refuse)?;
    let text = serde_json::to_string(&found).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok((text, found.notes()))
}

fn matrix(values: &PyReadonlyArray2<'_, f64>) -> PyResult<Matrix> {
    let [count, dim] = [values.as_array().nrows(), values.as_array().ncols()];
    let found = Matrix::new(count, dim, values.as_array().iter().copied().collect());
    found.map_err(|error| refuse(error.into()))
}

/// The family with the noise, or with the gaps, of each row.
fn families(family: Family, scales: &Matrix) -> Result<Vec<Family>> {
    let at = |k: usize| match (family.gaps(), scales.row(k)) {
        (Some(_), widths) => Ok(Family::Ordered { gaps: Gaps::new(widths)? }),
        (None, &[sd]) => family.with_noise_sd(sd).ok_or(provi::Error::NoNoise { family: family.name() }),
        (None, _) => Err(provi::Error::NoNoise { family: family.name() }),
    };
    Ok((0..scales.rows()).map(at).collect::<provi::Result<Vec<Family>>>()?)
}

fn needs_rows(kind: &Kind) -> PyResult<()> {
    match kind.glm() {
        Some(_) => Ok(()),
        None => Err(PyValueError::new_err(
            "leaving out rows needs a model with a linear predictor, such as `provi.logistic`; of others, give the log likelihood of each \
             observation to ArviZ",
        )),
    }
}

fn rows(kind: &Kind) -> Option<LooRows<'_>> {
    let free = match kind {
        Kind::UnknownNoise(open) => open.integrating.as_ref().map(|how| &how.free),
        _ => None,
    };
    Some(LooRows { glm: kind.glm()?, free, sparse: false, lines: &[] })
}

fn stoppable(
    py: Python<'_>,
    work: impl FnOnce(&Signal) -> Result<FittedLoo> + Send + 'static,
) -> PyResult<(String, Vec<String>)> {
    let shared = Arc::new(Shared::default());
    let its = Arc::clone(&shared);
    let found = on_a_thread(py, &shared, &mut Viewer::new(None), move || work(&Signal::on(&its.stop)))?;
    let found = found.map_err(refuse)?;
    let text = serde_json::to_string(&found).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok((text, found.grounds()))
}

/// The options by their names in Python.
fn loo_asked(options: &Bound<'_, PyDict>) -> PyResult<LooAsked> {
    let mut asked = LooAsked::default();
    let wrong = |text: String| PyValueError::new_err(text);
    for (key, value) in options {
        match key.extract::<String>()?.as_str() {
            "method" => asked.method = Some(value.extract::<String>()?.parse().map_err(wrong)?),
            "certify" => asked.certify = value.extract()?,
            "draws" => asked.draws = value.extract()?,
            "seed" => asked.seed = Some(value.extract()?),
            other => return Err(wrong(format!("loo() has no option `{other}`"))),
        }
    }
    Ok(asked)
}
