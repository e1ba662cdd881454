//! What ends the command without a result, said so that the way out is clear.

use std::fmt;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};
use thiserror::Error;

use crate::contrast::BadContrast;
use crate::given::BadFit;
use crate::output::style;

pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// Everything the command refuses, or fails at.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error("{error}")]
    Table { error: Box<provi_table::Error>, formula: Box<NamedSource<String>> },
    #[error("{0}")]
    Library(#[from] provi::Error),
    #[error(
        "column `{column}` of `{table}` holds {value} on line {line}, where family {family} needs {needed}"
    )]
    Response {
        table: String,
        column: String,
        line: usize,
        value: f64,
        needed: &'static str,
        family: &'static str,
    },
    #[error("no family is given, and the response `{column}` of `{table}` is not binary")]
    NoFamily { table: String, column: String },
    #[error("the binomial family needs the number of trials, and the response `{column}` has none")]
    NoTrials { column: String },
    #[error("the response has trials, which family {family} does not take")]
    StrayTrials { family: &'static str },
    #[error("--prior '{spec}' fits no coefficient of the population, which are {}", listed(.known))]
    StrayPrior { spec: String, known: Vec<String> },
    #[error("--group-scale '{spec}' fits no group term{}", scales(.known))]
    StrayScale { spec: String, known: Vec<String> },
    #[error("`{}` is no run file: {reason}", .path.display())]
    BadRunFile { path: PathBuf, reason: String },
    #[error("the run file is for other data: its SHA-256 is {stored}, that of `{}` {found}", .path.display())]
    OtherRunData { path: PathBuf, stored: String, found: String },
    #[error("`{}` holds nothing to go on with: {reason}", .path.display())]
    NothingToResume { path: PathBuf, reason: String },
    #[error("the fit does not say how its design is made, so no other rows can be put into it")]
    NoRecipe,
    #[error("--noise-sd {noise_sd} goes with the gaussian family, not with {family}")]
    StrayNoise { noise_sd: f64, family: &'static str },
    #[error("`{}` holds a fit already", .path.display())]
    FitExists { path: PathBuf },
    #[error("cannot write `{}`: {reason}", .path.display())]
    Write { path: PathBuf, reason: String },
    #[error("a covariance of {dim} coefficients is kept in a file of its own, which needs a folder")]
    NoFolder { dim: usize },
    #[error("--time-limit {0} is not a number of seconds above 0")]
    TimeLimit(f64),
    #[error("{option} speaks of planned steps, which the method auto does not make")]
    AutoHasNoPlan { option: &'static str },
    #[error("`{}` is no fit to certify: {problem}", .path.display())]
    BadFit { path: PathBuf, problem: BadFit },
    #[error("the fit does not say which model it belongs to, and no formula is given")]
    NoFormula,
    #[error("the fit's {what} is `{found}`, which this version does not know")]
    UnknownModel { what: &'static str, found: String },
    #[error("the fit was made with other data: its SHA-256 is {stored}, that of the given file {found}")]
    OtherData { stored: String, found: String },
    #[error("the fit was made with {what} {stored}, not {given}")]
    OtherModel { what: String, stored: String, given: String },
    #[error("{error}")]
    Contrast { error: Box<BadContrast>, text: Box<NamedSource<String>> },
    #[error("`{}` holds no fit: {problem}", .path.display())]
    NoFit { path: PathBuf, problem: BadFit },
    #[error("`{}` holds a mean and a covariance, but no fit of provi", .path.display())]
    NoRecord { path: PathBuf },
    #[error("`{}` has no certificate", .path.display())]
    NoCertificate { path: PathBuf },
    #[error("`{}` is there already", .path.display())]
    Exists { path: PathBuf },
    #[error("{} of the importance weights: draws resampled by them are not to be believed ({draws} draws of q)", heavy(*.pareto_k))]
    HeavyTail { pareto_k: f64, draws: usize },
    #[error("a zarr store is a folder, and cannot go to standard output")]
    ZarrNeedsFolder,
    #[error("`{}` and `{}` differ in {what} ({one}, {other}), so their evidence is not of the same data", .first.display(), .second.display())]
    NotComparable { first: PathBuf, second: PathBuf, what: &'static str, one: String, other: String },
    #[error("there is no topic `{word}`{}", .nearest.map_or(String::new(), |n| format!("; did you mean `{n}`?")))]
    UnknownTopic { word: String, nearest: Option<&'static str> },
    #[error("cannot start {threads} threads: {reason}")]
    Threads { threads: u16, reason: String },
    #[error("`{}` is neither an .svg nor a .png file", .path.display())]
    UnknownImage { path: PathBuf },
    #[error("the plot cannot be drawn: {0}")]
    Draw(String),
    #[error("cannot print the result: {0}")]
    Print(String),
}

impl Failure {
    /// A refusal of the table or the formula, pointing into the formula where that is at fault.
    pub(crate) fn table(error: provi_table::Error, formula: &str) -> Self {
        let mut text = formula.trim_end().to_owned();
        if error.span().is_some_and(|span| span.start >= text.len()) {
            text.push(' '); // where a word is missing, the label stands behind the last one
        }
        Self::Table { error: Box::new(error), formula: Box::new(NamedSource::new("formula", text)) }
    }

    /// A refusal of a contrast, pointing into it.
    pub(crate) fn contrast(error: BadContrast, text: &str) -> Self {
        let mut text = text.trim_end().to_owned();
        if error.span().start >= text.len() {
            text.push(' '); // the label stands behind the last word
        }
        Self::Contrast { error: Box::new(error), text: Box::new(NamedSource::new("contrast", text)) }
    }

    /// 1: the accuracy asked for cannot be proved. 2: anything else.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Library(provi::Error::OutOfReach { .. }) => ExitCode::from(1),
            _ => ExitCode::from(2),
        }
    }

    /// On standard error; in colour on a terminal, plain elsewhere.
    pub(crate) fn print(&self) {
        let terminal = std::io::stderr().is_terminal();
        let mut theme = match (terminal, style::colour_wanted()) {
            (true, true) => GraphicalTheme::unicode(),
            (true, false) => GraphicalTheme::unicode_nocolor(),
            (false, _) => GraphicalTheme::none(),
        };
        theme.characters.error = "Error:".to_owned();
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_links(false)
            .with_wrap_lines(terminal)
            // The message is the library's own, whole: its source would say it twice.
            .without_cause_chain();
        let mut text = String::new();
        if handler.render_report(&mut text, self).is_err() {
            text = self.to_string();
        }
        eprintln!("{}", text.trim());
    }

    fn way_out(&self) -> Option<&'static str> {
        Some(match self {
            Self::Response { .. } => "correct the value, recode the column, or name another --family",
            Self::NoFamily { .. } => {
                "say what the response is: --family gaussian for numbers, --family poisson for counts"
            }
            Self::NoTrials { .. } => {
                "write 'successes | trials(n) ~ …' or 'cbind(successes, failures) ~ …', or say --family bernoulli"
            }
            Self::StrayTrials { .. } => "leave --family out, or say --family binomial",
            Self::StrayPrior { .. } => {
                "names are matched whole, `*` stands for anything; effects of groups have a --group-scale instead"
            }
            Self::StrayScale { .. } => {
                "a group term reads (1 | group) in the formula, and its scale 'group=SD'"
            }
            Self::OtherRunData { .. } => "give the data it was written for, or say --force to fit these",
            Self::BadRunFile { .. } => {
                "`provi fit … --out DIR` writes one to start from; its keys are the options of `provi fit`"
            }
            Self::NothingToResume { .. } => {
                "a fit with --out DIR that was stopped or killed leaves DIR/run.toml and DIR/checkpoint.bin"
            }
            Self::UnknownImage { .. } => "let FILE end in .svg or .png",
            Self::NoRecipe => "fit again with this version of provi, with --out DIR",
            Self::StrayNoise { .. } => "leave it out, or say --family gaussian",
            Self::FitExists { .. } => "choose another --out, or replace it with --force",
            Self::Write { .. } => "nothing was left half-written; free or choose another folder with --out",
            Self::AutoHasNoPlan { .. } => {
                "leave it out and ask for --accuracy EPS, or name a planned --method, such as exact or proj-stl"
            }
            Self::BadFit { problem: BadFit::Unreadable(_), .. } => "FIT comes first, then DATA",
            Self::BadFit { .. } => "`provi certify --help` shows what a fit looks like",
            Self::NoFormula => "give it after the data: provi certify FIT DATA 'y ~ a + b'",
            Self::OtherData { .. } | Self::OtherModel { .. } => {
                "give what it was made with, or say --force to go on with what is given"
            }
            Self::NoFit { .. } => "`provi fit DATA FORMULA --out DIR` leaves one in DIR",
            Self::NoRecord { .. } => "`provi certify` takes such a file, with its data and formula",
            Self::NoCertificate { .. } => {
                "fit it again with this version: `provi fit DATA FORMULA --out DIR --force`"
            }
            Self::Exists { .. } => "choose another --out, or replace it with --force",
            Self::HeavyTail { .. } => {
                "leave --psis out and have draws of q, or say --force; `provi explain khat` says what it means"
            }
            Self::ZarrNeedsFolder => "name one with --out DIR.zarr",
            Self::NotComparable { .. } => {
                "compare models of the same response in the same rows, or say --force"
            }
            Self::UnknownTopic { .. } => "`provi explain` lists all topics",
            Self::NoFolder { .. } => "name one with --out DIR",
            Self::Library(provi::Error::MissingConstant { .. }) => {
                "`provi fit --method auto`, the default, needs no such constant; ask for --accuracy instead of --distance"
            }
            Self::Library(provi::Error::OutOfReach { .. }) => {
                "`provi plan` compares the methods; a smaller --prior-scale makes every one of them shorter"
            }
            _ => return None,
        })
    }
}

fn heavy(pareto_k: f64) -> String {
    if pareto_k.is_finite() {
        format!("k̂ = {pareto_k:.2} is above 0.7, the limit,")
    } else {
        "no k̂ could be found, so nothing is known about the tail".to_owned()
    }
}

impl Diagnostic for Failure {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.way_out().map(|text| Box::new(text) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        match self {
            Self::Table { error, formula } if error.span().is_some() => Some(&**formula),
            Self::Contrast { text, .. } => Some(&**text),
            _ => None,
        }
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let (span, end) = match self {
            Self::Table { error, formula } => (error.span()?, formula.inner().len()),
            Self::Contrast { error, text } => (error.span(), text.inner().len()),
            _ => return None,
        };
        let start = span.start.min(end.saturating_sub(1));
        let label = LabeledSpan::underline(start..span.end.clamp(start + 1, end.max(start + 1)));
        Some(Box::new(std::iter::once(label)))
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
