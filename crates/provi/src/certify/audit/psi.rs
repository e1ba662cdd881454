//! KL, evidence and moments as expectations of small things, measured where an envelope says that they may be large [psi-kl].
//!
//! In the coordinates where q = N(0, I), D' = log q/p̃ for ∫p̃ = e^{KL(q‖p)} has mean zero under q, so
//! ```text
//! ∫p̃ = E_q e^{−D'} = 1 + E_q ψ(D'),   ψ(t) = e^{−t} − 1 + t ≥ 0,   ∫ℓp̃ = E_q[ψℓ] − v·E_q∇U,   ∫ℓ²p̃ = E_q[ψℓ²] + 1 − vᵀ(E_q∇²U − I)v
//! ```
//! for ℓ = v·x. ψ is as small as KL itself, and most of it is ½P², P the cubic of D' at q's mean: the means of ½P², ½P²ℓ and ½P²ℓ² are
//! known, so what is measured is the rest, X = ψ − ½P². What no draw of q would see is bounded by an envelope of D' at every point
//! ([`envelope`]), and draws go where the envelope asks for them ([`cells`]): then each variable has a known range, and betting bounds its
//! mean ([`betting`]). The envelope comes from third and fourth derivatives, which models of linear predictors know.
//!
//! [`envelope`]: crate::theory::envelope
//! [`cells`]: crate::theory::cells

mod choose;
mod moments;

use super::events::{Cubic, Event, Known, Tally, Weighed};
use super::every::Guesses;
use super::residual::{Beside, Fill, Residuals, Seen};
use super::sharp::{Mass, lost};
use super::{EVENTS, ExactValue, Session};
use crate::base::draws::{Draws, Purpose};
use crate::base::error::{Error, Result};
use crate::base::linalg::norm;
use crate::theory::betting;
use crate::theory::cells::{Cells, Place};
use crate::theory::envelope::{Envelope, Outside, excess};
use moments::Sums;
use provi_kernels::{axpy, dot};
use std::sync::Arc;

/// The route as the pilot chose it.
pub(super) struct Psi {
    drawing: Drawing,
    outside: Outside,
    /// ‖∇²U‖ is at most this in the ball.
    bend: f64,
    /// Weight times X = ψ − ½P², and its negative, are at most these, and its size times rʲ for j = 1, 2.
    sides: [f64; 2],
    ranges: [f64; 2],
    count: u64,
    /// The share of δ of each side of ∫p̃, and that of all moments together.
    delta: f64,
    moments_delta: f64,
    /// What the mean of X is believed to be between; where it seems not to be, a bound stops there.
    believed: [f64; 2],
    directions: Vec<f64>,
    guesses: Guesses,
    cubic: Cubic,
    signs: Signs,
    /// The bound of KL that the pilot foresees, and the KL that it saw.
    pub(super) foreseen: f64,
    pub(super) seen: f64,
    /// The error of a mean that the pilot foresees, in deviations of q.
    pub(super) mean_error: f64,
}

/// What probabilities need besides [measured-events].
struct Signs {
    events: Arc<[Event]>,
    guesses: Vec<f64>,
    /// What the cubic is off by, and the envelope of D' around it.
    error: f64,
    envelope: Envelope,
    /// Weight times |e^{−D'} − 1 + P| is at most this.
    range: f64,
}

impl Signs {
    /// e^{−D'} − 1 + P at a draw, weighed, with what it may be off by; `None` where D' − P is larger than was proved of every point.
    fn weigh(&self, place: &Place, at: &Seen<'_>, (d, off): (f64, f64), lost: f64) -> Option<Weighed> {
        let [low, high] = place.weight;
        if high <= 0.0 {
            return Some(Weighed { sign: 1.0, weight: 0.0, off: 0.0 });
        }
        let cubic = at.beside;
        let apart = d - cubic;
        // A NaN is above everything.
        let band = self.envelope.band(norm(at.u) * (1.0 - 1e-12), self.error);
        let is_within = apart.abs() - off - lost <= band;
        if !is_within {
            return None;
        }
        let value = excess(d) - apart;
        let room = (-d).exp() * off.exp_m1()
            + lost
            + 1e-9 * value.abs()
            + 4.0 * f64::EPSILON * (d.abs() + cubic.abs());
        Some(Weighed { sign: 1.0, weight: low * value, off: high * room + (high - low) * value.abs() })
    }
}

/// How a place in a cell becomes a draw: u along τ, ρ in a uniform direction across it.
struct Drawing {
    cells: Cells,
    dim: usize,
    /// The unit h whose reflection takes the first axis to ±τ, and that sign.
    mirror: Vec<f64>,
    sign: f64,
}

impl Drawing {
    fn new(cells: Cells, direction: &[f64]) -> Self {
        // The sign without cancellation.
        let sign = if direction[0] > 0.0 { -1.0 } else { 1.0 };
        let mut mirror: Vec<f64> = direction.iter().map(|x| -sign * x).collect();
        mirror[0] += 1.0;
        let size = norm(&mirror);
        mirror.iter_mut().for_each(|x| *x /= size);
        Self { cells, dim: direction.len(), mirror, sign }
    }

    fn place(&self, draws: &Draws, k: u64, stream: u32) -> Place {
        let mut uniforms = [0.0; 3];
        draws.uniforms(k, stream, &mut uniforms);
        self.cells.place(uniforms)
    }

    fn fill(&self, draws: &Draws, k: u64, stream: u32, x: &mut [f64]) {
        let place = self.place(draws, k, stream);
        if self.dim > 1 {
            let across = &mut x[1..];
            draws.fill(k, stream + 1, across);
            let scale = place.rho / norm(across);
            across.iter_mut().for_each(|x| *x *= scale);
        }
        x[0] = self.sign * place.u;
        let twice = -2.0 * dot(&self.mirror, x);
        axpy(twice, &self.mirror, x);
    }

    /// How far rounding may have moved such an x: quotient, reflection and the coordinates in the cell.
    fn moved(&self, size: f64) -> f64 {
        16.0 * (self.dim as f64 + 16.0) * f64::EPSILON * (1.0 + size)
    }
}

/// What a draw says of weight times X, from both sides; how far its place of evaluation may be away, and D' off. P may be off by
/// `cubic_lost`.
fn value(
    residuals: &Residuals<'_>,
    drawing: &Drawing,
    place: &Place,
    at: &Seen<'_>,
    (f, bend): (f64, f64),
    cubic_lost: f64,
) -> (Option<[f64; 2]>, [f64; 2]) {
    let size = norm(at.u);
    let moved = drawing.moved(size);
    // U is convex, and bends by no more than `bend` between two points of the ball: its slope at the place of evaluation, 10⁻⁸ from the
    // draw at most, is no steeper than this. ½‖x‖² moves too.
    let slope = residuals.gradient_norm() + bend * (size + 1e-8) * (1.0 + 1e-12);
    let (lost, shift) = lost(residuals, at, slope, f, moved);
    let bend = if shift < 1e-8 { bend } else { f64::INFINITY };
    let off = lost + 0.5 * bend * shift * shift + (size + moved) * moved;
    (place.value((at.value - f, off), (at.beside, cubic_lost)), [shift, off])
}

impl Session<'_> {
    /// Draws, after `before` others, and what they prove; nothing where the target has no number at one of them.
    pub(super) fn measure_psi(
        &mut self,
        residuals: &Residuals<'_>,
        psi: &Psi,
        before: u64,
    ) -> Result<Option<Mass>> {
        let Some(exact) = self.exact else { return Ok(None) };
        // What was measured before stands, whatever happens here.
        match self.weigh(residuals, psi, (exact, before)) {
            Err(Error::TargetNotFinite { .. } | Error::Target { .. } | Error::Stopped { .. }) => Ok(None),
            found => found.map(Some),
        }
    }

    fn weigh(
        &mut self,
        residuals: &Residuals<'_>,
        psi: &Psi,
        (exact, before): (ExactValue, u64),
    ) -> Result<Mass> {
        let (f, count) = (exact.value, psi.count);
        let draws = Draws::new(self.seed, Purpose::Cells);
        // Two streams a look, each of its own.
        let stream = 2 * self.options.look;
        // X in units of its whole range, from its least value on.
        let whole_range = psi.sides[0] + psi.sides[1];
        let part = |x: f64| (x + psi.sides[1]) / whole_range;
        let mut sums = Sums::new(&psi.directions, self.q.dim());
        let mut tally = Tally::new(&psi.signs.events);
        let cubic: &Beside<'_> = &|draws, numbers| psi.cubic.at(draws, numbers);
        let (mut lower, mut upper, mut above) = (Vec::new(), Vec::new(), None);
        let total = before + count;
        let between = &mut *self.between;
        let mut ask = |k: u64, _: u64| between(before + k, total);
        let fill: &Fill<'_> = &|k, x| psi.drawing.fill(&draws, k, stream, x);
        residuals.visit_values((fill, cubic), count, &mut ask, &mut |at| {
            let place = psi.drawing.place(&draws, upper.len() as u64, stream);
            let lost = psi.cubic.lost_at(norm(at.u));
            let (mut found, [shift, off]) = value(residuals, &psi.drawing, &place, &at, (f, psi.bend), lost);
            let mut weighed = None;
            if !tally.is_empty() {
                weighed = psi.signs.weigh(&place, &at, (at.value - f, off), lost);
                found = found.filter(|_| weighed.is_some());
            }
            // A draw above what was proved of every point.
            let [low, high] = found.unwrap_or_else(|| {
                above.get_or_insert((at.value - f, norm(at.u)));
                [-psi.sides[1], psi.sides[0]]
            });
            lower.push((part(low) - 1e-15).clamp(0.0, 1.0));
            upper.push((part(high) + 1e-15).clamp(0.0, 1.0));
            let apart = sums.take(at.u, [low, high], shift);
            if let Some(weighed) = weighed {
                tally.take(at.u, sums.along(), &[weighed], apart);
            }
        })?;
        if let Some((value, radius)) = above {
            return Err(Error::Envelope { value, radius });
        }
        self.grounds.evaluations += upper.len() as u64;
        self.grounds.mass_draws = Some(upper.len() as u64);
        let [least, most] = psi.believed.map(part);
        let high = betting::mean_upper(&upper, count, least, psi.delta);
        let low = betting::mean_lower(&lower, count, most, psi.delta);
        let [low, high] = [low - 1e-14, high + 1e-14].map(|mean| mean * whole_range - psi.sides[1]);
        // E_q[ψ; r ≤ R] = E_q[X; r ≤ R] + E_q[½P²] − E_q[½P²; r > R].
        let (known, lost) = (psi.cubic.half_square(), psi.cubic.half_square_lost());
        let beyond = psi.cubic.half_square_beyond(psi.outside.radius, psi.outside.tails(), 0);
        let inside = [(low + known - lost - beyond).max(0.0), betting::not_below(high + known + lost, 0.0)];
        let [least, most] = psi.outside.whole(inside, exact.error);
        // KL(q‖p) ≥ 0, for f itself.
        let whole = [least.max((-exact.error).exp() * (1.0 - 1e-12)), most];
        let signs = &psi.signs;
        let events = tally.conclude(&Known {
            range: signs.range,
            planned: count,
            failure_probability: EVENTS * psi.moments_delta,
            guesses: &signs.guesses,
            cubic: Some((&psi.cubic, &psi.directions)),
            // |e^{−D'} − 1 + P| beyond the ball.
            either: psi.outside.mass[0] + psi.outside.alpha + psi.cubic.beyond(psi.outside.tails()),
            above: 0.0,
            whole,
        });
        let (mut standings, mut every) = (Vec::new(), None);
        if let Some(moments) = &self.moments
            && most.is_finite()
            && !psi.directions.is_empty()
            && !upper.is_empty()
        {
            standings = sums.conclude(psi, (self.q, moments), whole, exact.error);
            every = sums.everywhere(psi, (self.q, moments), whole, exact.error)?;
        }
        Ok(Mass {
            constant: f,
            lower: whole[0],
            upper: whole[1],
            standings,
            events,
            every,
            beyond: f64::INFINITY,
            // These are no draws of q.
            log_ratios: Vec::new(),
            provenance: self.curvature.provenance(),
            keys: ["psi-kl", "psi-evidence", "psi-moments"],
        })
    }
}
