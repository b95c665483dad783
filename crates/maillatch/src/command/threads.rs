//! `threads`: lists, shows and releases threads that were handed over to a person.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use pipeline::{ConsumerId, Scope, ThreadId, ThreadReleased, ThreadView};
use serde_json::{Value, json};
use store::Store;

use crate::config::ConfigArgs;
use crate::wire::open_store_as_guest;

/// Lists, shows and releases threads in which agents sent too many replies.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  maillatch threads list                        those that were handed over, newest first
  maillatch threads show thr_5d1c…
  maillatch threads release thr_5d1c…           agents may answer again

A thread is handed over when agents send more replies in it than [reply] allows. Nothing
more is sent in it until it is released. These commands work on the database, also while
servers run on it.")]
pub(crate) struct Threads {
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
    /// List the threads that were handed over, newest first.
    List {
        /// How many to list at most.
        #[arg(long, default_value_t = 100)]
        limit: u32,
    },
    /// Show one.
    Show {
        /// Its id: `thr_…`.
        id: ThreadId,
    },
    /// Let agents answer in it again.
    Release {
        /// Its id: `thr_…`.
        id: ThreadId,
    },
}

pub(crate) async fn run(args: Threads) -> Result<ExitCode> {
    let config = args.config_args.load(None)?;
    let store = open_store_as_guest(&config).await?;
    let outcome = act(&store, args.action, args.json).await;
    store.close().await;
    outcome
}

async fn act(store: &Store, action: Action, as_json: bool) -> Result<ExitCode> {
    match action {
        Action::List { limit } => list(store, limit, as_json).await,
        Action::Show { id } => {
            let Some(thread) = store.threads.thread(id, &Scope::All).await? else {
                bail!("there is no such thread, or nothing was sent in it");
            };
            print(&thread, as_json)
        }
        Action::Release { id } => {
            let by: ConsumerId = "operator".parse()?;
            match store.threads.release_thread(id, &by).await? {
                ThreadReleased::Done(thread) => print(&thread, as_json),
                ThreadReleased::NotHandedOver(_) => bail!("{id} is not handed over"),
                ThreadReleased::Unknown => bail!("there is no such thread: {id}"),
            }
        }
    }
}

async fn list(store: &Store, limit: u32, as_json: bool) -> Result<ExitCode> {
    let threads = store.threads.handed_over(limit).await?;
    let mut out = std::io::stdout().lock();
    if as_json {
        let items: Vec<Value> = threads.iter().map(as_object).collect();
        writeln!(out, "{}", json!({ "items": items }))?;
    } else if threads.is_empty() {
        eprintln!("no thread is handed over");
    } else {
        for thread in &threads {
            writeln!(out, "{}", line(thread))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn print(thread: &ThreadView, as_json: bool) -> Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    if as_json {
        writeln!(out, "{}", as_object(thread))?;
    } else {
        writeln!(out, "{}", line(thread))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn line(thread: &ThreadView) -> String {
    let at = thread.handed_over_at.map(|at| at.to_string());
    let reason = thread.reason.as_ref().map(ToString::to_string);
    [
        thread.id.to_string(),
        thread.inbox.to_string(),
        thread.state.as_str().to_owned(),
        format!("{} replies", thread.replies),
        at.unwrap_or_default(),
        reason.unwrap_or_default(),
    ]
    .join("  ")
    .trim_end()
    .to_owned()
}

fn as_object(thread: &ThreadView) -> Value {
    let released = thread.released.as_ref();
    json!({
        "id": thread.id,
        "inbox": thread.inbox,
        "state": thread.state.as_str(),
        "reason": thread.reason,
        "message": thread.message,
        "replies": thread.replies,
        "handed_over_at": thread.handed_over_at,
        "released_at": released.map(|(at, _)| at),
        "released_by": released.map(|(_, by)| by),
    })
}
