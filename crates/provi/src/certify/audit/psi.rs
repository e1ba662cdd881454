//! KL, evidence and moments as expectations of small things, measured where an envelope says that they may be large [psi-kl].
//!
//! In the coordinates where q = N(0, I), D' = log q/p̃ for ∫p̃ = e^{KL(q‖p)} has mean zero under q, so
//! ```text
//! ∫p̃ = E_q e^{−D'} = 1 + E_q ψ(D'),   ψ(t) = e^{−t} − 1 + t ≥ 0,   ∫ℓp̃ = E_q[ψℓ] − v·E_q∇U,   ∫ℓ²p̃ = E_q[ψℓ²] + 1 − vᵀ(E_q∇²U − I)v
//! ```
//! for ℓ = v·x. ψ is as small as KL itself. What no draw of q would see is bounded by an envelope of D' at every point
//! ([`envelope`]), and draws go where the envelope asks for them ([`cells`]): then each variable has a known range, and betting bounds its
//! mean ([`betting`]). The envelope comes from third and fourth derivatives, which models of linear predictors know.
//!
//! [`envelope`]: crate::theory::envelope
//! [`cells`]: crate::theory::cells

mod choose;
mod moments;

use super::every::Guesses;
use super::residual::{Fill, Residuals, Seen};
use super::sharp::{Mass, lost};
use super::{ExactValue, Session};
use crate::base::draws::{Draws, Purpose};
use crate::base::error::{Error, Result};
use crate::base::linalg::norm;
use crate::theory::betting;
use crate::theory::cells::{Cells, Place};
use crate::theory::envelope::Outside;
use moments::Sums;
use provi_kernels::{axpy, dot};

/// The route as the pilot chose it.
pub(super) struct Psi {
    drawing: Drawing,
    outside: Outside,
    /// ‖∇²U‖ is at most this in the ball.
    bend: f64,
    /// Weight times ψrʲ is at most these.
    ranges: [f64; 3],
    count: u64,
    /// The share of δ of each side of ∫p̃, and that of all moments together.
    delta: f64,
    moments_delta: f64,
    /// What the mean of ψ over its range is believed to be below; where it seems not to be, a bound stops there.
    ceiling: f64,
    directions: Vec<f64>,
    guesses: Guesses,
    /// The bound of KL that the pilot foresees, and the KL that it saw.
    pub(super) foreseen: f64,
    pub(super) seen: f64,
    /// The error of a mean that the pilot foresees, in deviations of q.
    pub(super) mean_error: f64,
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

/// What a draw says of weight times ψ, from both sides, and how far its place of evaluation may be away.
fn value(
    residuals: &Residuals<'_>,
    drawing: &Drawing,
    place: &Place,
    at: &Seen<'_>,
    (f, bend): (f64, f64),
) -> (Option<[f64; 2]>, f64) {
    let size = norm(at.u);
    let moved = drawing.moved(size);
    // U is convex, and bends by no more than `bend` between two points of the ball; ½‖x‖² moves too.
    let (lost, shift) = lost(residuals, at, f, moved);
    let bend = if shift < 1e-8 { bend } else { f64::INFINITY };
    let off = lost + 0.5 * bend * shift * shift + (size + moved) * moved;
    (place.value(at.value - f, off), shift)
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
        let range = psi.ranges[0];
        let mut sums = Sums::new(&psi.directions, self.q.dim());
        let (mut lower, mut upper, mut above) = (Vec::new(), Vec::new(), None);
        let total = before + count;
        let between = &mut *self.between;
        let mut ask = |k: u64, _: u64| between(before + k, total);
        let fill: &Fill<'_> = &|k, x| psi.drawing.fill(&draws, k, stream, x);
        residuals.visit(fill, count, [None; 2], &mut ask, &mut |at| {
            let place = psi.drawing.place(&draws, upper.len() as u64, stream);
            let (found, shift) = value(residuals, &psi.drawing, &place, &at, (f, psi.bend));
            // A draw above what was proved of every point.
            let [low, high] = found.unwrap_or_else(|| {
                above.get_or_insert((at.value - f, norm(at.u)));
                [0.0, range]
            });
            lower.push((low / range).min(1.0));
            upper.push((high / range * (1.0 + 1e-14)).min(1.0));
            sums.take(at.u, [low, high], shift);
        })?;
        if let Some((value, radius)) = above {
            return Err(Error::Envelope { value, radius });
        }
        self.grounds.evaluations += upper.len() as u64;
        self.grounds.mass_draws = Some(upper.len() as u64);
        let high = range * betting::mean_upper(&upper, count, 0.0, psi.delta);
        let low = range * betting::mean_lower(&lower, count, psi.ceiling, psi.delta);
        let [least, most] = psi.outside.whole([low * (1.0 - 1e-12), high * (1.0 + 1e-12)], exact.error);
        // KL(q‖p) ≥ 0, for f itself.
        let whole = [least.max((-exact.error).exp() * (1.0 - 1e-12)), most];
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
            every,
            beyond: f64::INFINITY,
            // These are no draws of q.
            log_ratios: Vec::new(),
            provenance: self.curvature.provenance(),
            keys: ["psi-kl", "psi-evidence", "psi-moments"],
        })
    }
}
