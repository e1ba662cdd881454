//! The default algorithm for a target that only has log p and its gradient.
//!
//! Mode → Laplace → natural-gradient steps with sticking-the-landing noise → average. In coordinates whitened by
//! the current q, s̃(u) = Cᵀ∇V(m + Cu) − u has mean g̃ = CᵀE∇V and E s̃uᵀ = CᵀE∇²VC − I, and one step makes
//! ```text
//! P̃ = I + ρS + ½ρ²S²,   S = sym(mean of s̃uᵀ),     C ← C·R with RRᵀ = P̃⁻¹,     m ← m − ρC·RRᵀ·(mean of s̃)
//! ```
//! Its fixed point is that of the exact problem, E∇V = 0 and E∇²V = (CCᵀ)⁻¹, and P̃ is positive definite for any S.
//! Two devices reduce the noise. First, draws come in pairs ±u: the even part of s̃, its skewness, then cancels
//! exactly from S, and the odd part from the mean. Second, the u of a step are orthogonal, each still N(0, I):
//! along d of them a quadratic V is seen without noise. With B pairs in dimension d the mean square of a step's
//! error is smallest for
//! ```text
//! ρ = B/(max{B, d} + 2)
//! ```
//! while the answer is still far away. The best ρ is smaller once noise outweighs progress, which shows when two
//! successive residuals point in opposite directions (Kesten): after K such turns ρ is multiplied by (1 +
//! K/2)^(−2/3). Averaging removes the rest of the noise. If steps add up in one direction instead, the answer is
//! farther away than the noise suggested: most turns are then forgotten, and the average restarts.
//!
//! No theorem is claimed for these steps, and none is needed: a certificate is computed at the answer.

mod begin;
mod drift;

use crate::base::coupling::Coupling;
use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::{add_gram, inverse_factor, multiply, multiply_transposed, norm};
use crate::base::matrix::{Matrix, pack_lower, packed_len, unpack_lower};
use crate::base::scalar::{NonNegative, Positive};
use crate::base::scratch::Scratch;
use crate::base::stop;
use crate::base::together::Together;
use crate::sgd::fit::NegElbo;
use crate::target::evaluate::Evaluator;
use drift::Drift;
use provi_kernels::{axpy, dot};

/// Least number of pairs per step; fewer would be too noisy in a small dimension.
const PAIRS: usize = 8;
/// After this many successive halvings, a target that is not finite is given up.
const HALVINGS: u32 = 60;

/// Options of an ascent.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Where the search for the mode begins; the origin if empty.
    pub start: Vec<f64>,
    /// How near the mode the steps begin, in nats.
    pub mode_accuracy: f64,
    /// In the average, the weight of the iterate after n evaluations is proportional to n^power.
    pub power: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self { start: Vec::new(), mode_accuracy: 0.05, power: 3.0 }
    }
}

/// A run that can be inspected and continued.
///
/// ```
/// use provi::{Seed, ascent::{Ascent, Options}, target::Closure};
///
/// let target = Closure::new(1, |z: &[f64], gradient: &mut [f64]| {
///     gradient[0] = -2.0 * (z[0] - 3.0);
///     -(z[0] - 3.0).powi(2)
/// })?;
/// let mut ascent = Ascent::new(&target, Seed(1), Options::default())?;
/// ascent.advance(200)?;
/// assert!((ascent.current().mean()[0] - 3.0).abs() < 1e-6);
/// # Ok::<(), provi::Error>(())
/// ```
#[derive(Debug)]
pub struct Ascent<'a> {
    view: Evaluator<'a>,
    draws: Draws,
    /// Pairs of a full step, and their points where they are of a net.
    pairs: usize,
    net: Option<Together>,
    power: f64,
    q: Gaussian<Triangular>,
    /// The last q whose draws were all finite, once there is one.
    safe: Option<Gaussian<Triangular>>,
    /// The average; empty before the first step.
    average: Vec<f64>,
    step: u64,
    halvings: u64,
    rejected: u64,
    /// The residuals of the last step, and how often two successive ones pointed in opposite directions.
    last: Vec<f64>,
    turns: u64,
    drift: Drift,
    evaluations: u64,
    /// Evaluations that the average covers.
    spent: u64,
    room: Room,
}

/// Working memory of a step.
#[derive(Debug, Default)]
struct Room {
    u: Vec<f64>,
    points: Vec<f64>,
    values: Vec<f64>,
    pulls: Vec<f64>,
    whitened: Vec<f64>,
    scratch: Vec<Scratch>,
}

impl<'a> Ascent<'a> {
    /// Climbs to a mode and takes the curvature there, or at a better point of the climb; every evaluation of the
    /// gradient counts.
    pub fn new(target: impl Into<Evaluator<'a>>, seed: Seed, options: Options) -> Result<Self> {
        let view = target.into();
        let d = view.dim();
        Positive::new("accuracy of the mode", options.mode_accuracy)?;
        NonNegative::new("power of the average", options.power)?;
        let start = if options.start.is_empty() { vec![0.0; d] } else { options.start };
        let (q, evaluations) = begin::begin(view, seed, &start, options.mode_accuracy)?;
        Ok(Self { power: options.power, evaluations, ..Self::from_gaussian(view, seed, q) })
    }

    /// Begins with this Gaussian; no evaluation is made.
    pub(crate) fn from_gaussian(view: Evaluator<'a>, seed: Seed, q: Gaussian<Triangular>) -> Self {
        Self {
            view,
            draws: Draws::new(seed, Purpose::Optimise),
            pairs: view.dim().max(PAIRS),
            net: None,
            power: Options::default().power,
            average: Vec::new(),
            q,
            safe: None,
            step: 0,
            halvings: 0,
            rejected: 0,
            last: Vec::new(),
            turns: 0,
            drift: Drift::default(),
            evaluations: 0,
            spent: 0,
            room: Room::default(),
        }
    }

    /// Keeps the counts of an ascent that this one replaces.
    pub(crate) fn continuing(self, other: &Self) -> Self {
        let Self { evaluations, step, halvings, rejected, .. } = *other;
        Self { evaluations, step, halvings, rejected, ..self }
    }

    /// Makes each step on ± this many scrambled Sobol' points. Many of them in few dimensions see the residuals almost without noise, so
    /// that the steps are long and the answer is the last iterate.
    pub(crate) fn on_nets(self, pairs: usize) -> Result<Self> {
        let net = Together::new(self.draws.coupled(Coupling::Sobol), self.q.dim(), pairs)?;
        let safe = Some(self.q.clone());
        Ok(Self { pairs, net: Some(net), power: f64::INFINITY, safe, ..self })
    }

    /// Makes steps as short as after this many turns.
    pub(crate) fn damped(self, turns: u64) -> Self {
        Self { turns, ..self }
    }

    /// Evaluations of log p with its gradient so far: mode, curvature and steps.
    pub fn evaluations(&self) -> u64 {
        self.evaluations
    }

    /// Steps made.
    pub fn steps(&self) -> u64 {
        self.step
    }

    /// Number of retreats from places where the target was not finite.
    pub fn halvings(&self) -> u64 {
        self.halvings
    }

    /// Number of draws at which the target was not finite.
    pub fn rejected(&self) -> u64 {
        self.rejected
    }

    /// The averaged answer.
    pub fn current(&self) -> Gaussian<Triangular> {
        let first = self.safe.as_ref().unwrap_or(&self.q).parameters();
        let average = if self.average.is_empty() { first } else { &self.average };
        Gaussian::from_parameters(self.q.dim(), average.to_vec())
    }

    /// Makes steps that spend at most `budget` more evaluations. The same budgets give the same bits. After
    /// [`Error::Stopped`] the state is that before the step that was cut off.
    pub fn advance(&mut self, budget: u64) -> Result<()> {
        let mut left = budget;
        let mut retreats = 0;
        while left >= 2 {
            // A stop ends the steps here; the first step is made if it is quick.
            if stop::is_urgent() || self.step > 0 && stop::is_wanted() {
                break;
            }
            let pairs = self.pairs.min(usize::try_from(left / 2).unwrap_or(self.pairs));
            let before = self.evaluations;
            match self.make_step(pairs) {
                Ok(()) => retreats = 0,
                Err(Error::TargetNotFinite { .. }) if retreats < HALVINGS => {
                    retreats += 1;
                    self.halvings += 1;
                    self.retreat();
                }
                Err(error) => return Err(error),
            }
            left -= self.evaluations - before;
        }
        Ok(())
    }

    /// Goes back half the way to where draws were finite; to the mode if the Laplace approximation itself reaches
    /// too far.
    fn retreat(&mut self) {
        let d = self.q.dim();
        let w = self.q.parameters_mut();
        match &self.safe {
            Some(safe) => w.iter_mut().zip(safe.parameters()).for_each(|(w, safe)| *w = 0.5 * (*w + safe)),
            None => w[d..].iter_mut().for_each(|x| *x *= 0.5),
        }
    }

    fn make_step(&mut self, pairs: usize) -> Result<()> {
        let d = self.q.dim();
        self.measure(pairs)?;
        let (mean, mut s) = self.residuals(pairs)?;
        match &mut self.safe {
            Some(safe) => safe.clone_from(&self.q),
            none => *none = Some(self.q.clone()),
        }
        self.count_turns(&mean, &s);
        let mut rate = pairs as f64 / (pairs.max(d) as f64 + 2.0) * self.damping();
        // A step changes no precision by more than a few times √d; this matters only far from the answer.
        rate = rate.min(2.0 * (d as f64).sqrt() / s.frobenius_norm());
        s.entries_mut().iter_mut().for_each(|x| *x *= rate);
        let mut precision = Matrix::zeros(d, d);
        add_gram(s.entries(), d, &mut precision);
        precision.entries_mut().iter_mut().for_each(|x| *x *= 0.5);
        precision.add_scaled(1.0, &s);
        (0..d).for_each(|i| precision[(i, i)] += 1.0);
        let mut r = vec![0.0; packed_len(d)];
        inverse_factor("precision of a step", &precision, &mut r)?;
        let (mut pulled, mut shift) = (vec![0.0; d], vec![0.0; d]);
        provi_kernels::triangle::multiply_transposed(&r, &mean, &mut pulled);
        let limit = (d as f64).sqrt() / norm(&pulled);
        provi_kernels::triangle::multiply(&r, &pulled, &mut shift);
        provi_kernels::triangle::multiply(self.q.factor(), &shift, &mut pulled);
        self.drift.add(&shift);
        let factor = pack_lower(&multiply(&self.q.factor_matrix(), &unpack_lower(d, &r)));
        stop::check()?;
        let (m, c) = self.q.parameters_mut().split_at_mut(d);
        axpy(-rate.min(limit), &pulled, m);
        c.copy_from_slice(&factor);
        self.step += 1;
        if self.q.parameters().iter().any(|x| !x.is_finite()) {
            return Err(Error::Diverged { step: self.step - 1, gamma: rate });
        }
        match self.drift.verdict() {
            drift::Verdict::None => {}
            drift::Verdict::Forgive => self.turns /= 4,
            drift::Verdict::Restart => (self.turns, self.spent) = (0, 0),
        }
        // Weights with density n^power in the evaluations n.
        let spent = self.spent as f64;
        self.spent += 2 * pairs as u64;
        let weight = 1.0 - (spent / self.spent as f64).powf(self.power + 1.0);
        self.average.resize(self.q.parameters().len(), 0.0);
        for (mean, w) in self.average.iter_mut().zip(self.q.parameters()) {
            *mean += weight * (w - *mean);
        }
        Ok(())
    }

    /// Records whether this residual opposes the last one, in the natural metric ‖g̃‖² + ½‖S‖².
    fn count_turns(&mut self, mean: &[f64], s: &Matrix) {
        let d = mean.len();
        if self.last.len() == d + d * d {
            let (last_mean, last_s) = self.last.split_at(d);
            self.turns += u64::from(dot(last_mean, mean) + 0.5 * dot(last_s, s.entries()) < 0.0);
        }
        self.last.clear();
        self.last.extend(mean);
        self.last.extend(s.entries());
    }

    fn damping(&self) -> f64 {
        (1.0 + 0.5 * self.turns as f64).powf(-2.0 / 3.0)
    }

    /// Draws ±u, evaluates, and writes Cᵀ∇V at both into `whitened`.
    fn measure(&mut self, pairs: usize) -> Result<()> {
        let d = self.q.dim();
        let half = pairs * d;
        let room = &mut self.room;
        room.u.resize(half, 0.0);
        for buffer in [&mut room.points, &mut room.pulls, &mut room.whitened] {
            buffer.resize(2 * half, 0.0);
        }
        room.values.resize(2 * pairs, 0.0);
        room.scratch = match room.scratch.len() {
            n if n < self.view.scratch(2 * pairs).len() => self.view.scratch(2 * pairs),
            _ => std::mem::take(&mut room.scratch),
        };
        // After a retreat the draws are new: they differ from those that failed.
        let step = self.step + (self.halvings << 40);
        match &mut self.net {
            Some(net) => net.fill(step, &mut room.u),
            None => {
                let each = room.u.chunks_exact_mut(d).enumerate();
                each.for_each(|(k, u)| self.draws.fill(step, k as u32, u));
                room.u.chunks_mut(d * d).for_each(|block| orthogonalise(block, d));
            }
        }
        let (ahead, behind) = room.points.split_at_mut(half);
        self.q.transport(&room.u, ahead);
        for (z, mirror) in ahead.chunks_exact(d).zip(behind.chunks_exact_mut(d)) {
            for ((mirror, z), m) in mirror.iter_mut().zip(z).zip(self.q.mean()) {
                *mirror = 2.0 * m - z;
            }
        }
        self.evaluations += 2 * pairs as u64;
        self.view.evaluate(&room.points, &mut room.values, &mut room.pulls, &mut room.scratch)?;
        let mut refused = None;
        for (draw, (&value, pull)) in room.values.iter().zip(room.pulls.chunks_exact(d)).enumerate() {
            let square = dot(pull, pull);
            let (quantity, value) = match value.is_finite() {
                true if square.is_finite() => continue,
                true => ("gradient", square),
                false => ("log-density", value),
            };
            self.rejected += 1;
            let norm = norm(&room.points[draw * d..(draw + 1) * d]);
            refused.get_or_insert(Error::TargetNotFinite { quantity, value, step: self.step, draw, norm });
        }
        if let Some(error) = refused {
            return Err(error);
        }
        // The only minus sign: from here on everything is minimised.
        room.pulls.iter_mut().for_each(|x| *x = -*x);
        provi_kernels::triangle::pull_back(self.q.factor(), &room.pulls, &mut room.whitened);
        Ok(())
    }

    /// The means of s̃ and of sym(s̃uᵀ) over the pairs.
    fn residuals(&mut self, pairs: usize) -> Result<(Vec<f64>, Matrix)> {
        let d = self.q.dim();
        let room = &mut self.room;
        let mut mean = vec![0.0; d];
        let (ahead, behind) = room.whitened.split_at_mut(pairs * d);
        let scale = 1.0 / pairs as f64;
        for ((a, b), u) in ahead.chunks_exact_mut(d).zip(behind.chunks_exact(d)).zip(room.u.chunks_exact(d)) {
            for i in 0..d {
                // s̃(±u) = C^T∇V(m ± Cu) ∓ u: half the sum is even, half the difference odd.
                mean[i] += 0.5 * scale * (a[i] + b[i]);
                a[i] = scale * (0.5 * (a[i] - b[i]) - u[i]);
            }
        }
        let odd = Matrix::new(pairs, d, ahead.to_vec())?;
        let u = Matrix::new(pairs, d, room.u.clone())?;
        let mut s = multiply_transposed(&odd, &u);
        for i in 0..d {
            for j in 0..i {
                let mean = 0.5 * (s[(i, j)] + s[(j, i)]);
                s[(i, j)] = mean;
                s[(j, i)] = mean;
            }
        }
        // Products of finite numbers may still overflow.
        let value = s.frobenius_norm() + norm(&mean);
        if !value.is_finite() {
            let norm = norm(self.q.mean());
            return Err(Error::TargetNotFinite {
                quantity: "gradient",
                value,
                step: self.step,
                draw: 0,
                norm,
            });
        }
        Ok((mean, s))
    }
}

impl Ascent<'_> {
    /// Number of draws of a full step, in pairs ±u.
    pub fn draws_per_step(&self) -> usize {
        2 * self.pairs
    }

    /// [`Ascent::neg_elbo_estimate`] with its standard error, if there is one.
    pub(crate) fn neg_elbo_known(&self) -> Option<NegElbo> {
        let (value, values) = (self.neg_elbo_estimate(), &self.room.values);
        let (count, mean) = (values.len() as f64, values.iter().sum::<f64>() / values.len() as f64);
        let square: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
        let error = (square / (count * (count - 1.0))).sqrt();
        (value.is_finite() && error.is_finite()).then_some(NegElbo { value, error, exact: false })
    }

    /// f at the iterate before the last step, estimated from that step's draws; NaN before the first step.
    pub fn neg_elbo_estimate(&self) -> f64 {
        let values = &self.room.values;
        let energy = -values.iter().sum::<f64>() / values.len() as f64;
        let neg_entropy = self.safe.as_ref().and_then(|safe| safe.neg_entropy().ok());
        energy + neg_entropy.unwrap_or(f64::NAN)
    }
}

/// Makes up to d vectors orthogonal and keeps the length of each. The directions are uniform and independent of the
/// lengths, so each vector stays N(0, I).
fn orthogonalise(block: &mut [f64], d: usize) {
    let lengths: Vec<f64> = block.chunks_exact(d).map(norm).collect();
    for (k, length) in lengths.iter().enumerate() {
        let (done, rest) = block.split_at_mut(k * d);
        let u = &mut rest[..d];
        for (v, length) in done.chunks_exact(d).zip(&lengths) {
            axpy(-dot(u, v) / (length * length), v, u);
        }
        let scale = length / norm(u);
        u.iter_mut().for_each(|x| *x *= scale);
    }
}

#[cfg(test)]
mod tests;
