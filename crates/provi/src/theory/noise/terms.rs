//! The noise of drawing terms: V = V_0 + Σ_n V_n, B terms for each draw.

use super::{Base, NoiseBound, energy, energy_subsample, entropy, entropy_subsample, square};
use crate::base::error::{Error, Result};
use crate::base::scalar::{NonNegative, Positive};
use crate::theory::upward;

/// The noise of one draw with B independent terms, term n with probability π_n [noise-subsample]:
/// ```text
/// g_B(u) = g of V_0 + (1/B) Σ_b V_{n_b}/π_{n_b}     the same u for every term
/// E‖g_B‖² = E‖g‖² + (1/B)·E Var_n,   E Var_n ≤ Σ_n (1/π_n) E‖∇V_n(Cu + m)‖²(1 + ‖u‖²)
/// ```
/// The prior V_0 is in every g_B, as if term n carried the share π_n of it: it adds nothing to the variance. With
/// ```text
/// X ≥ Σ_n ‖∇V_n(z) − ∇V_n(z')‖²/(π_n‖z − z'‖²)  for all z, z',     Σ_n M_n²/π_n always being one,
/// Y = Σ_n ‖∇V_n(z̃)‖²/π_n                         at the computed mode z̃,
/// ρ ≥ ‖w* − (z̃, 0)‖
/// ```
/// the bound follows by the triangle inequality from z̃: no term needs a stationary point.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct TermNoise {
    /// B, terms for each draw.
    pub terms: usize,
    /// X.
    pub spread: f64,
    /// Y.
    pub pull2: f64,
    /// ρ.
    pub distance: f64,
}

impl TermNoise {
    /// Checks that B ≥ 1 and that the numbers are finite and not negative.
    pub fn new(terms: usize, spread: f64, pull2: f64, distance: f64) -> Result<Self> {
        if terms == 0 {
            return Err(Error::OutOfRange { what: "terms B", value: 0.0, needed: "at least 1" });
        }
        Ok(Self {
            terms,
            spread: NonNegative::new("Σ M_n²/π_n", spread)?.get(),
            pull2: NonNegative::new("Σ ‖∇V_n‖²/π_n", pull2)?.get(),
            distance: NonNegative::new("‖w*−w̄‖", distance)?.get(),
        })
    }

    /// M² + X/B, which replaces M² in the terms of one draw.
    pub fn weight(&self, smoothness: f64) -> Result<f64> {
        Ok(upward(square(smoothness)? + self.spread / self.terms as f64))
    }

    /// What the terms add to V*, the variance of a draw at the optimum:
    /// ```text
    /// (√((d+1)Y) + √((d+κ)X)·ρ)²/B
    /// ```
    pub fn variance_at_optimum(&self, base: impl Into<Base>) -> Result<f64> {
        let base = base.into();
        let (mean, factor) = (base.mean_weight()?, base.factor_weight()?);
        let root = (mean * self.pull2).sqrt() + (factor * self.spread).sqrt() * self.distance;
        Ok(upward(root * root / self.terms as f64))
    }

    /// The mean of N draws of the energy estimator, centred, with B terms each; `v_star` is that of the whole target:
    /// ```text
    /// (max{0, 1−2/N}M² + 2(d+κ)(M² + X/B)/N)·‖w−w*‖² + 2(V* + what the terms add)/N
    /// ```
    pub fn energy(
        &self,
        base: impl Into<Base>,
        smoothness: f64,
        draws: usize,
        v_star: f64,
    ) -> Result<NoiseBound> {
        let base = base.into();
        let v_star = v_star + self.variance_at_optimum(base)?;
        energy_subsample(base, smoothness, self.weight(smoothness)?, draws, v_star)
    }

    /// The mean of N draws of the entropy estimator on 𝒲_M, or the triangular set, with B terms each:
    /// ```text
    /// (4M² + 2(d+κ)(M² + X/B)/N)·‖w−w*‖² + 2(V* + what the terms add)/N
    /// ```
    pub fn entropy(
        &self,
        base: impl Into<Base>,
        smoothness: f64,
        draws: usize,
        v_star: f64,
    ) -> Result<NoiseBound> {
        let base = base.into();
        let v_star = v_star + self.variance_at_optimum(base)?;
        entropy_subsample(base, smoothness, self.weight(smoothness)?, draws, v_star)
    }

    /// One draw of the energy estimator, not centred: what [`energy`] says of the whole target, and for the terms
    /// 2(d+κ)X/B and twice what they add at the optimum.
    pub fn energy_single(
        &self,
        base: impl Into<Base>,
        smoothness: f64,
        distance2: f64,
    ) -> Result<NoiseBound> {
        let base = base.into();
        self.added(base, energy(base, smoothness, distance2)?)
    }

    /// One draw of the entropy estimator on 𝒲_L, as [`TermNoise::energy_single`].
    pub fn entropy_single(
        &self,
        base: impl Into<Base>,
        smoothness: f64,
        region: f64,
        distance2: f64,
    ) -> Result<NoiseBound> {
        let base = base.into();
        let region = Positive::new("region L", region)?.get();
        self.added(base, entropy(base, smoothness, region, distance2)?)
    }

    fn added(&self, base: Base, whole: NoiseBound) -> Result<NoiseBound> {
        let growth = 2.0 * base.factor_weight()? * self.spread / self.terms as f64;
        NoiseBound::new(
            upward(whole.growth + growth),
            upward(whole.floor + 2.0 * self.variance_at_optimum(base)?),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::noise;

    #[test]
    fn terms_that_do_not_vary_add_nothing() {
        let none = TermNoise::new(3, 0.0, 0.0, 2.0).unwrap();
        let (whole, with) =
            (noise::energy_batch(4, 2.0, 8, 3.0).unwrap(), none.energy(4, 2.0, 8, 3.0).unwrap());
        assert!((with.growth / whole.growth - 1.0).abs() < 1e-13 && with.growth >= whole.growth);
        assert!((with.floor / whole.floor - 1.0).abs() < 1e-13 && with.floor >= whole.floor);
    }

    #[test]
    fn many_terms_come_back_to_the_whole_target() {
        let noise = |terms| TermNoise::new(terms, 50.0, 7.0, 1.5).unwrap().entropy(4, 2.0, 2, 3.0).unwrap();
        let whole = noise::entropy_batch(4, 2.0, 2, 3.0).unwrap();
        let (few, many) = (noise(1), noise(1_000_000_000));
        assert!(few.growth > 2.0 * whole.growth && few.floor > 2.0 * whole.floor);
        assert!(
            (many.growth / whole.growth - 1.0).abs() < 1e-6 && (many.floor / whole.floor - 1.0).abs() < 1e-6
        );
    }

    #[test]
    fn impossible_numbers_are_refused() {
        assert!(TermNoise::new(0, 1.0, 1.0, 1.0).is_err());
        assert!(TermNoise::new(1, f64::INFINITY, 1.0, 1.0).is_err());
        assert!(TermNoise::new(1, 1.0, -1.0, 1.0).is_err());
    }
}
