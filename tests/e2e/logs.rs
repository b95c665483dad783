//! Log lines for machines: each is one JSON object, ids and words are fields of it, and no
//! field holds the debug text of a Rust value.

use serde_json::{Value, json};

use crate::callbacks::{Manner, Receiver};
use crate::harness::{Harness, otp_delivery};

/// The crates whose lines are ours; libraries write theirs as they like.
const CRATES: [&str; 12] = [
    "pipeline",
    "providers",
    "extract",
    "store",
    "queue",
    "webhook",
    "worker",
    "poll",
    "feed",
    "client",
    "mcp",
    "maillatch",
];

/// Every log line of a deployment so far.
fn lines(harness: &Harness) -> Vec<Value> {
    let logs = harness.deployment.logs().unwrap();
    let starts = logs.lines().filter(|line| line.starts_with('{'));
    starts
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

fn with_message<'l>(lines: &'l [Value], message: &str) -> Vec<&'l Value> {
    let found: Vec<&Value> = lines
        .iter()
        .filter(|line| {
            line["message"]
                .as_str()
                .unwrap_or_default()
                .contains(message)
        })
        .collect();
    assert!(!found.is_empty(), "no line says: {message}");
    found
}

/// Text as `{:?}` prints structs, enums with values, options and durations.
fn is_debug_text(text: &str) -> bool {
    let shapes = ["Some(", "Ok(", "Err(", " { ", "Duration", "DeliveryId("];
    shapes.iter().any(|shape| text.contains(shape)) || text == "None"
}

/// No field is debug text, and none holds a code.
fn assert_plain(line: &Value) {
    for (name, value) in line.as_object().unwrap() {
        let text = value.as_str().unwrap_or_default();
        assert!(!is_debug_text(text), "{name} of {line}");
        let is_code = text.contains("493817") || text.contains("274461");
        assert!(!is_code, "{line}");
    }
}

/// One code that is consumed, and one whose callback fails at first.
async fn lines_are_structured(harness: Harness, receiver: Receiver) {
    let attempt = harness.open(json!({})).await;
    let mail = otp_delivery(attempt["inbox"].as_str().unwrap(), "m1", "493817");
    let posted = harness.post_until_accepted(0, "d1", &mail).await;
    let taken = harness.take(&attempt, "k1").await;
    assert_eq!(harness.take(&attempt, "k1").await, taken);
    let called = harness.open(json!({ "callback": "flow" })).await;
    let mail = otp_delivery(called["inbox"].as_str().unwrap(), "m2", "274461");
    harness.post_until_accepted(0, "d2", &mail).await;
    receiver.until_posts(2).await;
    let done = "SELECT count(*) FROM callbacks WHERE state = 'done'";
    harness.until_count(done, 1).await;
    let of = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();

    let lines = lines(&harness);
    let is_ours = |line: &&Value| {
        let target = of(line, "target");
        let crate_name = target.split("::").next().unwrap_or_default();
        CRATES.contains(&crate_name)
    };
    for line in lines.iter().filter(is_ours) {
        assert_plain(line);
    }
    let delivery = of(&posted.body, "delivery");
    for message in ["delivery recorded", "delivery done"] {
        let found = with_message(&lines, message);
        let line = found.iter().find(|line| line["delivery.id"] == delivery);
        let line = line.unwrap_or_else(|| panic!("{found:?}"));
        assert_eq!(line["source"], "dev", "{line}");
    }
    let disclosed = with_message(&lines, "value disclosed");
    let mine: Vec<_> = disclosed
        .iter()
        .filter(|line| line["attempt.id"] == attempt["id"])
        .map(|line| {
            (
                of(line, "artifact.id"),
                of(line, "consumer"),
                line["is_replay"].clone(),
            )
        })
        .collect();
    let entry = |is_replay: bool| {
        let (artifact, consumer) = (of(&taken, "artifact"), "agent-a".to_owned());
        (artifact, consumer, json!(is_replay))
    };
    assert_eq!(mine, [entry(false), entry(true)]);
    let sent = with_message(&lines, "value disclosed to a callback");
    assert_eq!(sent[0]["attempt.id"], called["id"]);
    let failed = with_message(&lines, "callback failed; it is retried");
    assert_eq!(failed[0]["level"], "WARN", "{failed:?}");
    assert_eq!(failed[0]["status"], 500, "{failed:?}");
    assert_eq!(failed[0]["callback.name"], "flow", "{failed:?}");
    assert_eq!(failed[0]["attempt.id"], called["id"], "{failed:?}");
    harness.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_are_structured_and_name_who_got_a_value_embedded() {
    let receiver = Receiver::start(&[Manner::Fail]).await;
    let harness = Harness::embedded_with(&receiver.settings()).await;
    lines_are_structured(harness, receiver).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_are_structured_and_name_who_got_a_value_full() {
    let receiver = Receiver::start(&[Manner::Fail]).await;
    let harness = Harness::full_with(&receiver.settings()).await;
    lines_are_structured(harness, receiver).await;
}

/// No line is written with the debug text of a value.
#[test]
fn no_log_statement_uses_debug_text() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders = vec![crates];
    let mut statements = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs")
                && path.components().any(|part| part.as_os_str() == "src")
            {
                let text = std::fs::read_to_string(&path).unwrap();
                for statement in log_statements(&text) {
                    statements += 1;
                    let uses_debug = statement
                        .split([',', '(', '='])
                        .any(|field| field.trim_start().starts_with('?'));
                    let prints_debug = statement.contains(":?}");
                    let place = path.display();
                    assert!(!uses_debug && !prints_debug, "{place}: {statement}");
                }
            }
        }
    }
    assert!(statements > 50, "{statements} statements were found");
}

/// The arguments of every statement that logs.
fn log_statements(text: &str) -> Vec<&str> {
    let macros = ["info!(", "warn!(", "error!(", "debug!(", "trace!("];
    let mut found = Vec::new();
    for name in macros {
        let mut rest = text;
        while let Some((_, after)) = rest.split_once(name) {
            let mut depth = 1;
            let end = after.find(|c| {
                depth += match c {
                    '(' => 1,
                    ')' => -1,
                    _ => 0,
                };
                depth == 0
            });
            found.push(after.get(..end.unwrap_or(after.len())).unwrap());
            rest = after;
        }
    }
    found
}
