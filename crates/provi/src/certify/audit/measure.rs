//! The measurement: pilot draws choose how to measure; fresh draws measure.

use super::ball::{self, Choice};
use super::metric::Metric;
use super::psi::Psi;
use super::residual::{self, Residuals};
use super::route::Transport;
use super::sharp::Mass;
use super::{Session, USUAL};
use crate::base::draws::{Draws, Purpose};
use crate::base::error::Result;
use crate::base::linalg::safe_congruence;
use crate::base::matrix::Matrix;
use crate::certify::rounding::Allowance;
use crate::target::curvature::Quadratic;
use crate::target::{LocalCurvature, Target};
use crate::theory::certificate as theory;

/// The fewest draws of an audit that needs any; also the number of draws that choose the ball.
pub(super) const LEAST_DRAWS: u64 = 1_000;
pub(super) const PILOT_DRAWS: u64 = 400;
/// Fewest draws of a pilot.
const LEAST_PILOT: u64 = 40;
/// A KL bound of this many nats says almost nothing. If even the plain mean of the pilot gives more, no number of
/// draws helps, and only the following share of the allowed draws is spent.
const HOPELESS: f64 = 1.0;
const HOPELESS_SHARE: f64 = 0.2;
/// Draws for the other statements if the sharp ones are measured.
const BESIDE: f64 = 4_000.0;
/// Where one sharp route is foreseen to be within this of the truth the other is not asked.
const CLOSE: f64 = 1.3;
/// What the other must be foreseen to come to, as a part: its few ascents foresee less well. Where means are foreseen to be off by more
/// than this many deviations (fewer where more draws than usual were asked for), a little more is allowed: the other measures them better.
const SURER: f64 = 0.75;
const COARSE: [f64; 2] = [0.05, 0.02];
const RATHER: f64 = 1.1;
/// If the global bound is this small, no local one is computed.
const SMALL: f64 = 1e-7;

/// The results of the draws.
pub(super) struct Measurement {
    /// The metric of the global statement, if there is one.
    pub(super) global: Option<Metric>,
    pub(super) choice: Option<Choice>,
    pub(super) transport: Option<Transport>,
    pub(super) mass: Option<Mass>,
    pub(super) measured: residual::Measured,
    pub(super) draws: u64,
    /// The share of δ of each statement.
    pub(super) delta: f64,
    pub(super) rounding: Lost,
}

/// Bounds of the rounding errors of the measured numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lost {
    /// At the draws.
    pub(super) draws: Allowance,
    /// At the draws inside the ball.
    pub(super) inside: Allowance,
    /// Of the mean of D over these, without the error of V.
    pub(super) value_mean_lost: f64,
}

/// Bounds over all z, for a target that has no better local ones.
struct Everywhere {
    bounds: (Matrix, Option<Matrix>),
}

impl LocalCurvature for Everywhere {
    fn bounds(&self, radii: &[f64]) -> Result<Vec<(Matrix, Option<Matrix>)>> {
        Ok(vec![self.bounds.clone(); radii.len()])
    }

    fn lower(&self, radii: &[f64]) -> Result<Vec<Matrix>> {
        Ok(vec![self.bounds.0.clone(); radii.len()])
    }
}

impl Session<'_> {
    /// The size of a pilot: the usual one, or a quarter of what the audit may draw if that is less. A pilot chooses the route and its
    /// constants; what is proved then does not depend on how well it chose.
    pub(super) fn pilot_draws(&self, usual: u64) -> u64 {
        usual.min((self.options.draws / 4).max(LEAST_PILOT))
    }

    /// Pilot draws choose the routes, the ball and the number of draws; fresh draws measure.
    pub(super) fn measure(&mut self) -> Result<Measurement> {
        // The statements that must hold together: the global F, the local F, and without an exact f also Γ and the
        // mean of D.
        let events = if self.exact.is_some() { 2.0 } else { 4.0 };
        let mut delta = self.delta / events;
        let residuals = Residuals::new(self.target, self.q)?;
        if let Some(moments) = &self.moments {
            self.moved = self.image.moves(moments, self.q, residuals.allowances().relative_inverse());
        }
        if let Some(exact) = &mut self.exact {
            exact.error += self.moved;
        }
        let of_pilot = self.pilot_draws(PILOT_DRAWS);
        let pilot = residuals.pilot(Draws::new(self.seed, Purpose::Pilot), of_pilot)?;
        self.grounds.evaluations += of_pilot + 1;
        let usual = residuals.allowances().usual(self.q.dim());
        let global = self.global_metric()?;
        let global_mean = global.as_ref().map(|m| pilot.mean_within(m, f64::INFINITY));
        let settled = match (&global, global_mean) {
            // Without an exact f, the evidence still needs a ball.
            (Some(m), Some(mean)) if self.exact.is_some() => {
                0.5 * m.fisher_upper(mean, LEAST_DRAWS, delta, &usual)? <= SMALL
            }
            _ => false,
        };
        let choice = if settled { None } else { self.choose_ball(&residuals, &pilot, delta)? };

        let mut wanted = LEAST_DRAWS as f64;
        // The mean of ‖ŝ‖², its Lipschitz constant, and the bound that unlimited draws would give.
        let prospect = match (&choice, &global, global_mean) {
            (Some(c), ..) => Some((c.mean, c.metric.lipschitz(), c.ball(c.mean).kl())),
            (None, Some(m), Some(mean)) if !settled => Some((mean, m.lipschitz(), theory::kl(mean))),
            _ => None,
        };
        if let Some((mean, lipschitz, least)) = prospect {
            let most = self.worth_spending(least);
            let tight = theory::draws_for(mean, lipschitz, delta, self.options.price);
            wanted = wanted.max(tight.min(most));
        }
        let flat = if global.is_none() { self.lower_metric() } else { None };
        let mut plain = f64::INFINITY;
        if prospect.is_some() {
            let draws = (wanted as u64).clamp(1, self.options.draws.max(1));
            plain =
                self.expected(&residuals, global.as_ref().zip(global_mean), choice.as_ref(), draws, delta)?;
        }
        let lower = global.as_ref().or(flat.as_ref());
        let mut psi = if settled { None } else { self.consider_psi(&residuals, plain, 0.5 * self.delta)? };
        let coarse = COARSE[usize::from(self.options.draws > USUAL)];
        let is_close =
            psi.as_ref().is_some_and(|psi| psi.foreseen <= CLOSE * psi.seen && psi.mean_error <= coarse);
        let mut sharp = None;
        if let Some(metric) = lower.filter(|_| !settled && !is_close) {
            let part = |psi: &Psi| if psi.mean_error <= coarse { SURER } else { RATHER };
            let known = psi.as_ref().map_or(plain, |psi| part(psi) * psi.foreseen);
            sharp = self.consider_sharp(&residuals, metric, known, 0.5 * self.delta)?;
        }
        psi = psi.filter(|_| sharp.is_none());
        let mut groups = None;
        if !settled {
            let known = sharp.as_ref().map(|sharp| sharp.foreseen).or(psi.as_ref().map(|psi| psi.foreseen));
            groups = self.consider_groups(known.unwrap_or(plain), 0.5 * self.delta)?;
        }
        if groups.is_some() {
            (psi, sharp) = (None, None);
        }
        let is_measured = sharp.is_some() || psi.is_some() || groups.is_some();
        if is_measured {
            // The other statements are less important now: they keep half of δ, and draws for estimates; all of them where f is measured.
            delta *= 0.5;
            wanted = if self.exact.is_some() { wanted.min(BESIDE) } else { self.options.draws as f64 };
        }
        let mut transport = None;
        // Where f is not exact the mass of p bounds the evidence, and KL only as well as f is known.
        if let (Some(metric), Some(_)) = (&global, prospect)
            && plain > HOPELESS
            && !(is_measured && self.exact.is_some())
        {
            let share = if is_measured { 0.5 * self.delta } else { self.delta };
            transport = self.consider_transport(&residuals, metric, plain, share / (events + 1.0))?;
        }
        if let Some(transport) = &transport {
            wanted = wanted.max(transport.draws);
            delta = transport.delta;
        }
        let draws = (wanted.ceil() as u64).clamp(1, self.options.draws.max(1));
        // Each look has its own draws.
        let (audit, look) = (Draws::new(self.seed, Purpose::Audit), self.options.look);
        let mut ascent =
            global.as_ref().zip(transport).map(|(metric, t)| residuals.ascent(metric, t.enough()));
        let measured = residuals.measure(
            &|k, u| audit.fill(k, look, u),
            draws,
            global.as_ref(),
            choice.as_ref().map(|c| (&c.metric, c.radius)),
            ascent.as_mut(),
            self.between,
        )?;
        if measured.draws < draws {
            // The time that draws take may depend on their values, so a caller that stops by the clock may depend
            // on them too.
            delta /= residual::ends(draws);
            self.grounds.failure_probability *= 2.0;
        }
        let draws = measured.draws;
        if let (Some(ascent), Some(transport)) = (ascent, &mut transport) {
            let evaluations;
            (transport.mean, evaluations) = ascent.finish();
            self.grounds.evaluations += evaluations;
        }
        self.grounds.draws = draws;
        self.grounds.evaluations += draws;
        let mut mass = None;
        if let (Some(sharp), Some(metric)) = (&sharp, lower) {
            mass = self.measure_sharp(&residuals, metric, sharp, draws)?;
        }
        if let Some(psi) = &psi {
            mass = self.measure_psi(&residuals, psi, draws)?;
        }
        if let Some(groups) = &groups {
            mass = self.measure_groups(groups, 0.5 * self.delta, draws)?;
        }
        let allowances = residuals.allowances().clone();
        let inside = choice.as_ref().map_or(0.0, |choice| choice.radius);
        let value_mean_lost = residuals.value_mean_lost(measured.local_size_mean, measured.inside.max(1));
        let rounding =
            Lost { draws: allowances.at(measured.furthest), inside: allowances.at(inside), value_mean_lost };
        Ok(Measurement { global, choice, transport, mass, measured, draws, delta, rounding })
    }

    /// The most draws to spend on a bound for which unlimited draws would give `least` nats.
    pub(super) fn worth_spending(&self, least: f64) -> f64 {
        self.options.draws as f64 * if least > HOPELESS { HOPELESS_SHARE } else { 1.0 }
    }

    /// H_lo and H_hi in the coordinates where q is standard.
    fn global_metric(&self) -> Result<Option<Metric>> {
        let (d, curvature) = (self.q.dim(), &self.curvature);
        if curvature.convexity() <= 0.0 {
            return Ok(None);
        }
        let Some(upper) = self.upper() else { return Ok(None) };
        let lower = safe_congruence(&curvature.lower().to_matrix(d), &self.factor, -curvature.slack(), -1.0);
        // If H_lo is too flat to factor safely, there is no global statement.
        Ok(Metric::new(lower, Some(&upper)).ok())
    }

    /// H_hi in the coordinates where q is standard, rounded up.
    pub(super) fn upper(&self) -> Option<Matrix> {
        let upper = self.curvature.upper()?.to_matrix(self.q.dim());
        Some(safe_congruence(&upper, &self.factor, self.curvature.slack(), 1.0))
    }

    /// H_lo alone, if there is no H_hi: enough to turn a KL bound into moments.
    pub(super) fn lower_metric(&self) -> Option<Metric> {
        if self.curvature.convexity() <= 0.0 {
            return None;
        }
        let lower = self.curvature.lower().to_matrix(self.q.dim());
        Metric::new(safe_congruence(&lower, &self.factor, -self.curvature.slack(), -1.0), None).ok()
    }

    fn choose_ball(
        &self,
        residuals: &Residuals<'_>,
        pilot: &residual::Pilot,
        delta: f64,
    ) -> Result<Option<Choice>> {
        let target: &dyn Target = self.target.target();
        let local = target.local_curvature(self.q)?;
        // A ball needs V convex outside it, and the step to q needs H_hi. Both come from the global curvature, so
        // its provenance counts even if the curvature on the ball is the model's own.
        let provenance = self.curvature.provenance();
        let d = self.q.dim();
        let moved = |h: &Quadratic, by: f64| {
            let mut h = h.to_matrix(d);
            (0..d).for_each(|i| h[(i, i)] += by);
            h
        };
        let (curvature, slack) = (&self.curvature, self.curvature.slack());
        let global = (moved(curvature.lower(), -slack), curvature.upper().map(|h| moved(h, slack)));
        let everywhere = Everywhere { bounds: global };
        ball::choose(
            &self.factor,
            local.as_deref().unwrap_or(&everywhere),
            residuals,
            pilot,
            delta,
            self.options.draws,
            provenance,
        )
    }
}
