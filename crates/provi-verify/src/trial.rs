//! How an experiment is run: with how much effort, from which seed, and with which fault planted.

/// The circumstances of one experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// Fewer seeds, draws and steps.
    pub quick: bool,
    /// Runs per curve, where the caller wants another number.
    pub seeds: Option<u64>,
    /// What claimed bounds are multiplied with: 1, or less where a wrong constant is planted.
    fault: f64,
}

impl Trial {
    /// A trial of the statements as they are.
    pub fn new(quick: bool, seeds: Option<u64>) -> Self {
        Self { quick, seeds, fault: 1.0 }
    }

    /// The same with claims that are wrong by `fault` < 1, to see that it shows.
    pub(crate) fn with_fault(self, fault: f64) -> Self {
        Self { fault, ..self }
    }

    /// A claim "at most x".
    pub(crate) fn upper(&self, x: f64) -> f64 {
        x * self.fault
    }

    /// A claim "at least x", or an identity.
    pub(crate) fn lower(&self, x: f64) -> f64 {
        x / self.fault
    }

    /// One of two amounts of work.
    pub(crate) fn effort<T>(&self, quick: T, full: T) -> T {
        if self.quick { quick } else { full }
    }

    /// Runs per curve.
    pub(crate) fn runs(&self, quick: u64, full: u64) -> u64 {
        self.seeds.unwrap_or(self.effort(quick, full)).max(2)
    }
}
