//! Posts in every provider's format, end to end: post, message, artifact, consume.

use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maillatch::deployment::Role;
use providers::{Ask, Contract, Posts, contracts};
use serde_json::Value;
use testkit::api::{Api, ok};

use crate::harness::{Harness, binary, otp_mail};
use crate::mailbox::Mailbox;

/// A secret of these tests.
const SECRET: &str = "whsec_c2VjcmV0IG9mIHRoZSBlbmQtdG8tZW5kIHRlc3Rz";

/// What `source add` prints for every provider that posts, with its placeholders filled in.
fn added_sources() -> String {
    let posting = contracts().filter(|contract| !contract.is_poll_only());
    posting.map(added).collect()
}

/// What `source add` prints for one provider, with its placeholders filled in.
fn added(contract: &Contract) -> String {
    let args = [
        "source",
        "add",
        contract.name,
        "--url",
        "https://mail.example.com",
        "--domain",
        "inbox.test",
    ];
    let output = Command::new(binary()).args(args).output().unwrap();
    assert!(output.status.success(), "{}", contract.name);
    let printed = String::from_utf8(output.stdout).unwrap();
    let placeholders = contract.asks.iter().filter_map(Ask::placeholder);
    placeholders.fold(printed, |printed, (placeholder, example)| {
        assert!(printed.contains(&placeholder), "{printed}");
        printed.replace(&placeholder, own(example))
    })
}

/// A value of the tests in place of an example of a secret, which a server refuses.
fn own(example: &str) -> &str {
    match example {
        "an-example-key" => "a-key-of-the-tests",
        "an-example-password" => "a-password-of-the-tests",
        secret if secret.starts_with("whsec_") => SECRET,
        other => other,
    }
}

/// The providers for which we can sign, and whose posts hold the mail; `fetched_mail.rs` tests
/// those whose mail is fetched.
fn with_samples() -> impl Iterator<Item = &'static Contract> {
    signable().filter(|contract| contract.posts != Posts::Notice)
}

fn signable() -> impl Iterator<Item = &'static Contract> {
    contracts().filter(|contract| contract.asks.iter().any(Ask::can_sign))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_provider_reaches_the_agent_on_the_embedded_profile() {
    every_provider_reaches_the_agent(Harness::embedded_with(&added_sources()).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_provider_reaches_the_agent_on_the_full_profile() {
    every_provider_reaches_the_agent(Harness::full_with(&added_sources()).await).await;
}

async fn every_provider_reaches_the_agent(harness: Harness) {
    for contract in with_samples() {
        let name = contract.name;
        let inbox = format!("{name}@inbox.test");
        let posts = play(&harness, name, "duplicate", &inbox).await;
        assert_eq!(posts.len(), 2, "{name}");
        let items = harness.until_items(&inbox, 1).await;
        let consumed = harness
            .consume(items[0]["id"].as_str().unwrap(), 0, name)
            .await;
        assert_eq!(
            consumed.body["value"], posts[0]["value"],
            "{name}: {}",
            items[0]
        );
    }
    let all = i64::try_from(with_samples().count()).unwrap();
    assert_eq!(harness.count("SELECT count(*) FROM deliveries").await, all);
    harness.end().await;
}

/// Plays a scenario as the provider of a source; returns the answer to each post.
async fn play(harness: &Harness, name: &str, scenario: &str, inbox: &str) -> Vec<Value> {
    let args = ["trigger", "otp", "--as", name, "--scenario", scenario];
    let mut command = harness.command(&[&args[..], &["--json", "--to", inbox]].concat());
    let url = harness.deployment.url(Role::Webhook, 0).unwrap();
    command.env("MAILLATCH_URL", url.as_str());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = output.await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} {scenario}: {said}");
    let lines = String::from_utf8(output.stdout).unwrap();
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

/// The command itself checks each answer against what the provider expects.
async fn each_providers_late_forged_cut_and_reordered_posts(harness: Harness) {
    let harness = std::sync::Arc::new(harness);
    let players: Vec<_> = signable()
        .map(|contract| {
            let name = contract.name;
            let harness = std::sync::Arc::clone(&harness);
            tokio::spawn(async move {
                let inbox = format!("{name}@inbox.test");
                let mut stored = 0;
                for scenario in ["stale", "forged", "truncated", "reordered"] {
                    let posts = play(&harness, name, scenario, &inbox).await;
                    stored += posts.iter().filter(|post| post["http"] == 200).count();
                }
                stored
            })
        })
        .collect();
    let mut stored = 0;
    for player in players {
        stored += player.await.unwrap();
    }
    // Refused posts left no rows.
    let rows = harness.count("SELECT count(*) FROM deliveries").await;
    assert_eq!(usize::try_from(rows).unwrap(), stored);
    std::sync::Arc::into_inner(harness).unwrap().end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_provider_gets_the_answers_it_expects_on_the_embedded_profile() {
    let harness = Harness::embedded_with(&added_sources()).await;
    each_providers_late_forged_cut_and_reordered_posts(harness).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_provider_gets_the_answers_it_expects_on_the_full_profile() {
    let harness = Harness::full_with(&added_sources()).await;
    each_providers_late_forged_cut_and_reordered_posts(harness).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn weakly_authenticated_source_gives_a_warning_and_the_server_is_ready() {
    let weak = "source.mg = { provider = \"mailgun\", secrets = [\"a-shared-secret\"] }\n";
    let harness = Harness::embedded_with(weak).await;
    let ready = harness.ops(Role::Webhook, "readyz").await;
    assert_eq!(ready.status, 200);
    let warning = ready.body["warnings"][0].as_str().unwrap();
    assert!(
        warning.starts_with("1 sources are weakly proven"),
        "{warning}"
    );
    let doctor = harness.doctor().await;
    assert!(
        doctor.contains("mg: its signature does not cover"),
        "{doctor}"
    );
    harness.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trigger_scenario_reports_unexpected_answers() {
    let harness = Harness::embedded_with(&added_sources()).await;
    // The same sources with wrong secrets.
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("other.toml");
    // Minted secrets and passwords are new each time; pasted ones are replaced.
    let other = added_sources().replace(
        "whsec_c2VjcmV0IG9mIHRoZSBlbmQtdG8tZW5kIHRlc3Rz",
        "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX",
    );
    std::fs::write(&config, other).unwrap();
    for (provider, scenario, answers) in [
        ("mailersend", "plain", &[401][..]),
        ("postmark", "duplicate", &[401, 401]),
        ("stripe-style", "stale", &[401, 401]),
        ("github-style", "reordered", &[401, 401]),
    ] {
        let mut command = Command::new(binary());
        command
            .args(["trigger", "otp", "--json", "--as", provider])
            .args(["--scenario", scenario, "--config"])
            .arg(&config)
            .env(
                "MAILLATCH_URL",
                harness.deployment.url(Role::Webhook, 0).unwrap().as_str(),
            );
        let output = tokio::task::spawn_blocking(move || command.output().unwrap());
        let output = output.await.unwrap();
        assert_eq!(output.status.code(), Some(1), "{provider} {scenario}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("UNEXPECTED: should be 200"), "{said}");
        let lines = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<Value> = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let http: Vec<i64> = lines
            .iter()
            .filter_map(|line| line["http"].as_i64())
            .collect();
        assert_eq!(http, answers, "{provider} {scenario}");
        assert_eq!(lines[0]["as_expected"], false, "{provider} {scenario}");
    }
    assert_eq!(harness.count("SELECT count(*) FROM deliveries").await, 0);
    harness.end().await;
}

/// What `source add` prints for every provider. The sources that are only polled get real
/// servers: a mailbox, a folder and an API, each with a mail to read.
struct Added {
    settings: String,
    mailbox: Mailbox,
    folder: tempfile::TempDir,
    api: Api,
}

impl Added {
    async fn sources() -> Self {
        let (mailbox, folder) = (Mailbox::start().await, tempfile::tempdir().unwrap());
        let api = Api::start().await;
        api.on("/mails", vec![ok("[]")]);
        let server = mailbox.url();
        let port = server.port().unwrap();
        let polled: String = contracts()
            .filter(|contract| contract.is_poll_only())
            .map(added)
            .collect();
        let settings = polled
            .replace(
                "imaps://imap.example.com:993",
                &format!("imap://localhost:{port}"),
            )
            .replace("agent@example.com", server.username())
            .replace("a-password-of-the-tests", server.password().unwrap())
            .replace("/var/mail/agent", folder.path().to_str().unwrap())
            .replace("https://api.example.com/v1", &api.url);
        Self {
            // The first polls of a test must not be the only ones.
            settings: format!("poll.every = \"1s\"\n{}{settings}", added_sources()),
            mailbox,
            folder,
            api,
        }
    }

    /// Delivers a mail to each source that is only polled; returns the inboxes.
    fn deliver(&mut self) -> Vec<String> {
        let mail = |name: &str| {
            let mail = String::from_utf8(otp_mail(name, "493817")).unwrap();
            mail.replace("agent@inbox.test", &format!("{name}@inbox.test"))
        };
        self.mailbox.deliver(mail("imap").as_bytes());
        std::fs::write(self.folder.path().join("1.eml"), mail("folder")).unwrap();
        let raw = STANDARD.encode(mail("http-list"));
        let list = serde_json::json!([{ "id": "1", "raw": raw }]);
        self.api.on("/mails", vec![ok(list.to_string())]);
        let polled = contracts().filter(|contract| contract.is_poll_only());
        polled
            .map(|contract| format!("{}@inbox.test", contract.name))
            .collect()
    }
}

async fn run(harness: &Harness, args: &[&str]) -> (bool, String) {
    let mut command = harness.command(args);
    let url = harness.deployment.url(Role::Webhook, 0).unwrap();
    command.env("MAILLATCH_URL", url.as_str());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = output.await.unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).unwrap())
}

/// The settings are pasted as they are printed; only the secrets are filled in.
async fn every_added_source_passes_doctor_and_source_test(harness: Harness, mut added: Added) {
    let polled = contracts()
        .filter(|contract| contract.is_poll_only())
        .count();
    let polls = "SELECT count(*) FROM polls WHERE polled_at IS NOT NULL";
    harness
        .until_count(polls, i64::try_from(polled).unwrap())
        .await;
    let mut inboxes = added.deliver();
    for contract in contracts() {
        let (name, inbox) = (
            contract.source_name,
            format!("{}@inbox.test", contract.name),
        );
        let (passes, said) = run(&harness, &["source", "test", name, "--to", &inbox]).await;
        assert!(passes, "{name}: {said}");
    }
    inboxes.extend(with_samples().map(|contract| format!("{}@inbox.test", contract.name)));
    for inbox in &inboxes {
        let items = harness.until_items(inbox, 1).await;
        let id = items[0]["id"].as_str().unwrap();
        let consumed = harness.consume(id, 0, inbox).await;
        assert_eq!(consumed.status, 200, "{inbox}: {}", items[0]);
    }
    let (passes, said) = run(&harness, &["doctor"]).await;
    assert!(passes, "{said}");
    assert!(!said.contains("its signature does not cover"), "{said}");
    assert!(!said.contains("poll_"), "{said}");
    harness.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_added_source_passes_doctor_and_source_test_on_the_embedded_profile() {
    let added = Added::sources().await;
    let harness = Harness::embedded_with(&added.settings).await;
    every_added_source_passes_doctor_and_source_test(harness, added).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_added_source_passes_doctor_and_source_test_on_the_full_profile() {
    let added = Added::sources().await;
    let mut harness = Harness::full_with(&added.settings).await;
    harness.deployment.add(Role::Poll).await.unwrap();
    every_added_source_passes_doctor_and_source_test(harness, added).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn piped_mail_reaches_the_agent_and_may_be_retried() {
    let relay = "source.relay = { provider = \"relay\", secrets = \
        [\"whsec_c2VjcmV0IG9mIHRoZSBlbmQtdG8tZW5kIHRlc3Rz\"] }\n";
    let harness = Harness::embedded_with(relay).await;
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
                "whsec_c2VjcmV0IG9mIHRoZSBlbmQtdG8tZW5kIHRlc3Rz",
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
    let mail = otp_mail("1", "493817");
    assert_eq!(pipe("http://127.0.0.1:1", mail.clone()).await, Some(75));
    assert_eq!(pipe(&url, mail.clone()).await, Some(0));
    assert_eq!(pipe(&url, mail).await, Some(0));
    harness.until_items("agent@inbox.test", 1).await;
    assert_eq!(harness.count("SELECT count(*) FROM deliveries").await, 1);
    harness.end().await;
}

#[tokio::test]
async fn source_add_prints_a_configuration_to_paste() {
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
        "--domain",
        "inbox.example.com",
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
