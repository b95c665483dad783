//! Failures of `wait` and `attempt`: an interrupt, another sender, another attempt, a
//! request that the server refuses.

use std::process::{Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

use crate::harness::{Harness, Role, TIMEOUT, binary, on_both_profiles, otp_delivery};

on_both_profiles!(
    interrupted_wait_leaves_the_next_code_to_the_next_wait,
    killed_wait_leaves_the_next_code_to_the_next_wait,
);

fn client(harness: &Harness, line: &str) -> Command {
    let (url, key) = harness.agent();
    let mut command = Command::new(binary());
    command
        .args(line.split_whitespace())
        .env("MAILLATCH_URL", url)
        .env("MAILLATCH_KEY", key)
        .kill_on_drop(true);
    command
}

async fn run(harness: &Harness, line: &str) -> (Option<i32>, String, String) {
    said(client(harness, line).output().await.unwrap())
}

fn said(output: Output) -> (Option<i32>, String, String) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

fn begin(harness: &Harness, line: &str) -> Child {
    let mut command = client(harness, line);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

const OPEN: &str = "SELECT count(*) FROM attempts WHERE outcome IS NULL";
/// Attempts that were over when the newest one was opened.
const OVER: &str = "SELECT count(*) FROM attempts
    WHERE deadline < (SELECT max(opened_at) FROM attempts)";

/// It cannot end its attempt, and it had ten minutes.
async fn killed_wait_leaves_the_next_code_to_the_next_wait(harness: Harness) {
    let mut wait = begin(&harness, "wait code --to x@inbox.test --timeout 10m");
    harness.until_count(OPEN, 1).await;
    wait.kill().await.unwrap();
    let killed_at = Instant::now();
    let wait = begin(&harness, "wait code --to x@inbox.test --timeout 60s");
    harness.until_count(OPEN, 2).await;
    for probe in 0.. {
        let key = format!("probe-{probe}");
        let (status, _) = harness.post_json("v1/attempts", &key, &json!({})).await;
        assert!([200, 201].contains(&status), "{status}");
        if harness.count(OVER).await == 1 {
            break;
        }
        assert!(killed_at.elapsed() < TIMEOUT / 2, "its attempt is open");
        sleep(Duration::from_millis(200)).await;
    }
    let mail = otp_delivery("x@inbox.test", "1", "493817");
    harness.post(0, "d1", &mail).await;
    let (ended, out, talk) = said(wait.wait_with_output().await.unwrap());
    assert_eq!((ended, out.as_str()), (Some(0), "493817\n"), "{talk}");
    harness.end().await;
}

async fn interrupted_wait_leaves_the_next_code_to_the_next_wait(harness: Harness) {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let wait = begin(&harness, "wait code --to x@inbox.test --timeout 60s");
        harness.until_count(OPEN, 1).await;
        let pid = wait.id().unwrap().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status().await;
        assert!(sent.unwrap().success());
        let (ended, out, _) = said(wait.wait_with_output().await.unwrap());
        assert_eq!((ended, out.as_str()), (Some(code), ""), "{signal}");
        assert_eq!(harness.count(OPEN).await, 0, "{signal}");
    }
    let wait = begin(&harness, "wait code --to x@inbox.test --timeout 60s");
    harness.until_count(OPEN, 1).await;
    let mail = otp_delivery("x@inbox.test", "1", "493817");
    harness.post(0, "d1", &mail).await;
    let (ended, out, talk) = said(wait.wait_with_output().await.unwrap());
    assert_eq!((ended, out.as_str()), (Some(0), "493817\n"), "{talk}");
    harness.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wait_reports_whose_code_it_did_not_get() {
    let harness = Harness::embedded().await;
    let mail = otp_delivery("x@inbox.test", "1", "777005");
    harness.post(0, "d1", &mail).await;
    harness.until_items("x@inbox.test", 1).await;
    let other = "wait code --to x@inbox.test --from-domain other.org --timeout 1s --json";
    let (code, out, talk) = run(&harness, other).await;
    let told: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (code, &told["reason"]),
        (Some(5), &json!("sender_not_allowed")),
        "{talk}"
    );

    let mail = otp_delivery("x@inbox.test", "2", "777006");
    harness.post(0, "d2", &mail).await;
    harness.until_items("x@inbox.test", 2).await;
    let wait = "wait code --to x@inbox.test --timeout 1s";
    let (code, out, talk) = run(&harness, wait).await;
    assert_eq!((code, out.as_str()), (Some(0), "777006\n"), "{talk}");
    assert!(talk.contains("before this call"), "{talk}");
    let (code, out, talk) = run(&harness, wait).await;
    assert_eq!((code, out.as_str()), (Some(6), ""), "{talk}");

    harness.open(json!({ "inbox": "y@inbox.test" })).await;
    let wait = begin(&harness, "wait code --to y@inbox.test --timeout 3s --json");
    harness.until_count(OPEN, 2).await;
    let mail = otp_delivery("y@inbox.test", "3", "493817");
    harness.post(0, "d3", &mail).await;
    let (code, out, talk) = said(wait.wait_with_output().await.unwrap());
    let told: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(code, Some(4), "{talk}");
    assert_eq!(told["reason"], "given_to_another_attempt");
    harness.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn request_refused_by_the_server_is_a_usage_error() {
    let harness = Harness::embedded().await;
    for (line, field) in [
        ("attempt new --callback nope", "callback"),
        ("attempt new --deadline 99d", "deadline"),
        ("attempt new --to bad", "--to"),
        ("wait code --from-domain nonsense", "--from-domain"),
    ] {
        let (code, out, talk) = run(&harness, line).await;
        assert_eq!((code, out.as_str()), (Some(2), ""), "{line}: {talk}");
        assert!(talk.contains(field), "{line}: {talk}");
    }
    let order = ["key", "create", "reader", "--scope", "feed"];
    let made = Command::from(harness.command(&order)).output().await;
    let (_, token, _) = said(made.unwrap());
    let mut reader = client(&harness, "attempt new");
    let refused = reader.env("MAILLATCH_KEY", token.trim()).output().await;
    let (code, _, talk) = said(refused.unwrap());
    assert_eq!(code, Some(7), "{talk}");
    assert!(talk.contains("scope `attempt`"), "{talk}");

    let (url, key) = harness.agent();
    let attempt = harness.open(json!({})).await;
    let mut show = Command::new(binary());
    show.args(["attempt", "show", attempt["id"].as_str().unwrap()])
        .args(["--url", &url, "--json"])
        .env("MAILLATCH_KEY", key);
    let (code, out, talk) = said(show.output().await.unwrap());
    assert_eq!(code, Some(0), "{talk}");
    let told: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(told["state"], "pending");
    harness.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wait_without_workers_says_that_none_is_running() {
    let mut harness = Harness::full_with("attempt.unhealthy_after = \"500ms\"\n").await;
    harness.deployment.kill(Role::Worker).await.unwrap();
    let mail = otp_delivery("x@inbox.test", "1", "493817");
    harness.post(0, "d1", &mail).await;
    let line = "wait code --to x@inbox.test --timeout 2s --json";
    let (code, out, talk) = run(&harness, line).await;
    assert_eq!(code, Some(8), "{talk}");
    let told: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(told["outcome"], "unhealthy");
    assert_eq!(told["component"], "worker");
    harness.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wait_for_a_finished_attempt_returns_at_once() {
    let harness = Harness::embedded().await;
    let attempt = harness.open(json!({})).await;
    let id = attempt["id"].as_str().unwrap();
    run(&harness, &format!("attempt finish {id} abandoned")).await;
    for act in ["wait", "consume"] {
        let line = format!("attempt {act} {id} --timeout 60s");
        let (code, _, talk) = run(&harness, &line).await;
        assert_eq!(code, Some(9), "{act}: {talk}");
    }
    // Each sent one request and did not retry for a minute.
    let meters = harness.metrics(Role::Feed).await;
    let asked = meters.lines().find(|line| line.contains("not_ready"));
    let asked = asked.unwrap_or_else(|| panic!("{meters}"));
    assert!(asked.ends_with(" 1"), "{asked}");
    harness.end().await;
}
