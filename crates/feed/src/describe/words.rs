//! What a type says too little of: the bounds of what is asked, and the closed
//! words of what is answered.

use pipeline::{ArtifactKind, AttemptOutcome, KeyView, Permission, Verdict, Wanted};
use serde_json::{Value, json};

use crate::attempt::described as attempt;
use crate::field::{Field, Wished};
use crate::problem::Problem;
use crate::{Policy, Settings, inbox, operator};

/// The bodies that are read, with their fields.
fn wishes(settings: &Settings, policy: &Policy) -> [(&'static str, Vec<Field>); 5] {
    [
        ("AttemptWish", attempt::Wish::fields(settings, policy)),
        (
            "ConsumeWish",
            attempt::ConsumeWish::fields(settings, policy),
        ),
        ("Report", attempt::Report::fields(settings, policy)),
        ("InboxWish", inbox::Wish::fields(settings, policy)),
        ("KeyWish", operator::Wish::fields(settings, policy)),
    ]
}

/// Adds the bounds that the checks read.
pub(super) fn bound(document: &mut Value, settings: &Settings, policy: &Policy) {
    for (body, fields) in wishes(settings, policy) {
        for field in fields {
            add(document, body, field.name, field.schema);
        }
    }
}

/// Adds the words that answers are made of.
pub(super) fn close(document: &mut Value) {
    let kinds = ArtifactKind::ALL.map(ArtifactKind::as_str);
    let given = [ArtifactKind::Code, ArtifactKind::Link].map(ArtifactKind::as_str);
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
        ("AttemptDisclosure", "kind", json!(given)),
        ("Disclosure", "kind", json!(given)),
        ("Item", "kind", json!(kinds)),
        ("Item", "verdict", json!(Verdict::WORDS)),
        ("Inbox", "state", json!(inbox::STATES)),
        ("Key", "state", json!(KeyView::STATES)),
        ("Problem", "type", json!(problems)),
        ("Problem", "scope", json!(scopes)),
    ] {
        // What is left out when there is nothing to say is never null.
        add(
            document,
            body,
            field,
            json!({ "type": "string", "enum": words }),
        );
    }
    let items = json!({ "items": { "type": "string", "enum": scopes } });
    add(document, "Key", "scopes", items);
}

/// Adds members to the schema of a field; one that is not there is a mistake that a
/// test finds.
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
    use crate::describe::document;

    fn described() -> Value {
        document(&Settings::default(), &Policy::default())
    }

    #[test]
    fn every_field_that_is_read_has_a_rule_and_every_rule_a_field() {
        let document = described();
        for (body, fields) in wishes(&Settings::default(), &Policy::default()) {
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
    fn every_word_that_is_answered_is_in_its_list() {
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
            ("Problem", "scope", 4),
        ] {
            assert_eq!(words(body, field).len(), count, "{body}.{field}");
        }
        let deadline = &document["components"]["schemas"]["AttemptWish"]["properties"]["deadline"];
        assert_eq!(
            (&deadline["minimum"], &deadline["maximum"]),
            (&json!(1), &json!(86_400))
        );
        let required = &document["components"]["schemas"]["KeyWish"]["required"];
        assert_eq!(*required, json!(["name"]));
        let required = &document["components"]["schemas"]["Report"]["required"];
        assert_eq!(*required, json!(["outcome"]));
    }
}
