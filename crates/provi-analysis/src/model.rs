//! Table, formula and options → target.

mod data;
mod prior;
mod scales;
mod warnings;

pub use data::Data;
pub use scales::{Origin, Scale};
pub use warnings::warnings;

use std::path::Path;

use provi::target::{Family, Glm};
use provi::{Design, Gaussian, Target};
use provi_table::{DesignRows, Dropped, Formula, FrameOptions, GroupTerm, Missing, ModelFrame, Recipe};

use crate::error::{Error, Result};
use crate::options::{MissingName, ModelOptions, NormalPrior, PRIOR_SCALE, PriorSpec};

/// A target, and what a reader needs to know about it.
#[derive(Debug)]
pub struct Model {
    /// Conditional on the scales.
    pub target: Glm,
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

    /// From data in memory; `prior` is the population's, where the options do not say it.
    pub fn build(data: &Data, text: &str, options: &ModelOptions, prior: Option<&Gaussian>) -> Result<Self> {
        let refuse = |error| Error::table(error, text);
        let formula = parse(text)?;
        let table = data.table().map_err(refuse)?;
        let frame_of = |standardize| {
            ModelFrame::new(&table, &formula, &frame_options(options, standardize)).map_err(refuse)
        };
        let mut frame = frame_of(false)?;
        let (family, family_chosen) = family(options, &frame, &data.name)?;
        let scales = scales::asked(options, &frame, family)?;
        let prior_gaussian = match prior {
            Some(given) => Some(given.clone()),
            None => prior::given(options, &frame)?,
        };
        let population = frame.design.population_columns;
        if let Some(found) = prior_gaussian.as_ref().map(Gaussian::dim).filter(|found| *found != population) {
            return Err(
                provi::Error::Shape { what: "the population's prior", found, expected: population }.into()
            );
        }
        // The design stays as the data have it; only what the priors mean is learned from the standardized one.
        let standard = match options.standardize {
            true => Some(frame_of(true)?.recipe().population.columns.clone()),
            false => None,
        };
        let prior = prior::assemble(options, &frame, prior_gaussian.as_ref(), standard.as_deref(), &scales)?;
        let at_line = |error| match error {
            provi::Error::Response { family, row, value, needed } => Error::Response {
                column: frame.response_name.clone(),
                line: frame.line_of_row(row).unwrap_or(row),
                table: data.name.clone(),
                value,
                needed,
                family,
            },
            other => Error::Library(other),
        };
        let design = design(&frame.design)?;
        let target = match &frame.trials {
            Some(trials) => Glm::binomial(design, &frame.response, trials, prior),
            None => Glm::new(family, design, &frame.response, prior),
        };
        let mut target = target.map_err(at_line)?.with_names(frame.names.clone())?;
        if let Some(weights) = &frame.weights {
            target = target.with_weights(weights)?;
        }
        if let Some(offsets) = &frame.offsets {
            target = target.with_offsets(offsets)?;
        }
        let (target, scales) = scales::choose(target, scales)?;
        let recipe = frame.recipe().clone();
        let warnings = warnings(&frame)?;
        Ok(Self {
            family: target.family(),
            family_chosen,
            success: frame.response_levels.take().map(|[_, success]| success),
            options: scales::fixed(options, family, &scales),
            formula: frame.formula,
            rows: frame.rows,
            dropped: frame.dropped,
            warnings,
            population: frame.design.population_columns,
            groups: frame.groups,
            scales,
            prior_gaussian,
            recipe,
            data_name: data.name.clone(),
            data_sha256: data.sha256.clone(),
            target,
        })
    }

    /// d, the number of coefficients.
    pub fn dim(&self) -> usize {
        self.target.dim()
    }

    /// The population's prior in words.
    pub fn prior_lines(&self) -> Vec<String> {
        if let Some(path) = &self.options.prior_covariance {
            return vec![format!("normal, with mean and covariance from {}", path.display())];
        }
        if self.prior_gaussian.is_some() {
            return vec!["normal, with a given mean and covariance".to_owned()];
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
    }
}

/// Dense, unless there are groups: then a row has a few entries among many columns.
pub fn design(rows: &DesignRows) -> Result<Design> {
    if rows.groups.is_empty() {
        return Ok(Design::dense(&rows.population, rows.rows, rows.columns)?);
    }
    let compressed = rows.compressed();
    Ok(Design::csr(rows.rows, rows.columns, compressed.starts, compressed.columns, compressed.values)?)
}

/// The named family, or the one the response speaks of; and whether it was named.
fn family(options: &ModelOptions, frame: &ModelFrame, table: &str) -> Result<(Family, bool)> {
    let noise_sd = options.noise_sd.unwrap_or(1.0);
    let named = options.family.map(|name| name.family(noise_sd));
    let family = match named {
        Some(family) => family,
        None if frame.trials.is_some() => Family::Binomial,
        None if options.noise_sd.is_some() => Family::Gaussian { noise_sd },
        None if is_binary(&frame.response) => Family::Bernoulli,
        None => {
            return Err(Error::NoFamily { table: table.to_owned(), column: frame.response_name.clone() });
        }
    };
    match (family, options.noise_sd) {
        (Family::Gaussian { .. }, _) | (_, None) => {}
        (_, Some(noise_sd)) => return Err(Error::StrayNoise { noise_sd, family: family.name() }),
    }
    match (family == Family::Binomial, frame.trials.is_some()) {
        (true, false) => Err(Error::NoTrials { column: frame.response_name.clone() }),
        (false, true) => Err(Error::StrayTrials { family: family.name() }),
        _ => Ok((family, named.is_none())),
    }
}

/// 0 and 1, or −1 and 1, and nothing else.
fn is_binary(response: &[f64]) -> bool {
    let all = |low: f64| response.iter().all(|&y| y.total_cmp(&low).is_eq() || y.total_cmp(&1.0).is_eq());
    all(0.0) || all(-1.0)
}
