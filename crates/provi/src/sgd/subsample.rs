//! Which terms of a finite sum a draw uses: a pure function of (seed, step, draw).
//!
//! With B of N terms per draw, log p is estimated by log p_0 + Σ_b weight_b·log p_{n_b}. The estimate is unbiased
//! for every law here:
//!
//! | law | n_b | weight | bound |
//! |---|---|---|---|
//! | `uniform` | independent, π_n = 1/N | N/B | [noise-subsample] |
//! | `importance` | independent, π_n ∝ M_n | 1/(Bπ_n) | [noise-subsample], never more than that of `uniform` |
//! | `reshuffle` | epochs: every term once, in a new order each time | N/B | none: steps of one epoch depend on each other |

mod alias;
mod law;
mod shuffle;

pub use law::Law;

use crate::base::error::{Error, Result};

/// How terms are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Sampling {
    /// Independently, all terms with equal probability.
    #[default]
    Uniform,
    /// Independently, each term with probability proportional to its smoothness M_n.
    Importance,
    /// Without replacement, in a new order each epoch. No theorem here covers it, so a run has no promise.
    Reshuffle,
}

impl Sampling {
    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Importance => "importance",
            Self::Reshuffle => "reshuffle",
        }
    }
}

impl std::fmt::Display for Sampling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Sampling {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        [Self::Uniform, Self::Importance, Self::Reshuffle].into_iter().find(|s| s.name() == text).ok_or_else(
            || Error::UnknownName {
                what: "sampling",
                found: text.to_owned(),
                known: "uniform, importance, reshuffle",
            },
        )
    }
}

/// The number B of terms for each draw, and how they are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Subsample {
    /// The number of terms B.
    pub terms: usize,
    /// How they are drawn.
    pub sampling: Sampling,
}

impl std::fmt::Display for Subsample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} terms a draw, {}", self.terms, self.sampling)
    }
}
