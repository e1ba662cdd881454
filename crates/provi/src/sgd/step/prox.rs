//! The proximal step (Def. 6), for triangular factors.

use crate::base::error::Result;
use crate::base::matrix::packed_index;
use crate::sgd::optimize::{Moved, Operator};

/// Prox-SGD: w ← prox_{γh}(w − γg), with g an estimate of ∇l and h(w) = −log det C.
///
/// The prox leaves m and the strict triangle of C unchanged, and raises the diagonal [prox-h]:
/// ```text
/// C_ii ← ½(C_ii + √(C_ii² + 4γ))
/// ```
/// Invariant: C_ii > 0 on exit for any finite value on entry. Cost: d square roots.
#[derive(Clone, Copy, Debug)]
pub struct Prox {
    dim: usize,
}

impl Prox {
    /// For factors of size `dim`.
    pub fn new(dim: usize) -> Self {
        Self { dim }
    }
}

impl Operator for Prox {
    fn apply(&mut self, w: &mut [f64], gamma: f64, _moved: &Moved) -> Result<()> {
        let factor = &mut w[self.dim..];
        for i in 0..self.dim {
            let c = &mut factor[packed_index(i, i)];
            *c = lift(*c, gamma);
        }
        Ok(())
    }
}

/// argmin_x −ln x + (x − c)²/2γ: the positive root of x² − cx − γ.
///
/// For c < 0 the textbook root subtracts nearly equal numbers (it returns 0 at c = −1e8, γ = 1e-3); its conjugate
/// does not.
pub(crate) fn lift(c: f64, gamma: f64) -> f64 {
    let root = c.hypot(2.0 * gamma.sqrt());
    if c >= 0.0 { 0.5 * (c + root) } else { 2.0 * gamma / (root - c) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lift_is_positive_and_stationary(sign in -1i8..=1, log_c in -8.0..8.0f64, log_gamma in -10.0..2.0f64) {
            let (c, gamma) = (f64::from(sign) * 10f64.powf(log_c), 10f64.powf(log_gamma));
            let x = super::lift(c, gamma);
            let scale = x * x + (c * x).abs() + gamma;
            prop_assert!(x > 0.0 && (x * x - c * x - gamma).abs() <= 4.0 * f64::EPSILON * scale);
        }

        #[test]
        fn lift_is_non_expansive(a in -50.0..50.0f64, b in -50.0..50.0f64, log_gamma in -6.0..2.0f64) {
            let gamma = 10f64.powf(log_gamma);
            let moved = (super::lift(a, gamma) - super::lift(b, gamma)).abs();
            prop_assert!(moved <= (a - b).abs() * (1.0 + 1e-12) + 1e-13);
        }
    }
}
