//! Errors of an analysis.

mod bad_categories;
mod bad_contrast;
mod bad_effect;
mod bad_fit;
mod bad_prior;
mod bad_regression;
mod words;

use std::path::{Path, PathBuf};

use provi::memory::Bytes;
use thiserror::Error;

use crate::number::grouped;

pub use bad_categories::BadCategories;
pub use bad_contrast::BadContrast;
pub use bad_effect::BadEffect;
pub use bad_fit::BadFit;
pub use bad_prior::BadPrior;
pub use bad_regression::BadRegression;
use words::{correlation_labels, heavy, listed, most_of, of_process, scale_labels, scales};

/// [`std::result::Result`] with an [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Everything that an analysis refuses or fails at. Each shell adds the way out in its own words.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// An error in the table or the formula.
    #[error("{error}")]
    Table {
        /// What is wrong, and where in the formula.
        error: Box<provi_table::Error>,
        /// The formula.
        formula: String,
    },
    /// A card that was asked for and cannot be used.
    #[error("device {asked} cannot be used: {reason}; say auto or cpu, or leave the option out")]
    NoDevice {
        /// Its name.
        asked: String,
        /// What is missing.
        reason: String,
    },
    /// A card with too little memory for the rows.
    #[error(
        "the rows and a block of draws need {needed} on {device}, which has {free} free; say auto or cpu, or fit fewer rows"
    )]
    DeviceRoom {
        /// The card.
        device: String,
        /// What they need.
        needed: Bytes,
        /// What is free.
        free: Bytes,
    },
    /// Draws of the posterior for rows that are not in memory.
    #[error(
        "exact draws need the rows in memory, and this fit reads its files at each pass; draws of the fitted Gaussian need no data"
    )]
    ExactNeedsRows,
    /// Rows that are not in memory cannot be left out.
    #[error(
        "leaving out rows needs them in memory, and this fit reads its files at each pass; fit a table that fits in memory, or a sample of the \
         rows"
    )]
    LooNeedsRows,
    /// A spread of the estimate needs each row's score.
    #[error("a robust spread needs the rows in memory: leave out --memory, and give one file")]
    RobustNeedsRows,
    /// An ordered response or family without the other, or gaps that do not fit.
    #[error(transparent)]
    Categories(#[from] BadCategories),
    /// What does not go with a family beyond one log-concave function of one linear predictor.
    #[error(transparent)]
    Regression(#[from] BadRegression),
    /// A column of clusters that is not there.
    #[error("{table} has no column `{column}` whose values could be clusters")]
    NoCluster {
        /// The column.
        column: String,
        /// The data.
        table: String,
    },
    /// A row without a cluster.
    #[error(
        "line {line} of {table} has no value of `{column}`, so that its cluster is not known; fill it in, or leave out the row"
    )]
    MissingCluster {
        /// The column.
        column: String,
        /// The line of the file.
        line: usize,
        /// The data.
        table: String,
    },
    /// Data can be simulated for rows in memory only.
    #[error(
        "simulated data need the rows in memory, and this model reads its files at each pass; use a table that fits in memory, or a sample of \
         the rows"
    )]
    SimulationNeedsRows,
    /// Weights are no law of responses.
    #[error(
        "weights are no law of responses, so a calibration with them would compare with nothing; leave the column of weights out"
    )]
    WeightedSimulation,
    /// Bounds of elpd are those of refits.
    #[error(
        "bounds of elpd on both sides come from refits, not from importance ratios; say method = refit, or leave it out"
    )]
    LooCertify,
    /// A fit whose scales are integrated over, and a model whose scales are known, or the other way round.
    #[error(
        "this is not the model of the fit: in one of them scales are integrated over, and in the other they are known"
    )]
    LooOtherModel,
    /// A row that cannot be predicted.
    #[error(
        "row {row}{} has no finite log density without it: its response is impossible for what the other rows say, or its predictor overflows; \
         look at that row",
        line.map_or(String::new(), |line| format!(" of the model, line {line} of the file,"))
    )]
    LooNotFinite {
        /// The row of the model, counted from 1.
        row: usize,
        /// Its line in the file, whose first line is 1.
        line: Option<usize>,
    },
    /// Too few draws for importance ratios.
    #[error("importance ratios of {draws} draws have no tail to judge; at least {least} are needed")]
    LooDraws {
        /// The number given.
        draws: usize,
        /// The least number.
        least: usize,
    },
    /// A fit without bounds of its evidence.
    #[error("`{fit}` has no certificate")]
    NoCertificate {
        /// Its name.
        fit: String,
    },
    /// Fits of different data.
    #[error(
        "`{first}` and `{second}` differ in {what} ({one}, {other}), so their evidence is not of the same data"
    )]
    NotComparable {
        /// One fit.
        first: String,
        /// Another.
        second: String,
        /// In what they differ.
        what: &'static str,
        /// That of the one.
        one: String,
        /// That of the other.
        other: String,
    },
    /// Bytes that are not the state of a fit.
    #[error("this is not the state of a fit: {reason}")]
    NotAState {
        /// What is wrong with it.
        reason: String,
    },
    /// A question about effects that has no answer.
    #[error("{0}")]
    Effect(Box<BadEffect>),
    /// An error of the library.
    #[error("{0}")]
    Library(#[from] provi::Error),
    /// An error of a compiled library.
    #[error("{0}")]
    Compiled(#[from] provi_ffi::Error),
    /// A file of starting values that cannot be read.
    #[error("`{}` holds no values to start from: {reason}", .path.display())]
    BadInit {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A response value that the family does not allow.
    #[error(
        "column `{column}` of `{table}` holds {value} on line {line}, where family {family} needs {needed}"
    )]
    Response {
        /// The table's name.
        table: String,
        /// The column of the response.
        column: String,
        /// The line of the file, or the row.
        line: usize,
        /// The value found.
        value: f64,
        /// What the family needs.
        needed: &'static str,
        /// The family's name.
        family: &'static str,
    },
    /// A model with more coefficients than this machine has memory for.
    #[error(
        "the model has {} coefficients{}, and a fit holds dense matrices of coefficients by coefficients, {matrix} each: it needs about {needed} of memory; {available} available; {}", grouped(*.coefficients as u64), most_of(.group.as_ref()), if .group.is_some() { "group by something with fewer levels, merge rare ones, or fit a part of the data" } else { "leave terms out, or merge rare levels" }
    )]
    TooManyCoefficients {
        /// The number of coefficients d.
        coefficients: usize,
        /// The group term with the most coefficients, and the number of its levels.
        group: Option<(String, usize)>,
        /// The size of one matrix of coefficients by coefficients.
        matrix: provi::memory::Bytes,
        /// What the automatic method needs.
        needed: provi::memory::Bytes,
        /// What is available.
        available: provi::memory::Bytes,
    },
    /// No family is given, and the response does not determine one.
    #[error("no family is given, and the response `{column}` of `{table}` is not binary")]
    NoFamily {
        /// The table's name.
        table: String,
        /// The column of the response.
        column: String,
    },
    /// The binomial family, but no trials.
    #[error("the binomial family needs the number of trials, and the response `{column}` has none")]
    NoTrials {
        /// The column of the response.
        column: String,
    },
    /// Times to an event, but not a family of times.
    #[error("the response is a time to an event, which family {family} does not take")]
    StrayEvents {
        /// The family.
        family: &'static str,
    },
    /// Trials, but not the binomial family.
    #[error("the response has trials, which family {family} does not take")]
    StrayTrials {
        /// The family's name.
        family: &'static str,
    },
    /// A number given as an option is out of its range.
    #[error("{0}")]
    Option(provi::Error),
    /// A prior that matches no coefficient.
    #[error("prior '{spec}' fits no coefficient of the population, which are {}", listed(.known))]
    StrayPrior {
        /// The prior as the user wrote it.
        spec: String,
        /// The population coefficients.
        known: Vec<String>,
    },
    /// Two priors for the same coefficients.
    #[error(
        "prior-covariance is the prior of every population coefficient, so {other} has no coefficient left"
    )]
    TwoPriors {
        /// The other option.
        other: &'static str,
    },
    /// A fit that cannot be the prior of this model.
    #[error("`{fit}` cannot be the prior of this model: {problem}")]
    PriorFrom {
        /// The fit, as it was named.
        fit: String,
        /// Why not, and the way out.
        problem: Box<BadPrior>,
    },
    /// A prior of scales that fits none.
    #[error("prior '{spec}' fits no scale of this model{}", scale_labels(.known))]
    StrayScalePrior {
        /// The prior.
        spec: String,
        /// The scales of the model.
        known: Vec<String>,
    },
    /// A prior of correlations that fits none.
    #[error("prior '{spec}' fits no correlations of this model{}", correlation_labels(.known))]
    StrayCorrelationPrior {
        /// The prior.
        spec: String,
        /// The correlations of the model.
        known: Vec<String>,
    },
    /// A prior of a scale that is given.
    #[error("prior '{spec}' is of {scale}, which is given as {sd}: leave one of the two out")]
    GivenScalePrior {
        /// The prior.
        spec: String,
        /// The scale.
        scale: String,
        /// Its value.
        sd: f64,
    },
    /// A prior of a scale that is maximised over.
    #[error(
        "prior '{spec}' has no effect where scales are maximised over; integrate over them with `scales` = integrate"
    )]
    MaximisedScalePrior {
        /// The prior.
        spec: String,
    },
    /// Something that needs known scales.
    #[error(
        "{what} needs scales that are known, and here they are integrated over; give them (noise-sd, group-scale), or let `scales` = \
         maximise find them"
    )]
    ScalesIntegrated {
        /// What was asked for.
        what: String,
    },
    /// A sparse factor was asked for, and has too many entries.
    #[error(
        "the sparse factor of {coefficients} coefficients does not fit into memory: crossed groups fill it, and every level of a group has a \
         share of it. Leave out one of the terms, or use a machine with more memory"
    )]
    FactorFilled {
        /// The number of coefficients.
        coefficients: usize,
    },
    /// A Gaussian that is not held as the model's own is.
    #[error(
        "the given Gaussian has no sparse factor of this model's structure, so nothing can be computed of it; fit it by this model, or \
         certify it with --factor dense"
    )]
    OtherFactor,
    /// Something that a sparse factor cannot give.
    #[error("{what} needs a dense factor of q, and this model has a sparse one; see --factor")]
    SparseFactor {
        /// What was asked for.
        what: String,
    },
    /// A group scale that matches no group term.
    #[error("group-scale '{spec}' fits no group term{}", scales(.known))]
    StrayScale {
        /// The group scale as the user wrote it.
        spec: String,
        /// The names of the model's scales.
        known: Vec<String>,
    },
    /// A noise level for a family that has none.
    #[error(
        "noise-sd {noise_sd} goes with the gaussian, gamma, weibull and negbinomial family, not with {family}"
    )]
    StrayNoise {
        /// The noise level given.
        noise_sd: f64,
        /// The family's name.
        family: &'static str,
    },
    /// A time limit that is not a positive number of seconds.
    #[error("time-limit {0} is not a number of seconds above 0")]
    TimeLimit(f64),
    /// An option of planned steps, together with the automatic method.
    #[error("{option} is an option of planned steps, and the method auto plans none")]
    AutoHasNoPlan {
        /// The option's name.
        option: &'static str,
    },
    /// A record that should hold an answer of a location-scale family, and does not.
    #[error("this is no record of a location-scale answer: {found}")]
    NotLocated {
        /// What was found instead.
        found: String,
    },
    /// A kind of sampling without a number of rows.
    #[error("sampling {sampling} says how rows are drawn, but not how many: give a subsample")]
    SamplingOfNothing {
        /// The kind of sampling.
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
    /// The fit has no recipe from which a design could be made for new rows.
    #[error("the fit does not record how its design is made, so it takes no new rows")]
    NoRecipe,
    /// A fit of matrices or of a density that a program gave, not of a formula.
    #[error("the fit is of a {kind}, not of a formula, so {what}")]
    NotOfFormula {
        /// What it is a fit of.
        kind: &'static str,
        /// What cannot be done.
        what: &'static str,
    },
    /// A model that this version cannot rebuild.
    #[error("the fit's {what} is `{found}`, which this version does not know")]
    UnknownModel {
        /// The part of the model.
        what: &'static str,
        /// The unknown value.
        found: String,
    },
    /// Data with another digest than the fit's data.
    #[error("the fit was made with other data: its SHA-256 is {stored}, that of the given file {found}")]
    OtherData {
        /// The digest of the fit's data.
        stored: String,
        /// The digest of the given data.
        found: String,
    },
    /// A file of a compiled model whose digest is not the expected one.
    #[error("`{}` is not the expected {what}: its SHA-256 is {found}, not {stored}", .path.display())]
    OtherFile {
        /// What the file is.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The expected digest.
        stored: String,
        /// The digest of the file.
        found: String,
    },
    /// A model whose coefficients differ from the fit's.
    #[error("the fit has the coefficients {}, the model {}", listed(.stored), listed(.given))]
    OtherCoefficients {
        /// The coefficients of the fit.
        stored: Vec<String>,
        /// The coefficients of the model.
        given: Vec<String>,
    },
    /// A file that does not hold a Gaussian.
    #[error("`{}` is no fit to certify: {problem}", .path.display())]
    BadFit {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: BadFit,
    },
    /// A file that does not hold a fit.
    #[error("`{}` holds no fit: {problem}", .path.display())]
    NoFit {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: BadFit,
    },
    /// A Gaussian from another tool, where a fit of provi is needed.
    #[error("`{}` holds a mean and a covariance, but no fit of provi", .path.display())]
    NoRecord {
        /// The file.
        path: PathBuf,
    },
    /// A folder that already holds a fit.
    #[error("`{}` holds a fit already", .path.display())]
    FitExists {
        /// The folder.
        path: PathBuf,
    },
    /// A folder with a run that can be resumed.
    #[error("`{}` holds a run that was stopped before its end, with a checkpoint", .path.display())]
    RunExists {
        /// The folder.
        path: PathBuf,
    },
    /// A folder to which another process is writing.
    #[error("`{}` is being written to by another run{}", .path.display(), of_process(*.process))]
    Busy {
        /// The folder.
        path: PathBuf,
        /// The number of that process, if it is known.
        process: Option<u32>,
    },
    /// A fit would be overwritten by something else.
    #[error("`{}` belongs to a fit, which nothing else may replace", .path.display())]
    PartOfFit {
        /// The file or folder.
        path: PathBuf,
    },
    /// A folder that is not a Zarr store would be overwritten.
    #[error("`{}` is a folder and no Zarr store, and what it holds would be lost", .path.display())]
    OtherFolder {
        /// The folder.
        path: PathBuf,
    },
    /// A file or folder that already exists.
    #[error("`{}` already exists", .path.display())]
    Exists {
        /// The file or folder.
        path: PathBuf,
    },
    /// A file that cannot be written. Nothing is left half-written.
    #[error("cannot write `{}`: {reason}", .path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The system's message.
        reason: String,
    },
    /// A folder without a run to resume.
    #[error("`{}` holds no run to resume: {reason}", .path.display())]
    NothingToResume {
        /// The folder.
        path: PathBuf,
        /// What is missing.
        reason: String,
    },
    /// Draws of a binomial response at rows without trials.
    #[error(
        "draws of a binomial response need the trials of each row, and these rows have none; read them with their trials"
    )]
    DrawsWithoutTrials,
    /// More memory is needed than the machine has.
    #[error("{what} need about {needed}, and {available} are available")]
    Room {
        /// What is asked for, with its number.
        what: String,
        /// The memory that it needs.
        needed: Bytes,
        /// The memory that is available.
        available: Bytes,
    },
    /// Importance weights that cannot be trusted.
    #[error(
        "{} of the importance weights: draws resampled by them cannot be trusted (they keep {effective:.0} of {draws} draws of q; half would be enough whatever k̂ is)",
        heavy(*.pareto_k)
    )]
    HeavyTail {
        /// k̂, or infinity if none could be computed.
        pareto_k: f64,
        /// (Σw)²/Σw² of the smoothed weights.
        effective: f64,
        /// Number of draws of q.
        draws: usize,
    },
}

impl Error {
    /// An error of the table or the formula.
    pub fn table(error: provi_table::Error, formula: &str) -> Self {
        Self::Table { error: Box::new(error), formula: formula.to_owned() }
    }

    /// A file or folder that the system does not let provi write.
    pub fn write(path: &Path, error: &std::io::Error) -> Self {
        Self::Write { path: path.to_owned(), reason: error.to_string() }
    }

    /// Whether the message begins with the name of an option, spelled as in run files. A shell may put its own
    /// prefix before it.
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
