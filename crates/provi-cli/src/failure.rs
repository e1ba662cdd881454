//! Errors that end the command without a result, each with the way out.

mod drawn;

use std::io::IsTerminal;
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;

use provi_analysis::Error as Refused;
use provi_analysis::error::{BadEffect, BadFit};
use thiserror::Error;

use crate::output::style;
use drawn::{Dress, Place, drawn};

pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// Everything that the command refuses or fails at.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error("{}{error}", if error.begins_with_option() { "--" } else { "" })]
    Analysis { error: Box<provi_analysis::Error>, text: Option<Box<Given>> },
    #[error("`{}` is not a run file: {reason}", .path.display())]
    BadRunFile { path: PathBuf, reason: String },
    #[error("the run file is for other data: its SHA-256 is {stored}, that of `{}` {found}", .path.display())]
    OtherRunData { path: PathBuf, stored: String, found: String },
    #[error("{option} is for a library, and the run file is for a table and a formula")]
    OfLibrary { option: String },
    #[error("{option} goes with a table and a formula, and a library is to be fitted")]
    OfTable { option: String },
    #[error("a covariance of {dim} coefficients is kept in a file of its own, which needs a folder")]
    NoFolder { dim: usize },
    #[error("the fit does not say which model it belongs to, and no formula is given")]
    NoFormula,
    #[error("the fit was made with {what} {stored}, not {given}")]
    OtherModel { what: String, stored: String, given: String },
    #[error("`{}` has no certificate", .path.display())]
    NoCertificate { path: PathBuf },
    #[error("a zarr store is a folder, and cannot go to standard output")]
    ZarrNeedsFolder,
    #[error("there is no topic `{word}`{}", .nearest.map_or(String::new(), |n| format!("; did you mean `{n}`?")))]
    UnknownTopic { word: String, nearest: Option<&'static str> },
    #[error("cannot start {threads} threads: {reason}")]
    Threads { threads: u32, reason: String },
    #[error("`{}` is neither an .svg nor a .png file", .path.display())]
    UnknownImage { path: PathBuf },
    #[error("{option} writes the rows of one fit, and there are {fits}")]
    RowsOfSeveral { option: &'static str, fits: usize },
    #[error("`{}` ends in none of .csv, .json, .svg, .png and .html", .path.display())]
    UnknownEffectsFile { path: PathBuf },
    #[error("the plot cannot be drawn: {0}")]
    Draw(String),
    #[error("the library cannot be probed: {0}")]
    Probe(String),
    #[error("--distributed needs the program provi-mpi, and it cannot be started: {reason}")]
    NoProcesses { reason: String },
    #[error("this is one of {size} processes, and each would fit all of the data")]
    NotDistributed { size: usize },
    #[error("cannot print the result: {0}")]
    Print(String),
}

/// A text that the user gave.
#[derive(Debug)]
pub(crate) struct Given {
    name: &'static str,
    text: String,
}

impl From<provi_analysis::Error> for Failure {
    /// With the formula or the contrast, so that the message can point into it.
    fn from(error: provi_analysis::Error) -> Self {
        let source = |name: &'static str, text: &str, span: &Range<usize>| {
            let mut text = text.trim_end().to_owned();
            if span.start >= text.len() {
                text.push(' '); // if a word is missing, the label comes after the last one
            }
            Box::new(Given { name, text })
        };
        let text = match &error {
            Refused::Table { error, formula } => error.span().map(|span| source("formula", formula, &span)),
            Refused::Contrast { error, text } => Some(source("contrast", text, &error.span())),
            _ => None,
        };
        Self::Analysis { error: Box::new(error), text }
    }
}

impl From<provi::Error> for Failure {
    fn from(error: provi::Error) -> Self {
        provi_analysis::Error::from(error).into()
    }
}

impl Failure {
    /// An error of the table or the formula, pointing into the formula if the error is there.
    pub(crate) fn table(error: provi_table::Error, formula: &str) -> Self {
        provi_analysis::Error::table(error, formula).into()
    }

    /// The library's error, if it is one.
    fn refused(&self) -> Option<&Refused> {
        match self {
            Self::Analysis { error, .. } => Some(error),
            _ => None,
        }
    }

    /// Exit status. 1: the accuracy asked for cannot be proved. 2: anything else.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self.refused() {
            Some(Refused::Library(provi::Error::OutOfReach { .. } | provi::Error::BelowRounding { .. })) => {
                ExitCode::from(1)
            }
            _ => ExitCode::from(2),
        }
    }

    /// Whether the command was stopped, rather than failed.
    pub(crate) fn is_stop(&self) -> bool {
        matches!(self.refused(), Some(Refused::Library(provi::Error::Stopped { .. })))
    }

    /// Whether another process failed, which prints its own message.
    pub(crate) fn is_elsewhere(&self) -> bool {
        matches!(self.refused(), Some(Refused::Library(provi::Error::Rank { .. })))
    }

    /// Prints it on standard error; in colour on a terminal.
    pub(crate) fn print(&self) {
        let dress = match (std::io::stderr().is_terminal(), style::colour_wanted()) {
            (true, true) => Dress::Colours,
            (true, false) => Dress::Lines,
            (false, _) => Dress::Plain,
        };
        eprintln!("{}", drawn(&self.to_string(), self.place().as_ref(), self.way_out(), dress));
    }

    /// The words of the user that are at fault.
    fn place(&self) -> Option<Place<'_>> {
        let Self::Analysis { error, text: Some(given) } = self else { return None };
        let span = match &**error {
            Refused::Table { error, .. } => error.span()?,
            Refused::Contrast { error, .. } => error.span(),
            _ => return None,
        };
        Some(Place { name: given.name, text: &given.text, span })
    }

    fn way_out(&self) -> Option<&'static str> {
        Some(match self {
            Self::Analysis { error, .. } => return way_out(error),
            Self::OtherRunData { .. } => "give the data it was written for, or say --force to fit these",
            Self::BadRunFile { .. } => {
                "`provi fit … --out DIR` writes one to start from; its keys are the options of `provi fit`"
            }
            Self::OfLibrary { .. } => "leave it out, or leave --config out",
            Self::OfTable { .. } => {
                "leave it out: the options of a library are under `Compiled models` in the help"
            }
            Self::UnknownImage { .. } => "let FILE end in .svg or .png",
            Self::RowsOfSeveral { .. } => "give one fit, or leave that option out",
            Self::UnknownEffectsFile { .. } => "let FILE end in one of them",
            Self::NoFormula => "give it after the data: provi certify FIT DATA 'y ~ a + b'",
            Self::OtherModel { .. } => {
                "give what it was made with, or say --force to go on with what is given"
            }
            Self::NoCertificate { .. } => {
                "fit it again with this version: `provi fit DATA FORMULA --out DIR --force`"
            }
            Self::ZarrNeedsFolder => "name one with --out DIR.zarr",
            Self::UnknownTopic { .. } => "`provi explain` lists all topics",
            Self::NoFolder { .. } => "name one with --out DIR",
            Self::NoProcesses { .. } => {
                "`cargo install --path crates/provi-mpi --features mpi` puts it beside provi; it needs an MPI with its headers and \
                 libclang (on Debian: apt-get install libopenmpi-dev openmpi-bin libclang-dev clang)"
            }
            Self::NotDistributed { .. } => "say --distributed, or start it without mpirun",
            _ => return None,
        })
    }
}

/// The way out of an error, in terms of the command line.
fn way_out(error: &Refused) -> Option<&'static str> {
    Some(match error {
        Refused::Response { .. } => "correct the value, recode the column, or name another --family",
        Refused::NoFamily { .. } => {
            "say what the response is: --family gaussian for numbers, --family gamma for numbers above 0, --family poisson or negbinomial for counts"
        }
        Refused::NoTrials { .. } => {
            "write 'successes | trials(n) ~ …' or 'cbind(successes, failures) ~ …', or say --family bernoulli"
        }
        Refused::StrayEvents { .. } => "leave --family out, or say --family weibull or exponential",
        Refused::StrayTrials { .. } => "leave --family out, or say --family binomial or cloglog",
        Refused::StrayPrior { .. } => {
            "names are matched whole, `*` stands for anything; effects of groups have a --group-scale instead"
        }
        Refused::TwoPriors { .. } => "put every prior into the file, or leave it out",
        Refused::StrayScale { .. } => {
            "a group term reads (1 | group) in the formula, and its scale 'group=SD'"
        }
        Refused::NothingToResume { .. } => {
            "a fit with --out DIR that was stopped or killed leaves DIR/run.toml, and mostly DIR/checkpoint.bin"
        }
        Refused::NoRecipe => "fit again with this version of provi, with --out DIR",
        Refused::Effect(error) if **error == BadEffect::NoRanges => {
            "add --data FILE, or fit again with this version of provi"
        }
        Refused::NotOfFormula { .. } => {
            "do it in the program that made the fit; `provi summary`, `report` and `sample` need no more than the fit"
        }
        Refused::StrayNoise { .. } => "leave it out, or say --family gaussian, gamma, weibull or negbinomial",
        Refused::NotComparable { .. } => {
            "compare models of the same response in the same rows, or say --force"
        }
        Refused::FitExists { .. } => "choose another --out, or replace it with --force",
        Refused::Write { .. } => "nothing was left half-written; free or choose another folder with --out",
        Refused::Library(provi::Error::Stopped { .. }) => {
            "give it a longer --time-limit, or a smaller model: fewer columns, or scales that are given (--noise-sd, --group-scale)"
        }
        Refused::AutoHasNoPlan { option: "subsample" } => {
            "leave it out, or name a method that has a bound for it, such as --method prox-energy"
        }
        Refused::Library(provi::Error::NotSubsampled { .. }) => {
            "`provi explain subsample` says which methods have a bound for it"
        }
        Refused::AutoHasNoPlan { .. } => {
            "leave it out and ask for --accuracy EPS, or name a planned --method, such as exact or proj-stl"
        }
        Refused::SamplingOfNothing { .. } => "add --subsample B, or leave it out",
        Refused::Library(provi::Error::SubsampleSize { .. }) => {
            "leave --subsample out, or choose fewer rows; `provi explain subsample` says what it does"
        }
        Refused::BadFit { problem: BadFit::Unreadable(_), .. } => "FIT comes first, then DATA",
        Refused::BadFit { .. } => "`provi certify --help` shows what a fit looks like",
        Refused::OtherData { .. } | Refused::OtherFile { .. } => {
            "give what it was made with, or say --force to go on with what is given"
        }
        Refused::NoFit { .. } => "`provi fit DATA FORMULA --out DIR` leaves one in DIR",
        Refused::NoRecord { .. } => "`provi certify` takes such a file, with its data and formula",
        Refused::RunExists { .. } => {
            "go on with `provi fit --resume DIR`, choose another --out, or begin anew with --force"
        }
        Refused::Room { .. } => "ask for fewer; draws as CSV are written as they are made, in little memory",
        Refused::Busy { .. } => {
            "wait until it has ended, or choose another --out; no lock outlives its process"
        }
        Refused::PartOfFit { .. } | Refused::OtherFolder { .. } => "choose another --out",
        Refused::Exists { .. } => "choose another --out, or replace it with --force",
        Refused::HeavyTail { .. } => {
            "leave --psis out and have draws of q, or say --force; `provi explain khat` says what it means"
        }
        Refused::Library(provi::Error::MissingConstant { .. }) => {
            "`provi fit --method auto`, the default, needs no such constant; ask for --accuracy instead of --distance"
        }
        Refused::Library(provi::Error::OutOfReach { .. }) => {
            "`provi plan` compares the methods; a smaller --prior-scale makes every one of them shorter"
        }
        _ => return None,
    })
}
