//! Polling for agents that wait: with a broken webhook the source is polled; with a
//! working webhook it is not.

use std::time::Instant;

use maillatch::deployment::Role;
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use crate::harness::{Harness, binary};
use crate::poll_http::{provider_mail, push, signers, source};
use crate::provider_api::ProviderApi;

/// So seldom that no regular round happens during a test.
const SELDOM: u32 = 6000;
const INBOX: &str = "postmark@inbox.test";

/// Polling for agents that wait longer than this; one source that may have the mail, and
/// one for another domain.
fn settings(api: &ProviderApi, patience: &str) -> String {
    let elsewhere = source(api, "resend", SELDOM);
    let elsewhere = elsewhere.replace("api_key", "domains = [\"other.test\"]\napi_key");
    format!(
        "poll.patience = \"{patience}\"\n{}{elsewhere}",
        source(api, "postmark", SELDOM)
    )
}

/// `POLL_PATIENCE=20s` waits as long as the default does.
fn patience() -> String {
    std::env::var("POLL_PATIENCE").unwrap_or_else(|_| "1s".to_owned())
}

async fn on_embedded(settings: &str) -> Harness {
    Harness::embedded_with(settings).await
}

async fn on_full(settings: &str) -> Harness {
    let mut harness = Harness::full_with(settings).await;
    harness.deployment.add(Role::Poll).await.unwrap();
    harness
}

async fn call(harness: &Harness, path: &str, key: &str, body: Value) -> Value {
    let to = &harness.deployment;
    let answer = harness.client.call(to, path, key, &body).await.unwrap();
    assert!(answer.status.is_success(), "{answer:?}");
    answer.body
}

async fn open(harness: &Harness, key: &str) -> String {
    let opened = call(harness, "v1/attempts", key, json!({ "inbox": INBOX })).await;
    opened["id"].as_str().unwrap().to_owned()
}

async fn take(harness: &Harness, attempt: &str, key: &str) -> Value {
    let path = format!("v1/attempts/{attempt}/consume");
    call(harness, &path, key, json!({ "wait": 50 })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn code_without_webhook_is_found_by_polling_on_the_embedded_profile() {
    let api = ProviderApi::start();
    let harness = on_embedded(&settings(&api, &patience())).await;
    code_without_webhook_is_found_by_polling(harness, api).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn code_without_webhook_is_found_by_polling_on_the_full_profile() {
    let api = ProviderApi::start();
    let harness = on_full(&settings(&api, &patience())).await;
    code_without_webhook_is_found_by_polling(harness, api).await;
}

async fn code_without_webhook_is_found_by_polling(harness: Harness, api: ProviderApi) {
    let signers = signers(&source(&api, "postmark", SELDOM));
    let url = harness.deployment.url(Role::Feed, 0).unwrap().to_string();
    let mut wait = std::process::Command::new(binary());
    wait.args(["wait", "code", "--to", INBOX, "--timeout", "55s"])
        .env("MAILLATCH_URL", url)
        .env("MAILLATCH_KEY", harness.deployment.key(0).expose_secret());
    let waiting = tokio::task::spawn_blocking(move || wait.output().unwrap());
    harness
        .until_count("SELECT count(*) FROM attempts", 1)
        .await;
    let began = Instant::now();
    api.arrive(
        "postmark",
        provider_mail(&signers, "postmark", "m1", "493817").mail,
    );
    let output = waiting.await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "493817\n",
        "{said}"
    );
    eprintln!(
        "the code came {} ms after its mail",
        began.elapsed().as_millis()
    );
    let metrics = harness.metrics(Role::Poll).await;
    assert!(
        metrics.contains("cause=\"waiting\",outcome=\"done\""),
        "{metrics}"
    );
    assert!(!metrics.contains("cause=\"routine\""), "{metrics}");
    let elsewhere = "maillatch_polls_total{source=\"resend\"";
    assert!(!metrics.contains(elsewhere), "{metrics}");
    harness.end().await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn working_webhooks_cause_no_polling_on_the_embedded_profile() {
    let api = ProviderApi::start();
    let harness = on_embedded(&settings(&api, "20s")).await;
    working_webhooks_cause_no_polling(harness, api).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn working_webhooks_cause_no_polling_on_the_full_profile() {
    let api = ProviderApi::start();
    let harness = on_full(&settings(&api, "20s")).await;
    working_webhooks_cause_no_polling(harness, api).await;
}

async fn working_webhooks_cause_no_polling(harness: Harness, api: ProviderApi) {
    let signers = signers(&source(&api, "postmark", SELDOM));
    for n in 0..5 {
        let attempt = open(&harness, &format!("open-{n}")).await;
        let code = format!("49381{n}");
        let mail = provider_mail(&signers, "postmark", &format!("m{n}"), &code);
        api.arrive("postmark", mail.mail.clone());
        push(&harness, "postmark", &mail).await;
        let taken = take(&harness, &attempt, &format!("take-{n}")).await;
        assert_eq!(taken["value"], code.as_str(), "{taken}");
    }
    assert_eq!(api.lists(), 0, "somebody asked the provider");
    let metrics = harness.metrics(Role::Poll).await;
    assert!(!metrics.contains("maillatch_polls_total{"), "{metrics}");
    harness.end().await;
    api.stop().await;
}
