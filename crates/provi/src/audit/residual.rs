//! Draws of the residual s̃(u) = Cᵀ∇V(m + Cu) − u and of D(u) = log(q/p) up to the evidence.

use super::metric::Metric;
use crate::chunked;
use crate::draws::Draws;
use crate::error::{Error, Result};
use crate::estimator::Evaluator;
use crate::gaussian::{Gaussian, Triangular};
use crate::norm;
use crate::target::Scratch;
use provi_kernels::{axpy, dot};

/// What is done with u, s̃(u) and D(u).
type See<'s> = dyn FnMut(&[f64], &mut [f64], f64) + 's;

/// Draws evaluated at once; a target that wants more has more, up to a limit.
const BATCH: usize = 256;
const LARGEST_BATCH: usize = 512;
/// Of those, transported and pulled back together.
const TOGETHER: usize = 16;
/// The most values of D that are kept, for estimates: those of a usual audit, 160 kB.
const KEPT: usize = 20_000;

pub(super) struct Residuals<'a> {
    target: Evaluator<'a>,
    q: &'a Gaussian<Triangular>,
    /// (d/2) log 2π + log det C.
    constant: f64,
    center_value: f64,
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
    /// The mean of ‖ŝ‖² in the global metric, over all draws.
    pub(super) global_mean: f64,
    /// Draws inside the ball.
    pub(super) inside: u64,
    /// The mean of ‖ŝ‖² in the local metric, over those.
    pub(super) local_mean: f64,
    /// The mean of ‖s̃‖² over those.
    pub(super) square_mean: f64,
    /// The mean of D over those.
    pub(super) local_value_mean: f64,
    /// D(0).
    pub(super) center_value: f64,
    /// g_0 = ‖s̃(0)‖, rounded up.
    pub(super) gradient_norm: f64,
    /// −D at the first draws.
    pub(super) log_ratios: Vec<f64>,
}

impl<'a> Residuals<'a> {
    pub(super) fn new(target: Evaluator<'a>, q: &'a Gaussian<Triangular>) -> Result<Self> {
        let d = q.dim();
        let constant = 0.5 * d as f64 * (2.0 * std::f64::consts::PI).ln() + q.log_det()?;
        let mut out = Self { target, q, constant, center_value: 0.0, gradient_norm: 0.0 };
        let (mut center, mut slope) = (0.0, 0.0);
        out.visit(&mut |_, u| u.fill(0.0), 1, &mut |_, s, value| {
            center = value;
            slope = norm(s);
        })?;
        (out.center_value, out.gradient_norm) = (center, slope * (1.0 + 1e-12) + 1e-300);
        Ok(out)
    }

    /// g_0 = ‖Cᵀ∇V(m)‖.
    pub(super) fn gradient_norm(&self) -> f64 {
        self.gradient_norm
    }

    /// Calls `see(u, s̃(u), D(u))` for each draw, in order; `s̃` may be overwritten.
    fn visit(&self, fill: &mut dyn FnMut(u64, &mut [f64]), count: u64, see: &mut See<'_>) -> Result<()> {
        let d = self.q.dim();
        let room = self.target.target().batch().clamp(BATCH, LARGEST_BATCH).min(count as usize);
        let (mut u, mut z) = (vec![0.0; room * d], vec![0.0; room * d]);
        let (mut values, mut pulls) = (vec![0.0; room], vec![0.0; room * d]);
        let mut scratch: Vec<Scratch> = self.target.scratch(room);
        let mut first = 0;
        while first < count {
            let size = room.min((count - first) as usize);
            for (k, u) in u.chunks_exact_mut(d).take(size).enumerate() {
                fill(first + k as u64, u);
            }
            let (u, z) = (&u[..size * d], &mut z[..size * d]);
            chunked::fill(z, TOGETHER * d, size.saturating_mul(d * d), |first, z| {
                self.q.transport(&u[first..first + z.len()], z);
            });
            let pulls = &mut pulls[..size * d];
            self.target.evaluate(z, &mut values[..size], pulls, &mut scratch)?;
            for k in 0..size {
                let pull = &mut pulls[k * d..(k + 1) * d];
                let norm_z = norm(&z[k * d..(k + 1) * d]);
                if !(values[k].is_finite() && dot(pull, pull).is_finite()) {
                    return Err(Error::TargetNotFinite {
                        quantity: if values[k].is_finite() { "gradient" } else { "log-density" },
                        value: if values[k].is_finite() { f64::NAN } else { values[k] },
                        step: first,
                        draw: k,
                        norm: norm_z,
                    });
                }
                pull.iter_mut().for_each(|x| *x = -*x);
            }
            // The points are spent: their room takes Cᵀπ.
            let pulls = &*pulls;
            chunked::fill(z, TOGETHER * d, size.saturating_mul(d * d), |first, z| {
                provi_kernels::triangle::pull_back(self.q.factor(), &pulls[first..first + z.len()], z);
            });
            for k in 0..size {
                let u = &u[k * d..(k + 1) * d];
                let s = &mut z[k * d..(k + 1) * d];
                axpy(-1.0, u, s);
                see(u, s, -values[k] - 0.5 * dot(u, u) - self.constant);
            }
            first += size as u64;
        }
        Ok(())
    }

    /// A few draws, kept, to choose how to measure.
    pub(super) fn pilot(&self, draws: Draws, count: u64) -> Result<Pilot> {
        let mut out = Pilot { dim: self.q.dim(), norms: Vec::new(), residuals: Vec::new() };
        self.visit(&mut |k, u| draws.fill(k, 0, u), count, &mut |u, s, _| {
            out.norms.push(norm(u));
            out.residuals.extend_from_slice(s);
        })?;
        Ok(out)
    }

    /// The audit itself: `count` fresh draws of q, of which those inside the ball are draws of q_B.
    pub(super) fn measure(
        &self,
        draws: Draws,
        look: u32,
        count: u64,
        global: Option<&Metric>,
        local: Option<(&Metric, f64)>,
    ) -> Result<Measured> {
        let mut out = Measured {
            global_mean: 0.0,
            inside: 0,
            local_mean: 0.0,
            square_mean: 0.0,
            local_value_mean: 0.0,
            center_value: self.center_value,
            gradient_norm: self.gradient_norm,
            log_ratios: Vec::with_capacity(KEPT.min(count as usize)),
        };
        let mut copy = vec![0.0; self.q.dim()];
        let mut total = 0u64;
        // Each look has draws of its own.
        self.visit(&mut |k, u| draws.fill(k, look, u), count, &mut |u, s, value| {
            total += 1;
            if out.log_ratios.len() < KEPT {
                out.log_ratios.push(-value);
            }
            if let Some(metric) = global {
                copy.copy_from_slice(s);
                out.global_mean += (metric.square(&mut copy) - out.global_mean) / total as f64;
            }
            if let Some((metric, radius)) = local
                && norm(u) <= radius
            {
                out.inside += 1;
                let weight = 1.0 / out.inside as f64;
                out.square_mean += weight * (dot(s, s) - out.square_mean);
                out.local_value_mean += weight * (value - out.local_value_mean);
                out.local_mean += weight * (metric.square(s) - out.local_mean);
            }
        })?;
        Ok(out)
    }
}

impl Pilot {
    /// The mean of ‖ŝ‖² over the pilot draws with ‖u‖ ≤ radius; NaN if there are none.
    pub(super) fn mean_within(&self, metric: &Metric, radius: f64) -> f64 {
        let mut copy = vec![0.0; self.dim];
        let (mut sum, mut count) = (0.0, 0.0);
        for (&size, s) in self.norms.iter().zip(self.residuals.chunks_exact(self.dim)) {
            if size <= radius {
                copy.copy_from_slice(s);
                sum += metric.square(&mut copy);
                count += 1.0;
            }
        }
        sum / count
    }
}
