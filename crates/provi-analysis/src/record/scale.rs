//! The scales that a posterior is conditional on.

use serde::{Deserialize, Serialize};

/// A standard deviation that the posterior is conditional on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    /// `noise`, or the grouping and what varies by it, as in `clinic:(Intercept)`.
    pub name: String,
    /// Its value.
    pub sd: f64,
    /// Who said it.
    pub origin: Origin,
    /// Chosen, and on its way to zero: the groups do not differ visibly.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub vanishing: bool,
    /// The coefficients whose prior it is; none for the noise.
    #[serde(skip)]
    pub coefficients: Vec<usize>,
}

/// Who said it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The user.
    Given,
    /// The data: it maximises the ELBO.
    Maximised,
}

/// The name of the noise among the scales.
pub(crate) const NOISE: &str = "noise";

impl Scale {
    /// σ of a gaussian family.
    pub fn noise(sd: f64, origin: Origin) -> Self {
        Self { name: NOISE.to_owned(), sd, origin, vanishing: false, coefficients: Vec::new() }
    }

    /// σ, rather than a deviation between groups?
    pub fn is_noise(&self) -> bool {
        self.name == NOISE
    }
}
