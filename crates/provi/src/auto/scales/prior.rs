//! What is believed of a scale before the data.

use crate::base::error::{Error, Result};
use crate::base::special::ln_gamma;
use std::f64::consts::PI;

/// The law of a scale s > 0 before the data, as a density of s itself.
///
/// ```
/// use provi::scales::ScalePrior;
///
/// // A tenth of the mass lies above 2, whatever the family is.
/// let bounded = ScalePrior::PenalisedComplexity { upper: 2.0, probability: 0.1 };
/// let same = ScalePrior::Exponential { rate: 10f64.ln() / 2.0 };
/// assert!((bounded.log_density(0.7) - same.log_density(0.7)).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum ScalePrior {
    /// |x| for x ~ N(0, scale²).
    HalfNormal {
        /// The deviation of x.
        scale: f64,
    },
    /// |x| for a Student t of these degrees of freedom, times `scale`.
    HalfStudentT {
        /// Degrees of freedom.
        degrees: f64,
        /// The scale of x.
        scale: f64,
    },
    /// rate·e^{−rate·s}.
    Exponential {
        /// The rate.
        rate: f64,
    },
    /// log s ~ N(center, sd²).
    LogNormal {
        /// The mean of log s.
        center: f64,
        /// The deviation of log s.
        sd: f64,
    },
    /// Proportional to s^{−shape−1}e^{−scale/s}.
    InverseGamma {
        /// The shape.
        shape: f64,
        /// The scale.
        scale: f64,
    },
    /// The exponential law with P(s > upper) = probability: a constant price for each step away from s = 0.
    PenalisedComplexity {
        /// A value that the scale exceeds with that probability.
        upper: f64,
        /// The probability.
        probability: f64,
    },
}

impl ScalePrior {
    /// The logarithm of the density of s; −∞ where it is zero.
    pub fn log_density(&self, s: f64) -> f64 {
        if s > 0.0 { self.of_logarithm(s.ln())[0] - s.ln() } else { f64::NEG_INFINITY }
    }

    /// The logarithm of the density of η = log s, and its derivative.
    pub(crate) fn of_logarithm(&self, eta: f64) -> [f64; 2] {
        let s = eta.exp();
        match *self {
            Self::HalfNormal { scale } => {
                let square = (s / scale).powi(2);
                [0.5 * (2.0 / PI).ln() - scale.ln() - 0.5 * square + eta, 1.0 - square]
            }
            Self::HalfStudentT { degrees, scale } => {
                let square = (s / scale).powi(2) / degrees;
                let constant = ln_gamma(0.5 * (degrees + 1.0)) - ln_gamma(0.5 * degrees);
                let value = 2f64.ln() + constant - 0.5 * (degrees * PI).ln() - scale.ln();
                let fall = 0.5 * (degrees + 1.0) * square.ln_1p();
                // r/(1 + r) for any r.
                let share = if square < 1.0 { square / (1.0 + square) } else { 1.0 / (1.0 + 1.0 / square) };
                [value - fall + eta, 1.0 - (degrees + 1.0) * share]
            }
            Self::Exponential { rate } => [rate.ln() - rate * s + eta, 1.0 - rate * s],
            Self::LogNormal { center, sd } => {
                let x = (eta - center) / sd;
                [-0.5 * (2.0 * PI).ln() - sd.ln() - 0.5 * x * x, -x / sd]
            }
            Self::InverseGamma { shape, scale } => {
                [shape * scale.ln() - ln_gamma(shape) - shape * eta - scale / s, scale / s - shape]
            }
            Self::PenalisedComplexity { upper, probability } => {
                Self::Exponential { rate: -probability.ln() / upper }.of_logarithm(eta)
            }
        }
    }

    /// Refuses parameters that make no law.
    pub fn check(&self) -> Result<()> {
        let positive = |what: &'static str, value: f64| match value > 0.0 && value.is_finite() {
            true => Ok(()),
            false => Err(Error::OutOfRange { what, value, needed: "positive and finite" }),
        };
        match *self {
            Self::HalfNormal { scale } => positive("scale of a half-normal prior", scale),
            Self::HalfStudentT { degrees, scale } => {
                positive("degrees of freedom of a half-Student-t prior", degrees)?;
                positive("scale of a half-Student-t prior", scale)
            }
            Self::Exponential { rate } => positive("rate of an exponential prior", rate),
            Self::LogNormal { center, sd } => {
                let what = "centre of a log-normal prior";
                if !center.is_finite() {
                    return Err(Error::OutOfRange { what, value: center, needed: "finite" });
                }
                positive("sd of a log-normal prior", sd)
            }
            Self::InverseGamma { shape, scale } => {
                positive("shape of an inverse-gamma prior", shape)?;
                positive("scale of an inverse-gamma prior", scale)
            }
            Self::PenalisedComplexity { upper, probability } => {
                positive("upper value of a penalised-complexity prior", upper)?;
                let (what, needed) = ("probability of a penalised-complexity prior", "between 0 and 1");
                match probability > 0.0 && probability < 1.0 {
                    true => Ok(()),
                    false => Err(Error::OutOfRange { what, value: probability, needed }),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [ScalePrior; 7] = [
        ScalePrior::HalfNormal { scale: 0.7 },
        ScalePrior::HalfStudentT { degrees: 3.0, scale: 2.5 },
        ScalePrior::HalfStudentT { degrees: 30.0, scale: 0.3 },
        ScalePrior::Exponential { rate: 1.4 },
        ScalePrior::LogNormal { center: -0.4, sd: 0.6 },
        ScalePrior::InverseGamma { shape: 2.5, scale: 0.8 },
        ScalePrior::PenalisedComplexity { upper: 3.0, probability: 0.05 },
    ];

    #[test]
    fn densities_have_mass_one_and_their_slopes_are_their_derivatives() {
        for prior in ALL {
            prior.check().unwrap();
            let step = 0.01;
            let mass: f64 =
                (-4000..4000).map(|k| prior.of_logarithm(step * f64::from(k))[0].exp() * step).sum();
            assert!((mass - 1.0).abs() < 1e-9, "{prior:?}: {mass}");
            for eta in [-3.0, -0.2, 0.4, 1.7] {
                let [up, down] = [1e-5, -1e-5].map(|e| prior.of_logarithm(eta + e)[0]);
                let slope = prior.of_logarithm(eta)[1];
                assert!(((up - down) / 2e-5 - slope).abs() < 1e-6 * (1.0 + slope.abs()), "{prior:?} {eta}");
                let density = prior.log_density(f64::exp(eta));
                assert!((density + eta - prior.of_logarithm(eta)[0]).abs() < 1e-13);
            }
            assert!(prior.log_density(-1.0).is_infinite() && prior.log_density(-1.0) < 0.0);
        }
    }

    #[test]
    fn laws_that_are_none_are_refused_by_name() {
        for (prior, what) in [
            (ScalePrior::HalfNormal { scale: 0.0 }, "scale of a half-normal"),
            (ScalePrior::HalfStudentT { degrees: -1.0, scale: 1.0 }, "degrees of freedom"),
            (ScalePrior::Exponential { rate: f64::NAN }, "rate"),
            (ScalePrior::LogNormal { center: f64::INFINITY, sd: 1.0 }, "centre"),
            (ScalePrior::InverseGamma { shape: 1.0, scale: -2.0 }, "scale of an inverse-gamma"),
            (ScalePrior::PenalisedComplexity { upper: 1.0, probability: 1.0 }, "probability"),
        ] {
            let refused = prior.check().unwrap_err().to_string();
            assert!(refused.contains(what), "{refused}");
        }
    }
}
