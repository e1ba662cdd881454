//! The log evidence, each side by itself.

use provi::certificate::Interval;

use super::{ABSOLUTE, Claim, Comparison, SAMPLED, Verdict, is_better_founded, is_surer};
use crate::number::outward_pair;

impl Comparison<'_> {
    /// Each side must be as far from the other as fresh draws find, up to the tolerance. A side that an exact ELBO
    /// gives has only the tolerance of rounding. No side may exclude the estimate.
    pub(super) fn evidence(&self, old: &Interval) -> [Claim; 2] {
        let new = &self.now.certificate.evidence;
        let ground = match (old.lower().or(old.upper()), is_surer(old.confidence(), new.confidence())) {
            (None, _) => Verdict::NotClaimed,
            (Some(_), true) => self.missed(),
            (Some(_), false) if is_better_founded(old.provenance(), new.provenance()) => {
                Verdict::NotReproduced
            }
            (Some(_), false) => Verdict::Agrees,
        };
        let size = new.lower().map_or(0.0, f64::abs) + new.upper().map_or(0.0, f64::abs);
        let rounding = ABSOLUTE + 1e-11 * size;
        // How much smaller the stored width may be: not at all on the side of an exact ELBO.
        let width =
            new.lower().zip(new.upper()).map_or(0.0, |(low, high)| (high - low) * (1.0 - 1.0 / SAMPLED));
        // A lower side above the ELBO was measured from draws, as the upper side is.
        let measured =
            matches!(new.sides()[0].key(), Some("sharp-evidence" | "psi-evidence" | "group-evidence"));
        let exact = self.record.neg_elbo_exact && !measured;
        let room = [if exact { rounding } else { width + rounding }, width + rounding];
        let crossed = old
            .lower()
            .zip(old.upper())
            .is_some_and(|(low, high)| low.is_nan() || high.is_nan() || low > high);
        let judge = |stored: Option<f64>, now: Option<f64>, beyond: f64, room: f64, certain: bool| match (
            stored, now,
        ) {
            (None, _) => Verdict::NotClaimed,
            (Some(_), None) => Verdict::NotReproduced,
            _ if crossed => Verdict::NotReproduced,
            (Some(_), Some(_)) if beyond <= room => {
                ground.max(if certain { Verdict::Reproduced } else { Verdict::Agrees })
            }
            (Some(_), Some(_)) if certain => Verdict::NotReproduced,
            (Some(_), Some(_)) => ground.max(self.missed()),
        };
        let distance = |a: Option<f64>, b: Option<f64>| a.zip(b).map_or(0.0, |(a, b)| a - b);
        let mut lower = judge(old.lower(), new.lower(), distance(old.lower(), new.lower()), room[0], exact);
        let mut upper = judge(old.upper(), new.upper(), distance(new.upper(), old.upper()), room[1], false);
        if let Some((estimate, error)) = self.estimated_evidence() {
            if old.lower().is_some_and(|low| low > estimate + error + rounding) {
                lower = Verdict::Contradicted;
            }
            if old.upper().is_some_and(|high| high < estimate - error - rounding) {
                upper = Verdict::Contradicted;
            }
        }
        let [old, new] = [old, new].map(|i| outward_pair(i.lower(), i.upper(), 6));
        let row = |what: &str, side: usize, verdict| Claim {
            what: what.to_owned(),
            stored: old[side].clone(),
            now: new[side].clone(),
            verdict,
        };
        [row("log evidence ≥", 0, lower), row("log evidence ≤", 1, upper)]
    }
}
