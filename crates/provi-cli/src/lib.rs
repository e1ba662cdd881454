//! The `provi` command: from a table to a Gaussian posterior, with what is proved about it. It is a library, so
//! that a program which starts several processes can be the same command.
//!
//! ```text
//! args ──► command ──► provi-analysis ──► output
//! ```
//! Exit status: 0 finished, 1 something asked for is not proved, 2 failed, 3 stopped early, 130 aborted.
#![forbid(unsafe_code)]

mod args;
mod command;
mod explain;
mod failure;
mod interrupt;
mod log;
mod output;
mod processes;
mod progress;
mod run_file;
mod sensitivity;
mod watched;

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use provi::stream::Reduce;

/// Runs the command with the arguments of this process.
pub fn main() -> ExitCode {
    run(None)
}

/// Runs the command as one of several processes, each of which calls this with the same arguments. The first
/// process prints for all; another one prints only its own failure.
pub fn main_among(crew: Arc<dyn Reduce>) -> ExitCode {
    run(Some(&crew))
}

fn run(crew: Option<&Arc<dyn Reduce>>) -> ExitCode {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // The Parquet reader panics on some damaged files; the panic is caught and reported as an error.
        if !panic.location().is_some_and(|place| place.file().contains("parquet")) {
            usual(panic);
        }
    }));
    let first = crew.is_none_or(|crew| crew.rank() == 0);
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            if first {
                // If nobody reads the help any more, that is not an error.
                let _ = error.print();
                if error.kind() == clap::error::ErrorKind::DisplayVersion {
                    let _ = writeln!(std::io::stdout(), "{}", provi_gpu::survey());
                }
            }
            return ExitCode::from(error.exit_code() as u8);
        }
    };
    match command::execute(&args, crew) {
        Ok(outcome) if first => outcome.finish(),
        Ok(outcome) => outcome.exit_code(),
        Err(failure) => {
            if !failure.is_elsewhere() {
                failure.print();
            }
            failure.exit_code()
        }
    }
}
