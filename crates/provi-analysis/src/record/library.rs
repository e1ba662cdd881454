//! What fit.json stores about a library, and about quantities on a Stan model's own scale.

use serde::{Deserialize, Serialize};

/// The library of a fit, and what was declared about it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LibraryRecord {
    /// The path as given: a library, or a `.stan` file.
    pub path: String,
    /// The SHA-256 of the file.
    pub sha256: String,
    /// The declared lower bound of the curvature of −log p.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mu: Option<f64>,
    /// The declared upper bound of the curvature of −log p.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smoothness: Option<f64>,
}

/// Quantities of a Stan model on their own scale: estimates from draws.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConstrainedRecord {
    /// Names of the quantities, `beta.1` for `beta[1]`.
    pub names: Vec<String>,
    /// Their means.
    pub mean: Vec<f64>,
    /// Their standard deviations.
    pub sd: Vec<f64>,
    /// Lower ends of central intervals.
    pub lower: Vec<f64>,
    /// Upper ends of central intervals.
    pub upper: Vec<f64>,
    /// The probability of the intervals.
    pub level: f64,
    /// k̂ of the importance weights; null if infinite.
    pub pareto_k: Option<f64>,
    /// Whether the weights were used; they are not if k̂ is too large.
    pub weighted: bool,
    /// Number of draws.
    pub draws: usize,
}

impl ConstrainedRecord {
    /// How the numbers were computed, in a sentence.
    pub fn origin(&self) -> String {
        let k = self.pareto_k.map_or("∞".to_owned(), |k| format!("{k:.2}"));
        match self.weighted {
            true => format!("{} draws with importance weights, k̂ = {k}; estimates, not bounds", self.draws),
            false if self.pareto_k.is_some_and(|k| k < 0.7) => {
                format!("{} draws of the Gaussian itself, k̂ = {k}; estimates, not bounds", self.draws)
            }
            false => format!(
                "{} draws of the Gaussian itself, as k̂ = {k} is too large for weights; estimates, not bounds",
                self.draws
            ),
        }
    }
}
