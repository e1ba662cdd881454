//! A C function as a target. It runs without Python's lock.

use std::ffi::{c_int, c_void};

use provi::target::{Scratch, Target};
use provi::{Error, Result};
use pyo3::prelude::*;

/// ```c
/// int f(size_t n, size_t d, const double *z, double *logp, double *grad, void *user);
/// ```
/// `z` and `grad` hold n points of d numbers, one after the other; anything but 0 is a failure.
type Function = unsafe extern "C" fn(usize, usize, *const f64, *mut f64, *mut f64, *mut c_void) -> c_int;

/// The function, its user data, and the Python objects that keep both alive.
pub(crate) struct Native {
    function: Function,
    user: *mut c_void,
    dim: usize,
    /// Whether the function may run on several threads at once.
    pub(crate) thread_safe: bool,
    _owner: Py<PyAny>,
}

// SAFETY: the function and the data are the caller's. Where it did not say that the function may run on several
// threads at once, one fit calls it from one thread at a time.
unsafe impl Send for Native {}
// SAFETY: as above.
unsafe impl Sync for Native {}

impl Native {
    /// From addresses. `None` for a function at 0.
    ///
    /// # Safety
    /// `function` is the address of a function of type [`Function`], which accepts `user`; both live as long as `owner`.
    pub(crate) unsafe fn new(
        function: usize,
        user: usize,
        dim: usize,
        thread_safe: bool,
        owner: Py<PyAny>,
    ) -> Option<Self> {
        // SAFETY: null is `None`; any other address is a function of this type, as the caller promises.
        let function = unsafe { std::mem::transmute::<usize, Option<Function>>(function) }?;
        Some(Self { function, user: user as *mut c_void, dim, thread_safe, _owner: owner })
    }
}

impl Target for Native {
    fn dim(&self) -> usize {
        self.dim
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
        let n = values.len();
        debug_assert!(points.len() == n * self.dim && gradients.len() == n * self.dim);
        // SAFETY: the lengths are those the function is told; the rest is the caller's promise.
        let code = unsafe {
            let (z, logp, grad) = (points.as_ptr(), values.as_mut_ptr(), gradients.as_mut_ptr());
            (self.function)(n, self.dim, z, logp, grad, self.user)
        };
        match code {
            0 => Ok(()),
            code => Err(Error::Target { message: format!("the C function returned {code}") }),
        }
    }

    fn batch(&self) -> usize {
        if self.thread_safe { 8 } else { usize::MAX }
    }
}
