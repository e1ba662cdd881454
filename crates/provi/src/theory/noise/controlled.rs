//! Less noise by a quadratic whose gradient is known exactly [noise-controlled].
//!
//! For μI ⪯ ∇²V ⪯ MI take c between μ and M, K = max{M − c, c − μ} and a centre ẑ. With the residual r(z) = ∇V(z) − c(z − ẑ), whose
//! slopes lie within ±K,
//! ```text
//! g = (r(Cu+m) + c(m − ẑ),   proj(r(Cu+m)uᵀ) + cC)
//! ```
//! is unbiased for ∇l under every base law, for E c(z − ẑ) = c(m − ẑ) and E c(z − ẑ)uᵀ = cC. Only r is drawn, so K takes the
//! place of M in the noise, and not in the mean ∇l itself.

use super::{Base, NoiseBound, batch, square, times};
use crate::base::error::Result;
use crate::base::scalar::{NonNegative, Positive};

/// c = (M + μ)/2: no other multiple of the identity leaves a residual with smaller slopes, K = (M − μ)/2.
pub fn control(smoothness: f64, convexity: f64) -> Result<f64> {
    let smoothness = Positive::new("smoothness M", smoothness)?.get();
    let convexity = NonNegative::new("convexity μ", convexity)?.get();
    NonNegative::new("M − μ", smoothness - convexity)?;
    Ok(0.5 * (smoothness + convexity))
}

/// K = max{M − c, c − μ}, the slopes that a quadratic of curvature c leaves, rounded up.
pub fn controlled_residual(smoothness: f64, convexity: f64, control: f64) -> Result<f64> {
    let above = NonNegative::new("M − c", smoothness - control)?.get();
    let below = NonNegative::new("c − μ", control - convexity)?.get();
    Ok(above.max(below) * (1.0 + 4.0 * f64::EPSILON))
}

/// V* ≤ (K√((d+κ)‖w*−w̄‖²) + √d·`shift`)², the total variance of controlled draws at the optimum [noise-controlled].
///
/// `shift` ≥ c‖ẑ − z̄‖: a centre beside the mode adds c(ẑ − z̄)(uᵀ, 1) to the draw, of variance d·shift².
pub fn controlled_v_star(base: impl Into<Base>, residual: f64, distance2: f64, shift: f64) -> Result<f64> {
    let base = base.into();
    let residual = NonNegative::new("residual smoothness K", residual)?.get();
    let distance2 = NonNegative::new("‖w*−w̄‖²", distance2)?.get();
    let shift = NonNegative::new("c‖ẑ − z̄‖", shift)?.get();
    let root = times(residual, (base.factor_weight()? * distance2).sqrt());
    Ok((root + (base.dim() as f64).sqrt() * shift).powi(2))
}

/// The mean of N controlled energy draws, centred, everywhere [noise-controlled]:
/// ```text
/// E‖g_N(w) − ∇l(w*)‖² ≤ (M² + 2(d+κ)K²/N)·‖w−w*‖² + 2V*/N
/// ```
/// ‖∇l(w) − ∇l(w*)‖ ≤ M‖w−w*‖ is the mean's part. With the same draws, g(w) − g(w*) has a variance of at most
/// E‖r(z) − r(z*)‖²(1+‖u‖²) ≤ (d+κ)K²‖w−w*‖². For c = (M + μ)/2
/// never above [`energy_batch`](super::energy_batch) of the same draws, as K ≤ M/2.
pub fn controlled_energy_batch(
    base: impl Into<Base>,
    smoothness: f64,
    residual: f64,
    draws: usize,
    v_star: f64,
) -> Result<NoiseBound> {
    bound(1.0, base.into(), smoothness, residual, draws, v_star)
}

/// The mean of N controlled entropy draws, on the triangular set C_ii ≥ 1/√M, or with normal draws on 𝒲_M [noise-controlled], [proj-tri]:
/// ```text
/// E‖g_N(w)‖² ≤ (4M² + 2(d+κ)K²/N)·‖w−w*‖² + 2V*/N
/// ```
/// At a fixed w the entropy's gradient is no noise; ‖∇f(w)‖ ≤ 2M‖w−w*‖ is the mean's part.
pub fn controlled_entropy_batch(
    base: impl Into<Base>,
    smoothness: f64,
    residual: f64,
    draws: usize,
    v_star: f64,
) -> Result<NoiseBound> {
    bound(4.0, base.into(), smoothness, residual, draws, v_star)
}

fn bound(
    mean: f64,
    base: Base,
    smoothness: f64,
    residual: f64,
    draws: usize,
    v_star: f64,
) -> Result<NoiseBound> {
    let (m2, n) = (square(smoothness)?, batch(draws)?);
    let k = NonNegative::new("residual smoothness K", residual)?.get();
    NoiseBound::new(mean * m2 + 2.0 * base.factor_weight()? * k * k / n, 2.0 * v_star / n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::base_law::BaseLaw;
    use crate::theory::noise;

    /// E φ(u) of the normal law by the trapezoid rule, exact to rounding here.
    fn mean(phi: impl Fn(f64) -> f64) -> f64 {
        let weight = |u: f64| (-0.5 * u * u).exp() * 0.02 / (2.0 * std::f64::consts::PI).sqrt();
        (-600..=600).map(|i| f64::from(i) * 0.02).map(|u| weight(u) * phi(u)).sum()
    }

    /// V = ½z² + c·log cosh z on the line: z̄ = 0 and m* = 0.
    struct Line {
        c: f64,
        star: f64,
    }

    impl Line {
        fn new(c: f64) -> Self {
            let mut star = 1.0f64;
            for _ in 0..200 {
                star = mean(|u| 1.0 + c / (star * u).cosh().powi(2)).powf(-0.5);
            }
            Self { c, star }
        }

        fn slope(&self, z: f64) -> f64 {
            z + self.c * z.tanh()
        }

        /// ∇l(w), and the total variance of a draw that subtracts `control`·(z − `centre`).
        fn draw(&self, m: f64, s: f64, control: f64, centre: f64) -> ([f64; 2], f64) {
            let r = |u: f64| self.slope(m + s * u) - control * (m + s * u - centre);
            let exact = [control * (m - centre), control * s];
            let first = mean(r);
            let second = mean(|u| r(u) * u);
            let total = mean(|u| r(u).powi(2) * (1.0 + u * u));
            ([first + exact[0], second + exact[1]], total - first * first - second * second)
        }
    }

    #[test]
    fn every_bound_holds_and_a_residual_that_is_too_small_is_seen() {
        let mut seen = false;
        for c in [0.01, 0.5, 3.0, 20.0] {
            let (line, m2) = (Line::new(c), 1.0 + c);
            let control = control(m2, 1.0).unwrap();
            let k = controlled_residual(m2, 1.0, control).unwrap();
            let distance2 = line.star * line.star;
            for centre in [0.0, 0.3] {
                let shift = control * centre;
                let v_star = controlled_v_star(1, k, distance2, shift).unwrap();
                let (at_star, variance) = line.draw(0.0, line.star, control, centre);
                assert!(variance <= v_star * (1.0 + 1e-9), "{c} {centre}: {variance} and {v_star}");
                for (m, s) in [(0.0, 0.4), (0.2, 1.0), (-1.5, 0.7), (4.0, 3.0)] {
                    let e = m * m + (s - line.star).powi(2);
                    let (gradient, variance) = line.draw(m, s, control, centre);
                    // The control changes no mean.
                    let (plain, _) = line.draw(m, s, 0.0, 0.0);
                    assert!((0..2).all(|i| (gradient[i] - plain[i]).abs() < 1e-9 * (1.0 + plain[i].abs())));
                    let centred: f64 = (0..2).map(|i| (gradient[i] - at_star[i]).powi(2)).sum();
                    for draws in [1, 2, 3, 10] {
                        let n = draws as f64;
                        let bound = controlled_energy_batch(1, m2, k, draws, v_star).unwrap();
                        assert!(centred + variance / n <= bound.at(e) * (1.0 + 1e-9));
                        let few = controlled_energy_batch(1, m2, 0.3 * k, draws, 0.09 * v_star).unwrap();
                        seen |= centre == 0.0 && centred + variance / n > few.at(e);
                    }
                }
            }
        }
        assert!(seen, "a K of 0.3 (M − μ)/2 passes everywhere");
    }

    /// V = ½M(z_1 − z̄_1)² + ½μ(z_2 − z̄_2)² leaves r = ±K(z − z̄): E‖r‖²(1+‖u‖²) at w* is the bound, for a quadratic of either curvature.
    #[test]
    fn the_second_moment_at_the_optimum_is_reached() {
        let (m, mu) = (9f64, 1f64);
        let factor = [1.0 / m.sqrt(), 1.0 / mu.sqrt()];
        let moment = |c: f64| {
            mean(|x| {
                mean(|y| {
                    let r = [(m - c) * factor[0] * x, (mu - c) * factor[1] * y];
                    (r[0] * r[0] + r[1] * r[1]) * (1.0 + x * x + y * y)
                })
            })
        };
        let c = control(m, mu).unwrap();
        let bound = |c: f64| {
            let k = controlled_residual(m, mu, c).unwrap();
            controlled_v_star(2, k, 1.0 / m + 1.0 / mu, 0.0).unwrap()
        };
        assert!((moment(c) / bound(c) - 1.0).abs() < 1e-9);
        for other in [mu, 2.0, 7.0, m] {
            assert!(moment(other) <= bound(other) && bound(c) < bound(other));
        }
        assert!(controlled_residual(m, mu, 9.1).is_err() && controlled_residual(m, mu, 0.9).is_err());
    }

    #[test]
    fn the_bound_never_rises_and_the_floor_falls_fourfold() {
        for law in [BaseLaw::Gaussian, BaseLaw::Uniform, BaseLaw::Laplace] {
            for d in [1, 2, 50] {
                let base = Base::new(d, law.kurtosis()).unwrap();
                for (m, mu) in [(1.0, 1.0), (1.0, 0.9), (3.0, 1.0), (1e4, 1.0), (2.0, 0.0)] {
                    let k = controlled_residual(m, mu, control(m, mu).unwrap()).unwrap();
                    let v = noise::v_star_bound(base, m, 0.7).unwrap();
                    let less = controlled_v_star(base, k, 0.7, 0.0).unwrap();
                    assert!(4.0 * less <= v * (1.0 + 1e-12));
                    for draws in [1, 2, 3, 100] {
                        let plain = noise::energy_batch(base, m, draws, v).unwrap();
                        let ours = controlled_energy_batch(base, m, k, draws, less).unwrap();
                        assert!(ours.growth <= plain.growth * (1.0 + 1e-12), "{law} {d} {m} {draws}");
                        let plain = noise::entropy_batch(base, m, draws, v).unwrap();
                        let ours = controlled_entropy_batch(base, m, k, draws, less).unwrap();
                        assert!(ours.growth <= plain.growth && ours.floor <= plain.floor);
                    }
                }
            }
        }
    }
}
