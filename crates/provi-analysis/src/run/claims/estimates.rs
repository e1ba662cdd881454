//! Stored estimates, compared with estimates from fresh draws.

use provi::Seed;
use provi::checks::Checks;
use provi::estimate::{Estimates, Reliability};

use super::elbo::SIGMAS;
use super::{Claim, Comparison, Verdict};

impl Comparison<'_> {
    /// The estimates of fresh draws, if the weights say that they can be trusted.
    fn reliable(&self) -> Option<&Estimates> {
        let found = self.now.estimates.as_ref().ok()?;
        let trusted = [Reliability::Exact, Reliability::Good, Reliability::Usable];
        trusted.contains(&found.reliability()).then_some(found)
    }

    /// KL(q‖p) and its error.
    pub(super) fn estimated_kl(&self) -> Option<(f64, f64)> {
        let found = self.reliable()?;
        Some((found.kl, SIGMAS * found.kl_se)).filter(|(value, error)| value.is_finite() && error.is_finite())
    }

    /// log p(x) and its error.
    pub(super) fn estimated_evidence(&self) -> Option<(f64, f64)> {
        let found = self.reliable()?;
        let error = SIGMAS * found.log_evidence_se + 1e-9 * found.log_evidence.abs();
        Some((found.log_evidence, error)).filter(|(value, error)| value.is_finite() && error.is_finite())
    }

    /// Compares each stored estimate with the one of fresh draws: they must agree within six standard errors of
    /// both.
    pub(super) fn estimates(&self) -> Vec<Claim> {
        let Some(stored) = &self.record.estimates else { return Vec::new() };
        let rows = [
            ("estimated KL, nats", stored.kl, stored.kl_standard_error),
            ("estimated log evidence", stored.log_evidence, stored.standard_error),
            ("estimated ELBO", stored.elbo, stored.elbo_standard_error),
        ];
        let now = self.now.estimates.as_ref().ok();
        let found = now.map(|e| [(e.kl, e.kl_se), (e.log_evidence, e.log_evidence_se), (e.elbo, e.elbo_se)]);
        // If the tail is far heavier than the file states, none of its estimates holds.
        let tail = now.zip(stored.pareto_k).is_some_and(|(now, said)| {
            let fitted = 3.0 * (now.draws.min(stored.draws.max(2)) as f64).sqrt();
            let noise = 4.0 * (1.0 + now.pareto_k.abs()) * (2.0 / fitted).sqrt();
            now.pareto_k.is_finite() && now.pareto_k > said + noise
        });
        let unbelieved = stored.pareto_k.is_none_or(|k| k > Reliability::limit(stored.draws));
        let mut claims = Vec::new();
        for (i, (what, value, error)) in rows.into_iter().enumerate() {
            let Some(value) = value else { continue };
            let found = found.map(|all| all[i]);
            let verdict = match (found, error) {
                _ if tail => Verdict::NotReproduced,
                // If neither the file nor the fresh draws trust their estimate, nothing is claimed.
                (Some(_), _) if unbelieved && self.reliable().is_none() => Verdict::NotClaimed,
                (Some((now, spread)), Some(error)) => {
                    let room = SIGMAS * error.hypot(spread) + 1e-9 * (1.0 + now.abs());
                    // A standard error far below that of as many draws cannot be genuine.
                    let honest = error >= 0.0 && error >= 0.1 * self.spread_of(spread, stored.draws) - 1e-9;
                    match (now - value).abs() <= room && honest {
                        true => Verdict::Agrees,
                        false => Verdict::NotReproduced,
                    }
                }
                _ => Verdict::NotReproduced,
            };
            let show = |value: f64, error: f64| format!("{value:.4} ± {error:.1e}");
            claims.push(Claim {
                what: what.to_owned(),
                stored: show(value, error.unwrap_or(f64::NAN)),
                now: found.map_or("–".to_owned(), |(value, error)| show(value, error)),
                verdict,
            });
        }
        claims
    }

    /// The standard error that this many draws would have.
    fn spread_of(&self, spread: f64, draws: usize) -> f64 {
        let own = self.now.estimates.as_ref().map_or(1, |e| e.draws);
        spread * (own as f64 / draws.max(1) as f64).sqrt()
    }

    /// The checks of the model against its data: observed numbers must be equal, replicated ones have the same
    /// quantiles.
    pub(super) fn checks(&self) -> Option<Claim> {
        let (stored, seed) = (self.record.checks.as_ref()?, Seed(self.record.seed));
        let now = match self.problem.regression_model() {
            Some(model) => model.checks(self.q, seed),
            None => Checks::new(self.problem.glm()?, self.q, seed),
        };
        let now = now.ok();
        let same = |a: &Checks| {
            stored.statistics.len() == a.statistics.len()
                && stored.statistics.iter().zip(&a.statistics).all(|(old, new)| {
                    let close = 1e-9 * (1.0 + new.observed.abs());
                    let range = (new.replicated[2] - new.replicated[0]).abs();
                    let room = 0.5 * range + 0.05 * new.replicated[1].abs() + close;
                    old.name == new.name
                        && (old.observed - new.observed).abs() <= close
                        && old.replicated.iter().zip(&new.replicated).all(|(a, b)| (a - b).abs() <= room)
                })
        };
        let verdict = match now.as_ref().is_some_and(same) {
            true => Verdict::Agrees,
            false => Verdict::NotReproduced,
        };
        let show = |c: &Checks| format!("{} statistics", c.statistics.len());
        let shown = now.as_ref().map_or("–".to_owned(), show);
        Some(Claim { what: "checks against the data".to_owned(), stored: show(stored), now: shown, verdict })
    }
}
