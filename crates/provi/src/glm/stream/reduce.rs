//! Sums over processes.

use crate::base::error::Result;
use std::sync::Arc;

/// Sums over the processes that share one model's data.
///
/// Calls are collective: every process makes the same ones in the same order, with as many numbers, from one thread, and each
/// gets the same bits back. An error means that the others cannot be reached any more.
pub trait Reduce: Send + Sync {
    /// Each number becomes its sum over all processes.
    fn sum(&self, values: &mut [f64]) -> Result<()>;

    /// Each number becomes its maximum over all processes. None of them is NaN.
    fn largest(&self, values: &mut [f64]) -> Result<()>;

    /// Which process this is, from 0.
    fn rank(&self) -> usize;

    /// How many there are.
    fn size(&self) -> usize;
}

/// One process, which has all the data.
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

/// What points to a reduction is one.
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
