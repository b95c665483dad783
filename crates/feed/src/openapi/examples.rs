//! Examples of request and response bodies. A test holds each against its schema.

mod sends;

use serde_json::{Value, json};

const ATTEMPT: &str = "att_0193f2c44d5a7c11a3b0c9d8e7f60512";
const ARTIFACT: &str = "art_0193f2c44d5a7c11a3b0c9d8e7f60513";
const INBOX: &str = "kx7mz2-dvq9t4hw@inbox.test";
const OPENED: &str = "2026-01-01T00:00:00.000Z";
const RECEIVED: &str = "2026-01-01T00:00:05.000Z";
const CONSUMED: &str = "2026-01-01T00:00:07.000Z";
const ENDS: &str = "2026-01-01T00:10:00.000Z";

/// The body of a request.
pub(super) fn request_example(operation: &str) -> Option<Value> {
    Some(match operation {
        "openAttempt" => json!({ "kind": "code", "from": ["example.com"] }),
        "consumeAttempt" => json!({ "wait": 25 }),
        "finishAttempt" => json!({ "outcome": "succeeded" }),
        "createInbox" => json!({ "from": ["example.com"], "expires_in": 3600 }),
        "createKey" => json!({ "name": "agent-7", "scopes": ["attempt", "feed", "consume"] }),
        "resendAttempt" | "rotateInbox" | "consumeArtifact" => json!({}),
        other => return sends::request(other),
    })
}

/// The body of a response, by the operation and the name of its schema.
pub(super) fn response_example(operation: &str, body: &str) -> Option<Value> {
    Some(match (operation, body) {
        ("openAttempt", _) => attempt("pending", "wait", "no message has arrived yet"),
        ("showAttempt", _) => ready_attempt(),
        ("finishAttempt", _) => finished_attempt(),
        (_, "AttemptDisclosure") => json!({
            "attempt": ATTEMPT, "artifact": ARTIFACT, "state": "consumed", "kind": "code",
            "value": "493817", "sender_verified": true, "sender_proof": "dkim",
            "consumed_at": CONSUMED,
        }),
        (_, "Attempt") => attempt("pending", "wait", "no message has arrived yet"),
        (_, "Disclosure") => json!({
            "id": ARTIFACT, "kind": "code", "value": "493817", "sender_verified": true,
            "sender_proof": "dkim", "consumed_at": CONSUMED,
        }),
        (_, "Grant") => json!({ "attempt": ATTEMPT, "resends_left": 0 }),
        (_, "Inbox") => inbox(),
        (_, "InboxPage") => json!({ "items": [inbox()] }),
        (_, "ArtifactPage") => {
            json!({ "items": [item()], "next_cursor": "AgAAAAAAAAAB" })
        }
        (_, "ConsumePage") => json!({ "items": [{
            "artifact": ARTIFACT, "consumer": "agent-7", "consumed_at": CONSUMED,
            "way": "attempt", "inbox": INBOX, "kind": "code", "attempt": ATTEMPT,
        }] }),
        (_, "Key") => key(),
        (_, "KeyPage") => json!({ "items": [key()] }),
        (_, "NewKey") => new_key(),
        (_, other) => return sends::response(other),
    })
}

fn attempt(state: &str, next: &str, hint: &str) -> Value {
    json!({
        "id": ATTEMPT, "inbox": INBOX, "kind": "code", "state": state, "next": next,
        "hint": hint, "opened_at": OPENED, "deadline": ENDS, "resends_left": 1,
    })
}

fn ready_attempt() -> Value {
    let mut attempt = attempt("ready", "consume", "a value is ready; consume it");
    set(&mut attempt, "artifact", item());
    attempt
}

fn finished_attempt() -> Value {
    let mut attempt = attempt("consumed", "nothing", "the value is already consumed");
    set(&mut attempt, "outcome", json!("succeeded"));
    attempt
}

fn item() -> Value {
    json!({
        "id": ARTIFACT, "kind": "code", "verdict": "usable", "rule": "label_direct",
        "confidence": 98, "message": "msg_0193f2c44d5a7c11a3b0c9d8e7f60514",
        "attempt": ATTEMPT, "sender_domain": "example.com", "sender_verified": true,
        "sender_proof": "dkim", "flags": [], "received_at": RECEIVED, "expires_at": ENDS,
        "state": "available",
    })
}

fn inbox() -> Value {
    json!({
        "address": INBOX, "from": ["example.com"], "created_at": OPENED, "state": "open",
    })
}

fn key() -> Value {
    json!({
        "id": "k3v9x2", "name": "agent-7", "scopes": ["attempt", "feed", "consume"],
        "inboxes": [], "state": "good", "created_at": OPENED,
    })
}

fn new_key() -> Value {
    let mut key = key();
    set(&mut key, "token", json!("mlk_..."));
    key
}

fn set(object: &mut Value, name: &str, value: Value) {
    if let Some(members) = object.as_object_mut() {
        members.insert(name.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openapi::document::document;
    use crate::policy::Policy;
    use crate::settings::Settings;

    /// The schema itself, or the one that it refers to.
    fn resolved<'d>(document: &'d Value, schema: &'d Value) -> &'d Value {
        match schema["$ref"].as_str() {
            Some(place) => document.pointer(place.trim_start_matches('#')).unwrap(),
            None => schema,
        }
    }

    /// Whether a value fits a schema, as far as our schemas go.
    fn check(document: &Value, schema: &Value, value: &Value, place: &str) {
        let schema = resolved(document, schema);
        if let Some(any) = schema["anyOf"].as_array() {
            let fits = |one: &&Value| {
                let required = resolved(document, one)["required"].as_array().unwrap();
                required
                    .iter()
                    .all(|name| value.get(name.as_str().unwrap()).is_some())
            };
            let fit = any.iter().find(fits).unwrap_or_else(|| panic!("{place}"));
            return check(document, fit, value, place);
        }
        for part in schema["allOf"].as_array().into_iter().flatten() {
            let mut own = value.clone();
            let known = &resolved(document, part)["properties"];
            own.as_object_mut()
                .unwrap()
                .retain(|name, _| known.get(name).is_some());
            check(document, part, &own, place);
        }
        if let Some(words) = schema["enum"].as_array() {
            assert!(words.contains(value), "{place}: {value}");
        }
        if let Some(properties) = schema["properties"].as_object() {
            for name in schema["required"].as_array().into_iter().flatten() {
                let name = name.as_str().unwrap();
                assert!(value.get(name).is_some(), "{place}: {name} is missing");
            }
            for (name, member) in value.as_object().unwrap() {
                let property = properties.get(name);
                let property = property.unwrap_or_else(|| panic!("{place}: {name}"));
                check(document, property, member, &format!("{place}.{name}"));
            }
        }
        for item in value.as_array().into_iter().flatten() {
            check(document, &schema["items"], item, place);
        }
    }

    /// Checks every example below a value; returns how many there are.
    fn check_all(document: &Value, value: &Value, place: &str) -> usize {
        let mut count = 0;
        if let Some(schema) = value.get("schema") {
            let named = value["examples"].as_object().into_iter().flatten();
            let examples = named.map(|(_, example)| &example["value"]);
            for example in examples.chain(value.get("example")) {
                check(document, schema, example, place);
                count += 1;
            }
        }
        let members = value.as_object().into_iter().flatten();
        for (name, member) in members {
            count += check_all(document, member, &format!("{place}/{name}"));
        }
        count
    }

    #[test]
    fn examples_fit_their_schemas() {
        let document = document(&Settings::default(), &Policy::default());
        let paths = check_all(&document, &document["paths"], "");
        let webhooks = check_all(&document, &document["webhooks"], "");
        assert!(paths > 100 && webhooks == 2, "{paths} {webhooks}");
    }

    #[test]
    fn every_json_body_has_an_example() {
        let document = document(&Settings::default(), &Policy::default());
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let responses = operation["responses"].as_object().unwrap();
                let answers = responses
                    .iter()
                    .filter(|(status, _)| status.starts_with('2'));
                let answers = answers.map(|(_, answer)| &answer["content"]["application/json"]);
                let body = &operation["requestBody"]["content"]["application/json"];
                for content in answers.chain([body]).filter(|content| !content.is_null()) {
                    let has_one = content["examples"]
                        .as_object()
                        .is_some_and(|all| !all.is_empty())
                        || content.get("example").is_some();
                    assert!(has_one, "{method} {path}");
                }
            }
        }
    }
}
