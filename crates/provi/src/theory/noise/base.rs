//! The base draw u as the noise bounds see it: its dimension and its kurtosis.

use super::dimension;
use crate::base::error::{Error, Result};

/// u with d independent coordinates of mean 0, variance 1, no skew and kurtosis κ = E u_i⁴ \[base-law\]. Its moments are
/// ```text
/// E(1 + ‖u‖²) = d + 1,   E(1 + ‖u‖²)u = 0,   E(1 + ‖u‖²)uuᵀ = (d + κ)I
/// E‖Au + b‖²(1 + ‖u‖²) = (d + κ)‖A‖_F² + (d + 1)‖b‖²
/// ```
/// for E u_i²‖u‖² = κ + d − 1 and E u_iu_j‖u‖² = 2E u_i³·E u_j = 0. Since κ ≥ (E u_i²)² = 1, the right side is at most
/// (d + κ)(‖A‖_F² + ‖b‖²). A plain dimension is that of normal draws, κ = 3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Base {
    dim: usize,
    kurtosis: f64,
}

impl Base {
    /// d ≥ 1 coordinates of kurtosis κ ≥ 1, which may be rounded up.
    pub fn new(dim: usize, kurtosis: f64) -> Result<Self> {
        dimension(dim)?;
        if kurtosis >= 1.0 && kurtosis.is_finite() {
            Ok(Self { dim, kurtosis })
        } else {
            Err(Error::OutOfRange { what: "kurtosis κ", value: kurtosis, needed: "at least 1 and finite" })
        }
    }

    /// d.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// κ.
    pub fn kurtosis(&self) -> f64 {
        self.kurtosis
    }

    /// d + 1, the weight of ‖b‖².
    pub fn mean_weight(&self) -> Result<f64> {
        Ok(dimension(self.dim)? + 1.0)
    }

    /// d + κ, the weight of ‖A‖_F².
    pub fn factor_weight(&self) -> Result<f64> {
        Ok(dimension(self.dim)? + self.kurtosis)
    }
}

/// Normal draws.
impl From<usize> for Base {
    fn from(dim: usize) -> Self {
        Self { dim, kurtosis: 3.0 }
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // sums of small integers, exact; and the same bits are the claim
mod tests {
    use super::*;
    use crate::base::base_law::BaseLaw;
    use crate::theory::noise;

    /// A symmetric law with three points, ±√κ with weight 1/2κ each and 0 else: mean 0, variance 1, kurtosis κ ≥ 1. Whatever
    /// has four moments and is a polynomial of degree four has its mean.
    fn points(kurtosis: f64) -> [(f64, f64); 3] {
        let root = kurtosis.sqrt();
        [(-root, 0.5 / kurtosis), (0.0, 1.0 - 1.0 / kurtosis), (root, 0.5 / kurtosis)]
    }

    /// E φ(u) in dimension 2.
    fn mean(kurtosis: f64, phi: impl Fn(f64, f64) -> f64) -> f64 {
        let line = points(kurtosis);
        line.iter().flat_map(|(x, p)| line.iter().map(|(y, q)| p * q * phi(*x, *y)).collect::<Vec<_>>()).sum()
    }

    const A: [[f64; 2]; 2] = [[1.5, 0.0], [-0.4, 0.7]];
    const B: [f64; 2] = [0.3, -1.1];

    fn laws() -> [BaseLaw; 5] {
        let t = BaseLaw::student_t(5.0).unwrap();
        [BaseLaw::Gaussian, t, BaseLaw::Laplace, BaseLaw::Logistic, BaseLaw::Uniform]
    }

    /// E‖Au + b‖²(1 + ‖u‖²) is the formula for every law; with the kurtosis of another law it is not.
    #[test]
    fn the_fourth_moment_is_exact_and_a_wrong_kurtosis_is_seen() {
        for law in laws() {
            let kurtosis = law.kurtosis();
            let exact = mean(kurtosis, |x, y| {
                let z = [A[0][0] * x + A[0][1] * y + B[0], A[1][0] * x + A[1][1] * y + B[1]];
                (z[0] * z[0] + z[1] * z[1]) * (1.0 + x * x + y * y)
            });
            let factor2: f64 = A.iter().flatten().map(|x| x * x).sum();
            let mean2: f64 = B.iter().map(|x| x * x).sum();
            let claim = |kurtosis: f64| {
                let base = Base::new(2, kurtosis).unwrap();
                noise::energy_second_moment(base, 1.0, mean2, factor2).unwrap()
            };
            assert!((exact / claim(kurtosis) - 1.0).abs() < 1e-13, "{law}");
            for planted in laws().into_iter().filter(|other| *other != law) {
                assert!((exact / claim(planted.kurtosis()) - 1.0).abs() > 0.05, "{law} as {planted}");
            }
            // The relaxed bound is reached where m = z̄, and no smaller kurtosis would be a bound.
            let centred = mean(kurtosis, |x, y| (x * x + y * y) * (1.0 + x * x + y * y));
            assert!((centred / (2.0 * (2.0 + kurtosis)) - 1.0).abs() < 1e-13);
        }
    }

    /// Normal draws keep their bits: κ = 3 said aloud and a plain dimension are the same bounds.
    #[test]
    fn at_kurtosis_three_every_bound_is_the_one_of_normal_draws() {
        for d in [1, 2, 7, 500] {
            let base = Base::new(d, BaseLaw::Gaussian.kurtosis()).unwrap();
            let (m, l, e, v) = (1.7, 2.9, 0.31, 5.3);
            assert_eq!(noise::energy(base, m, e), noise::energy(d, m, e));
            assert_eq!(noise::energy(d, m, e).unwrap().growth, 2.0 * (d as f64 + 3.0) * m.powi(2));
            assert_eq!(noise::entropy(base, m, l, e), noise::entropy(d, m, l, e));
            assert_eq!(noise::energy_batch(base, m, 3, v), noise::energy_batch(d, m, 3, v));
            assert_eq!(noise::entropy_batch(base, m, 3, v), noise::entropy_batch(d, m, 3, v));
            assert_eq!(noise::v_star_bound(base, m, e), noise::v_star_bound(d, m, e));
            assert_eq!(noise::v_star_bound(d, m, e).unwrap(), (d as f64 + 3.0) * m.powi(2) * e);
            let terms = noise::TermNoise::new(3, 0.4, 0.9, 1.2).unwrap();
            assert_eq!(terms.energy(base, m, 2, v), terms.energy(d, m, 2, v));
        }
    }

    #[test]
    fn the_bounds_grow_with_the_kurtosis_and_the_uniform_law_has_the_least() {
        let bound =
            |law: BaseLaw| noise::energy(Base::new(4, law.kurtosis()).unwrap(), 1.0, 1.0).unwrap().growth;
        assert!(bound(BaseLaw::Uniform) < bound(BaseLaw::Gaussian));
        assert!(bound(BaseLaw::Gaussian) < bound(BaseLaw::Logistic));
        assert!(bound(BaseLaw::Logistic) < bound(BaseLaw::Laplace));
        assert_eq!(bound(BaseLaw::Laplace), 20.0);
    }

    #[test]
    fn impossible_moments_are_refused() {
        for (dim, kurtosis) in [(0, 3.0), (2, 0.99), (2, f64::NAN), (2, f64::INFINITY)] {
            assert!(Base::new(dim, kurtosis).is_err());
        }
    }
}
