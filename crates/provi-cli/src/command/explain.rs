//! `provi explain`: the meaning of a word in the output.

use clap::Args;

use super::Outcome;
use crate::explain;
use crate::failure::Result;

const HELP: &str = "\
Examples:
  provi explain
  provi explain certificate
  provi explain khat
  provi explain cert-gap";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ExplainArgs {
    /// A word or a [key] of the output; without one, all topics are listed
    topic: Option<String>,
}

pub(crate) fn execute(args: &ExplainArgs) -> Result<Outcome> {
    let text = match &args.topic {
        None => explain::list(),
        Some(word) => explain::find(word)?,
    };
    Ok(Outcome::said(text))
}
