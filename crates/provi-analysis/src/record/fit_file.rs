//! The schema of fit.json. Keys are added, never renamed; `tests/schema.rs` sees to it. What the library says is kept through its
//! mirror in `record/mirror`.

mod text;

pub use text::{to_json, write_json};

use provi::Gaussian;
use provi::checks::Checks;
use provi::functional::{Functional, MomentBounds};
use provi::plan::Norm;
use provi_table::{Dropped, Recipe};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::mirror::{
    As, AsOption, CertificateKeys, ChecksKeys, FunctionalKeys, MomentBoundsKeys, NormKey, ProvenanceKey,
    SubsampleKeys,
};
use super::scale::Scale;
use crate::options::ModelOptions;

/// The schema's name.
pub const SCHEMA: &str = "provi-fit/1";

/// Above this many coefficients the covariance gives way to a file with its factor.
pub const LARGEST_COVARIANCE: usize = 1000;

/// Above this many, what bounds a contrast's error is not kept: d(d+1) numbers.
pub const LARGEST_METRIC: usize = 200;

/// C, packed row by row, as little-endian doubles.
pub(crate) fn factor_bytes(q: &Gaussian) -> Vec<u8> {
    q.factor().iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// A fit as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FitFile {
    /// [`SCHEMA`].
    pub schema: String,
    /// The version of provi that wrote it.
    pub provi: String,
    /// What was fitted to what.
    pub model: ModelRecord,
    /// The coefficients.
    pub names: Vec<String>,
    /// m, on the user's scale.
    pub mean: Vec<f64>,
    /// CCᵀ, row by row; null above [`LARGEST_COVARIANCE`] coefficients.
    pub covariance: Option<Vec<Vec<f64>>>,
    /// Then: a file beside this one with C, lower triangular, packed row by row, little-endian doubles.
    pub factor_file: Option<String>,
    /// And the SHA-256 of that file.
    pub factor_sha256: Option<String>,
    /// −ELBO in nats, with every constant of prior and likelihood.
    pub neg_elbo: f64,
    /// A bound of its error if exact, a standard error if not.
    pub neg_elbo_error: f64,
    /// By quadrature or closed form, rather than from draws.
    pub neg_elbo_exact: bool,
    /// The way to the answer.
    pub method: String,
    /// Those of the steps.
    pub coordinates: String,
    /// Steps made.
    pub steps: u64,
    /// Fewer than planned?
    pub stopped_early: bool,
    /// None for exact steps.
    pub draws_per_step: usize,
    /// The terms that a draw looked at, if not all.
    #[serde(default, with = "AsOption::<SubsampleKeys>", skip_serializing_if = "Option::is_none")]
    pub subsample: Option<provi::subsample::Subsample>,
    /// Of the target.
    pub gradient_evaluations: u64,
    /// What makes the draws repeatable.
    pub seed: u64,
    /// Wall-clock seconds of the fit itself.
    pub seconds: f64,
    /// The same phase by phase. Absent in files older than it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phases: Option<Phases>,
    /// What was promised before the first step.
    pub plan_bound: BoundRecord,
    /// How it went.
    pub trace: Vec<TracePoint>,
    /// What is proved about the answer; none in files of before there were any.
    #[serde(default, with = "AsOption::<CertificateKeys>")]
    pub certificate: Option<provi::Certificate>,
    /// What is not proved, but measured.
    #[serde(default)]
    pub estimates: Option<EstimatesRecord>,
    /// What bounds the error of any linear functional; null above [`LARGEST_METRIC`] coefficients.
    #[serde(default, with = "AsOption::<MomentBoundsKeys>")]
    pub moment_bounds: Option<MomentBounds>,
    /// The model held against its data.
    #[serde(default, with = "AsOption::<ChecksKeys>")]
    pub checks: Option<Checks>,
    /// The contrasts that were asked for.
    #[serde(default)]
    pub contrasts: Vec<ContrastRecord>,
    /// Of a Stan model: its own quantities, by draws.
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
    /// What measured the answer.
    pub audit: f64,
}

/// A linear combination of the coefficients, and what is known about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContrastRecord {
    /// As it was written.
    pub expression: String,
    /// v, in the order of the coefficients.
    pub weights: Vec<f64>,
    /// Its value, its errors and its sign.
    #[serde(flatten, with = "As::<FunctionalKeys>")]
    pub functional: Functional,
}

/// Where a target comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Kind {
    /// A table and a formula, from which it can be made again; files of before there were others say nothing.
    #[default]
    #[serde(rename = "formula")]
    Formula,
    /// A design and a response that a program has.
    #[serde(rename = "matrix")]
    Matrix,
    /// A log density that a program has.
    #[serde(rename = "black box")]
    BlackBox,
    /// A Stan model out of its library.
    #[serde(rename = "stan")]
    Stan,
    /// A log density out of a library of another language.
    #[serde(rename = "library")]
    Library,
}

impl Kind {
    /// A log density and nothing more: no family, no design.
    pub fn is_density(self) -> bool {
        matches!(self, Self::BlackBox | Self::Stan | Self::Library)
    }

    /// Its word in fit.json.
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

/// What was fitted to what.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelRecord {
    /// Where the target comes from. Without a formula, `formula` is empty; a black box has no `family` either.
    #[serde(default)]
    pub kind: Kind,
    /// What a program calls its model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The library's name of it.
    pub family: String,
    /// Was it read off the response?
    #[serde(default)]
    pub family_chosen: bool,
    /// Canonical, with `.` written out.
    pub formula: String,
    /// Of a response of text: the level that counts as 1.
    #[serde(default)]
    pub success: Option<String>,
    /// The file's name as it was given.
    #[serde(default)]
    pub data: String,
    /// SHA-256 of the data file's bytes; `columns:` and that of the contents for a table in memory; empty where nobody
    /// said.
    pub data_sha256: String,
    /// The library that the density comes out of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<super::library::LibraryRecord>,
    /// Rows in use.
    pub rows: usize,
    /// Rows left out.
    #[serde(default)]
    pub dropped: Dropped,
    /// A digest of which rows are in use, where some were left out of a table in memory.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rows_sha256: String,
    /// The column of weights; of matrices `sha256:` and that of the weights. Files older than this key say it in `options`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<String>,
    /// The column added to the linear predictor, beside the formula's own offsets; of matrices as for weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<String>,
    /// The column whose logarithm is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposure: Option<String>,
    /// What would trouble a fit, in words.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Population coefficients; those of the groups follow.
    #[serde(default)]
    pub population: usize,
    /// The population's prior in words.
    #[serde(default)]
    pub prior: Vec<String>,
    /// The mean of each coefficient's prior.
    #[serde(default)]
    pub prior_mean: Vec<f64>,
    /// The sd of each.
    #[serde(default)]
    pub prior_sd: Vec<f64>,
    /// The prior of the intercept where it is stated at the means of the columns; its own mean and sd are among those of
    /// all coefficients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior_at_means: Option<PriorAtMeans>,
    /// The population's prior covariance, if it came from a file.
    #[serde(default)]
    pub prior_covariance: Option<Vec<Vec<f64>>>,
    /// σ of the gaussian family.
    pub noise_sd: Option<f64>,
    /// What the posterior is conditional on.
    #[serde(default)]
    pub scales: Vec<Scale>,
    /// Options that make this model again, every scale at its value.
    #[serde(default)]
    pub options: ModelOptions,
    /// How the design is made of a table.
    #[serde(default)]
    pub recipe: Option<Recipe>,
}

/// Σ_j at_j β_j ~ N(mean, sd²), independent of the coefficients other than the intercept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PriorAtMeans {
    /// Which coefficient is the intercept, from 0.
    pub intercept: usize,
    /// Its mean.
    pub mean: f64,
    /// Its standard deviation.
    pub sd: f64,
    /// The means of the columns of the population, 1 at the intercept.
    pub at: Vec<f64>,
}

impl PriorAtMeans {
    /// Of a prior over a population of so many coefficients, if it is stated so.
    pub fn of(prior: &provi::target::Prior, population: usize) -> Option<Self> {
        let found = prior.as_centered()?;
        let intercept = found.intercept?;
        let &(mean, sd) = found.laws.get(intercept)?;
        Some(Self { intercept, mean, sd, at: found.at.get(..population)?.to_vec() })
    }
}

/// Estimates, not bounds; null where infinite, or where there are none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EstimatesRecord {
    /// KL(q‖p), nats.
    pub kl: Option<f64>,
    /// Of the KL.
    pub kl_standard_error: Option<f64>,
    /// log p(x).
    pub log_evidence: Option<f64>,
    /// Of the log evidence.
    pub standard_error: Option<f64>,
    /// −f(q).
    pub elbo: Option<f64>,
    /// Of the ELBO.
    pub elbo_standard_error: Option<f64>,
    /// k̂ of the importance weights.
    pub pareto_k: Option<f64>,
    /// What k̂ says about the others, in words.
    pub reliability: Option<String>,
    /// Behind all of them.
    pub draws: usize,
    /// Why there are none.
    pub reason: Option<String>,
}

/// The bound known before the first draw, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoundRecord {
    /// The bound.
    pub value: Option<f64>,
    /// Ledger key of the statement.
    pub key: Option<String>,
    /// What is bounded.
    #[serde(default, with = "AsOption::<NormKey>")]
    pub norm: Option<Norm>,
    /// What it is made of.
    pub constants: Option<ConstantsRecord>,
    /// Where the weakest constant came from.
    #[serde(default, with = "AsOption::<ProvenanceKey>")]
    pub provenance: Option<provi::Provenance>,
    /// Why there is none.
    pub reason: Option<String>,
    /// Steps made before the run was taken up from a checkpoint, on whose word they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_up: Option<u64>,
}

/// The constants of the bound, in the coordinates of the steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConstantsRecord {
    /// d.
    pub dim: usize,
    /// μ.
    pub convexity: f64,
    /// M.
    pub smoothness: f64,
    /// K.
    pub residual_smoothness: Option<f64>,
    /// a.
    pub noise_growth: f64,
    /// b.
    pub noise_floor: f64,
    /// e_0.
    pub start: f64,
}

/// Where the run stood.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TracePoint {
    /// Steps made.
    pub step: u64,
    /// The size of the last one.
    pub gamma: f64,
    /// A noisy estimate; null where it was not finite.
    pub neg_elbo: Option<f64>,
    /// What the gap to the best Gaussian was proved to be at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<f64>,
}

impl ModelRecord {
    /// The formula, or what the model is called without one.
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
    /// The column of weights, or the digest of weights that a program gave.
    pub fn weights(&self) -> Option<&str> {
        self.weights.as_deref().or(self.options.weights.as_deref())
    }

    /// The column added to the linear predictor beside the formula, or the digest of a program's.
    pub fn offset(&self) -> Option<&str> {
        self.offset.as_deref().or(self.options.offset.as_deref())
    }

    /// The column whose logarithm is added.
    pub fn exposure(&self) -> Option<&str> {
        self.exposure.as_deref().or(self.options.exposure.as_deref())
    }
}

impl FitFile {
    /// The file's text: a key a line, lists on one line.
    pub fn to_json(&self) -> String {
        to_json(self)
    }
}

/// The SHA-256 of some bytes, in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
