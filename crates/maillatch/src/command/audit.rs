//! `audit`: who consumed which artifact.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use pipeline::{ArtifactId, ArtifactKind, ConsumeRecord, InboxId};
use serde_json::{Value, json};
use store::Store;

use crate::config::ConfigArgs;
use crate::wire::open_store_as_guest;

/// Shows who consumed which artifact, and when. It never shows a value.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  maillatch audit                    the last 100 consumes, newest first
  maillatch show art_0190…           who consumed this artifact
  maillatch audit --limit 1000 --json

It works on the database, also while servers run on it. Operators get the same over
HTTP: GET /v1/audit.")]
pub(crate) struct Audit {
    /// Only these artifacts.
    artifacts: Vec<ArtifactId>,
    /// How many consumes to list at most.
    #[arg(long, default_value_t = 100, conflicts_with = "artifacts")]
    limit: u32,
    #[command(flatten)]
    config_args: ConfigArgs,
    /// Print JSON on standard output.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Audit) -> Result<ExitCode> {
    let config = args.config_args.load(None)?;
    let store = open_store_as_guest(&config).await?;
    let records = read(&store, &args).await;
    store.close().await;
    print(&records?, args.json)
}

async fn read(store: &Store, args: &Audit) -> Result<Vec<ConsumeRecord>> {
    if args.artifacts.is_empty() {
        return Ok(store.audit.consumes(None, args.limit).await?);
    }
    let mut records = Vec::new();
    for artifact in &args.artifacts {
        let Some(record) = store.audit.consume_of(*artifact).await? else {
            bail!(
                "{artifact} was not consumed, or its consume was deleted after its retention time"
            );
        };
        records.push(record);
    }
    Ok(records)
}

fn print(records: &[ConsumeRecord], as_json: bool) -> Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    if as_json {
        let items: Vec<Value> = records.iter().map(as_object).collect();
        writeln!(out, "{}", json!({ "items": items }))?;
    } else if records.is_empty() {
        eprintln!("nothing was consumed");
    }
    for record in records.iter().filter(|_| !as_json) {
        let ConsumeRecord {
            artifact,
            consumer,
            at,
            ..
        } = record;
        let kind = record.kind.map_or("deleted", ArtifactKind::as_str);
        let inbox = record.inbox.as_ref().map_or("-", InboxId::as_str);
        writeln!(out, "{artifact}  {at}  {kind}  {inbox}  by {consumer}")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn as_object(record: &ConsumeRecord) -> Value {
    json!({
        "artifact": record.artifact,
        "consumer": record.consumer,
        "consumed_at": record.at,
        "way": record.way,
        "inbox": record.inbox.as_ref().map(InboxId::as_str),
        "kind": record.kind.map(ArtifactKind::as_str),
        "attempt": record.attempt,
    })
}
