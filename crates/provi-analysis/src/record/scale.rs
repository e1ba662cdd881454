//! The scales on which a posterior is conditional.

use serde::{Deserialize, Serialize};

/// A standard deviation on which the posterior is conditional.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    /// `noise`, or the grouping and the effect that varies by it, as in `clinic:(Intercept)`.
    pub name: String,
    /// The value of the standard deviation.
    pub sd: f64,
    /// Whether it was given or estimated.
    pub origin: Origin,
    /// Whether it was estimated and tends to zero: the groups do not differ visibly.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub vanishing: bool,
    /// The coefficients whose prior deviation it is; empty for the noise.
    #[serde(skip)]
    pub coefficients: Vec<usize>,
}

/// Whether a scale was given or estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Given by the user.
    Given,
    /// Estimated from the data: it maximises the ELBO.
    Maximised,
}

/// The name of the noise among the scales.
pub(crate) const NOISE: &str = "noise";

impl Scale {
    /// σ of a gaussian family.
    pub fn noise(sd: f64, origin: Origin) -> Self {
        Self { name: NOISE.to_owned(), sd, origin, vanishing: false, coefficients: Vec::new() }
    }

    /// Whether it is the noise σ, rather than a deviation between groups.
    pub fn is_noise(&self) -> bool {
        self.name == NOISE
    }
}
