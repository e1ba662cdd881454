//! How an experiment is run: how much effort, which seed, and which planted fault.

/// The settings of one experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// Fewer seeds, draws and steps.
    pub quick: bool,
    /// Runs per curve, if the caller wants another number.
    pub seeds: Option<u64>,
    /// The factor of claimed bounds: 1, or less if a wrong constant is planted.
    fault: f64,
}

impl Trial {
    /// A trial of the unchanged statements.
    pub fn new(quick: bool, seeds: Option<u64>) -> Self {
        Self { quick, seeds, fault: 1.0 }
    }

    /// The same with claims that are wrong by `fault` < 1, to check that the experiment detects it.
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
