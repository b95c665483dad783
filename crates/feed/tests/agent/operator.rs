//! Keys over HTTP, for whoever may make them.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, INBOX, Server, ask, feed_of};
use crate::keys::order;

async fn operator(server: &Server) -> String {
    let mut order = order("root");
    order.scopes = vec!["operator".to_owned()];
    server.make_key(order).await
}

async fn make(server: &Server, token: &str, wish: &Value) -> Answer {
    let request = server.bare(Method::POST, "/v1/keys").bearer_auth(token);
    ask(request.json(wish)).await
}

#[tokio::test]
async fn a_key_is_made_listed_and_revoked() {
    let server = Server::start().await;
    let root = operator(&server).await;
    let wish = json!({ "name": "agent-9", "scopes": ["feed"], "inboxes": [INBOX] });
    let made = make(&server, &root, &wish).await;
    assert_eq!(made.status, 201, "{made:?}");
    let token = made.json()["token"].as_str().unwrap().to_owned();
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

    make(&server, &root, &wish).await.problem(409, "key-taken");
    let revoke = || server.bare(Method::DELETE, "/v1/keys/agent-9");
    let revoked = ask(revoke().bearer_auth(&root)).await;
    assert_eq!(revoked.status, 200, "{revoked:?}");
    assert_eq!(revoked.json()["state"], "revoked");
    let again = ask(revoke().bearer_auth(&root)).await;
    again.problem(404, "not-found");
}

#[tokio::test]
async fn whoever_is_no_operator_makes_sees_and_revokes_no_key() {
    let server = Server::start().await;
    let token = server.make_key(order("agent-7")).await;
    let wish = json!({ "name": "agent-9" });
    for refused in [
        make(&server, &token, &wish).await,
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
async fn a_wish_that_cannot_be_granted_makes_no_key() {
    let server = Server::start().await;
    let root = operator(&server).await;
    for wish in [
        json!({}),
        json!({ "name": "a b" }),
        json!({ "name": "a", "scopes": ["root"] }),
        json!({ "name": "a", "inboxes": ["*", "x@inbox.test"] }),
        json!({ "name": "a", "expires_in": 0 }),
        json!({ "name": "a", "colour": "red" }),
    ] {
        let refused = make(&server, &root, &wish).await;
        refused.problem(400, "invalid-body");
    }
    let configured = make(&server, &root, &json!({ "name": "a" })).await;
    configured.problem(409, "key-taken");
}
