//! `migrate`: creates or updates the tables.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;

use crate::config::{Config, ConfigArgs};
use crate::wire::migrate_settings;

/// Creates or updates the database's tables.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  MAILLATCH_DATABASE__URL_FILE=database_url maillatch migrate
  maillatch migrate --config /etc/maillatch.toml --plan

Running it again changes nothing. The embedded profile migrates when it starts.")]
pub(crate) struct Migrate {
    #[command(flatten)]
    config_args: ConfigArgs,
    /// Print JSON on standard output.
    #[arg(long)]
    json: bool,
    /// Print what would be applied, and apply nothing.
    #[arg(long)]
    plan: bool,
}

pub(crate) async fn run(args: Migrate) -> Result<ExitCode> {
    let config = args.config_args.load(None)?;
    if args.plan {
        return plan(&config, args.json).await;
    }
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

async fn plan(config: &Config, json: bool) -> Result<ExitCode> {
    let plan = store::plan(&migrate_settings(config))
        .await
        .context("failed to read the database's migrations")?;
    for migration in &plan.missing {
        let effect = if migration.is_additive {
            "only adds: roles of the previous version keep running"
        } else {
            "removes: stop the roles of the previous version first"
        };
        eprintln!("would apply {} ({effect})", migration.name);
    }
    for name in &plan.newer {
        eprintln!("{name} was applied by a newer version");
    }
    let (missing, present) = (plan.missing.len(), plan.present);
    eprintln!("{missing} to apply, {present} were there already");
    if json {
        let missing = plan.missing.iter().map(|migration| {
            serde_json::json!({ "name": migration.name, "additive": migration.is_additive })
        });
        let missing: Vec<_> = missing.collect();
        let line =
            serde_json::json!({ "missing": missing, "present": present, "newer": plan.newer });
        writeln!(std::io::stdout().lock(), "{line}")?;
    }
    Ok(ExitCode::SUCCESS)
}
