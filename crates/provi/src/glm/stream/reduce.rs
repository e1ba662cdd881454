//! Sums over processes.

use crate::base::error::Result;
use std::sync::Arc;

/// Sums over the processes that share one model's data.
///
/// Calls are collective: every process makes the same calls in the same order, with as many numbers, from one
/// thread, and each gets the same bits back. An error means that the others can no longer be reached.
pub trait Reduce: Send + Sync {
    /// Each number becomes its sum over all processes.
    fn sum(&self, values: &mut [f64]) -> Result<()>;

    /// Each number becomes its maximum over all processes. No number may be NaN.
    fn largest(&self, values: &mut [f64]) -> Result<()>;

    /// The rank of this process, from 0.
    fn rank(&self) -> usize;

    /// The number of processes.
    fn size(&self) -> usize;
}

/// A single process, which holds all the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Alone;

impl Reduce for Alone {
    fn sum(&self, _values: &mut [f64]) -> Result<()> {
        Ok(())
    }
    fn largest(&self, _values: &mut [f64]) -> Result<()> {
        Ok(())
    }
    fn rank(&self) -> usize {
        0
    }
    fn size(&self) -> usize {
        1
    }
}

/// A pointer to a reduction is a reduction.
macro_rules! pointers {
    ($($pointer:ty),+) => {$(
        impl<R: Reduce + ?Sized> Reduce for $pointer {
            fn sum(&self, values: &mut [f64]) -> Result<()> {
                (**self).sum(values)
            }
            fn largest(&self, values: &mut [f64]) -> Result<()> {
                (**self).largest(values)
            }
            fn rank(&self) -> usize {
                (**self).rank()
            }
            fn size(&self) -> usize {
                (**self).size()
            }
        }
    )+};
}

pointers!(&R, Box<R>, Arc<R>);
