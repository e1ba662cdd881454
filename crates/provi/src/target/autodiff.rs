//! Gradients of plain Rust functions, by reverse-mode automatic differentiation.
//!
//! Write a log-density once, over a [`Vector`] and its scalars ([`Var`]); the gradient follows from the chain
//! rule. The function runs forward and records each operation on a [`Tape`], with its local slopes; one pass
//! backwards multiplies them:
//! ```text
//! y = f(x):   x̄ += ȳ · ∂f/∂x,      from  ȳ = 1  at the result to  z̄ = ∇f  at the input
//! ```
//! so a gradient costs a small multiple of a value, whatever the dimension. Operations on whole vectors take one
//! record each: a regression of N rows is a handful of records, not N·d of them.
//!
//! ```
//! use provi::autodiff::{Autodiff, Matrix};
//!
//! // Logistic regression with a standard normal prior: three rows, two coefficients.
//! let x = Matrix::new(3, 2, [1.0, 0.5, 1.0, -1.5, 1.0, 2.0])?;
//! let y = [1.0, 0.0, 1.0];
//! let log_density = Autodiff::new(2, |z| {
//!     let eta = x.matvec(z);
//!     (eta * &y).sum() - eta.softplus().sum() - 0.5 * z.dot(z)
//! });
//!
//! let mut gradient = [0.0; 2];
//! let value = log_density.value_and_gradient(&[0.0, 0.0], &mut gradient)?;
//! assert!((value + 3.0 * 2f64.ln()).abs() < 1e-15);
//! assert_eq!(gradient, [0.5, 2.0]); // Σ (yᵢ − ½) xᵢ
//! # Ok::<(), provi::Error>(())
//! ```
//!
//! Scalar code works as well, operation by operation: `z.at(i)` is a [`Var`], with the arithmetic of an `f64`.
//! ```
//! use provi::autodiff::{self, Var, Vector};
//!
//! fn rosenbrock(z: Vector<'_>) -> Var<'_> {
//!     (0..z.len() - 1).map(|i| 100.0 * (z.at(i + 1) - z.at(i).square()).square() + (1.0 - z.at(i)).square()).sum()
//! }
//! let (value, gradient) = autodiff::gradient(rosenbrock, &[1.0, 1.0, 2.0])?;
//! assert_eq!((value, gradient), (100.0, vec![0.0, -400.0, 200.0]));
//! # Ok::<(), provi::Error>(())
//! ```
//!
//! **What a function may do.** It may branch and loop freely: the tape records the operations that ran. At a kink
//! (`abs`, `max`) the slope is a one-sided slope or the mean of both. If the result does not depend on an operation
//! at all, an infinite slope of that operation does no harm (0·∞ counts as 0).
//!
//! **Mistakes** inside the function, such as vectors of unequal length or an index out of range, do not panic: the
//! values become NaN, and the evaluation returns the first mistake as its error.

mod arena;
mod function;
mod matrix;
mod operand;
mod reverse;
mod target;
#[cfg(test)]
mod tests;
mod var;
mod vector;

use std::cell::RefCell;
use std::fmt;
use std::sync::{Mutex, PoisonError};

pub use matrix::Matrix;
pub use operand::Operand;
pub use var::{Var, logsumexp};
pub use vector::Vector;

use crate::base::error::{Error, Result};
use arena::{Arena, Recorder};

/// The record of one evaluation; its memory is reused by the next.
///
/// Evaluating the same function again on the same tape allocates nothing.
#[derive(Debug, Default)]
pub struct Tape {
    arena: RefCell<Arena>,
}

impl Tape {
    /// An empty tape.
    pub fn new() -> Self {
        Self::default()
    }

    /// The memory that the tape holds, in bytes.
    pub fn bytes(&self) -> usize {
        self.arena.borrow().bytes()
    }

    /// Runs `f` at `z`. Returns the position of the result on the tape (`None` for a constant) and its value.
    fn record<F>(&mut self, f: F, z: &[f64]) -> Result<(Option<usize>, f64)>
    where
        F: for<'t> FnOnce(Vector<'t>) -> Var<'t>,
    {
        self.arena.get_mut().restart(z);
        let output = f(Recorder::new(&self.arena).vector(0, z.len()));
        let (index, value) = (output.index(), output.value());
        self.arena.get_mut().finish()?;
        Ok((index, value))
    }
}

/// Returns f(z) and writes ∇f(z) into `gradient`; the work is done on `tape`.
///
/// Fails on the first mistake inside `f` (the gradient is then NaN), or if the length of `gradient` is not that of
/// z. A value that is not finite is not an error here.
pub fn value_and_gradient<F>(tape: &mut Tape, f: F, z: &[f64], gradient: &mut [f64]) -> Result<f64>
where
    F: for<'t> FnOnce(Vector<'t>) -> Var<'t>,
{
    gradient.fill(f64::NAN);
    check_length("gradient", gradient.len(), z.len())?;
    let (output, value) = tape.record(f, z)?;
    match output {
        Some(output) => tape.arena.get_mut().reverse(output, gradient),
        None => gradient.fill(0.0),
    }
    Ok(value)
}

/// f(z) and ∇f(z), once. For many evaluations use [`Autodiff`], which keeps the memory.
pub fn gradient<F>(f: F, z: &[f64]) -> Result<(f64, Vec<f64>)>
where
    F: for<'t> FnOnce(Vector<'t>) -> Var<'t>,
{
    let mut gradient = vec![0.0; z.len()];
    let value = value_and_gradient(&mut Tape::new(), f, z, &mut gradient)?;
    Ok((value, gradient))
}

/// A function of `dim` variables that differentiates itself.
///
/// Usable from many threads at once; each evaluation borrows a tape from a pool, so that after the first ones
/// nothing is allocated. A closure is best written in place, as the argument of [`Autodiff::new`]: the compiler
/// then knows that it must work for any tape.
pub struct Autodiff<F> {
    dim: usize,
    function: F,
    tapes: Mutex<Vec<Tape>>,
}

impl<F> Autodiff<F>
where
    F: for<'t> Fn(Vector<'t>) -> Var<'t>,
{
    /// Wraps a function of `dim` variables.
    pub fn new(dim: usize, function: F) -> Self {
        Self { dim, function, tapes: Mutex::default() }
    }

    /// The number of variables.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// f(z).
    pub fn value(&self, z: &[f64]) -> Result<f64> {
        check_length("point", z.len(), self.dim)?;
        self.with_tape(|tape| Ok(tape.record(&self.function, z)?.1))
    }

    /// Returns f(z) and writes ∇f(z) into `gradient`; fails as [`value_and_gradient`] does.
    pub fn value_and_gradient(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64> {
        check_length("point", z.len(), self.dim)?;
        self.with_tape(|tape| value_and_gradient(tape, &self.function, z, gradient))
    }

    /// The lock is held only to take a tape and to give it back. A tape lost to a panic in the user's function is
    /// replaced by a new one.
    fn with_tape<T>(&self, work: impl FnOnce(&mut Tape) -> T) -> T {
        let pool = || self.tapes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tape = pool().pop().unwrap_or_default();
        let result = work(&mut tape);
        pool().push(tape);
        result
    }
}

impl<F> fmt::Debug for Autodiff<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Autodiff").field("dim", &self.dim).finish_non_exhaustive()
    }
}

fn check_length(what: &'static str, found: usize, expected: usize) -> Result<()> {
    if found == expected { Ok(()) } else { Err(Error::Shape { what, found, expected }) }
}
