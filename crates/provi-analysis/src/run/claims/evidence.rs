//! The log evidence: both sides are about one number.

use provi::certificate::Interval;

use super::{ABSOLUTE, Claim, Comparison, SAMPLED, Verdict, is_better_founded, is_certain, is_surer};
use crate::number::outward_pair;

impl Comparison<'_> {
    /// The stored interval may not be narrower than fresh draws find, up to the tolerance, and must overlap theirs. A side
    /// that an exact ELBO gives has only the tolerance of rounding. No side may exclude the estimate.
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
        let sides = |interval: &Interval| [interval.lower(), interval.upper()];
        // A lower side above the ELBO was measured from draws, as the upper side is.
        let exact = self.record.neg_elbo_exact && is_certain(new.sides()[0]);
        let mut verdicts = compared(sides(old), sides(new), exact, rounding).map(|verdict| match verdict {
            Verdict::NotClaimed => verdict,
            Verdict::Incomparable => ground.max(self.missed()),
            _ => verdict.max(ground),
        });
        if let Some((estimate, error)) = self.estimated_evidence() {
            if old.lower().is_some_and(|low| low > estimate + error + rounding) {
                verdicts[0] = Verdict::Contradicted;
            }
            if old.upper().is_some_and(|high| high < estimate - error - rounding) {
                verdicts[1] = Verdict::Contradicted;
            }
        }
        let [old, new] = [old, new].map(|i| outward_pair(i.lower(), i.upper(), 6));
        let row = |what: &str, side: usize| Claim {
            what: what.to_owned(),
            stored: old[side].clone(),
            now: new[side].clone(),
            verdict: verdicts[side],
        };
        [row("log evidence ≥", 0), row("log evidence ≤", 1)]
    }
}

/// The verdict on each side of a stored interval; `Incomparable` if fresh draws do not confirm it.
///
/// Chance moves both sides of a measured interval together, in the stored audit and in the new one. So its place may differ,
/// and its width says how much it claims. The stored interval is confirmed if the new one is at most [`SAMPLED`] times as wide,
/// and at most half of the new one lies outside it: half a width is 5.3 deviations of its place at δ = 1e-6, and the difference of
/// two audits has √2 of them. Otherwise it fails on each side that claims more than the new side does.
fn compared(old: [Option<f64>; 2], new: [Option<f64>; 2], exact_lower: bool, rounding: f64) -> [Verdict; 2] {
    let judge = |side: usize, confirmed: bool| match (old[side], new[side]) {
        (None, _) => Verdict::NotClaimed,
        (Some(_), Some(_)) if confirmed => Verdict::Agrees,
        (Some(_), Some(_)) => Verdict::Incomparable,
        (Some(_), None) => Verdict::NotReproduced,
    };
    let beyond = |side: usize| match (old[side], new[side]) {
        (Some(old), Some(new)) if side == 0 => old - new,
        (Some(old), Some(new)) => new - old,
        _ => 0.0,
    };
    let mut verdicts = [0, 1].map(|side| judge(side, beyond(side) <= rounding));
    if let ([Some(low), Some(high)], [Some(new_low), Some(new_high)]) = (old, new) {
        let apart = low > new_high + rounding || high < new_low - rounding;
        // A NaN is in no order.
        let is_ordered = low <= high;
        if !is_ordered || apart {
            return [Verdict::NotReproduced; 2];
        }
        let width = new_high - new_low;
        let outside = (low - new_low).max(0.0) + (new_high - high).max(0.0);
        if width <= SAMPLED * (high - low) + rounding && outside <= 0.5 * width + rounding {
            verdicts = [Verdict::Agrees; 2];
        }
    }
    if exact_lower && old[0].is_some() {
        let same = new[0].is_some() && beyond(0) <= rounding;
        verdicts[0] = if same { Verdict::Reproduced } else { Verdict::NotReproduced };
    }
    verdicts
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUNDING: f64 = 1e-9;

    fn verdicts(old: [f64; 2], new: [f64; 2], exact: bool) -> [Verdict; 2] {
        compared(old.map(Some), new.map(Some), exact, ROUNDING)
    }

    #[test]
    fn intervals_of_other_draws_may_lie_elsewhere_and_be_half_as_wide_again() {
        use Verdict::{Agrees, Incomparable, NotReproduced};
        let new = [-1.0, 1.0];
        for (old, expected) in [
            ([-1.0, 1.0], [Agrees; 2]),
            // Moved by two fifths of the width, as an unlucky audit is.
            ([-1.8, 0.2], [Agrees; 2]),
            ([-0.2, 1.8], [Agrees; 2]),
            // As narrow as the tolerance allows, and narrower.
            ([-0.67, 0.67], [Agrees; 2]),
            ([-0.66, 0.66], [Incomparable; 2]),
            ([-1.0, -0.8], [Agrees, Incomparable]),
            ([0.8, 1.0], [Incomparable, Agrees]),
            // Both cannot hold.
            ([1.1, 9.0], [NotReproduced; 2]),
            ([-9.0, -1.1], [NotReproduced; 2]),
            // One side loosened, so that the other may claim too much.
            ([0.9, 4.0], [Incomparable, Agrees]),
            ([-4.0, -0.9], [Agrees, Incomparable]),
            ([0.5, -0.5], [NotReproduced; 2]),
            ([f64::NAN, 1.0], [NotReproduced; 2]),
            // Wider is less.
            ([-3.0, 3.0], [Agrees; 2]),
        ] {
            assert_eq!(verdicts(old, new, false), expected, "{old:?}");
        }
    }

    #[test]
    fn an_exact_lower_side_is_found_again() {
        use Verdict::{Agrees, Incomparable, NotReproduced, Reproduced};
        assert_eq!(verdicts([0.0, 1.0], [0.0, 1.4], true), [Reproduced, Agrees]);
        assert_eq!(verdicts([0.0, 1.0], [0.0, 1.6], true), [Reproduced, Incomparable]);
        assert_eq!(verdicts([0.001, 1.0], [0.0, 1.0], true), [NotReproduced, Agrees]);
    }

    #[test]
    fn a_missing_side_confirms_nothing() {
        use Verdict::{Agrees, NotClaimed, NotReproduced};
        let side = |old, new| compared(old, new, false, ROUNDING);
        assert_eq!(side([Some(0.0), None], [Some(0.0), Some(1.0)]), [Agrees, NotClaimed]);
        assert_eq!(side([Some(0.0), Some(1.0)], [Some(0.0), None]), [Agrees, NotReproduced]);
        assert_eq!(side([None, None], [Some(0.0), Some(1.0)]), [NotClaimed; 2]);
    }
}
