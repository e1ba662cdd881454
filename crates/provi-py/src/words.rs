//! Numbers as all shells print them.

use provi_analysis::number;
use pyo3::prelude::*;

/// A bound, rounded up, so that the printed number is a bound too.
#[pyfunction]
pub(crate) fn bound_text(value: f64, digits: i32) -> String {
    number::bound(value, digits.clamp(1, 15))
}

/// Five significant digits.
#[pyfunction]
pub(crate) fn number_text(value: f64) -> String {
    number::plain(value)
}

/// A probability; a value near 0 or 1 is not printed as exactly 0 or 1.
#[pyfunction]
pub(crate) fn probability_text(value: f64) -> String {
    number::probability(value)
}
