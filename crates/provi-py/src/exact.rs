//! Draws of the posterior itself.

use std::sync::Arc;

use numpy::PyArray2;
use provi::stop::Signal;
use provi::{Matrix, Seed};
use provi_analysis::model::device;
use provi_analysis::options::DeviceName;
use provi_analysis::run::posterior::PosteriorDraws;
use provi_analysis::run::sampled::Law;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::answer::{Answer, room, square};
use crate::columns::Source;
use crate::error::refuse;
use crate::model::{Kind, Model};
use crate::wait::{Shared, Viewer, on_a_thread};

/// Draws, one a row; what they are draws of; and what is proved of its total variation from the posterior.
type Drawn<'py> = (Bound<'py, PyArray2<f64>>, &'static str, Option<f64>);

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
    let kind = Arc::clone(&model.kind);
    let q = answer.fitted.dense("an exact draw").map_err(refuse)?.into_owned();
    if let Kind::UnknownNoise(open) = &*kind {
        open.needs_known_noise("exact draws").map_err(refuse)?;
    }
    let Some(glm) = kind.glm() else {
        return Err(PyValueError::new_err(
            "exact draws need a model with a linear predictor, such as `provi.logistic`; of others there are draws of the \
             fitted Gaussian",
        ));
    };
    let (glm, seed) = (glm.clone(), Seed(seed.unwrap_or(answer.fitted.file.seed)));
    drawn(py, (count, q.dim()), move |stop| {
        let glm = device::beside(&glm, place)?;
        let mut draws = stop.cover(|| PosteriorDraws::of_glm(&glm, &q, tv, seed))?;
        Ok((stop.cover(|| draws.draw(count))?, draws.law()))
    })
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
    // The draws while they wait, in a row, and their copy in Python.
    room(count.saturating_mul(dim).saturating_mul(3), || format!("{count} draws"))?;
    let shared = Arc::new(Shared::default());
    let its = Arc::clone(&shared);
    let found = on_a_thread(py, &shared, &mut Viewer::new(None), move || work(&Signal::on(&its.stop)))?;
    let (points, law) = found.map_err(refuse)?;
    Ok((square(py, &points)?, law.name(), law.total_variation(None)))
}
