//! The state of a solver between two iterations, written to and read from plain numbers.

use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::secant::Secants;

/// A solver between two iterations: everything that the next ones depend on.
#[derive(Debug)]
pub struct State<'a> {
    /// q in the coordinates of the iterations: the standard ones, if the target has them.
    pub gaussian: &'a Gaussian<Triangular>,
    pub(super) best: Option<&'a Gaussian<Triangular>>,
    pub(super) idle: usize,
    pub(super) secants: &'a Secants,
}

impl State<'_> {
    /// The solver's memory, for `Solver::take_up`: the looks without progress, the best q so far, and the secants.
    /// Up to 42 times as many numbers as q has.
    pub(crate) fn memory(&self) -> Vec<f64> {
        let best = self.best.map_or(&[][..], Gaussian::parameters);
        let mut out = vec![self.idle as f64, best.len() as f64];
        out.extend_from_slice(best);
        self.secants.write_to(&mut out);
        out
    }
}

/// A solver's memory, split into its parts.
pub(super) struct Remembered<'a> {
    pub(super) looks: usize,
    /// The parameters of the best q so far; empty if there is none.
    pub(super) best: &'a [f64],
    pub(super) pairs: &'a [f64],
}

/// Splits what [`State::memory`] wrote; `None` for an empty memory.
pub(super) fn remembered(memory: &[f64]) -> Option<Remembered<'_>> {
    let [looks, length, rest @ ..] = memory else { return None };
    let (best, pairs) = rest.split_at_checked(*length as usize).unwrap_or_default();
    Some(Remembered { looks: *looks as usize, best, pairs })
}
