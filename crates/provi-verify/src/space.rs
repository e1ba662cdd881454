//! The two spaces of factors, as measurements need them.

use provi::gaussian::Factor;
use provi::{Gaussian, Result, Symmetric, Triangular};
pub(crate) use provi_testkit::space::{distance2, gradient, hessian, moments, objective, square_norm};

/// 𝒯ᵈ or 𝒮ᵈ.
pub(crate) trait Space: provi_testkit::space::Space {
    /// q with its factor in this space.
    fn of(q: &Gaussian<Triangular>) -> Result<Gaussian<Self>>;
}

impl Space for Triangular {
    fn of(q: &Gaussian<Triangular>) -> Result<Gaussian<Self>> {
        Ok(q.clone())
    }
}

impl Space for Symmetric {
    fn of(q: &Gaussian<Triangular>) -> Result<Gaussian<Self>> {
        q.to_symmetric()
    }
}

/// ⟨w, v⟩.
pub(crate) fn inner<F: Factor>(d: usize, w: &[f64], v: &[f64]) -> f64 {
    let sum: Vec<f64> = w.iter().zip(v).map(|(a, b)| a + b).collect();
    0.25 * (square_norm::<F>(d, &sum) - distance2::<F>(d, w, v))
}
