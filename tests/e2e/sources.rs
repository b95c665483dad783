//! Every provider's own shape, all the way: post, message, artifact, consume.

use std::process::Command;

use maillatch::deployment::Role;
use serde_json::Value;

use crate::harness::{Harness, binary};

/// One source of each provider that a sample can be signed for.
const SOURCES: &str = r#"
source.agentmail = { provider = "agentmail", secrets = ["whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"] }
source.cloudflare = { provider = "cloudflare", secrets = ["whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"] }
source.cloudmailin = { provider = "cloudmailin", username = "maillatch", password = "a-long-password" }
source.github-style = { provider = "github-style", secrets = ["a-shared-secret-of-some-length"] }
source.mailersend = { provider = "mailersend", secrets = ["a-shared-secret-of-some-length"] }
source.mailgun-mime = { provider = "mailgun", secrets = ["a-shared-secret-of-some-length"], username = "maillatch", password = "a-long-password" }
source.mandrill = { provider = "mandrill", secrets = ["a-shared-secret-of-some-length"], url = "https://mail.example.com/hooks/mandrill" }
source.nylas = { provider = "nylas", secrets = ["a-shared-secret-of-some-length"] }
source.postmark = { provider = "postmark", url_token = "a-long-token-of-some-length" }
source.relay = { provider = "relay", secrets = ["whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"] }
source.sendgrid = { provider = "sendgrid", url_token = "a-long-token-of-some-length" }
source.standard-webhooks = { provider = "standard-webhooks", secrets = ["whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"] }
source.stripe-style = { provider = "stripe-style", secrets = ["a-shared-secret-of-some-length"], scheme = { signature_header = "X-Signature" } }
"#;

const NAMES: [&str; 13] = [
    "agentmail",
    "cloudflare",
    "cloudmailin",
    "github-style",
    "mailersend",
    "mailgun-mime",
    "mandrill",
    "nylas",
    "postmark",
    "relay",
    "sendgrid",
    "standard-webhooks",
    "stripe-style",
];

#[tokio::test(flavor = "multi_thread")]
async fn every_provider_reaches_the_agent_on_the_embedded_profile() {
    every_provider_reaches_the_agent(Harness::embedded_with(SOURCES).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_provider_reaches_the_agent_on_the_full_profile() {
    every_provider_reaches_the_agent(Harness::full_with(SOURCES).await).await;
}

async fn every_provider_reaches_the_agent(harness: Harness) {
    let url = harness
        .deployment
        .url(Role::Webhook, 0)
        .unwrap()
        .to_string();
    for name in NAMES {
        let inbox = format!("{name}@inbox.test");
        let mut command = harness.command(&["source", "test", name, "--json", "--to", &inbox]);
        command.env("MAILLATCH_URL", &url);
        let output = tokio::task::spawn_blocking(move || command.output().unwrap());
        let output = output.await.unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let sent: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            panic!("{name}: {error}: {said}");
        });
        assert_eq!(sent["http"], 200, "{name}: {said}");
        let items = harness.until_items(&inbox, 1).await;
        let consumed = harness
            .consume(items[0]["id"].as_str().unwrap(), 0, name)
            .await;
        assert_eq!(
            consumed.body["value"], sent["value"],
            "{name}: {}",
            items[0]
        );
    }
    harness.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_servers_pipe_reaches_the_agent_and_may_try_again() {
    let harness = Harness::embedded_with(SOURCES).await;
    let url = harness
        .deployment
        .url(Role::Webhook, 0)
        .unwrap()
        .to_string();
    let pipe = async |url: &str, mail: Vec<u8>| {
        let mut command = Command::new(binary());
        command
            .args(["relay", "agent@inbox.test"])
            .env("MAILLATCH_URL", url)
            .env(
                "MAILLATCH_SIGNING_SECRET",
                "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
            )
            .stdin(std::process::Stdio::piped());
        tokio::task::spawn_blocking(move || {
            let mut child = command.spawn().unwrap();
            std::io::Write::write_all(&mut child.stdin.take().unwrap(), &mail).unwrap();
            child.wait().unwrap().code()
        })
        .await
        .unwrap()
    };
    let mail = crate::harness::otp_mail("1", "493817");
    assert_eq!(pipe("http://127.0.0.1:1", mail.clone()).await, Some(75));
    assert_eq!(pipe(&url, mail.clone()).await, Some(0));
    assert_eq!(pipe(&url, mail).await, Some(0));
    harness.until_items("agent@inbox.test", 1).await;
    assert_eq!(harness.count("SELECT count(*) FROM deliveries").await, 1);
    harness.end().await;
}

#[tokio::test]
async fn a_new_source_is_printed_ready_to_be_pasted() {
    let dir = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        Command::new(binary())
            .args(args)
            .current_dir(dir.path())
            .output()
            .unwrap()
    };
    let add = run(&[
        "source",
        "add",
        "standard-webhooks",
        "--name",
        "shop",
        "--url",
        "https://mail.example.com",
    ]);
    assert!(String::from_utf8_lossy(&add.stderr).contains("https://mail.example.com/hooks/shop"));
    std::fs::write(dir.path().join("maillatch.toml"), &add.stdout).unwrap();
    let list = run(&["source", "list", "--json"]);
    let list: Value = serde_json::from_slice(&list.stdout).unwrap();
    assert_eq!(list["items"][0]["name"], "shop");
    assert_eq!(list["items"][0]["path"], "/hooks/shop");
    let unknown = run(&["source", "add", "pigeon"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("postmark"));
}
