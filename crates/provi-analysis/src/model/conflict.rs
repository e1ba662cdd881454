//! Warnings where prior and data disagree; nothing is refused.

use provi::target::{DataSummary, Family};

use crate::number::plain;
use crate::record::fit_file::{FitFile, ModelRecord};
use crate::record::scale::{Origin, Scale};

/// A posterior mean farther than this many prior sds from the prior mean is in conflict with the prior.
pub const FAR: f64 = 2.0;
/// The groups' contribution to a predictor conflicts with the response if it exceeds this many sds of the response.
const DWARFED: f64 = 3.0;
/// The same limit if the response has no sd to compare with, on the scale of a logit or a logarithm.
const HUGE: f64 = 5.0;
/// A noise above this many sds of the response explains less than a constant would.
const WORSE: f64 = 1.2;
/// The most coefficients that are named.
const NAMED: usize = 4;

/// How every sentence about a conflict begins.
pub const HEAD: &str = "prior and data disagree:";

/// Conflicts that show in the scales, because the prior keeps the coefficients away from the data.
///
/// A deviation τ between groups adds τ·√(mean of x²) to a row's predictor. For a gaussian response it is compared
/// with 3 sd(y − offset), for the other families with 5. The noise that maximises the ELBO is compared with 1.2
/// sd(y − offset).
pub fn of_scales(scales: &[Scale], family: Family, data: &DataSummary) -> Vec<String> {
    let gaussian = matches!(family, Family::Gaussian { .. });
    let sd = data.response_sd();
    let sentence = |scale: &Scale| {
        if scale.is_noise() {
            let large = gaussian && scale.origin != Origin::Given && scale.sd > WORSE * sd;
            return large.then(|| {
                format!(
                    "{HEAD} the noise sd {} is larger than the sd of the response, {}: a constant would fit better. \
                     The prior keeps the coefficients from the data; give a wider one",
                    plain(scale.sd),
                    plain(sd)
                )
            });
        }
        if scale.is_gap() {
            return None;
        }
        let size = scale.sd * data.size(&scale.coefficients);
        let limit = if gaussian { DWARFED * sd } else { HUGE };
        (size > limit).then(|| {
            let than = match gaussian {
                true => format!("{} times the sd of the response", plain(size / sd)),
                false => format!("{} on the scale of the predictor", plain(size)),
            };
            if scale.is_smooth() {
                return format!(
                    "{HEAD} the curve {} adds {than}. It may stand in for coefficients that the prior keeps from the data; give \
                     those a wider prior",
                    scale.name
                );
            }
            format!(
                "{HEAD} the sd between groups {} adds {than}. Groups may stand in for coefficients that the prior keeps \
                 from the data; give those a wider prior",
                scale.name
            )
        })
    };
    scales.iter().filter_map(sentence).collect()
}

/// Population coefficients whose posterior mean is more than [`FAR`] prior sds from the prior mean, in one sentence.
///
/// The intercept is compared where its prior is stated: at the means of the columns, if that is the case.
pub(crate) fn of_coefficients(model: &ModelRecord, names: &[String], mean: &[f64]) -> Option<String> {
    let distance = |i: usize| -> Option<f64> {
        if let Some(at) = model.prior_at_means.as_ref().filter(|at| at.intercept == i) {
            let value: f64 = at.at.iter().zip(mean).map(|(c, m)| c * m).sum();
            return Some((value - at.mean).abs() / at.sd);
        }
        Some((mean[i] - model.prior_mean.get(i)?).abs() / model.prior_sd.get(i)?)
    };
    let far: Vec<(usize, f64)> = (0..model.population.min(names.len()))
        .filter_map(|i| distance(i).filter(|x| *x > FAR).map(|x| (i, x)))
        .collect();
    let one = |&(i, x): &(usize, f64)| format!("`{}` by {} sds", names[i], plain((x * 10.0).round() / 10.0));
    let mut all: Vec<String> = far.iter().take(NAMED).map(one).collect();
    if far.len() > NAMED {
        all.push(format!("and {} more", far.len() - NAMED));
    }
    (!far.is_empty()).then(|| {
        format!(
            "{HEAD} posterior means are more than {FAR} prior sds from the prior mean, {}. Give a wider prior, unless \
             this one is meant",
            all.join(", ")
        )
    })
}

impl FitFile {
    /// The notes about conflicts between prior and data.
    pub fn conflicts(&self) -> impl Iterator<Item = &String> {
        self.model.warnings.iter().filter(|warning| warning.starts_with(HEAD))
    }
}
