//! Invalid request bodies, and the problems they return.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, Server, ask};
use crate::keys::order;

async fn send(server: &Server, token: &str, path: &str, body: String) -> Answer {
    let request = server.bare(Method::POST, path).bearer_auth(token);
    let request = request.header("Idempotency-Key", "k");
    ask(request
        .header("Content-Type", "application/json")
        .body(body))
    .await
}

/// A key with every scope and every inbox.
async fn full_key(server: &Server) -> String {
    let mut order = order("root");
    order.inboxes = vec!["*".to_owned()];
    order.scopes = ["attempt", "feed", "consume", "operator"]
        .map(str::to_owned)
        .to_vec();
    server.create_key_token(order).await
}

/// Path, body, the field that is invalid, and a part of its rule.
const INVALID: &[[&str; 4]] = &[
    [
        "/v1/attempts",
        r#"{"kind":"hostile"}"#,
        "kind",
        "one of code, link, either",
    ],
    [
        "/v1/attempts",
        r#"{"deadline":0}"#,
        "deadline",
        "1 to 86400 seconds",
    ],
    [
        "/v1/attempts",
        r#"{"deadline":"hostile"}"#,
        "deadline",
        "1 to 86400 seconds",
    ],
    ["/v1/attempts", r#"{"resends":11}"#, "resends", "0 to 10"],
    [
        "/v1/attempts",
        r#"{"from":["hostile words"]}"#,
        "from",
        "at most 50 domains",
    ],
    [
        "/v1/attempts",
        r#"{"links":"hostile"}"#,
        "links",
        "at most 50 hosts",
    ],
    [
        "/v1/attempts",
        r#"{"require":"hostile"}"#,
        "require",
        "verified",
    ],
    ["/v1/attempts", r#"{"token":"t"}"#, "token", "kind is link"],
    [
        "/v1/attempts",
        r#"{"inbox":"hostile"}"#,
        "inbox",
        "the address of an inbox",
    ],
    [
        "/v1/attempts",
        r#"{"reference":"hostile words"}"#,
        "reference",
        "1 to 256 visible",
    ],
    [
        "/v1/attempts",
        r#"{"callback":"hostile"}"#,
        "callback",
        "configured",
    ],
    [
        "/v1/attempts/{none}/consume",
        r#"{"wait":56}"#,
        "wait",
        "0 to 55 seconds",
    ],
    [
        "/v1/attempts/{none}/finish",
        "{}",
        "outcome",
        "one of succeeded, failed, abandoned",
    ],
    [
        "/v1/attempts/{none}/finish",
        r#"{"outcome":"hostile"}"#,
        "outcome",
        "one of succeeded",
    ],
    [
        "/v1/inboxes",
        r#"{"address":"hostile"}"#,
        "address",
        "an address",
    ],
    [
        "/v1/inboxes",
        r#"{"retention":0}"#,
        "retention",
        "1 to 3153600000 seconds",
    ],
    [
        "/v1/inboxes",
        r#"{"metadata":["hostile"]}"#,
        "metadata",
        "an object of at most 2048",
    ],
    ["/v1/keys", "{}", "name", "1 to 64 letters"],
    [
        "/v1/keys",
        r#"{"name":"a","scopes":["hostile"]}"#,
        "scopes",
        "a scope is",
    ],
    [
        "/v1/keys",
        r#"{"name":"a","inboxes":["hostile"]}"#,
        "inboxes",
        "an inbox is",
    ],
    [
        "/v1/keys",
        r#"{"name":"a","expires_in":0}"#,
        "expires_in",
        "one second",
    ],
];

#[tokio::test]
async fn invalid_body_problem_names_the_field_and_its_rule() {
    let server = Server::start().await;
    let token = full_key(&server).await;
    let many = json!({ "from": vec!["example.com"; 51] }).to_string();
    let more = ["/v1/attempts", &many, "from", "at most 50 domains"];
    for &[path, body, field, rule] in INVALID.iter().chain([&more]) {
        let path = path.replace("{none}", "att_00000000000000000000000000000000");
        let refused = send(&server, &token, &path, body.to_owned()).await;
        let problem = refused.problem(400, "invalid-body");
        assert_eq!(problem["field"], field, "{path} {body}");
        let text = problem["rule"].as_str().unwrap();
        assert!(text.contains(rule), "{path} {body}: {text}");
        let detail = format!("the field `{field}` is invalid; allowed: {text}");
        assert_eq!(problem["detail"], detail);
        assert!(!refused.text.contains("hostile"), "{refused:?}");
    }
}

#[tokio::test]
async fn malformed_bodies_and_unknown_fields_are_not_echoed() {
    let server = Server::start().await;
    let token = server.token("a");
    for (body, rule) in [
        ("{\"hostile\":1}", "unknown_field"),
        ("{\"kind\":\"code\",\"kind\":\"link\"}", "each field once"),
        (
            "{\"metadata\":{\"hostile\":1,\"hostile\":2}}",
            "each field once",
        ),
        ("[\"hostile\"]", "one JSON object"),
        ("hostile", "one JSON object"),
        (
            &format!("{{\"from\":[\"{}\"]}}", "x".repeat(17_000)),
            "at most 16384 bytes",
        ),
    ] {
        let refused = send(&server, token, "/v1/attempts", body.to_owned()).await;
        let problem = refused.problem(400, "invalid-body");
        assert_eq!(
            (&problem["field"], &problem["rule"]),
            (&Value::Null, &json!(rule))
        );
        let detail = problem["detail"].as_str().unwrap();
        let said = match rule {
            "unknown_field" => "the body has an unknown field; allowed: `kind`, `from`",
            rule => &format!("the body is invalid; allowed: {rule}"),
        };
        assert!(detail.starts_with(said), "{detail}");
        assert!(!refused.text.contains("hostile"), "{refused:?}");
    }
}

#[tokio::test]
async fn choosing_an_address_without_the_right_names_the_rule() {
    let server = Server::start().await;
    let request_body = json!({ "address": "mine@inbox.test" }).to_string();
    let refused = send(&server, server.token("narrow"), "/v1/inboxes", request_body).await;
    let problem = refused.problem(400, "invalid-body");
    assert_eq!(problem["field"], "address");
    let rule = problem["rule"].as_str().unwrap();
    assert!(rule.contains("only a key that sees every inbox"), "{rule}");
}

#[tokio::test]
async fn encoded_body_returns_415() {
    let server = Server::start().await;
    let post = |encoding| {
        let request = server.bare(Method::POST, "/v1/attempts");
        let request = request.bearer_auth(server.token("a")).body("{}");
        ask(request.header("Content-Encoding", encoding))
    };
    for encoding in ["gzip", "br", "identity, gzip", "zstd"] {
        post(encoding).await.problem(415, "unsupported-encoding");
    }
    assert_eq!(post("identity").await.status, 201);
}

#[tokio::test]
async fn internationalized_domains_are_accepted_in_ascii_form() {
    let server = Server::start().await;
    let token = server.token("a");
    let request_body =
        json!({ "address": "a@bücher.de", "from": ["bücher.de"], "links": ["*.bücher.de"] });
    let made = send(&server, token, "/v1/inboxes", request_body.to_string()).await;
    assert_eq!(made.status, 201, "{made:?}");
    let inbox = made.json();
    assert_eq!(inbox["address"], "a@xn--bcher-kva.de");
    assert_eq!(inbox["from"], json!(["xn--bcher-kva.de"]));
    assert_eq!(inbox["links"], json!(["*.xn--bcher-kva.de"]));
    let request_body = json!({ "inbox": "a@bücher.de", "from": ["BÜCHER.de"] });
    let open = send(&server, token, "/v1/attempts", request_body.to_string()).await;
    assert_eq!(open.status, 201, "{open:?}");
    assert_eq!(open.json()["inbox"], "a@xn--bcher-kva.de");
    let shown = server.read("/v1/inboxes/a@b%C3%BCcher.de").await;
    assert_eq!(shown.status, 200, "{shown:?}");
}
