//! What is proved within a family of Gaussians.

use super::Statement;

/// The gap within a family of Gaussians \[pattern\].
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct FamilyGap {
    /// The family, as users write it.
    pub name: String,
    /// Bound of f(w) − f*, in nats, with f* the least of the family.
    pub gap: Statement,
}

impl FamilyGap {
    pub(crate) fn new(name: String, gap: Statement) -> Self {
        Self { name, gap }
    }
}
