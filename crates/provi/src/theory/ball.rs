//! The factors of a ball: how wide the set is, and how large a gradient can be on it [proj-ball].
//!
//! ```text
//! W = {(m, C) : C_ii ≥ 1/√M on 𝒯ᵈ, or λ_min(C) ≥ 1/√M on 𝒮ᵈ;   ‖m − z̃‖² + ‖C‖_F² ≤ R²}
//! ```
//! The centre (z̃, 0) is no factor itself. It is the point from which [`noise::optimum_distance2`] measures, so that w* lies in W
//! for R = √(d/μ) + ‖∇V(z̃)‖/μ. Nothing here needs to know where in W it lies.

use super::noise::{self, Base, NoiseBound};
use super::upward;
use crate::base::error::{Error, Result};
use crate::base::scalar::{NonNegative, Positive};

/// R = √(d/μ) + ‖∇V(z̃)‖/μ ≥ ‖w* − (z̃, 0)‖ \[structure\].
pub fn optimum_radius(d: usize, convexity: f64, gradient_norm: f64) -> Result<f64> {
    let gradient_norm = NonNegative::new("‖∇V(z̃)‖", gradient_norm)?.get();
    let through_mode = noise::optimum_distance2(d, convexity)?.sqrt();
    Ok(upward(through_mode + gradient_norm / convexity))
}

/// D² = 4(R² − d/M), the squared diameter of W [proj-ball].
///
/// C = I/√M + E in both spaces, and ⟨C, C'⟩ ≥ d/M but for the strict triangles of 𝒯ᵈ; means and strict triangles have a squared
/// length of at most R² − d/M. So ‖w − w'‖² ≤ 2R² + 2(R² − d/M) − 2d/M. The ends m = z̃ ± √(R² − d/M)·v, C = I/√M reach it.
pub fn diameter2(d: usize, smoothness: f64, radius: f64) -> Result<f64> {
    let least = d as f64 / Positive::new("smoothness M", smoothness)?.get();
    let radius = Positive::new("radius of the ball", radius)?.get();
    let room = radius * radius * (1.0 + 8.0 * f64::EPSILON) - least * (1.0 - 8.0 * f64::EPSILON);
    if room <= 0.0 {
        let (value, needed) = (radius, "at least √(d/M), or no factor lies in the ball");
        return Err(Error::OutOfRange { what: "radius of the ball", value, needed });
    }
    Ok(4.0 * room)
}

/// The mean of N entropy draws on W, without a word about w* [proj-ball]:
/// ```text
/// E‖g_N(w)‖² ≤ (X + √(dM))² + (Y² − X²)/N,   X = ε + MR,   Y = √(d+1)·ε + √(d+κ)·MR,   ε = ‖∇V(z̃)‖
/// ```
/// ∇l(z̃, 0) = (∇V(z̃), 0) and l is M-smooth, so ‖∇l(w)‖ ≤ X; ‖∇h‖² ≤ dM on W; and ‖∇V(z)‖ ≤ ε + M‖z − z̃‖ with the moments of
/// [`Base`] gives √E‖g_energy‖² ≤ Y. The variance is that of the energy draw, E‖g_energy‖² − ‖∇l‖².
pub fn entropy(
    base: impl Into<Base>,
    smoothness: f64,
    radius: f64,
    gradient_norm: f64,
    draws: usize,
) -> Result<NoiseBound> {
    let Sizes { mean, draw, entropy, draws, .. } =
        Sizes::new(base.into(), smoothness, radius, gradient_norm, draws)?;
    NoiseBound::new(0.0, upward((mean + entropy).powi(2) + (draw * draw - mean * mean) / draws))
}

/// The mean of N draws of sticking the landing on W, symmetric factors and normal draws [proj-ball]:
/// ```text
/// E‖g_N(w)‖² ≤ (1 − 1/N)(X + √(dM))² + (Y + √((d+3)dM))²/N
/// ```
/// with X and Y of [`entropy`], κ = 3: E‖C⁻¹u‖²(1 + ‖u‖²) = (d+3)‖C⁻¹‖_F² ≤ (d+3)dM.
pub fn stl(d: usize, smoothness: f64, radius: f64, gradient_norm: f64, draws: usize) -> Result<NoiseBound> {
    let Sizes { mean, draw, entropy, draws, weight } =
        Sizes::new(d.into(), smoothness, radius, gradient_norm, draws)?;
    let whole = (mean + entropy).powi(2);
    let single = (draw + weight.sqrt() * entropy).powi(2);
    NoiseBound::new(0.0, upward((1.0 - 1.0 / draws) * whole + single / draws))
}

struct Sizes {
    /// X.
    mean: f64,
    /// Y.
    draw: f64,
    /// √(dM).
    entropy: f64,
    draws: f64,
    /// d + κ.
    weight: f64,
}

impl Sizes {
    fn new(base: Base, smoothness: f64, radius: f64, gradient_norm: f64, draws: usize) -> Result<Self> {
        let smoothness = Positive::new("smoothness M", smoothness)?.get();
        let radius = NonNegative::new("radius of the ball", radius)?.get();
        let gradient_norm = NonNegative::new("‖∇V(z̃)‖", gradient_norm)?.get();
        if draws == 0 {
            return Err(Error::OutOfRange { what: "draws per step", value: 0.0, needed: "at least 1" });
        }
        let weight = base.factor_weight()?;
        Ok(Self {
            mean: gradient_norm + smoothness * radius,
            draw: base.mean_weight()?.sqrt() * gradient_norm + weight.sqrt() * smoothness * radius,
            entropy: (base.dim() as f64 * smoothness).sqrt(),
            draws: draws as f64,
            weight,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// E φ(u) of the normal law by the trapezoid rule, exact to rounding here.
    fn mean(phi: impl Fn(f64) -> f64) -> f64 {
        let weight = |u: f64| (-0.5 * u * u).exp() * 0.02 / (2.0 * std::f64::consts::PI).sqrt();
        (-600..=600).map(|i| f64::from(i) * 0.02).map(|u| weight(u) * phi(u)).sum()
    }

    /// Both bounds at the edge of the ball, for V = ½M(z − z̃)² + εz on the line: X and Y are attained in their parts, and ninety
    /// hundredths of either bound is too little.
    #[test]
    fn the_noise_of_a_quadratic_stays_below_its_bound_and_comes_near() {
        let (smooth, slope) = (3.0f64, 0.2);
        let floor = smooth.powf(-0.5);
        let mut nearest = [0.0f64; 2];
        for radius in [0.7f64, 1.5, 20.0] {
            for draws in [1usize, 3, 50] {
                let n = draws as f64;
                let bounds = [
                    entropy(1, smooth, radius, slope, draws).unwrap().floor,
                    stl(1, smooth, radius, slope, draws).unwrap().floor,
                ];
                for k in 0..=20 {
                    let c = floor + (radius - floor) * f64::from(k) / 20.0;
                    let m = (radius * radius - c * c).max(0.0).sqrt();
                    let pull = |u: f64| smooth * (m + c * u) + slope;
                    let moments = |g: &dyn Fn(f64) -> (f64, f64)| {
                        let (first, second) = (mean(|u| g(u).0), mean(|u| g(u).1));
                        let total = mean(|u| g(u).0.powi(2) + g(u).1.powi(2));
                        let square = first * first + second * second;
                        square + (total - square) / n
                    };
                    let found = [
                        moments(&|u| (pull(u), pull(u) * u - 1.0 / c)),
                        moments(&|u| (pull(u) - u / c, (pull(u) - u / c) * u)),
                    ];
                    for i in 0..2 {
                        assert!(found[i] <= bounds[i] * (1.0 + 1e-9), "{i}: {} {}", found[i], bounds[i]);
                        nearest[i] = nearest[i].max(found[i] / bounds[i]);
                    }
                }
            }
        }
        assert!(nearest.iter().all(|x| *x > 0.9), "{nearest:?}");
    }

    #[test]
    fn two_points_are_as_far_apart_as_the_diameter_and_no_farther() {
        let (d, smooth, radius) = (3, 2.0, 2.5);
        let claimed = diameter2(d, smooth, radius).unwrap();
        let length = (radius * radius - d as f64 / smooth).sqrt();
        assert!((claimed / (2.0 * length).powi(2) - 1.0).abs() < 1e-12);
        // Strict triangles of opposite signs are no farther than means.
        assert!(diameter2(d, smooth, 1.0).is_err() && diameter2(d, smooth, f64::NAN).is_err());
        // One factor in the ball: no diameter but for rounding.
        assert!(diameter2(d, 2.0, 1.5f64.sqrt()).unwrap() < 1e-13);
    }

    #[test]
    fn the_radius_reaches_the_optimum_of_a_quadratic() {
        // V = ½μ‖z‖²: ‖C*‖² = d/μ.
        assert!((optimum_radius(4, 0.25, 0.0).unwrap() - 4.0).abs() < 1e-12);
        assert!((optimum_radius(4, 0.25, 0.5).unwrap() - 6.0).abs() < 1e-12);
        assert!(optimum_radius(4, 0.0, 0.0).is_err() && entropy(2, 1.0, 1.0, 0.0, 0).is_err());
    }
}
