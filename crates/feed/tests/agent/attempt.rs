//! Attempts over HTTP: opened, waited for, consumed once, and every failure explained.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use pipeline::{
    ArtifactKey, ArtifactKind, AttemptId, AttemptMatch, NewArtifact, Reason, SenderProof,
    ServerKey, Timestamp,
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::faulty_store::Counting;
use crate::harness::{Answer, Server, ask, code, open};
use crate::wait::server_with_failing_store;

impl Server {
    async fn post(&self, key: &str, path: &str, idempotency: &str, body: &Value) -> Answer {
        let request = self
            .bare(Method::POST, path)
            .bearer_auth(self.token(key))
            .header("Idempotency-Key", idempotency);
        ask(request.body(body.to_string())).await
    }

    async fn open(&self, key: &str, body: Value) -> Value {
        let request = self.bare(Method::POST, "/v1/attempts");
        let answer = ask(request.bearer_auth(self.token(key)).body(body.to_string())).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()
    }

    async fn consume_attempt(
        &self,
        attempt: &Value,
        key: &str,
        idempotency: &str,
        wait: u64,
    ) -> Answer {
        let path = format!("/v1/attempts/{}/consume", text(&attempt["id"]));
        self.post(key, &path, idempotency, &json!({ "wait": wait }))
            .await
    }

    /// Stores an artifact that is for an attempt.
    async fn store_for(&self, attempt: &Value, artifact: NewArtifact) -> String {
        let item = Self::suited(attempt, artifact);
        self.store_item(text(&attempt["inbox"]), item).await
    }

    fn suited(attempt: &Value, artifact: NewArtifact) -> NewArtifact {
        let id: AttemptId = text(&attempt["id"]).parse().unwrap();
        let key = ArtifactKey::for_attempt(
            &ServerKey::new([7; 32]),
            id,
            ArtifactKind::Code,
            &artifact.id.to_string(),
        );
        let matches = vec![AttemptMatch { attempt: id, key }];
        NewArtifact {
            matches,
            ..artifact
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn link(value: &str) -> NewArtifact {
    NewArtifact {
        kind: ArtifactKind::Link,
        host: Some("example.com".to_owned()),
        ..code(value)
    }
}

#[actix_web::test]
async fn consume_waits_for_the_code_and_returns_it() {
    let server = Server::start().await;
    let attempt = server.open("a", json!({})).await;
    assert!(
        text(&attempt["inbox"]).ends_with("@inbox.test"),
        "{attempt}"
    );
    assert_eq!(attempt["state"], "pending");
    let (answer, _) = tokio::join!(server.consume_attempt(&attempt, "a", "k1", 30), async {
        while server.meters.waiting.get() == 0 {
            tokio::task::yield_now().await;
        }
        server.store_for(&attempt, code("493817")).await
    });
    assert_eq!(answer.status, 200);
    let body = answer.json();
    assert_eq!(body["value"], "493817");
    assert_eq!(body["state"], "consumed");
    // The same request gets the value again; another consumer does not.
    let again = server.consume_attempt(&attempt, "a", "k1", 0).await;
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(again.json()["value"], "493817");
    let other = server.consume_attempt(&attempt, "b", "k1", 0).await;
    assert!(
        !other
            .problem(409, "already-consumed")
            .to_string()
            .contains("493817")
    );
}

#[actix_web::test]
async fn consume_says_whether_the_sender_is_proven() {
    let server = Server::start().await;
    let no_signature = SenderProof::Missing(Reason::new("no_signature"));
    for (proof, word) in [
        (SenderProof::Dkim, "dkim"),
        (SenderProof::Provider, "provider"),
        (no_signature, "no_signature"),
    ] {
        for wish in [
            json!({}),
            json!({ "kind": "link", "links": ["example.com"], "token": "t" }),
        ] {
            let attempt = server.open("a", wish).await;
            let artifact = match attempt["kind"].as_str() {
                Some("link") => link("https://example.com/v?t=abcdef-123"),
                _ => code("493817"),
            };
            let (inbox, item) = (text(&attempt["inbox"]), Server::suited(&attempt, artifact));
            server.store_proven(inbox, item, proof.clone()).await;
            let key = text(&attempt["id"]);
            let first = server.consume_attempt(&attempt, "a", key, 0).await;
            let body = first.json();
            assert_eq!(body["state"], "consumed", "{body}");
            assert_eq!(body["sender_verified"], proof.holds());
            assert_eq!(body["sender_proof"], word);
            assert_eq!(body.as_object().unwrap().len(), 8);
            let again = server.consume_attempt(&attempt, "a", key, 0).await;
            assert_eq!(again.text, first.text);
        }
    }
}

#[actix_web::test]
async fn consume_without_mail_returns_200_with_the_next_step() {
    let server = Server::start().await;
    let attempt = server.open("a", json!({})).await;
    let answer = server.consume_attempt(&attempt, "a", "k1", 1).await;
    assert_eq!(answer.status, 200);
    let body = answer.json();
    assert_eq!(body["state"], "pending");
    assert_eq!(body["next"], "wait");
    assert!(body.get("value").is_none());
    let brief = server.open("a", json!({ "deadline": 1 })).await;
    // The deadline of the attempt ends the wait before its timeout.
    let answer = server.consume_attempt(&brief, "a", "k2", 30).await;
    assert_eq!(answer.json()["state"], "nothing_arrived");
    assert_eq!(answer.json()["next"], "open");
}

#[actix_web::test]
async fn show_waits_for_a_change_and_returns_no_value() {
    let server = Server::start().await;
    let attempt = server.open("a", json!({})).await;
    let path = format!("/v1/attempts/{}?wait=30", text(&attempt["id"]));
    let (answer, _) = tokio::join!(server.read(&path), async {
        while server.meters.waiting.get() == 0 {
            tokio::task::yield_now().await;
        }
        server.store_for(&attempt, code("493817")).await
    });
    let body = answer.json();
    assert_eq!(body["state"], "ready");
    assert_eq!(body["next"], "consume");
    assert!(!answer.text.contains("493817"), "{body}");
}

#[actix_web::test]
async fn token_attempt_returns_the_token_without_the_link() {
    let server = Server::start().await;
    let request_body = json!({ "kind": "link", "links": ["example.com"], "token": "t" });
    let attempt = server.open("a", request_body).await;
    server
        .store_for(&attempt, link("https://example.com/v?t=abcdef-123"))
        .await;
    let answer = server.consume_attempt(&attempt, "a", "k1", 0).await;
    assert_eq!(answer.json()["token"], "abcdef-123");
    assert!(!answer.text.contains("example.com"), "{answer:?}");
}

#[actix_web::test]
async fn same_reference_returns_the_same_attempt() {
    let server = Server::start().await;
    let request_body = json!({ "reference": "signup-7" });
    let first = server.open("a", request_body.clone()).await;
    let again = server.post("a", "/v1/attempts", "k", &request_body).await;
    assert_eq!(again.status, 200);
    assert_eq!(again.json()["id"], first["id"]);
    assert_eq!(again.json()["inbox"], first["inbox"]);
    let other = json!({ "reference": "signup-7", "kind": "link" });
    let answer = server.post("a", "/v1/attempts", "k", &other).await;
    answer.problem(422, "idempotency-key-reused");
    // Another caller may use the same reference.
    let foreign = server.open("b", request_body).await;
    assert_ne!(foreign["id"], first["id"]);
}

#[actix_web::test]
async fn repeated_request_moves_the_end_of_an_attempt_with_a_heartbeat() {
    let server = Server::start().await;
    let asked = json!({ "reference": "signup-7", "deadline": 600, "heartbeat": 5 });
    let opened = server.open("a", asked.clone()).await;
    let brief = json!({ "reference": "signup-8", "deadline": 5 });
    let brief = server.open("a", brief).await;
    // Both end five seconds after they were opened.
    assert!(text(&opened["deadline"]) <= text(&brief["deadline"]));
    testkit::wait::until("the end has moved", async || {
        let answer = server.post("a", "/v1/attempts", "k", &asked).await;
        assert_eq!(answer.status, 200);
        let renewed = answer.json();
        assert_eq!(renewed["id"], opened["id"]);
        (text(&renewed["deadline"]) > text(&brief["deadline"])).then_some(())
    })
    .await;
}

#[actix_web::test]
async fn invalid_attempt_fields_return_400_and_are_not_echoed() {
    let server = Server::start().await;
    for request_body in [
        json!({ "kind": "number" }),
        json!({ "deadline": 0 }),
        json!({ "deadline": 90_000 }),
        json!({ "deadline": -1 }),
        json!({ "resends": 11 }),
        json!({ "heartbeat": 4, "reference": "r" }),
        json!({ "heartbeat": 90_000, "reference": "r" }),
        json!({ "heartbeat": 5 }),
        json!({ "from": ["not a domain canary"] }),
        json!({ "from": ["localhost"] }),
        json!({ "inbox": "canary" }),
        json!({ "reference": "a canary" }),
        json!({ "token": "t" }),
        json!({ "expect": "digits" }),
        json!({ "expect": { "digits": 2 } }),
        json!({ "expect": { "digits": 33 } }),
        json!({ "expect": { "words": 6 } }),
        json!({ "expect": { "digits": 6, "letters": 6 } }),
        json!({ "kind": "link", "expect": { "digits": 6 } }),
        json!({ "earlier": true, "inbox": "x@inbox.test", "expect": { "digits": 6 } }),
        json!({ "kind": "link", "token": "a canary" }),
        json!({ "callback": "canary" }),
        json!({ "earlier": true }),
        json!({ "earlier": true, "inbox": "x@inbox.test", "links": ["example.com"] }),
        json!({ "earlier": true, "inbox": "x@inbox.test", "kind": "link", "token": "t" }),
        json!({ "canary": 1 }),
        json!(["canary"]),
    ] {
        let answer = server.post("a", "/v1/attempts", "k", &request_body).await;
        let problem = answer.problem(400, "invalid-body");
        assert!(!problem.to_string().contains("canary"), "{request_body}");
    }
}

#[actix_web::test]
async fn attempt_of_another_key_returns_404() {
    let server = Server::start().await;
    let attempt = server.open("a", json!({})).await;
    let id = text(&attempt["id"]).to_owned();
    let look = server
        .read_as("narrow", &format!("/v1/attempts/{id}"))
        .await;
    look.problem(404, "not-found");
    server
        .consume_attempt(&attempt, "narrow", "k", 0)
        .await
        .problem(404, "not-found");
    for (verb, body) in [
        ("resend", json!({})),
        ("finish", json!({ "outcome": "failed" })),
    ] {
        let path = format!("/v1/attempts/{id}/{verb}");
        server
            .post("narrow", &path, "k", &body)
            .await
            .problem(404, "not-found");
    }
    let request_body = json!({ "inbox": attempt["inbox"] });
    server
        .post("narrow", "/v1/attempts", "k", &request_body)
        .await
        .problem(404, "not-found");
    // Its own attempt, at its own address, is visible.
    let own = server.open("narrow", json!({})).await;
    let path = format!("/v1/attempts/{}", text(&own["id"]));
    assert_eq!(server.read_as("narrow", &path).await.status, 200);
    let feed = format!("/v1/inboxes/{}/artifacts", text(&own["inbox"]));
    assert_eq!(server.read_as("narrow", &feed).await.status, 200);
}

#[actix_web::test]
async fn resends_are_limited_and_end_with_the_attempt() {
    let server = Server::start().await;
    let attempt = server.open("a", json!({ "resends": 1 })).await;
    let path = |verb: &str| format!("/v1/attempts/{}/{verb}", text(&attempt["id"]));
    let granted = server.post("a", &path("resend"), "r1", &json!({})).await;
    assert_eq!(granted.json()["resends_left"], 0);
    let spent = server.post("a", &path("resend"), "r2", &json!({})).await;
    spent.problem(409, "resends-spent");
    let outcome = json!({ "outcome": "succeeded" });
    for _ in 0..2 {
        let done = server.post("a", &path("finish"), "f", &outcome).await;
        assert_eq!(done.json()["outcome"], "succeeded");
    }
    let other = json!({ "outcome": "failed" });
    server
        .post("a", &path("finish"), "f2", &other)
        .await
        .problem(409, "attempt-over");
    server
        .post("a", &path("resend"), "r3", &json!({}))
        .await
        .problem(409, "attempt-over");
}

#[actix_web::test]
async fn superseded_artifact_returns_409() {
    let server = Server::start().await;
    let attempt = server.open("a", json!({})).await;
    let old = server.store_for(&attempt, code("111111")).await;
    server.store_for(&attempt, code("222222")).await;
    server
        .consume("a", &old, "k1")
        .await
        .problem(409, "superseded");
    let newest = server.consume_attempt(&attempt, "a", "k2", 0).await;
    assert_eq!(newest.json()["value"], "222222");
}

#[actix_web::test]
async fn pending_attempt_is_unhealthy_while_mail_is_unprocessed() {
    let server = Server::start().await;
    let attempt = server.open("a", json!({})).await;
    server.leave_unprocessed("waits").await;
    let path = format!("/v1/attempts/{}", text(&attempt["id"]));
    testkit::wait::until("the delivery is overdue", async || {
        let body = server.read(&path).await.json();
        (body["state"] == "unhealthy").then(|| assert_eq!(body["component"], "worker"))
    })
    .await;
}

#[actix_web::test]
async fn mail_that_is_not_due_makes_no_attempt_unhealthy() {
    let server = Server::start().await;
    let attempt = server.open("a", json!({})).await;
    let delivery = server.leave_unprocessed("retried later").await;
    server.retry_later(delivery).await;
    // Older than the limit of this server, and longer than a backlog is cached.
    testkit::wait::until("the delivery is old", async || {
        let backlog = server.store.deliveries.backlog().await.unwrap();
        (backlog.oldest > Duration::from_millis(1500)).then_some(())
    })
    .await;
    let path = format!("/v1/attempts/{}", text(&attempt["id"]));
    assert_eq!(server.read(&path).await.json()["state"], "pending");
}

#[actix_web::test]
async fn nothing_arrived_only_after_all_mail_from_before_the_deadline_is_processed() {
    let server = Server::start().await;
    let waits = server.leave_unprocessed("waits").await;
    let attempt = server.open("a", json!({ "deadline": 1 })).await;
    let path = format!("/v1/attempts/{}", text(&attempt["id"]));
    let deadline = text(&attempt["deadline"]).parse::<Timestamp>().unwrap();
    testkit::wait::until("the deadline has passed", async || {
        let backlog = server.store.deliveries.backlog().await.unwrap();
        (backlog.at > deadline).then_some(())
    })
    .await;
    let body = server.read(&path).await.json();
    assert_eq!(body["state"], "unhealthy", "{body}");
    assert_eq!(body["next"], "tell_operator");
    server.process(waits).await;
    let state = async |path: &str| server.read(path).await.json()["state"].clone();
    testkit::wait::until("the backlog is gone", async || {
        (state(&path).await == "nothing_arrived").then_some(())
    })
    .await;
    // Mail that arrived after the deadline does not matter.
    server.leave_unprocessed("later").await;
    let other = server.open("a", json!({})).await;
    let other = format!("/v1/attempts/{}", text(&other["id"]));
    testkit::wait::until("the later one is noticed", async || {
        (state(&other).await == "unhealthy").then_some(())
    })
    .await;
    assert_eq!(state(&path).await, "nothing_arrived");
}

#[actix_web::test]
async fn backlog_is_read_at_most_once_a_second() {
    let (dir, mut store) = open().await;
    let counting = Counting::over(&store);
    store.deliveries = Arc::<Counting>::clone(&counting);
    let server = Server::start_over(dir, store);
    let attempt = server.open("a", json!({})).await;
    let path = format!("/v1/attempts/{}", text(&attempt["id"]));
    let begun = Instant::now();
    for _ in 0..5 {
        join_all((0..20).map(|_| server.read(&path))).await;
    }
    let most = 2 + usize::try_from(begun.elapsed().as_secs()).unwrap();
    let asked = counting.backlogs.load(Ordering::SeqCst);
    assert!((1..=most).contains(&asked), "{asked}");
}

#[actix_web::test]
async fn attempt_wait_survives_a_short_store_outage() {
    let (server, database) = server_with_failing_store().await;
    let attempt = server.open("a", json!({})).await;
    let (answer, _) = tokio::join!(server.consume_attempt(&attempt, "a", "k1", 50), async {
        database.read_times(2).await;
        database.fail(2);
        server.store_for(&attempt, code("493817")).await
    });
    assert_eq!(answer.json()["value"], "493817", "{answer:?}");
    assert!(database.has_recovered());
}

#[actix_web::test]
async fn inbox_is_created_listed_rotated_and_ended() {
    let server = Server::start().await;
    let request_body = json!({ "from": ["Example.com"], "links": ["*.example.com"], "code_lifetime": 60,
                       "metadata": { "run": 7 } });
    let made = server
        .post("narrow", "/v1/inboxes", "k", &request_body)
        .await;
    assert_eq!(made.status, 201, "{made:?}");
    let made = made.json();
    assert_eq!(made["from"], json!(["example.com"]));
    assert_eq!(made["metadata"], json!({ "run": 7 }));
    let path = format!("/v1/inboxes/{}", text(&made["address"]));
    server.read_as("b", &path).await;
    let rotated = server
        .post("narrow", &format!("{path}/rotate"), "k", &json!({}))
        .await;
    let rotated = rotated.json();
    assert_ne!(rotated["address"], made["address"]);
    assert_eq!(rotated["links"], made["links"]);
    assert_eq!(
        server.read_as("narrow", &path).await.json()["state"],
        "expired"
    );
    let fresh = format!("/v1/inboxes/{}", text(&rotated["address"]));
    let delete = server
        .bare(Method::DELETE, &fresh)
        .bearer_auth(server.token("narrow"));
    assert_eq!(ask(delete).await.json()["state"], "expired");
    let all = server.read_as("narrow", "/v1/inboxes").await.json();
    assert_eq!(all["items"].as_array().unwrap().len(), 2);
    // Only a key that sees every inbox may choose an address.
    let chosen = json!({ "address": "chosen@inbox.test" });
    server
        .post("narrow", "/v1/inboxes", "k", &chosen)
        .await
        .problem(400, "invalid-body");
    assert_eq!(
        server.post("a", "/v1/inboxes", "k", &chosen).await.status,
        201
    );
    server
        .post("b", "/v1/inboxes", "k", &chosen)
        .await
        .problem(409, "inbox-taken");
    server
        .read_as("narrow", "/v1/inboxes/chosen@inbox.test")
        .await
        .problem(404, "not-found");
}

#[actix_web::test]
async fn generated_addresses_differ() {
    let server = Server::start().await;
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..10 {
        let attempt = server.open("a", json!({})).await;
        assert!(seen.insert(text(&attempt["inbox"]).to_owned()));
    }
}

#[actix_web::test]
async fn unknown_method_returns_405_with_the_allowed_methods() {
    let server = Server::start().await;
    for (path, allowed) in [
        ("/v1/attempts", "POST"),
        ("/v1/inboxes", "GET, POST"),
        ("/v1/inboxes/agent@inbox.test", "GET, DELETE"),
    ] {
        let request = server.bare(Method::PATCH, path);
        let answer = ask(request.bearer_auth(server.token("a"))).await;
        answer.problem(405, "method-not-allowed");
        assert_eq!(answer.header("allow"), Some(allowed), "{path}");
    }
}
