//! The schema of fit.json. Keys may be added but never renamed; `tests/schema.rs` checks it. Types of the library
//! are stored through their mirrors in `record/mirror`.

mod text;

pub(crate) use super::digest::hexadecimal;
pub use super::digest::sha256;
pub use text::{to_json, write_json};

use provi::checks::Checks;
use provi::functional::{Functional, MomentBounds, PosteriorMoments};
use provi::plan::Norm;
use provi::sparse::{AnyGaussian, SparseGaussian};
use provi_table::{Dropped, Recipe, Variable};
use serde::{Deserialize, Serialize};

use super::mirror::{
    As, AsOption, CertificateKeys, ChecksKeys, FunctionalKeys, MomentBoundsKeys, NormKey, PosteriorKeys,
    ProvenanceKey, SubsampleKeys,
};
use super::mixture::MixtureRecord;
use super::prior_from::PriorFrom;
use super::scale::{Correlations, Scale};
use super::trust::{SearchRecord, TrustRecord};
use crate::number::grouped;
use crate::options::ModelOptions;

/// The schema's name.
pub const SCHEMA: &str = "provi-fit/1";

/// Above this many coefficients, a file with the factor replaces the covariance.
pub const LARGEST_COVARIANCE: usize = 1000;

/// Above this many coefficients, the bounds of contrasts' errors are not stored: they take d(d+1) numbers.
pub const LARGEST_METRIC: usize = 200;

/// The factor C, packed row by row, as little-endian doubles; that of a sparse precision as
/// [`SparseGaussian::to_bytes`](provi::sparse::SparseGaussian::to_bytes) writes it.
pub(crate) fn factor_bytes(q: &AnyGaussian) -> Vec<u8> {
    match q {
        AnyGaussian::Dense(q) => q.factor().iter().flat_map(|x| x.to_le_bytes()).collect(),
        AnyGaussian::Sparse(q) => SparseGaussian::to_bytes(&[q]),
    }
}

/// A fit as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FitFile {
    /// [`SCHEMA`].
    pub schema: String,
    /// The version of provi that wrote it.
    pub provi: String,
    /// The model and its data.
    pub model: ModelRecord,
    /// The names of the coefficients.
    pub names: Vec<String>,
    /// The mean m, on the user's scale.
    pub mean: Vec<f64>,
    /// The covariance CCᵀ, row by row; null above [`LARGEST_COVARIANCE`] coefficients.
    pub covariance: Option<Vec<Vec<f64>>>,
    /// The file beside this one that then holds C: lower triangular, packed row by row, little-endian doubles. It is there as well where
    /// rounding spoils the covariance, which is then not positive definite. `factor.sparse` holds the factor of a sparse precision instead.
    pub factor_file: Option<String>,
    /// The SHA-256 of that file.
    pub factor_sha256: Option<String>,
    /// −ELBO in nats, with every constant of prior and likelihood.
    pub neg_elbo: f64,
    /// A bound of its error if exact, a standard error otherwise.
    pub neg_elbo_error: f64,
    /// Whether it is computed by quadrature or a closed form, rather than from draws.
    pub neg_elbo_exact: bool,
    /// The name of the method.
    pub method: String,
    /// The family in which q was sought, such as `meanfield` or `blocks:3,4`. Absent for every Gaussian.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family_of_q: Option<String>,
    /// Coordinates of the steps.
    pub coordinates: String,
    /// Steps made.
    pub steps: u64,
    /// Whether fewer steps were made than planned.
    pub stopped_early: bool,
    /// Draws per step; 0 for exact steps.
    pub draws_per_step: usize,
    /// How the draws of a step depend on each other; absent for independent ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coupling: Option<String>,
    /// How many terms each draw used, if not all.
    #[serde(default, with = "AsOption::<SubsampleKeys>", skip_serializing_if = "Option::is_none")]
    pub subsample: Option<provi::subsample::Subsample>,
    /// Evaluations of the target's density with its gradient.
    pub gradient_evaluations: u64,
    /// The seed of the draws.
    pub seed: u64,
    /// Wall-clock seconds of the fit itself.
    pub seconds: f64,
    /// Wall-clock seconds of each phase. Absent in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phases: Option<Phases>,
    /// The bound promised before the first step.
    pub plan_bound: BoundRecord,
    /// The progress of the run.
    pub trace: Vec<TracePoint>,
    /// What is proved about the answer. Absent in files older than certificates.
    #[serde(default, with = "AsOption::<CertificateKeys>")]
    pub certificate: Option<provi::Certificate>,
    /// Estimates without proof.
    #[serde(default)]
    pub estimates: Option<EstimatesRecord>,
    /// How far to trust the answer of a black box; null for a model whose curvature is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<TrustRecord>,
    /// Bounds of the error of any linear functional; null above [`LARGEST_METRIC`] coefficients.
    #[serde(default, with = "AsOption::<MomentBoundsKeys>")]
    pub moment_bounds: Option<MomentBounds>,
    /// The posterior's own means and standard deviations, and its probabilities that a coefficient is positive, in the order of `names`, each with
    /// its proved error bound; null if they were not measured. `mean` and `covariance` are those of q.
    #[serde(default, with = "AsOption::<PosteriorKeys>", skip_serializing_if = "Option::is_none")]
    pub posterior: Option<PosteriorMoments>,
    /// The mixture of Gaussians whose mean and covariance are above, if scales are integrated over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mixture: Option<MixtureRecord>,
    /// Checks of the model against its data.
    #[serde(default, with = "AsOption::<ChecksKeys>")]
    pub checks: Option<Checks>,
    /// How much the means depend on the prior, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior_sensitivity: Option<super::robustness::Sensitivity>,
    /// A spread of the estimate under a model that may be wrong, if that was asked for. Not the posterior's, and not certified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub robust: Option<super::robustness::RobustRecord>,
    /// The contrasts that were asked for.
    #[serde(default)]
    pub contrasts: Vec<ContrastRecord>,
    /// For a Stan model: its own quantities, estimated from draws.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constrained: Option<super::library::ConstrainedRecord>,
}

/// Wall-clock seconds of each phase of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phases {
    /// The search for the scales, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scales: Option<f64>,
    /// From the start to the answer.
    pub fit: f64,
    /// The audit.
    pub audit: f64,
}

/// A linear combination of the coefficients, and what is known about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContrastRecord {
    /// The expression as written.
    pub expression: String,
    /// The weights v, in the order of the coefficients.
    pub weights: Vec<f64>,
    /// Its value, its errors and its sign.
    #[serde(flatten, with = "As::<FunctionalKeys>")]
    pub functional: Functional,
}

/// What a target is made from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Kind {
    /// A table and a formula, from which the model can be made again; also meant by old files without this key.
    #[default]
    #[serde(rename = "formula")]
    Formula,
    /// A design and a response given by a program.
    #[serde(rename = "matrix")]
    Matrix,
    /// A log density given by a program.
    #[serde(rename = "black box")]
    BlackBox,
    /// A Stan model from its library.
    #[serde(rename = "stan")]
    Stan,
    /// A log density from a library of another language.
    #[serde(rename = "library")]
    Library,
}

impl Kind {
    /// Whether it is a log density and nothing more, without family and design.
    pub fn is_density(self) -> bool {
        matches!(self, Self::BlackBox | Self::Stan | Self::Library)
    }

    /// Its name in fit.json.
    pub fn name(self) -> &'static str {
        match self {
            Self::Formula => "formula",
            Self::Matrix => "matrix",
            Self::BlackBox => "black box",
            Self::Stan => "stan",
            Self::Library => "library",
        }
    }
}

/// The model and its data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelRecord {
    /// What the target is made from. Without a formula, `formula` is empty; a black box has no `family` either.
    #[serde(default)]
    pub kind: Kind,
    /// The name that a program gave its model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The library's name of the family.
    pub family: String,
    /// Whether the family was chosen from the response rather than given.
    #[serde(default)]
    pub family_chosen: bool,
    /// The formula in canonical form, with `.` expanded.
    pub formula: String,
    /// For a response of text: the level that counts as 1.
    #[serde(default)]
    pub success: Option<String>,
    /// For an ordered response: its levels from the lowest to the highest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// The name of the data file as given.
    #[serde(default)]
    pub data: String,
    /// SHA-256 of the data file's bytes; for a table in memory, `columns:` and the SHA-256 of the contents; empty
    /// if unknown.
    pub data_sha256: String,
    /// The library from which the density comes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<super::library::LibraryRecord>,
    /// Number of rows used.
    pub rows: usize,
    /// Rows left out.
    #[serde(default)]
    pub dropped: Dropped,
    /// A digest of the rows used, if some rows of a table in memory were left out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rows_sha256: String,
    /// The column of weights; for matrices `sha256:` and the digest of the weights. Older files have it in
    /// `options`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<String>,
    /// The column added to the linear predictor besides the formula's own offsets; for matrices as for weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<String>,
    /// The column whose logarithm is added to the linear predictor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposure: Option<String>,
    /// Warnings about the data, as sentences.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// How the search on a bare log density went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchRecord>,
    /// Number of population coefficients; those of the groups follow.
    #[serde(default)]
    pub population: usize,
    /// The population's prior as text.
    #[serde(default)]
    pub prior: Vec<String>,
    /// The mean of each coefficient's prior.
    #[serde(default)]
    pub prior_mean: Vec<f64>,
    /// The standard deviation of each coefficient's prior; that of an effect whose scale is integrated over is at the scale of the largest
    /// ELBO.
    #[serde(default)]
    pub prior_sd: Vec<f64>,
    /// The prior of the intercept, if it is stated at the means of the columns. `prior_mean` and `prior_sd` hold
    /// the intercept's own values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior_at_means: Option<PriorAtMeans>,
    /// The population's prior covariance, if it came from a file or a fit.
    #[serde(default)]
    pub prior_covariance: Option<Vec<Vec<f64>>>,
    /// The fit from which the population's prior comes, if it comes from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior_from: Option<PriorFrom>,
    /// The noise σ of a family that has one.
    pub noise_sd: Option<f64>,
    /// For times to an event: the time at which the exponential of the linear predictor is the cumulative hazard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_unit: Option<f64>,
    /// The scales on which the posterior is conditional.
    #[serde(default)]
    pub scales: Vec<Scale>,
    /// Effects that are correlated, if their correlations are integrated over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub correlations: Vec<Correlations>,
    /// Options that make this model again, with every scale at its value.
    #[serde(default)]
    pub options: ModelOptions,
    /// How the design is made from a table.
    #[serde(default)]
    pub recipe: Option<Recipe>,
    /// The columns that the design is made of: ranges, means and levels in the rows used. Absent in older files, and if the rows were
    /// read block by block.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<Variable>,
}

impl ModelRecord {
    /// The name of the response: that of its column, or what stands on the left of `~`.
    pub fn response(&self) -> String {
        let left = || self.formula.split('~').next().unwrap_or_default().trim().to_owned();
        provi_table::Formula::parse(&self.formula).map_or_else(|_| left(), |formula| formula.response_name())
    }
}

/// Σ_j at_j β_j ~ N(mean, sd²), independent of the coefficients other than the intercept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PriorAtMeans {
    /// Index of the intercept, from 0.
    pub intercept: usize,
    /// The mean of Σ_j at_j β_j.
    pub mean: f64,
    /// The standard deviation of Σ_j at_j β_j.
    pub sd: f64,
    /// The means of the columns of the population, 1 at the intercept.
    pub at: Vec<f64>,
}

impl PriorAtMeans {
    /// For a prior over this many population coefficients, if it is stated at the means.
    pub fn of(prior: &provi::target::Prior, population: usize) -> Option<Self> {
        let found = prior.as_centered()?;
        let intercept = found.intercept?;
        let &(mean, sd) = found.laws.get(intercept)?;
        Some(Self { intercept, mean, sd, at: found.at.get(..population)?.to_vec() })
    }
}

/// Estimates, not bounds; null if infinite or not available.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EstimatesRecord {
    /// KL(q‖p), in nats.
    pub kl: Option<f64>,
    /// Standard error of the KL.
    pub kl_standard_error: Option<f64>,
    /// log p(x), in nats.
    pub log_evidence: Option<f64>,
    /// Standard error of the log evidence.
    pub standard_error: Option<f64>,
    /// The ELBO −f(q), in nats.
    pub elbo: Option<f64>,
    /// Standard error of the ELBO.
    pub elbo_standard_error: Option<f64>,
    /// k̂ of the importance weights.
    pub pareto_k: Option<f64>,
    /// How far k̂ says the estimates can be trusted, in words.
    pub reliability: Option<String>,
    /// Number of draws.
    pub draws: usize,
    /// Why there are no estimates.
    pub reason: Option<String>,
}

/// The bound known before the first draw, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoundRecord {
    /// The bound.
    pub value: Option<f64>,
    /// Ledger key of the statement.
    pub key: Option<String>,
    /// The quantity that is bounded.
    #[serde(default, with = "AsOption::<NormKey>")]
    pub norm: Option<Norm>,
    /// The constants of the bound.
    pub constants: Option<ConstantsRecord>,
    /// The origin of the weakest constant.
    #[serde(default, with = "AsOption::<ProvenanceKey>")]
    pub provenance: Option<provi::Provenance>,
    /// Why there is no bound.
    pub reason: Option<String>,
    /// Steps made before the run was resumed from a checkpoint; only the checkpoint says that they were made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_up: Option<u64>,
}

/// The constants of the bound, in the coordinates of the steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConstantsRecord {
    /// The dimension d.
    pub dim: usize,
    /// The convexity μ.
    pub convexity: f64,
    /// The smoothness M.
    pub smoothness: f64,
    /// The residual smoothness K.
    pub residual_smoothness: Option<f64>,
    /// The noise growth a.
    pub noise_growth: f64,
    /// The noise floor b.
    pub noise_floor: f64,
    /// The squared distance e_0 of the start.
    pub start: f64,
}

/// The progress of the run at one step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TracePoint {
    /// Steps made.
    pub step: u64,
    /// Size γ of the last step.
    pub gamma: f64,
    /// A noisy estimate of −ELBO; null if it was not finite.
    pub neg_elbo: Option<f64>,
    /// Proved upper bound of the gap to the best Gaussian.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<f64>,
}

impl ModelRecord {
    /// The formula, or the model's name if there is no formula.
    pub fn title(&self) -> &str {
        match (self.kind, &self.title) {
            (Kind::Formula, _) => &self.formula,
            (_, Some(title)) => title,
            (Kind::Matrix, None) => "a model of matrices",
            (Kind::Stan, None) => "a Stan model",
            (Kind::BlackBox | Kind::Library, None) => "a log density",
        }
    }
}

impl ModelRecord {
    /// The number of coefficients of the curves of smooths: they come last.
    pub fn curve_coefficients(&self) -> usize {
        let groups = self.recipe.iter().flat_map(|recipe| &recipe.groups);
        groups.filter(|group| group.is_smooth()).map(|group| group.block.columns.len()).sum()
    }

    /// How many of the last `count` coefficients are effects of groups and how many are those of curves, in words: `12 of groups, 8 of
    /// curves`.
    pub fn beside_the_population(&self, count: usize) -> String {
        let curves = self.curve_coefficients().min(count);
        let part = |count: usize, of: &str| (count > 0).then(|| format!("{} of {of}", grouped(count as u64)));
        let parts = [part(count - curves, "groups"), part(curves, "curves")];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// The column of weights, or the digest of weights given by a program.
    pub fn weights(&self) -> Option<&str> {
        self.weights.as_deref().or(self.options.weights.as_deref())
    }

    /// The column added to the linear predictor besides the formula, or the digest of an offset given by a program.
    pub fn offset(&self) -> Option<&str> {
        self.offset.as_deref().or(self.options.offset.as_deref())
    }

    /// The column whose logarithm is added.
    pub fn exposure(&self) -> Option<&str> {
        self.exposure.as_deref().or(self.options.exposure.as_deref())
    }
}

impl FitFile {
    /// The file's text: one key per line, each list on one line.
    pub fn to_json(&self) -> String {
        to_json(self)
    }
}
