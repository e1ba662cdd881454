//! The ELBO, recomputed or estimated from fresh draws.

use provi::fit::measure_neg_elbo;

use super::{ABSOLUTE, Claim, Comparison, Verdict};
use crate::number::above;

/// The most standard errors by which two estimates of one number may differ: chance refuses one fit in 5e8.
pub(super) const SIGMAS: f64 = 6.0;

impl Comparison<'_> {
    /// f(q), which the file must have right up to its stated error: a bound, or a standard error.
    pub(super) fn elbo(&self) -> Vec<Claim> {
        let record = self.record;
        let (stored, stored_error) = (record.neg_elbo, record.neg_elbo_error);
        let found = measure_neg_elbo(self.problem.target().target(), self.q, self.seed);
        let verdict = match &found {
            Err(_) => Verdict::NotReproduced,
            // An error that is not a bound cannot be stored as one, nor can one below the error of the arithmetic.
            Ok(now) if record.neg_elbo_exact && !now.exact => Verdict::NotReproduced,
            Ok(now) => {
                let rounding = ABSOLUTE + 1e-9 * now.value.abs();
                let room = match (record.neg_elbo_exact, now.exact) {
                    (true, _) => stored_error.abs() + now.error + rounding,
                    (false, true) => SIGMAS * stored_error.abs() + now.error + rounding,
                    (false, false) => SIGMAS * stored_error.hypot(now.error) + rounding,
                };
                let honest = record.neg_elbo_exact || stored_error >= 0.2 * now.error - rounding || now.exact;
                match (now.value - stored).abs() <= room && stored_error >= 0.0 && honest {
                    true if record.neg_elbo_exact => Verdict::Reproduced,
                    true => Verdict::Agrees,
                    // A quadrature that is only checked has an error that is not a bound: allow for more.
                    false if !now.exact && (now.value - stored).abs() <= 1e-4 + SIGMAS * room => {
                        Verdict::Agrees
                    }
                    false => Verdict::NotReproduced,
                }
            }
        };
        let now = match found {
            Ok(now) => format!("{:.6} ± {}", now.value, above(now.error)),
            Err(error) => error.to_string(),
        };
        let stored = format!("{stored:.6} ± {}", above(stored_error));
        vec![Claim { what: "−ELBO, nats".to_owned(), stored, now, verdict }]
    }
}
