//! What the Rust types do not express: the limits of request fields, and the fixed
//! words of response fields.

use pipeline::{
    ArtifactKind, AttemptOutcome, CapKind, KeyView, Permission, Reason, ReplyRefusal, SendState,
    SenderProof, ThreadState, Verdict, Wanted,
};
use serde_json::{Value, json};

use crate::http::field::{Field, RequestBody};
use crate::http::problem::Problem;
use crate::policy::Policy;
use crate::settings::Settings;
use crate::{attempt, guard, inbox, keys, send};

/// The names of the request bodies.
pub(super) const REQUEST_BODIES: [&str; 14] = [
    "AttemptWish",
    "ConsumeWish",
    "Report",
    "InboxWish",
    "KeyWish",
    "SendWish",
    "SendBatchWish",
    "Settlement",
    "GuardWish",
    "Confirmation",
    "Release",
    "Extension",
    "ReplyWish",
    "InboundRules",
];

/// The request bodies, with their fields.
fn request_bodies(settings: &Settings, policy: &Policy) -> [(&'static str, Vec<Field>); 14] {
    [
        (
            "AttemptWish",
            attempt::OpenRequestBody::fields(settings, policy),
        ),
        (
            "ConsumeWish",
            attempt::ConsumeRequestBody::fields(settings, policy),
        ),
        (
            "Report",
            attempt::FinishRequestBody::fields(settings, policy),
        ),
        (
            "InboxWish",
            inbox::InboxRequestBody::fields(settings, policy),
        ),
        ("KeyWish", keys::KeyRequestBody::fields(settings, policy)),
        ("SendWish", send::SendRequestBody::fields(settings, policy)),
        (
            "SendBatchWish",
            send::BatchRequestBody::fields(settings, policy),
        ),
        (
            "Settlement",
            send::SettleRequestBody::fields(settings, policy),
        ),
        (
            "GuardWish",
            guard::ClaimRequestBody::fields(settings, policy),
        ),
        (
            "Confirmation",
            guard::ConfirmRequestBody::fields(settings, policy),
        ),
        (
            "Release",
            guard::ReleaseRequestBody::fields(settings, policy),
        ),
        (
            "Extension",
            guard::ExtendRequestBody::fields(settings, policy),
        ),
        (
            "ReplyWish",
            send::ReplyRequestBody::fields(settings, policy),
        ),
        ("InboundRules", inbox::RulesBody::fields(settings, policy)),
    ]
}

/// Adds the limits that the checks use.
pub(super) fn add_request_rules(document: &mut Value, settings: &Settings, policy: &Policy) {
    for (body, fields) in request_bodies(settings, policy) {
        for field in fields {
            add(document, body, field.name, field.schema);
        }
    }
}

/// Adds the fixed words of responses.
pub(super) fn add_response_words(document: &mut Value) {
    let kinds = ArtifactKind::ALL.map(ArtifactKind::as_str);
    let disclosed = [ArtifactKind::Code, ArtifactKind::Link].map(ArtifactKind::as_str);
    let problems: Vec<String> = Problem::all().iter().map(Problem::name).collect();
    let scopes = Permission::ALL.map(Permission::as_str);
    for (body, field, words) in [
        ("Attempt", "kind", json!(Wanted::ALL.map(Wanted::as_str))),
        (
            "Attempt",
            "outcome",
            json!(AttemptOutcome::ALL.map(AttemptOutcome::as_str)),
        ),
        ("AttemptDisclosure", "state", json!(["consumed"])),
        ("AttemptDisclosure", "kind", json!(disclosed)),
        ("Disclosure", "kind", json!(disclosed)),
        ("Item", "kind", json!(kinds)),
        ("Item", "verdict", json!(Verdict::WORDS)),
        ("Inbox", "state", json!(inbox::INBOX_STATES)),
        ("Key", "state", json!(KeyView::STATES)),
        ("Send", "state", json!(send_states())),
        ("Send", "next", json!(send::NEXT)),
        (
            "Thread",
            "state",
            json!(ThreadState::ALL.map(ThreadState::as_str)),
        ),
        (
            "Message",
            "no_reply",
            json!(ReplyRefusal::ALL.map(ReplyRefusal::as_str)),
        ),
        ("Guard", "state", json!(guard::STATES)),
        ("Guard", "next", json!(guard::NEXT)),
        ("Problem", "type", json!(problems)),
        ("Problem", "scope", json!(scopes)),
        ("Consume", "kind", json!(kinds)),
        ("Consume", "way", json!(["attempt", "artifact", "callback"])),
    ] {
        // An optional field is left out instead of being null.
        add(
            document,
            body,
            field,
            json!({ "type": "string", "enum": words }),
        );
    }
    let items = json!({ "items": { "type": "string", "enum": scopes } });
    add(document, "Key", "scopes", items);
    add_reasons(document);
}

/// Adds the closed lists of reasons, each as a schema of its own with the meanings.
fn add_reasons(document: &mut Value) {
    for (name, words) in [
        ("Reason", Reason::FOR_AGENTS),
        ("SenderProof", SenderProof::FOR_AGENTS),
    ] {
        let meanings = words
            .iter()
            .map(|(word, meaning)| format!("- `{word}`: {meaning}"));
        let meanings: Vec<String> = meanings.collect();
        let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let schema = json!({ "type": "string", "enum": words, "description": meanings.join("\n") });
        if let Some(Value::Object(schemas)) = document.pointer_mut("/components/schemas") {
            schemas.insert(name.to_owned(), schema);
        }
    }
    // Why an item is withheld or not answered, or which cap a send has reached.
    let reasons = Reason::FOR_AGENTS.iter().map(|(word, _)| *word);
    let caps = CapKind::ALL.map(CapKind::as_str);
    let refusals = ReplyRefusal::ALL.map(ReplyRefusal::as_str);
    let words: Vec<&str> = reasons.chain(caps).chain(refusals).collect();
    add(document, "Problem", "reason", json!({ "enum": words }));
    for (body, field, schema) in [
        ("Attempt", "reason", "Reason"),
        ("Item", "reason", "Reason"),
        ("Item", "sender_proof", "SenderProof"),
        ("Disclosure", "sender_proof", "SenderProof"),
        ("AttemptDisclosure", "sender_proof", "SenderProof"),
    ] {
        let place = format!("/components/schemas/{body}/properties/{field}");
        if let Some(Value::Object(members)) = document.pointer_mut(&place) {
            members.remove("type");
            let schema = format!("#/components/schemas/{schema}");
            members.insert("$ref".to_owned(), json!(schema));
        }
    }
}

/// All words for the states of sends and guards.
fn send_states() -> Vec<&'static str> {
    let mut words = SendState::ALL.map(SendState::as_str).to_vec();
    words.extend(guard::STATES);
    words.sort_unstable();
    words.dedup();
    words
}

/// Adds members to the schema of a field. A test fails if there is no such field.
fn add(document: &mut Value, body: &str, field: &str, members: Value) {
    let place = format!("/components/schemas/{body}/properties/{field}");
    let schema = document.pointer_mut(&place).and_then(Value::as_object_mut);
    if let (Some(schema), Value::Object(members)) = (schema, members) {
        schema.extend(members);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openapi::document::document;

    fn described() -> Value {
        document(&Settings::default(), &Policy::default())
    }

    #[test]
    fn every_request_field_has_a_rule() {
        let document = described();
        let bodies = request_bodies(&Settings::default(), &Policy::default());
        assert_eq!(bodies.each_ref().map(|(body, _)| *body), REQUEST_BODIES);
        for (body, fields) in bodies {
            let place = format!("/components/schemas/{body}/properties");
            let described = document.pointer(&place).unwrap().as_object().unwrap();
            let mut described: Vec<&str> = described.keys().map(String::as_str).collect();
            let mut ruled: Vec<&str> = fields.iter().map(|field| field.name).collect();
            described.sort_unstable();
            ruled.sort_unstable();
            assert_eq!(described, ruled, "{body}");
        }
    }

    #[test]
    fn every_fixed_word_is_listed_in_its_schema() {
        let proofs = SenderProof::FOR_AGENTS.len();
        let document = described();
        let words = |body: &str, field: &str| -> Vec<String> {
            let place = format!("/components/schemas/{body}/properties/{field}");
            let schema = document.pointer(&place).unwrap();
            let schema = match schema["$ref"].as_str() {
                Some(other) => document.pointer(other.trim_start_matches('#')).unwrap(),
                None => schema,
            };
            serde_json::from_value(schema["enum"].clone()).unwrap_or_default()
        };
        for (body, field, count) in [
            ("Attempt", "state", 9),
            ("Attempt", "kind", 3),
            ("Attempt", "outcome", 3),
            ("Attempt", "next", 6),
            ("AttemptDisclosure", "state", 1),
            ("AttemptDisclosure", "kind", 2),
            ("Disclosure", "kind", 2),
            ("Item", "kind", 3),
            ("Item", "verdict", 3),
            ("Item", "state", 6),
            ("Inbox", "state", 2),
            ("Key", "state", 3),
            ("Problem", "type", Problem::all().len()),
            ("Send", "state", 11),
            ("Send", "next", 3),
            ("Guard", "state", 5),
            ("Guard", "next", 4),
            ("Problem", "scope", 7),
            ("Thread", "state", 2),
            ("Message", "no_reply", 11),
            ("Consume", "kind", 3),
            ("Consume", "way", 3),
            ("Attempt", "reason", Reason::FOR_AGENTS.len()),
            ("Item", "reason", Reason::FOR_AGENTS.len()),
            (
                "Problem",
                "reason",
                Reason::FOR_AGENTS.len() + CapKind::ALL.len() + ReplyRefusal::ALL.len(),
            ),
            ("Item", "sender_proof", proofs),
            ("Disclosure", "sender_proof", proofs),
            ("AttemptDisclosure", "sender_proof", proofs),
        ] {
            assert_eq!(words(body, field).len(), count, "{body}.{field}");
        }
        let deadline = &document["components"]["schemas"]["AttemptWish"]["properties"]["deadline"];
        assert_eq!(
            (&deadline["minimum"], &deadline["maximum"]),
            (&json!(1), &json!(86_400))
        );
        assert_eq!(
            deadline["description"],
            "After how many seconds the attempt ends. `600` if it is left out."
        );
        let required = &document["components"]["schemas"]["KeyWish"]["required"];
        assert_eq!(*required, json!(["name"]));
        let required = &document["components"]["schemas"]["Report"]["required"];
        assert_eq!(*required, json!(["outcome"]));
    }
}
