//! `provi explain`: what a word of the output means.

use clap::Args;

use super::Outcome;
use crate::explain;
use crate::failure::Result;

const HELP: &str = "\
Examples:
  provi explain
  provi explain certificate
  provi explain khat";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ExplainArgs {
    /// A word of the output; all of them are listed without one
    topic: Option<String>,
}

pub(crate) fn execute(args: &ExplainArgs) -> Result<Outcome> {
    let text = match &args.topic {
        None => explain::list(),
        Some(word) => explain::find(word)?.to_owned(),
    };
    Ok(Outcome::said(text))
}
