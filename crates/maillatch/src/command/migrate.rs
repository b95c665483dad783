//! `migrate`: creates or updates the tables.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;

use crate::config::ConfigArgs;
use crate::wire::migrate_settings;

/// Creates or updates the database's tables.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  MAILLATCH_DATABASE__URL_FILE=database_url maillatch migrate
  maillatch migrate --config /etc/maillatch.toml --json

Running it again changes nothing. The embedded profile migrates when it starts.")]
pub(crate) struct Migrate {
    #[command(flatten)]
    config_args: ConfigArgs,
    /// Print JSON on standard output.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Migrate) -> Result<ExitCode> {
    let config = args.config_args.load(None)?;
    let migrated = store::migrate(&migrate_settings(&config))
        .await
        .context("failed to migrate the database")?;
    for name in &migrated.applied {
        eprintln!("applied {name}");
    }
    eprintln!(
        "{} migrations applied, {} were applied before",
        migrated.applied.len(),
        migrated.present
    );
    if args.json {
        let line = serde_json::json!({ "applied": migrated.applied, "present": migrated.present });
        writeln!(std::io::stdout().lock(), "{line}")?;
    }
    Ok(ExitCode::SUCCESS)
}
