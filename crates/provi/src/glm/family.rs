//! Likelihoods of a linear predictor s = aᵀz + offset, as potentials φ(s) = −log p(y | s).

pub(crate) mod fourth;
mod ordered;

pub use ordered::Gaps;
pub(crate) use ordered::Halves;

use crate::base::error::{Error, Result};
use crate::base::scalar::Positive;
use crate::base::special;
use provi_kernels::{
    Cloglog,
    loss::{self, Slots},
};

/// Where the curvature of a success with the cloglog link is largest, and a bound of it.
pub(crate) const CLOGLOG_TOP: [f64; 2] = [0.62, 0.622];
pub(crate) const CLOGLOG_STEEPEST: f64 = 0.412_54;

/// How a response depends on its linear predictor.
///
/// | family | φ(s) | θ_min ≤ φ'' | φ'' ≤ θ_max |
/// |---|---|---|---|
/// | Gaussian | (y−s)²/2σ² + ½ log 2πσ² | 1/σ² | 1/σ² |
/// | Bernoulli (logit) | log(1+eˢ) − ys | 0 | ¼ |
/// | Binomial (logit), a trial | log(1+eˢ) − (k/n)s | 0 | ¼ |
/// | Probit | −log Φ((2y−1)s) | 0 | 1 |
/// | Cloglog, a trial, r = eˢ | −y log(1 − e^{−r}) + (1 − y)r | 0 | none |
/// | Poisson (log link) | eˢ − ys + log y! | 0 | none |
/// | Gamma (log link), α = 1/σ² | α(s + ye⁻ˢ) − α log α + log Γ(α) − (α−1) log y | 0 | none |
/// | Exponential (log link) | s + ye⁻ˢ | 0 | none |
/// | Weibull (log hazard), κ = (t/u)^{1/σ} | κeˢ − δs − δ log(κ/σt) | 0 | none |
/// | Exponential time (log hazard), κ = t/u | κeˢ − δs + δ log u | 0 | none |
/// | Negative binomial (log link), a trial of y + r, r = 1/σ² | log(1 + eˢ/r) − (y/(y+r)) log(eˢ/r) | 0 | ¼ |
/// | Ordered (logit), category k of K | −log(sigmoid(s − c_{k−1}) − sigmoid(s − c_k)) | 0 | ½ |
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
    /// Binary response, or successes among trials, complementary log-log link: P(1) = 1 − exp(−eˢ).
    Cloglog,
    /// Counts, log link.
    Poisson,
    /// Positive response with mean eˢ and standard deviation σeˢ, log link.
    Gamma {
        /// σ, the standard deviation of the noise relative to the mean; the shape is 1/σ².
        noise_sd: f64,
    },
    /// Positive response with mean and standard deviation eˢ, log link: gamma with σ = 1.
    Exponential,
    /// Time to an event that may be censored, with P(time > t) = exp(−(t/u)^{1/σ}eˢ): s is the logarithm of a hazard. See
    /// [`crate::target::Glm::survival`].
    Weibull {
        /// σ, the scale of the logarithm of the time; the shape is 1/σ.
        noise_sd: f64,
        /// u, the time at which eˢ is the cumulative hazard.
        unit: f64,
        /// Whether some times are known only to lie in an interval. Rows set it ([`crate::target::Glm::times`]); `false` will do.
        coarse: bool,
    },
    /// The same with σ = 1: the hazard does not change with time.
    ExponentialTime {
        /// u, the time at which eˢ is the cumulative hazard.
        unit: f64,
        /// As for `Weibull`.
        coarse: bool,
    },
    /// Counts with mean eˢ and variance eˢ + σ²e²ˢ, log link.
    NegativeBinomial {
        /// σ, the standard deviation of the rates relative to their mean: a count is Poisson, and its rate has a gamma distribution of shape
        /// r = 1/σ² and mean eˢ.
        noise_sd: f64,
    },
    /// Categories 1, 2, …, K in an order, logit link: P(y > k) = sigmoid(s − c_k), so that the odds of a higher category change by the same
    /// factor at every cut.
    Ordered {
        /// The distances between the cut points c_1 = 0 < c_2 < … < c_{K−1}.
        gaps: Gaps,
    },
}

/// A potential φ(s) = κe^{±s} − ℓs, whose expectation under a Gaussian is a formula. Its curvature has no bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rate {
    /// The sign in the exponent.
    pub(crate) sign: f64,
    /// κ.
    pub(crate) factor: f64,
    /// ℓ.
    pub(crate) line: f64,
}

impl Rate {
    /// κe^{±s}, which is also its second derivative.
    pub(crate) fn at(self, s: f64) -> f64 {
        self.factor * (self.sign * s).exp()
    }
}

/// What φ is as a function of s alone. Everything that is computed or proved about rows depends on this; families with the same form
/// differ in their responses, constants and predictions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Form {
    /// ½θ(s − y)².
    Quadratic {
        /// θ.
        precision: f64,
    },
    /// log(1 + eˢ) − ys.
    Logistic,
    /// −log Φ((2y − 1)s).
    Probit,
    /// −g log(1 − e^{−r}) + ρr − ℓs, r = eˢ.
    Cloglog(Cloglog),
    /// κe^{±s} − ℓs.
    Rate(Rate),
    /// A sum of one or two logistic rows.
    Ordered(Halves),
}

impl Family {
    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gaussian { .. } => "gaussian",
            Self::Bernoulli => "bernoulli",
            Self::Binomial => "binomial",
            Self::Probit => "probit",
            Self::Cloglog => "cloglog",
            Self::Poisson => "poisson",
            Self::Gamma { .. } => "gamma",
            Self::Exponential | Self::ExponentialTime { .. } => "exponential",
            Self::Weibull { .. } => "weibull",
            Self::NegativeBinomial { .. } => "negbinomial",
            Self::Ordered { .. } => "ordered",
        }
    }

    /// u, if responses are times to an event.
    pub fn time_unit(self) -> Option<f64> {
        match self {
            Self::Weibull { unit, .. } | Self::ExponentialTime { unit, .. } => Some(unit),
            _ => None,
        }
    }

    /// The family of times to an event that has the same name, if there is one, with this unit.
    pub fn with_time_unit(self, unit: f64) -> Option<Self> {
        match self {
            Self::Weibull { noise_sd, coarse, .. } => Some(Self::Weibull { noise_sd, unit, coarse }),
            Self::ExponentialTime { coarse, .. } => Some(Self::ExponentialTime { unit, coarse }),
            Self::Exponential => Some(Self::ExponentialTime { unit, coarse: false }),
            _ => None,
        }
    }

    /// Whether some times lie in an interval.
    pub(crate) fn is_coarse(self) -> bool {
        matches!(self, Self::Weibull { coarse: true, .. } | Self::ExponentialTime { coarse: true, .. })
    }

    pub(crate) fn with_coarse(self, coarse: bool) -> Self {
        match self {
            Self::Weibull { noise_sd, unit, .. } => Self::Weibull { noise_sd, unit, coarse },
            Self::ExponentialTime { unit, .. } => Self::ExponentialTime { unit, coarse },
            other => other,
        }
    }

    /// 1/σ of times to an event.
    pub(crate) fn hazard_shape(self) -> Option<f64> {
        match self {
            Self::Weibull { noise_sd, .. } => Some(1.0 / noise_sd),
            Self::ExponentialTime { .. } => Some(1.0),
            _ => None,
        }
    }

    /// r = 1/σ² of counts with gamma rates.
    pub(crate) fn count_shape(self) -> Option<f64> {
        match self {
            Self::NegativeBinomial { noise_sd } => Some(1.0 / (noise_sd * noise_sd)),
            _ => None,
        }
    }

    /// Whether what rows hold follows from what was observed and from the noise ([`crate::glm::rows::Rows`]).
    pub(crate) fn is_recoded(self) -> bool {
        self.hazard_shape().is_some() || self.count_shape().is_some() || self.gaps().is_some()
    }

    /// The gaps between the cut points of ordered categories.
    pub fn gaps(self) -> Option<Gaps> {
        match self {
            Self::Ordered { gaps } => Some(gaps),
            _ => None,
        }
    }

    /// Whether the mean of a response, or of one of its trials, is a probability.
    pub fn has_probabilities(self) -> bool {
        matches!(self, Self::Bernoulli | Self::Binomial | Self::Probit | Self::Cloglog)
    }

    /// σ, if the family has a noise that may be unknown.
    pub fn noise_sd(self) -> Option<f64> {
        match self {
            Self::Gaussian { noise_sd }
            | Self::Gamma { noise_sd }
            | Self::Weibull { noise_sd, .. }
            | Self::NegativeBinomial { noise_sd } => Some(noise_sd),
            _ => None,
        }
    }

    /// The same family with another noise, if it has one.
    pub fn with_noise_sd(self, noise_sd: f64) -> Option<Self> {
        match self {
            Self::Gaussian { .. } => Some(Self::Gaussian { noise_sd }),
            Self::Gamma { .. } => Some(Self::Gamma { noise_sd }),
            Self::Weibull { unit, coarse, .. } => Some(Self::Weibull { noise_sd, unit, coarse }),
            Self::NegativeBinomial { .. } => Some(Self::NegativeBinomial { noise_sd }),
            _ => None,
        }
    }

    /// The shape α of a gamma response, whose density is proportional to y^{α−1}e^{−αy/mean}.
    pub(crate) fn gamma_shape(self) -> Option<f64> {
        match self {
            Self::Gamma { noise_sd } => Some(1.0 / (noise_sd * noise_sd)),
            Self::Exponential => Some(1.0),
            _ => None,
        }
    }

    /// The form of φ for a response.
    /// ```text
    /// poisson  eˢ − ys        gamma  αye⁻ˢ + αs        weibull  eˢ − δs, with the offset (1/σ) log(t/u); with intervals as for cloglog
    /// ```
    pub(crate) fn form(self, y: f64) -> Form {
        let gamma = |shape: f64| Form::Rate(Rate { sign: -1.0, factor: shape * y, line: -shape });
        match self {
            Self::Gaussian { noise_sd } => Form::Quadratic { precision: 1.0 / (noise_sd * noise_sd) },
            Self::Bernoulli | Self::Binomial | Self::NegativeBinomial { .. } => Form::Logistic,
            Self::Probit => Form::Probit,
            Self::Cloglog
            | Self::Weibull { coarse: true, .. }
            | Self::ExponentialTime { coarse: true, .. } => Form::Cloglog(Cloglog::of(y)),
            Self::Poisson | Self::Weibull { .. } | Self::ExponentialTime { .. } => {
                Form::Rate(Rate { sign: 1.0, factor: 1.0, line: y })
            }
            Self::Gamma { noise_sd } => gamma(1.0 / (noise_sd * noise_sd)),
            Self::Exponential => gamma(1.0),
            Self::Ordered { .. } => Form::Ordered(Halves::of(y)),
        }
    }

    /// φ as a [`Rate`], if it is one.
    pub(crate) fn rate(self, y: f64) -> Option<Rate> {
        match self.form(y) {
            Form::Rate(rate) => Some(rate),
            _ => None,
        }
    }

    /// A bound of |E φ| per unit by which the mean and the deviation of s are off, without the part of a rate itself: |ℓ|; and for the
    /// successes of a cloglog row 1 + E|N| < 2, their slope being between −1 and 0.
    pub(crate) fn line(self, y: f64) -> f64 {
        match self.form(y) {
            Form::Rate(rate) => rate.line.abs(),
            Form::Cloglog(parts) => 2.0 * parts.success + parts.line,
            Form::Quadratic { .. } | Form::Logistic | Form::Probit | Form::Ordered(_) => 0.0,
        }
    }

    /// The part of a row without a bound of φ'' whose second and third derivatives are bounded by ½: the successes of a cloglog row.
    pub(crate) fn tame(self, y: f64) -> f64 {
        match self.form(y) {
            Form::Cloglog(parts) => parts.success,
            _ => 0.0,
        }
    }

    /// Whether the integral of φ outside a ball is known although its curvature has no bound.
    pub(crate) fn has_tail(self) -> bool {
        self.is_rate() || matches!(self.form(1.0), Form::Cloglog(_))
    }

    /// Whether φ is a [`Rate`].
    pub(crate) fn is_rate(self) -> bool {
        self.rate(1.0).is_some()
    }

    /// θ_min and θ_max: the range of φ'' over the line [linear-predictor].
    pub fn curvature_range(self) -> (f64, Option<f64>) {
        match self {
            Self::Gaussian { noise_sd } => {
                let theta = 1.0 / (noise_sd * noise_sd);
                (theta, Some(theta))
            }
            Self::Bernoulli | Self::Binomial | Self::NegativeBinomial { .. } => (0.0, Some(0.25)),
            Self::Probit => (0.0, Some(1.0)),
            Self::Ordered { .. } => (0.0, Some(0.5)),
            Self::Cloglog
            | Self::Poisson
            | Self::Gamma { .. }
            | Self::Exponential
            | Self::Weibull { .. }
            | Self::ExponentialTime { .. } => (0.0, None),
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
            Self::Bernoulli | Self::Probit | Self::Cloglog => {
                if response.iter().any(|&y| is(y, -1.0)) {
                    let signs = refuse(&|y| is(y, -1.0) || is(y, 1.0), "−1 or 1, like the labels before it")?;
                    return Ok(signs.into_iter().map(|y| 0.5 * (y + 1.0)).collect());
                }
                refuse(&|y| is(y, 0.0) || is(y, 1.0), "0 or 1 (−1 or 1)")
            }
            // Without trials each row is one trial.
            Self::Binomial => refuse(&|y| is(y, 0.0) || is(y, 1.0), "0 or 1, as one trial gives"),
            Self::Poisson | Self::NegativeBinomial { .. } => {
                Positive::new("noise sd", self.noise_sd().unwrap_or(1.0))?;
                // Above this, doubles skip integers, and a count says less about its mean than rounding does.
                if let Some(row) = response.iter().position(|&y| y > 9.0e15 && y.is_finite()) {
                    let needed = "a count up to 9e15, the largest that double precision counts one by one; model the logarithms of larger counts as gaussian";
                    return Err(Error::Response { family, row, value: response[row], needed });
                }
                refuse(&|y| (0.0..=9.0e15).contains(&y) && is(y, y.floor()), "a whole number of at least 0")
            }
            Self::Gamma { .. } | Self::Exponential => {
                Positive::new("noise sd", self.noise_sd().unwrap_or(1.0))?;
                refuse(&|y| y > 0.0 && y.is_finite(), "a number above 0")
            }
            Self::Weibull { .. } | Self::ExponentialTime { .. } => {
                Positive::new("noise sd", self.noise_sd().unwrap_or(1.0))?;
                Positive::new("unit of time", self.time_unit().unwrap_or(1.0))?;
                let needed = "a time above 0; drop the row, or add to all times what the clock missed before its start";
                refuse(&|t| t > 0.0 && t.is_finite(), needed)
            }
            Self::Ordered { gaps } => {
                let most = gaps.categories() as f64;
                refuse(
                    &|y| (1.0..=most).contains(&y) && is(y, y.floor()),
                    "the number of a category: 1, 2, … up to two more than there are gaps",
                )
            }
        }
    }

    /// The part of φ that depends on y alone; for times to an event, δ(log t − log k) without its log t; for ordered categories y is the category.
    pub(crate) fn constant(self, y: f64) -> f64 {
        match self {
            Self::Gaussian { noise_sd } => 0.5 * (2.0 * std::f64::consts::PI * noise_sd * noise_sd).ln(),
            Self::Bernoulli | Self::Binomial | Self::Probit | Self::Cloglog => 0.0,
            Self::Poisson => libm::lgamma(y + 1.0),
            Self::Gamma { .. } | Self::Exponential => {
                let [fixed, log] = self.gamma_constants();
                fixed + log * y.ln()
            }
            Self::Weibull { .. } | Self::ExponentialTime { .. } => {
                -y * self.hazard_shape().unwrap_or(1.0).ln()
            }
            Self::NegativeBinomial { .. } => {
                // log Γ(x) = x log x − x + rest(x), so that r log r is subtracted from nothing.
                let r = self.count_shape().unwrap_or(1.0);
                let rest = special::ln_gamma_rest(y + r) - special::ln_gamma_rest(r);
                libm::lgamma(y + 1.0) - (rest + y * r.ln() + (y + r) * (y / r).ln_1p() - y)
            }
            Self::Ordered { gaps } => gaps.constant(y),
        }
    }

    /// a and b in the constant a + b·log y of a gamma row:
    /// ```text
    /// a = log Γ(α) − α log α,   b = 1 − α
    /// ```
    pub(crate) fn gamma_constants(self) -> [f64; 2] {
        let shape = self.gamma_shape().unwrap_or(1.0);
        [special::ln_gamma_rest(shape) - shape, 1.0 - shape]
    }

    /// φ''(s) for each response and its predictor.
    pub(crate) fn second_derivatives(self, response: &[f64], predictors: &[f64], out: &mut [f64]) {
        /// Rows at a time.
        const LANES: usize = 64;
        match self {
            Self::Bernoulli | Self::Binomial | Self::NegativeBinomial { .. } => {
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
        match self.form(y) {
            Form::Quadratic { precision } => {
                [0.5 * precision * (y - s) * (y - s), precision * (s - y), precision]
            }
            Form::Logistic => {
                let e = (-s.abs()).exp();
                let r = 1.0 / (1.0 + e);
                let sigmoid = if s >= 0.0 { r } else { e * r };
                [s.max(0.0) + e.ln_1p() - y * s, sigmoid - y, e * r * r]
            }
            Form::Probit => {
                let sign = 2.0 * y - 1.0;
                let t = sign * s;
                [
                    -special::log_normal_cdf(t),
                    -sign * special::inverse_mills(t),
                    special::log_normal_cdf_curvature(t),
                ]
            }
            Form::Cloglog(parts) => parts.at(s),
            Form::Rate(rate) => {
                let e = rate.at(s);
                [e - rate.line * s, rate.sign * e - rate.line, e]
            }
            Form::Ordered(halves) => halves.sum(|shift, y| Self::Bernoulli.derivatives(s + shift, y)),
        }
    }

    /// φ''(s).
    pub(crate) fn second_derivative(self, s: f64, y: f64) -> f64 {
        match self.form(y) {
            Form::Quadratic { precision } => precision,
            Form::Logistic => {
                let e = (-s.abs()).exp();
                let r = 1.0 / (1.0 + e);
                e * r * r
            }
            Form::Probit => special::log_normal_cdf_curvature((2.0 * y - 1.0) * s),
            Form::Cloglog(parts) => parts.at(s)[2],
            Form::Rate(rate) => rate.at(s),
            Form::Ordered(halves) => {
                halves.sum(|shift, y| [Self::Bernoulli.second_derivative(s + shift, y)])[0]
            }
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
            Self::Binomial | Self::NegativeBinomial { .. } => {
                loss::binomial(response, weights, predictors, slots);
            }
            Self::Probit => loss::probit(response, weights, predictors, slots),
            Self::Ordered { .. } => loss::ordered(response, weights, predictors, slots),
            Self::Cloglog
            | Self::Weibull { coarse: true, .. }
            | Self::ExponentialTime { coarse: true, .. } => {
                loss::cloglog(response, weights, predictors, slots);
            }
            Self::Poisson | Self::Weibull { .. } | Self::ExponentialTime { .. } => {
                loss::poisson(response, weights, predictors, slots);
            }
            Self::Gamma { .. } | Self::Exponential => {
                let shape = self.gamma_shape().unwrap_or(1.0);
                loss::gamma(shape, response, weights, predictors, slots);
            }
            Self::Gaussian { noise_sd } => {
                loss::gaussian(1.0 / (noise_sd * noise_sd), response, weights, predictors, slots);
            }
        }
    }
}

#[cfg(test)]
mod tests;
