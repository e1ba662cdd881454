//! The theorems as functions of numbers: numbers in, numbers out. No vectors, no randomness, no I/O.
//!
//! ```text
//! M, μ, d ──► noise (a, b) ──► recursion, rate ──► steps, step sizes, a promise
//! ```
//! Every bound here is on a mean over runs whose number of steps was fixed before the draws, and also their sizes, except for
//! [`rate::proj_adaptive`], whose steps the draws decide.
//! Constants may be off by the few ulps of their own formulas. [`recursion`] and [`rate`] round upwards by more
//! than that, so a printed bound is an upper bound of the formula in exact arithmetic.

pub mod ball;
pub mod betting;
pub mod bounded;
pub mod cells;
pub mod certificate;
pub mod envelope;
pub mod event;
pub mod lipschitz;
pub mod noise;
pub mod rate;
pub mod recursion;
pub mod santalo;
#[doc(hidden)]
pub mod schedule;
pub mod strip;

pub use noise::NoiseBound;
pub use recursion::{Contraction, Recursion};

use crate::base::error::{Error, Result};

/// x, increased by more than the rounding error of a dozen operations on non-negative numbers. Among such numbers a
/// NaN comes from an overflow times an underflow; the only safe bound is then infinity, which is returned.
pub(crate) fn upward(x: f64) -> f64 {
    if x.is_nan() { f64::INFINITY } else { x * (1.0 + 32.0 * f64::EPSILON) + f64::MIN_POSITIVE }
}

/// An upper bound of (1 − x)^steps for 0 ≤ x ≤ 1.
pub(crate) fn decay(x: f64, steps: u64) -> f64 {
    let exponent = steps as f64 * (-x).ln_1p();
    if exponent.is_nan() {
        return 1.0; // no step, and x = 1
    }
    // If the exponent has a relative error of a few ulps, the power has a relative error of |exponent| times as
    // many.
    exponent.exp() * (1.0 + (8.0 + 4.0 * exponent.abs().min(800.0)) * f64::EPSILON) + f64::MIN_POSITIVE
}

/// The largest number of steps a plan may name: every integer up to here is an `f64`.
pub(crate) const MOST_STEPS: f64 = 9_007_199_254_740_992.0;

/// The least number of steps ≥ `guess` whose `bound` is at most `accuracy`; `guess` is right up to rounding.
pub(crate) fn settle_steps(guess: f64, accuracy: f64, bound: impl Fn(u64) -> Result<f64>) -> Result<u64> {
    if guess.is_nan() || guess > MOST_STEPS {
        return Err(Error::OutOfReach { accuracy, steps: guess, limit: MOST_STEPS });
    }
    let first = guess.ceil().max(1.0) as u64;
    if bound(first)? <= accuracy {
        return Ok(first);
    }
    // Rounding upwards has a smallest result, so an accuracy near the smallest doubles may never be reached: double
    // the stride until the bound holds, then bisect.
    let (mut low, mut stride) = (first, 1u64);
    while bound(low + stride)? > accuracy {
        (low, stride) = (low + stride, 2 * stride);
        if low as f64 > MOST_STEPS {
            return Err(Error::OutOfReach { accuracy, steps: f64::INFINITY, limit: MOST_STEPS });
        }
    }
    let mut high = low + stride;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if bound(middle)? > accuracy { low = middle } else { high = middle }
    }
    Ok(high)
}
