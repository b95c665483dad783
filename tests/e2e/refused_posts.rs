//! Refused posts leave a trace: a count by source and reason in the database, which the
//! doctor reads, and a bounded number of warnings. Nothing of a post is kept.

use std::process::{Command, Output};
use std::time::Duration;

use maillatch::deployment::Role;
use secrecy::ExposeSecret;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::clock;
use crate::harness::{Harness, TIMEOUT, binary, on_both_profiles};

on_both_profiles!(
    doctor_counts_refused_posts_of_every_process,
    trigger_tells_a_wrong_clock_from_a_wrong_secret,
);

const CANARY: &str = "canary7731";

/// Posts with these headers to a source of one of the webhooks.
async fn post(harness: &Harness, which: usize, source: &str, headers: &[(&str, &str)]) -> u16 {
    let url = harness.deployment.url(Role::Webhook, which).unwrap();
    let client = reqwest::Client::new();
    let mut request = client
        .post(format!("{url}hooks/{source}"))
        .header("Content-Type", "application/json")
        .body(format!("{{\"{CANARY}\":1}}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send().await.unwrap().status().as_u16()
}

/// The detail of the doctor's line about refused posts.
async fn refusals(harness: &Harness) -> (String, String) {
    let mut command = harness.command(&["doctor", "--json"]);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let report: Value = serde_json::from_slice(&output.await.unwrap().stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["check"] == "refusals");
    let check = check.unwrap_or_else(|| panic!("{report}"));
    let text = |name: &str| check[name].as_str().unwrap().to_owned();
    (text("health"), text("detail"))
}

/// Waits until the doctor's line has all of these.
async fn until_refused(harness: &Harness, wanted: &[&str]) -> (String, String) {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let (health, detail) = refusals(harness).await;
        if wanted.iter().all(|wanted| detail.contains(wanted)) {
            return (health, detail);
        }
        assert!(Instant::now() < deadline, "{detail}");
        sleep(Duration::from_millis(200)).await;
    }
}

async fn doctor_counts_refused_posts_of_every_process(harness: Harness) {
    assert_eq!(refusals(&harness).await.0, "ok");
    let forged = [
        ("webhook-id", "msg_1"),
        ("webhook-timestamp", &unix(0)),
        ("webhook-signature", "v1,AAAA"),
    ];
    for which in 0..12 {
        assert_eq!(post(&harness, which, "dev", &forged).await, 401);
    }
    assert_eq!(post(&harness, 0, "dev", &[]).await, 401);
    let stranger = format!("stranger-{CANARY}");
    assert_eq!(post(&harness, 1, &stranger, &[]).await, 404);
    let wanted = [
        "12 posts to dev refused in the last hour: signature_mismatch",
        "1 post to dev refused in the last hour: header_missing",
        "1 post to an unknown source refused in the last hour: unknown_source",
        "secrets",
        "maillatch source list",
    ];
    let (health, detail) = until_refused(&harness, &wanted).await;
    assert_eq!(health, "warn", "{detail}");
    assert!(!detail.contains(CANARY), "{detail}");
    let logs = harness.deployment.logs().unwrap();
    assert!(!logs.contains(CANARY));
    let warned = |line: &&str| line.contains("WARN") && line.contains("signature_mismatch");
    let warnings = logs.lines().filter(warned).count();
    // One line at once in each process, and the rest a minute later.
    assert!((1..=2).contains(&warnings), "{warnings}");
    let dump = harness.database.dump().await;
    let canary = CANARY.as_bytes();
    assert!(!dump.windows(canary.len()).any(|bytes| bytes == canary));
    harness.end().await;
}

/// A moment as seconds since the epoch, this many seconds from now.
fn unix(offset: i64) -> String {
    let now = pipeline::Clock::now(&pipeline::SystemClock).as_seconds();
    (now + offset).to_string()
}

/// Runs `trigger` with this secret and a clock that is so many seconds ahead.
async fn trigger(harness: &Harness, secret: &str, ahead: i64) -> Output {
    let url = harness.deployment.url(Role::Webhook, 0).unwrap();
    let mut command = Command::new(binary());
    command
        .args(["trigger", "otp"])
        .env("MAILLATCH_URL", url.as_str())
        .env("MAILLATCH_SIGNING_SECRET", secret);
    clock::shift(&mut command, ahead);
    tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap()
}

/// Runs `source test` with a clock that is so many seconds ahead.
async fn source_test(harness: &Harness, ahead: i64) -> Output {
    let url = harness.deployment.url(Role::Webhook, 0).unwrap();
    let mut command = harness.command(&["source", "test", "dev"]);
    command.env("MAILLATCH_URL", url.as_str());
    clock::shift(&mut command, ahead);
    tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap()
}

async fn trigger_tells_a_wrong_clock_from_a_wrong_secret(harness: Harness) {
    let other = "whsec_dGhpcyBpcyBub3QgYSBzZWNyZXQgYXQgYWxs";
    let output = trigger(&harness, other, 0).await;
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(7), "{said}");
    assert!(said.contains("MAILLATCH_SIGNING_SECRET"), "{said}");
    assert!(!said.contains("clock"), "{said}");
    let own = harness.deployment.signing_secret();
    let output = trigger(&harness, own.expose_secret(), -600).await;
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(7), "{said}");
    assert!(said.contains("clock") && said.contains("behind"), "{said}");
    assert!(!said.contains("MAILLATCH_SIGNING_SECRET"), "{said}");
    let output = source_test(&harness, 600).await;
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("clock") && said.contains("ahead"), "{said}");
    let (_, detail) = until_refused(&harness, &["stale"]).await;
    assert!(detail.contains("in the future"), "{detail}");
    harness.end().await;
}
