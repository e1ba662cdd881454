//! `provi probe-library`: the process in which `provi fit` tries a library before it opens it.

use std::path::PathBuf;

use clap::Args as Group;

use super::Outcome;
use crate::failure::Result;

/// The name of this command, for the process that starts it.
pub(crate) const COMMAND: &str = "probe-library";

#[derive(Debug, Group)]
pub(crate) struct ProbeLibraryArgs {
    /// Its interface
    pub(crate) kind: String,
    /// The library
    pub(crate) path: PathBuf,
    /// Of the model's random numbers
    pub(crate) seed: String,
}

pub(super) fn execute(args: &ProbeLibraryArgs) -> Result<Outcome> {
    provi_ffi::probe::child(&args.kind, &args.path, &args.seed).map_err(provi_analysis::Error::from)?;
    Ok(Outcome::said(String::new()))
}
