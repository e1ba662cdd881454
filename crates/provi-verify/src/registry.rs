//! The statements that are tested, and the results of their experiments.

mod table;

pub use table::ENTRIES;

use crate::outcome::{Outcome, Verdict};
use crate::trial::Trial;
use provi::Result;
use std::time::{Duration, Instant};

/// A chapter of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chapter {
    /// What is known about ∇²V, and what follows.
    Structure,
    /// The noise of the estimators.
    Noise,
    /// The prox and the projections.
    Steps,
    /// The speed of convergence.
    Rates,
    /// What is proved about an answer.
    Certificates,
    /// Gaussian expectations without draws.
    Expectations,
    /// Studies around the theory.
    Studies,
    /// Errors in the paper's printed text.
    Errata,
}

impl Chapter {
    /// Every chapter, in order.
    pub const ALL: [Self; 8] = [
        Self::Structure,
        Self::Noise,
        Self::Steps,
        Self::Rates,
        Self::Certificates,
        Self::Expectations,
        Self::Studies,
        Self::Errata,
    ];

    /// Its heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Structure => "Structure",
            Self::Noise => "Noise",
            Self::Steps => "Steps",
            Self::Rates => "Rates",
            Self::Certificates => "Certificates",
            Self::Expectations => "Exact expectations",
            Self::Studies => "Studies",
            Self::Errata => "Errata",
        }
    }
}

/// A statement that is tested.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The key of the ledger, or the name of a study.
    pub key: &'static str,
    /// Its chapter.
    pub chapter: Chapter,
    /// The null hypothesis: what a violation would refute.
    pub null: &'static str,
    /// By what its claims are multiplied when a fault is planted; the experiment must detect an error of this size.
    pub fault: f64,
    experiment: fn(&Trial) -> Result<Outcome>,
}

/// A statement with the result of its experiment.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The statement.
    pub entry: Entry,
    /// The numbers.
    pub outcome: Outcome,
    /// Time that it took.
    pub time: Duration,
}

impl Finding {
    /// What the numbers say.
    pub fn verdict(&self) -> Verdict {
        self.outcome.verdict()
    }
}

impl Entry {
    /// Runs the experiment, with wrong constants if `planted`.
    pub fn run(&self, trial: Trial, planted: bool) -> Result<Finding> {
        let begin = Instant::now();
        let trial = if planted { trial.with_fault(self.fault) } else { trial };
        let outcome = (self.experiment)(&trial)?;
        Ok(Finding { entry: *self, outcome, time: begin.elapsed() })
    }
}

/// The statement with this key.
pub fn find(key: &str) -> Option<Entry> {
    ENTRIES.iter().find(|e| e.key == key).copied()
}
