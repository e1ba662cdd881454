//! Base laws: the law of one coordinate of u in z = m + Cu, with mean 0, variance 1 and no skew.

use crate::base::error::{Error, Result};
use crate::base::special::{beta_lower, digamma, ln_gamma, normal_cdf, normal_quantile, sigmoid};
use std::f64::consts::{LN_2, PI};

/// The law of the coordinates of u, which are independent: it makes the family q_w = law of m + Cu \[base-law\].
///
/// All laws are symmetric about 0 and have variance 1, so that m is the mean and CCᵀ the covariance of q_w whatever the law.
/// They differ in their kurtosis κ = E u⁴, which the noise of gradient estimates depends on.
///
/// | law | name | κ | log density | entropy |
/// |---|---|---|---|---|
/// | normal | `gaussian` | 3 | −u²/2 − ½ log 2π | ½(1 + log 2π) |
/// | Student's t, ν > 4 | `student-t:5` | 3 + 6/(ν−4) | −½(ν+1) log(1 + u²/(ν−2)) + const | see [`BaseLaw::entropy`] |
/// | Laplace | `laplace` | 6 | −√2·∣u∣ − ½ log 2 | 1 + ½ log 2 |
/// | logistic, s = √3/π | `logistic` | 21/5 | −∣u∣/s − 2 log(1 + e^{−∣u∣/s}) − log s | 2 + log s |
/// | uniform on (−√3, √3) | `uniform` | 9/5 | −log 2√3 inside, −∞ outside | log 2√3 |
///
/// Only the normal law is spherical: under the others a rotation of u makes another q, so that q depends on C itself and not
/// only on CCᵀ, and on the order of the coordinates.
///
/// ```
/// use provi::BaseLaw;
///
/// let law: BaseLaw = "student-t:10".parse()?;
/// assert!((law.kurtosis() - 4.0).abs() < 1e-12);
/// assert!(BaseLaw::student_t(4.0).is_err());   // no fourth moment
/// # Ok::<(), provi::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "String", into = "String")
)]
#[non_exhaustive]
pub enum BaseLaw {
    /// The normal law.
    #[default]
    Gaussian,
    /// Student's t, scaled to variance 1; see [`BaseLaw::student_t`].
    StudentT(Freedom),
    /// The Laplace (double exponential) law.
    Laplace,
    /// The logistic law.
    Logistic,
    /// The uniform law.
    Uniform,
}

/// Degrees of freedom ν > 4 of a Student's t, so that it has a kurtosis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Freedom(f64);

// A number above 4 is not NaN.
impl Eq for Freedom {}

impl Freedom {
    /// ν.
    pub fn get(self) -> f64 {
        self.0
    }
}

const KNOWN: &str = "gaussian, student-t:ν (ν > 4), laplace, logistic, uniform";

/// √3/π, the scale of a logistic law of variance 1.
const LOGISTIC_SCALE: f64 = 0.551_328_895_421_792_1;

/// √3 rounded up, so that no draw is outside.
const EDGE: f64 = 1.732_050_807_568_877_3;

impl BaseLaw {
    /// Student's t with ν > 4 degrees of freedom, scaled to variance 1.
    pub fn student_t(freedom: f64) -> Result<Self> {
        if freedom > 4.0 && freedom.is_finite() {
            Ok(Self::StudentT(Freedom(freedom)))
        } else {
            Err(Error::OutOfRange {
                what: "degrees of freedom ν of the base law",
                value: freedom,
                needed: "above 4 and finite: the noise bounds need a fourth moment",
            })
        }
    }

    /// Whether it is the normal law.
    pub fn is_gaussian(self) -> bool {
        self == Self::Gaussian
    }

    /// κ = E u⁴, rounded up; at least 1 for every law.
    pub fn kurtosis(self) -> f64 {
        match self {
            Self::Gaussian => 3.0,
            Self::StudentT(Freedom(nu)) => (3.0 + 6.0 / (nu - 4.0)) * (1.0 + 4.0 * f64::EPSILON),
            Self::Laplace => 6.0,
            Self::Logistic => 4.2,
            Self::Uniform => 1.8,
        }
    }

    /// The log density of one coordinate; −∞ outside the support.
    pub fn log_density(self, u: f64) -> f64 {
        match self {
            Self::Gaussian => -0.5 * u * u - 0.5 * (2.0 * PI).ln(),
            Self::StudentT(Freedom(nu)) => {
                let x = 0.5 * nu;
                // In u²/(ν−2), overflow is a density of 0.
                ln_gamma_ratio(x) - 0.5 * (PI * (nu - 2.0)).ln() - (x + 0.5) * (u * u / (nu - 2.0)).ln_1p()
            }
            Self::Laplace => -std::f64::consts::SQRT_2 * u.abs() - 0.5 * LN_2,
            Self::Logistic => {
                let x = u.abs() / LOGISTIC_SCALE;
                -x - 2.0 * (-x).exp().ln_1p() - LOGISTIC_SCALE.ln()
            }
            Self::Uniform if u.abs() <= EDGE => -(2.0 * EDGE).ln(),
            Self::Uniform if u.is_nan() => u,
            Self::Uniform => f64::NEG_INFINITY,
        }
    }

    /// The entropy −E log s(u) of one coordinate, in nats. For Student's t:
    /// ```text
    /// ½(ν+1)(ψ(½(ν+1)) − ψ(½ν)) + ½ log(π(ν−2)) + log Γ(½ν) − log Γ(½(ν+1))
    /// ```
    pub fn entropy(self) -> f64 {
        match self {
            Self::Gaussian => 0.5 * (1.0 + (2.0 * PI).ln()),
            Self::StudentT(Freedom(nu)) => {
                let x = 0.5 * nu;
                (x + 0.5) * digamma_difference(x) + 0.5 * (PI * (nu - 2.0)).ln() - ln_gamma_ratio(x)
            }
            Self::Laplace => 1.0 + 0.5 * LN_2,
            Self::Logistic => 2.0 + LOGISTIC_SCALE.ln(),
            Self::Uniform => (2.0 * EDGE).ln(),
        }
    }

    /// The entropy of d independent coordinates: what the entropy of q_w adds to log det C.
    pub fn entropy_of(self, dim: usize) -> f64 {
        match self {
            Self::Gaussian => 0.5 * dim as f64 * (1.0 + (2.0 * PI).ln()),
            other => dim as f64 * other.entropy(),
        }
    }

    /// P(one coordinate ≤ u).
    pub fn distribution(self, u: f64) -> f64 {
        match self {
            Self::Gaussian => normal_cdf(u),
            Self::StudentT(Freedom(nu)) => {
                // P(|u| > x) = I_y(ν/2, ½) with y = 1/(1 + x²/(ν−2)), whose odds are (ν−2)/x².
                let odds = (nu - 2.0).ln() - 2.0 * u.abs().ln();
                let tail = if u.abs() > 0.0 { 0.5 * beta_lower(0.5 * nu, 0.5, odds) } else { 0.5 };
                if u < 0.0 { tail } else { 1.0 - tail }
            }
            Self::Laplace => {
                let tail = 0.5 * (-std::f64::consts::SQRT_2 * u.abs()).exp();
                if u < 0.0 { tail } else { 1.0 - tail }
            }
            Self::Logistic => sigmoid(u / LOGISTIC_SCALE),
            Self::Uniform => (0.5 + 0.5 * u / EDGE).clamp(0.0, 1.0),
        }
    }

    /// u with P(one coordinate ≤ u) = p, for 0 ≤ p ≤ 1; the tails beyond 2⁻⁵³ are cut. Only where it has a closed form or the normal one's
    /// series: NaN for Student's t, whose draws do not come by quantiles.
    pub(crate) fn quantile(self, p: f64) -> f64 {
        let tail = p.min(1.0 - p).max(0.5 * f64::EPSILON);
        let below = match self {
            Self::Gaussian => normal_quantile(tail),
            Self::StudentT(_) => f64::NAN,
            Self::Laplace => (2.0 * tail).ln() * std::f64::consts::FRAC_1_SQRT_2,
            Self::Logistic => LOGISTIC_SCALE * (tail.ln() - (-tail).ln_1p()),
            Self::Uniform => EDGE * (2.0 * tail - 1.0),
        };
        if p < 0.5 { below } else { -below }
    }

    /// Writes independent coordinates into `out`, from the blocks of (key, step, draw). The bits are the same for any thread
    /// count and instruction set, and a longer list begins with a shorter one. Nothing is allocated.
    ///
    /// Student's t is Bailey's polar form, exact up to the 53 bits of v: √((ν−2)(v^{−2/ν} − 1))·cos θ. (P(R² > r) = (1 + r/ν)^{−ν/2}
    /// for the radius of the bivariate t, of which this is one coordinate.)
    pub(crate) fn fill(self, key: u64, step: u64, draw: u32, out: &mut [f64]) {
        match self {
            Self::Gaussian => provi_kernels::normals(key, step, draw, out),
            Self::StudentT(Freedom(nu)) => {
                for (block, u) in out.iter_mut().enumerate() {
                    let [radius, cosine] = provi_kernels::polar(key, step, draw, block as u32);
                    *u = ((nu - 2.0) * libm::expm1(radius / nu)).sqrt() * cosine;
                }
            }
            Self::Laplace => provi_kernels::laplaces(key, step, draw, out),
            Self::Logistic => provi_kernels::logistics(key, step, draw, out),
            Self::Uniform => provi_kernels::flats(key, step, draw, out),
        }
    }
}

/// From here on the series below are exact to rounding.
const FAR: f64 = 25.0;

/// log Γ(x + ½) − log Γ(x), without subtracting large numbers:
/// ```text
/// ½ log x − 1/8x + 1/192x³ − 1/640x⁵ + 17/14336x⁷ − …
/// ```
fn ln_gamma_ratio(x: f64) -> f64 {
    if x < FAR {
        return ln_gamma(x + 0.5) - ln_gamma(x);
    }
    let (y, z) = (x.recip(), (x * x).recip());
    0.5 * x.ln() - y * (1.0 / 8.0 - z * (1.0 / 192.0 - z * (1.0 / 640.0 - z * (17.0 / 14336.0))))
}

/// ψ(x + ½) − ψ(x), the derivative of [`ln_gamma_ratio`].
fn digamma_difference(x: f64) -> f64 {
    if x < FAR {
        return digamma(x + 0.5) - digamma(x);
    }
    let (y, z) = (x.recip(), (x * x).recip());
    y * (0.5 + y * (1.0 / 8.0 - z * (1.0 / 64.0 - z * (1.0 / 128.0 - z * (17.0 / 2048.0)))))
}

impl std::fmt::Display for BaseLaw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::StudentT(Freedom(nu)) => write!(f, "student-t:{nu}"),
            Self::Gaussian => f.pad("gaussian"),
            Self::Laplace => f.pad("laplace"),
            Self::Logistic => f.pad("logistic"),
            Self::Uniform => f.pad("uniform"),
        }
    }
}

impl std::str::FromStr for BaseLaw {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let unknown = || Error::UnknownName { what: "base law", found: text.to_owned(), known: KNOWN };
        match text {
            "gaussian" => Ok(Self::Gaussian),
            "laplace" => Ok(Self::Laplace),
            "logistic" => Ok(Self::Logistic),
            "uniform" => Ok(Self::Uniform),
            _ => {
                let freedom = text.strip_prefix("student-t:").ok_or_else(unknown)?;
                Self::student_t(freedom.parse().map_err(|_| unknown())?)
            }
        }
    }
}

impl TryFrom<String> for BaseLaw {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<BaseLaw> for String {
    fn from(law: BaseLaw) -> Self {
        law.to_string()
    }
}

#[cfg(test)]
mod tests;
