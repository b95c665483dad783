//! The `OpenAPI` document against what other roles serve and send: hooks, callbacks, and
//! the reasons that workers give.

use std::collections::BTreeSet;
use std::path::Path;

use extract::AbstainReason;
use pipeline::{Reason, SenderProof};
use serde_json::Value;

use crate::client::HttpAnswer;
use crate::harness::{Harness, Role, otp_delivery};

/// Whether a value has the fields of a schema: all that are required, and no other.
pub(crate) fn assert_fits(document: &Value, schema: &Value, value: &Value) {
    let schema = match schema["$ref"].as_str() {
        Some(place) => document.pointer(place.trim_start_matches('#')).unwrap(),
        None => schema,
    };
    if let Some(words) = schema["enum"].as_array() {
        assert!(words.contains(value), "{value} is none of {words:?}");
    }
    let Some(properties) = schema["properties"].as_object() else {
        return;
    };
    for name in schema["required"].as_array().unwrap() {
        let name = name.as_str().unwrap();
        assert!(value.get(name).is_some(), "{name} is missing: {value}");
    }
    for (name, member) in value.as_object().unwrap() {
        assert!(properties.contains_key(name), "{name} is not described");
        assert_fits(document, &properties[name], member);
    }
}

/// Whether an answer to a post is one that the document describes.
fn assert_described(document: &Value, answer: &HttpAnswer) {
    let hook = &document["paths"]["/hooks/{source}"]["post"];
    let response = &hook["responses"][answer.status.as_str()];
    let content_type = answer.headers["content-type"].to_str().unwrap();
    let schema = &response["content"][content_type]["schema"];
    assert!(schema.is_object(), "{answer:?}");
    assert_fits(document, schema, &answer.body);
    if let Some(slug) = answer.body["type"].as_str() {
        let slug = slug.rsplit(':').next().unwrap();
        let described = response["description"].as_str().unwrap();
        assert!(
            described.contains(&format!("`{slug}`")),
            "{slug}: {described}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_answer_as_the_document_says() {
    let harness = Harness::embedded().await;
    let document = harness.get(Role::Feed, "openapi.json").await.body;
    let mail = otp_delivery("agent@inbox.test", "m1", "493817");
    for (status, wanted) in [("accepted", "d1"), ("duplicate", "d1")] {
        let answer = harness.post(0, wanted, &mail).await;
        assert_eq!(answer.body["status"], status, "{answer:?}");
        assert_described(&document, &answer);
    }
    let json = ("content-type", "application/json");
    for (source, headers, status) in [
        ("dev", vec![json], 401),
        ("nobody", vec![json], 404),
        ("dev", vec![json, ("content-encoding", "gzip")], 415),
        ("dev", vec![], 415),
    ] {
        let to = &harness.deployment;
        let answer = harness.client.post_to(to, source, &headers, b"{}").await;
        let answer = answer.unwrap();
        assert_eq!(answer.status.as_u16(), status, "{answer:?}");
        assert_described(&document, &answer);
    }
    harness.end().await;
}

#[test]
fn every_reason_of_the_extractor_is_a_reason_for_agents() {
    let last = AbstainReason::WrappedOpaque as usize;
    assert_eq!(AbstainReason::ALL.len(), last + 1);
    for reason in AbstainReason::ALL.map(AbstainReason::as_str) {
        let mut known = Reason::FOR_AGENTS.iter();
        assert!(known.any(|(word, _)| *word == reason), "{reason}");
    }
}

/// The words in the first column of the table under a heading.
fn words_of_table(document: &str, head: &str) -> BTreeSet<String> {
    let rows = document.split(head).nth(1).unwrap().lines();
    let rows = rows.skip(1).take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    let words = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    words.map(str::to_owned).collect()
}

#[test]
fn readme_of_the_feed_explains_every_reason() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../feed/README.md");
    let readme = std::fs::read_to_string(path).unwrap();
    for (head, words) in [
        ("| `reason` | meaning |", Reason::FOR_AGENTS),
        ("| `sender_proof` | meaning |", SenderProof::FOR_AGENTS),
    ] {
        let known = words.iter().map(|(word, _)| (*word).to_owned());
        let known: BTreeSet<String> = known.collect();
        assert_eq!(words_of_table(&readme, head), known, "{head}");
    }
}
