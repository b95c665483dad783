//! `completions`: a completion script for the shell.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
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

pub(crate) fn run(args: &Completions, mut cli: clap::Command) -> Result<ExitCode> {
    // Into memory first: the generator panics when the pipe is closed.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli, "maillatch", &mut script);
    std::io::stdout().lock().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}
