//! `provi man`: the manual pages.

use std::path::{Path, PathBuf};

use clap::{Args as Group, Command, CommandFactory};
use clap_mangen::Man;
use provi_analysis::Error;
use provi_analysis::record::store::write_file;

use super::Outcome;
use crate::args::Args;
use crate::failure::Result;

const HELP: &str = "\
Examples:
  provi man | man -l -
  provi man --out ~/.local/share/man/man1";

#[derive(Debug, Group)]
#[command(after_help = HELP)]
pub(crate) struct ManArgs {
    /// Write a page for every command to this folder [default: the first page on standard output]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn execute(args: &ManArgs) -> Result<Outcome> {
    let mut command = Args::command();
    // After `build` the subcommands have their full names and the options they inherit.
    command.build();
    let Some(dir) = &args.out else {
        return Ok(Outcome::said(page(command, "provi", Path::new("provi.1"))?));
    };
    std::fs::create_dir_all(dir).map_err(|error| Error::write(dir, &error))?;
    let mut written = 0;
    for command in std::iter::once(&command).chain(command.get_subcommands()) {
        let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
        let path = dir.join(format!("{name}.1"));
        write_file(&path, page(command.clone(), &name, &path)?.as_bytes())?;
        written += 1;
    }
    Ok(Outcome::said(format!("{written} pages written to {}\n", dir.display())))
}

fn page(command: Command, name: &str, path: &Path) -> Result<String> {
    let mut bytes = Vec::new();
    Man::new(command).title(name).render(&mut bytes).map_err(|error| Error::write(path, &error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
