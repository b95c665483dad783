//! `GET /v1/audit`, for operators.

use crate::harness::{INBOX, Server};
use crate::key_api::operator;
use crate::keys::order;

#[tokio::test]
async fn operator_sees_who_consumed_what_and_no_value() {
    let server = Server::start().await;
    let root = operator(&server).await;
    let none = server.read_with(&root, "/v1/audit").await;
    assert_eq!(
        (none.status, none.json()["items"].clone()),
        (200, serde_json::json!([]))
    );
    let first = server.store_code(INBOX, "493817").await;
    assert_eq!(server.consume("a", &first, "k1").await.status, 200);
    let second = server.store_code(INBOX, "271828").await;
    assert_eq!(server.consume("b", &second, "k2").await.status, 200);

    let page = server.read_with(&root, "/v1/audit").await;
    assert_eq!(page.status, 200, "{page:?}");
    let newest = &page.json()["items"][0];
    assert_eq!(newest["artifact"], second.as_str());
    assert_eq!(newest["consumer"], "b");
    assert_eq!(newest["way"], "artifact");
    assert_eq!(newest["inbox"], INBOX);
    assert_eq!(newest["kind"], "code");
    assert_eq!(page.json()["items"][1]["consumer"], "a");
    for value in ["493817", "271828"] {
        assert!(!page.text.contains(value), "{page:?}");
    }
    let rest = format!("/v1/audit?limit=1&before={second}");
    let rest = server.read_with(&root, &rest).await;
    assert_eq!(rest.json()["items"][0]["artifact"], first.as_str());
}

#[tokio::test]
async fn invalid_audit_parameters_return_400() {
    let server = Server::start().await;
    let root = operator(&server).await;
    for query in ["limit=0", "limit=100000", "after=x", "before=x"] {
        let path = format!("/v1/audit?{query}");
        let refused = server.read_with(&root, &path).await;
        refused.problem(400, "invalid-parameter");
    }
}

#[tokio::test]
async fn audit_without_the_operator_scope_returns_403() {
    let server = Server::start().await;
    let token = server.create_key_token(order("agent-7")).await;
    let refused = server.read_with(&token, "/v1/audit").await;
    assert_eq!(refused.problem(403, "forbidden")["scope"], "operator");
}
