//! The scales on which a model is conditional: the noise, and the deviations between groups.

use std::time::Instant;

use provi::Gaussian;
use provi::scales::FreeScales;
use provi::target::Family;

use super::opened::Head;
use super::target::ModelTarget;
use crate::error::{Error, Result};
use crate::options::{ModelOptions, ScaleSpec};
use crate::record::scale::{NOISE, Origin, Scale};

/// Every scale of the model, at its given value or a first guess.
pub(super) fn asked(options: &ModelOptions, head: &Head<'_>, family: Family) -> Result<Vec<Scale>> {
    let spread = match family {
        Family::Gaussian { .. } => head.deviation,
        _ => 1.0,
    };
    let scale = |name: String, given: Option<f64>, guess: f64, coefficients| Scale {
        name,
        sd: given.unwrap_or(guess),
        origin: if given.is_some() { Origin::Given } else { Origin::Maximised },
        vanishing: false,
        coefficients,
    };
    let mut scales = Vec::new();
    if let Family::Gaussian { .. } = family {
        scales.push(scale(NOISE.to_owned(), options.noise_sd, spread, Vec::new()));
    }
    let mut used = vec![false; options.group_scale.len()];
    for group in head.groups {
        let factor = group.factors.join(":");
        for (j, column) in group.columns.iter().enumerate() {
            let mut given = None;
            for (spec, used) in options.group_scale.iter().zip(&mut used) {
                if spec.fits(&factor, column) {
                    (given, *used) = (Some(spec.sd), true);
                }
            }
            let width = group.columns.len();
            let coefficients = (0..group.levels.len()).map(|l| group.first + l * width + j).collect();
            scales.push(scale(format!("{factor}:{column}"), given, 0.5 * spread, coefficients));
        }
    }
    match options.group_scale.iter().zip(&used).find(|(_, used)| !**used) {
        Some((spec, _)) => {
            let known = scales.iter().filter(|s| !s.is_noise()).map(|s| s.name.clone()).collect();
            Err(Error::StrayScale { spec: spec.to_string(), known })
        }
        None => Ok(scales),
    }
}

/// A target with its scales, and how they were found.
pub(super) struct Chosen {
    pub(super) target: ModelTarget,
    pub(super) scales: Vec<Scale>,
    /// Wall-clock seconds of the search, if there was one.
    pub(super) seconds: Option<f64>,
    /// The best Gaussian at these scales, if the search for them was stopped.
    pub(super) stopped_at: Option<Gaussian>,
    /// A note about a search that was stopped.
    pub(super) note: Option<&'static str>,
}

/// Note if the search was stopped after some solutions.
const SO_FAR: &str =
    "the search for the scales was stopped: they are the best so far, not those of the largest ELBO";
/// Note if it was stopped before any solution.
const FIRST: &str = "the search for the scales was stopped before its first solution: they are its first guesses, not learned from the \
                     data; allow more time";

/// Finds the scales that were not given, by maximising the ELBO.
pub(super) fn choose(target: ModelTarget, mut scales: Vec<Scale>) -> Result<Chosen> {
    let begin = Instant::now();
    let free = |scale: &&mut Scale| scale.origin == Origin::Maximised;
    let mut search = FreeScales::default();
    for scale in scales.iter_mut().filter(free) {
        if scale.is_noise() {
            search.noise_sd = Some(scale.sd);
        } else {
            search.shared.push((scale.coefficients.clone(), scale.sd));
        }
    }
    if search == FreeScales::default() {
        return Ok(Chosen { target, scales, seconds: None, stopped_at: None, note: None });
    }
    let found = target.maximised(&search)?;
    let mut shared = found.shared.iter().zip(&found.vanishing);
    for scale in scales.iter_mut().filter(free) {
        let value = if scale.is_noise() {
            found.noise_sd.map(|sd| (sd, false))
        } else {
            shared.next().map(|(&sd, &v)| (sd, v))
        };
        if let Some((sd, vanishing)) = value {
            (scale.sd, scale.vanishing) = (sd, vanishing);
        }
    }
    let note = found.stopped_early.then_some(if found.evaluations == 0 { FIRST } else { SO_FAR });
    Ok(Chosen {
        note,
        target: found.model,
        scales,
        seconds: Some(begin.elapsed().as_secs_f64()),
        stopped_at: found.stopped_early.then_some(found.gaussian),
    })
}

/// The options with everything that was open at its value, and the default prior by its name. `given` says whether
/// the prior was given outside the options.
pub(super) fn fixed(options: &ModelOptions, family: Family, scales: &[Scale], given: bool) -> ModelOptions {
    let noise = scales.iter().find(|scale| scale.is_noise()).map(|scale| scale.sd);
    let spec = |scale: &Scale| ScaleSpec { name: Some(scale.name.clone()), sd: scale.sd };
    let options = ModelOptions {
        family: family.name().parse().ok(),
        noise_sd: noise,
        group_scale: scales.iter().filter(|scale| !scale.is_noise()).map(spec).collect(),
        ..options.clone()
    };
    // If a prior is given as a mean and a covariance, no coefficient has the default.
    if given { options } else { options.with_default_named() }
}
