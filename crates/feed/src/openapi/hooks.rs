//! The posts between Maillatch and other servers: mail that arrives at `/hooks/{source}`,
//! which the crate `webhook` serves, and callbacks, which the crate `worker` sends.
//! End-to-end tests hold both descriptions against what is served and sent.

use serde_json::{Map, Value, json};

use super::responses::reference;

/// Where mail arrives.
pub(super) const PATH: &str = "/hooks/{source}";

/// The problems of a post: status, last part of the type, and meaning.
const PROBLEMS: &[(&str, &str, &str)] = &[
    ("400", "body-incomplete", "the body is incomplete"),
    (
        "401",
        "signature-invalid",
        "the post is not authentic; the server's log has the reason",
    ),
    ("404", "not-found", "no source has this name"),
    ("408", "request-timeout", "the body did not arrive in time"),
    ("413", "body-too-large", "the body is too large"),
    ("415", "content-encoding", "send the body unencoded"),
    (
        "415",
        "media-type",
        "send one content type; JSON must be UTF-8",
    ),
    ("503", "unavailable", "not recorded; retry"),
    ("503", "overloaded", "the server is overloaded; retry"),
    ("503", "storage-full", "storage is full; retry"),
];

/// `POST /hooks/{source}`.
pub(super) fn hook() -> Value {
    let source = json!({
        "name": "source", "in": "path", "required": true,
        "description": "The name of a source in the configuration.",
        "schema": { "type": "string", "minLength": 1 },
    });
    let mut parameters = vec![source];
    parameters.extend(signature_headers(false));
    let accepted = json!({
        "description": "The post is in a committed row. `duplicate`: it was there before.",
        "content": { "application/json": {
            "schema": reference("Accepted"),
            "example": { "status": "accepted", "delivery": "dlv_0193f2c44d5a7c11a3b0c9d8e7f60512" },
        } },
    });
    let mut responses = Map::from_iter([("200".to_owned(), accepted)]);
    for (status, _, _) in PROBLEMS {
        responses.insert((*status).to_owned(), problem_response(status));
    }
    json!({
        "operationId": "receiveMail",
        "tags": ["mail"],
        "summary": "Accepts mail from a provider",
        "description": "No key: the provider proves itself with its signature or its password, \
                        which are checked before anything is stored. The body is that of the \
                        source's provider; described here is Maillatch's own, of the providers \
                        `standard-webhooks`, `cloudflare` and `relay`. Some providers get other \
                        statuses, so that they retry what must not be lost.",
        "security": [],
        "parameters": parameters,
        "requestBody": { "required": true, "content": { "application/json": {
            "schema": reference("MailPost"),
            "example": {
                "type": "email.received",
                "timestamp": "2026-01-01T00:00:00Z",
                "data": { "recipients": ["agent@inbox.test"], "raw": "RnJvbTog4oCm" },
            },
        } } },
        "responses": responses,
    })
}

/// The headers of Standard Webhooks.
fn signature_headers(is_required: bool) -> impl Iterator<Item = Value> {
    let headers = [
        ("webhook-id", "The id of the post, the same in every retry."),
        (
            "webhook-timestamp",
            "When it was sent, in seconds since 1970.",
        ),
        (
            "webhook-signature",
            "`v1,` and the base64 of HMAC-SHA-256 over `{id}.{timestamp}.{body}`.",
        ),
    ];
    headers.into_iter().map(move |(name, description)| {
        json!({
            "name": name, "in": "header", "required": is_required,
            "description": description, "schema": { "type": "string" },
        })
    })
}

fn problem_response(status: &str) -> Value {
    let of_status = PROBLEMS.iter().filter(|(one, _, _)| *one == status);
    let sentences = of_status.map(|(_, slug, meaning)| format!("`{slug}`: {meaning}."));
    let sentences: Vec<String> = sentences.collect();
    let mut response = json!({
        "description": sentences.join(" "),
        "content": { "application/problem+json": { "schema": reference("HookProblem") } },
    });
    if let (true, Some(members)) = (status == "503", response.as_object_mut()) {
        let text = "In how many seconds to retry.";
        let header = json!({ "description": text, "schema": { "type": "string" } });
        members.insert("headers".to_owned(), json!({ "Retry-After": header }));
    }
    response
}

/// The post to a callback.
pub(super) fn callback() -> Value {
    let headers: Vec<Value> = signature_headers(true).collect();
    json!({
        "operationId": "artifactConsumed",
        "tags": ["attempts"],
        "summary": "Posts the value of an attempt with a `callback` to the operator's URL",
        "description": "The operator configures the URL and the secret as `callback.NAME`. The \
                        value was consumed in the callback's name: no other consumer gets it. Id \
                        and body are the same in every retry; deduplicate by the id.",
        "parameters": headers,
        "requestBody": { "required": true, "content": { "application/json": {
            "schema": reference("CallbackPost"),
            "example": {
                "type": "artifact.consumed",
                "timestamp": "2026-01-01T00:00:07.000Z",
                "data": {
                    "attempt": "att_0193f2c44d5a7c11a3b0c9d8e7f60512",
                    "artifact": "art_0193f2c44d5a7c11a3b0c9d8e7f60513",
                    "message": "msg_0193f2c44d5a7c11a3b0c9d8e7f60514",
                    "inbox": "kx7mz2-dvq9t4hw@inbox.test",
                    "kind": "code",
                    "rule": "label_direct",
                    "confidence": 98,
                    "sender": "no-reply@example.com",
                    "received_at": "2026-01-01T00:00:05.000Z",
                    "value": "493817",
                },
            },
        } } },
        "responses": {
            "2XX": { "description": "Accepted: it is not posted again." },
            "410": { "description": "Given up: it is not posted again." },
            "default": { "description": "Retried with growing waits until the value expires." },
        },
    })
}

/// The post about a thread that was handed over.
pub(super) fn handover() -> Value {
    let headers: Vec<Value> = signature_headers(true).collect();
    json!({
        "operationId": "threadHandedOver",
        "tags": ["sends"],
        "summary": "Tells the operator's URL that a person must answer in a thread",
        "description": "Agents sent too many replies. The operator names the callback as \
                        `reply.callback`. Id and body are the same in every retry.",
        "parameters": headers,
        "requestBody": { "required": true, "content": { "application/json": {
            "schema": reference("HandoverPost"),
            "example": {
                "type": "thread.handed_over",
                "timestamp": "2026-01-01T00:00:07.000Z",
                "data": {
                    "thread": "thr_5d1c2b3a4f5e6d7c8b9a0f1e2d3c4b5a",
                    "inbox": "kx7mz2-dvq9t4hw@inbox.test",
                    "message": "msg_0193f2c44d5a7c11a3b0c9d8e7f60514",
                    "reason": "thread_burst",
                    "replies": 3,
                },
            },
        } } },
        "responses": {
            "2XX": { "description": "Accepted: it is not posted again." },
            "410": { "description": "Given up: it is not posted again." },
            "default": { "description": "Retried with growing waits." },
        },
    })
}

/// The bodies of these posts and of their answers.
pub(super) fn schemas() -> Value {
    let time = json!({ "type": "string", "format": "date-time" });
    let text = json!({ "type": "string" });
    let slugs: Vec<String> = PROBLEMS
        .iter()
        .map(|(_, slug, _)| format!("urn:maillatch:problem:{slug}"))
        .collect();
    json!({
        "MailPost": object(&["type", "data"], &json!({
            "type": {
                "type": "string",
                "description": "`email.received`; posts of other types are ignored.",
            },
            "timestamp": time,
            "data": object(&["recipients", "raw"], &json!({
                "recipients": { "type": "array", "minItems": 1, "items": text },
                "raw": { "type": "string", "description": "The message, in base64." },
            })),
        })),
        "Accepted": object(&["status", "delivery"], &json!({
            "status": { "type": "string", "enum": ["accepted", "duplicate"] },
            "delivery": text,
            "conflict": {
                "type": "boolean",
                "description": "The id was used for another body before; both are kept.",
            },
        })),
        "HookProblem": object(&["type", "title", "status", "retryable"], &json!({
            "type": { "type": "string", "enum": slugs },
            "title": text,
            "status": { "type": "integer" },
            "retryable": { "type": "boolean" },
        })),
        "HandoverPost": handover_post(&time, &text),
        "CallbackPost": object(&["type", "timestamp", "data"], &json!({
            "type": { "type": "string", "enum": ["artifact.consumed"] },
            "timestamp": time,
            "data": reference("CallbackValue"),
        })),
        "CallbackValue": object(
            &["attempt", "artifact", "message", "inbox", "kind", "rule", "confidence", "sender",
                "received_at"],
            &json!({
                "attempt": text,
                "artifact": text,
                "message": text,
                "inbox": text,
                "kind": { "type": "string", "enum": ["code", "link"] },
                "rule": text,
                "confidence": { "type": "integer", "minimum": 0, "maximum": 100 },
                "sender": { "type": ["string", "null"] },
                "received_at": time,
                "value": text,
                "token": {
                    "type": ["string", "null"],
                    "description": "In place of `value`, if the attempt asked for a field.",
                },
            }),
        ),
    })
}

fn handover_post(time: &Value, text: &Value) -> Value {
    let data = object(
        &["thread", "inbox", "message", "reason", "replies"],
        &json!({
            "thread": text,
            "inbox": text,
            "message": text,
            "reason": text,
            "replies": { "type": "integer", "minimum": 0 },
        }),
    );
    object(
        &["type", "timestamp", "data"],
        &json!({
            "type": { "type": "string", "enum": ["thread.handed_over"] },
            "timestamp": time,
            "data": data,
        }),
    )
}

fn object(required: &[&str], properties: &Value) -> Value {
    json!({ "type": "object", "required": required, "properties": properties })
}
