//! One post with many mails: each has its own fate, which is visible and can be repeated.

use serde_json::{Value, json};

use super::posts::Mail;
use super::{LITERAL, MANDRILL_URL, consumed, mandrill, seconds, send};
use crate::harness::Harness;

/// A mail without its body, as Mandrill would never send it.
fn malformed(inbox: &str) -> Value {
    json!({ "event": "inbound", "ts": 1, "msg": { "email": inbox } })
}

fn event(inbox: &str, raw: &str) -> Value {
    json!({ "event": "inbound", "ts": seconds(), "msg": { "email": inbox, "raw_msg": raw } })
}

/// 97 good mails, and among them one for an unknown inbox, a malformed one and one that is
/// nested too deeply.
fn batch_of_100() -> String {
    let inbox = "agent@inbox.test";
    let good = |number: i64| {
        let code = (100_000 + number * 7_919).to_string();
        let mail = Mail {
            inbox,
            code: &code,
            at: seconds(),
        };
        event(inbox, &mail.raw())
    };
    let mut events: Vec<Value> = (0..97).map(good).collect();
    let stranger = Mail {
        inbox: "stranger@elsewhere.test",
        code: "314159",
        at: seconds(),
    };
    events.insert(5, event(stranger.inbox, &stranger.raw()));
    events.insert(50, malformed(inbox));
    let deep = "Content-Type: message/rfc822\r\n\r\n".repeat(2_000);
    events.insert(99, event(inbox, &deep));
    assert_eq!(events.len(), 100);
    json!(events).to_string()
}

/// The dead letters: each one's reason and id.
async fn failures(harness: &Harness) -> Vec<(String, String)> {
    let mut command = harness.command(&["failures", "list", "--json"]);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let list: Value = serde_json::from_slice(&output.await.unwrap().stdout).unwrap();
    let text = |item: &Value, name: &str| item[name].as_str().unwrap().to_owned();
    let items = list["items"].as_array().unwrap().iter();
    let mut failures: Vec<_> = items
        .map(|item| (text(item, "reason"), text(item, "id")))
        .collect();
    failures.sort();
    failures
}

async fn requeue(harness: &Harness, id: &str) {
    let mut command = harness.command(&["failures", "requeue", id, "--json"]);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let said: Value = serde_json::from_slice(&output.await.unwrap().stdout).unwrap();
    assert_eq!(said["requeued"], json!([id]));
}

const UNFINISHED: &str = "SELECT count(*) FROM deliveries WHERE finished_at IS NULL";

async fn bad_mails_of_a_batch_fail_alone_and_are_requeued_alone(harness: Harness) {
    let post = mandrill(&batch_of_100());
    // The same post again changes nothing.
    for _ in 0..2 {
        send(&harness, &post).await;
        let items = harness.until_items("agent@inbox.test", 97).await;
        harness.until_count(UNFINISHED, 0).await;
        assert_eq!(items.len(), 97);
        assert_eq!(harness.count("SELECT count(*) FROM deliveries").await, 101);
        let reasons: Vec<String> = failures(&harness)
            .await
            .into_iter()
            .map(|one| one.0)
            .collect();
        assert_eq!(reasons, ["inbox_unknown", "payload_malformed", "too_deep"]);
    }
    let before = failures(&harness).await;
    // The cause of one failure is removed, and that mail alone is requeued.
    let inbox = json!({ "address": "stranger@elsewhere.test" });
    let (status, body) = harness.post_json("v1/inboxes", "create", &inbox).await;
    assert_eq!(status, 201, "{body}");
    requeue(&harness, &before[0].1).await;
    assert_eq!(
        consumed(&harness, "stranger@elsewhere.test").await,
        "314159"
    );
    assert_eq!(failures(&harness).await, before[1..]);
    // The others fail again, each with its own reason.
    for (reason, id) in &before[1..] {
        requeue(&harness, id).await;
        harness.until_count(UNFINISHED, 0).await;
        let after = failures(&harness).await;
        assert_eq!(after, before[1..], "{reason}");
    }
    assert_eq!(harness.items(0, "agent@inbox.test").await.len(), 97);
    harness.end().await;
}

fn mandrill_source() -> String {
    format!(
        "inbox.domains = [\"inbox.test\"]\n[source.mandrill]\nprovider = \"mandrill\"\nsecrets = [\"{LITERAL}\"]\n\
         url = \"{MANDRILL_URL}\"\ndomains = [\"*\"]\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_mails_of_a_batch_fail_alone_and_are_requeued_alone_on_the_embedded_profile() {
    let harness = Harness::embedded_with(&mandrill_source()).await;
    bad_mails_of_a_batch_fail_alone_and_are_requeued_alone(harness).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_mails_of_a_batch_fail_alone_and_are_requeued_alone_on_the_full_profile() {
    let harness = Harness::full_with(&mandrill_source()).await;
    bad_mails_of_a_batch_fail_alone_and_are_requeued_alone(harness).await;
}
