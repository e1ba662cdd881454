//! What a model says of itself: responses of its prior, and its calibration.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use provi::Seed;
use provi::stop::Signal;
use provi_analysis::Analysis;
use provi_analysis::options::RunOptions;
use provi_analysis::record::fit_file::to_json;
use provi_analysis::run::calibrate::{CalibrateAsked, Subject};
use provi_analysis::run::prior_predictive::PriorAsked;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::Source;
use crate::error::refuse;
use crate::options::model_options;
use crate::run::with_threads;
use crate::wait::{Shared, Viewer, interruptible, on_a_thread};

/// What the prior of a model expects: the result as JSON, and its page.
#[pyfunction]
pub(crate) fn prior_predictive(
    py: Python<'_>,
    formula: String,
    source: Source<'_>,
    model: &Bound<'_, PyDict>,
    draws: usize,
    seed: u64,
) -> PyResult<(String, String)> {
    let (model, data) = (model_options(model)?, source.data(&formula)?);
    let found = interruptible(py, move || {
        let analysis = Analysis::of(data, &formula, &model)?;
        let found = analysis.prior_predictive(&PriorAsked { draws, seed: Seed(seed) })?;
        Ok((to_json(&found), found.page(&analysis.model().formula, "").html()))
    })?;
    found.map_err(refuse)
}

/// The calibration of a model: the result as JSON, its verdict, its notes, and its page. `how` is the number of simulations, that of draws, the level and
/// the seed; `limits` are threads and seconds.
#[pyfunction]
pub(crate) fn calibrate(
    py: Python<'_>,
    formula: String,
    source: Source<'_>,
    model: &Bound<'_, PyDict>,
    how: (usize, usize, f64, u64),
    limits: (Option<u32>, Option<f64>),
) -> PyResult<(String, String, Vec<String>, String)> {
    let (model, data) = (model_options(model)?, source.data(&formula)?);
    let (simulations, draws, level, seed) = how;
    let asked = CalibrateAsked { simulations, draws, level, seed: Seed(seed) };
    asked.check().map_err(refuse)?;
    let (threads, time_limit) = limits;
    let limit = RunOptions { time_limit, ..RunOptions::default() }.limit().map_err(refuse)?;
    let shared = Arc::new(Shared::default());
    let its = Arc::clone(&shared);
    let found = on_a_thread(py, &shared, &mut Viewer::new(None), move || {
        with_threads(threads, || {
            let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
            let signal = Signal::on(&its.stop).at(deadline);
            let mut told = |_, _| match signal.is_wanted() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            };
            signal.cover(|| {
                let model = Subject::build(&data, &formula, &model)?;
                let found = model.calibrate(&asked, &mut told)?;
                let page = found.page(model.formula(), "").html();
                Ok((to_json(&found), found.verdict(), found.notes(), page))
            })
        })
    })?;
    found?.map_err(refuse)
}
