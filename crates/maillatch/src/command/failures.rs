//! `failures`: lists, shows and requeues dead letters.

mod any_id;
mod recipients;
mod requeue;
mod show;

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use pipeline::{DeadCallback, DeadLetter};
use serde_json::{Value, json};
use store::Store;

use crate::config::{Config, ConfigArgs};
use crate::wire::open_store_as_guest;

use any_id::AnyId;
use requeue::{Failed, requeue};
use show::show_any;

/// Lists, shows and requeues dead letters: deliveries and callbacks that failed for good.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  maillatch failures list
  maillatch failures show dlv_0190… --body > delivery.json
  maillatch failures show att_0190…
  maillatch failures requeue dlv_0190… cbk_0190…
  maillatch failures requeue --all

`show` takes every id. It names the recipients if the source's mail can be decoded, so
that you see which inbox is unknown. These commands work on the database, also while servers run
on it.")]
pub(crate) struct Failures {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    config_args: ConfigArgs,
    /// Print JSON on standard output.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List dead letters, newest first.
    List {
        /// How many to list at most.
        #[arg(long, default_value_t = 100)]
        limit: u32,
    },
    /// Show what failed, by any id.
    Show {
        /// The id of a delivery, a callback, a message, an artifact or an attempt.
        id: AnyId,
        /// Print the body as it was received, and nothing else.
        #[arg(long)]
        body: bool,
    },
    /// Process deliveries again, with their attempts at zero, and send callbacks again
    /// while their values are valid.
    Requeue {
        /// The ids: `dlv_…` or `cbk_…`.
        ids: Vec<Failed>,
        /// Every dead letter.
        #[arg(long, conflicts_with = "ids")]
        all: bool,
    },
}

pub(crate) async fn run(args: Failures) -> Result<ExitCode> {
    let config = args.config_args.load(None)?;
    let store = open_store_as_guest(&config).await?;
    let outcome = act(&config, &store, args.action, args.json).await;
    store.close().await;
    outcome
}

async fn act(config: &Config, store: &Store, action: Action, as_json: bool) -> Result<ExitCode> {
    match action {
        Action::List { limit } => list(store, limit, as_json).await,
        Action::Show { id, body } => show_any(config, store, id, body, as_json).await,
        Action::Requeue { ids, all } => requeue(store, ids, all, as_json).await,
    }
}

async fn list(store: &Store, limit: u32, as_json: bool) -> Result<ExitCode> {
    let dead_letters = store.failures.dead_letters(limit).await?;
    let dead = store.callbacks.dead_callbacks(limit).await?;
    let mut out = std::io::stdout().lock();
    if as_json {
        let items: Vec<Value> = dead_letters.iter().map(as_object).collect();
        let callbacks: Vec<Value> = dead.iter().map(callback_object).collect();
        writeln!(out, "{}", json!({ "items": items, "callbacks": callbacks }))?;
    } else if dead_letters.is_empty() && dead.is_empty() {
        eprintln!("there are no dead letters");
    } else {
        for item in &dead_letters {
            let DeadLetter {
                id,
                source,
                reason,
                attempts,
                dead_lettered_at,
                ..
            } = item;
            writeln!(
                out,
                "{id}  {dead_lettered_at}  {source}  {reason}  attempts {attempts}"
            )?;
        }
        for callback in &dead {
            let DeadCallback {
                id,
                name,
                reason,
                tries,
                at,
                ..
            } = callback;
            writeln!(out, "{id}  {at}  callback {name}  {reason}  tries {tries}")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn callback_object(callback: &DeadCallback) -> Value {
    json!({
        "id": callback.id,
        "callback": callback.name,
        "attempt": callback.attempt,
        "reason": callback.reason,
        "tries": callback.tries,
        "at": callback.at,
    })
}

fn as_object(item: &DeadLetter) -> Value {
    json!({
        "id": item.id,
        "source": item.source.as_str(),
        "reason": item.reason,
        "attempts": item.attempts,
        "recorded_at": item.recorded_at,
        "buried_at": item.dead_lettered_at,
        "body_bytes": item.body_bytes,
        "content_type": item.content_type,
        "is_conflict": item.is_conflict,
    })
}
