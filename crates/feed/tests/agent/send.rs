//! `/v1/sends`: a mail is asked for once for its intent, and its content is never shown.

use std::time::{Duration, Instant};

use feed::Settings;
use futures_util::future::{join, join_all};
use pipeline::{SendClaim, SendPermit, SendResult};
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, Server, ask};
use crate::key_api::operator;
use crate::keys::order;
use crate::wait::wait_until_open;

const LEASE: Duration = Duration::from_hours(1);

/// A server, two keys that may send, and the operator's.
struct Sends {
    server: Server,
    keys: [String; 2],
    root: String,
}

impl Sends {
    async fn start() -> Self {
        Self::over(Server::start().await).await
    }

    async fn over(server: Server) -> Self {
        let mut keys = Vec::new();
        for name in ["agent-1", "agent-2"] {
            let mut order = order(name);
            order.scopes = vec!["send".to_owned()];
            keys.push(server.create_key_token(order).await);
        }
        let root = operator(&server).await;
        let keys = keys.try_into().unwrap();
        Self { server, keys, root }
    }

    async fn post_as(&self, token: &str, path: &str, body: &Value) -> Answer {
        let request = self.server.bare(Method::POST, path).bearer_auth(token);
        ask(request.json(body)).await
    }

    /// Asks with an idempotency key.
    async fn post_with(&self, key: &str, path: &str, body: &Value) -> Answer {
        let request = self.server.bare(Method::POST, path);
        let request = request.bearer_auth(&self.keys[0]);
        ask(request.header("Idempotency-Key", key).json(body)).await
    }

    async fn send(&self, body: &Value) -> Answer {
        self.post_as(&self.keys[0], "/v1/sends", body).await
    }

    /// Sends, and returns the id.
    async fn sent(&self, body: &Value) -> String {
        let answer = self.send(body).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["id"].as_str().unwrap().to_owned()
    }

    async fn act(&self, token: &str, id: &str, what: &str, body: &Value) -> Answer {
        let path = format!("/v1/sends/{id}/{what}");
        self.post_as(token, &path, body).await
    }

    async fn show(&self, id: &str, query: &str) -> Answer {
        let path = format!("/v1/sends/{id}{query}");
        self.server.read_with(&self.keys[1], &path).await
    }

    /// Claims and dispatches the only send that is ready.
    async fn dispatch(&self) -> SendClaim {
        let outbox = &self.server.store.outbox;
        let senders = ["shop".parse().unwrap()];
        let claimed = outbox.claim_ready(&senders, 10, LEASE).await.unwrap();
        assert_eq!(claimed.len(), 1);
        let claim = claimed[0].claim;
        let permit = outbox.dispatch(claim, Duration::from_secs(1)).await;
        assert_eq!(permit.unwrap(), SendPermit::Go);
        claim
    }

    async fn end(&self, claim: SendClaim, result: SendResult) {
        let outbox = &self.server.store.outbox;
        outbox.end_dispatch(claim, result).await.unwrap();
    }
}

fn mail(entity: &str) -> Value {
    json!({
        "sender": "shop",
        "intent": { "type": "order.confirmation", "entity": entity },
        "to": "user@example.com",
        "template": "plain",
        "values": { "name": "Zaphod" },
    })
}

fn with(body: &Value, field: &str, value: Value) -> Value {
    let mut body = body.clone();
    body[field] = value;
    body
}

#[tokio::test]
async fn send_is_recorded_once_and_shows_no_content() {
    let sends = Sends::start().await;
    let first = sends.send(&mail("order_1")).await;
    assert_eq!(first.status, 201, "{first:?}");
    assert_eq!(first.json()["state"], "ready");
    assert_eq!(first.json()["next"], "wait");
    let key = &sends.keys[1];
    let second = sends.post_as(key, "/v1/sends", &mail("order_1")).await;
    assert_eq!(second.status, 200, "{second:?}");
    assert_eq!(second.header("idempotency-replayed"), Some("true"));
    let id = first.json()["id"].as_str().unwrap().to_owned();
    let shown = sends.show(&id, "").await;
    for answer in [first, second, shown] {
        assert_eq!(answer.json()["id"], id);
        assert_eq!(answer.json()["intent"]["entity"], "order_1");
        for hidden in ["user@", "Zaphod", "ml-"] {
            assert!(!answer.text.contains(hidden), "{answer:?}");
        }
    }
}

#[tokio::test]
async fn same_intent_with_other_content_returns_409() {
    let sends = Sends::start().await;
    let id = sends.sent(&mail("order_1")).await;
    let reworded = with(&mail("order_1"), "values", json!({ "name": "Ford" }));
    let refused = sends.send(&reworded).await;
    let problem = refused.problem(409, "intent-used");
    assert_eq!(
        (&problem["id"], &problem["state"]),
        (&json!(id), &json!("ready"))
    );
}

#[tokio::test]
async fn fifty_equal_requests_with_two_api_keys_create_one_send() {
    let sends = Sends::start().await;
    let body = mail("order_1");
    let requests = (0..50).map(|n| sends.post_as(&sends.keys[n % 2], "/v1/sends", &body));
    let answers = join_all(requests).await;
    let created = answers.iter().filter(|answer| answer.status == 201);
    assert_eq!(created.count(), 1);
    let mut ids: Vec<String> = answers
        .iter()
        .map(|answer| answer.json()["id"].as_str().unwrap().to_owned())
        .collect();
    ids.dedup();
    assert_eq!(ids.len(), 1);
}

#[tokio::test]
async fn idempotency_key_names_one_send() {
    let sends = Sends::start().await;
    let send = async |body: &Value| sends.post_with("k", "/v1/sends", body).await;
    let first = send(&mail("order_1")).await;
    assert_eq!(first.status, 201, "{first:?}");
    let again = send(&mail("order_1")).await;
    assert_eq!(again.status, 200, "{again:?}");
    assert_eq!(again.json()["id"], first.json()["id"]);
    let other = send(&mail("order_2")).await;
    other.problem(422, "idempotency-key-reused");
}

#[tokio::test]
async fn idempotency_key_of_a_duplicate_names_its_send() {
    let sends = Sends::start().await;
    let id = sends.sent(&mail("order_1")).await;
    for _ in 0..2 {
        let known = sends.post_with("k", "/v1/sends", &mail("order_1")).await;
        assert_eq!((known.status, &known.json()["id"]), (200, &json!(id)));
        assert_eq!(known.header("idempotency-replayed"), Some("true"));
    }
    let other = sends.post_with("k", "/v1/sends", &mail("order_2")).await;
    other.problem(422, "idempotency-key-reused");
    // A refused request leaves its key free.
    let reworded = with(&mail("order_1"), "values", json!({ "name": "Ford" }));
    let refused = sends.post_with("k2", "/v1/sends", &reworded).await;
    refused.problem(409, "intent-used");
    let new = sends.post_with("k2", "/v1/sends", &mail("order_2")).await;
    assert_eq!(new.status, 201, "{new:?}");
}

#[tokio::test]
async fn idempotency_key_of_a_batch_names_each_of_its_sends() {
    let sends = Sends::start().await;
    sends.sent(&mail("order_1")).await;
    let batch = async |entities: [&str; 2]| {
        let body = json!({ "sends": entities.map(mail) });
        let answer = sends.post_with("k", "/v1/sends/batch", &body).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let items = answer.json()["items"].clone();
        [0, 1].map(|index| items[index]["status"].as_u64().unwrap())
    };
    assert_eq!(batch(["order_1", "order_2"]).await, [200, 201]);
    assert_eq!(batch(["order_1", "order_2"]).await, [200, 200]);
    assert_eq!(batch(["order_3", "order_2"]).await, [422, 200]);
}

#[tokio::test]
async fn waiting_request_returns_when_the_mail_is_sent() {
    let sends = Sends::start().await;
    let id = sends.sent(&mail("order_1")).await;
    let claim = sends.dispatch().await;
    let receipt = "re_1".parse().unwrap();
    let (shown, ()) = join(
        sends.show(&id, "?wait=50"),
        sends.end(claim, SendResult::Sent(Some(receipt))),
    )
    .await;
    assert_eq!(shown.json()["state"], "sent", "{shown:?}");
    assert_eq!(shown.json()["result"], "re_1");
    assert_eq!(shown.json()["next"], "nothing");
}

#[tokio::test]
async fn send_with_a_wait_is_answered_at_once_if_all_waits_are_in_use() {
    let server = Server::start_with(one_wait()).await;
    send_without_a_free_wait_is_recorded(Sends::over(server).await).await;
}

#[tokio::test]
async fn send_with_a_wait_is_answered_at_once_if_all_waits_are_in_use_on_postgres() {
    let server = Server::start_on_postgres_with(one_wait()).await;
    send_without_a_free_wait_is_recorded(Sends::over(server).await).await;
}

/// A key may have one wait open.
pub(crate) fn one_wait() -> Settings {
    Settings {
        max_waits: 1,
        ..Settings::default()
    }
}

async fn send_without_a_free_wait_is_recorded(sends: Sends) {
    let first = sends.sent(&mail("order_1")).await;
    let path = format!("/v1/sends/{first}?wait=50");
    let waiting = sends.server.read_with(&sends.keys[0], &path);
    let others = async {
        wait_until_open(&sends.server, 1).await;
        let wish = with(&mail("order_2"), "wait", json!(50));
        let begun = Instant::now();
        let (new, again) = (sends.send(&wish).await, sends.send(&wish).await);
        assert_eq!((new.status, again.status), (201, 200), "{new:?} {again:?}");
        assert_eq!(new.json()["state"], "ready");
        assert_eq!(new.json()["id"], again.json()["id"]);
        assert!(begun.elapsed() < Duration::from_secs(40));
        // A request that records nothing is refused.
        let refused = sends.server.read_with(&sends.keys[0], &path).await;
        refused.problem(429, "too-many-waits");
        sends
            .act(&sends.keys[1], &first, "cancel", &json!({}))
            .await
    };
    let (ended, cancelled) = join(waiting, others).await;
    assert_eq!(cancelled.status, 200, "{cancelled:?}");
    assert_eq!(ended.json()["state"], "cancelled", "{ended:?}");
    sends.server.end().await;
}

#[tokio::test]
async fn uncertain_send_says_do_not_retry_and_is_settled_by_the_operator() {
    let sends = Sends::start().await;
    let id = sends.sent(&mail("order_1")).await;
    let claim = sends.dispatch().await;
    let why = pipeline::Reason::new("timeout");
    sends.end(claim, SendResult::Maybe(LEASE, why)).await;
    let shown = sends.show(&id, "?wait=50").await;
    assert_eq!(shown.json()["state"], "uncertain");
    assert_eq!(shown.json()["next"], "do_not_retry");
    assert_eq!(shown.json()["reason"], "timeout");
    let again = sends.send(&mail("order_1")).await;
    assert_eq!(
        (again.status, &again.json()["state"]),
        (200, &json!("uncertain"))
    );

    let listed = sends.server.read_with(&sends.root, "/v1/sends").await;
    assert_eq!(listed.ids(), std::slice::from_ref(&id));
    let ready = "/v1/sends?state=ready";
    let none = sends.server.read_with(&sends.root, ready).await;
    assert!(none.ids().is_empty());
    let odd = sends.server.read_with(&sends.root, "/v1/sends?state=odd");
    odd.await.problem(400, "invalid-parameter");

    let empty = sends.act(&sends.root, &id, "settle", &json!({})).await;
    assert_eq!(empty.problem(400, "invalid-body")["field"], "outcome");
    let retry = json!({ "outcome": "retry" });
    let settled = sends.act(&sends.root, &id, "settle", &retry).await;
    assert_eq!(settled.json()["state"], "ready", "{settled:?}");
    let again = sends.act(&sends.root, &id, "settle", &retry).await;
    again.problem(409, "state-conflict");
    let sent = json!({ "outcome": "sent", "result": "re_1" });
    let settled = sends.act(&sends.root, &id, "settle", &sent).await;
    assert_eq!(settled.json()["state"], "sent", "{settled:?}");
}

#[tokio::test]
async fn held_send_is_approved_refused_or_cancelled() {
    let sends = Sends::start().await;
    let held = |entity| with(&mail(entity), "template", json!("held"));
    let none = json!({});
    for (entity, what, token, state) in [
        ("order_1", "approve", &sends.root, "ready"),
        ("order_2", "refuse", &sends.root, "cancelled"),
        ("order_3", "cancel", &sends.keys[1], "cancelled"),
    ] {
        let id = sends.sent(&held(entity)).await;
        assert_eq!(sends.show(&id, "").await.json()["state"], "held");
        let decided = sends.act(token, &id, what, &none).await;
        assert_eq!(decided.json()["state"], state, "{decided:?}");
        if what != "approve" {
            let again = sends.act(token, &id, what, &none).await;
            again.problem(409, "state-conflict");
        }
    }
    let absent = format!("snd_{}", "0".repeat(32));
    let unknown = sends.act(&sends.root, &absent, "approve", &none).await;
    unknown.problem(404, "not-found");
}

#[tokio::test]
async fn invalid_sends_return_the_field_and_refused_recipients_403() {
    let sends = Sends::start().await;
    for (field, value, named) in [
        ("sender", json!("other"), "sender"),
        ("sender", json!("A B"), "sender"),
        ("intent", json!({ "type": "a" }), "intent"),
        ("to", json!("a@example.com, b@example.com"), "to"),
        ("to", json!("a@example.com\r\nBcc: b@example.com"), "to"),
        ("template", json!("unknown"), "template"),
        ("values", json!({}), "values"),
        ("values", json!({ "name": 5 }), "values"),
        ("values", json!({ "name": ["a"] }), "values"),
        ("wait", json!(56), "wait"),
    ] {
        let refused = sends.send(&with(&mail("order_1"), field, value)).await;
        let problem = refused.problem(400, "invalid-body");
        assert_eq!(problem["field"], named, "{problem}");
    }
    let unknown = with(&mail("order_1"), "text", json!("free text"));
    sends.send(&unknown).await.problem(400, "invalid-body");
    let stranger = with(&mail("order_1"), "to", json!("user@evil.test"));
    let refused = sends.send(&stranger).await;
    refused.problem(403, "recipient-not-allowed");
    assert!(!refused.text.contains("evil.test"), "{refused:?}");
}

#[tokio::test]
async fn send_above_a_cap_returns_429_with_the_cap() {
    let sends = Sends::start().await;
    let capped = |entity| with(&mail(entity), "to", json!("capped@example.com"));
    sends.sent(&capped("order_1")).await;
    let refused = sends.send(&capped("order_2")).await;
    let problem = refused.problem(429, "send-cap");
    assert_eq!(problem["reason"], "recipient");
    assert!(refused.header("retry-after").is_some());
}

#[tokio::test]
async fn batch_answers_each_send_for_itself() {
    let sends = Sends::start().await;
    let batch = json!({ "sends": [
        mail("order_1"),
        with(&mail("order_2"), "to", json!("user@evil.test")),
        mail("order_1"),
        with(&mail("order_3"), "sender", json!("other")),
    ] });
    let post = async |body: &Value| {
        let request = sends.server.bare(Method::POST, "/v1/sends/batch");
        let request = request.bearer_auth(&sends.keys[0]);
        ask(request.header("Idempotency-Key", "k").json(body)).await
    };
    let statuses = |answer: &Answer| -> Vec<u64> {
        let items = answer.json()["items"].as_array().unwrap().clone();
        items
            .iter()
            .map(|item| item["status"].as_u64().unwrap())
            .collect()
    };
    let answer = post(&batch).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(statuses(&answer), [201, 403, 200, 400]);
    assert_eq!(
        answer.json()["items"][1]["problem"],
        "recipient-not-allowed"
    );
    let again = post(&batch).await;
    assert_eq!(statuses(&again), [200, 403, 200, 400]);
    let many: Vec<Value> = (0..101).map(|n| mail(&format!("order_{n}"))).collect();
    for body in [json!({}), json!({ "sends": [] }), json!({ "sends": many })] {
        let refused = post(&body).await;
        assert_eq!(refused.problem(400, "invalid-body")["field"], "sends");
    }
}

#[tokio::test]
async fn sends_need_a_key_with_the_scope() {
    let sends = Sends::start().await;
    let id = sends.sent(&mail("order_1")).await;
    let one = format!("/v1/sends/{id}");
    for (method, path, scope) in [
        (Method::POST, "/v1/sends".to_owned(), "send"),
        (Method::POST, "/v1/sends/batch".to_owned(), "send"),
        (Method::GET, one.clone(), "send"),
        (Method::POST, format!("{one}/cancel"), "send"),
        (Method::GET, "/v1/sends".to_owned(), "operator"),
        (Method::POST, format!("{one}/approve"), "operator"),
        (Method::POST, format!("{one}/refuse"), "operator"),
        (Method::POST, format!("{one}/settle"), "operator"),
    ] {
        let bare = ask(sends.server.bare(method.clone(), &path)).await;
        bare.problem(401, "unauthenticated");
        let request = sends.server.bare(method, &path);
        let wrong = request.bearer_auth(sends.server.token("a"));
        let refused = ask(wrong).await.problem(403, "forbidden");
        assert_eq!(refused["scope"], scope);
    }
}
