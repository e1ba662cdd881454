//! What an analysis refuses, or fails at.

mod bad_contrast;
mod bad_fit;

use std::path::{Path, PathBuf};

use provi::memory::Bytes;
use thiserror::Error;

use crate::number::grouped;

pub use bad_contrast::BadContrast;
pub use bad_fit::BadFit;

/// [`std::result::Result`] with an [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Everything an analysis refuses, or fails at. A shell adds the way out in its own words.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The table or the formula.
    #[error("{error}")]
    Table {
        /// What is wrong, and where in the formula.
        error: Box<provi_table::Error>,
        /// The formula.
        formula: String,
    },
    /// The library.
    #[error("{0}")]
    Library(#[from] provi::Error),
    /// A compiled library.
    #[error("{0}")]
    Compiled(#[from] provi_ffi::Error),
    /// Values to start from that cannot be read.
    #[error("`{}` holds no values to start from: {reason}", .path.display())]
    BadInit {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A value that the family does not take.
    #[error(
        "column `{column}` of `{table}` holds {value} on line {line}, where family {family} needs {needed}"
    )]
    Response {
        /// The table's name.
        table: String,
        /// The response's.
        column: String,
        /// The line of the file, or the row.
        line: usize,
        /// What stands there.
        value: f64,
        /// What is needed.
        needed: &'static str,
        /// The family's name.
        family: &'static str,
    },
    /// More coefficients than this machine has memory for.
    #[error(
        "the model has {} coefficients{}, and a fit holds dense matrices of coefficients by coefficients, {matrix} each: it needs about {needed} of memory; {available} available; {}", grouped(*.coefficients as u64), most_of(.group.as_ref()), if .group.is_some() { "group by something with fewer levels, merge rare ones, or fit a part of the data" } else { "leave terms out, or merge rare levels" }
    )]
    TooManyCoefficients {
        /// d.
        coefficients: usize,
        /// The group term with the most of them, and its levels.
        group: Option<(String, usize)>,
        /// A matrix of coefficients by coefficients.
        matrix: provi::memory::Bytes,
        /// What the automatic path needs.
        needed: provi::memory::Bytes,
        /// What there is.
        available: provi::memory::Bytes,
    },
    /// A response that does not speak of its family.
    #[error("no family is given, and the response `{column}` of `{table}` is not binary")]
    NoFamily {
        /// The table's name.
        table: String,
        /// The response's.
        column: String,
    },
    /// A binomial family without trials.
    #[error("the binomial family needs the number of trials, and the response `{column}` has none")]
    NoTrials {
        /// The response's name.
        column: String,
    },
    /// Trials without a binomial family.
    #[error("the response has trials, which family {family} does not take")]
    StrayTrials {
        /// The family's name.
        family: &'static str,
    },
    /// A number given as an option is out of its range.
    #[error("{0}")]
    Option(provi::Error),
    /// A prior for nothing.
    #[error("prior '{spec}' fits no coefficient of the population, which are {}", listed(.known))]
    StrayPrior {
        /// As it was written.
        spec: String,
        /// The population's coefficients.
        known: Vec<String>,
    },
    /// Two priors for the same coefficients.
    #[error(
        "prior-covariance says the prior of every population coefficient, which leaves nothing for {other}"
    )]
    TwoPriors {
        /// The other option.
        other: &'static str,
    },
    /// A scale for nothing.
    #[error("group-scale '{spec}' fits no group term{}", scales(.known))]
    StrayScale {
        /// As it was written.
        spec: String,
        /// The model's scales.
        known: Vec<String>,
    },
    /// A noise for a family that has none.
    #[error("noise-sd {noise_sd} goes with the gaussian family, not with {family}")]
    StrayNoise {
        /// What was given.
        noise_sd: f64,
        /// The family's name.
        family: &'static str,
    },
    /// A limit that is none.
    #[error("time-limit {0} is not a number of seconds above 0")]
    TimeLimit(f64),
    /// An option of planned steps beside the automatic path.
    #[error("{option} speaks of planned steps, which the method auto does not make")]
    AutoHasNoPlan {
        /// The option's name.
        option: &'static str,
    },
    /// A law for terms, and no number of them.
    #[error("sampling {sampling} says how rows are drawn, but not how many: give a subsample")]
    SamplingOfNothing {
        /// The law.
        sampling: provi::subsample::Sampling,
    },
    /// A contrast that cannot be read.
    #[error("{error}")]
    Contrast {
        /// What is wrong, and where.
        error: Box<BadContrast>,
        /// The contrast.
        text: String,
    },
    /// A fit whose design cannot be made of new rows.
    #[error("the fit does not say how its design is made, so no other rows can be put into it")]
    NoRecipe,
    /// A fit of a program's own matrices or density.
    #[error("the fit is of a {kind}, not of a formula, so {what}")]
    NotOfFormula {
        /// What it is of.
        kind: &'static str,
        /// What cannot be done.
        what: &'static str,
    },
    /// A model that this version cannot rebuild.
    #[error("the fit's {what} is `{found}`, which this version does not know")]
    UnknownModel {
        /// The part of the model.
        what: &'static str,
        /// What it is.
        found: String,
    },
    /// Data with another digest than the fit's.
    #[error("the fit was made with other data: its SHA-256 is {stored}, that of the given file {found}")]
    OtherData {
        /// The fit's.
        stored: String,
        /// That of the data.
        found: String,
    },
    /// A file of a compiled model with another digest than the one that is meant.
    #[error("`{}` is not the {what} that is meant: its SHA-256 is {found}, not {stored}", .path.display())]
    OtherFile {
        /// What the file is.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The digest that is meant.
        stored: String,
        /// That of the file.
        found: String,
    },
    /// A model with other coefficients than the fit's.
    #[error("the fit has the coefficients {}, the model {}", listed(.stored), listed(.given))]
    OtherCoefficients {
        /// The fit's.
        stored: Vec<String>,
        /// The model's.
        given: Vec<String>,
    },
    /// A file that is no Gaussian.
    #[error("`{}` is no fit to certify: {problem}", .path.display())]
    BadFit {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: BadFit,
    },
    /// A file that is no fit.
    #[error("`{}` holds no fit: {problem}", .path.display())]
    NoFit {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: BadFit,
    },
    /// A Gaussian of another tool where a fit of provi is needed.
    #[error("`{}` holds a mean and a covariance, but no fit of provi", .path.display())]
    NoRecord {
        /// The file.
        path: PathBuf,
    },
    /// A folder that is taken.
    #[error("`{}` holds a fit already", .path.display())]
    FitExists {
        /// The folder.
        path: PathBuf,
    },
    /// A folder with a run that can go on.
    #[error("`{}` holds a run that was stopped before its end, with a checkpoint", .path.display())]
    RunExists {
        /// The folder.
        path: PathBuf,
    },
    /// A folder that another process writes to.
    #[error("`{}` is being written to by another run{}", .path.display(), of_process(*.process))]
    Busy {
        /// The folder.
        path: PathBuf,
        /// The process, where it is known.
        process: Option<u32>,
    },
    /// A fit where something else is to be written.
    #[error("`{}` belongs to a fit, which nothing else may replace", .path.display())]
    PartOfFit {
        /// The file or folder.
        path: PathBuf,
    },
    /// A folder where a Zarr store is to be written.
    #[error("`{}` is a folder and no Zarr store, and what it holds would be lost", .path.display())]
    OtherFolder {
        /// The folder.
        path: PathBuf,
    },
    /// A place that is taken.
    #[error("`{}` is there already", .path.display())]
    Exists {
        /// The file or folder.
        path: PathBuf,
    },
    /// A file that cannot be written; nothing is left half-written.
    #[error("cannot write `{}`: {reason}", .path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// A folder without a run to take up.
    #[error("`{}` holds nothing to go on with: {reason}", .path.display())]
    NothingToResume {
        /// The folder.
        path: PathBuf,
        /// What is missing.
        reason: String,
    },
    /// Draws of successes, and nobody said of how many trials.
    #[error(
        "draws of a binomial response need the trials of each row, and these rows have none; read them with their trials"
    )]
    DrawsWithoutTrials,
    /// More than the machine has room for.
    #[error("{what} need about {needed}, and {available} are available")]
    Room {
        /// What is asked for, with its number.
        what: String,
        /// What that takes.
        needed: Bytes,
        /// What there is.
        available: Bytes,
    },
    /// Importance weights that cannot be trusted.
    #[error("{} of the importance weights: draws resampled by them are not to be believed ({draws} draws of q)", heavy(*.pareto_k))]
    HeavyTail {
        /// k̂.
        pareto_k: f64,
        /// Draws it was found from.
        draws: usize,
    },
}

impl Error {
    /// A refusal of the table or the formula.
    pub fn table(error: provi_table::Error, formula: &str) -> Self {
        Self::Table { error: Box::new(error), formula: formula.to_owned() }
    }

    /// A file or folder that the system does not let us write.
    pub fn write(path: &Path, error: &std::io::Error) -> Self {
        Self::Write { path: path.to_owned(), reason: error.to_string() }
    }

    /// Whether the message begins with the name of an option, in the spelling of run files: a shell may put its own
    /// sign before it.
    pub fn begins_with_option(&self) -> bool {
        matches!(
            self,
            Self::Option(_)
                | Self::StrayPrior { .. }
                | Self::StrayScale { .. }
                | Self::TwoPriors { .. }
                | Self::StrayNoise { .. }
                | Self::TimeLimit(_)
                | Self::AutoHasNoPlan { .. }
                | Self::SamplingOfNothing { .. }
        )
    }
}

fn of_process(process: Option<u32>) -> String {
    process.map_or(String::new(), |process| format!(", process {process}"))
}

fn heavy(pareto_k: f64) -> String {
    if pareto_k.is_finite() {
        format!("k̂ = {pareto_k:.2} is above 0.7, the limit,")
    } else {
        "no k̂ could be found, so nothing is known about the tail".to_owned()
    }
}

/// Some names, the first ten.
fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(10).map(|name| format!("`{name}`")).collect();
    let more = if names.len() > shown.len() { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

fn scales(known: &[String]) -> String {
    if known.is_empty() {
        ": the formula has none".to_owned()
    } else {
        format!(", which are {}", listed(known))
    }
}

fn most_of(group: Option<&(String, usize)>) -> String {
    group.map_or_else(String::new, |(text, levels)| {
        format!(", most of them for the {} levels of `{text}`", grouped(*levels as u64))
    })
}
