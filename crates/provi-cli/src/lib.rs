//! The `provi` command: from a table to a Gaussian posterior, with what is proved about it. A library, so that a program
//! which starts several processes can be the same command.
//!
//! ```text
//! args ──► command ──► provi-analysis ──► output
//! ```
//! Exit status: 0 finished, 1 an accuracy was asked for and not proved, 2 failed.
#![forbid(unsafe_code)]

mod args;
mod command;
mod explain;
mod failure;
mod interrupt;
mod log;
mod output;
mod progress;
mod run_file;
mod sensitivity;
mod watched;

use std::process::ExitCode;

use clap::Parser;

/// The command, with the words this process was started with.
pub fn main() -> ExitCode {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // The Parquet reader panics on some damaged files; that is caught and said in our own words.
        if !panic.location().is_some_and(|place| place.file().contains("parquet")) {
            usual(panic);
        }
    }));
    let args = args::Args::parse();
    match command::execute(&args) {
        Ok(outcome) => outcome.finish(),
        Err(failure) => {
            failure.print();
            failure.exit_code()
        }
    }
}
