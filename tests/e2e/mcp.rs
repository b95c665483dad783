//! The Model Context Protocol with real processes: over standard input and output, and
//! over HTTP.

mod proxied;
mod sending;
mod session;

use std::time::Duration;

use futures_util::future::join_all;
use maillatch::deployment::Role;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use testkit::proxy::Proxy;
use tokio::time::{Instant, sleep, timeout};

use crate::harness::{Harness, TIMEOUT, on_both_profiles, otp_delivery, payload};
use session::{CARRIERS, Carrier, STATELESS, Session};

on_both_profiles!(
    code_and_link_are_given_once_and_finished,
    each_miss_says_what_to_do_next,
    explain_names_no_message_of_another_attempt,
    wait_that_was_cut_consumes_nothing_and_its_repetition_gets_the_code,
    fifty_repeated_waits_disclose_one_value_once,
    resend_is_counted_once_and_the_newer_code_is_given,
);

const TOOLS: [&str; 6] = [
    "start_attempt",
    "wait_for_code",
    "wait_for_link",
    "request_resend",
    "explain_attempt",
    "finish_attempt",
];

impl Harness {
    async fn mcp(&self, carrier: Carrier) -> Session {
        Session::begin(carrier, self.agent(), "2025-11-25").await
    }

    /// The second consumer.
    async fn other_mcp(&self, carrier: Carrier) -> Session {
        let url = self.deployment.url(Role::Feed, 1).unwrap().to_string();
        let key = self.deployment.key(1).expose_secret().to_owned();
        Session::begin(carrier, (url, key), "2025-11-25").await
    }

    async fn post_code(&self, started: &Value, id: &str, code: &str) {
        let mail = otp_delivery(text(&started["address"]), id, code);
        assert_eq!(self.post_until_accepted(0, id, &mail).await.status, 200);
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value}"))
}

/// How soon a server notices that a client has hung up, on a busy machine.
const NOTICED: Duration = Duration::from_secs(15);

/// A new reference.
fn fresh() -> String {
    uuid::Uuid::now_v7().to_string()
}

async fn start(session: &Session, mut wish: Value) -> Value {
    wish["reference"] = json!(fresh());
    let started = session.call("start_attempt", wish).await;
    assert_eq!(started["status"], "pending", "{started}");
    started
}

async fn wait(session: &Session, started: &Value, seconds: u64) -> Value {
    let arguments = json!({ "attempt_id": started["attempt_id"], "timeout_s": seconds });
    session.call("wait_for_code", arguments).await
}

#[tokio::test(flavor = "multi_thread")]
async fn six_tools_are_listed_in_every_revision() {
    let harness = Harness::embedded().await;
    for carrier in CARRIERS {
        for revision in ["2025-06-18", "2025-11-25", STATELESS] {
            let session = Session::begin(carrier, harness.agent(), revision).await;
            let answer = session.ask("tools/list", json!({})).await;
            let tools = answer["result"]["tools"].as_array();
            let tools = tools.unwrap_or_else(|| panic!("{carrier:?} {revision}: {answer}"));
            let names: Vec<&str> = tools.iter().map(|tool| text(&tool["name"])).collect();
            assert_eq!(names, TOOLS, "{carrier:?} {revision}");
            for tool in tools {
                assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
                assert_eq!(tool["outputSchema"]["type"], "object", "{tool}");
                assert_eq!(tool["annotations"]["openWorldHint"], false, "{tool}");
            }
            let started = start(&session, json!({})).await;
            assert_eq!(wait(&session, &started, 0).await["status"], "pending");
        }
        let session = Session::begin(carrier, harness.agent(), STATELESS).await;
        let found = session.ask("server/discover", json!({})).await;
        let revisions = found["result"]["supportedVersions"].as_array().unwrap();
        assert!(revisions.contains(&json!(STATELESS)), "{found}");
    }
    harness.end().await;
}

async fn code_and_link_are_given_once_and_finished(harness: Harness) {
    for carrier in CARRIERS {
        let session = harness.mcp(carrier).await;
        let started = start(&session, json!({ "from": ["example.com"] })).await;
        let id = fresh();
        let posted = harness.post_code(&started, &id, "493817");
        let (found, ()) = tokio::join!(wait(&session, &started, 50), posted);
        assert_eq!(found["status"], "found", "{found}");
        assert_eq!(found["code"], "493817");
        assert_eq!(found["sender_verified"], false, "{found}");
        assert_eq!(found["sender_proof"], "no_signature", "{found}");
        assert_eq!(wait(&session, &started, 0).await, found);

        let arguments = json!({ "attempt_id": started["attempt_id"] });
        let told = session.call("explain_attempt", arguments.clone()).await;
        assert_eq!(told["status"], "consumed", "{told}");
        assert_eq!(told["arrived"]["sender_domain"], "example.com");

        let mut ending = arguments;
        ending["outcome"] = json!("succeeded");
        for _ in 0..2 {
            let ended = session.call("finish_attempt", ending.clone()).await;
            assert_eq!(ended["status"], "finished", "{ended}");
        }
        ending["outcome"] = json!("failed");
        let ended = session.call("finish_attempt", ending).await;
        assert_eq!(ended["status"], "finished_before", "{ended}");

        let wish = json!({ "kind": "link", "link_hosts": ["shop.example.org"] });
        let started = start(&session, wish).await;
        let link = "https://shop.example.org/verify?token=abcdefghijklmnopqrstuvwxyz0123456789";
        let mail = format!(
            "From: Shop <no-reply@shop.example.org>\r\nMessage-ID: <{}@shop.example.org>\r\n\
             Subject: Verify your email\r\nContent-Type: text/html\r\n\r\n\
             <p>Confirm your address:</p><a href=\"{link}\">Verify email</a>\r\n",
            fresh()
        );
        let body = payload(text(&started["address"]), mail.as_bytes());
        harness.post_until_accepted(0, &fresh(), &body).await;
        let arguments = json!({ "attempt_id": started["attempt_id"], "timeout_s": 50 });
        let found = session.call("wait_for_link", arguments).await;
        assert_eq!(found["url"], link, "{found}");
    }
    let logs = harness.deployment.logs().unwrap();
    assert!(!logs.contains("493817") && !logs.contains("abcdefghij"));
    harness.end().await;
}

async fn each_miss_says_what_to_do_next(harness: Harness) {
    for carrier in CARRIERS {
        let session = harness.mcp(carrier).await;
        let miss = async |started: &Value, status: &str, next: &str| {
            let deadline = Instant::now() + TIMEOUT;
            loop {
                let told = wait(&session, started, 0).await;
                if told["status"] == status {
                    assert!(text(&told["next"]).contains(next), "{told}");
                    return told;
                }
                assert!(Instant::now() < deadline, "{status}: {told}");
                sleep(Duration::from_millis(50)).await;
            }
        };
        let pending = start(&session, json!({})).await;
        miss(&pending, "pending", "call wait_for_code again").await;

        let blocked = start(&session, json!({ "from": ["other.test"] })).await;
        harness.post_code(&blocked, &fresh(), "111111").await;
        let told = miss(&blocked, "blocked", "start_attempt").await;
        assert_eq!(told["reason"], "sender_not_allowed");
        assert_eq!(told["seen"], "example.com");
        assert!(text(&told["next"]).contains("in `from`"), "{told}");

        let empty = start(&session, json!({})).await;
        let mail = b"From: a@example.com\r\nSubject: Hello\r\n\r\nSee you tomorrow.\r\n";
        let body = payload(text(&empty["address"]), mail);
        harness.post_until_accepted(0, &fresh(), &body).await;
        miss(&empty, "no_artifact", "request_resend").await;

        let short = start(&session, json!({ "expires_in_s": 1 })).await;
        miss(&short, "nothing_arrived", "start_attempt").await;

        let ended = start(&session, json!({})).await;
        let ending = json!({ "attempt_id": ended["attempt_id"], "outcome": "abandoned" });
        session.call("finish_attempt", ending).await;
        let told = miss(&ended, "expired", "start_attempt").await;
        assert_eq!(told["reason"], "finished");

        let link = start(&session, json!({ "kind": "link" })).await;
        miss(&link, "other_kind", "wait_for_link").await;

        let taken = start(&session, json!({})).await;
        harness.post_code(&taken, &fresh(), "222222").await;
        let other = harness.other_mcp(carrier).await;
        assert_eq!(wait(&other, &taken, 50).await["code"], "222222");
        miss(&taken, "already_consumed", "request_resend").await;

        let unknown = json!({ "attempt_id": "att_0190" });
        miss(&unknown, "not_found", "start_attempt").await;
        let wrong = session.call("wait_for_code", json!({ "id": 1 })).await;
        assert_eq!(wrong["status"], "invalid");
        assert!(text(&wrong["next"]).contains("`id`"), "{wrong}");
        let wish = json!({ "reference": fresh(), "expires_in_s": 0 });
        let wrong = session.call("start_attempt", wish).await;
        assert_eq!(wrong["status"], "invalid");
        assert!(text(&wrong["next"]).contains("expires_in_s"), "{wrong}");
    }
    harness.end().await;
}

/// An address that other people used before, and use for attempts of their own.
async fn explain_names_no_message_of_another_attempt(harness: Harness) {
    for carrier in CARRIERS {
        let session = harness.mcp(carrier).await;
        let address = format!("shared-{}@inbox.test", fresh());
        let question = async |seen: usize| {
            let id = fresh();
            let mail = format!(
                "From: user@example.com\r\nMessage-ID: <{id}@example.com>\r\n\
                 Subject: Where is it?\r\n\r\nWhere is my order {id}?\r\n"
            );
            let body = payload(&address, mail.as_bytes());
            harness.post_until_accepted(0, &id, &body).await;
            harness.until_items(&address, seen).await;
        };
        let explain = async |started: &Value| {
            let arguments = json!({ "attempt_id": started["attempt_id"] });
            session.call("explain_attempt", arguments).await["message_id"].clone()
        };
        question(1).await;
        let mine = start(&session, json!({ "address": address })).await;
        assert_eq!(
            explain(&mine).await,
            Value::Null,
            "it came before the attempt"
        );

        harness.post_code(&mine, &fresh(), "493817").await;
        harness.until_items(&address, 2).await;
        let other = start(&session, json!({ "address": address })).await;
        assert_eq!(
            explain(&other).await,
            Value::Null,
            "it is for the other attempt"
        );
        assert!(explain(&mine).await.is_string());

        question(3).await;
        let asked = explain(&other).await;
        assert!(asked.is_string(), "{asked}");
        assert_ne!(asked, explain(&mine).await);
    }
    harness.end().await;
}

/// A wait is cut twice: before the mail arrives, and with its answer.
async fn wait_that_was_cut_consumes_nothing_and_its_repetition_gets_the_code(harness: Harness) {
    for carrier in CARRIERS {
        let mut session = harness.mcp(carrier).await;
        let started = start(&session, json!({})).await;
        {
            let cut = wait(&session, &started, 50);
            let cut = timeout(Duration::from_secs(3), cut).await;
            assert!(cut.is_err(), "{cut:?}");
        }
        session.kill().await;
        // A server that does not notice it in time consumes the mail, and no client gets the value.
        let _ = timeout(NOTICED, until_waiting(&harness, 0)).await;
        harness.post_code(&started, &fresh(), "493817").await;
        let attempt = json!({ "id": started["attempt_id"] });
        harness.until_state(&attempt, "ready").await;

        for _ in 0..2 {
            let again = harness.mcp(carrier).await;
            let found = wait(&again, &started, 50).await;
            assert_eq!(found["code"], "493817", "{found}");
        }
    }
    assert_eq!(harness.count("SELECT count(*) FROM consumes").await, 2);
    harness.end().await;
}

/// Waits until the first feed has this many waits open.
async fn until_waiting(harness: &Harness, wanted: usize) {
    let wanted = format!("maillatch_waiting {wanted}");
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let metrics = harness.metrics(Role::Feed).await;
        if metrics.lines().any(|line| line == wanted) {
            return;
        }
        assert!(Instant::now() < deadline, "never: {wanted}");
        sleep(Duration::from_millis(50)).await;
    }
}

async fn fifty_repeated_waits_disclose_one_value_once(harness: Harness) {
    for carrier in CARRIERS {
        let session = harness.mcp(carrier).await;
        let other = harness.other_mcp(carrier).await;
        let started = start(&session, json!({})).await;
        let all = join_all((0..50).map(|_| wait(&session, &started, 50)));
        let id = fresh();
        let (found, ()) = tokio::join!(all, harness.post_code(&started, &id, "493817"));
        for found in found {
            assert_eq!(found["code"], "493817", "{found}");
        }
        let late = wait(&other, &started, 0).await;
        assert_eq!(late["status"], "already_consumed", "{late}");
        assert_eq!(late.get("code"), None);
    }
    assert_eq!(harness.count("SELECT count(*) FROM consumes").await, 2);
    harness.end().await;
}

async fn resend_is_counted_once_and_the_newer_code_is_given(harness: Harness) {
    for carrier in CARRIERS {
        let session = harness.mcp(carrier).await;
        let started = start(&session, json!({})).await;
        assert_eq!(started["resends_left"], 3);
        harness.post_code(&started, &fresh(), "111111").await;
        assert_eq!(wait(&session, &started, 50).await["code"], "111111");

        let resend = async |number: u64| {
            let arguments = json!({ "attempt_id": started["attempt_id"], "number": number });
            session.call("request_resend", arguments).await
        };
        for _ in 0..2 {
            let granted = resend(1).await;
            assert_eq!(granted["allowed"], true, "{granted}");
            assert_eq!(granted["resends_left"], 2);
        }
        assert_eq!(wait(&session, &started, 0).await["status"], "pending");
        harness.post_code(&started, &fresh(), "222222").await;
        assert_eq!(wait(&session, &started, 50).await["code"], "222222");
        for number in [2, 3] {
            assert_eq!(resend(number).await["allowed"], true);
        }
        assert_eq!(resend(4).await["allowed"], false);
    }
    harness.end().await;
}

/// The server is unavailable in the middle of a wait, and the mail arrives meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn wait_goes_on_when_the_server_was_away() {
    let harness = Harness::embedded().await;
    let (url, key) = harness.agent();
    let server = url.trim_start_matches("http://").trim_end_matches('/');
    let proxy = Proxy::to(server).await;
    let agent = (format!("http://{}/", proxy.address()), key);
    let session = Session::begin(Carrier::Stdio, agent, "2025-11-25").await;
    let started = start(&session, json!({})).await;
    let outage = async {
        until_waiting(&harness, 1).await;
        proxy.cut();
        harness.post_code(&started, "d1", "493817").await;
        harness.until_items(text(&started["address"]), 1).await;
        proxy.heal();
        Instant::now()
    };
    let began = Instant::now();
    let (mut found, healed) = tokio::join!(wait(&session, &started, 50), outage);
    // On a busy machine the server may have been away until the end of the wait.
    if healed.duration_since(began) > Duration::from_secs(45) {
        found = wait(&session, &started, 50).await;
    }
    assert_eq!(found["code"], "493817", "{found}");
    harness.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_reported_when_it_is_asked_for() {
    let harness = Harness::embedded().await;
    let params = |started: &Value| {
        let arguments = json!({ "attempt_id": started["attempt_id"], "timeout_s": 7 });
        let meta = json!({ "progressToken": "p1" });
        json!({ "name": "wait_for_code", "arguments": arguments, "_meta": meta })
    };
    let stdio = harness.mcp(Carrier::Stdio).await;
    let started = start(&stdio, json!({})).await;
    let by_stdio = stdio.ask("tools/call", params(&started));
    let http = harness.mcp(Carrier::Http).await;
    let started = start(&http, json!({})).await;
    let message = json!({
        "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params(&started),
    });
    let (answer, (status, messages)) = tokio::join!(by_stdio, http.post(&message));
    assert_eq!(answer["result"]["structuredContent"]["status"], "pending");
    assert_eq!(status, 200);
    let told = stdio.notifications();
    for told in [told.first(), messages.first()] {
        let told = told.unwrap();
        assert_eq!(told["method"], "notifications/progress", "{told}");
        assert_eq!(told["params"]["progressToken"], "p1");
        assert_eq!(told["params"]["total"].as_f64(), Some(7.0));
    }
    let last = messages.last().unwrap();
    assert_eq!(last["result"]["structuredContent"]["status"], "pending");
    harness.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn http_needs_a_key_an_own_name_and_no_foreign_page() {
    let harness = Harness::embedded_with("server.hosts = [\"mail.example.com\"]").await;
    let (url, key) = harness.agent();
    let http = reqwest::Client::new();
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    let post = async |headers: &[(&str, &str)]| {
        let request = http
            .post(format!("{url}mcp"))
            .header("accept", "application/json, text/event-stream")
            .json(&list);
        let request = headers.iter().fold(request, |request, (name, value)| {
            request.header(*name, *value)
        });
        let answer = request.send().await.unwrap();
        assert_eq!(answer.headers()["cache-control"], "no-store");
        answer.status().as_u16()
    };
    let bearer = format!("Bearer {key}");
    let own = ("authorization", bearer.as_str());
    assert_eq!(post(&[own]).await, 200);
    assert_eq!(post(&[]).await, 401);
    assert_eq!(post(&[("authorization", "Bearer mlk_wrong")]).await, 401);
    assert_eq!(post(&[own, ("host", "mail.example.com")]).await, 200);
    assert_eq!(post(&[own, ("host", "evil.example")]).await, 421);
    assert_eq!(
        post(&[own, ("origin", "https://mail.example.com")]).await,
        200
    );
    assert_eq!(post(&[own, ("origin", "http://localhost:6274")]).await, 200);
    assert_eq!(post(&[own, ("origin", "https://evil.example")]).await, 403);
    assert_eq!(post(&[own, ("origin", "null")]).await, 403);
    assert_eq!(post(&[own, ("content-encoding", "gzip")]).await, 415);
    let got = http.get(format!("{url}mcp")).bearer_auth(&key);
    assert_eq!(got.send().await.unwrap().status(), 405);
    harness.end().await;
}

/// Even with every line of every library, no log holds a value that a tool returned.
#[tokio::test(flavor = "multi_thread")]
async fn log_at_trace_level_holds_no_value() {
    let filter = "log.filter = \"trace,rmcp=trace,rmcp::service=trace\"";
    let harness = Harness::embedded_with(filter).await;
    let session = harness.mcp(Carrier::Http).await;
    let started = start(&session, json!({})).await;
    harness.post_code(&started, "d1", "493817").await;
    assert_eq!(wait(&session, &started, 50).await["code"], "493817");
    let logs = harness.deployment.logs().unwrap();
    assert!(!logs.contains("493817"));
    assert!(!logs.contains(&harness.agent().1));
    harness.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn key_that_is_not_accepted_is_told_on_standard_output() {
    let harness = Harness::embedded().await;
    let (url, _) = harness.agent();
    let agent = (url, "mlk_wrong".to_owned());
    let session = Session::begin(Carrier::Stdio, agent, "2025-06-18").await;
    let told = session
        .call("start_attempt", json!({ "reference": "r1" }))
        .await;
    assert_eq!(told["status"], "unauthorized", "{told}");
    harness.end().await;
}
