//! `/v1/keys`, for operators.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, INBOX, Server, ask, feed_of};
use crate::keys::order;

pub(crate) async fn operator(server: &Server) -> String {
    let mut order = order("root");
    order.scopes = vec!["operator".to_owned()];
    server.create_key_token(order).await
}

async fn create(server: &Server, token: &str, body: &Value) -> Answer {
    let request = server.bare(Method::POST, "/v1/keys").bearer_auth(token);
    ask(request.json(body)).await
}

#[tokio::test]
async fn key_is_created_listed_and_revoked() {
    let server = Server::start().await;
    let root = operator(&server).await;
    let body = json!({ "name": "agent-9", "scopes": ["feed"], "inboxes": [INBOX] });
    let created = create(&server, &root, &body).await;
    assert_eq!(created.status, 201, "{created:?}");
    let token = created.json()["token"].as_str().unwrap().to_owned();
    assert_eq!(
        server.read_with(&token, &feed_of(INBOX, "")).await.status,
        200
    );

    let listed = server.read_with(&root, "/v1/keys").await;
    let names: Vec<Value> = listed.json()["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|key| key["name"].clone())
        .collect();
    assert_eq!(names, ["agent-9", "root"]);
    assert!(!listed.text.contains(&token), "a token is shown once");

    create(&server, &root, &body)
        .await
        .problem(409, "key-taken");
    let revoke = || server.bare(Method::DELETE, "/v1/keys/agent-9");
    let revoked = ask(revoke().bearer_auth(&root)).await;
    assert_eq!(revoked.status, 200, "{revoked:?}");
    assert_eq!(revoked.json()["state"], "revoked");
    let again = ask(revoke().bearer_auth(&root)).await;
    again.problem(404, "not-found");
}

#[tokio::test]
async fn key_api_without_the_operator_scope_returns_403() {
    let server = Server::start().await;
    let token = server.create_key_token(order("agent-7")).await;
    let body = json!({ "name": "agent-9" });
    for refused in [
        create(&server, &token, &body).await,
        server.read_with(&token, "/v1/keys").await,
        ask(server
            .bare(Method::DELETE, "/v1/keys/agent-7")
            .bearer_auth(&token))
        .await,
    ] {
        assert_eq!(refused.problem(403, "forbidden")["scope"], "operator");
    }
}

#[tokio::test]
async fn invalid_key_request_returns_400_or_409() {
    let server = Server::start().await;
    let root = operator(&server).await;
    for body in [
        json!({}),
        json!({ "name": "a b" }),
        json!({ "name": "a", "scopes": ["root"] }),
        json!({ "name": "a", "inboxes": ["*", "x@inbox.test"] }),
        json!({ "name": "a", "expires_in": 0 }),
        json!({ "name": "a", "colour": "red" }),
    ] {
        let refused = create(&server, &root, &body).await;
        refused.problem(400, "invalid-body");
    }
    let configured = create(&server, &root, &json!({ "name": "a" })).await;
    configured.problem(409, "key-taken");
}
