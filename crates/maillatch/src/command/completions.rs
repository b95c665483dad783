//! `completions`: a script for the shell.

use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;

/// Prints a completion script for a shell.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  maillatch completions bash > ~/.local/share/bash-completion/completions/maillatch")]
pub(crate) struct Completions {
    /// The shell to complete for.
    shell: Shell,
}

pub(crate) fn run(args: &Completions) -> ExitCode {
    let mut command = Cli::command();
    clap_complete::generate(
        args.shell,
        &mut command,
        "maillatch",
        &mut std::io::stdout(),
    );
    ExitCode::SUCCESS
}
