//! `completions`: a completion script for the shell.

use std::process::ExitCode;

use clap::Args;
use clap_complete::Shell;

/// Prints a completion script for a shell.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  maillatch completions bash > ~/.local/share/bash-completion/completions/maillatch")]
pub(crate) struct Completions {
    /// The shell to complete for.
    shell: Shell,
}

pub(crate) fn run(args: &Completions, mut cli: clap::Command) -> ExitCode {
    clap_complete::generate(args.shell, &mut cli, "maillatch", &mut std::io::stdout());
    ExitCode::SUCCESS
}
