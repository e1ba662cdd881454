//! Comparison of two models of the same data by bounds of their log evidence.

use crate::base::printed;
use crate::certify::certificate::Interval;
use crate::target::curvature::Provenance;
use std::fmt;

/// Bounds of log p(x|first) − log p(x|second), the log Bayes factor [evidence-difference]:
/// ```text
/// lower_first − upper_second ≤ log BF ≤ upper_first − lower_second
/// ```
/// Each interval holds with its own probability 1 − δ, so both hold, and these bounds too, with at least 1 −
/// δ_first − δ_second (union bound). Valid only for the same data and the same response; this function cannot check
/// that.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct LogBayesFactor {
    /// Lower bound of log BF, in nats.
    pub lower: Option<f64>,
    /// Upper bound of log BF, in nats.
    pub upper: Option<f64>,
    /// The probability over the draws of both audits with which the bounds hold.
    pub confidence: f64,
    /// The weakest origin of the constants.
    pub provenance: Option<Provenance>,
}

/// What the bounds decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Verdict {
    /// log BF > 0 is proved, up to the confidence.
    First(Strength),
    /// log BF < 0 is proved, up to the confidence.
    Second(Strength),
    /// The interval contains 0.
    Open,
}

/// The strength that is proved at least, in the words of Kass and Raftery (*Bayes factors*, JASA 90(430), 1995),
/// who cut log BF at 1, 3 and 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Strength {
    /// Less than 1 nat.
    Slight,
    /// 1 to 3 nats.
    Positive,
    /// 3 to 5 nats.
    Strong,
    /// 5 nats or more.
    VeryStrong,
}

impl Strength {
    /// The strength of a proved difference in nats.
    pub fn new(nats: f64) -> Self {
        match nats {
            x if x >= 5.0 => Self::VeryStrong,
            x if x >= 3.0 => Self::Strong,
            x if x >= 1.0 => Self::Positive,
            _ => Self::Slight,
        }
    }
}

impl fmt::Display for Strength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Slight => "slight",
            Self::Positive => "positive",
            Self::Strong => "strong",
            Self::VeryStrong => "very strong",
        })
    }
}

/// "between 3.2 and 20.5 nats": the lower side rounded down, the upper side rounded up.
impl fmt::Display for LogBayesFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lower, upper) =
            (self.lower.map(|x| printed::lowered_at(x, 4)), self.upper.map(|x| printed::raised_at(x, 4)));
        match (lower, upper) {
            (Some(lower), Some(upper)) => write!(f, "between {lower} and {upper} nats"),
            (Some(lower), None) => write!(f, "at least {lower} nats"),
            (None, Some(upper)) => write!(f, "at most {upper} nats"),
            (None, None) => f.write_str("not bounded"),
        }
    }
}

impl LogBayesFactor {
    /// From the evidence intervals of both models.
    pub fn new(first: &Interval, second: &Interval) -> Self {
        let minus = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a - b);
        // A subtraction of nearby numbers is exact; any other has an error below this.
        let ulp = |x: f64| 2.0 * f64::EPSILON * x.abs();
        let weakest = first.provenance().zip(second.provenance()).map(|(a, b)| a.weakest(b));
        Self {
            lower: minus(first.lower(), second.upper()).map(|x| x - ulp(x)),
            upper: minus(first.upper(), second.lower()).map(|x| x + ulp(x)),
            confidence: [first, second]
                .iter()
                .fold(1.0f64, |all, i| all - (1.0 - i.confidence().unwrap_or(1.0)))
                .max(0.0),
            provenance: weakest,
        }
    }

    /// Which of the two models the data are proved to favour.
    pub fn verdict(&self) -> Verdict {
        match (self.lower, self.upper) {
            (Some(lower), _) if lower > 0.0 => Verdict::First(Strength::new(lower)),
            (_, Some(upper)) if upper < 0.0 => Verdict::Second(Strength::new(-upper)),
            _ => Verdict::Open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certify::certificate::Statement;

    fn interval(lower: Option<f64>, upper: Option<f64>) -> Interval {
        let side = |bound: Option<f64>| match bound {
            Some(bound) => Statement::proved(bound, 1.0 - 1e-6, "cert-evidence", Provenance::Proved),
            None => Statement::missing("none"),
        };
        Interval::new(side(lower), side(upper))
    }

    #[test]
    fn intervals_apart_decide_and_by_how_much_at_least() {
        let best = interval(Some(-100.0), Some(-99.5));
        let factor = |lower, upper| LogBayesFactor::new(&best, &interval(lower, upper));
        let far = factor(Some(-120.0), Some(-103.6));
        assert!((far.lower.unwrap() - 3.6).abs() < 1e-12 && (far.upper.unwrap() - 20.5).abs() < 1e-12);
        assert_eq!(far.verdict(), Verdict::First(Strength::Strong));
        assert!((1.0 - far.confidence - 2e-6).abs() < 1e-12, "union bound");
        assert_eq!(factor(Some(-99.6), Some(-98.0)).verdict(), Verdict::Open);
        assert_eq!(factor(Some(-99.0), Some(-98.0)).verdict(), Verdict::Second(Strength::Slight));
    }

    #[test]
    fn one_side_of_each_is_enough() {
        let first = interval(Some(-10.0), None);
        let second = interval(None, Some(-17.0));
        let factor = LogBayesFactor::new(&first, &second);
        assert!(factor.upper.is_none());
        assert_eq!(factor.verdict(), Verdict::First(Strength::VeryStrong));
        assert_eq!(LogBayesFactor::new(&second, &first).verdict(), Verdict::Second(Strength::VeryStrong));
        let nothing = interval(None, None);
        assert_eq!(LogBayesFactor::new(&nothing, &first).verdict(), Verdict::Open);
    }
}
