//! Table, formula and options → target.

mod blocks;
pub mod compiled;
pub mod conflict;
mod data;
mod files;
pub mod memory;
mod opened;
mod prior;
pub(crate) mod prior_words;
mod scales;
mod target;
mod warnings;

pub use crate::record::scale::{Origin, Scale};
pub use blocks::Blocks;
pub use data::{Data, USUAL_MEMORY};
pub use target::ModelTarget;
pub use warnings::warnings;

use std::path::Path;

use provi::target::{Family, Prior};
use provi::{Design, Gaussian};
use provi_table::{DesignRows, Dropped, Formula, FrameOptions, GroupTerm, Missing, Recipe};

use crate::error::{Error, Result};
use crate::options::{MissingName, ModelOptions, NormalPrior, PRIOR_SCALE, PriorSpec};
use opened::{Facts, Head, Opened};
use scales::Chosen;

/// A target, and what a reader needs to know about it.
#[derive(Debug)]
pub struct Model {
    /// Conditional on the scales.
    pub target: ModelTarget,
    /// With its noise.
    pub family: Family,
    /// Was the family read off the response?
    pub family_chosen: bool,
    /// Canonical, `.` written out.
    pub formula: String,
    /// Of a response of text: the level that counts as 1.
    pub success: Option<String>,
    /// Rows in use.
    pub rows: usize,
    /// Rows left out.
    pub dropped: Dropped,
    /// Which rows are in use, where some were left out of a table in memory; empty otherwise.
    pub rows_sha256: String,
    /// What would trouble a fit, in words.
    pub warnings: Vec<String>,
    /// Population coefficients; those of the groups follow.
    pub population: usize,
    /// The group terms.
    pub groups: Vec<GroupTerm>,
    /// σ of the gaussian family, and the deviations between groups.
    pub scales: Vec<Scale>,
    /// What was asked for, with every scale at its value: the same model again.
    pub options: ModelOptions,
    /// The prior of the population, if it came as a mean and a covariance.
    pub prior_gaussian: Option<Gaussian>,
    /// How the design is made of a table.
    pub recipe: Recipe,
    /// The data's name in messages.
    pub data_name: String,
    /// Wall-clock seconds that the search for the scales took, if there was one.
    pub scale_seconds: Option<f64>,
    /// The best Gaussian so far, where the search for the scales was stopped.
    pub stopped_at: Option<Gaussian>,
    /// The data's digest.
    pub data_sha256: String,
}

impl Model {
    /// From a file, or standard input for `-`.
    pub fn read(path: &Path, formula: &str, options: &ModelOptions) -> Result<Self> {
        // A formula that cannot be read is refused before a large file is.
        parse(formula)?;
        let data = Data::read(path).map_err(|error| Error::table(error, formula))?;
        Self::build(&data, formula, options, None)
    }

    /// From data at hand; `prior` is the population's, where the options do not say it.
    pub fn build(data: &Data, text: &str, options: &ModelOptions, prior: Option<&Gaussian>) -> Result<Self> {
        let formula = parse(text)?;
        let open = |standardize| Opened::new(data, &formula, text, &frame_options(options, standardize));
        let opened = open(false)?;
        let head = opened.head();
        let (family, family_chosen) = family(options, &head, &data.name)?;
        let scales = scales::asked(options, &head, family)?;
        memory::refuse_large(&head.size(), scales.iter().any(|scale| scale.origin == Origin::Maximised))?;
        let population = head.population;
        let prior_gaussian = match prior {
            Some(given) => Some(given.clone()),
            None => prior::given(options, &head)?,
        };
        if let Some(found) = prior_gaussian.as_ref().map(Gaussian::dim).filter(|found| *found != population) {
            return Err(
                provi::Error::Shape { what: "the population's prior", found, expected: population }.into()
            );
        }
        // The design stays as the data have it; only what the priors mean is learned from the standardized one.
        let standard = match options.standardize {
            true => Some(open(true)?.columns().to_vec()),
            false => None,
        };
        let names = head.names.to_vec();
        let Facts { formula, success, rows, dropped, rows_sha256, mut warnings, groups, recipe } =
            opened.facts()?;
        // The prior's scales may be the data's: it takes the place of another once these are summed up.
        let target = opened.target(data, family, Prior::default())?;
        let summary = target.summary().into_owned();
        let prior = prior::Parts {
            options,
            names: &names,
            population,
            given: prior_gaussian.as_ref(),
            standard: standard.as_deref(),
            scales: &scales,
        };
        let target = target.with_prior(prior.assemble(family, &summary)?)?;
        let Chosen { target, scales, seconds: scale_seconds, stopped_at, note } =
            scales::choose(target, scales)?;
        warnings.extend(note.map(str::to_owned));
        warnings.extend(conflict::of_scales(&scales, family, &summary));
        Ok(Self {
            family: target.family(),
            family_chosen,
            options: scales::fixed(options, family, &scales, prior_gaussian.is_some()),
            formula,
            success,
            rows,
            dropped,
            rows_sha256,
            warnings,
            population,
            groups,
            scales,
            prior_gaussian,
            recipe,
            scale_seconds,
            stopped_at,
            data_name: data.name.clone(),
            data_sha256: data.sha256().map_err(|error| Error::table(error, text))?.to_owned(),
            target,
        })
    }

    /// d, the number of coefficients.
    pub fn dim(&self) -> usize {
        self.target.target().dim()
    }

    /// The population's prior in words.
    pub fn prior_lines(&self) -> Vec<String> {
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
        // A spec without a pattern is for all, and takes back what was said before it.
        let all = self.options.prior.iter().rposition(|spec| spec.pattern.is_none());
        let scale = NormalPrior { mean: 0.0, sd: self.options.prior_scale.unwrap_or(PRIOR_SCALE) };
        let first = all.map_or(scale, |i| self.options.prior[i].normal);
        let rest = &self.options.prior[all.map_or(0, |i| i + 1)..];
        let own = |spec: &PriorSpec| Some(format!("{} on {}{standard}", spec.normal, spec.pattern.as_ref()?));
        std::iter::once(format!("{first} on {whom}{standard}")).chain(rest.iter().filter_map(own)).collect()
    }

    /// σ, where the family has one.
    pub fn noise_sd(&self) -> Option<f64> {
        match self.family {
            Family::Gaussian { noise_sd } => Some(noise_sd),
            _ => None,
        }
    }
}

/// A formula out of its text.
pub fn parse(text: &str) -> Result<Formula> {
    Formula::parse(text).map_err(|error| Error::table(error, text))
}

fn frame_options(options: &ModelOptions, standardize: bool) -> FrameOptions {
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
    }
}

/// Dense, unless there are groups: then a row has a few entries among many columns.
pub fn design(rows: &DesignRows) -> provi::Result<Design> {
    if rows.groups.is_empty() {
        return Design::dense(rows.rows, rows.columns, &rows.population);
    }
    let compressed = rows.compressed();
    Design::csr(rows.rows, rows.columns, compressed.starts, compressed.columns, compressed.values)
}

/// The named family, or the one the response speaks of; and whether it was named.
fn family(options: &ModelOptions, head: &Head<'_>, table: &str) -> Result<(Family, bool)> {
    let noise_sd = options.noise_sd.unwrap_or(1.0);
    let named = options.family.map(|name| name.family(noise_sd));
    let family = match named {
        Some(family) => family,
        None if head.has_trials => Family::Binomial,
        None if options.noise_sd.is_some() => Family::Gaussian { noise_sd },
        None if head.is_binary => Family::Bernoulli,
        None => {
            let column = head.response_name.to_owned();
            return Err(Error::NoFamily { table: table.to_owned(), column });
        }
    };
    match (family, options.noise_sd) {
        (Family::Gaussian { .. }, _) | (_, None) => {}
        (_, Some(noise_sd)) => return Err(Error::StrayNoise { noise_sd, family: family.name() }),
    }
    match (family == Family::Binomial, head.has_trials) {
        (true, false) => Err(Error::NoTrials { column: head.response_name.to_owned() }),
        (false, true) => Err(Error::StrayTrials { family: family.name() }),
        _ => Ok((family, named.is_none())),
    }
}
