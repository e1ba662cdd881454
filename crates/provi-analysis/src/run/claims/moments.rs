//! Error bounds of means and standard deviations: of every coefficient, and of any contrast.

use provi::Provenance;
use provi::certificate::{Certificate, Statement};
use provi::functional::MomentBounds;

use super::{Claim, Comparison, DEVIATIONS, SAMPLED, Verdict, is_better_founded, is_surer, shown};

/// Most coefficients that are listed by name if they fail.
const MOST_ROWS: usize = 5;

impl Comparison<'_> {
    /// Both errors of every coefficient. Those that are confirmed share one row, with the worst of them.
    pub(super) fn moments(&self, stored: &Certificate) -> Vec<Claim> {
        let (old, new) = (&stored.moments, &self.now.certificate.moments);
        let same = old.len() == new.len() && old.iter().zip(new).all(|(old, new)| old.name == new.name);
        if !same {
            let count = |n: usize| format!("{n} coefficients");
            let (what, verdict) = ("moments".to_owned(), Verdict::NotReproduced);
            return vec![Claim { what, stored: count(old.len()), now: count(new.len()), verdict }];
        }
        let sds = self.q.standard_deviations();
        let mut rows: Vec<(f64, Claim)> = Vec::with_capacity(2 * old.len());
        for ((old, new), sd) in old.iter().zip(new).zip(&sds) {
            let pairs = [("mean", &old.mean_error, &new.mean_error), ("sd", &old.sd_error, &new.sd_error)];
            for (what, old_error, new_error) in pairs {
                let claim = Claim {
                    what: format!("{what} ± of {}", old.name),
                    stored: shown(old_error.bound()),
                    now: shown(new_error.bound()),
                    verdict: self.judge(old_error, new_error, DEVIATIONS * sd),
                };
                rows.push((growth(old_error, new_error), claim));
            }
        }
        rows.sort_by(|a, b| b.1.verdict.cmp(&a.1.verdict).then(b.0.total_cmp(&a.0)));
        let failed = rows.iter().filter(|(_, claim)| !claim.verdict.stands()).count();
        rows.truncate(failed.clamp(1, MOST_ROWS));
        rows.into_iter().map(|(_, claim)| claim).collect()
    }

    /// The stored metrics, from which later contrasts get their errors: in no direction may they claim less than
    /// fresh draws prove.
    pub(super) fn moment_bounds(&self) -> Option<Claim> {
        let stored = self.record.moment_bounds.as_ref()?;
        let claims_nothing = stored.global.is_none() && stored.local.is_none();
        let (factor, verdict) = match &self.now.moment_bounds {
            _ if claims_nothing => (None, Verdict::NotClaimed),
            None => (None, Verdict::NotReproduced),
            Some(now) => {
                let factor = stored.excess_of(now, self.q, DEVIATIONS).unwrap_or(f64::INFINITY);
                let grounds = is_better_founded(origin(stored), origin(now));
                let verdict = if is_surer(Some(stored.confidence), Some(now.confidence)) {
                    self.missed()
                } else if grounds || factor.is_infinite() {
                    Verdict::NotReproduced
                } else if factor <= SAMPLED {
                    Verdict::Agrees
                } else {
                    self.missed()
                };
                (Some(factor), verdict)
            }
        };
        let now = factor.map_or("–".to_owned(), |factor| format!("× {factor:.3}"));
        let what = "bounds of contrasts".to_owned();
        Some(Claim { what, stored: "× 1".to_owned(), now, verdict })
    }
}

/// The best origin that any of the bounds claims.
fn origin(bounds: &MomentBounds) -> Option<Provenance> {
    let global = bounds.global.as_ref().map(|b| b.provenance);
    global.into_iter().chain(bounds.local.as_ref().map(|b| b.provenance)).min()
}

fn growth(old: &Statement, new: &Statement) -> f64 {
    match (old.bound(), new.bound()) {
        (Some(old), Some(new)) => new / old.max(f64::MIN_POSITIVE),
        (Some(_), None) => f64::INFINITY,
        (None, _) => 0.0,
    }
}
