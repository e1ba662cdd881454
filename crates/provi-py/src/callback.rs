//! A Python function as a target.
//!
//! The function receives an array that is reused at the next call, unless somebody kept it; its results are read in
//! place.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use numpy::{PyArray2, PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use provi::target::{Scratch, Target};
use provi::{Error, Result};
use pyo3::exceptions::{PyKeyboardInterrupt, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// A function of a batch of points, or of one.
pub(crate) struct Callback {
    function: Py<PyAny>,
    pub(crate) dim: usize,
    batched: bool,
    /// The array of the last call.
    room: Mutex<Option<Py<PyArray2<f64>>>>,
}

impl Callback {
    pub(crate) fn new(function: Py<PyAny>, dim: usize, batched: bool) -> Self {
        Self { function, dim, batched, room: Mutex::default() }
    }

    fn room(&self) -> MutexGuard<'_, Option<Py<PyArray2<f64>>>> {
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What functions raised during a run.
#[derive(Default)]
pub(crate) struct Raised(RefCell<Option<PyErr>>);

impl Raised {
    /// Calls into Python, and keeps the exception. After a real interrupt, Python is not called again.
    pub(crate) fn attached(&self, work: impl FnOnce(Python<'_>) -> PyResult<()>) -> Result<()> {
        Python::attach(|py| {
            let message = match &*self.0.borrow() {
                Some(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => Some(error.to_string()),
                _ => None,
            };
            if let Some(message) = message {
                return Err(Error::Target { message });
            }
            work(py).map_err(|error| {
                let message = error.to_string();
                *self.0.borrow_mut() = Some(error);
                Error::Target { message }
            })
        })
    }

    /// The last exception.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.take()
    }
}

/// The callback during one run: what it raised, and whether it was interrupted.
pub(crate) struct Session<'a> {
    callback: &'a Callback,
    stop: &'a AtomicBool,
    raised: Raised,
}

impl<'a> Session<'a> {
    pub(crate) fn new(callback: &'a Callback, stop: &'a AtomicBool) -> Self {
        Self { callback, stop, raised: Raised::default() }
    }

    /// What the function raised last.
    pub(crate) fn raised(&self) -> Option<PyErr> {
        self.raised.take()
    }

    fn call<'py>(&self, argument: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        call(self.callback.function.bind(argument.py()), (argument,), self.stop)
    }

    /// The points as an array: that of the last call, if nobody else refers to it.
    fn argument<'py>(&self, py: Python<'py>, points: &[f64]) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let last = self.callback.room().take();
        if let Some(array) =
            last.map(|array| array.into_bound(py)).filter(|array| array.len() == points.len())
        {
            // SAFETY: a live object; the count is read under the lock.
            let unshared = unsafe { pyo3::ffi::Py_REFCNT(array.as_ptr()) } == 1;
            if unshared {
                array.try_readwrite().map_err(busy)?.as_slice_mut().map_err(busy)?.copy_from_slice(points);
                return Ok(array);
            }
        }
        let dim = self.callback.dim;
        numpy::PyArray1::from_slice(py, points).reshape([points.len() / dim, dim])
    }

    fn evaluate(
        &self,
        py: Python<'_>,
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
    ) -> PyResult<()> {
        let (n, d) = (values.len(), self.callback.dim);
        let array = self.argument(py, points)?;
        if self.callback.batched {
            let (value, gradient) = self.call(array.as_any())?;
            read("log density", &value, &[n], values)?;
            read("gradient", &gradient, &[n, d], gradients)?;
        } else {
            for k in 0..n {
                let (value, gradient) = self.call(&array.get_item(k)?)?;
                values[k] = number(&value)?;
                read("gradient", &gradient, &[d], &mut gradients[k * d..(k + 1) * d])?;
            }
        }
        *self.callback.room() = Some(array.unbind());
        Ok(())
    }
}

impl Target for Session<'_> {
    fn dim(&self) -> usize {
        self.callback.dim
    }

    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64> {
        provi::target::batch_of_one(self, z, gradient)
    }

    fn log_densities(
        &self,
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        _scratch: &mut Scratch,
    ) -> Result<()> {
        self.raised.attached(|py| self.evaluate(py, points, values, gradients))
    }

    /// A call costs more than its points.
    fn batch(&self) -> usize {
        usize::MAX
    }
}

/// Returns the pair that the function returned. A first interrupt ends the run only after this value, so the call
/// is made again; a second interrupt ends it at once.
pub(crate) fn call<'py>(
    function: &Bound<'py, PyAny>,
    arguments: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
    stop: &AtomicBool,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let py = function.py();
    let arguments = arguments.into_pyobject(py)?;
    let result = match function.call1(&arguments) {
        Err(error)
            if error.is_instance_of::<PyKeyboardInterrupt>(py) && !stop.swap(true, Ordering::Relaxed) =>
        {
            function.call1(&arguments)?
        }
        result => result?,
    };
    // A list of two is accepted too.
    let pair = match result.cast::<PyList>() {
        Ok(list) => list.to_tuple().into_any(),
        Err(_) => result.clone(),
    };
    pair.extract().map_err(|_| {
        let found = result.get_type().name().map_or_else(|_| "an object".to_owned(), |name| name.to_string());
        PyTypeError::new_err(format!(
            "the function returned {found}, expected a pair (log density, gradient)"
        ))
    })
}

fn busy(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("the array handed to the function cannot be written again: {error}"))
}

/// A single log density.
fn number(value: &Bound<'_, PyAny>) -> PyResult<f64> {
    if let Ok(value) = value.extract::<f64>() {
        return Ok(value);
    }
    let mut out = [0.0];
    read("log density", value, &[], &mut out)?;
    Ok(out[0])
}

/// Reads an array of 64-bit floats of that shape; the error says what is wrong with any other.
pub(crate) fn read(what: &str, value: &Bound<'_, PyAny>, shape: &[usize], out: &mut [f64]) -> PyResult<()> {
    let converted;
    let array = match value.cast::<PyUntypedArray>() {
        Ok(array) => array,
        Err(_) => {
            let py = value.py();
            converted = py.import(intern!(py, "numpy"))?.call_method1(intern!(py, "asarray"), (value,))?;
            converted.cast::<PyUntypedArray>()?
        }
    };
    let Ok(floats) = array.cast::<PyArrayDyn<f64>>() else {
        let dtype = array.dtype();
        return Err(PyTypeError::new_err(format!(
            "the function returned a {what} of dtype {dtype}, expected float64"
        )));
    };
    if floats.shape() != shape {
        return Err(PyValueError::new_err(format!(
            "the function returned a {what} of shape {}, expected {}",
            tuple(floats.shape()),
            tuple(shape)
        )));
    }
    let rows = floats.is_c_contiguous();
    let floats = floats.try_readonly()?;
    match floats.as_slice() {
        // A column-major array is a slice too, but in the wrong order.
        Ok(entries) if rows => out.copy_from_slice(entries),
        _ => out.iter_mut().zip(floats.as_array().iter()).for_each(|(out, x)| *out = *x),
    }
    Ok(())
}

/// A shape as Python writes it.
fn tuple(shape: &[usize]) -> String {
    match shape {
        [n] => format!("({n},)"),
        _ => format!("({})", shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}
