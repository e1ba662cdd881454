//! Means and standard deviations of the groups' effects [marginal-moments].
//!
//! For an effect ζ = (u − m)/s, centred and scaled by q, let h_k(β) = E_p[ζᵏ | β], which the same nodes give. As β moves, every quantile of
//! p(u | β) moves by at most max_n |x_nᵀΔ/z_n|, so in the coordinates where q is standard, with L = max_n ‖Cᵀx_n/z_n‖/s,
//! ```text
//! |h₁(x) − h₁(0)| ≤ L‖x‖,   |h₂(x) − h₂(0)| ≤ 2√h₂(0)·L‖x‖ + L²‖x‖²
//! E_p ζᵏ = h_k(0) + E_q[ϖ(h_k − h_k(0))]/∫p̃
//! ```
//! The last mean is that of min(ϖ, K) times the difference, cut where these bounds are for ‖x‖ = R, which draws bound; what is cut off
//! follows from moments of ‖x‖ under q beyond R, and under (p̃ − Kq)₊ ([`Far`](super::Mass)).

use super::Plan;
use crate::base::chunked::{self, Chunks};
use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::Result;
use crate::base::linalg::norm;
use crate::base::matrix::packed_index;
use crate::base::stop;
use crate::certify::audit::Session;
use crate::certify::audit::residual::Residuals;
use crate::certify::audit::rounding::usual_reach;
use crate::certify::audit::sharp::{Mass, Standing, log_weight, standing};
use crate::glm::marginal::Room;
use crate::theory::betting::Wager;
use crate::theory::envelope::tail_moments;
use std::ops::Range;

/// R − √p.
const CUT: f64 = 3.5;
/// Pairs of draws of one thread at a time, between two checks of the watch, and of the pilot.
const TOGETHER: usize = 8;
const BLOCK: usize = 256;
const PILOT: usize = 32;

/// One effect: q's mean and deviation, L, h₁(0) and h₂(0), the places where differences are cut, and what h₁ and h₂ may be off by.
struct Effect {
    mean: f64,
    deviation: f64,
    slope: f64,
    here: [f64; 2],
    cuts: [f64; 2],
    off: [f64; 2],
}

/// ΣY and ΣY² over pairs for both variables, and the largest error of a Y.
#[derive(Clone, Copy, Default)]
struct Sums {
    each: [[f64; 2]; 2],
    off: [f64; 2],
}

impl Session<'_> {
    /// The moments of each effect; empty where they are not known.
    pub(super) fn measure_effects(
        &mut self,
        plan: &Plan,
        mass: &Mass,
        delta: f64,
        before: u64,
    ) -> Result<Vec<Standing>> {
        let Some((_, own)) = self.own else { return Ok(Vec::new()) };
        let (Some(far), true) = (mass.far, mass.lower > 0.0) else { return Ok(Vec::new()) };
        let (Plan { marginal, q, .. }, p) = (plan, plan.q.dim());
        let reach = (p as f64).sqrt() + CUT;
        let cap = plan.sharp.log_cap();
        let k = cap.exp() * (1.0 + 4.0 * f64::EPSILON);
        let seed = self.seed_of_marginal(2);
        let pairs = plan.options.draws as usize;
        let outcome = self.inside(marginal, q, &plan.options, 3, |session, residuals| {
            let Some(bend) = session.steepest()? else { return Ok(None) };
            let mut effects = effects(plan, own);
            let (mut room, mut slope, mut at) = (Room::default(), vec![0.0; p], 0);
            marginal.evaluate(q.mean(), &mut slope, &mut room, |i, room| {
                let effect = &mut effects[i];
                effect.here = conditional(effect, room);
                effect.cuts = effect.differences(reach);
                at += 1;
            });
            if at < effects.len() {
                return Ok(None);
            }
            let measure = Measure { plan, residuals, effects, bend, f: mass.constant, cap };
            let Some(pilot) = measure.pairs(seed, 0, 0..PILOT) else { return Ok(None) };
            let (mut sums, mut done) = (vec![Sums::default(); pilot.len()], 0);
            while done < pairs {
                let total = before + 2 * pairs as u64;
                if (session.between)(before + 2 * done as u64, total)?.is_break() || stop::is_wanted() {
                    break;
                }
                let block = BLOCK.min(pairs - done);
                let Some(more) = measure.pairs(seed, 1, done..done + block) else { return Ok(None) };
                sums.iter_mut().zip(&more).for_each(|(sums, more)| sums.add(more));
                done += block;
            }
            session.grounds.evaluations += 2 * (PILOT + done) as u64 + 1;
            Ok(Some((measure.effects, pilot, sums, done)))
        })?;
        let Some((effects, pilot, sums, done)) = outcome.filter(|found| found.3 > 0) else {
            return Ok(Vec::new());
        };
        let delta = delta / (4.0 * effects.len() as f64);
        let tails = tail_moments(p, reach * (1.0 - 1e-9));
        let n = done as f64;
        let all = effects.iter().zip(&pilot).zip(&sums).map(|((effect, pilot), sums)| {
            let bounds = [0, 1].map(|j| {
                let [sum, squares] = sums.each[j];
                let guess = (pilot.each[j][1] / PILOT as f64).sqrt();
                let range = 2.0 * k * effect.cuts[j];
                let root = (squares / n).sqrt() + sums.off[j];
                let margin = Wager::new(range.max(f64::MIN_POSITIVE), guess, pairs as u64, delta)
                    .margin(done as u64, n * root * root);
                let lost = sums.off[j] + (n + 8.0) * f64::EPSILON * root;
                // Beyond R under q, and where p̃ is above Kq.
                let rest = k * effect.moment([tails[1], tails[2]], j) + effect.moment(far, j);
                let middle = sum / n;
                [middle - margin - lost - rest, middle + margin + lost + rest].map(|x| {
                    let sign = [mass.lower, mass.upper];
                    [x / sign[0], x / sign[1]]
                })
            });
            let low = |j: usize| bounds[j][0][0].min(bounds[j][0][1]) + effect.here[j] - effect.off[j];
            let high = |j: usize| bounds[j][1][0].max(bounds[j][1][1]) + effect.here[j] + effect.off[j];
            standing([low(0), high(0)], [low(1), high(1)], [1.0; 2])
        });
        let all: Vec<Standing> = all.collect();
        let sound = all.iter().all(|s| s.mean[1] - s.mean[0] < f64::INFINITY);
        Ok(if sound { all } else { Vec::new() })
    }
}

/// Every effect, without its moments at x = 0.
fn effects(plan: &Plan, own: &super::Gaussian<super::Triangular>) -> Vec<Effect> {
    let of = |(column, drift): (usize, f64)| {
        let row = &own.factor()[packed_index(column, 0)..=packed_index(column, column)];
        let deviation = norm(row);
        let slope = drift / deviation * (1.0 + 1e-9);
        Effect { mean: own.mean()[column], deviation, slope, here: [0.0; 2], cuts: [0.0; 2], off: [0.0; 2] }
    };
    let mut out: Vec<Effect> = plan.marginal.drifts().map(of).collect();
    for (i, effect) in out.iter_mut().enumerate() {
        effect.off = plan.marginal.moment_errors(i, &plan.q, (effect.mean, effect.deviation));
    }
    out
}

/// h₁ and h₂ from the nodes.
fn conditional(effect: &Effect, room: &Room) -> [f64; 2] {
    let (nodes, weights) = room.nodes();
    let mut out = [0.0; 2];
    for (u, w) in nodes.iter().zip(weights) {
        let zeta = (u - effect.mean) / effect.deviation;
        out[0] += w * zeta;
        out[1] += w * zeta * zeta;
    }
    out
}

impl Effect {
    /// Bounds of the differences at ‖x‖ = r.
    fn differences(&self, r: f64) -> [f64; 2] {
        [self.moment([r, r * r], 0), self.moment([r, r * r], 1)]
    }

    /// The bound of the k-th difference as a combination of ‖x‖ and ‖x‖².
    fn moment(&self, [first, second]: [f64; 2], which: usize) -> f64 {
        let bound = match which {
            0 => self.slope * first,
            _ => {
                2.0 * (self.here[1] + self.off[1]).sqrt() * self.slope * first
                    + self.slope * self.slope * second
            }
        };
        bound * (1.0 + 1e-9)
    }
}

impl Sums {
    /// Adds the mean over a pair, from min(ϖ, K) from below and from above and (h₁, h₂) at both; draws may be off by `shift`.
    fn take(&mut self, effect: &Effect, weights: [[f64; 2]; 2], seen: [[f64; 2]; 2], shift: f64) {
        let moved = effect.differences(shift);
        for j in 0..2 {
            let cut = effect.cuts[j];
            let (mut y, mut off) = (0.0, 0.0f64);
            for ([low, high], seen) in weights.iter().zip(&seen) {
                y += 0.25 * (low + high) * (seen[j] - effect.here[j]).clamp(-cut, cut);
                let lost = 0.5 * (high - low) + 4.0 * f64::EPSILON * high;
                let off_here = high * 2.0 * (effect.off[j] + moved[j]) + lost * cut;
                off = if off_here.is_nan() { f64::INFINITY } else { off.max(off_here) };
            }
            self.each[j][0] += y;
            self.each[j][1] += y * y;
            self.off[j] = self.off[j].max(off);
        }
    }

    fn add(&mut self, other: &Self) {
        for j in 0..2 {
            self.each[j][0] += other.each[j][0];
            self.each[j][1] += other.each[j][1];
            // A NaN makes the error infinite.
            let off = other.off[j];
            self.off[j] = if off.is_nan() { f64::INFINITY } else { self.off[j].max(off) };
        }
    }
}

/// What a pair of draws is made with.
struct Measure<'m> {
    plan: &'m Plan,
    residuals: &'m Residuals<'m>,
    effects: Vec<Effect>,
    bend: f64,
    f: f64,
    cap: f64,
}

/// One draw: x, log p(β, x), its gradient, and h₁ and h₂ of each effect.
struct Drawn {
    x: Vec<f64>,
    value: f64,
    slope: Vec<f64>,
    seen: Vec<[f64; 2]>,
}

impl Drawn {
    fn new(plan: &Plan, effects: &[Effect], x: Vec<f64>, room: &mut Room) -> Self {
        let p = plan.q.dim();
        let (mut z, mut slope, mut seen) = (vec![0.0; p], vec![0.0; p], Vec::with_capacity(effects.len()));
        plan.q.transport(&x, &mut z);
        let value = plan.marginal.evaluate(&z, &mut slope, room, |i, room| {
            seen.push(conditional(&effects[i], room));
        });
        slope.iter_mut().for_each(|g| *g = -*g);
        Self { x, value, slope, seen }
    }
}

impl Measure<'_> {
    /// Sums over these pairs; `None` if the density is not finite at one of them.
    fn pairs(&self, seed: Seed, stream: u32, which: Range<usize>) -> Option<Vec<Sums>> {
        let (draws, p) = (Draws::new(seed, Purpose::Sharp), self.plan.q.dim());
        let len = which.len();
        let work = len.saturating_mul(2 * self.plan.marginal.work());
        let (plan, effects) = (self.plan, &self.effects);
        let part = |range: Range<usize>| {
            let mut room = Room::default();
            let pair = |k: usize| {
                let mut x = vec![0.0; p];
                draws.fill(k as u64, stream, &mut x);
                let other = x.iter().map(|x| -x).collect();
                [x, other].map(|x| Drawn::new(plan, effects, x, &mut room))
            };
            (which.start + range.start..which.start + range.end).map(pair).collect::<Vec<_>>()
        };
        let chunks = Chunks { len, size: TOGETHER, work };
        let found = chunked::alike(work, || chunked::map(chunks, part));
        let mut out = vec![Sums::default(); effects.len()];
        let mut pulled = vec![0.0; p];
        for pair in found.iter().flatten() {
            let (mut weights, mut shifts) = ([[0.0; 2]; 2], 0.0f64);
            for (drawn, weight) in pair.iter().zip(&mut weights) {
                if !drawn.value.is_finite() || norm(&drawn.x) > usual_reach(p) {
                    return None;
                }
                let at = self.residuals.at(&drawn.x, drawn.value, &drawn.slope, &mut pulled);
                let (sides, shift) = log_weight(self.residuals, &at, self.f, Some(self.bend));
                *weight = sides.map(|x| x.min(self.cap).exp());
                shifts = shifts.max(shift);
            }
            for (i, (effect, sums)) in effects.iter().zip(&mut out).enumerate() {
                sums.take(effect, weights, [pair[0].seen[i], pair[1].seen[i]], shifts);
            }
        }
        Some(out)
    }
}
