//! KL, evidence and moments of a model that falls apart into groups once a few coefficients θ are known [group-kl].
//!
//! The prior makes θ Gaussian given the coefficients z of all groups, so θ can be integrated out. With any θ₀, r(z) = Π p(z_i | θ₀, x_i)
//! and g(z) = the slope in θ of the prior's energy at θ₀, whose curvature in θ is A:
//! ```text
//! log p(x) = Σ_i log p(x_i | θ₀) + ½ log det T − ½ log det A − ½(θ₀−ν)ᵀT(θ₀−ν) + log E_r W,   W = e^{½‖y‖²},  y = A^{−½}g(z)
//! ```
//! Each group is a model of a few coefficients: an audit bounds log p(x_i | θ₀), and rejection draws from p(z_i | θ₀, x_i) itself
//! ([`ExactDraws`]). W has no upper bound, but ‖y‖ is a √(1−α)-Lipschitz function of standard Gaussian variables, for p(z_i | θ₀, x_i) is at
//! least as log-concave as its prior: what is beyond ‖y‖ = a follows from P(‖y‖ > a) ([`lipschitz`]). So betting bounds two means of
//! variables in [0, 1], min(W, K)/K and 1{‖y‖ > a}, K = e^{½a²}. Nothing here grows with the number of groups but the sum of their errors.

mod moments;
#[cfg(test)]
mod tests;
mod top;

use super::sharp::Mass;
use super::{Audit, ExactValue, Session};
use crate::base::draws::{Draws, Purpose, Seed, mix};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::{Cholesky, norm};
use crate::base::matrix::Matrix;
use crate::base::special::chi_square::chi_square_tail;
use crate::base::stop;
use crate::certify::exact_draws::ExactDraws;
use crate::glm::Glm;
use crate::glm::groups::Groups;
use crate::target::Target;
use crate::target::curvature::Provenance;
use crate::target::expectations::{Expectations, Moments};
use crate::theory::{betting, lipschitz};
use moments::Sums;
use top::Top;

/// Draws of the pilot, and of each group's Gaussian.
const PILOT: usize = 400;
const PILOT_GROUP: u64 = 64;
/// With fewer draws each group costs more to look at than it would gain.
const FEWEST: u64 = 10_000;
/// Draws of all groups that are made together.
const BLOCK: usize = 2048;
/// The most draws.
const MOST: u64 = 1_000_000;
/// Where the other routes are foreseen to prove less than this many nats they are not compared with this one.
const LEAST: f64 = 0.3;
/// The part of what they foresee that this one must come to.
const PART: f64 = 0.9;
/// What the audit of a group is foreseen to prove, in multiples of its KL.
const USUAL_RATIO: f64 = 1.3;
/// The most proposals for a draw of all groups, in passes over the rows.
const MOST_PASSES: f64 = 300.0;

/// The route as the pilot chose it.
pub(super) struct Plan {
    groups: Groups,
    models: Vec<Glm>,
    gaussians: Vec<Gaussian<Triangular>>,
    top: Top,
    /// a.
    reach: f64,
    /// The mean of min(W, K) in the pilot.
    mean: f64,
    count: u64,
}

impl Session<'_> {
    /// The route, if the model has groups and the pilot foresees a bound well below `known` nats.
    pub(super) fn consider_groups(&mut self, known: f64, delta: f64) -> Result<Option<Plan>> {
        let (Some((model, q)), Some(exact)) = (self.own, self.exact) else { return Ok(None) };
        if known <= LEAST || self.options.draws < FEWEST || stop::check_early().is_err() {
            return Ok(None);
        }
        let Some(groups) = Groups::of(model) else { return Ok(None) };
        match self.plan(groups, (model, q), exact, (known, delta)) {
            // A group without a certificate of its own leaves the other routes.
            Err(
                Error::ExactDrawsCost { .. }
                | Error::ExactDrawsRounding { .. }
                | Error::NotPositiveDefinite { .. }
                | Error::Eigen { .. }
                | Error::Stopped { .. },
            ) => Ok(None),
            found => found,
        }
    }

    fn plan(
        &mut self,
        groups: Groups,
        (model, q): (&Glm, &Gaussian<Triangular>),
        exact: ExactValue,
        (known, delta): (f64, f64),
    ) -> Result<Option<Plan>> {
        let point: Vec<f64> = groups.top.iter().map(|&j| q.mean()[j]).collect();
        let Some(top) = Top::new(&groups, point, model.linear.constant_error)? else { return Ok(None) };
        let models: Vec<Glm> =
            groups.each.iter().map(|group| group.model(model, &top.point)).collect::<Result<_>>()?;
        let gaussians = conditionals(&groups, q)?;
        let mut plan = Plan { groups, models, gaussians, top, reach: 0.0, mean: 1.0, count: 0 };
        // Σ log p(x_i | θ₀) as the pilot sees it.
        let (mut value, mut divergence, mut passes) = (0.0, 0.0, 0.0);
        let mut draws = Vec::with_capacity(plan.models.len());
        for (i, (model, q)) in plan.models.iter().zip(&plan.gaussians).enumerate() {
            stop::check_early()?;
            let seed = self.seed_of(i, 0);
            let mut moments = Moments::new(q.dim());
            model.expect(q, &mut moments)?;
            value -= moments.neg_elbo(q)?;
            divergence += guess(model, q, seed)?;
            let own = ExactDraws::new(model, q, seed)?;
            passes += own.proposals_bound() * model.rows.len() as f64;
            draws.push(own);
        }
        if passes > MOST_PASSES * model.rows.len() as f64 {
            return Ok(None);
        }
        let places = plan.places(&mut draws, PILOT)?;
        self.grounds.evaluations += (PILOT as f64 * passes / model.rows.len() as f64) as u64;
        let count = self.options.draws.clamp(1, MOST);
        let Some((reach, mean, foreseen)) = foresee(&places, plan.top.rest, plan.top.dim(), count, delta)
        else {
            return Ok(None);
        };
        let whole = exact.value + value + USUAL_RATIO * divergence + plan.top.constant + foreseen;
        (plan.reach, plan.mean, plan.count) = (reach, mean, count);
        Ok((whole < PART * known).then_some(plan))
    }

    /// The seed of a group: each look and each part has its own.
    fn seed_of(&self, group: usize, part: u64) -> Seed {
        let tag = (u64::from(self.options.look) << 34) | ((group as u64) << 2) | part;
        Seed(mix(self.seed.0 ^ mix(tag ^ 0x67_726f_7570)))
    }

    /// Makes the audits and the draws, after `before` other draws; `None` where one of the groups has no bound or a stop is wanted.
    pub(super) fn measure_groups(&mut self, plan: &Plan, delta: f64, before: u64) -> Result<Option<Mass>> {
        match self.weigh_groups(plan, delta, before) {
            Err(
                Error::TargetNotFinite { .. }
                | Error::Target { .. }
                | Error::Stopped { .. }
                | Error::NotFinite { .. }
                | Error::NotPositiveDefinite { .. }
                | Error::ExactDrawsCost { .. }
                | Error::ExactDrawsRounding { .. },
            ) => Ok(None),
            found => found,
        }
    }

    fn weigh_groups(&mut self, plan: &Plan, delta: f64, before: u64) -> Result<Option<Mass>> {
        let Some(exact) = self.exact else { return Ok(None) };
        let count = plan.models.len();
        let total = before + plan.count + count as u64 * self.options.draws;
        let rows: f64 = plan.models.iter().map(|model| model.rows.len() as f64).sum();
        // Half of this route's δ is for the groups, a quarter for the moments, the rest for three sides of two means.
        let audit = Audit {
            failure_probability: 0.5 * delta / count as f64,
            draws: self.options.draws,
            price: self.options.price,
            ..Audit::default()
        };
        let (mut sides, mut sizes) = ([0.0; 2], 0.0);
        for (i, (model, q)) in plan.models.iter().zip(&plan.gaussians).enumerate() {
            if (self.between)(before + i as u64 * audit.draws, total)?.is_break() || stop::is_wanted() {
                return Ok(None);
            }
            let audited = audit.run(model, q, self.seed_of(i, 1))?;
            let found = audited.certificate();
            let part = model.rows.len() as f64 / rows;
            self.grounds.evaluations += (found.grounds.evaluations as f64 * part) as u64;
            let [Some(lower), Some(upper)] = [found.evidence.lower(), found.evidence.upper()] else {
                return Ok(None);
            };
            if found.evidence.provenance() != Some(Provenance::Proved) {
                return Ok(None);
            }
            sides = [sides[0] + lower, sides[1] + upper];
            sizes += lower.abs().max(upper.abs());
        }
        let mut draws = plan.draws(|i| self.seed_of(i, 2))?;
        let rounding: f64 = draws.iter().map(ExactDraws::rounding).sum();
        let cap = (0.5 * plan.reach * plan.reach).exp() * (1.0 + 8.0 * f64::EPSILON);
        let (mut lower, mut upper, mut beyond) = (Vec::new(), Vec::new(), Vec::new());
        let mut sums = Sums::new(plan, self.own, self.image.intercept().is_none());
        while (upper.len() as u64) < plan.count {
            let done = before + count as u64 * audit.draws + upper.len() as u64;
            if (self.between)(done, total)?.is_break() || stop::is_wanted() {
                break;
            }
            let block = BLOCK.min((plan.count - upper.len() as u64) as usize);
            let parts = plan.parts(&mut draws, block)?;
            for k in 0..parts.iter().map(Matrix::rows).min().unwrap_or(0) {
                let place = plan.top.place(&plan.groups, &parts, k);
                let [low, high] = place.sides();
                let share = |size: f64| (0.5 * (size - plan.reach) * (size + plan.reach)).min(0.0).exp();
                lower.push(share(low) * (1.0 - 1e-14));
                upper.push((share(high) * (1.0 + 1e-14)).min(1.0));
                beyond.push(f64::from(u8::from(high.is_nan() || high > plan.reach)));
                if let Some(sums) = &mut sums {
                    sums.take(plan, &parts, k, &place, cap * share(high));
                }
            }
        }
        let proposed: f64 =
            draws.iter().zip(&plan.models).map(|(d, m)| d.proposed() as f64 * m.rows.len() as f64).sum();
        self.grounds.evaluations += (proposed / rows) as u64;
        self.grounds.mass_draws = Some(upper.len() as u64);
        // A NaN is no number of [0, 1].
        upper.iter_mut().filter(|y| y.is_nan()).for_each(|y| *y = 1.0);
        lower.iter_mut().filter(|y| y.is_nan()).for_each(|y| *y = 0.0);
        let each = delta / 12.0;
        let core = betting::mean_upper(&upper, plan.count, 1.0 / cap, each) + rounding;
        let believed = (plan.mean / cap * 1.2 + 0.05).min(1.0);
        let least =
            (betting::mean_lower(&lower, plan.count, believed, each) - rounding) * cap * (1.0 - 1e-12);
        let rare = betting::mean_upper(&beyond, plan.count, 0.0, each) + rounding;
        let tail = lipschitz::weight_beyond(plan.reach, rare, plan.top.rest);
        // W is 1 at least.
        let weight = [least.max(1.0), (core * cap + tail) * (1.0 + 1e-12)];
        let lost = plan.top.lost + (count as f64 + 8.0) * f64::EPSILON * (sizes + plan.top.constant.abs());
        let mass = |side: usize, sign: f64| {
            let log = sides[side] + plan.top.constant + weight[side].ln() + sign * lost + exact.value;
            (log + sign * 8.0 * f64::EPSILON * (sizes + exact.value.abs())).exp() * (1.0 + sign * 1e-12)
        };
        let least = mass(0, -1.0).max((-exact.error).exp() * (1.0 - 1e-12));
        let (standings, mut events) = match sums.filter(|_| weight[1].is_finite()) {
            Some(sums) => sums.conclude(plan, (0.25 * delta, rounding), (cap, tail), weight),
            None => (Vec::new(), Vec::new()),
        };
        // Nothing is said of what was asked besides.
        events.resize(events.len() + self.questions.len(), [0.0, 1.0]);
        Ok(Some(Mass {
            lower: least,
            upper: mass(1, 1.0),
            constant: exact.value,
            standings,
            events,
            beyond: f64::INFINITY,
            every: None,
            log_ratios: Vec::new(),
            provenance: self.curvature.provenance(),
            keys: ["group-kl", "group-evidence", "group-moments"],
        }))
    }
}

impl Plan {
    fn draws(&self, seed: impl Fn(usize) -> Seed) -> Result<Vec<ExactDraws<'_>>> {
        let each = self.models.iter().zip(&self.gaussians).enumerate();
        each.map(|(i, (model, q))| ExactDraws::new(model, q, seed(i))).collect()
    }

    /// The next draws of each group.
    fn parts(&self, draws: &mut [ExactDraws<'_>], count: usize) -> Result<Vec<Matrix>> {
        draws.iter_mut().map(|draws| draws.draw(count)).collect()
    }

    /// ‖y‖ at the next draws.
    fn places(&self, draws: &mut [ExactDraws<'_>], count: usize) -> Result<Vec<f64>> {
        let parts = self.parts(draws, count)?;
        stop::check_early()?;
        Ok((0..count).map(|k| norm(&self.top.place(&self.groups, &parts, k).y)).collect())
    }
}

/// q given that θ has its mean under q, for each group: near p(z_i | θ₀, x_i) if q is near p.
fn conditionals(groups: &Groups, q: &Gaussian<Triangular>) -> Result<Vec<Gaussian<Triangular>>> {
    let (covariance, k) = (q.covariance(), groups.top.len());
    let mut block = Matrix::zeros(k, k);
    for (s, &i) in groups.top.iter().enumerate() {
        for (t, &j) in groups.top.iter().enumerate() {
            block[(s, t)] = covariance[(i, j)];
        }
    }
    let factor = Cholesky::new("covariance of θ", &block)?;
    let each = groups.each.iter().map(|group| {
        let columns = &group.coefficients;
        // L⁻¹ cov(θ, z_i), a column for each coefficient.
        let mut across: Vec<f64> = columns
            .iter()
            .flat_map(|&c| groups.top.iter().map(move |&t| (t, c)))
            .map(|at| covariance[at])
            .collect();
        factor.solve_lower(&mut across);
        let mut own = Matrix::zeros(columns.len(), columns.len());
        for (a, &i) in columns.iter().enumerate() {
            for (b, &j) in columns.iter().enumerate() {
                let known = provi_kernels::dot(&across[a * k..(a + 1) * k], &across[b * k..(b + 1) * k]);
                own[(a, b)] = covariance[(i, j)] - known;
            }
        }
        let shift =
            |tied: Option<usize>| tied.filter(|_| groups.moved).map_or(0.0, |t| q.mean()[groups.top[t]]);
        let mean: Vec<f64> =
            columns.iter().zip(&group.tied).map(|(&c, &tied)| q.mean()[c] + shift(tied)).collect();
        Gaussian::from_covariance(&mean, own)
    });
    each.collect()
}

/// KL(q_i‖p_i) as a few draws see it: half the variance of log q_i/p_i.
fn guess(model: &Glm, q: &Gaussian<Triangular>, seed: Seed) -> Result<f64> {
    let draws = Draws::new(seed, Purpose::Pilot);
    let (mut u, mut z, mut slope) = (vec![0.0; q.dim()], vec![0.0; q.dim()], vec![0.0; q.dim()]);
    let (mut sum, mut squares) = (0.0, 0.0);
    for k in 0..PILOT_GROUP {
        draws.fill(k, 3, &mut u);
        q.transport(&u, &mut z);
        let log = q.log_density(&z)? - model.log_density(&z, &mut slope)?;
        (sum, squares) = (sum + log, squares + log * log);
    }
    let n = PILOT_GROUP as f64;
    Ok(0.5 * (squares / n - (sum / n).powi(2)).max(0.0))
}

/// The a for which the bound of log E_r W is foreseen to be least, the mean of min(W, K) there, and that bound. Beyond what so few draws
/// show, y is taken to be Gaussian.
fn foresee(places: &[f64], rest: f64, dim: usize, count: u64, delta: f64) -> Option<(f64, f64, f64)> {
    let (n, log) = (count as f64, (12.0 / delta).ln());
    let square = places.iter().map(|y| y * y).sum::<f64>() / places.len().max(1) as f64;
    let variance = 1.1 * square / dim as f64;
    let mut best: Option<(f64, f64, f64)> = None;
    for step in 2..=60 {
        let reach = 0.1 * f64::from(step) * square.sqrt();
        let rare = chi_square_tail(dim, reach * reach / variance);
        let rare = rare + (2.0 * log * rare / n).sqrt() + log / n;
        let cap = (0.5 * reach * reach).exp();
        let weights = places.iter().map(|y| (0.5 * y * y).exp().min(cap));
        let mean = weights.clone().sum::<f64>() / places.len() as f64;
        let spread = weights.map(|w| (w - mean).powi(2)).sum::<f64>() / places.len() as f64;
        let confident = mean + (2.0 * log * spread / n).sqrt() + cap * log / n;
        let bound = (confident + lipschitz::weight_beyond(reach, rare, rest)).ln();
        if bound.is_finite() && best.is_none_or(|(.., known)| bound < known) {
            best = Some((reach, mean, bound));
        }
    }
    best
}
