//! Table, formula and options → target.

mod blocks;
pub mod compiled;
pub mod conflict;
mod data;
mod design;
pub mod device;
mod factor;
mod files;
pub mod memory;
mod opened;
mod prior;
mod prior_from;
pub(crate) mod prior_words;
mod regression;
mod scales;
mod target;
mod warnings;

pub use crate::record::scale::{Origin, Scale};
pub use blocks::Blocks;
pub use data::Data;
pub use design::design;
pub use files::USUAL_MEMORY;
pub use prior_from::Earlier;
pub(crate) use prior_from::constants;
pub use regression::RegressionModel;
pub(crate) use regression::{DRAWS as PARAMETER_DRAWS, natural as natural_parameters, not_log_concave};
pub use scales::{Integrating, UnknownNoise};
pub(crate) use target::ModelRows;
pub use target::{FileModel, ModelTarget};
pub use warnings::warnings;

use std::path::Path;

use provi::Gaussian;
use provi::sparse::AnyGaussian;
use provi::target::{Family, Gaps, Prior};
use provi_table::{CodedFactor, Dropped, Formula, FrameOptions, GroupTerm, Missing, Recipe, Variable};

use crate::error::{BadCategories, BadRegression, Error, Result};
use crate::options::{
    FactorName, FamilyName, MissingName, ModelOptions, NormalPrior, PRIOR_SCALE, PriorSpec,
};
use crate::record::prior_from::PriorFrom;
use opened::{Facts, Head, Opened};
use scales::Chosen;

/// A target, and what a reader needs to know about it.
#[derive(Debug)]
pub struct Model {
    /// The target, conditional on the scales.
    pub target: ModelTarget,
    /// The family, with its noise level.
    pub family: Family,
    /// Whether the family was chosen from the response rather than given.
    pub family_chosen: bool,
    /// The formula in canonical form, with `.` expanded.
    pub formula: String,
    /// For a response of text: the level that counts as 1.
    pub success: Option<String>,
    /// For an ordered response: its levels from the lowest to the highest.
    pub categories: Vec<String>,
    /// Number of rows used.
    pub rows: usize,
    /// Rows left out.
    pub dropped: Dropped,
    /// A digest of the rows used, if some rows of a table in memory were left out; empty otherwise.
    pub rows_sha256: String,
    /// Warnings about the data, as sentences.
    pub warnings: Vec<String>,
    /// Number of population coefficients; those of the groups follow.
    pub population: usize,
    /// The group terms.
    pub groups: Vec<GroupTerm>,
    /// The noise σ of a family that has one, and the deviations between groups.
    pub scales: Vec<Scale>,
    /// How the scales are integrated over, if they are; the target then has them where the ELBO is largest.
    pub integrating: Option<Integrating>,
    /// The options with every scale at its value, so that they give the same model again.
    pub options: ModelOptions,
    /// The prior of the population, if it was given as a mean and a covariance.
    pub prior_gaussian: Option<Gaussian>,
    /// The fit from which that prior comes, if it comes from one.
    pub prior_from: Option<PriorFrom>,
    /// How the design is made from a table.
    pub recipe: Recipe,
    /// Ranges and levels of the columns; empty for files that are read block by block.
    pub variables: Vec<Variable>,
    /// The line of the file that each row comes from; empty for files that are read block by block.
    pub lines: Vec<usize>,
    /// The data's name in messages.
    pub data_name: String,
    /// Wall-clock seconds that the search for the scales took, if there was one.
    pub scale_seconds: Option<f64>,
    /// The best Gaussian so far, if the search for the scales was stopped.
    pub stopped_at: Option<AnyGaussian>,
    /// The digest of the data.
    pub data_sha256: String,
}

impl Model {
    /// From a file; `-` is standard input.
    pub fn read(path: &Path, formula: &str, options: &ModelOptions) -> Result<Self> {
        // Refuse a wrong formula before reading a large file.
        parse(formula)?;
        let data = Data::read(path).map_err(|error| Error::table(error, formula))?;
        Self::build(&data, formula, options, None)
    }

    /// From data in memory; `prior` is the population's prior, if the options do not give one.
    pub fn build(data: &Data, text: &str, options: &ModelOptions, prior: Option<&Gaussian>) -> Result<Self> {
        Self::make(data, text, options, prior.map_or(Given::Nothing, Given::Prior))
    }

    /// From data in memory, with the Gaussian of an earlier fit as the prior of the coefficients that both models have.
    pub fn after(data: &Data, text: &str, options: &ModelOptions, earlier: &Earlier) -> Result<Self> {
        Self::make(data, text, options, Given::Earlier(earlier))
    }

    /// From data in memory and what is known besides the options.
    pub(crate) fn make(data: &Data, text: &str, options: &ModelOptions, given: Given<'_>) -> Result<Self> {
        let formula = parse(text)?;
        match RegressionModel::asked(&formula, options) {
            Some(family) => {
                let (what, family) = ("this command".to_owned(), family.name());
                return Err(BadRegression::NotThere { what, family }.into());
            }
            None if formula.is_multinomial() => {
                let family = options.family.map_or("", FamilyName::name);
                return Err(BadRegression::StrayLevels { family }.into());
            }
            None => {}
        }
        let read = match (given, &options.prior_from) {
            (Given::Nothing, Some(path)) => Some(Earlier::read(path)?),
            _ => None,
        };
        let (earlier, prior, coded) = match given {
            Given::Nothing => (read.as_ref(), None, Vec::new()),
            Given::Earlier(earlier) => (Some(earlier), None, Vec::new()),
            Given::Prior(prior) => (None, Some(prior), Vec::new()),
            Given::Recorded { prior, recipe } => (None, Some(prior), constants(recipe).collect()),
        };
        let coded = earlier.map_or(coded, Earlier::coded);
        let unit = earlier.and_then(Earlier::time_unit).or(options.time_unit);
        let options = &ModelOptions { time_unit: unit, ..options.clone() };
        let open = |standardize| {
            Opened::new(data, &formula, text, &frame_options(options, standardize, coded.clone()))
        };
        let opened = open(false)?;
        let head = opened.head();
        let (family, family_chosen) = family(options, &head, &data.name)?;
        let (scales, correlations) = scales::asked(options, &head, family)?;
        let (size, search) = (head.size(), scales.iter().any(|scale| scale.origin != Origin::Given));
        if head.groups.is_empty() || options.factor == Some(FactorName::Dense) {
            memory::refuse_large(&size, search)?;
        }
        let population = head.population;
        let prior_gaussian = match prior {
            Some(given) => Some(given.clone()),
            None if earlier.is_some() => None,
            None => prior::given(options, &head)?,
        };
        if let Some(found) = prior_gaussian.as_ref().map(Gaussian::dim).filter(|found| *found != population) {
            return Err(
                provi::Error::Shape { what: "the population's prior", found, expected: population }.into()
            );
        }
        // The design keeps the data's own scale; the standardized columns only define what the priors mean.
        let standard = match options.standardize {
            true => Some(open(true)?.columns().to_vec()),
            false => None,
        };
        let names = head.names.to_vec();
        let Facts {
            formula,
            success,
            categories,
            rows,
            dropped,
            rows_sha256,
            mut warnings,
            groups,
            recipe,
            variables,
            lines,
        } = opened.facts()?;
        if let Some(earlier) = earlier {
            let (formula, success, categories) = (&formula, success.as_deref(), &categories[..]);
            let recipe = &recipe;
            earlier.check(&prior_from::Own { options, formula, success, categories, recipe, family })?;
            warnings.extend(earlier.about_groups(recipe, family));
        }
        // The prior's scales may depend on the data: it replaces another prior once the data have been summarised.
        let target = opened.target(data, family, Prior::default())?;
        let summary = target.summary().into_owned();
        let mut prior = prior::Parts {
            options,
            names: &names,
            population,
            given: prior_gaussian.as_ref(),
            standard: standard.as_deref(),
            scales: &scales,
        };
        let blended = match earlier {
            None => None,
            Some(earlier) => {
                Some(earlier.prior(&prior.population_laws(family, &summary)?, &recipe.population)?)
            }
        };
        let (blended, prior_from): (_, Option<PriorFrom>) = blended.unzip();
        prior.given = prior.given.or(blended.as_ref());
        let target = target.with_prior(prior.assemble(family, &summary)?)?;
        let target = factor::chosen(target, options.factor, &size, search)?;
        let Chosen { target, scales, seconds: scale_seconds, stopped_at, notes, integrating } =
            scales::choose(target, scales, correlations, options, &summary)?;
        let modelled = integrating.iter().flat_map(|how| &how.correlations).filter_map(|block| {
            let scale = scales.iter().find(|scale| scale.name == block.scales[0])?;
            scale.coefficients.first().copied()
        });
        warnings.extend(warnings::independent_effects(&groups, &modelled.collect::<Vec<_>>()));
        warnings.extend(notes);
        warnings.extend(conflict::of_scales(&scales, family, &summary));
        let data_sha256 = data.sha256().map_err(|error| Error::table(error, text))?.to_owned();
        let keeps_scales = !groups.is_empty() || integrating.is_some() || scale_seconds.is_some();
        let prior_from = prior_from.map(|from| PriorFrom { keeps_scales, ..from });
        warnings
            .extend(prior_from.as_ref().filter(|from| from.data_sha256 == data_sha256).map(counted_twice));
        let prior_gaussian = prior_gaussian.or(blended);
        let whole = prior_gaussian.is_some() && prior_from.is_none();
        Ok(Self {
            family: target.family(),
            family_chosen,
            options: ModelOptions {
                // The same factor on another machine.
                factor: target.sparse().map(|_| FactorName::Sparse).or(options.factor),
                ..scales::fixed(options, family, &scales, integrating.as_ref(), whole)
            },
            formula,
            success,
            categories,
            rows,
            dropped,
            rows_sha256,
            warnings,
            population,
            groups,
            scales,
            integrating,
            prior_gaussian,
            prior_from,
            recipe,
            variables,
            lines,
            scale_seconds,
            stopped_at,
            data_name: data.name.clone(),
            data_sha256,
            target,
        })
    }

    /// The number of coefficients d.
    pub fn dim(&self) -> usize {
        self.target.target().dim()
    }

    /// Refuses what needs one posterior at known scales, if scales are integrated over.
    pub fn needs_known_scales(&self, what: &str) -> Result<()> {
        match self.integrating {
            None => Ok(()),
            Some(_) => Err(Error::ScalesIntegrated { what: what.to_owned() }),
        }
    }

    /// The population's prior as text.
    pub fn prior_lines(&self) -> Vec<String> {
        if let Some(from) = &self.prior_from {
            return from.lines();
        }
        if let Some(path) = &self.options.prior_covariance {
            return vec![format!("normal, with mean and covariance from {}", path.display())];
        }
        if self.prior_gaussian.is_some() {
            return vec!["normal, with a given mean and covariance".to_owned()];
        }
        if self.options.leaves_prior_open() {
            let names = self.target.target().names();
            let mut lines =
                prior_words::describe(self.target.prior(), &names[..self.population], names.len());
            let own = |name: &String| self.options.prior.iter().any(|s| s.normal().is_some() && s.fits(name));
            if names[..self.population].iter().all(own) {
                return lines;
            }
            let scale = match self.family {
                Family::Gaussian { .. } => {
                    "2.5 sd(response)/sd(column) for a slope, 2.5 sd(response) for the intercept"
                }
                _ => "2.5/sd(column) for a slope, 2.5 for the intercept",
            };
            lines.push(format!("where none was given, scaled by the data: {scale}"));
            return lines;
        }
        let (whom, standard) = (
            if self.groups.is_empty() { "every coefficient" } else { "every population coefficient" },
            if self.options.standardize { ", of standardized predictors" } else { "" },
        );
        // A prior without a pattern applies to all coefficients and overrides what was said before it.
        let priors: Vec<(&PriorSpec, NormalPrior)> =
            self.options.prior.iter().filter_map(|spec| Some((spec, spec.normal()?))).collect();
        let all = priors.iter().rposition(|(spec, _)| spec.pattern.is_none());
        let scale = NormalPrior { mean: 0.0, sd: self.options.prior_scale.unwrap_or(PRIOR_SCALE) };
        let first = all.map_or(scale, |i| priors[i].1);
        let rest = &priors[all.map_or(0, |i| i + 1)..];
        let own = |(spec, normal): &(&PriorSpec, NormalPrior)| {
            Some(format!("{normal} on {}{standard}", spec.pattern.as_ref()?))
        };
        std::iter::once(format!("{first} on {whom}{standard}")).chain(rest.iter().filter_map(own)).collect()
    }

    /// The noise σ, if the family has one.
    pub fn noise_sd(&self) -> Option<f64> {
        self.family.noise_sd()
    }
}

/// What is known of a model besides its options.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Given<'a> {
    /// Nothing.
    Nothing,
    /// The population's prior.
    Prior(&'a Gaussian),
    /// A fit whose Gaussian becomes the prior.
    Earlier(&'a Earlier),
    /// A prior that came from a fit, and the recipe with the constants of that fit's columns.
    Recorded {
        /// The population's prior.
        prior: &'a Gaussian,
        /// The recipe of the model.
        recipe: &'a Recipe,
    },
}

/// Warning if a fit becomes the prior for its own data.
fn counted_twice(from: &PriorFrom) -> String {
    format!("the prior comes from a fit of the same data, {}: they count twice", from.fit)
}

/// Parses a formula.
pub fn parse(text: &str) -> Result<Formula> {
    Formula::parse(text).map_err(|error| Error::table(error, text))
}

fn frame_options(options: &ModelOptions, standardize: bool, coded: Vec<CodedFactor>) -> FrameOptions {
    FrameOptions {
        missing: match options.missing {
            Some(MissingName::Error) => Missing::Error,
            Some(MissingName::Drop) | None => Missing::Drop,
        },
        references: options.reference.iter().map(|r| (r.column.clone(), r.level.clone())).collect(),
        weights: options.weights.clone(),
        offset: options.offset.clone(),
        exposure: options.exposure.clone(),
        standardize,
        na: options.na.clone(),
        coded,
    }
}

/// The unit of times to an event: their mean, to two digits. The prior of the intercept is then about the hazard at that time, whatever the
/// shape and the units of the table.
pub fn time_unit(mean: f64) -> f64 {
    match mean > 0.0 && mean.is_finite() {
        true => format!("{mean:.1e}").parse().unwrap_or(1.0),
        false => 1.0,
    }
}

/// The named family, or the one that the response determines; and whether it was chosen from the response.
fn family(options: &ModelOptions, head: &Head<'_>, table: &str) -> Result<(Family, bool)> {
    let noise_sd = options.noise_sd.unwrap_or(1.0);
    let named = options.family.and_then(|name| name.family(noise_sd));
    let family = match named {
        Some(family) => family,
        None if head.has_trials => Family::Binomial,
        None if !head.categories.is_empty() => Family::Ordered { gaps: Gaps::default() },
        None if head.has_events => Family::Weibull { noise_sd, unit: 1.0, coarse: false },
        None if options.noise_sd.is_some() => Family::Gaussian { noise_sd },
        None if head.is_binary => Family::Bernoulli,
        None => {
            let column = head.response_name.to_owned();
            return Err(Error::NoFamily { table: table.to_owned(), column });
        }
    };
    // Without events, the exponential family is that of positive numbers.
    let coarse = head.has_intervals;
    let family = match family.with_time_unit(options.time_unit.unwrap_or_else(|| time_unit(head.mean))) {
        Some(Family::Weibull { noise_sd, unit, .. }) => Family::Weibull { noise_sd, unit, coarse },
        Some(Family::ExponentialTime { unit, .. }) if head.has_events => {
            Family::ExponentialTime { unit, coarse }
        }
        _ if head.has_events => return Err(Error::StrayEvents { family: family.name() }),
        _ => family,
    };
    let family = with_gaps(family, options, head)?;
    if options.nu.is_some() {
        return Err(BadRegression::StrayOption { option: "nu", family: family.name() }.into());
    }
    match (family.noise_sd(), options.noise_sd) {
        (Some(_), _) | (_, None) => {}
        (None, Some(noise_sd)) => return Err(Error::StrayNoise { noise_sd, family: family.name() }),
    }
    match (family, head.has_trials) {
        (Family::Binomial, false) => Err(Error::NoTrials { column: head.response_name.to_owned() }),
        (Family::Binomial | Family::Cloglog, true) => Ok((family, named.is_none())),
        (_, true) => Err(Error::StrayTrials { family: family.name() }),
        _ => Ok((family, named.is_none())),
    }
}

/// An ordered family with the gaps that were given, or with a gap of 1 for each level between two others.
fn with_gaps(family: Family, options: &ModelOptions, head: &Head<'_>) -> Result<Family> {
    let (ordered, levels) = (family.gaps().is_some(), head.categories.len());
    match (ordered, levels > 0) {
        (true, true) => {}
        (true, false) => {
            return Err(BadCategories::Missing { column: head.response_name.to_owned() }.into());
        }
        (false, true) => return Err(BadCategories::Stray { family: family.name() }.into()),
        (false, false) if options.gaps.is_empty() => return Ok(family),
        (false, false) => return Err(BadCategories::StrayGaps { family: family.name() }.into()),
    }
    let between = levels - 2;
    let widths = match options.gaps.len() {
        0 => vec![1.0; between],
        found if found == between => options.gaps.clone(),
        found => return Err(BadCategories::CountOfGaps { found, levels }.into()),
    };
    Ok(Family::Ordered { gaps: Gaps::new(&widths)? })
}
