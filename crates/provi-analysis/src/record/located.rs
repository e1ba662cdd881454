//! What is written down of an answer whose base law is not the normal one.

use serde::{Deserialize, Serialize};

use super::fit_file::{BoundRecord, EstimatesRecord, ModelRecord};
use super::mirror::{AsOption, SubsampleKeys};

/// The schema's name.
pub const LOCATED: &str = "provi-location-scale/1";

/// An answer q = law of m + Cu as JSON. It is no fit.json: no certificate, prediction or comparison reads it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LocatedFile {
    /// [`LOCATED`].
    pub schema: String,
    /// The version of provi that wrote it.
    pub provi: String,
    /// The model and its data.
    pub model: ModelRecord,
    /// The law of the coordinates of u, such as `student-t:8`.
    pub base_law: String,
    /// Its kurtosis κ = E u⁴; 3 for the normal law.
    pub kurtosis: f64,
    /// The names of the coefficients.
    pub names: Vec<String>,
    /// The mean m.
    pub mean: Vec<f64>,
    /// The standard deviations √(CCᵀ)_ii.
    pub sd: Vec<f64>,
    /// The rows of C up to the diagonal: row i has i + 1 entries.
    pub factor: Vec<Vec<f64>>,
    /// −ELBO in nats, with the entropy of this law.
    pub neg_elbo: f64,
    /// Its standard error.
    pub neg_elbo_error: f64,
    /// The entropy of q.
    pub entropy: f64,
    /// The name of the method.
    pub method: String,
    /// The family of factors; absent for every lower triangular one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family_of_q: Option<String>,
    /// Steps made.
    pub steps: u64,
    /// Whether fewer steps were made than planned.
    pub stopped_early: bool,
    /// Draws per step.
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
    /// Wall-clock seconds of the run.
    pub seconds: f64,
    /// The bound promised before the first step, about the best member of the same family.
    pub plan_bound: BoundRecord,
    /// Estimates by weighted draws of q, without proof.
    pub estimates: EstimatesRecord,
}
