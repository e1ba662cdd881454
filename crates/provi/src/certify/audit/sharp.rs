//! KL and evidence from the mass of p itself, measured by draws of q, with a proved bound of the region that no
//! draw of q reaches [sharp-kl].
//!
//! In the coordinates where q = N(0, I), let p̃ = (2π)^{−d/2}e^{−U'} with U'(x) = V(m+Cx) − (d/2) log 2π − log det C − f, so that
//! ϖ = p̃/q = e^{f−D} and ∫p̃ = e^{KL(q‖p)}. For every K and every h = e^κ(2π)^{−d/2}e^{−½xᵀPx} of mass M
//! ```text
//! ∫p̃ ≤ E_q min(ϖ, K)  +  M·E_{N(0,P⁻¹)}[(min(p̃, h) − Kq)₊/h]  +  M(1/m(η) − 1)
//! η = E_{y~N(0,P)}(1 − e^{κ−L(y)})₊,   L(y) = U'*(y) − ½yᵀP⁻¹y
//! ```
//! The last term bounds ∫(p̃ − h)₊ ([`santalo`]). All three means are of variables in a known range, so betting
//! bounds them ([`betting`]); pilot draws choose K, P and κ. Where f is not exact any constant f̂ takes its place in p̃: then ∫p̃ =
//! e^{f̂}·p(x) is the evidence still, and KL(q‖p) = log ∫p̃ + f − f̂ needs an upper bound of f. L needs an upper bound of U'*, and any point x gives
//! one: U'*(y) ≤ x·y − U'(x) + ½‖y − ∇U(x)‖² in the norm of H_lo⁻¹. So it is enough that V is convex with some H_lo
//! ≻ 0.
//!
//! Rounding: V is convex, so p̃ at the draw is at most p̃ at the point x̂ where the target was evaluated, times
//! e^{‖∇U(x̂)‖·‖x − x̂‖}: an upper bound of p̃ needs no upper curvature.

mod cap;
mod hat;
mod moments;
mod pilot;

use super::events::{Event, Known, Tally, Weighed};
use super::every::Guesses;
use super::metric::Metric;
use super::residual::{Residuals, Seen};
use super::{EVENTS, Session};
use crate::base::draws::{Draws, Purpose};
use crate::base::error::{Error, Result};
use crate::base::linalg::{norm, safe_congruence};
use crate::base::matrix::Matrix;
use crate::certify::rounding::{Allowance, usual_reach};
use crate::target::curvature::Provenance;
use crate::theory::{betting, santalo};
use hat::{Hat, higher};
pub(crate) use moments::Standing;
pub(super) use moments::standing;
use moments::{Rest, Sums};
use provi_kernels::{dot, triangle};
use std::sync::Arc;

/// The most columns whose means and standard deviations are measured one by one; they cost d² per draw.
const COLUMNS: usize = 400;
/// The most draws; their values are kept until they are bounded.
pub(super) const MOST: u64 = 1_000_000;
/// What an ascent may leave unfound, in nats.
const ENOUGH: f64 = 1e-3;

/// The route as the pilot chose it.
pub(super) struct Sharp {
    hat: Hat,
    /// f̂: f if it is exact, any constant near it otherwise.
    constant: f64,
    /// log K.
    cap: f64,
    /// The range in which E_q min(ϖ, K)/K is expected; if it seems to lie outside, bounds stop at its ends.
    believed: [f64; 2],
    /// Numbers of pairs of q, draws of h, and ascents.
    counts: [u64; 3],
    /// The share of δ of each of the four means, and that of all moments together.
    delta: f64,
    moments_delta: f64,
    /// Directions of the coefficients, and the standard deviations of the variables that measure their moments.
    directions: Vec<f64>,
    guesses: Guesses,
    events: Arc<[Event]>,
    event_guesses: Vec<f64>,
    /// The bound of KL that the pilot foresees.
    pub(super) foreseen: f64,
}

/// The result: bounds of ∫p̃ from both sides for the given f̂, and the moments of each coefficient under p; the
/// moments are empty if no upper curvature is known.
#[derive(Clone, Debug)]
pub(super) struct Mass {
    pub(super) lower: f64,
    pub(super) upper: f64,
    /// f̂, the constant in p̃.
    pub(super) constant: f64,
    pub(super) standings: Vec<Standing>,
    /// Bounds of the probabilities of [`Session::events`]; empty where they were not measured.
    pub(super) events: Vec<[f64; 2]>,
    /// A bound of ∫(p̃ − Kq)₊; infinite where no K was used.
    pub(super) beyond: f64,
    /// Bounds of the errors of mean and deviation of every linear combination, in deviations of q.
    pub(super) every: Option<[f64; 2]>,
    /// −D at the first draw of each pair.
    pub(super) log_ratios: Vec<f64>,
    pub(super) provenance: Provenance,
    /// The keys of what is said of KL, of the evidence and of moments.
    pub(super) keys: [&'static str; 3],
}

/// How L(y) follows from the bound Ĝ of an ascent: L = Ĝ + base, up to rounding.
struct Height {
    base: f64,
    lost: f64,
}

impl Session<'_> {
    /// A bound of ‖∇²U‖ in the region of the draws of q.
    fn steepest(&self) -> Result<Option<f64>> {
        let trace = |h: &Matrix| (0..h.rows()).map(|i| h[(i, i)]).sum::<f64>() * (1.0 + 1e-10);
        if let Some(upper) = self.upper() {
            return Ok(Some(trace(&upper)));
        }
        let Some(local) = self.target.target().local_curvature(self.q)? else { return Ok(None) };
        let upper = local.bounds(&[usual_reach(self.q.dim())])?.pop().and_then(|(_, upper)| upper);
        Ok(upper.map(|h| trace(&safe_congruence(&h, &self.factor, 0.0, 1.0))))
    }

    /// Makes the draws, after `before` others, and returns what they prove; `None` if the target is not finite at
    /// one of them.
    pub(super) fn measure_sharp(
        &mut self,
        residuals: &Residuals<'_>,
        metric: &Metric,
        sharp: &Sharp,
        before: u64,
    ) -> Result<Option<Mass>> {
        // What was measured before stays valid, whatever happens here.
        match self.mass(residuals, metric, sharp, before) {
            Err(Error::TargetNotFinite { .. } | Error::Target { .. } | Error::Stopped { .. }) => Ok(None),
            found => found.map(Some),
        }
    }

    fn mass(
        &mut self,
        residuals: &Residuals<'_>,
        metric: &Metric,
        sharp: &Sharp,
        before: u64,
    ) -> Result<Mass> {
        let Sharp { hat, cap, counts, delta, constant: f, .. } = sharp;
        let (f, d) = (*f, self.q.dim());
        let draws = Draws::new(self.seed, Purpose::Sharp);
        // Three separate streams per look.
        let stream = |part: u32| 3 * self.options.look + part;
        let bend = self.steepest()?;
        // The watch sees one count of draws, including those of the other statements.
        let total: u64 = before + 2 * counts[0] + counts[1] + counts[2];
        let mut done = before;

        // E_q min(ϖ, K)/K, in antithetic pairs.
        let fill = |k: u64, x: &mut [f64]| {
            draws.fill(k / 2, stream(0), x);
            if k % 2 == 1 {
                x.iter_mut().for_each(|x| *x = -*x);
            }
        };
        let mut pairs =
            Pairs::new(Sums::new(sharp.directions.clone(), d), Tally::new(&sharp.events), cap.exp());
        let mut log_ratios = Vec::new();
        let between = &mut *self.between;
        let mut ask = |k: u64, _: u64| between(done + k, total);
        residuals.visit(&fill, 2 * counts[0], [None; 2], &mut ask, &mut |at| {
            let (sides, shift) = log_weight(residuals, &at, f, bend);
            if pairs.first.is_none() {
                log_ratios.push(-at.value);
            }
            pairs.take(at.u, sides.map(|side| (side - cap).min(0.0).exp()), shift);
        })?;
        self.grounds.evaluations += 2 * pairs.upper.len() as u64;
        done += 2 * counts[0];

        // (min(p̃, h) − Kq)₊/h at draws of h; where h is below Kq it is zero.
        let between = &mut *self.between;
        let mut ask = |_: u64, _: u64| between(done, total);
        let (higher, made) = higher(&draws, stream(1), (hat, *cap), (counts[1] as usize, d), &mut ask)?;
        let fill = |k: u64, x: &mut [f64]| {
            draws.fill(higher[k as usize].draw, stream(1), x);
            hat.inner(x);
        };
        let mut inner = vec![0.0; made];
        let mut seen = 0;
        let between = &mut *self.between;
        let mut ask = |k: u64, _: u64| between(done + k, total);
        if !higher.is_empty() {
            residuals.visit(&fill, higher.len() as u64, [None; 2], &mut ask, &mut |at| {
                let here = &higher[seen];
                seen += 1;
                let p = log_density(residuals, &at, f, here.moved) + here.half - hat.height + here.lost;
                let above = p.min(0.0).exp() - here.core.exp() + 4.0 * f64::EPSILON;
                inner[here.draw as usize] = above.clamp(0.0, 1.0);
            })?;
        }
        // If the draws ended early, those before the first one that was not evaluated count.
        let looked = if seen < higher.len() { higher[seen].draw as usize } else { inner.len() };
        self.grounds.evaluations += seen as u64;
        done += counts[1];

        // g at draws of N(0, P).
        let between = &mut *self.between;
        let mut ask = |k: u64, _: u64| between(done + k, total);
        let fill = |k: u64, y: &mut [f64]| draws.fill(k, stream(2), y);
        let (outer, evaluations) =
            conjugates(residuals, metric, hat, f, &fill, counts[2], Some(hat.height), &mut ask)?;
        self.grounds.evaluations += evaluations;
        let outer: Vec<f64> = outer.iter().map(|l| -(hat.height - l).min(0.0).exp_m1()).collect();

        let k = cap.exp() * (1.0 + 4.0 * f64::EPSILON);
        let mass = hat.mass();
        self.grounds.mass_draws = Some((2 * pairs.upper.len() + looked + outer.len()) as u64);
        let [floor, ceiling] = sharp.believed;
        let core = k * betting::mean_upper(&pairs.upper, counts[0], floor, *delta);
        let eta = betting::mean_upper(&outer, counts[2], 0.0, *delta);
        let inner = betting::mean_upper(&inner[..looked], counts[1], 0.0, *delta);
        let beyond = (mass * inner + santalo::mass_beyond(mass, eta)) * (1.0 + 1e-12);
        let upper = (core + beyond) * (1.0 + 1e-12);
        let measured = cap.exp() * betting::mean_lower(&pairs.lower, counts[0], ceiling, *delta);
        // KL(q‖p) ≥ 0, for f itself.
        let least = self.exact.map_or(0.0, |f| (-f.error).exp());
        let lower = measured.max(least) * (1.0 - 1e-12);
        let (mut standings, mut every, mut events) = (Vec::new(), None, Vec::new());
        if upper.is_finite() && pairs.sums.is_sharp() {
            events = pairs.tally.conclude(&Known {
                // |½(min(ϖ, K) − 1)| at either place.
                range: (k - 1.0).max(1.0),
                planned: counts[0],
                failure_probability: EVENTS * sharp.moments_delta,
                guesses: &sharp.event_guesses,
                cubic: None,
                either: 0.0,
                above: beyond,
                whole: [lower, upper],
            });
        }
        if upper.is_finite() && !sharp.directions.is_empty() && pairs.sums.is_sharp() {
            let spreads: Vec<f64> = sharp.directions.chunks_exact(d).map(|v| hat.deviation(v)).collect();
            let rest = Rest {
                cap: k,
                planned: counts[0],
                failure_probability: sharp.moments_delta,
                mass,
                inner,
                eta,
                whole: [lower, upper],
            };
            standings = pairs.sums.conclude(&sharp.guesses, &spreads, &rest);
            every = pairs.sums.everywhere(&sharp.guesses, hat.spread, &rest)?;
        }
        let keys = ["sharp-kl", "sharp-evidence", "sharp-moments"];
        Ok(Mass {
            lower,
            upper,
            constant: f,
            standings,
            events,
            every,
            beyond,
            log_ratios,
            provenance: self.curvature.provenance(),
            keys,
        })
    }
}

/// Pairs of draws of q: min(ϖ, K)/K from below and from above, in the mean of both, and the moments.
struct Pairs {
    upper: Vec<f64>,
    lower: Vec<f64>,
    sums: Sums,
    tally: Tally,
    cap: f64,
    first: Option<[f64; 2]>,
}

impl Pairs {
    fn new(sums: Sums, tally: Tally, cap: f64) -> Self {
        Self { upper: Vec::new(), lower: Vec::new(), sums, tally, cap, first: None }
    }

    /// Adds a draw; every second one is the negative of the one before.
    fn take(&mut self, x: &[f64], weight: [f64; 2], shift: f64) {
        // A NaN counts as 0 from below; from above it is 1 already.
        let weight = [if weight[0].is_nan() { 0.0 } else { weight[0] }, weight[1]];
        let Some(first) = self.first.take() else {
            self.first = Some(weight);
            return;
        };
        self.lower.push(0.5 * (weight[0] + first[0]));
        self.upper.push(0.5 * (weight[1] + first[1]));
        let whole = |weight: [f64; 2]| weight.map(|w| w * self.cap);
        let (here, there) = (whole(weight), whole(first));
        let apart = self.sums.take(x, here, there, shift);
        if !self.tally.is_empty() {
            let weighed = |sign: f64, [low, high]: [f64; 2]| {
                let weight = 0.5 * (0.5 * (low + high) - 1.0);
                Weighed { sign, weight, off: 0.25 * (high - low) + 4.0 * f64::EPSILON * high }
            };
            self.tally.take(x, self.sums.along(), &[weighed(1.0, here), weighed(-1.0, there)], apart);
        }
    }
}

/// log p̃·(2π)^{d/2} = −U' at the draw, rounded up; the point of evaluation may be off by `moved` in addition to
/// its own shift.
fn log_density(residuals: &Residuals<'_>, at: &Seen<'_>, f: f64, moved: f64) -> f64 {
    let half = 0.5 * dot(at.u, at.u);
    f - (at.value + half) + lost(residuals, at, measured_slope(at), f, moved).0
}

/// log ϖ = −D' at a draw of q, rounded down and up, and a bound of the distance to the point of evaluation.
/// Rounding down needs `bend` ≥ ‖∇²U‖.
fn log_weight(residuals: &Residuals<'_>, at: &Seen<'_>, f: f64, bend: Option<f64>) -> ([f64; 2], f64) {
    let (lost, shift) = lost(residuals, at, measured_slope(at), f, 0.0);
    let value = f - at.value;
    let inside = bend.filter(|_| norm(at.u) + shift <= usual_reach(at.u.len()));
    let below = inside.map_or(f64::INFINITY, |bend| lost + 0.5 * bend * shift * shift);
    ([value - below, value + lost], shift)
}

/// ‖∇U‖ as it was measured.
fn measured_slope(at: &Seen<'_>) -> f64 {
    norm(at.residual) + norm(at.u)
}

/// Bound of how much −U' at the draw may exceed the measured value, and of the distance to the point of evaluation. `slope` bounds the
/// measured ‖∇U‖ at that point, or the true one.
pub(super) fn lost(residuals: &Residuals<'_>, at: &Seen<'_>, slope: f64, f: f64, moved: f64) -> (f64, f64) {
    let size = norm(at.u);
    let allowance = residuals.allowances().at(size);
    let shift = allowance.shift + moved;
    let sums = residuals.value_unit() * (at.size + f.abs() + size * size);
    (evaluated(&allowance, at) + sums + (slope + allowance.slope) * shift, shift)
}

/// Bound of the error of V at the point of evaluation: at least 1e-12 of V, which is the whole allowance if a
/// target states none.
fn evaluated(allowance: &Allowance, at: &Seen<'_>) -> f64 {
    allowance.value.max(1e-12 * at.potential.abs()) + allowance.constant
}

/// Upper bounds of L(y) at draws that `fill` makes from standard normal ones, and the number of evaluations. An
/// ascent may end once its bound is at most `goal`.
#[allow(clippy::too_many_arguments)] // one place calls it for the pilot, one for the audit
fn conjugates(
    residuals: &Residuals<'_>,
    metric: &Metric,
    hat: &Hat,
    f: f64,
    fill: &(dyn Fn(u64, &mut [f64]) + Sync),
    count: u64,
    goal: Option<f64>,
    between: &mut super::Between<'_>,
) -> Result<(Vec<f64>, u64)> {
    let mut ascents = residuals.ascent(metric, ENOUGH).by_themselves();
    let mut heights: Vec<Height> = Vec::new();
    let mut e = vec![0.0; residuals.dim()];
    let flat = metric.inverse_root().powi(2);
    let fill_outer = |k: u64, y: &mut [f64]| {
        fill(k, y);
        hat.outer(y);
    };
    residuals.visit(&fill_outer, count, [Some(metric), None], between, &mut |at| {
        let d = at.u.len();
        let size = dot(at.u, at.u);
        // ‖Sᵀy‖² = yᵀP⁻¹y, for the computed y.
        triangle::multiply_transposed(&hat.factor, at.u, &mut e);
        let half = 0.5 * dot(&e, &e);
        // Bound of the error of y itself: U*(y) changes by at most ‖∇U*‖ times that, and ∇U* is 1/λ-Lipschitz.
        let moved = hat.outer_moved(at.u);
        let reach = (size.sqrt() + residuals.gradient_norm() + moved) * flat;
        let allowance = residuals.allowances().at(size.sqrt());
        let sums = (3.0 * residuals.value_unit()) * (at.size + f.abs() + 2.0 * size + half)
            + (d + 8) as f64 * f64::EPSILON * hat.spread * hat.spread * size;
        // Error of the evaluation: of V there, and of ŷ·y instead of ‖y‖².
        let evaluated = evaluated(&allowance, &at) + allowance.shift * (size.sqrt() + allowance.shift);
        let lost = sums + evaluated + moved * (reach + hat.spread * (norm(&e) + hat.spread * moved));
        // L = Ĝ + base: Ĝ = U(y) + U*(y) − ‖y‖².
        let base = f - at.value + 0.5 * size - half;
        heights.push(Height { base, lost });
        let goal = goal.map_or(f64::NEG_INFINITY, |goal| goal - base - lost);
        ascents.take_until(at.u, at.potential, at.residual, at.squares[0], goal);
    })?;
    let made = heights.len() as u64;
    // Bets on a draw use the draws before it, whose ascents must not have ended because of later draws.
    let (bounds, first_ended, evaluations) = ascents.into_bounds();
    let all = bounds.iter().take(first_ended).zip(&heights).map(|(bound, h)| bound + h.base + h.lost);
    // A NaN counts as no bound.
    let all = all.map(|l| if l.is_nan() { f64::INFINITY } else { l }).collect();
    Ok((all, made + evaluations))
}
