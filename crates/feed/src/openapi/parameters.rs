//! The parameters of an operation: in the path, in the query and in headers.

use pipeline::SendState;
use serde_json::{Value, json};

use super::operation::Operation;
use crate::http::access::Access;
use crate::settings::Settings;

pub(super) fn parameters(
    access: &Access,
    operation: &Operation,
    settings: &Settings,
) -> Vec<Value> {
    let in_path = operation.path.split('/').filter_map(|part| {
        let name = part.strip_prefix('{')?.strip_suffix('}')?;
        Some(json!({ "name": name, "in": "path", "required": true, "schema": text(name) }))
    });
    let in_query = access.query.iter().map(|&name| {
        let schema = match name {
            "limit" => json!({ "type": "integer", "minimum": 1, "maximum": settings.page_limit }),
            "wait" => {
                let max = settings.wait_limit.as_secs();
                json!({ "type": "integer", "minimum": 0, "maximum": max })
            }
            "sender" => json!({
                "type": "string", "enum": ["domain", "full"],
                "description": "`full` shows the whole address of a sender that is proven.",
            }),
            "state" => {
                json!({ "type": "string", "enum": SendState::ALL.map(SendState::as_str) })
            }
            name => text(name),
        };
        let is_required = name == "inbox";
        json!({ "name": name, "in": "query", "required": is_required, "schema": schema })
    });
    let in_headers = operation.headers(access).map(|(name, is_required, description)| {
        let schema = match name {
            "Idempotency-Key" => {
                json!({ "type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[!-~]+$" })
            }
            _ => json!({ "type": "string" }),
        };
        json!({
            "name": name, "in": "header", "required": is_required,
            "description": description, "schema": schema,
        })
    });
    in_path.chain(in_query).chain(in_headers).collect()
}

/// The schema of a text parameter.
fn text(name: &str) -> Value {
    let description = match name {
        "inbox" => "The address of an inbox.",
        "artifact" => "The id of an artifact, `art_…`.",
        "attempt" => "The id of an attempt, `att_…`.",
        "guard" => "The id of a guard, `grd_…`.",
        "send" => "The id of a send, `snd_…`; to settle it also `grd_…`.",
        "message" => "The id of a message, `msg_…`.",
        "thread" => "The id of a thread, `thr_…`.",
        "before" => "The id of the last one of the page before.",
        "name" => "The consumer that a key stands for.",
        "from" => "Domains, separated by commas. A sender that lies in one is shown as that one.",
        _ => "The cursor of an earlier response. Without it the list begins with the oldest item.",
    };
    json!({ "type": "string", "minLength": 1, "description": description })
}
