//! What k̂ means, in words.

use std::fmt;

/// Weighted answers need at least this many effective draws.
pub const FEWEST_EFFECTIVE: f64 = 200.0;
/// If the weights keep at least this part of the draws, k̂ describes a tail of little weight, and may be anything.
pub const MOSTLY_KEPT: f64 = 0.5;

/// How far to trust estimates from importance weights (Vehtari, Simpson, Gelman, Yao and Gabry,
/// *Pareto smoothed importance sampling*, JMLR 25(72), 2024).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reliability {
    /// All weights are equal: at every draw, q equals p up to its constant.
    Exact,
    /// k̂ < ½: the weights have a finite variance.
    Good,
    /// ½ ≤ k̂ ≤ [`Reliability::limit`]: the variance may be infinite, but smoothing copes.
    Usable,
    /// k̂ above the limit, but the weights keep at least half of the draws: their tail carries little weight.
    Even,
    /// k̂ above the limit, and the weights are uneven.
    Unreliable,
    /// No tail could be fitted: too few draws, or too few different weights.
    Unknown,
}

impl Reliability {
    /// The judgement of k̂ alone, from S draws; [`Estimates::reliability`](super::Estimates::reliability) also looks at
    /// how many draws the weights keep.
    pub fn new(pareto_k: f64, draws: usize) -> Self {
        let limit = Self::limit(draws);
        if !pareto_k.is_finite() {
            Self::Unknown
        } else if pareto_k > limit {
            Self::Unreliable
        } else if pareto_k < 0.5 {
            Self::Good
        } else {
            Self::Usable
        }
    }

    /// Whether draws may be weighted or resampled: the one rule of every shell.
    pub fn allows_weights(self) -> bool {
        !matches!(self, Self::Unreliable | Self::Unknown)
    }

    /// min(1 − 1/log₁₀S, 0.7): the k̂ above which S draws are too few.
    pub fn limit(draws: usize) -> f64 {
        // For S ≤ 10 the formula is not positive: no heavy tail is tolerated.
        if draws > 10 { (1.0 - (draws as f64).log10().recip()).min(0.7) } else { 0.0 }
    }
}

impl fmt::Display for Reliability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exact => "exact: all importance weights are equal",
            Self::Good => "good: the estimates and their standard errors can be believed",
            Self::Usable => "usable: expect errors larger than the standard errors",
            Self::Even => "even: k̂ describes a tail of little weight, since the weights keep most draws",
            Self::Unreliable => {
                "unreliable: the weights have a heavy tail, so these estimates can be far off"
            }
            Self::Unknown => "unknown: too few distinct weights to judge; take more draws",
        })
    }
}
