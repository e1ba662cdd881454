//! Draws of the posterior itself.

use std::sync::Arc;

use numpy::PyArray2;
use provi::fit::Watch;
use provi::stop::Signal;
use provi::{Matrix, Seed};
use provi_analysis::Problem;
use provi_analysis::options::DeviceName;
use provi_analysis::run::posterior::PosteriorDraws;
use provi_analysis::run::sampled::Law;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::answer::{Answer, room, square};
use crate::columns::Source;
use crate::error::refuse;
use crate::model::{Kind, Model};
use crate::run::under_watch;
use crate::wait::{Shared, Viewer, on_a_thread};

/// Draws, one a row; what they are draws of; what is proved of its total variation from the posterior; and all that as a sentence.
type Drawn<'py> = (Bound<'py, PyArray2<f64>>, &'static str, Option<f64>, String);

/// Of the posterior of the model that was fitted. Ctrl-C keeps those that there are.
#[pyfunction]
#[pyo3(signature = (answer, model, count, seed, tv, place=None))]
pub(crate) fn exact_of_model<'py>(
    py: Python<'py>,
    answer: &Answer,
    model: &Model,
    count: usize,
    seed: Option<u64>,
    tv: Option<f64>,
    place: Option<String>,
) -> PyResult<Drawn<'py>> {
    let place = named(place)?;
    let q = answer.fitted.dense("an exact draw").map_err(refuse)?.into_owned();
    if let Kind::UnknownNoise(open) = &*model.kind {
        open.needs_known_noise("exact draws").map_err(refuse)?;
    }
    let seed = Seed(seed.unwrap_or(answer.fitted.file.seed));
    held(count, q.dim())?;
    let work = move |problem: Problem<'_>, watch: &mut Watch<'_>| {
        let stop = watch.stop.map_or_else(Signal::default, Signal::on);
        let mut draws = stop.cover(|| PosteriorDraws::of_target(problem.target(), &q, tv, seed))?;
        Ok((stop.cover(|| draws.draw(count))?, draws.law()))
    };
    let found = under_watch(py, model, (None, place), None, work)?;
    shown(py, &found)
}

/// Of the posterior of a formula, with the data that it was fitted to.
#[pyfunction]
#[pyo3(signature = (answer, source, count, seed, tv, place=None))]
pub(crate) fn exact_of_table<'py>(
    py: Python<'py>,
    answer: &Answer,
    source: Source<'_>,
    count: usize,
    seed: Option<u64>,
    tv: Option<f64>,
    place: Option<String>,
) -> PyResult<Drawn<'py>> {
    let place = named(place)?;
    let fitted = answer.fitted.clone();
    let data = source.data(&fitted.file.model.formula)?;
    let seed = Seed(seed.unwrap_or(fitted.file.seed));
    drawn(py, (count, fitted.gaussian.dim()), move |stop| {
        let model = stop.cover(|| fitted.model(&data, false))?.on_device(place)?;
        let q = fitted.dense("an exact draw")?;
        let mut draws = stop.cover(|| PosteriorDraws::new(&model, &q, tv, seed))?;
        Ok((stop.cover(|| draws.draw(count))?, draws.law()))
    })
}

/// The device of that name.
fn named(place: Option<String>) -> PyResult<Option<DeviceName>> {
    place.map(|name| name.parse()).transpose().map_err(PyValueError::new_err)
}

fn drawn<'py>(
    py: Python<'py>,
    (count, dim): (usize, usize),
    work: impl FnOnce(&Signal) -> provi_analysis::Result<(Matrix, Law)> + Send + 'static,
) -> PyResult<Drawn<'py>> {
    held(count, dim)?;
    let shared = Arc::new(Shared::default());
    let its = Arc::clone(&shared);
    let found = on_a_thread(py, &shared, &mut Viewer::new(None), move || work(&Signal::on(&its.stop)))?;
    shown(py, &found.map_err(refuse)?)
}

/// Whether there is room for the draws while they wait, in a row, and for their copy in Python.
fn held(count: usize, dim: usize) -> PyResult<()> {
    room(count.saturating_mul(dim).saturating_mul(3), || format!("{count} draws"))
}

fn shown<'py>(py: Python<'py>, (points, law): &(Matrix, Law)) -> PyResult<Drawn<'py>> {
    Ok((square(py, points)?, law.name(), law.total_variation(None), law.note(true)))
}
