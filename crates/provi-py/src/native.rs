//! A C function as a target. It runs without Python's lock, and one call at a time unless its owner declares
//! otherwise.

use std::ffi::c_void;

use provi::Result;
use provi::target::{Scratch, Target};
use provi_ffi::{Density, Function, Gate};
use pyo3::prelude::*;

/// The function with its user data, and the Python objects that keep both alive.
pub(crate) struct Native {
    density: Density,
    _owner: Py<PyAny>,
}

impl Native {
    /// From addresses; `None` if the function's address is 0.
    ///
    /// # Safety
    /// `function` is the address of a function of type [`Function`], which accepts `user` on any thread, and on several at once
    /// if `thread_safe`; both live as long as `owner`.
    pub(crate) unsafe fn new(
        function: usize,
        user: usize,
        dim: usize,
        thread_safe: bool,
        owner: Py<PyAny>,
    ) -> Option<Self> {
        // SAFETY: null is `None`; any other address is a function of this type, as the caller promises.
        let function = unsafe { std::mem::transmute::<usize, Option<Function>>(function) }?;
        // SAFETY: passed on to the caller; the owner is kept here, beside it.
        let density = unsafe { Density::new(function, user as *mut c_void, dim, thread_safe) };
        Some(Self { density, _owner: owner })
    }

    /// Whether several threads may call at the same time.
    pub(crate) fn gate(&self) -> Gate {
        self.density.gate()
    }

    /// Whether the function may run on several threads at once.
    pub(crate) fn is_thread_safe(&self) -> bool {
        self.gate() == Gate::Open
    }
}

impl Target for Native {
    fn dim(&self) -> usize {
        self.density.dim()
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
        let explain = |code| format!("the C function returned {code}");
        self.density.evaluate(points, values, gradients, explain)
    }

    fn batch(&self) -> usize {
        if self.is_thread_safe() { 8 } else { usize::MAX }
    }
}
