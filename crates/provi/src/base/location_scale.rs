//! The family q = law of m + Cu with C lower triangular and u of any base law.

use crate::base::base_law::BaseLaw;
use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::matrix::Matrix;
use crate::base::stop;
use std::ops::Range;

/// q_w = law of m + Cu: C lower triangular with a positive diagonal, the coordinates of u independent with one [`BaseLaw`]
/// \[base-law\].
/// ```text
/// E z = m,   Cov z = CCᵀ,   log q(z) = Σ_i log s((C⁻¹(z − m))_i) − log det C,   entropy d·H(s) + log det C
/// ```
/// A type of its own, because what is proved of a Gaussian q (audits, certificates, moments by quadrature) is not about these.
/// Memory: d(d+3)/2 numbers. Cost: a draw and a log density are one pass over C.
///
/// ```
/// use provi::{BaseLaw, LocationScale, Seed};
///
/// let q = LocationScale::new(BaseLaw::Uniform, &[1.0, 2.0], &[2.0, 0.5, 1.0])?;   // C = [2 0; ½ 1]
/// let z = q.sample(10, Seed(1));
/// assert!((q.log_density(z.row(0))? + q.entropy()).abs() < 1e-12);   // the density is flat
/// assert_eq!(q.log_density(&[9.0, 0.0])?, f64::NEG_INFINITY);
/// # Ok::<(), provi::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LocationScale {
    law: BaseLaw,
    /// m and C; a Gaussian only if the law is.
    shape: Gaussian<Triangular>,
}

impl LocationScale {
    /// From a law, a mean and a packed factor with a positive diagonal.
    pub fn new(law: BaseLaw, mean: &[f64], packed_factor: &[f64]) -> Result<Self> {
        Ok(Self { law, shape: Gaussian::new(mean, packed_factor)? })
    }

    /// The member with the mean and the factor of a Gaussian. For another law than the normal it is another distribution.
    pub(crate) fn of_shape(law: BaseLaw, shape: Gaussian<Triangular>) -> Self {
        Self { law, shape }
    }

    /// m and C, with which steps are made.
    pub(crate) fn shape(&self) -> &Gaussian<Triangular> {
        &self.shape
    }

    /// The law of the coordinates of u.
    pub fn law(&self) -> BaseLaw {
        self.law
    }

    /// The dimension d.
    pub fn dim(&self) -> usize {
        self.shape.dim()
    }

    /// The mean m.
    pub fn mean(&self) -> &[f64] {
        self.shape.mean()
    }

    /// The factor C, packed row by row.
    pub fn factor(&self) -> &[f64] {
        self.shape.factor()
    }

    /// The flat vector w = (m, packed C).
    pub fn parameters(&self) -> &[f64] {
        self.shape.parameters()
    }

    /// The covariance CCᵀ.
    pub fn covariance(&self) -> Matrix {
        self.shape.covariance()
    }

    /// The standard deviations √(CCᵀ)_ii.
    pub fn standard_deviations(&self) -> Vec<f64> {
        self.shape.standard_deviations()
    }

    /// q itself, if its law is the normal one.
    pub fn as_gaussian(&self) -> Option<&Gaussian<Triangular>> {
        self.law.is_gaussian().then_some(&self.shape)
    }

    /// q itself, if its law is the normal one.
    pub fn into_gaussian(self) -> Option<Gaussian<Triangular>> {
        self.law.is_gaussian().then_some(self.shape)
    }

    /// The entropy d·H(s) + log det C.
    pub fn entropy(&self) -> f64 {
        // The diagonal is positive.
        let log_det: f64 = (0..self.dim()).map(|i| self.factor()[i * (i + 3) / 2].ln()).sum();
        log_det + self.law.entropy_of(self.dim())
    }

    /// log q(z); −∞ outside the support.
    pub fn log_density(&self, z: &[f64]) -> Result<f64> {
        if z.len() != self.dim() {
            return Err(Error::Shape { what: "point", found: z.len(), expected: self.dim() });
        }
        let mut u: Vec<f64> = z.iter().zip(self.mean()).map(|(z, m)| z - m).collect();
        provi_kernels::triangle::solve(self.factor(), &mut u);
        let base: f64 = u.iter().map(|&u| self.law.log_density(u)).sum();
        Ok(base - self.shape.log_det()?)
    }

    /// `count` independent draws, one per row; a pure function of the seed. Those of the normal law are the draws of
    /// [`Gaussian::sample`].
    pub fn sample(&self, count: usize, seed: Seed) -> Matrix {
        self.sample_part(0..count as u64, seed)
    }

    /// The draws with these numbers from the list that [`LocationScale::sample`] makes, one per row.
    pub fn sample_part(&self, which: Range<u64>, seed: Seed) -> Matrix {
        let draws = Draws::new(seed, Purpose::Sample).of(self.law);
        let mut out = Matrix::zeros(which.end.saturating_sub(which.start) as usize, self.dim());
        let mut u = vec![0.0; self.dim()];
        for (row, k) in which.enumerate().take_while(|_| !stop::trips()) {
            draws.fill(k, 0, &mut u);
            self.shape.transport(&u, out.row_mut(row));
        }
        out
    }
}

/// The law, then one line for each coordinate: its mean and its standard deviation.
impl std::fmt::Display for LocationScale {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "m + Cu with u {}\n{}", self.law, self.shape)
    }
}

/// Saved as law, mean and packed factor; read back with the checks of [`LocationScale::new`].
#[cfg(feature = "serde")]
mod data {
    use super::{BaseLaw, LocationScale};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Saved {
        law: BaseLaw,
        mean: Vec<f64>,
        factor: Vec<f64>,
    }

    impl Serialize for LocationScale {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let (mean, factor) = (self.mean().to_vec(), self.factor().to_vec());
            Saved { law: self.law, mean, factor }.serialize(serializer)
        }
    }

    impl<'de> Deserialize<'de> for LocationScale {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let saved = Saved::deserialize(deserializer)?;
            Self::new(saved.law, &saved.mean, &saved.factor).map_err(serde::de::Error::custom)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEAN: [f64; 2] = [1.0, -2.0];
    const FACTOR: [f64; 3] = [1.5, -0.4, 0.7];

    fn laws() -> [BaseLaw; 5] {
        let t = BaseLaw::student_t(7.0).unwrap();
        [BaseLaw::Gaussian, t, BaseLaw::Laplace, BaseLaw::Logistic, BaseLaw::Uniform]
    }

    /// On a grid over ten deviations, the density has mass 1, the mean m, the covariance CCᵀ and the entropy stated.
    #[test]
    fn the_density_has_the_moments_and_the_entropy_stated() {
        for law in laws().into_iter().filter(|law| !matches!(law, BaseLaw::StudentT(_))) {
            let q = LocationScale::new(law, &MEAN, &FACTOR).unwrap();
            let (step, reach) = (0.05, if law == BaseLaw::Laplace { 360 } else { 240 });
            let (mut mass, mut first, mut second, mut cross, mut entropy) = (0.0, 0.0, 0.0, 0.0, 0.0);
            for i in -reach..=reach {
                for j in -reach..=reach {
                    // Midpoints, so that no kink or edge of the density is a node.
                    let u = [(f64::from(i) + 0.5) * step, (f64::from(j) + 0.5) * step];
                    let z = [MEAN[0] + 1.5 * u[0], MEAN[1] - 0.4 * u[0] + 0.7 * u[1]];
                    let log = q.log_density(&z).unwrap();
                    if log.is_finite() {
                        let weight = log.exp() * step * step * 1.5 * 0.7;
                        mass += weight;
                        first += weight * z[1];
                        second += weight * (z[1] - MEAN[1]).powi(2);
                        cross += weight * (z[1] - MEAN[1]) * (z[0] - MEAN[0]);
                        entropy -= weight * log;
                    }
                }
            }
            // The midpoint rule has an error of the step's square where the density has a kink or an edge.
            let near = |a: f64, b: f64| assert!((a - b).abs() < 0.03 * (1.0 + b.abs()), "{law}: {a} {b}");
            near(mass, 1.0);
            near(first, MEAN[1]);
            near(second, q.covariance()[(1, 1)]);
            near(cross, q.covariance()[(1, 0)]);
            near(entropy, q.entropy());
        }
    }

    #[test]
    #[allow(clippy::float_cmp)] // the same bits are the claim
    fn the_normal_member_is_the_gaussian() {
        let q = LocationScale::new(BaseLaw::Gaussian, &MEAN, &FACTOR).unwrap();
        let gaussian = Gaussian::<Triangular>::new(&MEAN, &FACTOR).unwrap();
        assert_eq!(q.as_gaussian(), Some(&gaussian));
        assert_eq!(q.sample(7, Seed(5)), gaussian.sample(7, Seed(5)));
        assert!(
            (q.log_density(&[0.3, 0.1]).unwrap() - gaussian.log_density(&[0.3, 0.1]).unwrap()).abs() < 1e-14
        );
        assert!((q.entropy() - gaussian.entropy().unwrap()).abs() < 1e-14);
        assert!(LocationScale::new(BaseLaw::Laplace, &MEAN, &FACTOR).unwrap().as_gaussian().is_none());
        assert!(LocationScale::new(BaseLaw::Laplace, &MEAN, &[1.0, 0.0, -1.0]).is_err());
    }

    /// Level: the mean of −log q over n draws is within six standard errors of the entropy but for 2e-9 each, five laws (for the uniform law it is constant, and only the
    /// rounding of the sum remains). The twin
    /// forgets log det C = 0.94.
    #[test]
    fn draws_have_the_density_stated() {
        for law in laws() {
            let q = LocationScale::new(law, &MEAN, &[1.5, -0.4, 1.7]).unwrap();
            let draws = q.sample(40_000, Seed(2));
            assert_eq!(q.sample_part(30_000..30_002, Seed(2)).row(1), draws.row(30_001));
            let logs: Vec<f64> = (0..40_000).map(|k| -q.log_density(draws.row(k)).unwrap()).collect();
            let mean = logs.iter().sum::<f64>() / 4e4;
            let error = (logs.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 4e4 / 4e4).sqrt();
            assert!((mean - q.entropy()).abs() < 6.0 * error + 1e-9, "{law}");
            let planted = law.entropy_of(2);
            assert!((mean - planted).abs() > 6.0 * error + 1e-9, "{law}: {mean} {planted} {error}");
        }
    }
}
