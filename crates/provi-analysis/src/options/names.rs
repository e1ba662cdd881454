//! The names that users type for families and for the treatment of missing values.

use std::str::FromStr;

use provi::target::{Family, Gaps};
use serde::{Deserialize, Serialize};

/// How q is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase", try_from = "String")]
pub enum FactorName {
    /// By the factor of its covariance, d(d + 1)/2 numbers: for all that can be proved
    Dense,
    /// By the sparse factor of its precision: for thousands of group effects
    Sparse,
}

impl FromStr for FactorName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "dense" => Ok(Self::Dense),
            "sparse" => Ok(Self::Sparse),
            _ => Err(format!("`{text}` is not a kind of factor; use dense or sparse")),
        }
    }
}

impl TryFrom<String> for FactorName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// The families by the names users type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", try_from = "String")]
pub enum FamilyName {
    /// Numbers with normal noise.
    Gaussian,
    /// A binary response, logit link.
    Bernoulli,
    /// A binary response, probit link.
    Probit,
    /// A binary response, or successes among trials, complementary log-log link.
    Cloglog,
    /// Successes among trials, logit link.
    Binomial,
    /// Counts, log link.
    Poisson,
    /// Positive numbers whose noise is relative to their mean, log link.
    Gamma,
    /// The same with a noise of 1; with `surv(time, event)`, times to an event of a hazard that does not change with time.
    Exponential,
    /// Times to an event, log hazard.
    Weibull,
    /// Counts whose rates vary, log link.
    Negbinomial,
    /// Categories in an order, logit link with proportional odds.
    Ordered,
    /// Numbers whose noise has heavy tails: Student's distribution.
    Student,
    /// Levels without an order, logits of each against the first.
    Multinomial,
    /// Successes among trials whose probability varies between rows, logit link.
    Betabinomial,
    /// Counts with more zeros than Poisson counts have, log link.
    Zipoisson,
}

impl FamilyName {
    /// All families, in the order of help texts.
    pub const ALL: [Self; 15] = [
        Self::Gaussian,
        Self::Bernoulli,
        Self::Probit,
        Self::Cloglog,
        Self::Binomial,
        Self::Poisson,
        Self::Negbinomial,
        Self::Gamma,
        Self::Exponential,
        Self::Weibull,
        Self::Ordered,
        Self::Multinomial,
        Self::Student,
        Self::Betabinomial,
        Self::Zipoisson,
    ];

    /// The library's family; `noise_sd` is used by families with a noise only. Ordered categories have no gaps yet, as if there were two. None if
    /// the likelihood is not one log-concave function of one linear predictor: see [`FamilyName::is_regression`].
    pub fn family(self, noise_sd: f64) -> Option<Family> {
        Some(match self {
            Self::Gaussian => Family::Gaussian { noise_sd },
            Self::Bernoulli => Family::Bernoulli,
            Self::Probit => Family::Probit,
            Self::Cloglog => Family::Cloglog,
            Self::Binomial => Family::Binomial,
            Self::Poisson => Family::Poisson,
            Self::Gamma => Family::Gamma { noise_sd },
            Self::Exponential => Family::Exponential,
            Self::Weibull => Family::Weibull { noise_sd, unit: 1.0, coarse: false },
            Self::Negbinomial => Family::NegativeBinomial { noise_sd },
            Self::Ordered => Family::Ordered { gaps: Gaps::default() },
            Self::Multinomial | Self::Student | Self::Betabinomial | Self::Zipoisson => return None,
        })
    }

    /// Whether the likelihood is not one log-concave function of one linear predictor: a [`provi::target::Regression`].
    pub fn is_regression(self) -> bool {
        self.family(1.0).is_none()
    }

    /// The library's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Multinomial => "multinomial",
            Self::Student => "student",
            Self::Betabinomial => "betabinomial",
            Self::Zipoisson => "zipoisson",
            _ => self.family(1.0).map_or("", Family::name),
        }
    }

    /// What other packages call it.
    fn other_names(self) -> &'static [&'static str] {
        match self {
            Self::Gaussian => &["normal"],
            Self::Bernoulli => &["logistic"],
            Self::Negbinomial => &["negative-binomial", "negative_binomial"],
            Self::Ordered => &["ordinal", "cumulative"],
            Self::Multinomial => &["categorical"],
            Self::Betabinomial => &["beta-binomial", "beta_binomial"],
            Self::Zipoisson => &["zero-inflated-poisson", "zero_inflated_poisson"],
            _ => &[],
        }
    }
}

/// What users may type for a log link of probabilities.
const LOG_BINOMIAL: [&str; 3] = ["log-binomial", "logbinomial", "log_binomial"];
/// Why there is none.
const NO_LOG_LINK: &str = "with a log link of probabilities the posterior is cut off where a probability would exceed 1, and every Gaussian is \
                           infinitely far from it; fit bernoulli or binomial, and compare predicted probabilities for ratios of risks";

impl FromStr for FamilyName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = Self::ALL;
        if LOG_BINOMIAL.contains(&text) {
            return Err(format!("`{text}` is not a family: {NO_LOG_LINK}"));
        }
        let found =
            all.into_iter().find(|family| family.name() == text || family.other_names().contains(&text));
        found.ok_or_else(|| {
            format!("`{text}` is not a family; the families are {}", all.map(Self::name).join(", "))
        })
    }
}

#[cfg(feature = "clap")]
impl clap::ValueEnum for FamilyName {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.name()).aliases(self.other_names()))
    }
}

impl TryFrom<String> for FamilyName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// What to do with rows that have missing values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase", try_from = "String")]
pub enum MissingName {
    /// Leave them out, and count them
    Drop,
    /// Refuse the data
    Error,
}

impl FromStr for MissingName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "drop" => Ok(Self::Drop),
            "error" => Ok(Self::Error),
            _ => Err(format!("`{text}` is not a way to treat rows with missing values; use drop or error")),
        }
    }
}

impl TryFrom<String> for MissingName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// What happens to scales that are not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase", try_from = "String")]
pub enum ScalesName {
    /// Maximise the ELBO over them; they then count as known
    Maximise,
    /// Integrate over them, with their priors
    Integrate,
}

impl FromStr for ScalesName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "maximise" => Ok(Self::Maximise),
            "integrate" => Ok(Self::Integrate),
            _ => Err(format!(
                "`{text}` is not a way to treat scales that are not given; use maximise or integrate"
            )),
        }
    }
}

impl TryFrom<String> for ScalesName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_the_family_that_has_it() {
        for family in FamilyName::ALL {
            assert_eq!(family.name().parse(), Ok(family));
            for name in family.other_names() {
                assert_eq!(name.parse(), Ok(family));
            }
        }
        let cut = "log-binomial".parse::<FamilyName>().unwrap_err();
        assert!(cut.contains("every Gaussian is infinitely far from it; fit bernoulli or binomial"), "{cut}");
        let refusal = "laplace".parse::<FamilyName>().unwrap_err();
        assert_eq!(
            refusal,
            "`laplace` is not a family; the families are gaussian, bernoulli, probit, cloglog, binomial, poisson, negbinomial, gamma, exponential, weibull, ordered, multinomial, student, betabinomial, zipoisson"
        );
    }
}
