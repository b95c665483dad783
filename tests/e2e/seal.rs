//! Stored content is sealed, resealed while everything runs, and wiped in time.

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::harness::{Harness, TIMEOUT, otp_delivery, payload};

/// Values are wiped a second after their use, bodies a second after processing.
const FLEETING: &str = "feed.replay_window = \"1s\"\nretention.every = \"200ms\"\n\
                        retention.bodies = \"1s\"\nretention.buried_bodies = \"1s\"\n";

const CANARIES: [&str; 5] = [
    "CanarySubject",
    "CanaryBody",
    "CanaryName",
    "738291",
    "canarytoken0123456789abcdef",
];

#[tokio::test(flavor = "multi_thread")]
async fn no_mail_content_is_stored_in_clear_in_sqlite() {
    nothing_stands_in_clear(Harness::embedded_with(FLEETING).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_mail_content_is_stored_in_clear_in_postgres() {
    nothing_stands_in_clear(Harness::full_with(FLEETING).await).await;
}

async fn nothing_stands_in_clear(harness: Harness) {
    let inbox = "agent@inbox.test";
    let mail = "From: CanaryName <no-reply@example.com>\r\n\
        To: agent@inbox.test\r\nMessage-ID: <c@example.com>\r\n\
        Subject: CanarySubject verification\r\n\r\n\
        CanaryBody. Your verification code is 738291.\r\n\
        Or open https://example.com/verify?token=canarytoken0123456789abcdef\r\n";
    harness
        .post(0, "msg_1", &payload(inbox, mail.as_bytes()))
        .await;
    harness
        .post(1, "msg_2", b"CanaryBody is not even JSON")
        .await;
    let items = harness.until_items(inbox, 1).await;
    let buried = "SELECT count(*) FROM deliveries WHERE state = 'buried'";
    harness.until_count(buried, 1).await;
    assert_absent(&harness).await;

    let code = items.iter().find(|item| item["kind"] == "code").unwrap();
    let code = code["id"].as_str().unwrap();
    let consumed = harness.consume(code, 0, "k1").await;
    assert_eq!(consumed.body["value"], "738291");
    assert_absent(&harness).await;

    let wiped = "SELECT count(*) FROM artifacts WHERE kind = 'code' AND wiped_at IS NULL";
    harness.until_count(wiped, 0).await;
    let bodies = "SELECT count(*) FROM deliveries WHERE body IS NOT NULL";
    harness.until_count(bodies, 0).await;
    let late = harness.consume(code, 0, "k1").await;
    assert_eq!(late.status, 409, "{:?}", late.body);
    assert_eq!(late.body["type"], "urn:maillatch:problem:already-consumed");
    harness.end().await;
}

/// Every byte of every column, as text and in hexadecimal, in any case.
async fn assert_absent(harness: &Harness) {
    let everything = harness.database.dump().await.to_ascii_lowercase();
    assert!(everything.len() > 1000, "there is something to look at");
    for canary in CANARIES {
        let canary = canary.to_lowercase();
        let digit = |four: u8| char::from_digit(four.into(), 16).unwrap();
        let hex = canary
            .bytes()
            .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
        let hex: String = hex.collect();
        for form in [&canary, &hex] {
            let form = form.as_bytes();
            let is_there = everything.windows(form.len()).any(|part| part == form);
            assert!(!is_there, "{canary} stands in the database");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_rotate_while_agents_consume_on_sqlite() {
    keys_rotate_while_agents_consume(Harness::embedded().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_rotate_while_agents_consume_on_postgres() {
    keys_rotate_while_agents_consume(Harness::full().await).await;
}

async fn keys_rotate_while_agents_consume(harness: Harness) {
    let inbox = "agent@inbox.test";
    for number in 0..24 {
        post(&harness, inbox, number).await;
    }
    let items = harness.until_items(inbox, 24).await;
    let before = keys(&harness).await;

    // One rotation is killed halfway; the next one completes while mail arrives and is
    // consumed.
    let mut command = harness.command(&["keys", "rotate"]);
    let mut killed = command.stderr(Stdio::null()).spawn().unwrap();
    until_keys(&harness, 2).await;
    killed.kill().unwrap();
    killed.wait().unwrap();
    consume(&harness, &items[..8]).await;
    let mut command = harness.command(&["keys", "rotate", "--json"]);
    let rotating = tokio::task::spawn_blocking(move || command.output().unwrap());
    consume(&harness, &items[8..16]).await;
    post(&harness, inbox, 24).await;
    let rotated = rotating.await.unwrap();
    assert!(
        rotated.status.success(),
        "{}",
        String::from_utf8_lossy(&rotated.stderr)
    );

    // The file is old enough that no process can still use the previous key.
    let file = std::fs::File::open(key_file(&harness)).unwrap();
    let changed = file.metadata().unwrap().modified().unwrap();
    file.set_modified(changed - Duration::from_mins(1)).unwrap();
    let retired = output(&harness, &["keys", "retire", "--json"]).await;
    assert!(
        !retired["retired"].as_array().unwrap().is_empty(),
        "{retired}"
    );
    let after = keys(&harness).await;
    assert_eq!(after["lost"], serde_json::json!({}), "{after}");
    let names: Vec<&Value> = after["keys"].as_array().unwrap().iter().collect();
    assert!(
        names
            .iter()
            .all(|key| key["key"] != before["keys"][0]["key"]),
        "{after}"
    );
    consume(&harness, &items[16..]).await;
    let late = harness.until_items(inbox, 25).await;
    consume(&harness, &late[24..]).await;
    harness.end().await;
}

/// A row that cannot be unsealed is reported and does not stop the rotation.
#[tokio::test(flavor = "multi_thread")]
async fn damaged_row_is_counted_and_does_not_stop_the_rotation() {
    let harness = Harness::embedded().await;
    let inbox = "agent@inbox.test";
    for number in 0..3 {
        post(&harness, inbox, number).await;
    }
    harness.until_items(inbox, 3).await;
    let damage = "UPDATE deliveries SET body = substr(body, 2)
                  WHERE id = (SELECT min(id) FROM deliveries) RETURNING 1";
    assert_eq!(harness.count(damage).await, 1);
    let mut before = keys(&harness).await["keys"][0]["key"].clone();
    for _ in 0..2 {
        let mut command = harness.command(&["keys", "rotate", "--json"]);
        let rotated = tokio::task::spawn_blocking(move || command.output().unwrap());
        let rotated = rotated.await.unwrap();
        assert_eq!(rotated.status.code(), Some(1));
        let told: Value = serde_json::from_slice(&rotated.stdout).unwrap();
        assert_eq!((&told["stuck"], &told["resealed"]), (&1.into(), &5.into()));
        assert_ne!(told["key"], before, "a new key each time");
        before = told["key"].clone();
    }
    harness.end().await;
}

async fn post(harness: &Harness, inbox: &str, number: usize) {
    let code = (100_000 + 7_919 * number).to_string();
    let mail = otp_delivery(inbox, &format!("m{number}"), &code);
    let posted = harness.post(number, &format!("msg_{number}"), &mail).await;
    assert_eq!(posted.status, 200);
}

async fn consume(harness: &Harness, items: &[Value]) {
    for item in items {
        let id = item["id"].as_str().unwrap();
        let answer = harness.consume(id, 0, id).await;
        assert_eq!(answer.status, 200, "{:?}", answer.body);
    }
}

async fn keys(harness: &Harness) -> Value {
    output(harness, &["keys", "list", "--json"]).await
}

async fn output(harness: &Harness, args: &[&str]) -> Value {
    let mut command = harness.command(args);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = output.await.unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

async fn until_keys(harness: &Harness, count: usize) {
    let deadline = Instant::now() + TIMEOUT;
    let file = key_file(harness);
    while std::fs::read_to_string(&file).unwrap().lines().count() < count {
        assert!(Instant::now() < deadline, "no new key");
        sleep(Duration::from_millis(1)).await;
    }
}

fn key_file(harness: &Harness) -> std::path::PathBuf {
    let dir = harness.deployment.config().with_file_name("");
    let own = dir.join("data/seal.keys");
    if own.exists() {
        own
    } else {
        dir.join("seal.keys")
    }
}
