//! `sends`: lists, shows and settles sends and guards, for the operator.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Args, Subcommand, ValueEnum};
use pipeline::{
    ConsumerId, GuardId, OperatorSettlement, Receipt, SendDecided, SendDecision, SendEvent, SendId,
    SendState, SendView,
};
use serde_json::{Value, json};
use store::Store;

use crate::config::ConfigArgs;
use crate::wire::open_store_as_guest;

/// Lists, shows and settles sends, and guards of actions elsewhere.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  maillatch sends list                          those that are uncertain, newest first
  maillatch sends list --state held
  maillatch sends show snd_0190…
  maillatch sends settle snd_0190… sent         you found it at the provider
  maillatch sends settle snd_0190… retry        you know that it was not sent
  maillatch sends settle grd_0190… abandon      no caller may act on it any more
  maillatch sends approve snd_0190…

Settle as `retry` only what you know was not sent: it is handed to the provider again.
These commands work on the database, also while servers run on it. They never show the
recipient or the content.")]
pub(crate) struct Sends {
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
    /// List sends and guards in a state, newest first.
    List {
        /// The state: held, ready, claimed, dispatched, sent, failed, cancelled, uncertain.
        #[arg(long, default_value = "uncertain", value_parser = state)]
        state: SendState,
        /// How many to list at most.
        #[arg(long, default_value_t = 100)]
        limit: u32,
    },
    /// Show one, and what happened to it.
    Show {
        /// Its id: `snd_…` or `grd_…`.
        #[arg(value_parser = send_id)]
        id: SendId,
    },
    /// Say what became of one that is uncertain.
    Settle {
        /// Its id: `snd_…` or `grd_…`.
        #[arg(value_parser = send_id)]
        id: SendId,
        /// What became of it.
        #[arg(value_enum)]
        outcome: Outcome,
        /// The id that the provider gave it.
        #[arg(long, value_name = "TEXT")]
        result: Option<Receipt>,
    },
    /// Let a held send be sent.
    Approve {
        /// Its id.
        #[arg(value_parser = send_id)]
        id: SendId,
    },
    /// Cancel a held send.
    Refuse {
        /// Its id.
        #[arg(value_parser = send_id)]
        id: SendId,
    },
    /// Cancel a send that cannot have reached its provider.
    Cancel {
        /// Its id.
        #[arg(value_parser = send_id)]
        id: SendId,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Outcome {
    /// It was sent, or done.
    Sent,
    /// It was not sent, and is sent now; a guard may be claimed again.
    Retry,
    /// It shall not be sent any more; its intent stays used.
    Abandon,
}

fn state(word: &str) -> Result<SendState, String> {
    let words = SendState::ALL.map(SendState::as_str).join(", ");
    SendState::from_word(word).ok_or_else(|| format!("one of {words}"))
}

/// A send, or a guard, whose id differs in its prefix.
fn send_id(text: &str) -> Result<SendId, String> {
    let guard = text.parse::<GuardId>();
    let guard = guard.map(|guard| SendId::from_uuid(guard.as_uuid()));
    let id = text.parse::<SendId>().or(guard);
    id.map_err(|_invalid| "not a `snd_…` or `grd_…` id".to_owned())
}

pub(crate) async fn run(args: Sends) -> Result<ExitCode> {
    let config = args.config_args.load(None)?;
    let store = open_store_as_guest(&config).await?;
    let outcome = act(&store, args.action, args.json).await;
    store.close().await;
    outcome
}

async fn act(store: &Store, action: Action, as_json: bool) -> Result<ExitCode> {
    let by: ConsumerId = "operator".parse()?;
    let (id, decision) = match action {
        Action::List { state, limit } => return list(store, state, limit, as_json).await,
        Action::Show { id } => return show(store, id, as_json).await,
        Action::Settle {
            id,
            outcome,
            result,
        } => {
            let how = match outcome {
                Outcome::Sent => OperatorSettlement::Sent(result),
                Outcome::Retry => OperatorSettlement::Retry,
                Outcome::Abandon => OperatorSettlement::Abandon,
            };
            let settled = store.sends.settle_send(id, how, &by).await?;
            return decided(id, settled, as_json);
        }
        Action::Approve { id } => (id, SendDecision::Approve),
        Action::Refuse { id } => (id, SendDecision::Refuse),
        Action::Cancel { id } => (id, SendDecision::Cancel),
    };
    decided(
        id,
        store.sends.decide_send(id, decision, &by).await?,
        as_json,
    )
}

async fn list(store: &Store, state: SendState, limit: u32, as_json: bool) -> Result<ExitCode> {
    let sends = store.sends.sends(state, None, limit).await?;
    let mut out = std::io::stdout().lock();
    if as_json {
        let items: Vec<Value> = sends.iter().map(as_object).collect();
        writeln!(out, "{}", json!({ "items": items }))?;
    } else if sends.is_empty() {
        eprintln!("there are no sends in the state {}", state.as_str());
    } else {
        for send in &sends {
            writeln!(out, "{}", line(send))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn line(send: &SendView) -> String {
    let label = send.label.as_ref();
    let label = label.map(|label| format!("{} {} v{}", label.kind, label.entity, label.version));
    let reason = send.reason.as_ref().map(ToString::to_string);
    [
        send.public_id(),
        send.created_at.to_string(),
        format!("{} {}", send.sender, send.action),
        label.unwrap_or_else(|| "named by a key".to_owned()),
        send.state.as_str().to_owned(),
        reason.unwrap_or_default(),
    ]
    .join("  ")
    .trim_end()
    .to_owned()
}

async fn show(store: &Store, id: SendId, as_json: bool) -> Result<ExitCode> {
    let Some(send) = store.sends.send(id).await? else {
        bail!("there is no such send");
    };
    let events = store.sends.send_events(id).await?;
    let mut out = std::io::stdout().lock();
    if as_json {
        let mut object = as_object(&send);
        if let Some(members) = object.as_object_mut() {
            let events: Vec<Value> = events.iter().map(event_object).collect();
            members.insert("events".to_owned(), json!(events));
        }
        writeln!(out, "{object}")?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "{}", line(&send))?;
    writeln!(out, "provider key  {}", send.provider_key)?;
    if let Some(provider) = &send.provider {
        writeln!(out, "provider      {provider}")?;
    }
    if let Some(receipt) = &send.receipt {
        writeln!(out, "result        {receipt}")?;
    }
    writeln!(out, "tries         {}", send.tries)?;
    for event in &events {
        let why = event.why.as_ref().map(|why| format!(" ({why})"));
        let by = event.by.as_ref().map(|by| format!(" by {by}"));
        let (why, by) = (why.unwrap_or_default(), by.unwrap_or_default());
        writeln!(out, "{}  {}{why}{by}", event.at, event.what)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn decided(id: SendId, decided: SendDecided, as_json: bool) -> Result<ExitCode> {
    match decided {
        SendDecided::Unknown => bail!("there is no such send: {id}"),
        SendDecided::NotNow(send) => bail!(
            "{} is {}; its state does not allow that",
            send.public_id(),
            send.state.as_str()
        ),
        SendDecided::Done(send) => {
            let mut out = std::io::stdout().lock();
            if as_json {
                writeln!(out, "{}", as_object(&send))?;
            } else {
                writeln!(out, "{}", line(&send))?;
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn as_object(send: &SendView) -> Value {
    let label = send.label.as_ref();
    json!({
        "id": send.public_id(),
        "kind": send.kind.as_str(),
        "sender": send.sender.as_str(),
        "action": send.action.as_str(),
        "intent": label.map(|label| json!({
            "type": label.kind, "entity": label.entity, "version": label.version,
        })),
        "reply_to": send.reply_to,
        "provider_key": send.provider_key.to_string(),
        "provider": send.provider,
        "state": send.state.as_str(),
        "reason": send.reason,
        "result": send.receipt.as_ref().map(Receipt::as_str),
        "tries": send.tries,
        "created_at": send.created_at,
        "finished_at": send.finished_at,
    })
}

fn event_object(event: &SendEvent) -> Value {
    json!({ "at": event.at, "what": event.what, "why": event.why, "by": event.by })
}
