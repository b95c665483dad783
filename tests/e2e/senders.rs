//! Proven and unproven senders, from the post to the agent.

use std::collections::BTreeMap;

use pipeline::{Clock, SystemClock};
use serde_json::json;
use testkit::dkim::{Signer, key_name, key_record};
use testkit::dns::Dns;

use crate::harness::{Harness, payload};

#[tokio::test(flavor = "multi_thread")]
async fn only_proven_senders_give_values_on_the_embedded_profile() {
    let dns = dns().await;
    let harness = Harness::embedded_with(&asking(&dns)).await;
    only_proven_senders_give_values(harness).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_proven_senders_give_values_on_the_full_profile() {
    let dns = dns().await;
    let harness = Harness::full_with(&asking(&dns)).await;
    only_proven_senders_give_values(harness).await;
}

async fn dns() -> Dns {
    let record = (key_name("example.com"), key_record());
    Dns::knowing(BTreeMap::from([record])).await
}

fn asking(dns: &Dns) -> String {
    format!("sender.dns = [\"{}\"]\n", dns.address())
}

fn mail(id: &str, code: &str, to: &str) -> String {
    format!(
        "From: Shop <no-reply@example.com>\r\nTo: {to}\r\nMessage-ID: <{id}@example.com>\r\n\
         Date: Sun, 15 Nov 2026 10:00:00 +0000\r\nSubject: Your verification code\r\n\r\n\
         Your verification code is {code}.\r\n"
    )
}

async fn only_proven_senders_give_values(harness: Harness) {
    let wish = json!({ "from": ["example.com"], "require": "verified" });
    let attempt = harness.open(wish).await;
    let inbox = attempt["inbox"].as_str().unwrap().to_owned();
    let forged = payload(&inbox, mail("m1", "111111", &inbox).as_bytes());
    assert_eq!(harness.post(0, "d1", &forged).await.status, 200);
    let blocked = harness.until_state(&attempt, "blocked").await;
    assert_eq!(blocked["reason"], "sender_not_verified");

    let signer = Signer {
        domain: "example.com",
        fields: &["From", "To", "Subject", "Date"],
        at: Some(SystemClock.now().as_seconds()),
        tags: "",
    };
    let mail = signer.sign(&mail("m2", "493817", &inbox));
    let proven = payload(&inbox, mail.as_bytes());
    assert_eq!(harness.post(0, "d2", &proven).await.status, 200);
    assert_eq!(harness.take(&attempt, "k1").await["value"], "493817");

    let items = harness.until_items(&inbox, 2).await;
    let proofs: Vec<_> = items.iter().map(|item| &item["sender_proof"]).collect();
    assert_eq!(proofs, ["no_signature", "dkim"]);
    harness.end().await;
}
