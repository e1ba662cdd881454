//! `provi completions`: the script with which a shell completes the command.

use clap::{Args as Group, CommandFactory};
use clap_complete::Shell;

use super::Outcome;
use crate::args::Args;

const HELP: &str = "\
Examples:
  provi completions bash > ~/.local/share/bash-completion/completions/provi
  provi completions zsh > ~/.zfunc/_provi
  provi completions fish > ~/.config/fish/completions/provi.fish";

#[derive(Debug, Group)]
#[command(after_help = HELP)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(crate) fn execute(args: &CompletionsArgs) -> Outcome {
    let mut bytes = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "provi", &mut bytes);
    Outcome::said(String::from_utf8_lossy(&bytes).into_owned())
}
