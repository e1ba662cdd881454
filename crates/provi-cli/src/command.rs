//! The subcommands: each reads its arguments, calls the library and returns a text.

pub(crate) mod calibrate;
mod certify;
pub(crate) mod compare;
pub(crate) mod completions;
mod constants;
mod demo;
pub(crate) mod effects;
pub(crate) mod explain;
pub(crate) mod fit;
pub(crate) mod inspect;
pub(crate) mod library;
pub(crate) mod location_scale;
pub(crate) mod loo;
pub(crate) mod man;
mod plan;
pub(crate) mod predict;
pub(crate) mod prior;
pub(crate) mod probe_library;
pub(crate) mod report;
pub(crate) mod sample;
pub(crate) mod summary;
pub(crate) mod verify;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;
use std::sync::Arc;

use provi::stream::Reduce;

use crate::args::{Args, Command};
use crate::failure::{Failure, Result};
use crate::interrupt;

/// The text of a command, and whether it reached what was asked for.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) text: String,
    pub(crate) proved: bool,
}

impl Outcome {
    pub(crate) fn said(text: String) -> Self {
        Self { text, proved: true }
    }

    /// Exit status; 1 if what was asked for was not proved.
    fn exit_code(&self) -> ExitCode {
        ExitCode::from(u8::from(!self.proved))
    }

    /// Prints the text. If the reader has closed the pipe (`| head`), that is not an error.
    fn print(&self) -> Result<()> {
        let mut stdout = std::io::stdout().lock();
        match stdout.write_all(self.text.as_bytes()).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::Print(error.to_string())),
            _ => Ok(()),
        }
    }
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ending {
    pub(crate) outcome: Outcome,
    /// Whether a search was stopped before its end.
    pub(crate) stopped: bool,
    /// An error after the answer was found, such as a full disk.
    pub(crate) failure: Option<Failure>,
}

impl From<Outcome> for Ending {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, stopped: false, failure: None }
    }
}

/// Exit status of a search that was stopped early although nothing that was asked for is missing.
const STOPPED: u8 = 3;

impl Ending {
    /// 0: finished. 1: something asked for was not proved, or a check failed. 2: failed. 3: stopped early, nothing
    /// missing.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match &self.failure {
            Some(failure) => failure.exit_code(),
            None if self.stopped && self.outcome.proved => ExitCode::from(STOPPED),
            None => self.outcome.exit_code(),
        }
    }

    /// Prints the text, and then the error, if there is one.
    pub(crate) fn finish(self) -> ExitCode {
        let code = self.exit_code();
        let printed = self.outcome.print();
        for failure in self.failure.iter().chain(printed.as_ref().err()) {
            failure.print();
        }
        printed.map_or_else(|failure| failure.exit_code(), |()| code)
    }
}

/// Runs the command. If there are several processes, only a fit uses all of them.
pub(crate) fn execute(args: &Args, crew: Option<&Arc<dyn Reduce>>) -> Result<Ending> {
    match &args.command {
        Command::Fit(args) => fit::execute(args, crew),
        Command::Demo(args) if !is_later(crew) => demo::execute(args),
        Command::Calibrate(args) if !is_later(crew) => calibrate::execute(args),
        Command::LocationScale(args) if !is_later(crew) => location_scale::execute(args),
        Command::Sample(args) if args.exact && !is_later(crew) => sample::exact(args),
        _ => said(args, crew).map(Ending::from),
    }
}

/// Whether this is one of several processes, and not the first.
fn is_later(crew: Option<&Arc<dyn Reduce>>) -> bool {
    crew.is_some_and(|crew| crew.rank() > 0)
}

/// The commands that fit nothing: they return their whole answer, or an error.
fn said(args: &Args, crew: Option<&Arc<dyn Reduce>>) -> Result<Outcome> {
    interrupt::end_at_once();
    match &args.command {
        _ if is_later(crew) => Ok(Outcome::said(String::new())),
        Command::Fit(_) | Command::Demo(_) | Command::Calibrate(_) | Command::LocationScale(_) => {
            unreachable!("they are run by `execute`")
        }
        Command::Constants(args) => constants::execute(args),
        Command::Plan(args) => plan::execute(args),
        Command::Certify(args) => certify::execute(args),
        Command::Summary(args) => summary::execute(args),
        Command::Report(args) => report::execute(args),
        Command::Predict(args) => predict::execute(args),
        Command::Prior(args) => prior::execute(args),
        Command::Effects(args) => effects::execute(args),
        Command::Inspect(args) => inspect::execute(args),
        Command::Sample(args) => sample::execute(args),
        Command::Compare(args) => compare::execute(args),
        Command::Loo(args) => loo::execute(args),
        Command::Explain(args) => explain::execute(args),
        Command::Completions(args) => Ok(completions::execute(args)),
        Command::Man(args) => man::execute(args),
        Command::Verify(args) => verify::execute(args),
        Command::ProbeLibrary(args) => probe_library::execute(args),
    }
}
