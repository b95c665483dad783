//! The domain of fresh addresses: none is handed out when its mail would not arrive.

use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{Harness, Role, binary};

/// The development source receives another domain, and so does a real one.
const UNCOVERED: &str = "source.dev.domains = [\"dev.test\"]\n\
    source.shop = { provider = \"standard-webhooks\", domains = [\"mail.shop.dev\"], \
    secrets = [\"whsec_dGhpcyBpcyBub3QgYSBzZWNyZXQgYXQgYWxs\"] }\n";

/// A real source covers it, but no mail can be sent to a reserved name.
const RESERVED: &str = "source.dev.domains = [\"dev.test\"]\n\
    source.shop = { provider = \"standard-webhooks\", domains = [\"*\"], \
    secrets = [\"whsec_dGhpcyBpcyBub3QgYSBzZWNyZXQgYXQgYWxs\"] }\n";

/// Nothing is wrong: a source receives the domain.
const COVERED: &str = "inbox.mint_domain = \"mail.shop.dev\"\n\
    source.shop = { provider = \"standard-webhooks\", \
    secrets = [\"whsec_dGhpcyBpcyBub3QgYSBzZWNyZXQgYXQgYWxs\"] }\n";

async fn doctor(harness: &Harness) -> (Option<i32>, Value) {
    let mut command = harness.command(&["doctor", "--json"]);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = output.await.unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut checks = report["checks"].as_array().unwrap().iter();
    let check = checks.find(|check| check["check"] == "addresses");
    (output.status.code(), check.unwrap().clone())
}

/// Minting is refused, `/readyz` warns and the doctor fails and names the source to use.
async fn no_fresh_address_is_handed_out(harness: Harness) {
    for path in ["/v1/attempts", "/v1/inboxes"] {
        let (status, body) = harness.post_json(path, "k1", &json!({})).await;
        assert_eq!(status, 409, "{body}");
        assert_eq!(body["type"], "urn:maillatch:problem:no-mail-domain");
        assert!(body["detail"].as_str().unwrap().contains("doctor"));
    }
    let named = json!({ "address": "agent@mail.shop.dev" });
    assert_eq!(harness.post_json("/v1/inboxes", "k2", &named).await.0, 201);
    let ready = harness.ops(Role::Feed, "/readyz").await;
    assert_eq!(ready.status, 200);
    let warnings = ready.body["warnings"].to_string();
    assert!(warnings.contains("no fresh address"), "{warnings}");
    assert!(!warnings.contains("shop"), "{warnings}");
    let (code, check) = doctor(&harness).await;
    assert_eq!(code, Some(1), "{check}");
    assert_eq!(check["health"], "fail");
    let detail = check["detail"].as_str().unwrap();
    for wanted in ["inbox.test", "inbox.mint_domain", "`shop`"] {
        assert!(detail.contains(wanted), "{wanted}: {detail}");
    }
    harness.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn uncovered_mint_domain_hands_out_no_address_on_the_embedded_profile() {
    no_fresh_address_is_handed_out(Harness::embedded_with(UNCOVERED).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn uncovered_mint_domain_hands_out_no_address_on_the_full_profile() {
    no_fresh_address_is_handed_out(Harness::full_with(UNCOVERED).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reserved_mint_domain_hands_out_no_address() {
    no_fresh_address_is_handed_out(Harness::embedded_with(RESERVED).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn covered_mint_domain_is_the_domain_of_fresh_addresses() {
    let harness = Harness::embedded_with(COVERED).await;
    let (status, attempt) = harness.post_json("/v1/attempts", "k1", &json!({})).await;
    assert!([200, 201].contains(&status), "{attempt}");
    let inbox = attempt["inbox"].as_str().unwrap();
    assert!(inbox.ends_with("@mail.shop.dev"), "{inbox}");
    let (code, check) = doctor(&harness).await;
    assert_eq!(code, Some(0), "{check}");
    assert_eq!(check["health"], "ok", "{check}");
    harness.end().await;
}

#[tokio::test]
async fn source_add_prints_the_domain_or_asks_for_it() {
    let add = |args: &[&str]| {
        let mut command = Command::new(binary());
        command.args(["source", "add", "postmark"]).args(args);
        let output = command.output().unwrap();
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap())
    };
    let [printed, _] = add(&["--domain", "Inbox.Shop.dev"]);
    assert!(
        printed.contains("domains = [\"inbox.shop.dev\"]"),
        "{printed}"
    );
    let [printed, said] = add(&[]);
    assert!(
        printed.contains("domains = [\"PASTE THE DOMAIN"),
        "{printed}"
    );
    assert!(said.contains("--domain"), "{said}");
    let [printed, said] = add(&["--domain", "not a domain"]);
    assert!(printed.is_empty() && said.contains("domain name"), "{said}");
}
