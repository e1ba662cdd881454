//! Projections on the factors of a ball [proj-ball].

use super::proj::{ProjSymmetric, floor_of};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Factor, Symmetric};
use crate::base::linalg::{eigen, spectral_map};
use crate::base::matrix::{pack_lower, packed_index, unpack_symmetric};
use crate::base::scalar::Positive;
use crate::sgd::optimize::{Moved, Operator};

/// ‖m − z̃‖² + ‖C‖_F² ≤ R².
#[derive(Clone, Debug, PartialEq)]
pub struct Ball {
    /// z̃.
    pub centre: Vec<f64>,
    /// R.
    pub radius: f64,
}

impl Ball {
    /// 1/√M and R², for factors that the ball can hold.
    fn measured(&self, smoothness: f64) -> Result<(f64, f64)> {
        let floor = floor_of(smoothness)?;
        let square = Positive::new("radius of the ball", self.radius)?.get().powi(2);
        let least = self.centre.len() as f64 * floor * floor;
        // A ball with one factor in it may miss it by rounding.
        if square < least * (1.0 - 1e-12) {
            let (value, needed) = (self.radius, "at least √(d/M), or no factor lies in the ball");
            return Err(Error::OutOfRange { what: "radius of the ball", value, needed });
        }
        Ok((floor, square.max(least)))
    }

    /// m ← z̃ + s(m − z̃).
    fn draw_in(&self, mean: &mut [f64], s: f64) {
        mean.iter_mut().zip(&self.centre).for_each(|(m, z)| *m = z + s * (*m - z));
    }

    fn mean2(&self, mean: &[f64]) -> f64 {
        mean.iter().zip(&self.centre).map(|(m, z)| (m - z) * (m - z)).sum()
    }
}

/// The largest s ≤ 1 with s²·free + Σ max(φ, s·λ_i)² ≤ R², where R² ≥ Σφ²; sorts the λ_i.
///
/// max(φ, sλ)² is the larger of two, so the sum is the largest of its forms with k of the terms s²λ_i² and φ² for the others, and
/// for each k the k largest λ_i make it largest. Each form is at most R² for s ≤ s_k:
/// ```text
/// s_k² = (R² − (n−k)φ²)/(free + λ_1² + … + λ_k²),   s = min{1, s_0, …, s_n}
/// ```
fn shrinkage(free: f64, values: &mut [f64], floor: f64, radius2: f64) -> f64 {
    values.sort_unstable_by(|a, b| b.total_cmp(a));
    let (mut below, mut most, mut least) = (values.len() as f64, free, 1.0f64);
    let mut consider = |below: f64, most: f64| {
        if most > 0.0 {
            least = least.min((radius2 - below * floor * floor).max(0.0) / most);
        }
    };
    consider(below, most);
    for value in values.iter().take_while(|value| **value > floor) {
        (below, most) = (below - 1.0, most + value * value);
        consider(below, most);
    }
    least.sqrt()
}

/// The projection on {C ∈ 𝒯ᵈ, C_ii ≥ 1/√M} ∩ ball [proj-ball]:
/// ```text
/// m ← z̃ + s(m − z̃),   C_ij ← s·C_ij,   C_ii ← max(1/√M, s·C_ii),   s ∈ [0, 1] the largest that ends in the ball
/// ```
/// Cost: one pass over C, and a sort of its diagonal.
#[derive(Clone, Debug)]
pub struct BallTriangular {
    ball: Ball,
    floor: f64,
    radius2: f64,
    values: Vec<f64>,
}

impl BallTriangular {
    /// For a target with smoothness M.
    pub fn new(ball: Ball, smoothness: f64) -> Result<Self> {
        let (floor, radius2) = ball.measured(smoothness)?;
        let values = vec![0.0; ball.centre.len()];
        Ok(Self { ball, floor, radius2, values })
    }
}

impl Operator for BallTriangular {
    fn apply(&mut self, w: &mut [f64], _gamma: f64, _moved: &Moved) -> Result<()> {
        let d = self.values.len();
        let (mean, factor) = w.split_at_mut(d);
        let mut free = self.ball.mean2(mean);
        for (i, value) in self.values.iter_mut().enumerate() {
            let row = &factor[packed_index(i, 0)..=packed_index(i, i)];
            *value = row[i];
            free += provi_kernels::dot(&row[..i], &row[..i]);
        }
        let s = shrinkage(free, &mut self.values, self.floor, self.radius2);
        if s < 1.0 {
            self.ball.draw_in(mean, s);
            factor.iter_mut().for_each(|c| *c *= s);
        }
        for i in 0..d {
            let c = &mut factor[packed_index(i, i)];
            *c = c.max(self.floor);
        }
        Ok(())
    }
}

/// The projection on 𝒲_M ∩ ball, symmetric factors [proj-ball]:
/// ```text
/// m ← z̃ + s(m − z̃),   C ← U max(1/√M, sD) Uᵀ,   UDUᵀ = C,   s ∈ [0, 1] the largest that ends in the ball
/// ```
/// Where the ball does not bind it is [`ProjSymmetric`]; where it does, one eigendecomposition.
#[derive(Debug)]
pub struct BallSymmetric {
    ball: Ball,
    floor: f64,
    radius2: f64,
    inner: ProjSymmetric,
}

impl BallSymmetric {
    /// For a target with smoothness M.
    pub fn new(ball: Ball, smoothness: f64) -> Result<Self> {
        let (floor, radius2) = ball.measured(smoothness)?;
        let inner = ProjSymmetric::new(ball.centre.len(), smoothness)?;
        Ok(Self { ball, floor, radius2, inner })
    }
}

impl Operator for BallSymmetric {
    /// Clamping first changes nothing: an eigenvalue below 1/√M ends at 1/√M for every s ≤ 1.
    fn apply(&mut self, w: &mut [f64], gamma: f64, moved: &Moved) -> Result<()> {
        self.inner.apply(w, gamma, moved)?;
        let d = self.ball.centre.len();
        let (mean, factor) = w.split_at_mut(d);
        let free = self.ball.mean2(mean);
        if free + Symmetric::square_norm(d, factor) <= self.radius2 {
            return Ok(());
        }
        let (mut values, vectors) = eigen("symmetric factor", &unpack_symmetric(d, factor))?;
        let s = shrinkage(free, &mut values.clone(), self.floor, self.radius2);
        self.ball.draw_in(mean, s);
        values.iter_mut().for_each(|x| *x = (s * *x).max(self.floor));
        factor.copy_from_slice(&pack_lower(&spectral_map(&values, &vectors, |x| x)));
        self.inner.forget();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
