//! The same request twice, and one idempotency key for two requests.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, Server, ask};
use crate::keys::order;

struct Client<'s> {
    server: &'s Server,
    token: String,
}

impl<'s> Client<'s> {
    /// A key with every scope and every inbox.
    async fn new(server: &'s Server) -> Self {
        let mut order = order("root");
        order.inboxes = vec!["*".to_owned()];
        order.scopes = ["attempt", "feed", "consume", "operator"]
            .map(str::to_owned)
            .to_vec();
        let token = server.create_key_token(order).await;
        Self { server, token }
    }

    async fn post(&self, path: &str, key: &str, body: Value) -> Answer {
        let request = self.server.bare(Method::POST, path);
        let request = request.bearer_auth(&self.token).json(&body);
        ask(request.header("Idempotency-Key", key)).await
    }
}

fn text(answer: &Answer, field: &str) -> String {
    answer.json()[field].as_str().unwrap().to_owned()
}

#[track_caller]
fn is_replay_of(again: &Answer, first: &Answer, field: &str) {
    assert_eq!(first.header("idempotency-replayed"), None, "{first:?}");
    assert_eq!(
        again.header("idempotency-replayed"),
        Some("true"),
        "{again:?}"
    );
    assert_eq!(text(again, field), text(first, field));
}

#[tokio::test]
async fn retry_of_opening_returns_the_same_attempt() {
    let server = Server::start().await;
    let client = Client::new(&server).await;
    let open = async |key, body| client.post("/v1/attempts", key, body).await;
    let first = open("k", json!({})).await;
    assert_eq!(first.status, 201, "{first:?}");
    // Two spellings of the same body.
    let again = open("k", json!({ "kind": "code", "resends": 1 })).await;
    assert_eq!(again.status, 200, "{again:?}");
    is_replay_of(&again, &first, "id");
    for other in [json!({ "reference": "r" }), json!({ "kind": "link" })] {
        let refused = open("k", other).await;
        refused.problem(422, "idempotency-key-reused");
    }
    // A reference is independent of idempotency keys and may have the same spelling.
    let referred = open("k2", json!({ "reference": "k" })).await;
    assert_eq!(referred.status, 201, "{referred:?}");
    let again = open("k3", json!({ "reference": "k" })).await;
    assert_eq!(again.status, 200);
    is_replay_of(&again, &referred, "id");
    let reused = open("k4", json!({ "reference": "k", "kind": "link" })).await;
    reused.problem(422, "reference-reused");
}

#[tokio::test]
async fn repeated_resend_and_finish_are_marked_as_replayed() {
    let server = Server::start().await;
    let client = Client::new(&server).await;
    let open = client.post("/v1/attempts", "k", json!({})).await;
    let other = client.post("/v1/attempts", "k2", json!({})).await;
    let path =
        |attempt: &Answer, what: &str| format!("/v1/attempts/{}/{what}", text(attempt, "id"));
    let resend = async || client.post(&path(&open, "resend"), "k", json!({})).await;
    let (first, again) = (resend().await, resend().await);
    assert_eq!(first.json()["resends_left"], 0, "{first:?}");
    is_replay_of(&again, &first, "attempt");
    let finish = async |attempt, outcome: &str| {
        let body = json!({ "outcome": outcome });
        client.post(&path(attempt, "finish"), "k", body).await
    };
    let (first, again) = (finish(&open, "failed").await, finish(&open, "failed").await);
    is_replay_of(&again, &first, "outcome");
    for (attempt, outcome) in [(&open, "succeeded"), (&other, "failed")] {
        let refused = finish(attempt, outcome).await;
        refused.problem(422, "idempotency-key-reused");
    }
}

#[tokio::test]
async fn idempotency_key_for_a_second_inbox_returns_422() {
    let server = Server::start().await;
    let client = Client::new(&server).await;
    let make = async |key, body| client.post("/v1/inboxes", key, body).await;
    let body = || json!({ "address": "x@inbox.test", "from": ["example.com"] });
    let first = make("k", body()).await;
    assert_eq!(first.status, 201, "{first:?}");
    let again = make("k", body()).await;
    assert_eq!(again.status, 201);
    is_replay_of(&again, &first, "address");
    for other in [
        json!({ "address": "y@inbox.test" }),
        json!({ "address": "x@inbox.test" }),
    ] {
        let refused = make("k", other).await;
        refused.problem(422, "idempotency-key-reused");
    }
    make("k2", body()).await.problem(409, "inbox-taken");

    let rotate = async |from: &str| {
        let path = format!("/v1/inboxes/{from}/rotate");
        client.post(&path, "k", json!({})).await
    };
    let (first, again) = (rotate("x@inbox.test").await, rotate("x@inbox.test").await);
    is_replay_of(&again, &first, "address");
    let other = rotate(&text(&first, "address")).await;
    other.problem(422, "idempotency-key-reused");
}

#[tokio::test]
async fn retry_of_creating_a_key_returns_409_without_the_token() {
    let server = Server::start().await;
    let client = Client::new(&server).await;
    let make = async |key, name: &str| client.post("/v1/keys", key, json!({ "name": name })).await;
    assert_eq!(make("k", "agent-9").await.status, 201);
    let again = make("k", "agent-9").await;
    again.problem(409, "key-taken");
    assert!(!again.text.contains("mlk_"), "{again:?}");
    let other = make("k", "agent-10").await;
    other.problem(422, "idempotency-key-reused");
    assert_eq!(make("k2", "agent-10").await.status, 201);
}
