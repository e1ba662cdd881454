//! The best Gaussian by expectations from a device: a start for the solver, which then proves what it is.

use super::Glm;
use crate::base::error::Result;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::inverse_factor;
use crate::base::matrix::{Matrix, packed_len};
use crate::base::stop;
use crate::glm::expectation::quadrature;
use provi_kernels::{dot, triangle};

/// Most steps towards the mode, and from there to the optimum.
const MOST_STEPS: usize = 60;
/// Twice the decrease that a step predicts, in nats, from which expectations are taken over a Gaussian instead of at a point.
const AT_MODE: f64 = 1e-2;
/// A step is halved at most so often.
const MOST_HALVED: usize = 30;

/// V and its derivatives, expected under N(m, CCᵀ).
struct At {
    value: f64,
    slope: Vec<f64>,
    hessian: Matrix,
}

impl Glm {
    /// A Gaussian near the best one, by Newton's method to the mode and natural-gradient steps from there, all by passes of the device:
    /// ```text
    /// m ← m − H⁻¹E∇V,   CCᵀ ← H⁻¹,   H = E∇²V
    /// ```
    /// `None` where it has none, or the steps do not end. Nothing rests on the device's numbers: whoever asked takes expectations of its
    /// own at the result.
    pub(super) fn near_optimum_aside(&self, goal: f64) -> Result<Option<Gaussian<Triangular>>> {
        let d = self.linear.dim();
        // An expectation costs about as much as the densities of d draws.
        if !self.rows.goes_aside(d) {
            return Ok(None);
        }
        let (mut mean, mut factor) = (vec![0.0; d], vec![0.0; packed_len(d)]);
        let Some(mut at) = self.expected_aside(&mean, &factor) else { return Ok(None) };
        let mut spread_out = false;
        for _ in 0..MOST_STEPS {
            stop::check()?;
            let mut inverse = vec![0.0; packed_len(d)];
            if inverse_factor("a Hessian", &at.hessian, &mut inverse).is_err() {
                return Ok(None);
            }
            // Fᵀg and the step −FFᵀg.
            let (mut pulled, mut step) = (vec![0.0; d], vec![0.0; d]);
            triangle::multiply_transposed(&inverse, &at.slope, &mut pulled);
            triangle::multiply(&inverse, &pulled, &mut step);
            let decrease = dot(&pulled, &pulled);
            if spread_out {
                // tr((C'⁻¹(C − C'))²) ~ 0: the factor stands still too.
                let moved: f64 = factor.iter().zip(&inverse).map(|(a, b)| (a - b).powi(2)).sum();
                let size = dot(&inverse, &inverse);
                let stands = decrease + d as f64 * moved / size <= 0.1 * goal;
                mean.iter_mut().zip(&step).for_each(|(m, s)| *m -= s);
                factor = inverse;
                if stands {
                    return Gaussian::new(&mean, &factor).map(Some);
                }
            } else if decrease <= AT_MODE {
                (spread_out, factor) = (true, inverse);
            } else {
                let Some(next) = self.lower_aside(&mean, &step, at.value) else { return Ok(None) };
                (mean, at) = next;
                continue;
            }
            let Some(next) = self.expected_aside(&mean, &factor) else { return Ok(None) };
            at = next;
        }
        Ok(None)
    }

    /// The first of m − s, m − s/2, … with a smaller V.
    fn lower_aside(&self, mean: &[f64], step: &[f64], value: f64) -> Option<(Vec<f64>, At)> {
        let point = vec![0.0; packed_len(mean.len())];
        (0..MOST_HALVED).find_map(|k| {
            let length = 0.5f64.powi(k as i32);
            let there: Vec<f64> = mean.iter().zip(step).map(|(m, s)| m - length * s).collect();
            let at = self.expected_aside(&there, &point)?;
            (at.value < value).then_some((there, at))
        })
    }

    fn expected_aside(&self, mean: &[f64], factor: &[f64]) -> Option<At> {
        let rules = quadrature::device_rules();
        let found = self.rows.expectations_aside(self.linear.family, mean, factor, &rules)?;
        let mut hessian = self.linear.precision();
        hessian.entries_mut().iter_mut().zip(&found.hessian).for_each(|(h, x)| *h += x);
        let mut slope = found.gradient;
        let value = found.value + self.linear.prior.energy(mean, &mut slope);
        value.is_finite().then_some(At { value, slope, hessian })
    }
}
