//! KL and evidence by the mass of p itself, measured under proved control of the region that no draw of q would see [sharp-kl].
//!
//! In the coordinates where q = N(0, I), let p̃ = (2π)^{−d/2}e^{−U'} with U'(x) = V(m+Cx) − (d/2) log 2π − log det C − f, so that
//! ϖ = p̃/q = e^{f−D} and ∫p̃ = e^{KL(q‖p)}. For every K and every h = e^κ(2π)^{−d/2}e^{−½xᵀPx} of mass M
//! ```text
//! ∫p̃ ≤ E_q min(ϖ, K)  +  M·E_{N(0,P⁻¹)}[(min(p̃, h) − Kq)₊/h]  +  M(1/m(η) − 1)
//! η = E_{y~N(0,P)}(1 − e^{κ−L(y)})₊,   L(y) = U'*(y) − ½yᵀP⁻¹y
//! ```
//! The last term bounds ∫(p̃ − h)₊ ([`santalo`]). All three means are of variables in a known range, so betting bounds them
//! ([`betting`]); K, P and κ are chosen on pilot draws. What L needs is a bound of U'* from above, and any point x gives one:
//! U'*(y) ≤ x·y − U'(x) + ½‖y − ∇U(x)‖² in the norm of H_lo⁻¹. So V convex with some H_lo ≻ 0 is all that is asked for.
//!
//! Rounding: V is convex, so p̃ at the draw is at most p̃ at the place x̂ where the target was evaluated times
//! e^{‖∇U(x̂)‖·‖x − x̂‖}: no upper curvature is needed to move a bound of p̃ upwards.

mod moments;

use super::metric::Metric;
use super::residual::{Residuals, Seen};
use super::rounding::{Allowance, usual_reach};
use super::{ExactValue, Session};
use crate::base::chunked::{self, Chunks};
use crate::base::draws::{Draws, Purpose};
use crate::base::error::{Error, Result};
use crate::base::linalg::{inverse_factor, norm, safe_congruence};
use crate::base::matrix::{Matrix, packed_index, packed_len};
use crate::base::stop;
use crate::target::LocalCurvature;
use crate::target::curvature::Provenance;
use crate::theory::{betting, santalo};
pub(crate) use moments::Standing;
use moments::{Rest, Sums};
use provi_kernels::{dot, triangle};

/// Pilot draws: pairs that choose K, and ascents that choose each h.
const PILOT_PAIRS: u64 = 300;
const PILOT_ASCENTS: u64 = 200;
/// Radii, in the coordinates where q is standard, whose lowest curvature is tried as P.
const RADII: [f64; 4] = [0.2, 0.4, 0.7, 1.1];
/// Where only H_lo is known: parts of it beside I.
const PARTS: [f64; RADII.len()] = [0.02, 0.07, 0.2, 0.4];
/// Shares of the draws: pairs of q, draws of h, ascents.
const SHARES: [f64; 3] = [0.4, 1.5, 0.6];
/// The most columns whose means and deviations are measured one by one: a draw costs d² for them.
const COLUMNS: usize = 400;
/// The most draws: their numbers are kept until they are bounded.
const MOST: u64 = 1_000_000;
/// What an ascent need not find, in nats.
const ENOUGH: f64 = 1e-3;

/// h, by S with SSᵀ = P⁻¹, lower triangular and packed. P is what S makes it: no rounding is behind it.
struct Hat {
    factor: Vec<f64>,
    /// κ.
    height: f64,
    /// log det S, and the sum of the sizes of its terms.
    volume: f64,
    logs: f64,
    /// ‖S‖_F, and ‖S⁻¹‖_F or more.
    spread: f64,
    inverse: f64,
}

impl Hat {
    fn new(precision: &Matrix) -> Option<Self> {
        let d = precision.rows();
        let mut factor = vec![0.0; packed_len(d)];
        inverse_factor("h", precision, &mut factor).ok()?;
        let logs: Vec<f64> = (0..d).map(|i| factor[packed_len(i + 1) - 1].ln()).collect();
        let (volume, sizes) = (logs.iter().sum::<f64>(), logs.iter().map(|x| x.abs()).sum::<f64>());
        let root = (0..d).map(|i| precision[(i, i)]).sum::<f64>().sqrt();
        let spread = norm(&factor);
        // S⁻¹ is the factor of `precision` up to dε‖S⁻¹‖‖S‖ of itself, so a tenth more bounds it where that is small.
        if !(4.0 * d as f64 * f64::EPSILON * root * spread < 0.05 && volume.is_finite()) {
            return None;
        }
        Some(Self { factor, height: 0.0, volume, logs: sizes, spread, inverse: 1.1 * root })
    }

    /// M, rounded up.
    fn mass(&self) -> f64 {
        let lost = (self.factor.len() + 8) as f64 * f64::EPSILON * (self.logs + self.height.abs());
        (self.height + self.volume + lost).exp() * (1.0 + 1e-12)
    }

    /// The standard deviation of v·x under h: ‖Sᵀv‖, rounded up.
    fn deviation(&self, v: &[f64]) -> f64 {
        let mut pulled = vec![0.0; v.len()];
        triangle::multiply_transposed(&self.factor, v, &mut pulled);
        norm(&pulled) * (1.0 + 1e-10) + (v.len() + 8) as f64 * f64::EPSILON * self.spread
    }

    /// x = Se ~ N(0, P⁻¹) in place of e, and what rounding may have moved it by: (d+4)ε of |S||e|.
    fn inner(&self, x: &mut [f64]) -> f64 {
        let moved = (x.len() + 4) as f64 * f64::EPSILON * self.spread * norm(x);
        for i in (0..x.len()).rev() {
            x[i] = dot(&self.factor[packed_index(i, 0)..=packed_index(i, i)], &x[..=i]);
        }
        moved
    }

    /// y = S⁻ᵀe ~ N(0, P) in place of e.
    fn outer(&self, y: &mut [f64]) {
        triangle::solve_transposed(&self.factor, y);
    }

    /// What rounding may have moved such a y by: the solve is exact for a matrix within dε of |S|.
    fn outer_moved(&self, y: &[f64]) -> f64 {
        2.0 * (y.len() + 4) as f64 * f64::EPSILON * self.spread * self.inverse * norm(y)
    }
}

/// The route as the pilot chose it.
pub(super) struct Sharp {
    hat: Hat,
    /// log K.
    cap: f64,
    /// What E_q min(ϖ, K)/K is believed to lie between; where it seems not to, bounds stop there.
    believed: [f64; 2],
    /// Pairs of q, draws of h, ascents.
    counts: [u64; 3],
    /// The share of δ of each of the four means, and that of all moments together.
    delta: f64,
    moments_delta: f64,
    /// Directions of the coefficients, and deviations of what their moments are measured by.
    directions: Vec<f64>,
    guesses: Vec<[f64; 2]>,
}

/// What it proves: ∫p̃ for the f that it was given, from both sides, and how each coefficient stands under p; nothing of them where no
/// upper curvature is known.
#[derive(Clone, Debug)]
pub(super) struct Mass {
    pub(super) lower: f64,
    pub(super) upper: f64,
    pub(super) standings: Vec<Standing>,
    /// −D at the first draw of each pair.
    pub(super) log_ratios: Vec<f64>,
    pub(super) provenance: Provenance,
}

/// What makes L(y) of the bound Ĝ of an ascent: L = Ĝ + base, up to what rounding may have lost.
struct Height {
    base: f64,
    lost: f64,
}

impl Session<'_> {
    /// Whether this route will prove less than `plain` nats, as far as the pilot can tell.
    pub(super) fn consider_sharp(
        &mut self,
        residuals: &Residuals<'_>,
        metric: &Metric,
        plain: f64,
        delta: f64,
    ) -> Result<Option<Sharp>> {
        let Some(exact) = self.exact else { return Ok(None) };
        let total = self.options.draws.min(MOST) as f64;
        let counts = SHARES.map(|share| (share * total).max(1.0) as u64);
        let (delta, moments_delta) = (delta / 8.0, delta / 2.0);
        let log = (1.0 / delta).ln();
        // What confidence alone costs where h has the mass of q.
        let floor = log * (1.0 / counts[1] as f64 + 1.0 / counts[2] as f64);
        if plain <= 1.2 * floor {
            return Ok(None);
        }
        // Once a stop is wanted the time is better spent on the draws of the other statements.
        if stop::check_early().is_err() {
            return Ok(None);
        }
        let pilot = Pilot { residuals, metric, f: exact.value, draws: Draws::new(self.seed, Purpose::Pilot) };
        let core = pilot.core(self, counts[0], log)?;
        let Some(core) = core.filter(|core| core.excess + floor < plain) else { return Ok(None) };
        let mut best: Option<(f64, Hat)> = None;
        let local = self.target.target().local_curvature(self.q)?;
        for k in 0..RADII.len() {
            if stop::check_early().is_err() {
                return Ok(None);
            }
            let Some(hat) = self.candidate(local.as_deref(), k)? else { continue };
            let Some((price, height)) = pilot.price(self, &hat, counts, log)? else { continue };
            let better = best.as_ref().is_none_or(|(known, _)| price < *known);
            if better {
                best = Some((price, Hat { height, ..hat }));
            } else {
                // The radii are in order: from the best one on they only get worse.
                break;
            }
        }
        let Some((price, hat)) = best else { return Ok(None) };
        let predicted = (core.excess + price).ln_1p();
        let Core { cap, believed, directions, guesses, .. } = core;
        Ok((predicted < plain).then_some(Sharp {
            hat,
            cap,
            believed,
            counts,
            delta,
            moments_delta,
            directions,
            guesses,
        }))
    }

    /// The coefficients as unit vectors in the coordinates where q is standard: those of the audit, which are the user's up to their units,
    /// and the user's intercept where it is another. None where there are too many.
    fn directions(&self) -> Vec<f64> {
        let d = self.q.dim();
        if d > COLUMNS {
            return Vec::new();
        }
        let unit = |i: usize| (0..d).map(|j| f64::from(u8::from(i == j))).collect::<Vec<f64>>();
        let intercept = self.image.intercept().map(|i| self.image.pull(&unit(i)));
        let mut out = Vec::new();
        for v in (0..d).map(unit).chain(intercept) {
            let mut pulled = vec![0.0; d];
            triangle::multiply_transposed(self.q.factor(), &v, &mut pulled);
            let size = norm(&pulled);
            out.extend(pulled.iter().map(|x| x / size));
        }
        if out.iter().all(|x| x.is_finite()) { out } else { Vec::new() }
    }

    /// A bound of ‖∇²U‖ where draws of q are.
    fn steepest(&self) -> Result<Option<f64>> {
        let trace = |h: &Matrix| (0..h.rows()).map(|i| h[(i, i)]).sum::<f64>() * (1.0 + 1e-10);
        if let Some(upper) = self.upper() {
            return Ok(Some(trace(&upper)));
        }
        let Some(local) = self.target.target().local_curvature(self.q)? else { return Ok(None) };
        let upper = local.bounds(&[usual_reach(self.q.dim())])?.pop().and_then(|(_, upper)| upper);
        Ok(upper.map(|h| trace(&safe_congruence(&h, &self.factor, 0.0, 1.0))))
    }

    /// The k-th candidate for P: the least curvature near q, or H_lo mixed into I.
    fn candidate(&self, local: Option<&dyn LocalCurvature>, k: usize) -> Result<Option<Hat>> {
        let d = self.q.dim();
        let lower = match local {
            Some(local) => local.lower(&RADII[k..=k])?.swap_remove(0),
            None => self.curvature.lower().to_matrix(d),
        };
        let mut precision = safe_congruence(&lower, &self.factor, 0.0, -1.0);
        if local.is_none() {
            precision.entries_mut().iter_mut().for_each(|x| *x *= PARTS[k]);
            (0..d).for_each(|i| precision[(i, i)] += 1.0 - PARTS[k]);
        }
        Ok(Hat::new(&precision))
    }

    /// Draws, after `before` others, and what they prove; nothing where the target has no number at one of them.
    pub(super) fn measure_sharp(
        &mut self,
        residuals: &Residuals<'_>,
        metric: &Metric,
        sharp: &Sharp,
        before: u64,
    ) -> Result<Option<Mass>> {
        let Some(exact) = self.exact else { return Ok(None) };
        // What was measured before stands, whatever happens here.
        match self.mass(residuals, metric, sharp, (exact, before)) {
            Err(Error::TargetNotFinite { .. } | Error::Target { .. } | Error::Stopped { .. }) => Ok(None),
            found => found.map(Some),
        }
    }

    fn mass(
        &mut self,
        residuals: &Residuals<'_>,
        metric: &Metric,
        sharp: &Sharp,
        (exact, before): (ExactValue, u64),
    ) -> Result<Mass> {
        let Sharp { hat, cap, counts, delta, .. } = sharp;
        let (f, d) = (exact.value, self.q.dim());
        let draws = Draws::new(self.seed, Purpose::Sharp);
        // Three streams a look, each of its own.
        let stream = |part: u32| 3 * self.options.look + part;
        let bend = self.steepest()?;
        // Whoever watches sees one count of draws, those of the other statements included.
        let total: u64 = before + 2 * counts[0] + counts[1] + counts[2];
        let mut done = before;

        // E_q min(ϖ, K)/K, in antithetic pairs.
        let fill = |k: u64, x: &mut [f64]| {
            draws.fill(k / 2, stream(0), x);
            if k % 2 == 1 {
                x.iter_mut().for_each(|x| *x = -*x);
            }
        };
        let mut pairs = Pairs::new(Sums::new(sharp.directions.clone(), d), cap.exp());
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
        let higher = higher(&draws, stream(1), hat, *cap, counts[1], d);
        let fill = |k: u64, x: &mut [f64]| {
            draws.fill(higher[k as usize].draw, stream(1), x);
            hat.inner(x);
        };
        let mut inner = vec![0.0; counts[1] as usize];
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
        // Where the draws ended early, those before the first that was not looked at count.
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
        let upper = (core + mass * inner + santalo::mass_beyond(mass, eta)) * (1.0 + 1e-12);
        let measured = cap.exp() * betting::mean_lower(&pairs.lower, counts[0], ceiling, *delta);
        // KL(q‖p) ≥ 0, for f itself.
        let lower = (measured * (1.0 - 1e-12)).max((-exact.error).exp() * (1.0 - 1e-12));
        let mut standings = Vec::new();
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
        }
        Ok(Mass { lower, upper, standings, log_ratios, provenance: self.curvature.provenance() })
    }
}

/// Pairs of draws of q: min(ϖ, K)/K from below and from above, in the mean of both, and the moments.
struct Pairs {
    upper: Vec<f64>,
    lower: Vec<f64>,
    sums: Sums,
    cap: f64,
    first: Option<[f64; 2]>,
}

impl Pairs {
    fn new(sums: Sums, cap: f64) -> Self {
        Self { upper: Vec::new(), lower: Vec::new(), sums, cap, first: None }
    }

    /// Takes in a draw; every second one is the negative of the one before.
    fn take(&mut self, x: &[f64], weight: [f64; 2], shift: f64) {
        // A NaN is no weight from below; from above it is 1 already.
        let weight = [if weight[0].is_nan() { 0.0 } else { weight[0] }, weight[1]];
        let Some(first) = self.first.take() else {
            self.first = Some(weight);
            return;
        };
        self.lower.push(0.5 * (weight[0] + first[0]));
        self.upper.push(0.5 * (weight[1] + first[1]));
        let whole = |weight: [f64; 2]| weight.map(|w| w * self.cap);
        let (here, there) = (whole(weight), whole(first));
        self.sums.take(x, here, there, shift);
    }
}

/// A draw of h where h is above Kq.
struct Higher {
    draw: u64,
    /// ½‖e‖².
    half: f64,
    /// log Kq/h, rounded down.
    core: f64,
    /// What rounding may have moved x by, and what the sums of two logarithms may have lost.
    moved: f64,
    lost: f64,
}

/// The draws of h where h is above Kq, in their order.
fn higher(draws: &Draws, stream: u32, hat: &Hat, cap: f64, count: u64, d: usize) -> Vec<Higher> {
    let work = (count as usize).saturating_mul(d * (d + 16));
    let chunks = Chunks { len: count as usize, size: 512, work };
    let parts = chunked::map(chunks, |range| {
        let (mut x, mut out) = (vec![0.0; d], Vec::new());
        for draw in range {
            draws.fill(draw as u64, stream, &mut x);
            let half = 0.5 * dot(&x, &x);
            let moved = hat.inner(&mut x);
            let size = dot(&x, &x);
            let lost = (d + 8) as f64 * f64::EPSILON * (half + size) + moved * (size.sqrt() + moved);
            let few = 8.0 * f64::EPSILON * (1.0 + cap + hat.height.abs() + half);
            let core = cap + half - 0.5 * size - hat.height - lost - few;
            // A NaN is looked at.
            if core.is_nan() || core < 0.0 {
                out.push(Higher { draw: draw as u64, half, core, moved, lost: few });
            }
        }
        out
    });
    parts.into_iter().flatten().collect()
}

/// log p̃·(2π)^{d/2} = −U' at the draw, rounded up; the place of evaluation may be off by `moved` besides its own shift.
fn log_density(residuals: &Residuals<'_>, at: &Seen<'_>, f: f64, moved: f64) -> f64 {
    let half = 0.5 * dot(at.u, at.u);
    f - (at.value + half) + lost(residuals, at, f, moved).0
}

/// log ϖ = −D' at a draw of q, rounded down and up, and how far the place of evaluation may be away. Downwards it takes `bend` ≥ ‖∇²U‖.
fn log_weight(residuals: &Residuals<'_>, at: &Seen<'_>, f: f64, bend: Option<f64>) -> ([f64; 2], f64) {
    let (lost, shift) = lost(residuals, at, f, 0.0);
    let value = f - at.value;
    let inside = bend.filter(|_| norm(at.u) + shift <= usual_reach(at.u.len()));
    let below = inside.map_or(f64::INFINITY, |bend| lost + 0.5 * bend * shift * shift);
    ([value - below, value + lost], shift)
}

/// What −U' at the draw may be above what was measured, and how far the place of evaluation may be away.
fn lost(residuals: &Residuals<'_>, at: &Seen<'_>, f: f64, moved: f64) -> (f64, f64) {
    let size = norm(at.u);
    let allowance = residuals.allowances().at(size);
    let shift = allowance.shift + moved;
    let slope = norm(at.residual) + size + allowance.slope;
    let sums = residuals.value_unit() * (at.size + f.abs() + size * size);
    (evaluated(&allowance, at) + sums + slope * shift, shift)
}

/// What V may be off by where it was evaluated: at least 1e-12 of it, which is all that is allowed where a target does not say.
fn evaluated(allowance: &Allowance, at: &Seen<'_>) -> f64 {
    allowance.value.max(1e-12 * at.potential.abs()) + allowance.constant
}

/// Bounds of L(y) from above, at draws that `fill` makes from standard normal ones, and the evaluations that they took. An ascent may end
/// where its bound is at most `goal`.
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
        // ‖Sᵀy‖² = yᵀP⁻¹y, from y as it is.
        triangle::multiply_transposed(&hat.factor, at.u, &mut e);
        let half = 0.5 * dot(&e, &e);
        // y itself may be off by this: U*(y) moves by at most ‖∇U*‖ times that, and ∇U* is 1/λ-Lipschitz.
        let moved = hat.outer_moved(at.u);
        let reach = (size.sqrt() + residuals.gradient_norm() + moved) * flat;
        let allowance = residuals.allowances().at(size.sqrt());
        let sums = (3.0 * residuals.value_unit()) * (at.size + f.abs() + 2.0 * size + half)
            + (d + 8) as f64 * f64::EPSILON * hat.spread * hat.spread * size;
        // Of the evaluation: V there, and ŷ·y in place of ‖y‖².
        let evaluated = evaluated(&allowance, &at) + allowance.shift * (size.sqrt() + allowance.shift);
        let lost = sums + evaluated + moved * (reach + hat.spread * (norm(&e) + hat.spread * moved));
        // L = Ĝ + base: Ĝ = U(y) + U*(y) − ‖y‖².
        let base = f - at.value + 0.5 * size - half;
        heights.push(Height { base, lost });
        let goal = goal.map_or(f64::NEG_INFINITY, |goal| goal - base - lost);
        ascents.take_until(at.u, at.potential, at.residual, at.squares[0], goal);
    })?;
    let made = heights.len() as u64;
    // Bets on a draw rest on those before it, which must not have been ended by what happened to later ones.
    let (bounds, first_ended, evaluations) = ascents.into_bounds();
    let all = bounds.iter().take(first_ended).zip(&heights).map(|(bound, h)| bound + h.base + h.lost);
    // A NaN is no bound.
    let all = all.map(|l| if l.is_nan() { f64::INFINITY } else { l }).collect();
    Ok((all, made + evaluations))
}

/// What the pilot's pairs chose.
struct Core {
    /// log K.
    cap: f64,
    believed: [f64; 2],
    excess: f64,
    directions: Vec<f64>,
    guesses: Vec<[f64; 2]>,
}

/// Draws that choose.
struct Pilot<'p> {
    residuals: &'p Residuals<'p>,
    metric: &'p Metric,
    f: f64,
    draws: Draws,
}

impl Pilot<'_> {
    /// K, what E_q min(ϖ, K) − 1 will come to with its confidence, and how the moments spread.
    fn core(&self, session: &mut Session<'_>, count: u64, log: f64) -> Result<Option<Core>> {
        let (mut values, mut points, draws) = (Vec::new(), Vec::new(), self.draws);
        let fill = |k: u64, x: &mut [f64]| {
            draws.fill(k / 2, 1, x);
            if k % 2 == 1 {
                x.iter_mut().for_each(|x| *x = -*x);
            }
        };
        let mut ask = super::residual::go_on;
        let visited = self.residuals.visit(&fill, 2 * PILOT_PAIRS, [None; 2], &mut ask, &mut |at| {
            values.push(self.f - at.value);
            points.extend_from_slice(at.u);
        });
        session.grounds.evaluations += values.len() as u64;
        match visited {
            Err(Error::TargetNotFinite { .. } | Error::Target { .. }) => return Ok(None),
            other => other?,
        }
        let (_, deviation) = spread(&values);
        let cap = (4.0 * deviation).clamp(0.3, 2.5);
        let (d, directions) = (session.q.dim(), session.directions());
        let mut pairs = Pairs::new(Sums::new(directions.clone(), d), cap.exp());
        for (x, value) in points.chunks_exact(d).zip(&values) {
            pairs.take(x, [(value - cap).min(0.0).exp(); 2], 0.0);
        }
        let (mean, deviation) = spread(&pairs.upper);
        let width = deviation * (2.0 * log / count as f64).sqrt();
        let excess = cap.exp() * (mean + width) - 1.0;
        let guesses = pairs.sums.deviations();
        let near = 0.03 + 4.0 * deviation / (PILOT_PAIRS as f64).sqrt();
        let believed = [(mean - near).max(0.0), (mean + near).min(1.0)];
        Ok(excess.is_finite().then_some(Core { cap, believed, excess: excess.max(0.0), directions, guesses }))
    }

    /// What the second and third term will come to under h, at the best κ, and that κ.
    fn price(
        &self,
        session: &mut Session<'_>,
        hat: &Hat,
        counts: [u64; 3],
        log: f64,
    ) -> Result<Option<(f64, f64)>> {
        let draws = self.draws;
        let fill = |k: u64, y: &mut [f64]| draws.fill(k, 2, y);
        let mut ask = super::residual::go_on;
        let found =
            conjugates(self.residuals, self.metric, hat, self.f, &fill, PILOT_ASCENTS, None, &mut ask);
        let (heights, evaluations) = match found {
            Err(Error::TargetNotFinite { .. } | Error::Target { .. }) => return Ok(None),
            other => other?,
        };
        session.grounds.evaluations += evaluations;
        let (_, deviation) = spread(&heights);
        let top = heights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !top.is_finite() || !deviation.is_finite() {
            return Ok(None);
        }
        let unit = (deviation / 3.0).max(1e-6);
        let mut best: Option<(f64, f64)> = None;
        for step in -8..=24 {
            let height = top + 0.5 * f64::from(step) * unit;
            let n = heights.len() as f64;
            let seen: f64 = heights.iter().map(|l| -(height - l).min(0.0).exp_m1()).sum::<f64>() / n;
            // What so few draws do not show falls off like an exponential.
            let hidden = 0.5 / n * unit.min(1.0) * (-(height - top).max(0.0) / unit).exp();
            let mass = (height + hat.volume).exp();
            let eta = seen + hidden + log / counts[2] as f64;
            let price = mass * log / counts[1] as f64 + santalo::mass_beyond(mass, eta);
            if price.is_finite() && best.is_none_or(|(known, _)| price < known) {
                best = Some((price, height));
            }
        }
        Ok(best)
    }
}

/// Mean and standard deviation.
fn spread(values: &[f64]) -> (f64, f64) {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certify::certificate::DRAWS_OF_MASS;

    #[test]
    fn the_shares_add_up_to_what_certificates_say() {
        let [pairs, inner, outer] = SHARES;
        assert!((2.0 * pairs + inner + outer - DRAWS_OF_MASS).abs() < 1e-12);
    }
}
