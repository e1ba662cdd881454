//! Fits of formulas, and predictions for other tables.

use std::sync::{Arc, PoisonError};
use std::time::Instant;

use numpy::IntoPyArray;
use provi::fit::{Snapshot, Watch};
use provi::predict::Prediction;
use provi::stop::Signal;
use provi_analysis::Analysis;
use provi_analysis::model::{self, RegressionModel, device};
use provi_analysis::show::rows::LEVEL;
use provi_table::{Missing, NewLevels};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::answer::Answer;
use crate::columns::Source;
use crate::error::refuse;
use crate::options::{model_options, run_options};
use crate::predict::columns;
use crate::run::with_threads;
use crate::wait::{Shared, Viewer, interruptible, on_a_thread};

/// The name of an earlier fit that is in memory.
const EARLIER: &str = "prior_from";

/// Fits a formula to a table; `earlier` is a fit whose Gaussian becomes the prior.
#[pyfunction]
#[pyo3(signature = (formula, source, model, options, observer=None, earlier=None))]
pub(crate) fn fit_formula(
    py: Python<'_>,
    formula: String,
    source: Source<'_>,
    model: &Bound<'_, PyDict>,
    options: &Bound<'_, PyDict>,
    observer: Option<Py<PyAny>>,
    earlier: Option<PyRef<'_, Answer>>,
) -> PyResult<Answer> {
    let earlier = earlier.map(|answer| answer.fitted.clone());
    let (model, run) = (model_options(model)?, run_options(options)?);
    run.check().map_err(refuse)?;
    device::is_there(run.device.unwrap_or_default()).map_err(refuse)?;
    let (threads, data) = (run.threads, source.data(&formula)?);
    let (shared, mut viewer) = (Arc::new(Shared::default()), Viewer::new(observer));
    let its = Arc::clone(&shared);
    let outcome = on_a_thread(py, &shared, &mut viewer, move || {
        with_threads(threads, || {
            let mut observer = |at: &Snapshot| {
                *its.at.lock().unwrap_or_else(PoisonError::into_inner) = Some(*at);
                std::ops::ControlFlow::Continue(())
            };
            let mut watch =
                Watch { observer: Some(&mut observer), stop: Some(&its.stop), ..Watch::default() };
            // The search for the scales counts: the clock starts with the call.
            let (begin, limit) = (Instant::now(), run.limit()?);
            let deadline = limit.and_then(|limit| begin.checked_add(limit));
            Signal::on(&its.stop).at(deadline).cover(|| {
                let asked = RegressionModel::asked(&model::parse(&formula)?, &model);
                if asked.is_some() && earlier.is_none() {
                    let model = RegressionModel::build(&data, &formula, &model)?;
                    watch.time_limit = limit.map(|limit| limit.saturating_sub(begin.elapsed()));
                    return model.fit(&run, &mut watch);
                }
                let analysis = match &earlier {
                    Some(earlier) => Analysis::after(data, &formula, &model, earlier, EARLIER)?,
                    None => Analysis::of(data, &formula, &model)?,
                };
                let analysis = analysis.on_device(run.device)?;
                watch.time_limit = limit.map(|limit| limit.saturating_sub(begin.elapsed()));
                analysis.fit(&run, &mut watch)
            })
        })
    })?;
    outcome?.map(Into::into).map_err(refuse)
}

/// What the answer is conditional on, and warnings about the data.
#[pyfunction]
pub(crate) fn notes(answer: &Answer) -> Vec<String> {
    answer.fitted.notes()
}

/// Notes about conflicts between prior and data.
#[pyfunction]
pub(crate) fn conflicts(answer: &Answer) -> Vec<String> {
    answer.fitted.file.conflicts().cloned().collect()
}

/// The contrasts that were asked for, as they were written.
#[pyfunction]
pub(crate) fn contrasts(answer: &Answer) -> Vec<String> {
    answer.fitted.file.contrasts.iter().map(|contrast| contrast.expression.clone()).collect()
}

/// The report page.
#[pyfunction]
pub(crate) fn report(answer: &Answer, level: Option<f64>) -> PyResult<String> {
    answer.fitted.html(level.unwrap_or(LEVEL), "").map_err(refuse)
}

/// Predictions as columns, the row of each, and the proved bound of the error of probabilities. `at` is the level of intervals, and
/// the time at which survival is asked for.
#[pyfunction]
pub(crate) fn predict_table<'py>(
    py: Python<'py>,
    answer: &Answer,
    source: Source<'_>,
    at: (Option<f64>, Option<f64>),
    new_groups: bool,
    drop_missing: bool,
) -> PyResult<(Bound<'py, PyDict>, Vec<usize>, Option<f64>)> {
    let (level, time) = at;
    let fitted = answer.fitted.clone();
    let data = source.data(&fitted.file.model.formula)?;
    let groups = if new_groups { NewLevels::Population } else { NewLevels::Refuse };
    let missing = if drop_missing { Missing::Drop } else { Missing::Error };
    let found = interruptible(py, move || {
        let refuse = |error| provi_analysis::Error::table(error, &fitted.file.model.formula);
        let table = data.table().map_err(refuse)?;
        let level = level.unwrap_or(LEVEL);
        if fitted.file.likelihood().is_some() {
            if time.is_some() {
                fitted.needs_one_predictor("a probability after a time")?;
            }
            let new = fitted.regression_rows(&table, missing, false)?;
            let found = new.predict(level)?;
            let rows: Vec<Prediction> = found.iter().filter_map(|row| row.first().copied()).collect();
            let levels = if found.iter().any(|row| row.len() > 1) { found } else { Vec::new() };
            let names = fitted.file.model.categories.clone();
            return Ok((rows, (names, levels), None, new.lines.clone(), None));
        }
        let new = fitted.new_data(&table, groups, missing)?;
        let (rows, error) = match time {
            Some(time) => (new.survival(time, level)?, new.tv_bound()),
            None => (new.predict(level)?, new.probability_error()),
        };
        let levels = match new.family.gaps() {
            Some(_) => new.categories(level)?,
            None => Vec::new(),
        };
        let names = fitted.file.model.categories.clone();
        Ok((rows, (names, levels), new.mean_errors()?, new.lines.clone(), error))
    })?;
    let (rows, (names, levels), mean_errors, lines, error) = found.map_err(refuse)?;
    let columns = columns(py, &rows)?;
    if !levels.is_empty() {
        for (k, name) in names.iter().enumerate() {
            let all = |part: fn(&Prediction) -> f64| {
                let values: Vec<f64> = levels.iter().map(|row| part(&row[k])).collect();
                values.into_pyarray(py)
            };
            columns.set_item(format!("p({name})"), all(|p| p.mean))?;
            columns.set_item(format!("low({name})"), all(|p| p.low))?;
            columns.set_item(format!("high({name})"), all(|p| p.high))?;
        }
    }
    if let Some(errors) = mean_errors {
        columns.set_item("mean_error", errors.into_pyarray(py))?;
    }
    Ok((columns, lines, error))
}

/// A table's error, pointing into the formula.
pub(crate) fn refuse_table(error: provi_table::Error, formula: &str) -> PyErr {
    refuse(provi_analysis::Error::table(error, formula))
}
