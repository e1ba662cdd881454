//! The goal of an audit: it makes more draws until the goal is proved, or until more draws would not help.

use super::{Audit, Audited};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::scalar::Positive;
use crate::base::stop;
use crate::certify::certificate::{Certificate, DRAWS_OF_MASS, Statement};
use crate::certify::estimate::Estimates;
use crate::certify::functional::PosteriorMoments;
use crate::glm::sparse::NormalLaw;

/// What an audit should prove. If its draws do not suffice, it makes another look with more draws.
///
/// ```
/// use provi::{Audit, Auto, Design, Seed, audit::Goal, target::{Glm, Prior}};
///
/// let design = Design::dense(4, 2, &[1.0, 0.5, 1.0, -1.5, 1.0, 2.0, 1.0, -0.3])?;
/// let target = Glm::logistic(design, &[1.0, 0.0, 1.0, 0.0], Prior::scale(1.0)?)?;
/// let goal = Goal { kl: Some(0.02), ..Goal::default() };
/// let auto = Auto { audit: Audit { goal, ..Audit::default() }, ..Auto::default() };
/// assert!(auto.run(&target, Seed(0))?.certificate().kl.bound().is_some_and(|kl| kl <= 0.02));
/// # Ok::<(), provi::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Goal {
    /// Prove that KL(q‖p) is at most this many nats.
    pub kl: Option<f64>,
    /// Prove every posterior mean and standard deviation to within this fraction of the coefficient's standard
    /// deviation.
    pub table: Option<f64>,
}

/// The most draws of a look; the draws that measure the mass of p are kept until they are bounded.
const MOST: u64 = (1_000_000.0 / DRAWS_OF_MASS) as u64;
/// The least and the largest factor by which the next look has more draws.
const GROWTH: [f64; 2] = [2.0, 20.0];
/// Factor of additional draws, because each look spends less of δ than the one before.
const SPARE: f64 = 1.3;

impl Goal {
    /// True if no goal is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Refuses numbers that are not positive.
    pub fn check(&self) -> Result<()> {
        for (what, wanted) in [("KL", self.kl), ("accuracy of the table", self.table)] {
            wanted.map(|wanted| Positive::new(what, wanted)).transpose()?;
        }
        Ok(())
    }

    /// Whether the KL is proved to be that small.
    pub fn kl_is_met(&self, certificate: &Certificate) -> bool {
        self.kl.is_none_or(|wanted| certificate.kl.bound().is_some_and(|bound| bound <= wanted))
    }

    /// Whether every mean and standard deviation is proved to within `table`: [`worst_of_table`] is at most that.
    pub fn table_is_met(
        &self,
        q: &impl NormalLaw,
        certificate: &Certificate,
        posterior: Option<&PosteriorMoments>,
    ) -> bool {
        self.table.is_none_or(|wanted| worst_of_table(q, certificate, posterior) <= wanted)
    }

    /// The number of draws of the next look, predicted from this one; `None` if the goal is reached or out of
    /// reach.
    fn more(&self, audited: &Audited, q: &Gaussian<Triangular>, kl: Option<f64>, draws: u64) -> Option<u64> {
        let (c, own) = (audited.certificate(), audited.posterior_moments());
        let mut factor = 0.0f64;
        if let Some(wanted) = self.kl.filter(|_| !self.kl_is_met(c)) {
            // The part of the bound above the KL itself falls like one over the square root of the number of draws.
            let (bound, kl) = (c.kl.bound()?, kl?);
            factor = factor.max(((bound - kl) / (wanted - kl)).powi(2));
            if wanted <= kl {
                return None;
            }
        }
        if let Some(wanted) = self.table.filter(|_| !self.table_is_met(q, c, own.as_ref())) {
            factor = factor.max((worst_of_table(q, c, own.as_ref()) / wanted).powi(2));
        }
        let [least, most] = GROWTH;
        // The goal is reached, or nothing was measured that more draws would improve.
        if !(factor > 0.0 && factor.is_finite()) || draws >= MOST || c.grounds.mass_draws.is_none() {
            return None;
        }
        Some(((draws as f64 * (SPARE * factor).clamp(least, most)) as u64).min(MOST))
    }
}

/// The largest error of a posterior mean or standard deviation, in standard deviations of the posterior: the error over the least that
/// the deviation is proved to be. Infinite where one is not proved. The posterior's own moments count where they were measured, the
/// errors of q's otherwise.
pub fn worst_of_table(
    q: &impl NormalLaw,
    certificate: &Certificate,
    posterior: Option<&PosteriorMoments>,
) -> f64 {
    let part = |mean_error: f64, sd: f64, sd_error: f64| {
        let part = mean_error.max(sd_error) / (sd - sd_error).max(0.0);
        // 0/0, and what is not a number, prove nothing.
        if part.is_nan() { f64::INFINITY } else { part }
    };
    let error = |statement: &Statement| statement.bound().unwrap_or(f64::INFINITY);
    match posterior {
        Some(own) => (0..own.mean.len())
            .map(|i| part(own.mean_error[i], own.sd[i], own.sd_error[i]))
            .fold(0.0, f64::max),
        None if certificate.moments.is_empty() => f64::INFINITY,
        None => certificate
            .moments
            .iter()
            .enumerate()
            .map(|(i, moment)| part(error(&moment.mean_error), q.deviation(i), error(&moment.sd_error)))
            .fold(0.0, f64::max),
    }
}

impl Audit {
    /// Makes looks until the goal is proved, more draws would not help, or a stop is wanted. Each look spends its
    /// own share of δ, so any of them may be returned \[confidence\]. Without a goal there is one look.
    pub(super) fn looks(
        &self,
        q: &Gaussian<Triangular>,
        mut look: impl FnMut(&Self) -> Result<Audited>,
    ) -> Result<Audited> {
        self.goal.check()?;
        if self.goal.is_empty() {
            return look(self);
        }
        let mut now = Self { look: self.look.max(1), ..*self };
        let mut best = look(&now)?;
        let kl = Estimates::from_log_ratios(best.log_ratios()).ok().map(|found| found.kl);
        while let Some(draws) = self.goal.more(&best, q, kl, now.draws)
            && !stop::is_wanted()
        {
            now = Self { look: now.look + 1, draws, ..now };
            // What was proved before stands, whatever becomes of a further look, unless that look refutes it.
            let next = match look(&now) {
                Ok(next) => next,
                Err(fault @ (Error::Envelope { .. } | Error::AboveEnvelope { .. })) => return Err(fault),
                Err(_) => {
                    best = best.selected();
                    break;
                }
            };
            let missing = |audited: &Audited| {
                let (c, own) = (audited.certificate(), audited.posterior_moments());
                let kl = self.goal.kl.map_or(0.0, |wanted| c.kl.bound().unwrap_or(f64::INFINITY) / wanted);
                let table = self.goal.table.map_or(0.0, |wanted| worst_of_table(q, c, own.as_ref()) / wanted);
                kl.max(table)
            };
            // Which look is kept depends on its draws.
            best = if missing(&next) <= missing(&best) { next.selected() } else { best.selected() };
        }
        Ok(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::draws::Seed;
    use crate::glm::{Glm, Prior};

    /// A further look that fails, as one that is cut off does, leaves what the first one proved.
    #[test]
    fn a_look_that_fails_costs_nothing_that_was_proved() {
        let x: Vec<f64> = (0..60).flat_map(|i| [1.0, (f64::from(i) * 0.7).sin()]).collect();
        let y: Vec<f64> = (0..60).map(|i| f64::from(u8::from(i % 3 == 0))).collect();
        let design = crate::glm::design::Design::dense(60, 2, &x).unwrap();
        let target = Glm::logistic(design, &y, Prior::scale(1.0).unwrap()).unwrap();
        let q = Gaussian::<Triangular>::new(&[-0.7, 0.0], &[0.27, 0.0, 0.38]).unwrap();
        let goal = Goal { kl: None, table: Some(1e-9) };
        let audit = Audit { draws: 2000, goal, ..Audit::default() };
        let mut looks = 0;
        let mut run = |error: Error| {
            looks = 0;
            audit.looks(&q, |look| {
                looks += 1;
                match looks {
                    1 => Audit { goal: Goal::default(), ..*look }.run(&target, &q, Seed(1)),
                    _ => Err(error.clone()),
                }
            })
        };
        // A look that finds a point beyond its envelope refutes the first one too.
        assert!(run(Error::Envelope { value: 1.0, radius: 2.0 }).is_err());
        let found = run(Error::Stopped { during: "the audit" }).unwrap();
        assert_eq!(looks, 2);
        assert!(found.certificate().kl.bound().is_some() && found.log_ratios().is_empty());
    }
}
