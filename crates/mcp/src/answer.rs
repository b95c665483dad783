//! The answers of the tools. Every field is named here; nothing else of the server's
//! answers reaches a model.

use client::{Attempt, CallError};
use rmcp::model::CallToolResult;
use serde_json::{Map, Value, json};

use crate::advice;
use crate::message::AttemptMessage;

/// The answer to `start_attempt`.
pub(crate) fn started(attempt: &Attempt) -> Value {
    let is_open = attempt.may_change();
    let next = if is_open {
        let tool = advice::tool_for(attempt);
        format!("Enter the address at the site, then call {tool}.")
    } else {
        advice::after(attempt)
    };
    json!({
        "status": attempt.state,
        "attempt_id": attempt.id,
        "address": attempt.inbox,
        "expires_at": attempt.deadline,
        "resends_left": attempt.resends_left,
        "next": next,
    })
}

/// The answer of a wait without a value.
pub(crate) fn missed(attempt: &Attempt) -> Value {
    let mut fields = Map::new();
    fields.insert("status".to_owned(), json!(attempt.state));
    if let Some(reason) = attempt.reason.as_ref().or(attempt.component.as_ref()) {
        fields.insert("reason".to_owned(), json!(reason));
    }
    if let Some(seen) = &attempt.seen {
        fields.insert("seen".to_owned(), json!(seen));
    }
    fields.insert("next".to_owned(), json!(advice::after(attempt)));
    Value::Object(fields)
}

/// The answer to `explain_attempt`.
pub(crate) fn explained(attempt: &Attempt, message: &AttemptMessage) -> Value {
    let mut answer = missed(attempt);
    let arrived = attempt.body.get("artifact");
    // Fields that the API limits to ids, numbers, times, fixed words and short domains.
    let shown = [
        "kind",
        "state",
        "reason",
        "host",
        "sender_domain",
        "sender_verified",
        "received_at",
        "expires_at",
        "consumed_at",
    ];
    let arrived: Map<String, Value> = shown
        .into_iter()
        .filter_map(|name| {
            let value = arrived?.get(name).filter(|value| !value.is_null())?;
            Some((name.to_owned(), value.clone()))
        })
        .collect();
    if let Value::Object(fields) = &mut answer {
        if !arrived.is_empty() {
            fields.insert("arrived".to_owned(), Value::Object(arrived));
        }
        let message = match message {
            AttemptMessage::Last(id) => Some(json!(id)),
            AttemptMessage::Nothing => Some(Value::Null),
            AttemptMessage::Unknown => None,
        };
        let message = message.map(|id| ("message_id".to_owned(), id));
        fields.extend(message);
        fields.insert("expires_at".to_owned(), json!(attempt.deadline));
        fields.insert("resends_left".to_owned(), json!(attempt.resends_left));
    }
    answer
}

/// The result of a call that the server answered.
pub(crate) fn result(answer: Result<Value, CallError>) -> CallToolResult {
    match answer {
        Ok(answer) => CallToolResult::structured(answer),
        Err(error) => {
            let (status, next) = advice::of_failure(&error);
            CallToolResult::structured_error(json!({ "status": status, "next": next }))
        }
    }
}

/// The result of a call whose arguments cannot be read.
pub(crate) fn refused(why: &str) -> CallToolResult {
    let next = format!("Correct the arguments: {why}.");
    CallToolResult::structured_error(json!({ "status": "invalid", "next": next }))
}
