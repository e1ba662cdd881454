//! The scales of a model: those on which a posterior is conditional, and those that are integrated over.

use serde::{Deserialize, Serialize};

use crate::options::SIGMA;

/// A standard deviation that is a parameter of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    /// `noise`, the grouping and the effect that varies by it, as in `clinic:(Intercept)`, or a smooth, as in `s(age)`.
    pub name: String,
    /// The value of the standard deviation; its posterior mean if it is integrated over.
    pub sd: f64,
    /// Whether it was given, estimated or integrated over.
    pub origin: Origin,
    /// Whether it was estimated and tends to zero: the groups do not differ visibly.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub vanishing: bool,
    /// The prior of a scale that is integrated over, as users write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior: Option<String>,
    /// The coefficients whose prior deviation it is; empty for the noise.
    #[serde(skip)]
    pub coefficients: Vec<usize>,
}

/// Effects of one grouping that are correlated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Correlations {
    /// The grouping.
    pub group: String,
    /// The names of their scales.
    pub scales: Vec<String>,
    /// The prior of their correlation matrix, as users write it.
    pub prior: String,
}

impl Correlations {
    /// `cor(clinic:(Intercept),clinic:age)` for each pair, in the order of the library: (1, 0), (2, 0), (2, 1).
    pub fn labels(&self) -> Vec<String> {
        let pair = |i: usize, j: usize| format!("cor({},{})", self.scales[j], self.scales[i]);
        (0..self.scales.len()).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| pair(i, j)).collect()
    }
}

/// How the value of a scale came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Given by the user.
    Given,
    /// Estimated from the data: it maximises the ELBO.
    Maximised,
    /// Integrated over, with its prior.
    Integrated,
}

/// The name of the noise among the scales.
pub(crate) const NOISE: &str = "noise";

impl Scale {
    /// σ of a family that has a noise.
    pub fn noise(sd: f64, origin: Origin) -> Self {
        Self { name: NOISE.to_owned(), sd, origin, vanishing: false, prior: None, coefficients: Vec::new() }
    }

    /// Its name in tables and among priors: `sigma`, or `sd(clinic:(Intercept))`.
    pub fn label(&self) -> String {
        if self.is_noise() { SIGMA.to_owned() } else { format!("sd({})", self.name) }
    }

    /// Whether it is that of a smooth's curve.
    pub fn is_smooth(&self) -> bool {
        self.name.starts_with("s(") && self.name.ends_with(')')
    }

    /// Whether it is the noise σ, rather than a deviation between groups.
    pub fn is_noise(&self) -> bool {
        self.name == NOISE
    }
}
