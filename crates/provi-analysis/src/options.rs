//! The options of a model and a run, for every shell and for run files alike.
//!
//! Each key of a run file is also an option of the command, so they are listed once: here.

mod amount;
mod as_text;
mod compiled;
mod device;
mod files;
mod keys;
mod layer;
mod names;
mod pair;
mod prior;
mod run;
mod spelling;

pub use amount::{BadAmount, RowMemory, Seconds, Size};
pub use compiled::{CompiledOptions, LibraryOptions};
pub use device::DeviceName;
pub use files::FileOptions;
pub use keys::keys_of;
pub use layer::Layer;
pub use names::{FactorName, FamilyName, MissingName, ScalesName};
pub use pair::{LevelSpec, ScaleSpec};
pub(crate) use prior::SIGMA;
pub use prior::{DefaultPrior, NormalPrior, PriorLaw, PriorSpec, scale_law_text};
pub use run::{AuditOptions, RunOptions, SearchOptions, StepOptions};
pub use spelling::in_keywords;

use layer::options;

use std::path::PathBuf;

/// The prior's standard deviation in files older than [`DefaultPrior`] that give none.
pub const PRIOR_SCALE: f64 = provi::target::Prior::SCALE;

options! {
/// The likelihood family, the priors, and how columns are used.
pub struct ModelOptions {
    /// How the response depends on the predictors [default: bernoulli for a binary response, binomial for counts
    /// of successes, weibull for times to an event, ordered for ordered(..), multinomial for multinomial(..)]
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Model"))]
    pub family: Option<FamilyName>,
    /// Standard deviation of the noise, for the gaussian family, and its scale for the student family; relative to the mean for the gamma family, whose shape is 1/SD²; of the
    /// rates of negbinomial counts, relative to their mean; the scale of the log time for the weibull family, whose shape is 1/SD
    /// [default: unknown, see --scales]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "SD", allow_negative_numbers = true, help_heading = "Model")
    )]
    pub noise_sd: Option<f64>,
    /// The gaps between the cut points of an ordered response, one for each level but the first and the last [default: unknown, see --scales]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "WIDTHS", value_delimiter = ',', allow_negative_numbers = true, help_heading = "Model")
    )]
    pub gaps: Vec<f64>,
    /// Degrees of freedom of the noise of the student family [default: unknown, with the prior gamma(2, 0.1) above 1]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "DF", allow_negative_numbers = true, help_heading = "Model")
    )]
    pub nu: Option<f64>,
    /// Prior of the coefficients, 'normal(0, 2.5)', or of some, 'dose=normal(1, 0.5)', 'age*=normal(0, 1)'; repeatable
    /// [default: scaled by the data, see `provi explain priors`]
    #[cfg_attr(feature = "clap", arg(long, value_name = "SPEC", help_heading = "Model"))]
    pub prior: Vec<PriorSpec>,
    /// Short for the prior `normal(0, SD)` of every coefficient
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            value_name = "SD",
            allow_negative_numbers = true,
            help_heading = "Model",
            help = "Short for --prior 'normal(0, SD)', on the scale of the data as they are, intercept included"
        )
    )]
    pub prior_scale: Option<f64>,
    /// Prior mean and covariance of the population coefficients: CSV with the header `name,mean,<name1>,<name2>,…` and a
    /// row each; without the column `mean` the means are 0
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE", conflicts_with_all = ["prior", "prior_scale", "standardize"], help_heading = "Model"))]
    pub prior_covariance: Option<PathBuf>,
    /// Take the Gaussian of an earlier fit, fit.json or its folder, as the prior of the coefficients that both models have; columns that the
    /// fit does not have keep their own priors
    #[cfg_attr(feature = "clap", arg(long, value_name = "FIT", conflicts_with_all = ["prior_covariance", "prior_scale", "standardize"], help_heading = "Model"))]
    pub prior_from: Option<PathBuf>,
    /// The unit of times to an event, if it is not their mean; set only in files.
    #[cfg_attr(feature = "clap", arg(skip))]
    pub time_unit: Option<f64>,
    /// Which default prior applies; set only in files.
    #[cfg_attr(feature = "clap", arg(skip))]
    pub default_prior: Option<DefaultPrior>,
    /// Standard deviation between groups, '0.5', 'clinic=0.5' or 'clinic:age=0.1'; repeatable; the effects of a group are then independent
    /// [default: unknown, see --scales]
    #[cfg_attr(feature = "clap", arg(long, value_name = "SPEC", help_heading = "Model"))]
    pub group_scale: Vec<ScaleSpec>,
    /// Scales that are not given: integrate over them with their priors, as in --prior 'sd(clinic)=exponential(1)', 'sigma=half_t(3, 10)',
    /// 'cor(clinic)=lkj(2)', or take those that maximise the ELBO as if they were known [default: integrate]
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Model"))]
    pub scales: Option<ScalesName>,
    /// How q is held: by the dense factor of its covariance, or by the sparse factor of its precision, for thousands of group effects
    /// [default: sparse above 2000 coefficients, if it has few entries]
    #[cfg_attr(feature = "clap", arg(long, value_name = "KIND", help_heading = "Model"))]
    pub factor: Option<FactorName>,
    /// Apply the given priors to standardized predictors (mean 0, sd 1); coefficients stay on the scale of the data
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Model"))]
    pub standardize: bool,
    /// Column of weights: a row's log likelihood is multiplied by its weight
    #[cfg_attr(feature = "clap", arg(long, value_name = "COLUMN", help_heading = "Data"))]
    pub weights: Option<String>,
    /// Column added to the linear predictor
    #[cfg_attr(feature = "clap", arg(long, value_name = "COLUMN", help_heading = "Data"))]
    pub offset: Option<String>,
    /// Column whose logarithm is added to the linear predictor, such as time at risk
    #[cfg_attr(feature = "clap", arg(long, value_name = "COLUMN", help_heading = "Data"))]
    pub exposure: Option<String>,
    /// Reference level of a category, 'town=Bern'; repeatable [default: the first in order]
    #[cfg_attr(feature = "clap", arg(long, value_name = "COLUMN=LEVEL", help_heading = "Data"))]
    pub reference: Vec<LevelSpec>,
    /// What to do with rows that have a missing value in a column of the model [default: drop]
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Data"))]
    pub missing: Option<MissingName>,
    /// Cell texts that mean a missing value, 'none,-9', in addition to an empty cell, NA, NaN, null, n/a, . and ?
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            value_name = "WORDS",
            value_delimiter = ',',
            allow_hyphen_values = true,
            help_heading = "Data"
        )
    )]
    pub na: Vec<String>,
}
below ModelOptions::left_below
}

impl ModelOptions {
    /// A covariance, or an earlier fit, is the whole prior, so nothing of the lower layer's prior remains.
    fn left_below(&self, below: Self) -> Self {
        match self.prior_covariance.is_some() || self.prior_from.is_some() {
            true => {
                let prior = below.prior.iter().filter(|spec| spec.scale().is_some()).cloned().collect();
                let none = Self { prior_covariance: None, prior_from: None, ..below };
                Self { prior, prior_scale: None, standardize: false, ..none }
            }
            false => below,
        }
    }

    /// Whether no option sets the prior of every coefficient. The default then applies to coefficients without an
    /// option.
    pub fn leaves_prior_open(&self) -> bool {
        let all = self.prior.iter().any(|spec| spec.pattern.is_none() && spec.normal().is_some());
        self.prior_scale.is_none() && self.prior_covariance.is_none() && !all
    }

    /// The options of a file that provi wrote, with the prior of that time: a file that does not name its default
    /// prior is older than [`DefaultPrior`] and means normal(0, 2.5), and a covariance next to other priors
    /// overrode them.
    pub fn as_recorded(mut self) -> Self {
        if self.leaves_prior_open() && self.default_prior.is_none() {
            self.prior_scale = Some(PRIOR_SCALE);
        }
        if self.prior_covariance.is_some() {
            self.prior.retain(|spec| spec.scale().is_some());
        }
        self
    }

    /// Names the default prior, if it applies.
    pub fn with_default_named(mut self) -> Self {
        self.default_prior = self.leaves_prior_open().then_some(DefaultPrior::Data);
        self
    }

    /// The first option that differs in `other`, by its key in a run file, with both values.
    pub fn difference(&self, other: &Self) -> Option<(String, String, String)> {
        let table = |options: &Self| toml::Table::try_from(options).unwrap_or_default();
        let (a, b) = (table(self), table(other));
        let shown = |value: Option<&toml::Value>| value.map_or("none".to_owned(), ToString::to_string);
        let keys = a.keys().chain(b.keys());
        keys.map(|key| (key, a.get(key), b.get(key)))
            .find(|(_, a, b)| a != b)
            .map(|(key, a, b)| (key.clone(), shown(a), shown(b)))
    }
}
