//! `source`: where mail comes from, how to connect it, and whether it works.

mod add;
mod test;

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use providers::Sources;
use serde_json::{Value, json};

use crate::config::ConfigArgs;

/// Lists sources, says how to connect one, and tries one out.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  maillatch source list
  maillatch source add postmark --domain inbox.example.com >> maillatch.toml
  maillatch source test postmark --to agent@inbox.test")]
pub(crate) struct SourceCommand {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    place: ConfigArgs,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the configured sources.
    List {
        /// Print JSON on standard output.
        #[arg(long)]
        json: bool,
    },
    /// Print the settings of a new source, its URL, and what to click at the provider.
    Add(add::Add),
    /// Post a correctly signed sample of the provider's own shape to a running server.
    Test(test::Test),
}

pub(crate) async fn run(args: SourceCommand) -> Result<ExitCode> {
    match args.action {
        Action::List { json } => list(&args.place, json),
        Action::Add(add) => add::run(&add),
        Action::Test(test) => test::run(test, &args.place).await,
    }
}

fn list(place: &ConfigArgs, as_json: bool) -> Result<ExitCode> {
    let sources = Sources::build(place.load(None)?.source)?;
    let mut out = std::io::stdout().lock();
    if as_json {
        let items: Vec<Value> = sources
            .iter()
            .map(|source| {
                json!({
                    "name": source.name().as_str(),
                    "provider": source.provider(),
                    "path": format!("/hooks/{}", source.name()),
                    "caution": source.warning(),
                })
            })
            .collect();
        writeln!(out, "{}", json!({ "items": items }))?;
        return Ok(ExitCode::SUCCESS);
    }
    for source in sources.iter() {
        writeln!(
            out,
            "{:<20} {:<20} /hooks/{}",
            source.name(),
            source.provider(),
            source.name()
        )?;
        if let Some(warning) = source.warning() {
            eprintln!("{}: {warning}", source.name());
        }
    }
    if sources.iter().next().is_none() {
        eprintln!(
            "no source is configured; the embedded profile then has one for development, `dev`"
        );
    }
    Ok(ExitCode::SUCCESS)
}
