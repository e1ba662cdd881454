//! A C function as a log density.

use crate::gate::Gate;
use provi::{Error, Result};
use std::ffi::{c_int, c_void};

/// ```c
/// int f(size_t n, size_t d, const double *z, double *logp, double *grad, void *user);
/// ```
/// `z` and `grad` hold n points of d numbers, one after the other, and `logp` n numbers. A return value other than
/// 0 is a failure.
pub type Function = unsafe extern "C" fn(usize, usize, *const f64, *mut f64, *mut f64, *mut c_void) -> c_int;

/// Such a function with its data. It is called with arrays whose lengths were checked, and one call at a time
/// unless its owner declares it thread-safe.
#[derive(Debug)]
pub struct Density {
    function: Function,
    user: *mut c_void,
    dim: usize,
    gate: Gate,
}

// SAFETY: `user` belongs to no thread, as `Density::new` demands; calls go through `gate`, which lets several
// threads in only if the function's owner declares that it allows them.
unsafe impl Send for Density {}
// SAFETY: as above.
unsafe impl Sync for Density {}

impl Density {
    /// A function of points of `dim` numbers.
    ///
    /// # Safety
    /// The function accepts `user` on any thread, on several at once if `thread_safe`, reads and writes no more than its
    /// signature says, and lives with its data as long as this does.
    pub unsafe fn new(function: Function, user: *mut c_void, dim: usize, thread_safe: bool) -> Self {
        Self { function, user, dim, gate: Gate::new(thread_safe) }
    }

    /// Number of coordinates of a point.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Whether several threads may call at the same time.
    pub fn gate(&self) -> Gate {
        self.gate
    }

    /// Log densities and gradients at points. A return code other than 0 becomes an error with the text of
    /// `explain`, which is called within the same turn. Numbers that the function leaves unwritten are NaN, so no
    /// number of an earlier call remains.
    pub fn evaluate(
        &self,
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        explain: impl FnOnce(c_int) -> String,
    ) -> Result<()> {
        let (n, d) = (values.len(), self.dim);
        let expected = n.checked_mul(d).ok_or(Error::Shape { what: "points", found: n, expected: d })?;
        for (what, found) in [("points", points.len()), ("gradients", gradients.len())] {
            if found != expected {
                return Err(Error::Shape { what, found, expected });
            }
        }
        values.fill(f64::NAN);
        gradients.fill(f64::NAN);
        let _turn = self.gate.enter()?;
        // SAFETY: n·d, n and n·d numbers, as the signature says; the gate is passed, the rest is the owner's promise.
        let code = unsafe {
            let (z, logp, grad) = (points.as_ptr(), values.as_mut_ptr(), gradients.as_mut_ptr());
            (self.function)(n, d, z, logp, grad, self.user)
        };
        if code == 0 { Ok(()) } else { Err(Error::Target { message: explain(code) }) }
    }
}
