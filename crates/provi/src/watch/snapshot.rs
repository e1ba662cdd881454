//! What a run reports: its progress, and the state of its average.

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Snapshot {
    /// Steps made.
    pub step: u64,
    /// Steps planned.
    pub steps: u64,
    /// Size γ of the last step.
    pub gamma: f64,
    /// A noisy estimate of f from the draws since the last snapshot; it lags behind by half that stretch.
    pub neg_elbo: f64,
    /// Proved upper bound of f − f*, if it is known during the run.
    #[cfg_attr(feature = "serde", serde(default))]
    pub gap: Option<f64>,
}

/// The saved state of an average.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AverageState {
    /// The mean so far; empty for `Average::Last`.
    pub mean: Vec<f64>,
    /// How many iterates it averages.
    pub count: u64,
    /// Coefficient c of the last iterate.
    pub coefficient: f64,
}
