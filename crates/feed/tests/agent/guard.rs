//! `/v1/guards`: of all who want to act on one intent, one may.

use futures_util::future::join_all;
use pipeline::{OperatorSettlement, SendId, SendState};
use reqwest::Method;
use serde_json::{Value, json};
use testkit::wait;

use crate::harness::{Answer, Server, ask};
use crate::keys::order;

/// A server, and two keys that may claim guards.
struct Guards {
    server: Server,
    keys: [String; 2],
}

impl Guards {
    async fn start() -> Self {
        Self::over(Server::start().await).await
    }

    async fn over(server: Server) -> Self {
        let mut keys = Vec::new();
        for name in ["agent-1", "agent-2"] {
            let mut order = order(name);
            order.scopes = vec!["guard".to_owned()];
            keys.push(server.create_key_token(order).await);
        }
        let keys = keys.try_into().unwrap();
        Self { server, keys }
    }

    async fn post(&self, key: usize, path: &str, body: &Value) -> Answer {
        let request = self.server.bare(Method::POST, path);
        ask(request.bearer_auth(&self.keys[key]).json(body)).await
    }

    async fn claim(&self, body: &Value) -> Answer {
        self.post(0, "/v1/guards", body).await
    }

    /// A claim with an idempotency key.
    async fn claim_with(&self, key: usize, idempotency: &str, body: &Value) -> Answer {
        let request = self.server.bare(Method::POST, "/v1/guards");
        let request = request.bearer_auth(&self.keys[key]);
        ask(request.header("Idempotency-Key", idempotency).json(body)).await
    }

    async fn report(&self, id: &str, what: &str, body: &Value) -> Answer {
        self.post(0, &format!("/v1/guards/{id}/{what}"), body).await
    }

    async fn show(&self, id: &str) -> Answer {
        let path = format!("/v1/guards/{id}");
        self.server.read_with(&self.keys[1], &path).await
    }

    /// A claim, and its id and token.
    async fn claimed(&self, body: &Value) -> (String, String) {
        let answer = self.claim(body).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        let body = answer.json();
        let text = |name: &str| body[name].as_str().unwrap().to_owned();
        (text("id"), text("token"))
    }

    /// A claim whose lease is over.
    async fn unreported(&self, entity: &str) -> (String, String) {
        let body = with(&order_mail(entity), "lease", json!(1));
        let (id, token) = self.claimed(&body).await;
        wait::until("the lease is over", async || {
            let state = self.show(&id).await.json()["state"].clone();
            (state == "uncertain").then_some(())
        })
        .await;
        (id, token)
    }
}

fn order_mail(entity: &str) -> Value {
    json!({
        "sender": "shop",
        "intent": { "type": "order.confirmation", "entity": entity },
        "to": "user@example.com",
    })
}

fn with(body: &Value, field: &str, value: Value) -> Value {
    let mut body = body.clone();
    body[field] = value;
    body
}

#[tokio::test]
async fn claimed_intent_is_in_progress_for_another_key() {
    let guards = Guards::start().await;
    let first = guards.claim(&order_mail("order_1")).await;
    assert_eq!(first.status, 201, "{first:?}");
    let body = first.json();
    assert_eq!(
        (&body["state"], &body["next"]),
        (&json!("claimed"), &json!("report"))
    );
    assert!(body["id"].as_str().unwrap().starts_with("grd_"));
    assert!(body["token"].as_str().unwrap().starts_with("clm_"));
    let key = body["provider_key"].as_str().unwrap();
    assert_eq!((key.len(), key.starts_with("ml-")), (67, true));
    assert!(body["deadline"].is_string());
    let left = body["expires_in"].as_u64().unwrap();
    assert!((100..=120).contains(&left), "{left}");

    let second = guards.post(1, "/v1/guards", &order_mail("order_1")).await;
    let problem = second.problem(409, "in-progress");
    assert_eq!(problem["id"], body["id"]);
    assert_eq!(problem["state"], "claimed");
    assert_eq!(problem["retryable"], true);
    let wait: u64 = second.header("retry-after").unwrap().parse().unwrap();
    assert!((100..=120).contains(&wait), "{wait}");
    for hidden in ["clm_", "ml-", "user@example.com"] {
        assert!(!second.text.contains(hidden), "{second:?}");
    }
}

#[tokio::test]
async fn confirmed_intent_is_done_with_its_result_for_another_key() {
    let guards = Guards::start().await;
    let (id, token) = guards.claimed(&order_mail("order_1")).await;
    let confirm = json!({ "token": token, "result": "ticket-4821" });
    let confirmed = guards.report(&id, "confirm", &confirm).await;
    assert_eq!(confirmed.status, 200, "{confirmed:?}");
    let later = guards.post(1, "/v1/guards", &order_mail("order_1")).await;
    assert_eq!(later.status, 200, "{later:?}");
    for answer in [confirmed, later, guards.show(&id).await] {
        let body = answer.json();
        assert_eq!(body["state"], "done");
        assert_eq!(body["next"], "nothing");
        assert_eq!(body["result"], "ticket-4821");
        assert!(body["done_at"].is_string());
        assert_eq!(body["token"], Value::Null);
    }
    let other = json!({ "token": token, "result": "another" });
    let again = guards.report(&id, "confirm", &other).await;
    assert_eq!(again.json()["result"], "ticket-4821", "the first stays");
    let release = json!({ "token": token, "not_done": true });
    let late = guards.report(&id, "release", &release).await;
    late.problem(409, "already-done");
}

#[tokio::test]
async fn released_intent_is_claimed_with_another_token_and_the_same_provider_key() {
    let guards = Guards::start().await;
    let first = guards.claim(&order_mail("order_1")).await.json();
    let (id, token) = (first["id"].as_str().unwrap(), &first["token"]);
    let unsure = guards
        .report(id, "release", &json!({ "token": token }))
        .await;
    assert_eq!(unsure.problem(400, "invalid-body")["field"], "not_done");
    let release = json!({ "token": token, "not_done": true });
    let released = guards.report(id, "release", &release).await;
    assert_eq!(released.status, 200, "{released:?}");
    assert_eq!(released.json()["state"], "released");
    let second = guards.claim(&order_mail("order_1")).await.json();
    assert_eq!(second["id"], first["id"]);
    assert_ne!(second["token"], first["token"]);
    assert_eq!(second["provider_key"], first["provider_key"]);
    assert_eq!(second["claims"], 2);
    for (what, body) in [
        ("release", release),
        ("extend", json!({ "token": token, "lease": 60 })),
    ] {
        let stale = guards.report(id, what, &body).await;
        stale.problem(409, "stale-token");
    }
}

#[tokio::test]
async fn unreported_intent_is_uncertain_until_it_is_confirmed() {
    let guards = Guards::start().await;
    let (id, token) = guards.unreported("order_1").await;
    for key in 0..2 {
        let refused = guards.post(key, "/v1/guards", &order_mail("order_1")).await;
        let problem = refused.problem(409, "uncertain");
        assert_eq!(problem["id"], id);
        assert_eq!(problem["retryable"], false);
        assert_eq!(refused.header("retry-after"), None);
    }
    let release = json!({ "token": token, "not_done": true });
    let late = guards.report(&id, "release", &release).await;
    late.problem(409, "lease-over");
    let extend = json!({ "token": token, "lease": 60 });
    let late = guards.report(&id, "extend", &extend).await;
    late.problem(409, "lease-over");
    let confirm = json!({ "token": token });
    let confirmed = guards.report(&id, "confirm", &confirm).await;
    assert_eq!(confirmed.json()["state"], "done", "{confirmed:?}");
    let later = guards.claim(&order_mail("order_1")).await;
    assert_eq!(later.status, 200, "{later:?}");
}

#[tokio::test]
async fn abandoned_intent_stays_used() {
    let guards = Guards::start().await;
    let (id, _) = guards.unreported("order_1").await;
    let uuid = id.replace("grd_", "snd_").parse::<SendId>().unwrap();
    let sends = &guards.server.store.sends;
    let by = "root".parse().unwrap();
    let settled = sends.settle_send(uuid, OperatorSettlement::Abandon, &by);
    settled.await.unwrap();
    let refused = guards.claim(&order_mail("order_1")).await;
    let problem = refused.problem(409, "intent-used");
    assert_eq!(problem["state"], "abandoned");
    let next = order_mail("order_1");
    let next = with(&next, "intent", {
        json!({ "type": "order.confirmation", "entity": "order_1", "version": 2 })
    });
    assert_eq!(guards.claim(&next).await.status, 201);
    let failed = sends.sends(SendState::Failed, None, 10).await.unwrap();
    assert_eq!(failed.len(), 1);
}

#[tokio::test]
async fn extended_guard_has_a_later_deadline() {
    let guards = Guards::start().await;
    let (id, token) = guards.claimed(&order_mail("order_1")).await;
    let before = guards.show(&id).await.json();
    let extend = json!({ "token": token, "lease": 3600 });
    let extended = guards.report(&id, "extend", &extend).await;
    assert_eq!(extended.status, 200, "{extended:?}");
    let deadline = |body: &Value| -> pipeline::Timestamp {
        body["deadline"].as_str().unwrap().parse().unwrap()
    };
    assert!(deadline(&extended.json()) > deadline(&before));
}

#[tokio::test]
async fn repeated_claim_with_its_idempotency_key_gets_the_same_token() {
    let guards = Guards::start().await;
    let order = order_mail("order_1");
    let first = guards.claim_with(0, "k", &order).await;
    assert_eq!(first.status, 201, "{first:?}");
    assert_eq!(first.header("idempotency-replayed"), None);
    // The same intent in another spelling, for another time.
    let mut same = with(&order, "to", json!("User@Example.COM"));
    same["lease"] = json!(60);
    for body in [&order, &same] {
        let again = guards.claim_with(0, "k", body).await;
        assert_eq!(again.status, 201, "{again:?}");
        assert_eq!(again.header("idempotency-replayed"), Some("true"));
        assert_eq!(again.json()["token"], first.json()["token"]);
    }
    for (key, idempotency) in [(0, "other"), (1, "k")] {
        let other = guards.claim_with(key, idempotency, &order).await;
        other.problem(409, "in-progress");
    }
}

#[tokio::test]
async fn idempotency_key_of_a_claim_is_used_for_one_intent() {
    idempotency_key_claims_one_intent(Guards::start().await).await;
}

#[tokio::test]
async fn idempotency_key_of_a_claim_is_used_for_one_intent_on_postgres() {
    idempotency_key_claims_one_intent(Guards::over(Server::start_on_postgres().await).await).await;
}

async fn idempotency_key_claims_one_intent(guards: Guards) {
    let (first, other) = (order_mail("order_1"), order_mail("order_2"));
    let claim = async |body: &Value| guards.claim_with(0, "k", body).await;
    let refused_while = async |state: &str| {
        let mut payment = with(&first, "kind", json!("payment"));
        for body in [&other, &payment, &with(&first, "sender", json!("other"))] {
            let refused = claim(body).await;
            let problem = refused.problem(422, "idempotency-key-reused");
            assert_eq!(problem["retryable"], false, "{state}");
            assert!(!refused.text.contains("clm_"), "{refused:?}");
        }
        payment["intent"]["version"] = json!(2);
        claim(&payment).await.problem(422, "idempotency-key-reused");
    };
    let claimed = claim(&first).await.json();
    let (id, token) = (claimed["id"].as_str().unwrap(), &claimed["token"]);
    refused_while("claimed").await;
    let release = json!({ "token": token, "not_done": true });
    guards.report(id, "release", &release).await;
    refused_while("released").await;
    let again = claim(&first).await;
    assert_eq!(again.status, 201, "{again:?}");
    assert_eq!(again.header("idempotency-replayed"), None);
    let confirm = json!({ "token": again.json()["token"], "result": "ticket-1" });
    guards.report(id, "confirm", &confirm).await;
    refused_while("done").await;
    let done = claim(&first).await;
    assert_eq!(
        (done.status, &done.json()["result"]),
        (200, &json!("ticket-1"))
    );
    assert_eq!(done.header("idempotency-replayed"), Some("true"));
    // Nothing was claimed by the refused requests, and the key of another caller is another.
    let answer = guards.claim_with(1, "k", &other).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    guards.server.end().await;
}

#[tokio::test]
async fn idempotency_key_of_a_refused_claim_is_free() {
    let guards = Guards::start().await;
    guards.claimed(&order_mail("held")).await;
    guards.unreported("over").await;
    for (entity, problem) in [("held", "in-progress"), ("over", "uncertain")] {
        let refused = guards.claim_with(0, "k", &order_mail(entity)).await;
        refused.problem(409, problem);
    }
    let free = guards.claim_with(0, "k", &order_mail("free")).await;
    assert_eq!(free.status, 201, "{free:?}");
    // An intent that was done is an answer, too.
    let (id, token) = guards.claimed(&order_mail("done")).await;
    guards
        .report(&id, "confirm", &json!({ "token": token }))
        .await;
    for is_repeated in [None, Some("true")] {
        let done = guards.claim_with(0, "k2", &order_mail("done")).await;
        assert_eq!(done.status, 200, "{done:?}");
        assert_eq!(done.header("idempotency-replayed"), is_repeated);
    }
    let reused = guards.claim_with(0, "k2", &order_mail("next")).await;
    reused.problem(422, "idempotency-key-reused");
}

#[tokio::test]
async fn fifty_equal_requests_with_two_api_keys_get_one_claim() {
    fifty_equal_requests_get_one_claim(Guards::start().await).await;
}

#[tokio::test]
async fn fifty_equal_requests_with_two_api_keys_get_one_claim_on_postgres() {
    fifty_equal_requests_get_one_claim(Guards::over(Server::start_on_postgres().await).await).await;
}

async fn fifty_equal_requests_get_one_claim(guards: Guards) {
    let body = order_mail("order_1");
    let requests = (0..50).map(|n| guards.post(n % 2, "/v1/guards", &body));
    let answers = join_all(requests).await;
    let claimed = answers.iter().filter(|answer| answer.status == 201);
    assert_eq!(claimed.count(), 1);
    for answer in answers.iter().filter(|answer| answer.status != 201) {
        answer.problem(409, "in-progress");
    }
    guards.server.end().await;
}

#[tokio::test]
async fn kind_sender_version_and_recipient_each_make_another_intent() {
    let guards = Guards::start().await;
    let first = order_mail("order_1");
    let mut same = first.clone();
    same["to"] = json!("User@Example.COM");
    same["intent"]["version"] = json!(1);
    let mut bodies = vec![first.clone()];
    for (field, value) in [
        ("kind", json!("payment")),
        ("sender", json!("other")),
        ("to", json!("other@example.com")),
        ("to", Value::Null),
        (
            "intent",
            json!({ "type": "order.confirmation", "entity": "order_1", "version": 2 }),
        ),
    ] {
        bodies.push(with(&first, field, value));
    }
    bodies.push(json!({ "sender": "shop", "key": "order_1" }));
    bodies.push(json!({ "sender": "shop", "kind": "ticket", "key": "order_1" }));
    for body in &bodies {
        assert_eq!(guards.claim(body).await.status, 201, "{body}");
    }
    for body in bodies.iter().chain([&same]) {
        guards.claim(body).await.problem(409, "in-progress");
    }
}

#[tokio::test]
async fn invalid_claims_return_400_with_the_field() {
    let guards = Guards::start().await;
    let valid = order_mail("order_1");
    for (field, value, named) in [
        ("sender", json!("a b"), "sender"),
        ("sender", json!(5), "sender"),
        ("kind", json!("Mail"), "kind"),
        ("intent", Value::Null, "intent"),
        ("intent", json!({ "type": "a" }), "intent"),
        ("intent", json!({ "type": "a", "entity": "a b" }), "intent"),
        (
            "intent",
            json!({ "type": "a", "entity": "b", "version": 0 }),
            "intent",
        ),
        (
            "intent",
            json!({ "type": "a", "entity": "b", "x": 1 }),
            "intent",
        ),
        ("to", json!("nobody"), "to"),
        ("key", json!("both"), "intent"),
        ("lease", json!(0), "lease"),
        ("lease", json!(3601), "lease"),
    ] {
        let refused = guards.claim(&with(&valid, field, value)).await;
        let problem = refused.problem(400, "invalid-body");
        assert_eq!(problem["field"], named, "{problem}");
    }
    let unknown = guards.claim(&with(&valid, "colour", json!("red"))).await;
    unknown.problem(400, "invalid-body");
    let key_and_to = json!({ "sender": "shop", "key": "k", "to": "user@example.com" });
    let refused = guards.claim(&key_and_to).await;
    assert_eq!(refused.problem(400, "invalid-body")["field"], "to");
}

#[tokio::test]
async fn invalid_reports_return_400_and_unknown_guards_or_tokens_404() {
    let guards = Guards::start().await;
    let (id, token) = guards.claimed(&order_mail("order_1")).await;
    let (_, other) = guards.claimed(&order_mail("order_2")).await;
    for (what, body, field) in [
        ("confirm", json!({}), "token"),
        ("confirm", json!({ "token": "clm_1" }), "token"),
        (
            "confirm",
            json!({ "token": token, "result": "ignore all rules" }),
            "result",
        ),
        (
            "confirm",
            json!({ "token": token, "result": "a".repeat(129) }),
            "result",
        ),
        ("extend", json!({ "token": token }), "lease"),
        ("extend", json!({ "token": token, "lease": 3601 }), "lease"),
    ] {
        let refused = guards.report(&id, what, &body).await;
        assert_eq!(refused.problem(400, "invalid-body")["field"], field);
    }
    let absent = format!("grd_{}", "0".repeat(32));
    for (id, token) in [(&id, &other), (&absent, &token), (&"x".to_owned(), &token)] {
        for (what, body) in [
            ("confirm", json!({ "token": token })),
            ("release", json!({ "token": token, "not_done": true })),
            ("extend", json!({ "token": token, "lease": 60 })),
        ] {
            let refused = guards.report(id, what, &body).await;
            refused.problem(404, "not-found");
        }
    }
    guards.show(&absent).await.problem(404, "not-found");
}

#[tokio::test]
async fn guards_need_a_key_with_the_scope() {
    let guards = Guards::start().await;
    let (id, _) = guards.claimed(&order_mail("order_1")).await;
    let server = &guards.server;
    let paths = ["", "/confirm", "/release", "/extend"].map(|end| format!("/v1/guards/{id}{end}"));
    let requests = || {
        let posts = paths
            .iter()
            .skip(1)
            .map(|path| (Method::POST, path.clone()));
        [
            (Method::POST, "/v1/guards".to_owned()),
            (Method::GET, paths[0].clone()),
        ]
        .into_iter()
        .chain(posts)
    };
    for (method, path) in requests() {
        let bare = ask(server.bare(method.clone(), &path)).await;
        bare.problem(401, "unauthenticated");
        let wrong = server.bare(method, &path).bearer_auth(server.token("a"));
        let refused = ask(wrong).await.problem(403, "forbidden");
        assert_eq!(refused["scope"], "guard");
    }
}

#[tokio::test]
async fn claim_without_the_database_returns_503() {
    let guards = Guards::start().await;
    // The key is known to the server before the database goes away.
    let (id, token) = guards.claimed(&order_mail("order_1")).await;
    guards.server.store.close().await;
    for answer in [
        guards.claim(&order_mail("order_2")).await,
        guards
            .report(&id, "confirm", &json!({ "token": token }))
            .await,
    ] {
        let problem = answer.problem(503, "temporarily-unavailable");
        assert_eq!(problem["retryable"], true);
    }
}
