//! Whether the transport route is worth its draws, judged by pilot draws that are used for nothing else.

use super::Session;
use super::ball::Choice;
use super::measure::{LEAST_DRAWS, PILOT_DRAWS};
use super::metric::Metric;
use super::residual::Residuals;
use crate::base::draws::{Draws, Purpose};
use crate::base::error::Result;
use crate::certify::rounding::Allowance;
use crate::theory::certificate as theory;

/// What an ascent of the transport bound may leave unfound, in nats and as a part of the pilot's mean.
const ENOUGH: f64 = 1e-4;
const ENOUGH_PART: f64 = 0.02;

/// The transport route, for use if the other routes prove almost nothing.
#[derive(Clone, Copy)]
pub(super) struct Transport {
    /// The mean of Ĝ: first the pilot's, then the audit's.
    pub(super) mean: f64,
    pub(super) lipschitz: f64,
    /// Number of draws to spend.
    pub(super) draws: f64,
    pub(super) delta: f64,
}

impl Transport {
    /// The bound of KL(q‖p) from this many draws. √G is L-Lipschitz, so √G(x) ≤ √G(x̂) + L·shift, where x̂ is the
    /// point at which the target was evaluated \[rounding\]. Infinite if doubles do not resolve the draws.
    pub(super) fn bound(&self, draws: u64, delta: f64, allowance: &Allowance) -> Result<f64> {
        let root = self.mean.sqrt() + self.lipschitz * allowance.shift;
        match root.is_finite() {
            true => theory::fisher_upper(root * root, self.lipschitz, draws, delta),
            false => Ok(f64::INFINITY),
        }
    }

    /// What an ascent of the audit may leave unfound, in nats.
    pub(super) fn enough(&self) -> f64 {
        ENOUGH.max(ENOUGH_PART * self.mean)
    }
}

impl Session<'_> {
    /// The KL bound that the other routes are expected to prove with this many draws, judged by the pilot: by the
    /// global metric and its mean, or on the ball.
    pub(super) fn expected(
        &self,
        residuals: &Residuals<'_>,
        global: Option<(&Metric, f64)>,
        choice: Option<&Choice>,
        draws: u64,
        delta: f64,
    ) -> Result<f64> {
        let allowances = residuals.allowances();
        let usual = allowances.usual(self.q.dim());
        let (mut known, mut trace) = (f64::INFINITY, self.q.dim() as f64);
        if let Some((metric, mean)) = global {
            known = theory::kl(metric.fisher_upper(mean, draws, delta, &usual)?);
            trace = metric.upper_trace();
        }
        let Some(choice) = choice else { return Ok(known) };
        let allowance = allowances.at(choice.radius);
        let ball = choice.ball(choice.metric.fisher_upper(choice.mean, draws, delta, &allowance)?);
        // Without an exact f a guess is enough: it only decides whether to look further.
        let drop = self.exact.map_or(0.0, |f| residuals.center_value() - f.value);
        let excess = ball.excess_from_upper_curvature(drop, trace, self.q.dim());
        Ok(known.min(ball.kl_of_whole(excess)))
    }

    /// The transport route, if it is expected to prove less than `plain` nats, judged by the pilot.
    pub(super) fn consider_transport(
        &mut self,
        residuals: &Residuals<'_>,
        metric: &Metric,
        plain: f64,
        delta: f64,
    ) -> Result<Option<Transport>> {
        let Some(upper) = self.upper() else { return Ok(None) };
        // If H_lo is too flat to invert, there is no such statement.
        let Ok(largest) = metric.largest_with_inverse(&upper) else { return Ok(None) };
        let lipschitz = theory::transport_lipschitz(largest);
        let most = self.options.draws.max(1);
        // The cost of confidence alone; no ascent can do better.
        if !lipschitz.is_finite() || theory::fisher_upper(0.0, lipschitz, most, delta)? >= plain {
            return Ok(None);
        }
        let draws = Draws::new(self.seed, Purpose::Pilot);
        let (mean, evaluations) =
            residuals.pilot_ascent(draws, self.pilot_draws(PILOT_DRAWS), metric, ENOUGH)?;
        self.grounds.evaluations += evaluations;
        if !mean.is_finite() {
            return Ok(None);
        }
        let tight = theory::draws_for(mean, lipschitz, delta, self.options.price);
        let draws = tight.min(self.worth_spending(mean)).max(LEAST_DRAWS as f64);
        let transport = Transport { mean, lipschitz, draws, delta };
        let usual = residuals.allowances().usual(self.q.dim());
        let expected = transport.bound(most.min(draws as u64), delta, &usual)?;
        Ok((expected < plain).then_some(transport))
    }
}
