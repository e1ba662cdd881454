//! How noisy a gradient estimate can be: E‖g‖² ≤ growth·‖w − w*‖² + floor.
//!
//! Two families of bounds. The single-draw table ([`energy`], [`entropy`], [`stl`]) is the paper's and feeds
//! the closed-form rates. The batch forms ([`energy_batch`], …) average N draws, are sharper, and feed the
//! recursion; that of the energy estimator is centred, about g − ∇l(w*) instead of g.
//!
//! w* is the optimum, w̄ = (z̄, 0) the mode, M the smoothness of the potential and d its dimension. The draws u have d
//! independent coordinates of kurtosis κ ([`Base`]); a plain d stands for normal draws, κ = 3.

mod base;
mod controlled;
mod pattern;
mod terms;

pub use base::Base;
pub use controlled::{
    control, controlled_energy_batch, controlled_entropy_batch, controlled_residual, controlled_v_star,
};
pub use pattern::pattern_dimension;
pub use terms::TermNoise;

use crate::base::error::{Error, Result};
use crate::base::scalar::{NonNegative, Positive};

/// E‖g‖² ≤ growth·‖w − w*‖² + floor (Def. 5). The function that makes it says whether it bounds g or g − ∇l(w*).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NoiseBound {
    /// a: how the noise grows with the squared distance to the optimum.
    pub growth: f64,
    /// b: the noise left at the optimum.
    pub floor: f64,
}

impl NoiseBound {
    /// Checks that both constants are finite and not negative.
    pub fn new(growth: f64, floor: f64) -> Result<Self> {
        let growth = NonNegative::new("noise growth a", growth)?.get();
        let floor = NonNegative::new("noise floor b", floor)?.get();
        Ok(Self { growth, floor })
    }

    /// The bound at squared distance ‖w − w*‖² = `distance2`.
    pub fn at(&self, distance2: f64) -> f64 {
        self.growth * distance2 + self.floor
    }
}

/// ‖w* − w̄‖² ≤ d/μ: an upper bound that replaces the unknown distance from the mode to the optimum \[structure\].
pub fn optimum_distance2(d: usize, convexity: f64) -> Result<f64> {
    Ok(dimension(d)? / Positive::new("convexity μ", convexity)?.get())
}

/// One draw of the energy estimator, everywhere [noise-energy], [base-law]:
/// ```text
/// growth = 2(d+κ)M²,   floor = 2(d+κ)M²‖w*−w̄‖²
/// ```
/// `distance2` is ‖w*−w̄‖² or an upper bound of it, see [`optimum_distance2`].
pub fn energy(base: impl Into<Base>, smoothness: f64, distance2: f64) -> Result<NoiseBound> {
    let growth = 2.0 * base.into().factor_weight()? * square(smoothness)?;
    NoiseBound::new(growth, growth * distance2)
}

/// One draw of the entropy estimator, on 𝒲_L = {σ_min(C) ≥ 1/√L}, L = `region` [noise-entropy]:
/// ```text
/// growth = 4(d+κ)M²,   floor = 4(d+κ)M²‖w*−w̄‖² + 2dL
/// ```
/// Also holds on the triangular set C_ii ≥ 1/√L [proj-tri]. The appendix of the paper prints dL: its proof loses a
/// factor 2.
pub fn entropy(base: impl Into<Base>, smoothness: f64, region: f64, distance2: f64) -> Result<NoiseBound> {
    let base = base.into();
    let growth = 4.0 * base.factor_weight()? * square(smoothness)?;
    let region = Positive::new("region L", region)?.get();
    NoiseBound::new(growth, growth * distance2 + 2.0 * base.dim() as f64 * region)
}

/// One draw of sticking the landing, on 𝒲_M with a symmetric factor and normal draws [noise-stl], [stl-floor]:
/// ```text
/// growth = 4(d+3)(K² + 2M²),   floor = 4·c_d·K²·tr H_lo⁻¹
/// ```
/// K is the [`residual_smoothness`]; K = 0 for a Gaussian target: no floor, and the rate turns linear.
pub fn stl(d: usize, smoothness: f64, residual: f64, trace_inverse: f64) -> Result<NoiseBound> {
    stl_batch(d, smoothness, residual, trace_inverse, 1)
}

/// a·b for b ≥ 0, and 0 for b = 0 even if a has overflowed.
fn times(a: f64, b: f64) -> f64 {
    if b > 0.0 { a * b } else { 0.0 }
}

/// c_d = (d+5)/2 + 2√(1+d/2), the constant of [stl-floor].
pub fn stl_floor_constant(d: usize) -> f64 {
    let d = d as f64;
    0.5 * (d + 5.0) + 2.0 * (1.0 + 0.5 * d).sqrt()
}

/// S* = E‖∇r(C*u+m*)‖²(1+‖u‖²) ≤ c_d·K²·tr H_lo⁻¹, the noise of STL at the optimum [stl-floor].
pub fn stl_moment_at_optimum(d: usize, residual: f64, trace_inverse: f64) -> Result<f64> {
    dimension(d)?;
    let residual = NonNegative::new("residual smoothness K", residual)?.get();
    let trace = NonNegative::new("tr H_lo⁻¹", trace_inverse)?.get();
    Ok(times(stl_floor_constant(d) * residual * residual, trace))
}

/// K ≤ min{λ_max(H_hi − H_lo), M − μ}, the smoothness of r = log p − log q_{w*} [stl-k].
///
/// `spread` is λ_max(H_hi − H_lo), if the model can give it. Exactly zero for Gaussian targets.
pub fn residual_smoothness(smoothness: f64, convexity: f64, spread: Option<f64>) -> Result<f64> {
    let smoothness = Positive::new("smoothness M", smoothness)?.get();
    let convexity = NonNegative::new("convexity μ", convexity)?.get();
    let plain = NonNegative::new("M − μ", smoothness - convexity)?.get();
    match spread {
        Some(spread) => Ok(NonNegative::new("λ_max(H_hi − H_lo)", spread)?.get().min(plain)),
        None => Ok(plain),
    }
}

/// E‖g_energy‖² ≤ (d+1)M²‖m−z̄‖² + (d+κ)M²‖C‖_F², before any relaxation [noise-energy], [base-law].
///
/// This is an equality for V = ½M‖z−z̄‖² before the projection on 𝒯ᵈ or 𝒮ᵈ, whatever the law of the draws.
pub fn energy_second_moment(base: impl Into<Base>, smoothness: f64, mean2: f64, factor2: f64) -> Result<f64> {
    let m2 = square(smoothness)?;
    subsample_second_moment(base, m2, m2 * mean2, factor2)
}

/// V* ≤ (d+κ)M²‖w*−w̄‖², the total variance of the energy estimator at the optimum [noise-centred], [base-law].
pub fn v_star_bound(base: impl Into<Base>, smoothness: f64, distance2: f64) -> Result<f64> {
    let distance2 = NonNegative::new("‖w*−w̄‖²", distance2)?.get();
    Ok(times(base.into().factor_weight()? * square(smoothness)?, distance2))
}

/// The mean of N energy draws, centred, everywhere [noise-centred], [noise-batch], [base-law]:
/// ```text
/// E‖g_N(w) − ∇l(w*)‖² ≤ (max{0, 1−2/N}M² + 2(d+κ)M²/N)·‖w−w*‖² + 2V*/N
/// ```
/// With the same draws at w and w*, g(w) − g(w*) has mean ∇l(w) − ∇l(w*) and second moment ≤ (d+κ)M²‖w−w*‖².
pub fn energy_batch(base: impl Into<Base>, smoothness: f64, draws: usize, v_star: f64) -> Result<NoiseBound> {
    energy_subsample(base, smoothness, square(smoothness)?, draws, v_star)
}

/// The mean of N entropy draws, on 𝒲_M or the triangular set C_ii ≥ 1/√M [noise-batch], [proj-tri]; for draws that are not
/// normal only on the latter, which is known to hold w* [base-law]:
/// ```text
/// E‖g_N(w)‖² ≤ (4M² + 2(d+κ)M²/N)·‖w−w*‖² + 2V*/N
/// ```
/// V* is that of the energy estimator: at a fixed w the two estimators differ by a constant.
pub fn entropy_batch(
    base: impl Into<Base>,
    smoothness: f64,
    draws: usize,
    v_star: f64,
) -> Result<NoiseBound> {
    entropy_subsample(base, smoothness, square(smoothness)?, draws, v_star)
}

/// The mean of N STL draws, on 𝒲_M with a symmetric factor and normal draws [noise-batch]:
/// ```text
/// E‖g_N(w)‖² ≤ ((1−1/N)4M² + 4(d+3)(K²+2M²)/N)·‖w−w*‖² + 4S*/N
/// ```
pub fn stl_batch(
    d: usize,
    smoothness: f64,
    residual: f64,
    trace_inverse: f64,
    draws: usize,
) -> Result<NoiseBound> {
    let (m2, n) = (square(smoothness)?, batch(draws)?);
    let s_star = stl_moment_at_optimum(d, residual, trace_inverse)?;
    let single = 4.0 * (dimension(d)? + 3.0) * (residual * residual + 2.0 * m2);
    NoiseBound::new((1.0 - 1.0 / n) * 4.0 * m2 + single / n, 4.0 * s_star / n)
}

/// ‖∇l(w) − ∇l(w*)‖² ≤ M²‖w−w*‖²: exact gradients under the prox, no floor.
pub fn exact_prox(smoothness: f64) -> Result<NoiseBound> {
    NoiseBound::new(square(smoothness)?, 0.0)
}

/// ‖∇f(w)‖² ≤ 4M²‖w−w*‖² on 𝒲_M: exact gradients under the projection, no floor.
pub fn exact_proj(smoothness: f64) -> Result<NoiseBound> {
    NoiseBound::new(4.0 * square(smoothness)?, 0.0)
}

/// E‖g_energy‖² when one term of V = Σ_n V_n is drawn, term n with probability π_n [noise-subsample]:
/// ```text
/// Σ_n (M_n²/π_n)[(d+1)‖m−z̄_n‖² + (d+κ)‖C‖_F²] = (d+1)·weighted_mean2 + (d+κ)·weight·‖C‖_F²
/// ```
/// `weight` = Σ_n M_n²/π_n and `weighted_mean2` = Σ_n (M_n²/π_n)‖m−z̄_n‖², z̄_n a stationary point of V_n. At w*,
/// ‖m*−z̄_n‖ ≤ ‖z̄−z̄_n‖ + √(d/μ) and ‖C*‖_F² ≤ tr H_lo⁻¹ make it a bound of V*. Not known to hold for STL.
pub fn subsample_second_moment(
    base: impl Into<Base>,
    weight: f64,
    weighted_mean2: f64,
    factor2: f64,
) -> Result<f64> {
    let base = base.into();
    let weight = NonNegative::new("Σ M_n²/π_n", weight)?.get();
    let mean2 = NonNegative::new("Σ (M_n²/π_n)‖m−z̄_n‖²", weighted_mean2)?.get();
    let factor2 = NonNegative::new("‖C‖_F²", factor2)?.get();
    Ok(base.mean_weight()? * mean2 + times(base.factor_weight()? * weight, factor2))
}

/// [`energy_batch`] with N independent (datum, draw) pairs: (d+κ)Σ_n M_n²/π_n in place of (d+κ)M² in the 1/N
/// terms, and V* from [`subsample_second_moment`] at w* [noise-subsample].
pub fn energy_subsample(
    base: impl Into<Base>,
    smoothness: f64,
    weight: f64,
    draws: usize,
    v_star: f64,
) -> Result<NoiseBound> {
    let (m2, n) = (square(smoothness)?, batch(draws)?);
    let spread = 2.0 * base.into().factor_weight()? * NonNegative::new("Σ M_n²/π_n", weight)?.get();
    NoiseBound::new((1.0 - 2.0 / n).max(0.0) * m2 + spread / n, 2.0 * v_star / n)
}

/// [`entropy_batch`] with N independent (datum, draw) pairs, changed like [`energy_subsample`] [noise-subsample].
pub fn entropy_subsample(
    base: impl Into<Base>,
    smoothness: f64,
    weight: f64,
    draws: usize,
    v_star: f64,
) -> Result<NoiseBound> {
    let (m2, n) = (square(smoothness)?, batch(draws)?);
    let spread = 2.0 * base.into().factor_weight()? * NonNegative::new("Σ M_n²/π_n", weight)?.get();
    NoiseBound::new(4.0 * m2 + spread / n, 2.0 * v_star / n)
}

fn dimension(d: usize) -> Result<f64> {
    at_least_one("dimension d", d)
}

fn batch(draws: usize) -> Result<f64> {
    at_least_one("draws N", draws)
}

fn at_least_one(what: &'static str, count: usize) -> Result<f64> {
    if count > 0 {
        Ok(count as f64)
    } else {
        Err(Error::OutOfRange { what, value: 0.0, needed: "at least 1" })
    }
}

fn square(smoothness: f64) -> Result<f64> {
    Ok(Positive::new("smoothness M", smoothness)?.get().powi(2))
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // sums and products of small integers and dyadics, exact
mod tests {
    use super::*;

    /// Exact moments in d = 1 for V = ½z² + c·log cosh z, whose curvature lies in [1, 1 + c].
    struct Line {
        c: f64,
        optimum: f64,
    }

    impl Line {
        fn new(c: f64) -> Self {
            let mut line = Self { c, optimum: 1.0 };
            for _ in 0..200 {
                let precision = line.mean(0.0, line.optimum, |_, z| 1.0 + c / z.cosh().powi(2));
                line.optimum = precision.powf(-0.5);
            }
            line
        }

        /// E φ(u, m + Cu) by the trapezoid rule, exact to rounding here.
        fn mean(&self, m: f64, scale: f64, phi: impl Fn(f64, f64) -> f64) -> f64 {
            let step = 0.02;
            let weight = |u: f64| (-0.5 * u * u).exp() * step / (2.0 * std::f64::consts::PI).sqrt();
            (-600..=600).map(|i| f64::from(i) * step).map(|u| weight(u) * phi(u, m + scale * u)).sum()
        }

        fn pull(&self, z: f64) -> f64 {
            z + self.c * z.tanh()
        }

        fn distance2(&self, m: f64, scale: f64) -> f64 {
            m * m + (scale - self.optimum).powi(2)
        }

        /// ‖mean‖² and total variance of an estimator (s, s·u − shift).
        fn spread(&self, m: f64, scale: f64, stick: f64, shift: f64) -> (f64, f64) {
            let s = |u: f64, z: f64| self.pull(z) - stick * u / scale;
            let first = self.mean(m, scale, s);
            let second = self.mean(m, scale, |u, z| s(u, z) * u - shift);
            let total = self.mean(m, scale, |u, z| s(u, z).powi(2) + (s(u, z) * u - shift).powi(2));
            let mean2 = first * first + second * second;
            (mean2, total - mean2)
        }
    }

    fn grid() -> impl Iterator<Item = (f64, f64)> {
        let means = [0.0, 0.1, -0.7, 3.0];
        means.into_iter().flat_map(|m| [1.0, 1.2, 1.7, 4.0].into_iter().map(move |k| (m, k)))
    }

    #[test]
    fn every_bound_holds_on_a_target_that_is_not_gaussian() {
        for c in [0.01, 0.5, 3.0, 20.0] {
            let (line, smooth) = (Line::new(c), 1.0 + c);
            let w2 = line.optimum.powi(2);
            let (edge, residual) = (smooth.powf(-0.5), residual_smoothness(smooth, 1.0, None).unwrap());
            let (_, v_star) = line.spread(0.0, line.optimum, 0.0, 0.0);
            assert!(v_star <= v_star_bound(1, smooth, w2).unwrap());
            let s_star = line.spread(0.0, line.optimum, 1.0, 0.0);
            assert!(s_star.0 + s_star.1 <= stl_moment_at_optimum(1, residual, 1.0).unwrap());
            for (m, k) in grid() {
                let scale = edge * k;
                let e = line.distance2(m, scale);
                let (mean2, variance) = line.spread(m, scale, 0.0, 0.0);
                let moment = energy_second_moment(1, smooth, m * m, scale * scale).unwrap();
                assert!(mean2 + variance <= moment * (1.0 + 1e-12));
                assert!(moment <= energy(1, smooth, w2).unwrap().at(e) * (1.0 + 1e-12));
                let entropy_noise = line.spread(m, scale, 0.0, 1.0 / scale);
                assert!(
                    entropy_noise.0 + entropy_noise.1
                        <= entropy(1, smooth, scale.powi(-2), w2).unwrap().at(e)
                );
                let stuck = line.spread(m, scale, 1.0, 0.0);
                assert!(stuck.0 + stuck.1 <= stl(1, smooth, residual, 1.0).unwrap().at(e) + 1e-9);
                let centred = (line.mean(m, scale, |_, z| line.pull(z))).powi(2)
                    + (line.mean(m, scale, |u, z| line.pull(z) * u) - 1.0 / line.optimum).powi(2);
                for draws in [1, 2, 3, 10, 1000] {
                    let n = draws as f64;
                    let bound = energy_batch(1, smooth, draws, v_star).unwrap().at(e);
                    assert!(centred + variance / n <= bound * (1.0 + 1e-9));
                    let bound = entropy_batch(1, smooth, draws, v_star).unwrap().at(e);
                    assert!(entropy_noise.0 + variance / n <= bound * (1.0 + 1e-9));
                    let bound = stl_batch(1, smooth, residual, 1.0, draws).unwrap().at(e);
                    assert!(stuck.0 + stuck.1 / n <= bound * (1.0 + 1e-9) + 1e-9);
                }
            }
        }
    }

    #[test]
    fn the_second_moment_of_the_energy_estimator_is_exact_for_a_quadratic() {
        let line = Line::new(0.0);
        for (m, scale) in grid() {
            let (mean2, variance) = line.spread(m, scale, 0.0, 0.0);
            let formula = energy_second_moment(1, 1.0, m * m, scale * scale).unwrap();
            assert!((mean2 + variance - formula).abs() <= 1e-11 * formula);
        }
    }

    /// V = −½z² is smooth with M = 1, so the bound, which uses no convexity, must cover it; w* is any reference
    /// point. At C = ½, between w̄ = 0 and w = (0, ½), E‖g‖² = 7.
    #[test]
    fn the_entropy_floor_needs_twice_d_l() {
        let (scale, half) = (0.5f64, 0.25f64);
        let moment = 4.0 * scale * scale + 2.0 + scale.powi(-2);
        let region = scale.powi(-2);
        let bound = entropy(1, 1.0, region, half * half).unwrap();
        assert!(moment <= bound.at(half * half));
        let printed = NoiseBound { floor: bound.floor - region, ..bound };
        assert!(moment > printed.at(half * half), "dL in place of 2dL would be no bound");
    }

    #[test]
    fn a_gaussian_target_leaves_sticking_the_landing_without_a_floor() {
        let residual = residual_smoothness(3.0, 0.5, Some(0.0)).unwrap();
        let bound = stl(7, 3.0, residual, 14.0).unwrap();
        assert_eq!(bound, NoiseBound { growth: 8.0 * 10.0 * 9.0, floor: 0.0 });
    }

    #[test]
    fn residual_smoothness_is_never_worse_than_the_gap_of_the_constants() {
        assert_eq!(residual_smoothness(3.0, 1.0, None).unwrap(), 2.0);
        assert_eq!(residual_smoothness(3.0, 1.0, Some(2.5)).unwrap(), 2.0);
        assert_eq!(residual_smoothness(3.0, 1.0, Some(0.5)).unwrap(), 0.5);
        assert!(residual_smoothness(1.0, 3.0, None).is_err());
    }

    #[test]
    fn one_datum_drawn_with_certainty_is_no_subsampling() {
        let full = energy_batch(4, 2.0, 8, 3.0).unwrap();
        assert_eq!(full, energy_subsample(4, 2.0, 4.0, 8, 3.0).unwrap());
        assert_eq!(energy_second_moment(4, 2.0, 5.0, 6.0).unwrap(), 4.0 * (5.0 * 5.0 + 7.0 * 6.0));
        assert!(energy_subsample(4, 2.0, 5.0, 8, 3.0).unwrap().growth > full.growth);
    }

    #[test]
    fn noise_falls_with_the_batch_towards_the_exact_gradient() {
        let mut last = energy(10, 2.0, 5.0).unwrap();
        for draws in [1, 2, 5, 100, 1_000_000] {
            let next = energy_batch(10, 2.0, draws, v_star_bound(10, 2.0, 5.0).unwrap()).unwrap();
            assert!(next.growth <= last.growth && next.floor <= last.floor);
            last = next;
        }
        assert!((last.growth - exact_prox(2.0).unwrap().growth).abs() < 1e-3);
        let last = entropy_batch(10, 2.0, 1_000_000, 1.0).unwrap();
        assert!((last.growth - exact_proj(2.0).unwrap().growth).abs() < 1e-3);
    }

    #[test]
    fn impossible_inputs_are_refused() {
        assert!(energy(0, 1.0, 1.0).is_err());
        assert!(energy(1, 0.0, 1.0).is_err());
        assert!(energy(1, 1.0, f64::NAN).is_err());
        assert!(energy_batch(1, 1.0, 0, 1.0).is_err());
        assert!(optimum_distance2(3, 0.0).is_err());
        assert!(stl(1, 1.0, -1.0, 1.0).is_err());
    }
}
