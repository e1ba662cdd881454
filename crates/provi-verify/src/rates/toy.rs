//! A one-dimensional problem whose errors satisfy the recursion with equality.

use crate::problems::normals;
use crate::statistics::Mean;
use provi::theory::NoiseBound;
use provi::{Result, Schedule};
use rayon::prelude::*;

/// f = ½μw², g = μw + τwξ + σζ with independent standard normals: E‖g‖² = (μ² + τ²)w² + σ².
pub(crate) struct Toy {
    pub(crate) convexity: f64,
    tau: f64,
    sigma: f64,
}

impl Toy {
    pub(crate) const PLAIN: Self = Self { convexity: 0.5, tau: 2.0, sigma: 1.0 };

    pub(crate) fn noise(&self) -> Result<NoiseBound> {
        NoiseBound::new(self.convexity.powi(2) + self.tau.powi(2), self.sigma.powi(2))
    }

    /// E w_T² over runs from w_0 = √e_0.
    pub(crate) fn run(&self, schedule: &Schedule, steps: u64, e0: f64, runs: u64) -> Mean {
        let squares: Vec<f64> = (0..runs)
            .into_par_iter()
            .map(|seed| {
                let noise = normals(90_000 + seed, 2 * steps as usize);
                let mut w = e0.sqrt();
                for (gamma, n) in schedule.stepper().zip(noise.chunks_exact(2)) {
                    w -= gamma * (self.convexity * w + self.tau * w * n[0] + self.sigma * n[1]);
                }
                w * w
            })
            .collect();
        Mean::of(&squares)
    }
}
