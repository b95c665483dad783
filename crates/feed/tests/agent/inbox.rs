//! Repeated requests for inboxes.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, Server, ask};

async fn post(server: &Server, path: &str, key: Option<&str>, body: &Value) -> Answer {
    let request = server
        .bare(Method::POST, path)
        .bearer_auth(server.token("a"))
        .json(body);
    ask(match key {
        Some(key) => request.header("Idempotency-Key", key),
        None => request,
    })
    .await
}

#[tokio::test]
async fn retry_returns_the_inbox_that_was_created() {
    let server = Server::start().await;
    let body = json!({
        "from": ["example.com"], "require": "verified", "code_lifetime": 60,
        "expires_in": 3600, "metadata": { "b": 1, "a": [2] },
    });
    let made = post(&server, "/v1/inboxes", Some("k1"), &body).await;
    assert_eq!(made.status, 201, "{made:?}");
    assert_eq!(made.header("idempotency-replayed"), None);
    let again = post(&server, "/v1/inboxes", Some("k1"), &body).await;
    assert_eq!((again.status, &again.text), (201, &made.text));
    assert_eq!(again.header("idempotency-replayed"), Some("true"));

    let other = post(&server, "/v1/inboxes", Some("k2"), &body).await;
    assert_ne!(other.json()["address"], made.json()["address"]);
    let without = post(&server, "/v1/inboxes", None, &body).await;
    assert_ne!(without.json()["address"], made.json()["address"]);
    for change in [
        json!({ "from": ["example.org"] }),
        json!({ "expires_in": 60 }),
        json!({ "require": null }),
        json!({ "metadata": {} }),
    ] {
        let mut changed = body.clone();
        for (name, value) in change.as_object().unwrap() {
            changed[name] = value.clone();
        }
        let refused = post(&server, "/v1/inboxes", Some("k1"), &changed).await;
        refused.problem(422, "idempotency-key-reused");
    }
}

#[tokio::test]
async fn retried_rotation_returns_the_same_new_address() {
    let server = Server::start().await;
    let made = post(&server, "/v1/inboxes", None, &json!({})).await;
    let old = made.json()["address"].as_str().unwrap().to_owned();
    let path = format!("/v1/inboxes/{old}/rotate");
    let rotated = post(&server, &path, Some("k1"), &json!({})).await;
    assert_eq!(rotated.status, 200, "{rotated:?}");
    assert_ne!(rotated.json()["address"], old.as_str());
    let again = post(&server, &path, Some("k1"), &json!({})).await;
    assert_eq!((again.status, &again.text), (200, &rotated.text));
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    let missing = "/v1/inboxes/nobody@inbox.test/rotate";
    let missing = post(&server, missing, Some("k2"), &json!({})).await;
    missing.problem(404, "not-found");
}
