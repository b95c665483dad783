//! The tools that send mail. They exist for a key with the scope, at a server with a
//! sender, and each intent and each message is used once by the server.

use std::time::Duration;

use client::{CallError, Client, SendAnswer};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::arguments::{DEFAULT_WAIT, MAX_WAIT};

/// How long a new mail is waited for: most are sent within a second.
const SENT_WAIT: u64 = 10;

/// `send_mail`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SendMail {
    sender: String,
    purpose: String,
    entity: String,
    #[serde(default = "first")]
    version: u32,
    to: String,
    template: String,
    #[serde(default)]
    values: Map<String, Value>,
}

fn first() -> u32 {
    1
}

/// `reply`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reply {
    message_id: String,
    sender: Option<String>,
    template: String,
    #[serde(default)]
    values: Map<String, Value>,
}

/// `send_status`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SendStatus {
    send_id: String,
    timeout_s: Option<u64>,
}

pub(crate) async fn send_mail(client: &Client, send: SendMail) -> Result<Value, CallError> {
    let body = json!({
        "sender": send.sender,
        "intent": { "type": send.purpose, "entity": send.entity, "version": send.version },
        "to": send.to,
        "template": send.template,
        "values": send.values,
        "wait": SENT_WAIT,
    });
    client
        .send_mail(&body)
        .await
        .map(|answer| for_model(&answer))
}

pub(crate) async fn reply(client: &Client, reply: Reply) -> Result<Value, CallError> {
    let mut body = json!({
        "template": reply.template,
        "values": reply.values,
        "wait": SENT_WAIT,
    });
    if let (Some(sender), Some(fields)) = (reply.sender, body.as_object_mut()) {
        fields.insert("sender".to_owned(), json!(sender));
    }
    let answer = client.reply(&reply.message_id, &body).await?;
    Ok(for_model(&answer))
}

pub(crate) async fn status(client: &Client, send: &SendStatus) -> Result<Value, CallError> {
    let wait = send.timeout_s.unwrap_or(DEFAULT_WAIT).min(MAX_WAIT);
    let wait = Duration::from_secs(wait);
    let state = client.send_state(&send.send_id, wait).await?;
    Ok(shown(&state, next(&state)))
}

/// An answer for a model. A duplicate is a success: the mail is sent, or will be.
fn for_model(answer: &SendAnswer) -> Value {
    match answer {
        SendAnswer::Recorded(send) => shown(send, next(send)),
        SendAnswer::Known(send) => duplicate(send, true, next(send)),
        SendAnswer::IntentUsed(send) => duplicate(
            send,
            false,
            "This was used for a mail with other content. Do not send again. For an update of \
             the same matter use the next `version`.",
        ),
        SendAnswer::RecipientNotAllowed => json!({
            "status": "recipient_not_allowed",
            "next": "Do not try another address. Tell the user that the operator does not allow \
                mail to it.",
        }),
        SendAnswer::NotAnswered(reason) => with_reason(
            json!({
                "status": "not_answered",
                "next": "Do not answer this message in another way.",
            }),
            reason.as_deref(),
        ),
        SendAnswer::HandedOver => json!({
            "status": "handed_over",
            "next": "A person answers in this thread now. Do not answer, and tell the user.",
        }),
        SendAnswer::Capped(reason) => with_reason(
            json!({
                "status": "capped",
                "next": "Nothing was sent. Do not repeat the call; tell the user that the limit \
                    for mail is reached.",
            }),
            reason.as_deref(),
        ),
    }
}

/// The fields of a send that a model gets: ids and words of fixed lists.
fn shown(send: &Value, next: &str) -> Value {
    let answer = json!({
        "status": send.get("state"),
        "send_id": send.get("id"),
        "next": next,
    });
    with_reason(answer, send.get("reason").and_then(Value::as_str))
}

fn duplicate(send: &Value, by_default: bool, next: &str) -> Value {
    let same = send.get("same_content").and_then(Value::as_bool);
    let mut answer = shown(send, next);
    if let Some(fields) = answer.as_object_mut() {
        fields.insert("duplicate".to_owned(), json!(true));
        fields.insert("same_content".to_owned(), json!(same.unwrap_or(by_default)));
    }
    answer
}

fn with_reason(mut answer: Value, reason: Option<&str>) -> Value {
    if let (Some(reason), Some(fields)) = (reason, answer.as_object_mut()) {
        fields.insert("reason".to_owned(), json!(reason));
    }
    answer
}

/// What to do in a state.
fn next(send: &Value) -> &'static str {
    match send.get("state").and_then(Value::as_str) {
        Some("sent") => "Nothing. The mail is sent.",
        Some("held") => "Nothing. An operator must approve the mail; tell the user.",
        Some("uncertain") => {
            "Do not send again: the mail may have been sent. Tell the user that the operator \
             must settle it."
        }
        Some("failed" | "cancelled") => "The mail is not sent. Do not repeat it; tell the user.",
        _ => "Call send_status.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn send(state: &str) -> Value {
        json!({ "id": "snd_1", "state": state, "sender": "shop", "intent": { "entity": "x" } })
    }

    #[test]
    fn duplicates_are_successes_with_the_id_of_the_one() {
        let known = for_model(&SendAnswer::Known(send("sent")));
        assert_eq!(
            known,
            json!({
                "status": "sent", "send_id": "snd_1", "duplicate": true, "same_content": true,
                "next": "Nothing. The mail is sent.",
            })
        );
        let other = for_model(&SendAnswer::IntentUsed(send("sent")));
        assert_eq!(other["same_content"], false);
        assert_eq!(other["send_id"], "snd_1");
    }

    #[test]
    fn uncertain_mail_is_not_sent_again() {
        let answer = for_model(&SendAnswer::Recorded(send("uncertain")));
        let next = answer["next"].as_str().unwrap();
        assert!(next.starts_with("Do not send again"), "{next}");
    }

    #[test]
    fn refusals_carry_their_reason() {
        let refused = for_model(&SendAnswer::NotAnswered(Some("automated".to_owned())));
        assert_eq!(refused["status"], "not_answered");
        assert_eq!(refused["reason"], "automated");
        let capped = for_model(&SendAnswer::Capped(Some("recipient".to_owned())));
        assert_eq!(capped["reason"], "recipient");
    }
}
