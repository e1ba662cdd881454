//! The scales of a model, the noise, the deviations between groups and those of smooths: given, maximised over, or integrated over.

use std::time::Instant;

use provi::matrix::packed_len;
use provi::memory::Bytes;
use provi::scales::{FreeScales, Integration, ScalePrior};
use provi::sparse::{AnyGaussian, SparseModel};
use provi::target::{DataSummary, Family, Glm, Target};
use provi_table::available_memory;

use super::conflict;
use super::opened::Head;
use super::target::ModelTarget;
use crate::error::{Error, Result};
use crate::options::{ModelOptions, PriorSpec, ScalesName, scale_law_text};
use crate::record::scale::{Correlations, NOISE, Origin, Scale};

/// Every scale of the model, at its given value or a first guess.
/// Effects of a group that are correlated: `(x | g)` with two or three columns, if all their scales are integrated over.
pub(super) fn asked(
    options: &ModelOptions,
    head: &Head<'_>,
    family: Family,
) -> Result<(Vec<Scale>, Vec<Correlations>)> {
    let spread = match family {
        Family::Gaussian { .. } => head.deviation,
        _ => 1.0,
    };
    let free = match options.scales {
        Some(ScalesName::Integrate) | None => Origin::Integrated,
        Some(ScalesName::Maximise) => Origin::Maximised,
    };
    let scale = |name: String, given: Option<f64>, guess: f64, coefficients| Scale {
        name,
        sd: given.unwrap_or(guess),
        origin: if given.is_some() { Origin::Given } else { free },
        vanishing: false,
        prior: None,
        coefficients,
    };
    let (mut scales, mut correlations) = (Vec::new(), Vec::new());
    if family.noise_sd().is_some() {
        scales.push(scale(NOISE.to_owned(), options.noise_sd, spread, Vec::new()));
    }
    let given = |i: usize| options.gaps.get(i).copied();
    let between = head.categories.iter().skip(1).take(head.categories.len().saturating_sub(2));
    for (i, level) in between.enumerate() {
        scales.push(scale(Scale::gap(level, 1.0, free).name, given(i), 1.0, Vec::new()));
    }
    let mut used = vec![false; options.group_scale.len()];
    let mut given_for = |group: &str, column: &str| {
        let mut given = None;
        for (spec, used) in options.group_scale.iter().zip(&mut used) {
            if spec.fits(group, column) {
                (given, *used) = (Some(spec.sd), true);
            }
        }
        given
    };
    for group in head.groups {
        if group.is_smooth() {
            // One scale for all columns of a curve.
            let coefficients = (group.first..group.first + group.columns.len()).collect();
            scales.push(scale(group.text.clone(), given_for(&group.text, ""), 0.5 * spread, coefficients));
            continue;
        }
        let factor = group.factors.join(":");
        for (j, column) in group.columns.iter().enumerate() {
            let given = given_for(&factor, column);
            let width = group.columns.len();
            let coefficients = (0..group.levels.len()).map(|l| group.first + l * width + j).collect();
            scales.push(scale(format!("{factor}:{column}"), given, 0.5 * spread, coefficients));
        }
        let own: &[Scale] = &scales[scales.len() - group.columns.len()..];
        let open = own.iter().all(|scale| scale.origin == Origin::Integrated);
        if group.correlated && open && (2..=MOST_CORRELATED).contains(&own.len()) {
            let label = format!("cor({factor})");
            let given = options.prior.iter().rev().find(|spec| spec.fits_correlation(&label));
            let shape = given.and_then(PriorSpec::correlation).unwrap_or(LKJ);
            correlations.push(Correlations {
                scales: own.iter().map(|scale| scale.name.clone()).collect(),
                prior: format!("lkj({shape})"),
                group: factor,
            });
        }
    }
    for spec in options.prior.iter().filter(|spec| spec.correlation().is_some()) {
        let labels = || correlations.iter().map(|block| format!("cor({})", block.group));
        if !labels().any(|label| spec.fits_correlation(&label)) {
            return Err(Error::StrayCorrelationPrior { spec: spec.to_string(), known: labels().collect() });
        }
    }
    if let Some((spec, _)) = options.group_scale.iter().zip(&used).find(|(_, used)| !**used) {
        let known = scales.iter().filter(|s| s.is_of_groups()).map(|s| s.name.clone()).collect();
        return Err(Error::StrayScale { spec: spec.to_string(), known });
    }
    for spec in options.prior.iter().filter(|spec| spec.scale().is_some()) {
        let fitting: Vec<&Scale> = scales.iter().filter(|scale| spec.fits_scale(&scale.label())).collect();
        let known = || scales.iter().map(Scale::label).collect();
        match fitting.iter().find(|scale| scale.origin == Origin::Integrated) {
            _ if fitting.is_empty() => {
                return Err(Error::StrayScalePrior { spec: spec.to_string(), known: known() });
            }
            Some(_) => {}
            None if fitting[0].origin == Origin::Given => {
                let scale = fitting[0].label();
                return Err(Error::GivenScalePrior { spec: spec.to_string(), scale, sd: fitting[0].sd });
            }
            None => return Err(Error::MaximisedScalePrior { spec: spec.to_string() }),
        }
    }
    Ok((scales, correlations))
}

/// The most effects of a group whose correlations are modelled.
const MOST_CORRELATED: usize = 3;
/// The shape of the default prior of correlations: all correlation matrices are equally likely.
const LKJ: f64 = 1.0;

/// The default prior of a scale is half_t with this many degrees of freedom.
const DEGREES: f64 = 3.0;
/// Its scale on the link scale of the families that have no noise.
const LINK_SCALE: f64 = 2.5;

/// Its scale for a noise that is relative to the mean.
const RELATIVE_NOISE: f64 = 1.0;

/// The prior of a scale: the last option that fits it, or the default.
fn prior_of(scale: &Scale, options: &ModelOptions, family: Family, data: &DataSummary) -> ScalePrior {
    let given =
        options.prior.iter().rev().find(|spec| spec.scale().is_some() && spec.fits_scale(&scale.label()));
    given.and_then(PriorSpec::scale).unwrap_or_else(|| default_prior(scale, family, data))
}

/// half_t(3, S). S is the sd of the response for a gaussian model and 2.5 for the other families, divided by the root mean square of the column
/// that varies; 1 for a noise that is relative to the mean, 2.5 for a gap between cut points; three digits of it.
fn default_prior(scale: &Scale, family: Family, data: &DataSummary) -> ScalePrior {
    let spread = match family {
        Family::Gaussian { .. } => data.response_sd(),
        _ if scale.is_noise() => RELATIVE_NOISE,
        _ => LINK_SCALE,
    };
    let size = if scale.is_of_groups() { data.size(&scale.coefficients) } else { 1.0 };
    let value = spread / size;
    let value = if value > 0.0 && value.is_finite() { value } else { LINK_SCALE };
    ScalePrior::HalfStudentT { degrees: DEGREES, scale: three_digits(value) }
}

/// The value rounded to three significant digits.
fn three_digits(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

/// How the scales of a model are integrated over.
#[derive(Clone, Debug)]
pub struct Integrating {
    /// The free scales, and where the search for them begins.
    pub free: FreeScales,
    /// Their priors.
    pub how: Integration,
    /// For each free scale, in the order of the library: its place among the model's scales.
    pub order: Vec<usize>,
    /// The effects that are correlated, in the order of the library.
    pub correlations: Vec<Correlations>,
}

impl Integrating {
    /// Names and priors of the scales and correlations, in the order of the library.
    pub fn labels(&self, scales: &[Scale]) -> Vec<(String, String)> {
        let of_scale = |&i: &usize| (scales[i].label(), scales[i].prior.clone().unwrap_or_default());
        let of_block = |block: &Correlations| {
            block.labels().into_iter().map(|label| (label, block.prior.clone())).collect::<Vec<_>>()
        };
        self.order.iter().map(of_scale).chain(self.correlations.iter().flat_map(of_block)).collect()
    }
}

/// A model of a design and a response whose noise is not known.
#[derive(Clone, Debug)]
pub struct UnknownNoise {
    /// The model at the noise of the largest ELBO.
    pub glm: Glm,
    /// The noise, with its prior.
    pub scale: Scale,
    /// How to integrate over it, if it is not maximised over.
    pub integrating: Option<Integrating>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

impl UnknownNoise {
    /// Maximises the ELBO over the noise; the integration begins there. Without a prior the noise has the default one,
    /// half_t(3, S), where S is the standard deviation of the response, or 1 for a noise that is relative to the mean.
    pub fn new(glm: &Glm, treatment: ScalesName, prior: Option<ScalePrior>) -> Result<Self> {
        let (search, summary) = (FreeScales::noise(glm), glm.summary());
        let found = search.maximise(glm)?;
        let mut scale = Scale::noise(found.noise_sd.unwrap_or(1.0), Origin::Maximised);
        let mut notes = conflict::of_scales(std::slice::from_ref(&scale), glm.family(), &summary);
        let mut integrating = None;
        if treatment == ScalesName::Integrate {
            match beyond_memory(1, glm.dim() + packed_len(glm.dim()), available_memory()) {
                Some(needed) => notes.push(too_large(needed)),
                None => {
                    let prior = prior.unwrap_or_else(|| default_prior(&scale, glm.family(), &summary));
                    (scale.origin, scale.prior) = (Origin::Integrated, Some(scale_law_text(&prior)));
                    let free = FreeScales { noise_sd: Some(scale.sd), ..search };
                    let mut how = Integration::new(vec![prior]);
                    if let Family::Gaussian { .. } = glm.family() {
                        // The ELBO is the evidence.
                        how.draws = 0;
                    }
                    integrating = Some(Integrating { free, how, order: vec![0], correlations: Vec::new() });
                }
            }
        }
        Ok(Self { glm: found.model, scale, integrating, notes })
    }

    /// Refuses what needs one posterior at a known noise, if the noise is integrated over.
    pub fn needs_known_noise(&self, what: &str) -> Result<()> {
        match self.integrating {
            None => Ok(()),
            Some(_) => Err(Error::ScalesIntegrated { what: what.to_owned() }),
        }
    }
}

/// A target with its scales, and how they were found.
pub(super) struct Chosen {
    pub(super) target: ModelTarget,
    pub(super) scales: Vec<Scale>,
    /// Wall-clock seconds of the search, if there was one.
    pub(super) seconds: Option<f64>,
    /// The best Gaussian at these scales, if the search for them was stopped.
    pub(super) stopped_at: Option<AnyGaussian>,
    /// Notes about a search that was stopped, or about scales that are not integrated over.
    pub(super) notes: Vec<String>,
    /// How the scales are integrated over, if they are.
    pub(super) integrating: Option<Integrating>,
}

/// Note if the search was stopped after some solutions.
const SO_FAR: &str =
    "the search for the scales was stopped: they are the best so far, not those of the largest ELBO";
/// Note if it was stopped before any solution.
const FIRST: &str = "the search for the scales was stopped before its first solution: they are its first guesses, not learned from the \
                     data; allow more time";

/// How near to the largest ELBO the search for scales goes if it is only the beginning of another one, in nats.
const ROUGH: f64 = 1e-3;

/// Finds the scales that were not given, by maximising the ELBO. For scales that are integrated over this is where the search for their own
/// mode begins, and they get their priors.
pub(super) fn choose(
    target: ModelTarget,
    mut scales: Vec<Scale>,
    correlations: Vec<Correlations>,
    options: &ModelOptions,
    data: &DataSummary,
) -> Result<Chosen> {
    let begin = Instant::now();
    let mut notes = Vec::new();
    let (mut correlations, available) = (correlations, available_memory());
    let open = scales.iter().filter(|scale| scale.origin == Origin::Integrated).count();
    let pairs: usize = correlations.iter().map(|block| block.labels().len()).sum();
    let dim = target.target().dim();
    let numbers = dim + target.sparse().map_or(packed_len(dim), SparseModel::fill);
    if let Some(needed) = beyond_memory(open + pairs, numbers, available) {
        notes.push(too_large(needed));
        let open = scales.iter_mut().filter(|scale| scale.origin == Origin::Integrated);
        open.for_each(|scale| scale.origin = Origin::Maximised);
        correlations.clear();
    }
    // First the sets of coefficients, then the noise, then gaps.
    let mut order: Vec<usize> = (0..scales.len()).filter(|&i| scales[i].origin != Origin::Given).collect();
    order.sort_by_key(|&i| scales[i].rank());
    if order.is_empty() {
        return Ok(Chosen { target, scales, seconds: None, stopped_at: None, notes, integrating: None });
    }
    let mut search = FreeScales::default();
    for &i in &order {
        match &scales[i] {
            noise if noise.is_noise() => search.noise_sd = Some(noise.sd),
            gap if gap.is_gap() => search.gaps.push(gap.sd),
            groups => search.shared.push((groups.coefficients.clone(), groups.sd)),
        }
    }
    // A solution of a large model costs more than a better place to begin saves.
    let integrated = scales[order[0]].origin == Origin::Integrated;
    let rough = if integrated && target.sparse().is_some() { ROUGH } else { 0.0 };
    let found = target.maximised(&search, rough)?;
    let mut integrating = integrated.then(|| {
        let family = target.family();
        let priors: Vec<ScalePrior> =
            order.iter().map(|&i| prior_of(&scales[i], options, family, data)).collect();
        for (&i, prior) in order.iter().zip(&priors) {
            scales[i].prior = Some(scale_law_text(prior));
        }
        let mut how = Integration::new(priors);
        if matches!(family, Family::Gaussian { .. }) || target.sparse().is_some() {
            // The ELBO is the evidence, or weights of draws in so many dimensions say nothing.
            how.draws = 0;
        }
        if rough > 0.0 {
            how.start = Some(found.gaussian.clone());
        }
        let mut free = search.clone();
        for block in &correlations {
            let place = |name: &String| order.iter().position(|&i| scales[i].name == *name);
            free.correlated.push(block.scales.iter().filter_map(place).collect());
            how.correlations.push(shape_of(&block.prior));
        }
        Integrating { free, how, order: order.clone(), correlations }
    });
    let shared = found.shared.iter().zip(&found.vanishing).map(|(&sd, &vanishing)| (sd, vanishing));
    let others = found.noise_sd.into_iter().chain(found.gaps.iter().copied()).map(|value| (value, false));
    for (k, (&i, (sd, vanishing))) in order.iter().zip(shared.chain(others)).enumerate() {
        (scales[i].sd, scales[i].vanishing) = (sd, vanishing);
        // A scale that tends to zero is no place to begin.
        if let Some(Integrating { free, .. }) = integrating.as_mut().filter(|_| !vanishing) {
            let first = free.shared.len() + usize::from(free.noise_sd.is_some());
            match free.shared.get_mut(k) {
                Some(set) => set.1 = sd,
                None if k < first => free.noise_sd = Some(sd),
                None => free.gaps[k - first] = sd,
            }
        }
    }
    let stopped = found.stopped_early.then_some(if found.evaluations == 0 { FIRST } else { SO_FAR });
    notes.extend(stopped.map(str::to_owned));
    Ok(Chosen {
        notes,
        target: found.model,
        scales,
        seconds: Some(begin.elapsed().as_secs_f64()),
        stopped_at: found.stopped_early.then_some(found.gaussian),
        integrating,
    })
}

/// Note if scales are not integrated over for want of memory.
fn too_large(needed: Bytes) -> String {
    format!(
        "the scales are not integrated over: Gaussians at some of their values would take about {needed}. They are those of the largest ELBO, and their uncertainty is ignored"
    )
}

/// About how many values of one, two, … scales and correlations are held at once.
const VALUES: [u64; 6] = [50, 250, 1_000, 2_500, 8_000, 16_000];

/// The memory for Gaussians of so many numbers at the values of that many scales and correlations, if it is more than half of what is
/// available.
fn beyond_memory(open: usize, numbers: usize, available: Option<u64>) -> Option<Bytes> {
    let values = VALUES[open.clamp(1, VALUES.len()) - 1];
    let needed = 8 * numbers as u64 * values;
    (open > 0 && needed > available? / 2).then_some(Bytes(needed))
}

/// The shape in `lkj(SHAPE)`.
fn shape_of(prior: &str) -> f64 {
    prior.trim_start_matches("lkj(").trim_end_matches(')').parse().unwrap_or(LKJ)
}

/// The options with everything that was open at its value, and the default prior by its name. `given` says whether
/// the prior was given outside the options.
pub(super) fn fixed(
    options: &ModelOptions,
    family: Family,
    scales: &[Scale],
    integrating: Option<&Integrating>,
    given: bool,
) -> ModelOptions {
    let is_set = |scale: &&Scale| scale.origin != Origin::Integrated;
    let mut prior: Vec<PriorSpec> =
        options.prior.iter().filter(|spec| spec.normal().is_some()).cloned().collect();
    let own = |scale: &Scale| -> Option<PriorSpec> {
        format!("{}={}", scale.label(), scale.prior.as_ref()?).parse().ok()
    };
    prior.extend(scales.iter().filter_map(own));
    let of_block = |block: &Correlations| format!("cor({})={}", block.group, block.prior).parse().ok();
    prior.extend(integrating.iter().flat_map(|how| &how.correlations).filter_map(of_block));
    let options = ModelOptions {
        family: family.name().parse().ok(),
        prior,
        ..options.clone().given(scales.iter().filter(is_set))
    };
    // If a prior is given as a mean and a covariance, no coefficient has the default.
    if given { options } else { options.with_default_named() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_integrated_over_where_memory_allows_it() {
        let memory = Some(8 << 30);
        let beyond_memory = |open, dim: usize, memory| beyond_memory(open, dim + packed_len(dim), memory);
        assert!(beyond_memory(1, 1_000, memory).is_none());
        let needed = beyond_memory(1, 10_000, memory).unwrap();
        // Fifty packed factors of ten thousand columns.
        assert!((needed.0 as f64 / (50.0 * 8.0 * 1e8 / 2.0) - 1.0).abs() < 0.01, "{needed}");
        assert!(beyond_memory(0, 10_000, memory).is_none());
        assert!(beyond_memory(1, 10_000, None).is_none());
        // Of two scales and a correlation there are more values.
        assert!(beyond_memory(1, 1_500, memory).is_none() && beyond_memory(3, 1_500, memory).is_some());
    }
}
