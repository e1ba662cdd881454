//! Error bounds of means and standard deviations: of every coefficient, and of any contrast.

use provi::Provenance;
use provi::certificate::{Certificate, Statement};
use provi::functional::{MomentBounds, PosteriorMoments};

use crate::number::bound;

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
        let claims_nothing = stored.global.is_none() && stored.local.is_none() && stored.every.is_none();
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

    /// The posterior's own means, standard deviations and signs; the row shows the worst of them.
    pub(super) fn posterior(&self) -> Option<Claim> {
        let stored = self.record.posterior.as_ref()?;
        let what = "posterior means and sds".to_owned();
        let claim = |stored: String, now: String, verdict| Some(Claim { what, stored, now, verdict });
        let Some(now) = &self.now.posterior else {
            return claim("measured".to_owned(), "–".to_owned(), Verdict::NotReproduced);
        };
        let dim = self.record.names.len();
        let lengths = [&stored.mean, &stored.mean_error, &stored.sd, &stored.sd_error].map(|list| list.len());
        let signs = [&stored.positive, &stored.positive_error].map(|list| list.len());
        // Signs are a later addition; a file that has them must have all.
        let odd = signs.iter().any(|len| *len != dim && *len != 0) || signs[0] != signs[1];
        if odd || lengths.iter().any(|len| *len != dim) || now.mean.len() != dim {
            let count = |n: usize| format!("{n} coefficients");
            return claim(count(lengths[0]), count(dim), Verdict::NotReproduced);
        }
        let sds = self.q.standard_deviations();
        let rows = rows(stored).zip(rows(now)).zip(sds.iter().flat_map(|sd| [sd; 2]));
        let signs = signs_of(stored).zip(signs_of(now)).map(|pair| (pair, &1.0));
        let missing = signs_of(stored).count() > signs_of(now).count();
        let verdicts = rows
            .chain(signs)
            .map(|((old, new), unit)| (self.judge_interval(old, new, DEVIATIONS * unit), old, new));
        let (verdict, [_, old], [_, new]) =
            verdicts.max_by(|a, b| a.0.cmp(&b.0).then((a.2[1] / a.1[1]).total_cmp(&(b.2[1] / b.1[1]))))?;
        let verdict = if is_surer(Some(stored.confidence), Some(now.confidence)) {
            verdict.max(self.missed())
        } else if missing || is_better_founded(Some(stored.provenance), Some(now.provenance)) {
            verdict.max(Verdict::NotReproduced)
        } else {
            verdict
        };
        claim(format!("± {}", bound(old, 3)), format!("± {}", bound(new, 3)), verdict)
    }

    /// Compares two values with their errors. Both are about the same number, so the intervals must overlap.
    fn judge_interval(&self, [old, claimed]: [f64; 2], [new, found]: [f64; 2], slack: f64) -> Verdict {
        if !(old.is_finite() && claimed.is_finite() && claimed >= 0.0) {
            Verdict::NotReproduced
        } else if (old - new).abs() > claimed + found + slack {
            Verdict::Contradicted
        } else if found <= SAMPLED * claimed + slack {
            Verdict::Agrees
        } else {
            self.missed()
        }
    }
}

/// Value and error of each mean and standard deviation, in turn.
fn rows(moments: &PosteriorMoments) -> impl Iterator<Item = [f64; 2]> {
    let means = moments.mean.iter().zip(&moments.mean_error);
    let sds = moments.sd.iter().zip(&moments.sd_error);
    means.zip(sds).flat_map(|((mean, mean_error), (sd, sd_error))| [[*mean, *mean_error], [*sd, *sd_error]])
}

/// Value and error of the probability that each coefficient is positive.
fn signs_of(moments: &PosteriorMoments) -> impl Iterator<Item = [f64; 2]> {
    moments.positive.iter().zip(&moments.positive_error).map(|(value, error)| [*value, *error])
}

/// The best origin that any of the bounds claims.
fn origin(bounds: &MomentBounds) -> Option<Provenance> {
    let global = bounds.global.as_ref().map(|b| b.provenance);
    let local = bounds.local.as_ref().map(|b| b.provenance);
    let every = bounds.every.as_ref().map(|b| b.provenance);
    global.into_iter().chain(local).chain(every).min()
}

fn growth(old: &Statement, new: &Statement) -> f64 {
    match (old.bound(), new.bound()) {
        (Some(old), Some(new)) => new / old.max(f64::MIN_POSITIVE),
        (Some(_), None) => f64::INFINITY,
        (None, _) => 0.0,
    }
}
