//! Errors about ordered responses.

use thiserror::Error;

/// What does not fit together.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BadCategories {
    /// An ordered family for a response that is not one.
    #[error(
        "family ordered needs a response whose levels are in an order: write ordered({column}) for numbers, or ordered({column}, levels = c(..)) with the \
         levels from the lowest to the highest"
    )]
    Missing {
        /// The response.
        column: String,
    },
    /// An ordered response for another family.
    #[error("a response ordered(..) goes with family ordered, not with {family}")]
    Stray {
        /// The family.
        family: &'static str,
    },
    /// Gaps for a family that has none.
    #[error("gaps go with family ordered, not with {family}")]
    StrayGaps {
        /// The family.
        family: &'static str,
    },
    /// More or fewer gaps than there are levels between two others.
    #[error("{found} gap(s) are given, and {levels} levels have {}: one for each level but the first and the last", .levels - 2)]
    CountOfGaps {
        /// How many are given.
        found: usize,
        /// How many levels there are.
        levels: usize,
    },
}
