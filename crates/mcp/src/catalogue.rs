//! What a model reads about the tools. Every word costs each of their users tokens:
//! `descriptions_and_schemas_stay_small` holds the limit.

mod send_tools;

use std::sync::Arc;

use client::SenderList;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use crate::arguments::{DEFAULT_WAIT, MAX_WAIT};

/// What a model reads about the server as a whole.
pub(crate) const INSTRUCTIONS: &str = "Gets the code or link of a verification mail, once. \
    Order: start_attempt; give its address to the site; wait_for_code or wait_for_link; \
    finish_attempt. Do what `next` says.";

/// The tools for a key that may send by these senders, always in this order.
pub(crate) fn tools_with(senders: &SenderList) -> Vec<Tool> {
    let mut all = tools();
    all.extend(send_tools::send_tools(senders));
    all
}

/// The tools for every key, always in this order.
pub(crate) fn tools() -> Vec<Tool> {
    vec![
        start_attempt(),
        wait_for_code(),
        wait_for_link(),
        request_resend(),
        explain_attempt(),
        finish_attempt(),
    ]
}

fn start_attempt() -> Tool {
    let input = object(
        &json!({
            "reference": {
                "type": "string",
                "description": "Unique name of this sign-up, like shop-signup-1. \
                    The same one returns the same attempt.",
            },
            "kind": { "enum": ["code", "link"], "default": "code" },
            "from": strings("Sender domains to accept, like example.com. Default: any"),
            "link_hosts": strings("Hosts that a link may lead to"),
            "address": {
                "type": "string",
                "description": "Existing inbox. Default: a new address",
            },
            "expires_in_s": { "type": "integer", "default": 600 },
        }),
        &["reference"],
    );
    let output = object(
        &json!({
            "status": text(),
            "attempt_id": text(),
            "address": text(),
            "expires_at": text(),
            "resends_left": { "type": "integer" },
            "next": text(),
        }),
        &["status", "next"],
    );
    tool(
        "start_attempt",
        "Call before the site sends its mail; older mail never counts. Returns the address \
         to type into the site.",
        [input, output],
        Effect::Changes,
    )
}

fn wait_for_code() -> Tool {
    tool(
        "wait_for_code",
        "Waits for the mailed code and takes it. Without a code, `status` says why and \
         `next` what to do. Safe to repeat.",
        [waiting(), found("code")],
        Effect::Changes,
    )
}

fn wait_for_link() -> Tool {
    tool(
        "wait_for_link",
        "Same as wait_for_code, for an attempt of kind link. The link is not opened.",
        [waiting(), found("url")],
        Effect::Changes,
    )
}

fn request_resend() -> Tool {
    let input = object(
        &json!({
            "attempt_id": text(),
            "number": {
                "type": "integer",
                "default": 1,
                "description": "2 for the second resend, and so on",
            },
        }),
        &["attempt_id"],
    );
    let output = object(
        &json!({
            "allowed": { "type": "boolean" },
            "resends_left": { "type": "integer" },
            "next": text(),
        }),
        &["next"],
    );
    tool(
        "request_resend",
        "Ask before you press \"send again\" at the site; press it only if `allowed`. \
         Sends nothing itself.",
        [input, output],
        Effect::Changes,
    )
}

fn explain_attempt() -> Tool {
    let output = object(
        &json!({
            "status": text(),
            "reason": text(),
            "next": text(),
            "arrived": { "type": "object" },
        }),
        &["status", "next"],
    );
    tool(
        "explain_attempt",
        "What arrived and why there is no value. Takes nothing.",
        [of_attempt(), output],
        Effect::Reads,
    )
}

fn finish_attempt() -> Tool {
    let input = object(
        &json!({
            "attempt_id": text(),
            "outcome": { "enum": ["succeeded", "failed", "abandoned"] },
        }),
        &["attempt_id", "outcome"],
    );
    let output = object(&json!({ "status": text(), "next": text() }), &["status"]);
    tool(
        "finish_attempt",
        "Call when the sign-up is over.",
        [input, output],
        Effect::Changes,
    )
}

/// The arguments of a wait.
fn waiting() -> Value {
    object(
        &json!({ "attempt_id": text(), "timeout_s": timeout() }),
        &["attempt_id"],
    )
}

fn timeout() -> Value {
    json!({ "type": "integer", "minimum": 0, "maximum": MAX_WAIT, "default": DEFAULT_WAIT })
}

/// The answer of a wait.
fn found(value: &str) -> Value {
    let mut output = object(
        &json!({
            "status": { "type": "string", "description": "found, pending, …" },
            "reason": text(),
            "next": text(),
        }),
        &["status", "next"],
    );
    if let Some(Value::Object(properties)) = output.get_mut("properties") {
        properties.insert(value.to_owned(), text());
    }
    output
}

fn of_attempt() -> Value {
    object(&json!({ "attempt_id": text() }), &["attempt_id"])
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn strings(description: &str) -> Value {
    json!({ "type": "array", "items": text(), "description": description })
}

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required })
}

/// Whether a tool changes anything.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    Reads,
    Changes,
    /// It reaches people outside of the server.
    Sends,
}

/// A tool. All are idempotent and destroy nothing.
fn tool(
    name: &'static str,
    description: &'static str,
    [input, output]: [Value; 2],
    effect: Effect,
) -> Tool {
    let hints = match effect {
        Effect::Reads => ToolAnnotations::new().read_only(true),
        Effect::Changes | Effect::Sends => {
            ToolAnnotations::new().destructive(false).idempotent(true)
        }
    };
    Tool::new(name, description, fields(input))
        .with_raw_output_schema(fields(output))
        .with_annotations(hints.open_world(effect == Effect::Sends))
}

fn fields(schema: Value) -> Arc<JsonObject> {
    match schema {
        Value::Object(fields) => Arc::new(fields),
        _ => Arc::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The most bytes that 1,200 tokens may be, counted carefully. Three public
    /// tokenizers take 4.0 to 4.4 bytes of this text for a token: 861 tokens by
    /// `cl100k_base`, 915 by `o200k_base`, 944 by `@anthropic-ai/tokenizer`.
    const MAX_BYTES: usize = 1_200 * 33 / 10;

    #[test]
    fn there_are_six_tools_in_a_fixed_order() {
        let names: Vec<String> = tools().iter().map(|tool| tool.name.to_string()).collect();
        assert_eq!(
            names,
            [
                "start_attempt",
                "wait_for_code",
                "wait_for_link",
                "request_resend",
                "explain_attempt",
                "finish_attempt",
            ]
        );
    }

    #[test]
    fn descriptions_and_schemas_stay_small() {
        let bytes = serde_json::to_string(&tools()).unwrap().len();
        assert!(bytes <= MAX_BYTES, "{bytes} bytes, at most {MAX_BYTES}");
    }
}
