//! API keys that are created and revoked while two feeds run.

use std::time::Duration;

use maillatch::deployment::Process;
use serde_json::Value;
use tokio::time::{Instant, sleep};
use url::Url;

use crate::harness::{Harness, Role};

/// How long a revoked key may still be accepted by another process. The documented
/// bound is 5 s; the rest is for a busy machine.
const AT_LAST: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn revoked_key_is_refused_by_other_processes_within_seconds() {
    let harness = Harness::full().await;
    let order = ["key", "create", "agent-7", "--inbox", "*", "--json"];
    let made = command(&harness, &order).await;
    let token = made["token"].as_str().unwrap().to_owned();
    let doctor = harness.doctor().await;
    assert!(doctor.contains("1 in the database"), "{doctor}");
    let feeds = harness.deployment.playing(Role::Feed);
    let feeds: Vec<Url> = feeds.filter_map(Process::url).cloned().collect();
    assert_eq!(feeds.len(), 2);
    for feed in &feeds {
        assert_eq!(read_with(feed, &token).await, 200);
    }
    let revoked = command(&harness, &["key", "revoke", "agent-7", "--json"]).await;
    assert!(revoked["revoked_at"].is_string(), "{revoked}");
    let began = Instant::now();
    for feed in &feeds {
        while read_with(feed, &token).await != 401 {
            assert!(began.elapsed() < AT_LAST, "{feed} still believes it");
            sleep(Duration::from_millis(50)).await;
        }
    }
    // And it stays refused.
    for feed in &feeds {
        assert_eq!(read_with(feed, &token).await, 401);
    }
    harness.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn configured_key_cannot_be_created_or_revoked_by_command() {
    let harness = Harness::embedded().await;
    for (act, sentence) in [("create", "choose another name"), ("revoke", "stays valid")] {
        let mut command = harness.command(&["key", act, "agent-a"]);
        let output = tokio::task::spawn_blocking(move || command.output().unwrap());
        let output = output.await.unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{act}: {said}");
        assert!(
            said.contains("configuration") && said.contains(sentence),
            "{act}: {said}"
        );
        assert!(output.stdout.is_empty(), "{act}");
    }
    harness.end().await;
}

async fn read_with(feed: &Url, token: &str) -> u16 {
    let url = feed.join("v1/inboxes/agent@inbox.test/artifacts").unwrap();
    let request = reqwest::Client::new().get(url).bearer_auth(token);
    request.send().await.unwrap().status().as_u16()
}

async fn command(harness: &Harness, args: &[&str]) -> Value {
    let mut command = harness.command(args);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = output.await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}
