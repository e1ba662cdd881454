//! Draws of the residual s̃(u) = Cᵀ∇V(m + Cu) − u and of D(u) = log(q/p) up to the evidence.

use super::Between;
use super::metric::Metric;
use super::transport::Ascents;
use crate::base::chunked;
use crate::base::draws::Draws;
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::norm;
use crate::base::matrix::packed_index;
use crate::base::scratch::Scratch;
use crate::certify::rounding::Allowances;
use crate::target::evaluate::Evaluator;
use provi_kernels::{axpy, dot};
use std::ops::ControlFlow;

/// What is known about one draw.
pub(super) struct Seen<'d> {
    pub(super) u: &'d [f64],
    /// s̃(u); empty where only values were asked for.
    pub(super) residual: &'d [f64],
    /// D(u), and the sum of the absolute values of its terms.
    pub(super) value: f64,
    pub(super) size: f64,
    /// V(m + Cu).
    pub(super) potential: f64,
    /// ‖ŝ‖² in up to two metrics.
    pub(super) squares: [f64; 2],
    /// What was asked for beside D.
    pub(super) beside: f64,
}

pub(super) type See<'s> = dyn FnMut(Seen<'_>) + 's;

/// Writes the draw with a given number.
pub(super) type Fill<'f> = dyn Fn(u64, &mut [f64]) + Sync + 'f;

/// A number for each of some draws, which costs as much as D may.
pub(super) type Beside<'f> = dyn Fn(&[f64], &mut [f64]) + Sync + 'f;

/// For work that nothing interrupts.
pub(super) fn go_on(_: u64, _: u64) -> Result<ControlFlow<()>> {
    Ok(ControlFlow::Continue(()))
}

/// Draws evaluated at once, at least.
const BATCH: usize = 512;
/// Of those, how many are drawn, transported and pulled back together.
const TOGETHER: usize = 16;
/// Cost of drawing one coordinate, in multiply-adds.
const DRAW_WORK: usize = 16;
/// At how many places an audit with this many draws may be told to end, at most.
pub(super) fn ends(draws: u64) -> f64 {
    draws.div_ceil(BATCH as u64) as f64
}

/// The most values of D that are kept for estimates: those of a usual audit, 160 kB.
pub(super) const KEPT: usize = 20_000;

pub(super) struct Residuals<'a> {
    target: Evaluator<'a>,
    q: &'a Gaussian<Triangular>,
    /// (d/2) log 2π + log det C, and the sum of the absolute values of its terms.
    constant: f64,
    constant_size: f64,
    allowances: Allowances,
    center_value: f64,
    center_lost: f64,
    gradient_norm: f64,
}

/// Draws kept to choose a ball.
pub(super) struct Pilot {
    dim: usize,
    norms: Vec<f64>,
    residuals: Vec<f64>,
}

/// Sums over the audit's draws.
#[derive(Debug)]
pub(super) struct Measured {
    /// Number of draws.
    pub(super) draws: u64,
    /// The mean of ‖ŝ‖² in the global metric, over all draws.
    pub(super) global_mean: f64,
    /// Draws inside the ball.
    pub(super) inside: u64,
    /// The mean of ‖ŝ‖² in the local metric, over those.
    pub(super) local_mean: f64,
    /// The mean of ‖s̃‖² over those.
    pub(super) square_mean: f64,
    /// The mean of D over those, and the mean of the sums of the absolute values of its terms.
    pub(super) local_value_mean: f64,
    pub(super) local_size_mean: f64,
    /// The largest ‖u‖ of a draw.
    pub(super) furthest: f64,
    /// D(0), and a bound of its rounding error.
    pub(super) center_value: f64,
    pub(super) center_lost: f64,
    /// g_0 = ‖s̃(0)‖, rounded up.
    pub(super) gradient_norm: f64,
    /// −D at the first draws.
    pub(super) log_ratios: Vec<f64>,
}

impl<'a> Residuals<'a> {
    pub(super) fn new(target: Evaluator<'a>, q: &'a Gaussian<Triangular>) -> Result<Self> {
        let d = q.dim();
        let entropy = 0.5 * d as f64 * (2.0 * std::f64::consts::PI).ln();
        let logs: f64 = (0..d).map(|i| q.factor()[packed_index(i, i)].ln().abs()).sum();
        let allowances = Allowances::new(target.target(), q)?;
        let here = allowances.at(0.0);
        let mut out = Self {
            target,
            q,
            constant: entropy + q.log_det()?,
            constant_size: entropy + logs,
            allowances,
            center_value: 0.0,
            center_lost: 0.0,
            gradient_norm: 0.0,
        };
        let (mut center, mut size, mut slope) = (0.0, 0.0, 0.0);
        out.visit(&|_, u| u.fill(0.0), 1, [None; 2], &mut go_on, &mut |at| {
            (center, size) = (at.value, at.size);
            slope = norm(at.residual);
        })?;
        (out.center_value, out.center_lost) = (center, here.value + out.value_unit() * size);
        out.gradient_norm = slope * (1.0 + 1e-12) + here.slope;
        Ok(out)
    }

    /// Bounds of the rounding errors of the numbers measured here.
    pub(super) fn allowances(&self) -> &Allowances {
        &self.allowances
    }

    /// The dimension d.
    pub(super) fn dim(&self) -> usize {
        self.q.dim()
    }

    /// Relative rounding error of D with respect to Σ|terms|, apart from V: from log det C, ‖u‖² and three sums.
    pub(super) fn value_unit(&self) -> f64 {
        (self.q.dim() as f64 + 16.0) * f64::EPSILON
    }

    /// Bound of the rounding error of a mean of D over this many draws, without the error of V.
    pub(super) fn value_mean_lost(&self, size_mean: f64, draws: u64) -> f64 {
        (self.value_unit() + (draws as f64 + 128.0) * f64::EPSILON) * size_mean * (1.0 + 1e-6)
    }

    /// g_0 = ‖Cᵀ∇V(m)‖.
    pub(super) fn gradient_norm(&self) -> f64 {
        self.gradient_norm
    }

    /// D(0).
    pub(super) fn center_value(&self) -> f64 {
        self.center_value
    }

    /// What rounding may have done to D(0), the constant of V apart.
    pub(super) fn center_lost(&self) -> f64 {
        self.center_lost
    }

    /// Calls `see` for each draw, in order, with its D alone, until `between` breaks. Half the work of [`Residuals::visit`] where the target
    /// has values without gradients, and the same bits. While draws are seen here, threads make the next ones.
    pub(super) fn visit_values(
        &self,
        fill: (&Fill<'_>, &Beside<'_>),
        count: u64,
        between: &mut Between<'_>,
        see: &mut See<'_>,
    ) -> Result<()> {
        let most = self.target.together(BATCH).min(count as usize);
        let size = |first: u64| most.min((count - first) as usize);
        let mut scratch: Vec<Scratch> = self.target.scratch(most);
        let (mut now, mut next) = (Values::new(most, self.dim()), Values::new(most, self.dim()));
        let (mut first, mut is_made) = (0, false);
        while first < count && between(first, count)?.is_continue() {
            if !is_made {
                now.make(self.target, self.q, fill, (first, size(first)), &mut scratch);
            }
            let after = first + now.values.len() as u64;
            is_made = false;
            match self.target {
                Evaluator::Parallel(target) if after < count => {
                    let (q, next, scratch) = (self.q, &mut next, &mut scratch);
                    let there = || next.make(target.into(), q, fill, (after, size(after)), scratch);
                    chunked::beside(there, || self.see_values(&mut now, first, see))?;
                    is_made = true;
                }
                _ => self.see_values(&mut now, first, see)?,
            }
            if is_made {
                std::mem::swap(&mut now, &mut next);
            }
            first = after;
        }
        Ok(())
    }

    fn see_values(&self, made: &mut Values, first: u64, see: &mut See<'_>) -> Result<()> {
        std::mem::replace(&mut made.outcome, Ok(()))?;
        let d = self.dim();
        for (k, (u, &value)) in made.u.chunks_exact(d).zip(&made.values).enumerate() {
            if !value.is_finite() {
                let (quantity, norm) = ("log-density", norm(&made.z[k * d..(k + 1) * d]));
                return Err(Error::TargetNotFinite { quantity, value, step: first, draw: k, norm });
            }
            see(Seen { beside: made.beside[k], ..self.seen(u, &[], value, [0.0; 2]) });
        }
        Ok(())
    }

    fn seen<'d>(&self, u: &'d [f64], residual: &'d [f64], value: f64, squares: [f64; 2]) -> Seen<'d> {
        let (potential, half) = (-value, 0.5 * dot(u, u));
        let value = potential - half - self.constant;
        let size = potential.abs() + half + self.constant_size;
        Seen { u, residual, value, size, potential, squares, beside: 0.0 }
    }

    /// Calls `see` for each draw, in order, with ‖ŝ‖² in the given metrics, until `between` breaks.
    ///
    /// Drawing, transport and the work on gradients are spread over threads, even if evaluations are not.
    pub(super) fn visit(
        &self,
        fill: &Fill<'_>,
        count: u64,
        metrics: [Option<&Metric>; 2],
        between: &mut Between<'_>,
        see: &mut See<'_>,
    ) -> Result<()> {
        let d = self.q.dim();
        let room = self.target.together(BATCH).min(count as usize);
        let (mut u, mut z) = (vec![0.0; room * d], vec![0.0; room * d]);
        let (mut values, mut pulls) = (vec![0.0; room], vec![0.0; room * d]);
        let mut squares = vec![0.0; 2 * room];
        let mut scratch: Vec<Scratch> = self.target.scratch(room);
        let mut first = 0;
        while first < count && between(first, count)?.is_continue() {
            let size = room.min((count - first) as usize);
            let work = size.saturating_mul(d * (d + DRAW_WORK));
            let (u, z) = (&mut u[..size * d], &mut z[..size * d]);
            draw(self.q, fill, first, u, z);
            let (values, pulls) = (&mut values[..size], &mut pulls[..size * d]);
            self.target.evaluate(z, values, pulls, &mut scratch)?;
            for ((k, value), (pull, z)) in
                values.iter().enumerate().zip(pulls.chunks_exact_mut(d).zip(z.chunks_exact(d)))
            {
                if !(value.is_finite() && dot(pull, pull).is_finite()) {
                    return Err(Error::TargetNotFinite {
                        quantity: if value.is_finite() { "gradient" } else { "log-density" },
                        value: if value.is_finite() { f64::NAN } else { *value },
                        step: first,
                        draw: k,
                        norm: norm(z),
                    });
                }
                pull.iter_mut().for_each(|x| *x = -*x);
            }
            // The points are no longer needed; their memory receives Cᵀπ − u. Then the pulls' memory receives what
            // the metrics work in.
            let (squares, drawn) = (&mut squares[..2 * size], &*u);
            chunked::fill_together(
                [(&mut *z, TOGETHER * d), (pulls, TOGETHER * d), (&mut *squares, TOGETHER * 2)],
                work,
                |chunk, [s, pulls, squares]| {
                    provi_kernels::triangle::pull_back(self.q.factor(), pulls, s);
                    axpy(-1.0, &drawn[chunk * TOGETHER * d..][..s.len()], s);
                    for (which, metric) in metrics.iter().enumerate() {
                        let Some(metric) = metric else { continue };
                        pulls.copy_from_slice(s);
                        let found = metric.squares(pulls);
                        squares.chunks_exact_mut(2).zip(found).for_each(|(square, x)| square[which] = x);
                    }
                },
            );
            let draws = u.chunks_exact(d).zip(z.chunks_exact(d)).zip(squares.chunks_exact(2));
            for (((u, s), squares), value) in draws.zip(&*values) {
                see(self.seen(u, s, *value, [squares[0], squares[1]]));
            }
            first += size as u64;
        }
        Ok(())
    }

    /// A few draws, kept, to choose how to measure.
    pub(super) fn pilot(&self, draws: Draws, count: u64) -> Result<Pilot> {
        let mut out = Pilot { dim: self.q.dim(), norms: Vec::new(), residuals: Vec::new() };
        self.visit(&|k, u| draws.fill(k, 0, u), count, [None; 2], &mut go_on, &mut |at| {
            out.norms.push(norm(at.u));
            out.residuals.extend_from_slice(at.residual);
        })?;
        Ok(out)
    }

    /// The mean of Ĝ over a few draws, and the evaluations that it took.
    pub(super) fn pilot_ascent(
        &self,
        draws: Draws,
        count: u64,
        metric: &Metric,
        enough: f64,
    ) -> Result<(f64, u64)> {
        let mut ascent = self.ascent(metric, enough);
        self.visit(&|k, u| draws.fill(k, 0, u), count, [Some(metric), None], &mut go_on, &mut |at| {
            ascent.take(at.u, at.potential, at.residual, at.squares[0]);
        })?;
        let (mean, evaluations) = ascent.finish();
        Ok((mean, evaluations + count))
    }

    /// Ascents for draws of q.
    pub(super) fn ascent<'s>(&'s self, metric: &'s Metric, enough: f64) -> Ascents<'s> {
        Ascents::new(self.target, self.q, metric, &self.allowances, enough)
    }

    /// The audit itself: `count` fresh draws of q; those inside the ball are draws of q_B. An ascent takes all of
    /// them, and needs the global metric.
    pub(super) fn measure(
        &self,
        fill: &Fill<'_>,
        count: u64,
        global: Option<&Metric>,
        local: Option<(&Metric, f64)>,
        mut ascent: Option<&mut Ascents<'_>>,
        between: &mut Between<'_>,
    ) -> Result<Measured> {
        let mut out = Measured {
            draws: 0,
            global_mean: 0.0,
            inside: 0,
            local_mean: 0.0,
            square_mean: 0.0,
            local_value_mean: 0.0,
            local_size_mean: 0.0,
            furthest: 0.0,
            center_value: self.center_value,
            center_lost: self.center_lost,
            gradient_norm: self.gradient_norm,
            log_ratios: Vec::with_capacity(KEPT.min(count as usize)),
        };
        let metrics = [global, local.map(|(metric, _)| metric)];
        self.visit(fill, count, metrics, between, &mut |at| {
            out.draws += 1;
            if out.log_ratios.len() < KEPT {
                out.log_ratios.push(-at.value);
            }
            if global.is_some() {
                out.global_mean += (at.squares[0] - out.global_mean) / out.draws as f64;
            }
            let distance = norm(at.u);
            out.furthest = out.furthest.max(distance);
            if let Some((_, radius)) = local
                && distance <= radius
            {
                out.inside += 1;
                let weight = 1.0 / out.inside as f64;
                out.square_mean += weight * (dot(at.residual, at.residual) - out.square_mean);
                out.local_value_mean += weight * (at.value - out.local_value_mean);
                out.local_size_mean += weight * (at.size - out.local_size_mean);
                out.local_mean += weight * (at.squares[1] - out.local_mean);
            }
            if let Some(ascent) = &mut ascent {
                ascent.take(at.u, at.potential, at.residual, at.squares[0]);
            }
        })?;
        Ok(out)
    }
}

/// Draws from the number `first` on, and where they lie.
fn draw(q: &Gaussian<Triangular>, fill: &Fill<'_>, first: u64, u: &mut [f64], z: &mut [f64]) {
    let d = q.dim();
    let work = u.len().saturating_mul(d + DRAW_WORK);
    chunked::fill_together([(u, TOGETHER * d), (z, TOGETHER * d)], work, |chunk, [u, z]| {
        for (k, u) in u.chunks_exact_mut(d).enumerate() {
            fill(first + (chunk * TOGETHER + k) as u64, u);
        }
        q.transport(u, z);
    });
}

/// Draws with log densities alone.
struct Values {
    u: Vec<f64>,
    z: Vec<f64>,
    values: Vec<f64>,
    beside: Vec<f64>,
    outcome: Result<()>,
}

impl Values {
    fn new(most: usize, dim: usize) -> Self {
        let zeros = |len: usize| vec![0.0; len];
        let (u, z) = (zeros(most * dim), zeros(most * dim));
        Self { u, z, values: zeros(most), beside: zeros(most), outcome: Ok(()) }
    }

    /// `size` draws, at most as many as before, from the number `first` on.
    fn make(
        &mut self,
        target: Evaluator<'_>,
        q: &Gaussian<Triangular>,
        (fill, beside): (&Fill<'_>, &Beside<'_>),
        (first, size): (u64, usize),
        scratch: &mut [Scratch],
    ) {
        let d = q.dim();
        for (buffer, len) in
            [(&mut self.u, d), (&mut self.z, d), (&mut self.values, 1), (&mut self.beside, 1)]
        {
            buffer.truncate(size * len);
        }
        let Self { u, z, values, .. } = self;
        draw(q, fill, first, u, z);
        let work = size.saturating_mul(d * d * d / 6);
        chunked::fill_together([(&mut self.beside, TOGETHER)], work, |chunk, [numbers]| {
            beside(&u[chunk * TOGETHER * d..][..numbers.len() * d], numbers);
        });
        self.outcome = target.evaluate_alone(z, values, scratch).and_then(|done| {
            if done {
                return Ok(());
            }
            let mut pulls = vec![0.0; size * d];
            target.evaluate(z, values, &mut pulls, scratch)
        });
    }
}

impl Pilot {
    /// The mean of ‖ŝ‖² over the pilot draws with ‖u‖ ≤ radius; NaN if there are none.
    pub(super) fn mean_within(&self, metric: &Metric, radius: f64) -> f64 {
        let mut inside: Vec<f64> = Vec::with_capacity(self.residuals.len());
        for (&size, s) in self.norms.iter().zip(self.residuals.chunks_exact(self.dim)) {
            if size <= radius {
                inside.extend_from_slice(s);
            }
        }
        let count = (inside.len() / self.dim) as f64;
        metric.squares(&mut inside).sum::<f64>() / count
    }
}
