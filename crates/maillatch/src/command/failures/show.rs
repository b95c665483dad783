//! `failures show`.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, bail};
use pipeline::{
    AttemptId, AttemptStatus, CallbackId, DeadCallback, DeadLetter, DeliveryId, InboxId, Reason,
    Scope, Trace, TracedMessage,
};
use serde_json::{Value, json};
use store::Store;

use super::any_id::AnyId;
use super::recipients::recipients;
use super::{as_object, callback_object};
use crate::config::Config;

/// Shows what failed about an id of any kind.
pub(super) async fn show_any(
    config: &Config,
    store: &Store,
    id: AnyId,
    body: bool,
    as_json: bool,
) -> Result<ExitCode> {
    match id {
        AnyId::Traced(id) => {
            let Some(trace) = store.failures.trace(id).await? else {
                bail!("no delivery belongs to this id, or it was deleted after its retention time");
            };
            show_delivery(config, store, &trace, body, as_json).await
        }
        _ if body => bail!("only a delivery has a body"),
        AnyId::Callback(id) => show_callback(store, id, as_json).await,
        AnyId::Attempt(id) => show_attempt(store, id, as_json).await,
    }
}

async fn show_delivery(
    config: &Config,
    store: &Store,
    trace: &Trace,
    body: bool,
    as_json: bool,
) -> Result<ExitCode> {
    let id = trace.delivery;
    let Some((item, bytes)) = store.failures.find_dead_letter(id).await? else {
        if body {
            bail!("{id} is no dead letter; only dead letters keep a body that can be shown");
        }
        return show_trace(trace, as_json);
    };
    if body {
        return print_body(id, bytes.as_deref());
    }
    let to = bytes.map(|bytes| recipients(config, &item, &bytes));
    show_dead_letter(&item, &to.unwrap_or_default(), as_json)
}

/// A delivery that is no dead letter.
fn show_trace(trace: &Trace, as_json: bool) -> Result<ExitCode> {
    let reason = trace.reason.as_ref().map(Reason::as_str);
    let messages: Vec<Value> = trace.messages.iter().map(message_object).collect();
    let object = json!({
        "id": trace.delivery, "state": trace.state, "reason": reason, "messages": messages,
    });
    let next = match trace.state.as_str() {
        "done" => "it was processed; `maillatch show art_…` says who consumed an artifact",
        _ => "a worker processes it when it is due; `maillatch doctor` says whether one runs",
    };
    let mut lines = vec![
        ("delivery", trace.delivery.to_string()),
        ("state", trace.state.clone()),
        ("reason", reason.unwrap_or("-").to_owned()),
    ];
    lines.extend(trace.messages.iter().flat_map(message_lines));
    lines.push(("next", next.to_owned()));
    print(as_json, &object, &lines)
}

fn message_object(message: &TracedMessage) -> Value {
    json!({
        "id": message.id,
        "inbox": message.inbox,
        "items": message.items,
        "rules": message.rules,
        "no_reply": message.no_reply,
    })
}

fn message_lines(message: &TracedMessage) -> Vec<(&'static str, String)> {
    let mut lines = vec![
        ("message", message.id.to_string()),
        ("inbox", message.inbox.to_string()),
        ("items", message.items.to_string()),
    ];
    lines.extend(message.rules.iter().map(|rule| ("rule", rule.clone())));
    let no_reply = message.no_reply.as_ref();
    lines.extend(no_reply.map(|why| ("no reply", why.to_string())));
    lines
}

async fn show_callback(store: &Store, id: CallbackId, as_json: bool) -> Result<ExitCode> {
    let dead = store.callbacks.dead_callbacks(u32::MAX).await?;
    let Some(dead) = dead.iter().find(|dead| dead.id == id) else {
        bail!("{id} is not a dead letter: it was accepted, or it is being retried");
    };
    print(as_json, &callback_object(dead), &callback_lines(dead))
}

fn callback_lines(dead: &DeadCallback) -> Vec<(&'static str, String)> {
    vec![
        ("callback", dead.id.to_string()),
        ("name", dead.name.clone()),
        ("attempt", dead.attempt.to_string()),
        ("reason", dead.reason.to_string()),
        ("tries", dead.tries.to_string()),
        ("failed", dead.at.to_string()),
        ("next", format!("maillatch failures requeue {}", dead.id)),
    ]
}

/// The state of an attempt, and the callback of it that failed.
async fn show_attempt(store: &Store, id: AttemptId, as_json: bool) -> Result<ExitCode> {
    let Some(view) = store.attempts.attempt(id, &Scope::All).await? else {
        bail!("there is no attempt {id}, or it was deleted after its retention time");
    };
    let dead = store.callbacks.dead_callbacks(u32::MAX).await?;
    let dead = dead.iter().find(|dead| dead.attempt == id);
    let (state, reason) = words(&view.status());
    let seen = view.miss_seen.as_deref();
    let object = json!({
        "id": id,
        "inbox": view.inbox.as_str(),
        "state": state,
        "reason": reason,
        "seen": seen,
        "opened_at": view.opened_at,
        "deadline": view.deadline,
        "callback": dead.map(callback_object),
    });
    let mut lines = vec![
        ("attempt", id.to_string()),
        ("inbox", view.inbox.to_string()),
        ("state", state.to_owned()),
        ("reason", reason.unwrap_or_else(|| "-".to_owned())),
        ("seen", seen.unwrap_or("-").to_owned()),
        ("opened", view.opened_at.to_string()),
        ("deadline", view.deadline.to_string()),
    ];
    lines.extend(dead.into_iter().flat_map(callback_lines));
    print(as_json, &object, &lines)
}

fn words(status: &AttemptStatus) -> (&'static str, Option<String>) {
    match status {
        AttemptStatus::Pending => ("pending", None),
        AttemptStatus::Ready => ("ready", None),
        AttemptStatus::Consumed => ("consumed", None),
        AttemptStatus::Superseded => ("superseded", None),
        AttemptStatus::Blocked(reason) => ("blocked", Some(reason.to_string())),
        AttemptStatus::NoArtifact(reason) => ("no_artifact", Some(reason.to_string())),
        AttemptStatus::NothingArrived => ("nothing_arrived", None),
        AttemptStatus::Expired => ("expired", None),
    }
}

fn print_body(id: DeliveryId, body: Option<&[u8]>) -> Result<ExitCode> {
    let Some(body) = body else {
        bail!("the body of {id} was deleted (retention.buried_bodies)");
    };
    std::io::stdout().lock().write_all(body)?;
    Ok(ExitCode::SUCCESS)
}

fn show_dead_letter(item: &DeadLetter, to: &[InboxId], as_json: bool) -> Result<ExitCode> {
    let mut object = as_object(item);
    if let Some(members) = object.as_object_mut() {
        members.insert("recipients".to_owned(), json!(to));
    }
    let mut lines = vec![
        ("delivery", item.id.to_string()),
        ("source", item.source.to_string()),
        ("reason", item.reason.to_string()),
    ];
    lines.extend(to.iter().map(|address| ("recipient", address.to_string())));
    let body = match item.body_bytes {
        Some(bytes) => format!("{bytes} bytes stored (--body prints it)"),
        None => "deleted".to_owned(),
    };
    let conflict = if item.is_conflict { "yes" } else { "no" };
    lines.extend([
        ("attempts", item.attempts.to_string()),
        ("recorded", item.recorded_at.to_string()),
        ("failed", item.dead_lettered_at.to_string()),
        ("content type", item.content_type.clone()),
        ("body", body),
        ("conflict", conflict.to_owned()),
    ]);
    print(as_json, &object, &lines)
}

/// Prints an object, or its lines.
fn print(as_json: bool, object: &Value, lines: &[(&str, String)]) -> Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    if as_json {
        writeln!(out, "{object}")?;
        return Ok(ExitCode::SUCCESS);
    }
    for (name, value) in lines {
        writeln!(out, "{name:<13} {value}")?;
    }
    Ok(ExitCode::SUCCESS)
}
