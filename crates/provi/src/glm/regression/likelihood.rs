//! The likelihoods of rows, their further parameters and the priors of those.

use super::beta_binomial::{self, FAR};
use super::{student, zero_inflated};
use crate::base::error::{Error, Result};
use crate::base::scalar::Positive;
use crate::base::special::{ln_gamma, sigmoid, softplus};

/// How a response depends on its linear predictors and on parameters that all rows share.
///
/// A further parameter has a coordinate without bounds, and a prior that is stated on its own scale:
///
/// | likelihood | parameter | coordinate | prior |
/// |---|---|---|---|
/// | student | σ > 0 | log σ | half-t with 3 degrees of freedom and a given scale |
/// | student | ν > 1 | log(ν − 1) | gamma(2, 0.1), cut off below 1 |
/// | beta-binomial | 0 < ρ < 1 | logit ρ | uniform |
/// | zero-inflated Poisson | 0 < π < 1 | logit π | uniform |
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Likelihood {
    /// Numbers whose noise has Student's distribution: y = η + σt, t with ν degrees of freedom. A few rows far off hardly move the coefficients.
    Student {
        /// σ, if it is known.
        sd: Option<f64>,
        /// ν, if it is known.
        degrees: Option<f64>,
        /// The scale of the prior of σ; unused if σ is known.
        scale: f64,
    },
    /// One of several levels without an order: log P(k)/P(1) = η_k for k = 2, 3, …
    Multinomial {
        /// The number of levels, at least 2.
        levels: usize,
    },
    /// Successes among trials whose probability varies between rows by a beta distribution: mean sigmoid(η), and any two trials of a row have
    /// the correlation ρ.
    BetaBinomial,
    /// Counts that are 0 with probability π, and else Poisson with mean e^η.
    ZeroInflatedPoisson,
}

impl Likelihood {
    /// Its name among the families.
    pub fn name(self) -> &'static str {
        match self {
            Self::Student { .. } => "student",
            Self::Multinomial { .. } => "multinomial",
            Self::BetaBinomial => "betabinomial",
            Self::ZeroInflatedPoisson => "zipoisson",
        }
    }

    /// Linear predictors of a row.
    pub fn predictors(self) -> usize {
        match self {
            Self::Multinomial { levels } => levels - 1,
            _ => 1,
        }
    }

    /// Whether the rows, as functions of their predictors and parameters, are log-concave, so that something can be proved.
    pub fn is_log_concave(self) -> bool {
        matches!(self, Self::Multinomial { .. })
    }

    /// The further parameters that are not known, on their own scale.
    pub fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::Student { sd: None, degrees: None, .. } => &["sigma", "nu"],
            Self::Student { sd: None, degrees: Some(_), .. } => &["sigma"],
            Self::Student { sd: Some(_), degrees: None, .. } => &["nu"],
            Self::Student { .. } | Self::Multinomial { .. } => &[],
            Self::BetaBinomial => &["rho"],
            Self::ZeroInflatedPoisson => &["zi"],
        }
    }

    /// Their values at a point of their coordinates.
    pub fn natural(self, further: &[f64]) -> Vec<f64> {
        let names = self.parameters().iter();
        let one = |(name, x): (&&str, &f64)| match *name {
            "sigma" => x.exp(),
            "nu" => 1.0 + x.exp(),
            _ => sigmoid(*x),
        };
        names.zip(further).map(one).collect()
    }

    /// Their priors, in words.
    pub fn priors(self) -> Vec<String> {
        let names = self.parameters().iter();
        let one = |name: &&str| match (*name, self) {
            ("sigma", Self::Student { scale, .. }) => format!("half_t(3, {scale}) on sigma"),
            ("nu", _) => "gamma(2, 0.1) on nu, above 1".to_owned(),
            (name, _) => format!("uniform(0, 1) on {name}"),
        };
        names.map(one).collect()
    }

    /// The names of all coordinates. `levels` are those of a multinomial response, the base first.
    pub(super) fn coordinates(self, columns: &[String], levels: &[String]) -> Vec<String> {
        let mut out = Vec::new();
        match self {
            Self::Multinomial { levels: count } => {
                for level in 1..count {
                    let level = levels.get(level).cloned().unwrap_or_else(|| (level + 1).to_string());
                    out.extend(columns.iter().map(|column| format!("{level}:{column}")));
                }
            }
            _ => out.extend_from_slice(columns),
        }
        out.extend(self.parameters().iter().map(|name| match *name {
            "sigma" => "log(sigma)".to_owned(),
            "nu" => "log(nu-1)".to_owned(),
            name => format!("logit({name})"),
        }));
        out
    }

    /// Moderate values of the coordinates of the parameters.
    pub(super) fn start(self) -> Vec<f64> {
        let names = self.parameters().iter();
        let one = |name: &&str| match (*name, self) {
            ("sigma", Self::Student { scale, .. }) => scale.ln(),
            // 10 degrees of freedom.
            ("nu", _) => 9f64.ln(),
            _ => -2.0,
        };
        names.map(one).collect()
    }

    /// The unit of linear predictors.
    pub(super) fn unit(self) -> f64 {
        match self {
            Self::Student { sd, scale, .. } => sd.unwrap_or(scale),
            _ => 1.0,
        }
    }

    pub(super) fn check(self) -> Result<()> {
        match self {
            Self::Student { sd, degrees, scale } => {
                Positive::new("noise standard deviation", sd.unwrap_or(scale))?;
                Positive::new("degrees of freedom", degrees.unwrap_or(1.0)).map(drop)
            }
            Self::Multinomial { levels } if levels < 2 => Err(Error::OutOfRange {
                what: "number of levels",
                value: levels as f64,
                needed: "at least 2",
            }),
            _ => Ok(()),
        }
    }

    /// Refuses responses that it cannot produce; returns the trials, if there are any.
    pub(super) fn check_response(self, response: &[f64], trials: Option<&[f64]>) -> Result<Vec<f64>> {
        let whole = |y: f64| y >= 0.0 && y.fract().abs() <= 0.0 && y.is_finite();
        let family = self.name();
        let needed = match self {
            Self::Student { .. } => "a finite number",
            Self::Multinomial { .. } => "the number of a level",
            Self::BetaBinomial => "a whole number of successes among the trials, at least 1",
            Self::ZeroInflatedPoisson => "a whole number of at least 0",
        };
        let trials = match (self, trials) {
            (Self::BetaBinomial, None) => return Err(Error::Empty { what: "trials" }),
            (Self::BetaBinomial, Some(trials)) => trials.to_vec(),
            _ => Vec::new(),
        };
        let is_right = |n: usize| match self {
            Self::Student { .. } => response[n].is_finite(),
            Self::Multinomial { levels } => {
                whole(response[n]) && response[n] >= 1.0 && response[n] <= levels as f64
            }
            Self::BetaBinomial => {
                whole(response[n]) && whole(trials[n]) && trials[n] >= 1.0 && response[n] <= trials[n]
            }
            Self::ZeroInflatedPoisson => whole(response[n]),
        };
        if let Some(row) = (0..response.len()).find(|n| !is_right(*n)) {
            return Err(Error::Response { family, row, value: response[row], needed });
        }
        // What a row of zeros is, a count of 0 or no count at all, cannot be told without any other.
        if self == Self::ZeroInflatedPoisson && response.iter().all(|y| *y <= 0.0) {
            let needed = "above 0 in any row, as one at least must be";
            return Err(Error::Response { family, row: 0, value: 0.0, needed });
        }
        Ok(trials)
    }

    /// log C(n, k) of counts of successes and −log y! of counts; zero for others.
    pub(super) fn constants(self, response: &[f64], trials: &[f64]) -> Vec<f64> {
        let one = |(n, y): (usize, &f64)| match self {
            Self::BetaBinomial => {
                ln_gamma(trials[n] + 1.0) - ln_gamma(y + 1.0) - ln_gamma(trials[n] - y + 1.0)
            }
            Self::ZeroInflatedPoisson => -ln_gamma(y + 1.0),
            _ => 0.0,
        };
        response.iter().enumerate().map(one).collect()
    }

    /// The likelihood at values of the parameters.
    pub(super) fn at(self, further: &[f64]) -> At {
        match self {
            Self::Student { sd, degrees, .. } => {
                let mut free = further.iter();
                // Beyond ±600 nothing changes: e^±600 is a number.
                let mut next = || free.next().copied().unwrap_or(f64::NAN).clamp(-FAR, FAR);
                let sd_free = sd.is_none();
                let sd = sd.unwrap_or_else(|| next().exp());
                At::Student(student::At::new(
                    sd,
                    degrees.unwrap_or_else(|| 1.0 + next().exp()),
                    [sd_free, degrees.is_none()],
                ))
            }
            Self::Multinomial { .. } => At::Multinomial,
            Self::BetaBinomial => At::BetaBinomial(beta_binomial::At::new(further[0])),
            Self::ZeroInflatedPoisson => At::ZeroInflatedPoisson(zero_inflated::At::new(further[0])),
        }
    }

    /// log π(θ) of the coordinates; adds its gradient.
    pub(super) fn log_prior(self, further: &[f64], gradient: &mut [f64]) -> f64 {
        let names = self.parameters().iter().zip(further).zip(gradient);
        let one = |((name, &x), slope): ((&&str, &f64), &mut f64)| match (*name, self) {
            ("sigma", Self::Student { scale, .. }) => student::sigma_prior(x, scale, slope),
            ("nu", _) => student::nu_prior(x, slope),
            _ => {
                // Uniform on (0, 1): the logistic density of the logit.
                *slope += 1.0 - 2.0 * sigmoid(x);
                x - 2.0 * softplus(x)
            }
        };
        names.map(one).sum()
    }
}

/// A likelihood at values of its parameters.
#[derive(Clone, Copy, Debug)]
pub(super) enum At {
    Student(student::At),
    Multinomial,
    BetaBinomial(beta_binomial::At),
    ZeroInflatedPoisson(zero_inflated::At),
}

impl At {
    /// log L without its constant. The predictors become its slopes in them; those in the parameters' coordinates are added to `further`.
    pub(super) fn row(&self, y: f64, trials: f64, etas: &mut [f64], further: &mut [f64]) -> f64 {
        self.weighted_row(y, trials, 1.0, etas, further)
    }

    /// The same; what is added to `further` is multiplied by the weight.
    pub(super) fn weighted_row(
        &self,
        y: f64,
        trials: f64,
        weight: f64,
        etas: &mut [f64],
        further: &mut [f64],
    ) -> f64 {
        match self {
            Self::Student(at) => at.row(y, weight, &mut etas[0], further),
            Self::Multinomial => super::multinomial::row(y, etas),
            Self::BetaBinomial(at) => at.row([y, trials], weight, &mut etas[0], &mut further[0]),
            Self::ZeroInflatedPoisson(at) => at.row(y, weight, &mut etas[0], &mut further[0]),
        }
    }
}
