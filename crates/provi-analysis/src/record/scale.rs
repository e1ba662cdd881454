//! The scales of a model: those on which a posterior is conditional, and those that are integrated over.

use provi::target::{Family, Gaps};
use serde::{Deserialize, Serialize};

use crate::options::{ModelOptions, SIGMA, ScaleSpec};

/// A standard deviation that is a parameter of the model, or a gap between the cut points of an ordered response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    /// `noise`; the grouping and the effect that varies by it, as in `clinic:(Intercept)`; a smooth, as in `s(age)`; or `gap(LEVEL)`, the gap that a
    /// level of an ordered response fills.
    pub name: String,
    /// The value of the standard deviation or the gap; its posterior mean if it is integrated over.
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
/// How the names of gaps begin.
const GAP: &str = "gap(";

/// The family with the noise and the gaps among these scales, each at the value that `value` gives it.
pub fn family_with(family: Family, scales: &[Scale], value: &dyn Fn(&Scale) -> f64) -> Family {
    let noise = scales.iter().find(|scale| scale.is_noise()).map(value);
    let gaps: Vec<f64> = scales.iter().filter(|scale| scale.is_gap()).map(value).collect();
    match (noise.and_then(|sd| family.with_noise_sd(sd)), Gaps::new(&gaps)) {
        (Some(family), _) => family,
        (None, Ok(gaps)) if family.gaps().is_some() => Family::Ordered { gaps },
        _ => family,
    }
}

impl Scale {
    /// σ of a family that has a noise.
    pub fn noise(sd: f64, origin: Origin) -> Self {
        Self { name: NOISE.to_owned(), sd, origin, vanishing: false, prior: None, coefficients: Vec::new() }
    }

    /// The gap that a level fills.
    pub fn gap(level: &str, width: f64, origin: Origin) -> Self {
        Self { name: format!("{GAP}{level})"), ..Self::noise(width, origin) }
    }

    /// Its name in tables and among priors: `sigma`, `sd(clinic:(Intercept))` or `gap(medium)`.
    pub fn label(&self) -> String {
        if self.is_noise() {
            SIGMA.to_owned()
        } else if self.is_gap() {
            self.name.clone()
        } else {
            format!("sd({})", self.name)
        }
    }

    /// Whether it is a gap between cut points.
    pub fn is_gap(&self) -> bool {
        // The scale of a group has the name of its column behind that of its grouping.
        self.name.starts_with(GAP) && self.name.ends_with(')') && !self.name.contains("):")
    }

    /// Whether it is a deviation between groups, or that of a smooth's curve.
    pub fn is_of_groups(&self) -> bool {
        !self.is_noise() && !self.is_gap()
    }

    /// Its place in the order of the library: deviations between groups, the noise, gaps.
    pub fn rank(&self) -> u8 {
        2 * u8::from(self.is_gap()) + u8::from(self.is_noise())
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

impl ModelOptions {
    /// The options with scales at these values: nothing is integrated over.
    pub fn with_scales(mut self, scales: &[Scale]) -> Self {
        self.prior.retain(|spec| spec.normal().is_some());
        self.scales = None;
        self.given(scales.iter())
    }

    /// The options with these scales as given.
    pub(crate) fn given<'a>(self, scales: impl Iterator<Item = &'a Scale> + Clone) -> Self {
        let spec = |scale: &Scale| ScaleSpec { name: Some(scale.name.clone()), sd: scale.sd };
        Self {
            noise_sd: scales.clone().find(|scale| scale.is_noise()).map(|scale| scale.sd),
            gaps: scales.clone().filter(|scale| scale.is_gap()).map(|scale| scale.sd).collect(),
            group_scale: scales.filter(|scale| scale.is_of_groups()).map(spec).collect(),
            ..self
        }
    }
}
