//! A C function as a target. It runs on the thread that asked for the fit, unless its owner says that several may call at once.

use std::ffi::c_void;

use provi::Curvature;
use provi::Quadratic;
use provi::Result as LibraryResult;
use provi::target::{Declared, Scratch, Target, batch_of_one};
use provi_ffi::{Density, Function};

use crate::error::{Refused, Result};
use crate::options::DensityOptions;

/// The most coordinates: an answer has that number squared.
const MOST: usize = 1 << 24;

/// Refuses a number of coordinates that no answer has.
pub(crate) fn check_dim(dim: usize) -> Result<()> {
    match (1..=MOST).contains(&dim) {
        true => Ok(()),
        false => Err(Refused::Dim { dim, most: MOST }),
    }
}

/// The function with its data.
pub(crate) struct CallerDensity {
    density: Density,
    thread_safe: bool,
}

impl CallerDensity {
    /// The target with its names and what is declared of it.
    ///
    /// # Safety
    /// The function accepts `user` on the threads that `thread_safe` allows, reads and writes no more than the header says, and lives
    /// with its data as long as this does.
    pub(crate) unsafe fn declared(
        function: Function,
        user: *mut c_void,
        dim: usize,
        names: Option<Vec<String>>,
        options: &DensityOptions,
    ) -> Result<Declared<Self>> {
        check_dim(dim)?;
        let thread_safe = options.thread_safe;
        // SAFETY: passed on to the caller; where other threads may not call, none does: see `is_thread_safe`.
        let density = unsafe { Density::new(function, user, dim, thread_safe) };
        let mut target = Declared::new(Self { density, thread_safe });
        if let Some(names) = names {
            target = target.with_names(names)?;
        }
        match (options.convexity, options.smoothness) {
            (None, None) => Ok(target),
            (None, Some(_)) => Err(Refused::NoConvexity),
            (Some(lower), upper) => {
                let upper = upper.map(Quadratic::Scalar);
                Ok(target.with_curvature(Curvature::declared(dim, Quadratic::Scalar(lower), upper)?)?)
            }
        }
    }
}

impl Target for CallerDensity {
    fn dim(&self) -> usize {
        self.density.dim()
    }

    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> LibraryResult<f64> {
        batch_of_one(self, z, gradient)
    }

    fn log_densities(
        &self,
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        _scratch: &mut Scratch,
    ) -> LibraryResult<()> {
        let explain = |code| format!("the density returned {code}; 0 is what one returns that succeeded");
        self.density.evaluate(points, values, gradients, explain)
    }

    fn batch(&self) -> usize {
        if self.thread_safe { 8 } else { usize::MAX }
    }
}
