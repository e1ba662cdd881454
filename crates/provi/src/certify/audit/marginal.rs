//! KL, evidence and moments of a model with one effect a group, whose effects are integrated out [marginal-kl].
//!
//! Rows have predictors s_n(β) + z_nu_g, and the effects are independent: `y ~ x + (1 | g)`. The posterior of β alone is log-concave and can
//! be evaluated to a proved error ([`Marginal`]), so it is a target of a few coefficients. Route [sharp-kl], whose p̃ is that
//! density here and whose q is the marginal of q, bounds p(x) from both sides:
//! ```text
//! KL(q‖p) = f(q) + log p(x),   p(x) = ∫p(β, x)dβ
//! ```
//! So the number of groups changes what an evaluation costs, and not how many are needed.

mod effects;
#[cfg(test)]
mod tests;

use super::image::Image;
use super::residual::Residuals;
use super::sharp::{Mass, Sharp, Standing};
use super::{Audit, Goal, Session};
use crate::base::draws::{Seed, mix};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::matrix::Matrix;
use crate::base::special::normal_cdf;
use crate::base::stop;
use crate::glm::Glm;
use crate::glm::marginal::{Layout, Marginal};
use crate::target::{Evaluator, Target};
use crate::theory::certificate::{mass_kl, total_variation};
use std::ops::ControlFlow;

/// Models of fewer groups are left to the other routes.
const GROUPS: usize = 8;
/// With fewer draws the other statements are enough.
const FEWEST: u64 = 2_000;
/// Rows times nodes for each draw that is asked for: [sharp-kl] evaluates some sixteen times as many, a few nanoseconds each. What a draw costs
/// grows with the groups, and so does the KL that it is to be compared with.
const WORK: f64 = 8e7;
/// The fewest draws of the route, whatever they cost.
const LEAST: f64 = 250.0;
/// Shares of this route's δ: for the mass of p(β, x), and for the moments of the effects.
const SHARES: [f64; 2] = [0.75, 0.25];

/// The route as the pilot chose it.
pub(super) struct Plan {
    marginal: Marginal,
    q: Gaussian<Triangular>,
    options: Audit,
    sharp: Sharp,
}

impl Session<'_> {
    /// The route, if the model is of this form and has more than a few groups.
    pub(super) fn consider_marginal(&mut self, delta: f64) -> Result<Option<Plan>> {
        let Some((model, q)) = self.own else { return Ok(None) };
        if self.options.draws < FEWEST || stop::check_early().is_err() {
            return Ok(None);
        }
        let Some(layout) = Layout::of(model).filter(|layout| layout.groups.len() >= GROUPS) else {
            return Ok(None);
        };
        self.plan_marginal(model, q, layout, delta)
    }

    fn plan_marginal(
        &mut self,
        model: &Glm,
        q: &Gaussian<Triangular>,
        layout: Layout,
        delta: f64,
    ) -> Result<Option<Plan>> {
        let Ok(q) = shared_part(q, &layout.shared) else { return Ok(None) };
        let Some(marginal) = Marginal::new(model, layout, &q)? else { return Ok(None) };
        let draws = (WORK / marginal.work().max(1) as f64).max(LEAST) as u64;
        let options = Audit { draws: draws.min(self.options.draws), goal: Goal::default(), ..*self.options };
        let found = self.inside(&marginal, &q, &options, 0, |session, residuals| {
            let Some(metric) = session.lower_metric() else { return Ok(None) };
            session.consider_sharp(residuals, &metric, f64::INFINITY, SHARES[0] * delta)
        });
        let sharp = match found {
            // Other routes may do without.
            Err(
                Error::TargetNotFinite { .. } | Error::NotPositiveDefinite { .. } | Error::Stopped { .. },
            ) => None,
            found => found?,
        };
        Ok(sharp.map(|sharp| Plan { marginal, q, options, sharp }))
    }

    /// Runs a part of an audit of p(β, x).
    fn inside<R>(
        &mut self,
        marginal: &Marginal,
        q: &Gaussian<Triangular>,
        options: &Audit,
        part: u64,
        go: impl FnOnce(&mut Session<'_>, &Residuals<'_>) -> Result<R>,
    ) -> Result<R> {
        let Some(curvature) = marginal.curvature()? else {
            return Err(Error::Empty { what: "curvature" });
        };
        let target = Evaluator::Parallel(marginal);
        let seed = self.seed_of_marginal(part);
        let mut between = |k: u64, n: u64| -> Result<ControlFlow<()>> { (self.between)(k, n) };
        let session = Session::new(options, target, (q, Image::EXACT), seed, curvature, &mut between)?;
        let mut session = Session { steep: Some(marginal.steepest(q)), ..session };
        let residuals = Residuals::new(target, q)?;
        let found = go(&mut session, &residuals);
        let (evaluations, draws) = (session.grounds.evaluations, session.grounds.mass_draws);
        // In passes over the rows.
        let rows = self.own.map_or(1, |(model, _)| model.rows.len().max(1));
        self.grounds.evaluations += (evaluations as f64 * marginal.work() as f64 / rows as f64) as u64;
        self.grounds.mass_draws = draws.or(self.grounds.mass_draws);
        found
    }

    /// Each part has its own draws.
    fn seed_of_marginal(&self, part: u64) -> Seed {
        Seed(mix(self.seed.0 ^ mix(part ^ 0x006d_6172_6769_6e61)))
    }

    /// Makes the draws, after `before` other draws; `None` if they prove nothing.
    pub(super) fn measure_marginal(&mut self, plan: &Plan, delta: f64, before: u64) -> Result<Option<Mass>> {
        let Plan { marginal, q, options, sharp } = plan;
        let mass = self.inside(marginal, q, options, 1, |session, residuals| {
            let Some(metric) = session.lower_metric() else { return Ok(None) };
            session.measure_sharp(residuals, &metric, sharp, before)
        });
        let mass = match mass {
            Err(Error::TargetNotFinite { .. } | Error::Stopped { .. }) => None,
            found => found?,
        };
        let Some(mass) = mass.filter(|mass| mass.upper.is_finite()) else { return Ok(None) };
        let of_effects = self.measure_effects(plan, &mass, SHARES[1] * delta, before)?;
        let standings = self.placed(marginal, &mass.standings, &of_effects);
        // log p(x) = log ∫p̃ − f̂ for any f̂: for f itself, where it is known, the bounds are of ∫p̃ = e^{KL}.
        let (constant, shift) = match self.exact {
            Some(exact) => (exact.value, exact.value - mass.constant),
            None => (mass.constant, 0.0),
        };
        let off = 4.0 * f64::EPSILON * (constant.abs() + mass.constant.abs()) + 1e-15;
        let moved = |value: f64, sign: f64| value * (shift + sign * off).exp() * (1.0 + sign * 1e-14);
        let least = self.exact.map_or(0.0, |exact| (-exact.error).exp() * (1.0 - 1e-12));
        let upper = moved(mass.upper, 1.0);
        let kl = self.exact.map_or(f64::INFINITY, |exact| mass_kl(upper, exact.error).max(0.0));
        let events = self.signs(marginal, &mass.events, total_variation(kl));
        Ok(Some(Mass {
            lower: moved(mass.lower, -1.0).max(least),
            upper,
            constant,
            standings,
            events,
            beyond: f64::INFINITY,
            far: None,
            every: None,
            log_ratios: Vec::new(),
            provenance: mass.provenance,
            keys: ["marginal-kl", "marginal-evidence", "marginal-moments"],
        }))
    }

    /// P_p(z_i > 0) for each coefficient: of the shared ones as measured, of the effects within TV(q, p) of what q says. Nothing is said of
    /// what was asked besides.
    fn signs(&self, marginal: &Marginal, shared: &[[f64; 2]], total_variation: f64) -> Vec<[f64; 2]> {
        let Some((_, q)) = self.own.filter(|_| shared.len() >= marginal.shared().len()) else {
            return Vec::new();
        };
        let mut out = vec![[0.0, 1.0]; q.dim() + self.questions.len()];
        marginal.shared().iter().zip(shared).for_each(|(&j, sides)| out[j] = *sides);
        let deviations = q.standard_deviations();
        for j in marginal.effects() {
            let own = normal_cdf(q.mean()[j] / deviations[j]);
            let off = total_variation + 1e-12;
            out[j] = [(own - off).max(0.0), (own + off).min(1.0)];
        }
        out
    }

    /// The moments in the order of the audit's coefficients, and the user's intercept behind them if it differs; empty where some are missing.
    fn placed(&self, marginal: &Marginal, shared: &[Standing], effects: &[Standing]) -> Vec<Standing> {
        let d = self.q.dim();
        let mut out = vec![Standing::NOTHING; d];
        if shared.len() < marginal.shared().len() || shared.len() + effects.len() < d {
            return Vec::new();
        }
        // A constant column may be negative, and then the audit's coefficient has the other sign.
        let mut unit = vec![0.0; d];
        for &j in marginal.shared() {
            unit[j] = 1.0;
            let same = self.image.pull(&unit)[j] > 0.0;
            unit[j] = 0.0;
            if !same && self.image.intercept() != Some(j) {
                return Vec::new();
            }
        }
        marginal.shared().iter().zip(shared).for_each(|(&j, standing)| out[j] = *standing);
        marginal.effects().zip(effects).for_each(|(j, standing)| out[j] = *standing);
        if let Some(i) = self.image.intercept() {
            // The audit's coefficient there is a sum of several of the user's.
            let own = std::mem::replace(&mut out[i], Standing::NOTHING);
            out.push(own);
        }
        out
    }
}

/// The law of some coefficients under q.
fn shared_part(q: &Gaussian<Triangular>, which: &[usize]) -> Result<Gaussian<Triangular>> {
    let factor = q.factor_matrix();
    let mut covariance = Matrix::zeros(which.len(), which.len());
    for (s, &i) in which.iter().enumerate() {
        for (t, &j) in which.iter().enumerate() {
            covariance[(s, t)] = provi_kernels::dot(factor.row(i), factor.row(j));
        }
    }
    let mean: Vec<f64> = which.iter().map(|&j| q.mean()[j]).collect();
    Gaussian::from_covariance(&mean, covariance)
}
