//! A Python function of some terms as a finite sum.

use std::sync::atomic::AtomicBool;

use numpy::{PyArray1, PyArrayMethods};
use provi::Result;
use provi::target::{FiniteSum, Scratch, TermSmoothness};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::answer::room;
use crate::callback::{Raised, call, read};

/// `function(z, indices, weights)` for the terms, `rest(z)` for what belongs to no term.
pub(crate) struct SumCallback {
    function: Py<PyAny>,
    rest: Option<Py<PyAny>>,
    pub(crate) dim: usize,
    pub(crate) terms: usize,
    smoothness: Option<TermSmoothness>,
}

impl SumCallback {
    pub(crate) fn new(
        function: Bound<'_, PyAny>,
        rest: Option<Bound<'_, PyAny>>,
        dim: usize,
        terms: usize,
        smoothness: Option<TermSmoothness>,
    ) -> PyResult<Self> {
        for given in std::iter::once(&function).chain(&rest) {
            if !given.is_callable() {
                let kind = given.get_type().name()?;
                return Err(PyTypeError::new_err(format!("{kind} is not callable; give a function")));
            }
        }
        if terms == 0 {
            return Err(PyValueError::new_err("terms = 0: a finite sum has at least one term"));
        }
        // Their indices and weights, for all of them and for some.
        room(terms.saturating_mul(4), || format!("the indices of {terms} terms"))?;
        if let Some(found) = smoothness.as_ref().map(|s| s.each.len()).filter(|&found| found != terms) {
            return Err(PyValueError::new_err(format!(
                "term_smoothness has length {found}, expected a number or {terms} of them"
            )));
        }
        let (function, rest) = (function.unbind(), rest.map(Bound::unbind));
        Ok(Self { function, rest, dim, terms, smoothness })
    }
}

/// The sum during one run: what it raised, and whether it was interrupted.
pub(crate) struct SumSession<'a> {
    callback: &'a SumCallback,
    stop: &'a AtomicBool,
    raised: Raised,
}

impl<'a> SumSession<'a> {
    pub(crate) fn new(callback: &'a SumCallback, stop: &'a AtomicBool) -> Self {
        Self { callback, stop, raised: Raised::default() }
    }

    /// What a function raised last.
    pub(crate) fn raised(&self) -> Option<PyErr> {
        self.raised.take()
    }

    fn attached(&self, work: impl FnOnce(Python<'_>) -> PyResult<()>) -> Result<()> {
        self.raised.attached(work)
    }
}

impl FiniteSum for SumSession<'_> {
    fn dimension(&self) -> usize {
        self.callback.dim
    }

    fn terms(&self) -> usize {
        self.callback.terms
    }

    fn weighted_terms(
        &self,
        terms: &[usize],
        weights: &[f64],
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        _scratch: &mut Scratch,
    ) -> Result<()> {
        let shape = [values.len(), self.callback.dim];
        self.attached(|py| {
            let z = PyArray1::from_slice(py, points).reshape(shape)?;
            // numpy indexes with signed numbers; a number of terms is far below their limit.
            let indices = PyArray1::from_iter(py, terms.iter().map(|&n| n as i64));
            let weights = PyArray1::from_slice(py, weights);
            let (value, gradient) = call(self.callback.function.bind(py), (z, indices, weights), self.stop)?;
            read("log density", &value, &shape[..1], values)?;
            read("gradient", &gradient, &shape, gradients)
        })
    }

    fn add_rest(
        &self,
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Some(rest) = &self.callback.rest else { return Ok(()) };
        let shape = [values.len(), self.callback.dim];
        let (value, gradient) = scratch.floats(values.len() + gradients.len()).split_at_mut(values.len());
        self.attached(|py| {
            let z = PyArray1::from_slice(py, points).reshape(shape)?;
            let (found, slopes) = call(rest.bind(py), (z,), self.stop)?;
            read("log density", &found, &shape[..1], value)?;
            read("gradient", &slopes, &shape, gradient)
        })?;
        values.iter_mut().zip(value).for_each(|(total, x)| *total += *x);
        gradients.iter_mut().zip(gradient).for_each(|(total, x)| *total += *x);
        Ok(())
    }

    fn term_smoothness(&self) -> Result<Option<TermSmoothness>> {
        Ok(self.callback.smoothness.clone())
    }
}
