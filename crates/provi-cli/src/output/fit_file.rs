//! The schema of fit.json. Keys are added, never renamed.

use std::io::{self, Write};

use provi::functional::{Functional, MomentBounds};
use provi::plan::Norm;
use serde::{Deserialize, Serialize};
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};

/// The schema's name.
pub(crate) const SCHEMA: &str = "provi-fit/1";

/// Above this many coefficients the covariance gives way to a file with its factor.
pub(crate) const LARGEST_COVARIANCE: usize = 1000;

/// Above this many, what bounds a contrast's error is not kept: d(d+1) numbers.
pub(crate) const LARGEST_METRIC: usize = 200;

/// A fit as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FitFile {
    /// [`SCHEMA`].
    pub(crate) schema: String,
    /// The version of provi that wrote it.
    pub(crate) provi: String,
    pub(crate) model: ModelRecord,
    /// The coefficients.
    pub(crate) names: Vec<String>,
    /// m, on the user's scale.
    pub(crate) mean: Vec<f64>,
    /// CCᵀ, row by row; null above [`LARGEST_COVARIANCE`] coefficients.
    pub(crate) covariance: Option<Vec<Vec<f64>>>,
    /// Then: a file beside this one with C, lower triangular, packed row by row, little-endian doubles.
    pub(crate) factor_file: Option<String>,
    /// And the SHA-256 of that file.
    pub(crate) factor_sha256: Option<String>,
    /// −ELBO in nats, with every constant of prior and likelihood.
    pub(crate) neg_elbo: f64,
    /// A bound of its error if exact, a standard error if not.
    pub(crate) neg_elbo_error: f64,
    /// By quadrature or closed form, rather than from draws.
    pub(crate) neg_elbo_exact: bool,
    pub(crate) method: String,
    pub(crate) coordinates: String,
    /// Steps made.
    pub(crate) steps: u64,
    /// Fewer than planned?
    pub(crate) stopped_early: bool,
    pub(crate) draws_per_step: usize,
    pub(crate) gradient_evaluations: u64,
    pub(crate) seed: u64,
    pub(crate) seconds: f64,
    pub(crate) plan_bound: BoundRecord,
    pub(crate) trace: Vec<TracePoint>,
    /// What is proved about the answer; none in files of before there were any.
    #[serde(default)]
    pub(crate) certificate: Option<provi::Certificate>,
    /// What is not proved, but measured.
    #[serde(default)]
    pub(crate) estimates: Option<EstimatesRecord>,
    /// What bounds the error of any linear functional; null above [`LARGEST_METRIC`] coefficients.
    #[serde(default)]
    pub(crate) moment_bounds: Option<MomentBounds>,
    /// The contrasts that were asked for.
    #[serde(default)]
    pub(crate) contrasts: Vec<ContrastRecord>,
}

/// A linear combination of the coefficients, and what is known about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ContrastRecord {
    /// As it was written.
    pub(crate) expression: String,
    /// v, in the order of the coefficients.
    pub(crate) weights: Vec<f64>,
    #[serde(flatten)]
    pub(crate) functional: Functional,
}

/// What was fitted to what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ModelRecord {
    pub(crate) family: String,
    /// Was it read off the response?
    #[serde(default)]
    pub(crate) family_chosen: bool,
    /// Canonical, with `.` written out.
    pub(crate) formula: String,
    pub(crate) prior: PriorRecord,
    /// σ of the gaussian family.
    pub(crate) noise_sd: Option<f64>,
    pub(crate) rows: usize,
    /// SHA-256 of the data file's bytes.
    pub(crate) data_sha256: String,
}

/// The prior of every coefficient.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PriorRecord {
    /// "normal".
    pub(crate) distribution: String,
    pub(crate) mean: f64,
    pub(crate) sd: f64,
}

/// Estimates, not bounds; null where infinite, or where there are none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct EstimatesRecord {
    /// KL(q‖p), nats.
    pub(crate) kl: Option<f64>,
    pub(crate) kl_standard_error: Option<f64>,
    /// log p(x).
    pub(crate) log_evidence: Option<f64>,
    /// Of the log evidence.
    pub(crate) standard_error: Option<f64>,
    pub(crate) elbo: Option<f64>,
    pub(crate) elbo_standard_error: Option<f64>,
    /// k̂ of the importance weights.
    pub(crate) pareto_k: Option<f64>,
    /// What k̂ says about the others, in words.
    pub(crate) reliability: Option<String>,
    pub(crate) draws: usize,
    /// Why there are none.
    pub(crate) reason: Option<String>,
}

/// The bound known before the first draw, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct BoundRecord {
    pub(crate) value: Option<f64>,
    /// Ledger key of the statement.
    pub(crate) key: Option<String>,
    /// What is bounded.
    pub(crate) norm: Option<Norm>,
    pub(crate) constants: Option<ConstantsRecord>,
    pub(crate) provenance: Option<provi::Provenance>,
    pub(crate) reason: Option<String>,
}

/// The constants of the bound, in the coordinates of the steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ConstantsRecord {
    pub(crate) dim: usize,
    /// μ.
    pub(crate) convexity: f64,
    /// M.
    pub(crate) smoothness: f64,
    /// K.
    pub(crate) residual_smoothness: Option<f64>,
    /// a.
    pub(crate) noise_growth: f64,
    /// b.
    pub(crate) noise_floor: f64,
    /// e_0.
    pub(crate) start: f64,
}

/// Where the run stood.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TracePoint {
    pub(crate) step: u64,
    pub(crate) gamma: f64,
    /// A noisy estimate; null where it was not finite.
    pub(crate) neg_elbo: Option<f64>,
}

impl FitFile {
    /// The file's text: a key a line, lists on one line.
    pub(crate) fn to_json(&self) -> String {
        to_json(self)
    }
}

/// One key a line; what is not finite is written as null.
pub(crate) fn to_json(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    // Neither writing to memory nor a struct with string keys can fail.
    let _ = value.serialize(&mut Serializer::with_formatter(&mut bytes, KeyALine::default()));
    bytes.push(b'\n');
    String::from_utf8(bytes).unwrap_or_default()
}

/// Objects indented, lists and what is in them on one line.
#[derive(Default)]
struct KeyALine {
    pretty: PrettyFormatter<'static>,
    lists: usize,
}

impl Formatter for KeyALine {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.lists += 1;
        CompactFormatter.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.lists -= 1;
        CompactFormatter.end_array(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.lists > 0 { CompactFormatter.begin_object(writer) } else { self.pretty.begin_object(writer) }
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.lists > 0 { CompactFormatter.end_object(writer) } else { self.pretty.end_object(writer) }
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if self.lists > 0 {
            CompactFormatter.begin_object_key(writer, first)
        } else {
            self.pretty.begin_object_key(writer, first)
        }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.lists > 0 { Ok(()) } else { self.pretty.end_object_value(writer) }
    }
}
