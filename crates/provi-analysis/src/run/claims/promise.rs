//! The bound promised before the first step, compared with the best that this many steps can promise.

use provi::{Method, Planner};

use super::{Claim, Comparison, RELATIVE, Verdict, shown};

impl Comparison<'_> {
    /// The optimal schedule has the smallest bound of all [schedule-optimal], so a promise below its bound cannot
    /// be genuine. Whether the steps were made as planned cannot be checked from the answer.
    pub(super) fn promise(&self) -> Option<Claim> {
        let (record, stored) = (self.record, self.record.plan_bound.value?);
        let best = self.best_promise();
        let verdict = match best {
            _ if record.stopped_early => Verdict::NotReproduced,
            Some(best) if stored >= best * (1.0 - RELATIVE) => Verdict::Reproduced,
            _ => Verdict::NotReproduced,
        };
        let what = format!("bound in advance, {} steps", record.steps);
        Some(Claim { what, stored: shown(Some(stored)), now: shown(best), verdict })
    }

    fn best_promise(&self) -> Option<f64> {
        let record = self.record;
        let method: Method = record.method.parse().ok()?;
        let mut planner = Planner::new(method).coordinates(record.coordinates.parse().ok()?);
        if method != Method::Exact {
            planner = planner.draws(record.draws_per_step);
        }
        if let Some(coupling) = &record.coupling {
            planner = planner.coupling(coupling.parse().ok()?);
        }
        if let Some(subsample) = record.subsample {
            planner = planner.subsample(subsample.terms, subsample.sampling);
        }
        if let Some(family) = &record.family_of_q {
            planner = planner.pattern(family.parse().ok()?);
        }
        let plan = planner.to_steps(self.problem.target().target(), record.steps).ok()?;
        plan.promise.value
    }
}
