//! `mcp`: the Model Context Protocol on standard input and output.

mod config_file;
mod install;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use client::Client;

use crate::remote::Remote;

/// Serves a model's client on standard input and output, by the Model Context Protocol.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  maillatch mcp install --client claude            print the client's configuration
  maillatch mcp install --client cursor --write    write it

A client of the protocol starts `maillatch mcp` itself. A running server offers the same
tools over HTTP at /mcp, with the same API keys.")]
pub(crate) struct Mcp {
    #[command(subcommand)]
    act: Option<Act>,
    #[command(flatten)]
    remote: Remote,
}

#[derive(Debug, Subcommand)]
enum Act {
    /// Print or write the configuration of a client that starts `maillatch mcp`.
    Install(install::Install),
}

pub(crate) async fn run(args: Mcp) -> Result<ExitCode> {
    if let Some(Act::Install(install)) = args.act {
        return install.run(&args.remote);
    }
    let agent = Client::new(args.remote.connection()?)?;
    mcp::serve_stdio(agent).await?;
    Ok(ExitCode::SUCCESS)
}
