//! `import`: records mail from files, through the same intake as polled mail.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use pipeline::{InboxId, SourceName};
use poll::{Import, Imported};
use serde_json::json;

use crate::command::progress;
use crate::config::ConfigArgs;
use crate::wire::{poll_deps, wire_as_guest};

/// Imports mail from files: a Maildir, or a folder of .eml files.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  maillatch import mails/*.eml
  maillatch import --to agent@inbox.test ~/Maildir
  maillatch import --json backup/

A mail belongs to the address in its topmost Delivered-To, X-Original-To or
Envelope-To, else to those in To and Cc, unless --to names others. Its time of
receipt is the file's, so codes of old files have expired. A mail that was imported
before is not recorded again. The command works on the database, also while servers
run on it, which then process the recorded mail.

Exit codes: 0 everything is in committed rows, 1 failure; try again.")]
pub(crate) struct ImportCommand {
    /// Files, Maildirs, and folders with .eml files, at any depth.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The inboxes that the mail belongs to.
    #[arg(long, value_name = "ADDRESS")]
    to: Vec<InboxId>,
    /// The source name to record it under.
    #[arg(long, default_value = "import")]
    source: SourceName,
    /// Print one JSON object on standard output.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    config_args: ConfigArgs,
}

pub(crate) async fn run(args: ImportCommand) -> Result<ExitCode> {
    let parts = wire_as_guest(args.config_args.load(None)?).await?;
    let deps = poll_deps(&parts)?;
    let import = Import {
        source: args.source,
        paths: args.paths,
        deliver_to: args.to.iter().map(ToString::to_string).collect(),
    };
    let outcome = import.run(&deps, shown).await;
    parts.queue.close().await;
    parts.store.close().await;
    let Imported {
        mails,
        recorded,
        too_large,
    } = outcome.context("failed to import")?;
    let known = mails.saturating_sub(recorded).saturating_sub(too_large);
    if args.json {
        let line = json!({
            "mails": mails, "recorded": recorded, "known": known, "too_large": too_large,
        });
        writeln!(std::io::stdout().lock(), "{line}")?;
    } else {
        eprintln!("{mails} mails, {recorded} recorded, {known} known or left");
    }
    if too_large > 0 {
        eprintln!("{too_large} mails are over webhook.body_limit and were not imported");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

fn shown(done: u64, total: u64) {
    let [done, total] = [done, total].map(|count| usize::try_from(count).unwrap_or(usize::MAX));
    progress::show(done, total, "mails");
}
