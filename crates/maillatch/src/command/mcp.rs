//! `mcp`: the Model Context Protocol on standard input and output.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use client::Client;

use crate::remote::Remote;

/// Serves a model's client on standard input and output, by the Model Context Protocol.
#[derive(Debug, Args)]
#[command(after_help = "\
A client of the protocol starts this process. Its configuration:
  { \"mcpServers\": { \"maillatch\": { \"command\": \"maillatch\", \"args\": [\"mcp\"] } } }

A running server offers the same tools over HTTP at /mcp, with the same API keys.")]
pub(crate) struct Mcp {
    #[command(flatten)]
    remote: Remote,
}

pub(crate) async fn run(args: Mcp) -> Result<ExitCode> {
    let agent = Client::new(args.remote.connection()?)?;
    mcp::serve_stdio(agent).await?;
    Ok(ExitCode::SUCCESS)
}
