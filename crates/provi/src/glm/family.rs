//! Likelihoods of a linear predictor s = aᵀz + offset, as potentials φ(s) = −log p(y | s).

use crate::base::error::{Error, Result};
use crate::base::scalar::Positive;
use crate::base::special;
use provi_kernels::loss::{self, Slots};

/// How a response depends on its linear predictor.
///
/// | family | φ(s) | θ_min ≤ φ'' | φ'' ≤ θ_max |
/// |---|---|---|---|
/// | Gaussian | (y−s)²/2σ² + ½ log 2πσ² | 1/σ² | 1/σ² |
/// | Bernoulli (logit) | log(1+eˢ) − ys | 0 | ¼ |
/// | Binomial (logit), a trial | log(1+eˢ) − (k/n)s | 0 | ¼ |
/// | Probit | −log Φ((2y−1)s) | 0 | 1 |
/// | Poisson (log link) | eˢ − ys + log y! | 0 | none |
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum Family {
    /// Normal response with known noise.
    Gaussian {
        /// σ, the standard deviation of the noise.
        noise_sd: f64,
    },
    /// Binary response, logit link.
    Bernoulli,
    /// Successes among trials, logit link. The weight of a row is its number of trials, and its response is the
    /// share of successes. See [`crate::target::Glm::binomial`].
    Binomial,
    /// Binary response, probit link.
    Probit,
    /// Counts, log link.
    Poisson,
}

impl Family {
    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gaussian { .. } => "gaussian",
            Self::Bernoulli => "bernoulli",
            Self::Binomial => "binomial",
            Self::Probit => "probit",
            Self::Poisson => "poisson",
        }
    }

    /// θ_min and θ_max: the range of φ'' over the line [linear-predictor].
    pub fn curvature_range(self) -> (f64, Option<f64>) {
        match self {
            Self::Gaussian { noise_sd } => {
                let theta = 1.0 / (noise_sd * noise_sd);
                (theta, Some(theta))
            }
            Self::Bernoulli | Self::Binomial => (0.0, Some(0.25)),
            Self::Probit => (0.0, Some(1.0)),
            Self::Poisson => (0.0, None),
        }
    }

    /// Refuses parameters and responses that the family does not allow. Returns the responses in the family's own
    /// coding (binary labels as 0 and 1; −1 and 1 are accepted too).
    pub(crate) fn checked_response(self, response: &[f64]) -> Result<Vec<f64>> {
        let family = self.name();
        let refuse = |ok: &dyn Fn(f64) -> bool, needed| match response.iter().position(|&y| !ok(y)) {
            Some(row) => Err(Error::Response { family, row, value: response[row], needed }),
            None => Ok(response.to_vec()),
        };
        let is = |y: f64, label: f64| (y - label).abs() <= 0.0;
        match self {
            Self::Gaussian { noise_sd } => {
                Positive::new("noise sd", noise_sd)?;
                refuse(&|y| y.is_finite(), "a finite number")
            }
            Self::Bernoulli | Self::Probit => {
                if response.iter().any(|&y| is(y, -1.0)) {
                    let signs = refuse(&|y| is(y, -1.0) || is(y, 1.0), "−1 or 1, like the labels before it")?;
                    return Ok(signs.into_iter().map(|y| 0.5 * (y + 1.0)).collect());
                }
                refuse(&|y| is(y, 0.0) || is(y, 1.0), "0 or 1 (−1 or 1)")
            }
            // Without trials each row is one trial.
            Self::Binomial => refuse(&|y| is(y, 0.0) || is(y, 1.0), "0 or 1, as one trial gives"),
            Self::Poisson => {
                // Above this, doubles skip integers, and a count says less about its mean than rounding does.
                if let Some(row) = response.iter().position(|&y| y > 9.0e15 && y.is_finite()) {
                    let needed = "a count up to 9e15, the largest that double precision counts one by one; model the logarithms of larger counts as gaussian";
                    return Err(Error::Response { family, row, value: response[row], needed });
                }
                refuse(&|y| (0.0..=9.0e15).contains(&y) && is(y, y.floor()), "a whole number of at least 0")
            }
        }
    }

    /// The part of φ that depends on y alone.
    pub(crate) fn constant(self, y: f64) -> f64 {
        match self {
            Self::Gaussian { noise_sd } => 0.5 * (2.0 * std::f64::consts::PI * noise_sd * noise_sd).ln(),
            Self::Bernoulli | Self::Binomial | Self::Probit => 0.0,
            Self::Poisson => libm::lgamma(y + 1.0),
        }
    }

    /// φ''(s) for each response and its predictor.
    pub(crate) fn second_derivatives(self, response: &[f64], predictors: &[f64], out: &mut [f64]) {
        /// Rows at a time.
        const LANES: usize = 64;
        match self {
            Self::Bernoulli | Self::Binomial => {
                let mut spare = [[0.0; LANES]; 3];
                let [zeros, value, first] = &mut spare;
                for (s, out) in predictors.chunks(LANES).zip(out.chunks_mut(LANES)) {
                    let n = s.len();
                    // With a single node, the expectation is the function itself.
                    let (value, first) = (&mut value[..n], &mut first[..n]);
                    provi_kernels::expectation::logistic(s, &zeros[..n], &[0.0], &[1.0], value, first, out);
                }
            }
            _ => {
                for ((out, &s), &y) in out.iter_mut().zip(predictors).zip(response) {
                    *out = self.second_derivative(s, y);
                }
            }
        }
    }

    /// φ(s) without [`Family::constant`], φ'(s) and φ''(s), one predictor at a time. Tests compare the kernels with it.
    pub(crate) fn derivatives(self, s: f64, y: f64) -> [f64; 3] {
        match self {
            Self::Gaussian { noise_sd } => {
                let theta = 1.0 / (noise_sd * noise_sd);
                [0.5 * theta * (y - s) * (y - s), theta * (s - y), theta]
            }
            Self::Bernoulli | Self::Binomial => {
                let e = (-s.abs()).exp();
                let r = 1.0 / (1.0 + e);
                let sigmoid = if s >= 0.0 { r } else { e * r };
                [s.max(0.0) + e.ln_1p() - y * s, sigmoid - y, e * r * r]
            }
            Self::Probit => {
                let sign = 2.0 * y - 1.0;
                let t = sign * s;
                [
                    -special::log_normal_cdf(t),
                    -sign * special::inverse_mills(t),
                    special::log_normal_cdf_curvature(t),
                ]
            }
            Self::Poisson => {
                let e = s.exp();
                [e - y * s, e - y, e]
            }
        }
    }

    /// φ''(s).
    pub(crate) fn second_derivative(self, s: f64, y: f64) -> f64 {
        match self {
            Self::Gaussian { noise_sd } => 1.0 / (noise_sd * noise_sd),
            Self::Bernoulli | Self::Binomial => {
                let e = (-s.abs()).exp();
                let r = 1.0 / (1.0 + e);
                e * r * r
            }
            Self::Probit => special::log_normal_cdf_curvature((2.0 * y - 1.0) * s),
            Self::Poisson => s.exp(),
        }
    }

    /// One block of rows at S points: adds w·φ(s) to `slots` and replaces each predictor s by w·φ'(s). `predictors` is
    /// rows × S; `unweighted` says that all w are 1.
    pub(crate) fn energies_and_slopes(
        self,
        unweighted: bool,
        response: &[f64],
        weights: &[f64],
        predictors: &mut [f64],
        slots: &mut Slots<'_>,
    ) {
        match self {
            Self::Bernoulli if unweighted => loss::logistic_unweighted(response, predictors, slots),
            Self::Bernoulli => loss::logistic(response, weights, predictors, slots),
            Self::Binomial => loss::binomial(response, weights, predictors, slots),
            Self::Probit => loss::probit(response, weights, predictors, slots),
            Self::Poisson => loss::poisson(response, weights, predictors, slots),
            Self::Gaussian { noise_sd } => {
                loss::gaussian(1.0 / (noise_sd * noise_sd), response, weights, predictors, slots);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Family; 4] =
        [Family::Gaussian { noise_sd: 0.7 }, Family::Bernoulli, Family::Probit, Family::Poisson];

    #[test]
    fn derivatives_match_differences_and_the_curvature_range() {
        for family in ALL {
            for y in [0.0, 1.0] {
                for i in -40..=40 {
                    let s = 0.2 * f64::from(i);
                    let h = 1e-5;
                    let at = |s| family.derivatives(s, y);
                    assert_eq!(
                        at(s)[2].to_bits(),
                        family.second_derivative(s, y).to_bits(),
                        "{family:?} {s}"
                    );
                    let scale = 1.0 + at(s)[1].abs() + at(s)[2].abs();
                    assert!(((at(s + h)[0] - at(s - h)[0]) / (2.0 * h) - at(s)[1]).abs() < 1e-8 * scale);
                    assert!(((at(s + h)[1] - at(s - h)[1]) / (2.0 * h) - at(s)[2]).abs() < 1e-8 * scale);
                    let (low, high) = family.curvature_range();
                    assert!(at(s)[2] >= low - 1e-15);
                    assert!(high.is_none_or(|high| at(s)[2] <= high + 1e-15));
                }
            }
        }
    }

    #[test]
    fn the_likelihood_is_a_probability() {
        for s in [-3.0, 0.4, 9.0] {
            for family in [Family::Bernoulli, Family::Probit] {
                let total: f64 = [0.0, 1.0].iter().map(|&y| (-family.derivatives(s, y)[0]).exp()).sum();
                assert!((total - 1.0).abs() < 1e-14);
            }
        }
        let poisson: f64 = (0..60)
            .map(|y| {
                (-Family::Poisson.derivatives(1.3, f64::from(y))[0] - Family::Poisson.constant(f64::from(y)))
                    .exp()
            })
            .sum();
        assert!((poisson - 1.0).abs() < 1e-12);
        let gaussian = Family::Gaussian { noise_sd: 0.7 };
        let integral: f64 = (-2000..2000)
            .map(|i| {
                0.01 * (-gaussian.derivatives(0.3, 0.01 * f64::from(i))[0] - gaussian.constant(0.0)).exp()
            })
            .sum();
        assert!((integral - 1.0).abs() < 1e-10);
    }

    #[test]
    fn blocks_agree_with_single_terms() {
        let (response, weights) = ([1.0, 0.0, 1.0], [1.0, 2.0, 0.5]);
        let predictors = [0.3, -2.0, 5.0, 0.0, -0.7, 1.1];
        for family in ALL {
            let (mut slopes, mut energies) = (predictors, [0.0; 2]);
            let mut room = [0.0; 2 * loss::SPARE];
            let mut slots = Slots::new(2, &mut room);
            family.energies_and_slopes(false, &response, &weights, &mut slopes, &mut slots);
            slots.finish(&mut energies);
            for k in 0..2 {
                let mut energy = 0.0;
                for n in 0..3 {
                    let [value, slope, _] = family.derivatives(predictors[2 * n + k], response[n]);
                    energy += weights[n] * value;
                    assert!((slopes[2 * n + k] - weights[n] * slope).abs() < 1e-13);
                }
                assert!((energies[k] - energy).abs() < 1e-13);
            }
        }
    }

    #[test]
    fn wrong_responses_are_named() {
        let message = |f: Family, y: &[f64]| f.checked_response(y).unwrap_err().to_string();
        assert_eq!(
            message(Family::Bernoulli, &[0.0, 2.0]),
            "response 2 at row 1 is not 0 or 1 (−1 or 1) (family bernoulli)"
        );
        assert!(message(Family::Poisson, &[1.5]).contains("whole number"));
        let huge = message(Family::Poisson, &[3.0, 1e16]);
        assert!(huge.contains("response 10000000000000000 at row 1 is not a count up to 9e15"), "{huge}");
        assert!(huge.contains("model the logarithms") && Family::Poisson.checked_response(&[9e15]).is_ok());
        assert!(message(Family::Probit, &[-1.0, 0.0]).contains("−1 or 1"));
        assert!(message(Family::Gaussian { noise_sd: 1.0 }, &[f64::INFINITY]).contains("finite"));
        assert!(message(Family::Gaussian { noise_sd: 0.0 }, &[1.0]).contains("noise sd"));
        assert_eq!(Family::Bernoulli.checked_response(&[-1.0, 1.0]).unwrap(), [0.0, 1.0]);
    }
}
