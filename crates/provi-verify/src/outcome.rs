//! The result of an experiment: checks, a verdict, pictures.

use crate::figure::Figure;
use crate::statistics::{Mean, least_failure_probability};

/// A check is called tight if measured/bound is at least this.
pub const TIGHT: f64 = 0.5;

/// The relative rounding error that a deterministic comparison allows.
const ROUNDING: f64 = 1e-9;

/// What the numbers say about a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// No check is violated.
    Holds,
    /// No check is violated, and at least one reaches half of its bound: the constant cannot be halved.
    Tight,
    /// A one-sided confidence limit lies on the wrong side of its bound.
    Violated,
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Holds => "holds",
            Self::Tight => "tight",
            Self::Violated => "VIOLATED",
        })
    }
}

/// The relation that a check is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Relation {
    /// measured ≤ bound.
    AtMost,
    /// measured ≥ bound.
    AtLeast,
    /// measured = bound, up to a relative tolerance.
    Equal(f64),
    /// measured > bound: the bound is known to be wrong, and the check shows it.
    Refutes,
}

/// One comparison of a measured number with a claimed one.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The problem, method and position.
    pub name: String,
    /// What was measured.
    pub measured: f64,
    /// The confidence limit on the side that favours the bound; the measured number itself if nothing is random.
    pub limit: f64,
    /// What was claimed.
    pub bound: f64,
    /// How they should compare.
    pub relation: Relation,
}

impl Check {
    /// measured ≤ bound, without randomness.
    pub fn at_most(name: impl Into<String>, measured: f64, bound: f64) -> Self {
        Self { name: name.into(), measured, limit: measured, bound, relation: Relation::AtMost }
    }

    /// measured ≥ bound, without randomness.
    pub fn at_least(name: impl Into<String>, measured: f64, bound: f64) -> Self {
        Self { name: name.into(), measured, limit: measured, bound, relation: Relation::AtLeast }
    }

    /// A mean that must be at most a bound: violated if its lower confidence limit is above the bound.
    pub fn mean_at_most(name: impl Into<String>, mean: Mean, bound: f64) -> Self {
        Self {
            name: name.into(),
            measured: mean.value,
            limit: mean.lower(),
            bound,
            relation: Relation::AtMost,
        }
    }

    /// measured = bound up to a relative tolerance.
    pub fn equal(name: impl Into<String>, measured: f64, bound: f64, tolerance: f64) -> Self {
        Self { name: name.into(), measured, limit: measured, bound, relation: Relation::Equal(tolerance) }
    }

    /// A wrong bound, to be refuted by a number above it.
    pub fn refutes(name: impl Into<String>, measured: f64, wrong: f64) -> Self {
        Self { name: name.into(), measured, limit: measured, bound: wrong, relation: Relation::Refutes }
    }

    /// `failures` among n, where the failure probability should be at most δ: violated if it is certainly above δ.
    pub fn coverage(name: impl Into<String>, failures: u64, n: u64, delta: f64) -> Self {
        Self {
            name: name.into(),
            measured: failures as f64 / n as f64,
            limit: least_failure_probability(failures, n),
            bound: delta,
            relation: Relation::AtMost,
        }
    }

    /// The share of the bound that is reached, 1 if it is attained; only for positive numbers and claims that
    /// should hold.
    pub fn ratio(&self) -> Option<f64> {
        let (part, whole) = match self.relation {
            Relation::AtMost | Relation::Equal(_) => (self.measured, self.bound),
            Relation::AtLeast => (self.bound, self.measured),
            Relation::Refutes => return None,
        };
        (part > 0.0 && whole > 0.0 && whole.is_finite()).then(|| part / whole)
    }

    /// Whether the numbers contradict the claim. NaN contradicts it.
    pub fn is_violated(&self) -> bool {
        let slack = ROUNDING * self.bound.abs();
        let kept = match self.relation {
            Relation::AtMost => self.limit <= self.bound + slack,
            Relation::AtLeast => self.limit >= self.bound - slack,
            Relation::Equal(tolerance) => (self.limit - self.bound).abs() <= tolerance * self.bound.abs(),
            Relation::Refutes => self.limit > self.bound + slack,
        };
        !kept
    }

    fn is_tight(&self) -> bool {
        match self.relation {
            Relation::Equal(_) => true,
            _ => self.ratio().is_some_and(|ratio| ratio >= TIGHT),
        }
    }
}

/// The result of an experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The comparisons.
    pub checks: Vec<Check>,
    /// The pictures.
    pub figures: Vec<Figure>,
    /// Remarks that the numbers do not show.
    pub notes: Vec<String>,
}

impl Outcome {
    /// The verdict over all checks. An outcome without checks counts as a violation.
    pub fn verdict(&self) -> Verdict {
        if self.checks.is_empty() || self.checks.iter().any(Check::is_violated) {
            Verdict::Violated
        } else if self.checks.iter().any(Check::is_tight) {
            Verdict::Tight
        } else {
            Verdict::Holds
        }
    }

    /// The most informative check: a violated one, else the one that reaches most of its bound.
    pub fn telling(&self) -> Option<&Check> {
        let weight = |c: &&Check| (c.is_violated(), c.ratio().unwrap_or(0.0));
        self.checks.iter().max_by(|a, b| {
            let (a, b) = (weight(a), weight(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        })
    }

    /// Adds a check.
    pub(crate) fn check(&mut self, check: Check) {
        self.checks.push(check);
    }

    /// Adds everything of another outcome.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.checks.extend(other.checks);
        self.figures.extend(other.figures);
        self.notes.extend(other.notes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(check: Check) -> Verdict {
        Outcome { checks: vec![check], ..Outcome::default() }.verdict()
    }

    #[test]
    fn a_bound_is_violated_only_beyond_the_confidence_limit() {
        let mean = |value, error| Check::mean_at_most("", Mean { value, error }, 1.0);
        assert_eq!(verdict(mean(1.5, 0.1)), Verdict::Tight);
        assert_eq!(verdict(mean(1.7, 0.1)), Verdict::Violated);
        assert_eq!(verdict(mean(0.4, 0.1)), Verdict::Holds);
        assert_eq!(verdict(mean(f64::NAN, 0.1)), Verdict::Violated);
    }

    #[test]
    fn relations_point_the_right_way() {
        assert_eq!(verdict(Check::at_most("", 1.1, 1.0)), Verdict::Violated);
        assert_eq!(verdict(Check::at_least("", 1.1, 1.0)), Verdict::Tight);
        assert_eq!(verdict(Check::at_least("", 9.0, 1.0)), Verdict::Holds);
        assert_eq!(verdict(Check::at_least("", 0.9, 1.0)), Verdict::Violated);
        assert_eq!(verdict(Check::equal("", 1.0, 1.0 + 1e-6, 1e-9)), Verdict::Violated);
        assert_eq!(verdict(Check::refutes("", 1.0, 2.0)), Verdict::Violated);
        assert_eq!(verdict(Check::refutes("", 3.0, 2.0)), Verdict::Holds);
        assert_eq!(verdict(Check::at_least("", -1e-17, -1e-12)), Verdict::Holds);
        assert_eq!(verdict(Check::coverage("", 20, 100, 0.1)), Verdict::Tight);
        assert_eq!(verdict(Check::coverage("", 60, 100, 0.1)), Verdict::Violated);
    }

    #[test]
    fn an_experiment_without_a_check_has_not_been_done() {
        assert_eq!(Outcome::default().verdict(), Verdict::Violated);
    }
}
