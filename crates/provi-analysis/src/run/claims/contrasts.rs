//! The contrasts that were asked for, recomputed from their expressions.

use provi::functional::Functional;

use super::{Claim, Comparison, DEVIATIONS, SAMPLED, Verdict, shown};
use crate::record::fit_file::ContrastRecord;
use crate::run::contrast::Contrast;

impl Comparison<'_> {
    pub(super) fn contrasts(&self) -> Vec<Claim> {
        self.record.contrasts.iter().map(|stored| self.contrast(stored)).collect()
    }

    fn contrast(&self, stored: &ContrastRecord) -> Claim {
        let bounds = self.now.moment_bounds.as_ref();
        let found = Contrast::read_one(&stored.expression, &self.record.names, None)
            .and_then(|read| read.measure(&self.q.clone().into(), &self.now.certificate, bounds))
            .ok();
        self.contrast_beside(stored, found)
    }

    /// A contrast beside what is found of it now.
    pub(super) fn contrast_beside(&self, stored: &ContrastRecord, found: Option<ContrastRecord>) -> Claim {
        let (old, new) = (&stored.functional, found.as_ref().map(|found| &found.functional));
        let verdict = match (&found, new) {
            (Some(found), Some(new)) if same_weights(&stored.weights, &found.weights) => {
                self.functional(old, new)
            }
            _ => Verdict::NotReproduced,
        };
        let show = |f: &Functional| format!("{:.4} {}", f.mean, shown(f.mean_error.bound()));
        Claim {
            what: format!("contrast {}", stored.expression),
            stored: show(old),
            now: new.map_or("–".to_owned(), show),
            verdict,
        }
    }

    /// Mean and sd are those of q; their errors and the bounds of the sign come from the certificate.
    fn functional(&self, old: &Functional, new: &Functional) -> Verdict {
        let close = |a: f64, b: f64, scale: f64| (a - b).abs() <= 1e-9 * scale;
        let (sign, now) = (&old.positive, &new.positive);
        if !close(old.mean, new.mean, new.sd + new.mean.abs())
            || !close(old.sd, new.sd, new.sd)
            || !close(sign.value, now.value, 1.0)
        {
            return Verdict::NotReproduced;
        }
        let errors = [(&old.mean_error, &new.mean_error), (&old.sd_error, &new.sd_error)];
        let [mean, sd] = errors.map(|(claimed, found)| self.judge(claimed, found, DEVIATIONS * new.sd));
        // Each end of the sign's interval must be as far from its value as fresh draws find.
        let reach = |claimed: f64, found: f64| found <= SAMPLED * claimed + DEVIATIONS;
        let ends = reach(sign.value - sign.lower, now.value - now.lower)
            && reach(sign.upper - sign.value, now.upper - now.value);
        let ends = if ends { Verdict::Agrees } else { self.missed() };
        mean.max(sd).max(self.judge(&sign.error, &now.error, DEVIATIONS)).max(ends)
    }
}

fn same_weights(old: &[f64], new: &[f64]) -> bool {
    old.len() == new.len() && old.iter().zip(new).all(|(a, b)| (a - b).abs() <= 1e-12 * b.abs())
}
