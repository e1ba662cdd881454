//! Numbers as every shell prints them.

use provi_analysis::number;
use pyo3::prelude::*;

/// A bound, rounded up: what is printed holds too.
#[pyfunction]
pub(crate) fn bound_text(value: f64, digits: i32) -> String {
    number::bound(value, digits.clamp(1, 15))
}

/// Five significant digits.
#[pyfunction]
pub(crate) fn number_text(value: f64) -> String {
    number::plain(value)
}

/// A probability; one that is nearly sure does not pass for sure.
#[pyfunction]
pub(crate) fn probability_text(value: f64) -> String {
    number::probability(value)
}
