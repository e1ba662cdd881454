//! Statements on trial, and what their experiments found.

mod table;

pub use table::ENTRIES;

use crate::outcome::{Outcome, Verdict};
use crate::trial::Trial;
use provi::Result;
use std::time::{Duration, Instant};

/// A chapter of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chapter {
    /// What is known of ∇²V, and what follows.
    Structure,
    /// How noisy the estimators are.
    Noise,
    /// The prox and the projections.
    Steps,
    /// How fast the methods converge.
    Rates,
    /// What is proved about an answer.
    Certificates,
    /// Gaussian expectations without draws.
    Expectations,
    /// Questions around the theory.
    Studies,
    /// Where the printed text will not do.
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

/// A statement on trial.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The key of the ledger, or the name of a study.
    pub key: &'static str,
    /// Where it belongs.
    pub chapter: Chapter,
    /// The null hypothesis: what a violation would refute.
    pub null: &'static str,
    /// What its claims are multiplied with when a fault is planted; an experiment must see an error of this size.
    pub fault: f64,
    experiment: fn(&Trial) -> Result<Outcome>,
}

/// A statement with what its experiment found.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The statement.
    pub entry: Entry,
    /// The numbers.
    pub outcome: Outcome,
    /// How long it took.
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
