//! Draws resampled by importance weights.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use provi::Seed;
use provi::estimate::{Estimates, psis, resample};
use pyo3::prelude::*;

use crate::design::numbers;
use crate::error::{raise, refuse};
use provi_analysis::run::contrast::Contrast;
use provi_analysis::run::sampled::refuse_heavy_tail;

/// Which of the draws to take, in proportion to their Pareto smoothed weights, and k̂. Weights with too heavy a tail are
/// refused.
#[pyfunction]
pub(crate) fn resampled<'py>(
    py: Python<'py>,
    log_ratios: PyReadonlyArray1<'_, f64>,
    count: usize,
    seed: u64,
) -> PyResult<(Bound<'py, PyArray1<i64>>, f64)> {
    let mut ratios = numbers(&log_ratios);
    let estimates = Estimates::from_log_ratios(&ratios).map_err(raise)?;
    refuse_heavy_tail(&estimates).map_err(refuse)?;
    psis(&mut ratios).map_err(raise)?;
    let chosen = resample(&ratios, count, Seed(seed)).map_err(raise)?;
    let chosen: Vec<i64> = chosen.into_iter().map(|k| k as i64).collect();
    Ok((chosen.into_pyarray(py), estimates.pareto_k))
}

/// The weights of an expression in these names, such as `a - b`.
#[pyfunction]
pub(crate) fn weights_of<'py>(
    py: Python<'py>,
    expression: &str,
    names: Vec<String>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let found = Contrast::read_one(expression, &names, None).map_err(refuse)?;
    Ok(PyArray1::from_slice(py, found.weights()))
}
