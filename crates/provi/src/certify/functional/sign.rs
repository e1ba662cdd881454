//! The probability of a sign, with its error.

use crate::base::printed;
use crate::base::special::normal_cdf;
use crate::certify::certificate::{Certificate, Statement};
use crate::target::curvature::Provenance;
use crate::theory::event::event_interval;

/// P(vᵀz > 0) under q, and bounds of the posterior's probability.
///
/// The KL bound gives an interval by the data processing inequality [cert-event], the TV bound gives value ± TV.
/// Both hold together, so the tighter end of each side is used; so does a measured interval [measured-events], where there is one.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct SignProbability {
    /// The probability under q.
    pub value: f64,
    /// Lower bound of the posterior's probability; 0 if nothing is proved.
    pub lower: f64,
    /// Upper bound of the posterior's probability; 1 if nothing is proved.
    pub upper: f64,
    /// Bound of the difference: the distance to the farther of the two ends.
    pub error: Statement,
}

/// "0.98211, between 0.9791 and 0.9852   proved, confidence 1 − 1e-6 [cert-event]".
impl std::fmt::Display for SignProbability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (lower, upper) = (printed::lowered_at(self.lower, 5), printed::raised_at(self.upper, 5));
        match &self.error {
            Statement::Proved(bound) => {
                write!(f, "{:.5}, between {lower} and {upper}   {}", self.value, bound.grounds())
            }
            Statement::NotProved { reason } => write!(f, "{:.5}, error not proved: {reason}", self.value),
        }
    }
}

impl SignProbability {
    /// From `standardised` = mean/sd.
    pub(super) fn new(standardised: f64, c: &Certificate) -> Self {
        Self::from_sides([normal_cdf(standardised), normal_cdf(-standardised)], c)
    }

    /// From the probabilities of both signs under q.
    pub(super) fn from_sides([inside, outside]: [f64; 2], c: &Certificate) -> Self {
        let [mut lower, mut upper] = [0.0, 1.0];
        let mut error = c.tv.clone();
        if let Statement::Proved(tv) = &c.tv {
            let tv = tv.value();
            (lower, upper) = ((inside - tv - 1e-15).max(0.0), (inside + tv + 1e-15).min(1.0));
        }
        if let Statement::Proved(kl) = &c.kl {
            let [low, high] = event_interval(inside, outside, kl.value());
            let narrower = low > lower || high < upper;
            (lower, upper) = (lower.max(low), upper.min(high));
            if narrower {
                let confidence = kl.confidence().min(error.confidence().unwrap_or(1.0));
                let provenance = kl.provenance();
                let weakest = error.provenance().map_or(provenance, |other| provenance.weakest(other));
                error = Statement::proved(0.0, confidence, "cert-event", weakest);
            }
        }
        let error = error.with_bound((upper - inside).max(inside - lower));
        Self { value: inside, lower, upper, error }
    }

    /// With a measured interval of the posterior's probability, where that is narrower on either side [measured-events]. Both hold together.
    pub(super) fn narrowed(mut self, [low, high]: [f64; 2], confidence: f64, provenance: Provenance) -> Self {
        let (lower, upper) = (self.lower.max(low), self.upper.min(high));
        // Two statements that hold together meet.
        if (lower > self.lower || upper < self.upper) && lower <= upper {
            let confidence = confidence.min(self.error.confidence().unwrap_or(1.0));
            let weakest = self.error.provenance().map_or(provenance, |other| provenance.weakest(other));
            let off = (upper - self.value).max(self.value - lower).max(0.0);
            (self.lower, self.upper) = (lower, upper);
            self.error = Statement::proved(off + f64::EPSILON, confidence, "measured-events", weakest);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(kl: Option<f64>, tv: Option<f64>) -> Certificate {
        let mut c = Certificate::nothing(&[], "too flat");
        let proved = |bound| Statement::proved(bound, 0.99, "local-kl", Provenance::Proved);
        c.0.kl = kl.map_or(c.0.kl, proved);
        c.0.tv = tv.map_or(c.0.tv, proved);
        c
    }

    #[test]
    fn the_narrower_of_both_bounds_counts() {
        let kl = SignProbability::new(3.0, &certificate(Some(0.02), Some(0.1)));
        assert!(kl.lower > 0.97 && kl.upper <= 1.0, "{kl:?}");
        assert_eq!(kl.error.key(), Some("cert-event"));
        assert!((kl.error.bound().unwrap() - (kl.value - kl.lower)).abs() < 1e-15);
        let tv = SignProbability::new(0.0, &certificate(None, Some(0.1)));
        assert!((tv.lower - 0.4).abs() < 1e-14 && (tv.upper - 0.6).abs() < 1e-14);
        let sharp = SignProbability::new(0.0, &certificate(Some(2.0), Some(0.1)));
        assert!((sharp.lower - tv.lower).abs() < 1e-15 && sharp.error.key() == Some("local-kl"));
    }

    #[test]
    fn a_measured_interval_narrows_either_side() {
        let plain = SignProbability::new(0.0, &certificate(None, Some(0.1)));
        let found = plain.clone().narrowed([0.45, 0.47], 0.9, Provenance::Proved);
        assert!((found.lower - 0.45).abs() < 1e-15 && (found.upper - 0.47).abs() < 1e-15);
        // From q's ½ to the farther end.
        assert!((found.error.bound().unwrap() - 0.05).abs() < 1e-12);
        assert_eq!(found.error.key(), Some("measured-events"));
        assert!(found.error.confidence().is_some_and(|c| (c - 0.9).abs() < 1e-15));
        assert_eq!(plain.clone().narrowed([0.2, 0.9], 0.9, Provenance::Proved), plain);
    }

    #[test]
    fn without_a_bound_any_probability_is_possible() {
        let none = SignProbability::new(1.0, &certificate(None, None));
        assert!(none.lower <= 0.0 && none.upper >= 1.0 && none.error.bound().is_none());
        assert_eq!(none.error.reason(), Some("too flat"));
    }
}
