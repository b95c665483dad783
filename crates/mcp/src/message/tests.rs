use std::collections::HashMap;
use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::{App, HttpResponse, HttpServer, web};
use client::Connection;
use secrecy::SecretString;
use serde_json::json;

use super::*;

const OPENED: &str = "2026-05-01T12:00:00.000Z";
const BEFORE: &str = "2026-05-01T11:59:59.999Z";
const DURING: &str = "2026-05-01T12:00:01.000Z";
const LATER: &str = "2026-05-01T12:00:02.000Z";
const DEADLINE: &str = "2026-05-01T12:10:00.000Z";

fn attempt(artifact: &Value) -> Attempt {
    Attempt {
        id: "att_mine".to_owned(),
        inbox: "agent@inbox.test".to_owned(),
        kind: "code".to_owned(),
        state: "pending".to_owned(),
        reason: None,
        seen: None,
        next: String::new(),
        hint: String::new(),
        component: None,
        outcome: None,
        resends_left: 3,
        opened_at: OPENED.to_owned(),
        deadline: DEADLINE.to_owned(),
        received_at: None,
        body: json!({ "artifact": artifact }),
    }
}

fn item(message: &str, attempt: Option<&str>, received_at: &str) -> Value {
    json!({
        "id": "art_1", "kind": "nothing", "state": "nothing", "rule": "none", "confidence": 0,
        "message": message, "attempt": attempt, "received_at": received_at,
        "expires_at": DEADLINE,
    })
}

/// A page, which the next one follows by its number.
fn page(next: usize, items: &[Value]) -> (StatusCode, Value) {
    let next = next.to_string();
    (
        StatusCode::OK,
        json!({ "items": items, "next_cursor": next }),
    )
}

/// What is named at a server that answers with these pages, and then with an empty one.
async fn named(attempt: &Attempt, pages: Vec<(StatusCode, Value)>) -> AttemptMessage {
    let pages = Arc::new(pages);
    let answers = move || {
        let pages = Arc::clone(&pages);
        let list = move |query: web::Query<HashMap<String, String>>| {
            let number: usize = query.get("after").map_or(0, |text| text.parse().unwrap());
            let (status, body) = pages.get(number).cloned().unwrap_or(page(number, &[]));
            async move { HttpResponse::build(status).json(body) }
        };
        App::new().route("/v1/inboxes/{inbox}/artifacts", web::get().to(list))
    };
    let server = HttpServer::new(answers)
        .workers(1)
        .disable_signals()
        .bind("127.0.0.1:0")
        .unwrap();
    let url = format!("http://{}", server.addrs()[0]).parse().unwrap();
    let server = server.run();
    let handle = server.handle();
    tokio::spawn(server);
    let key = SecretString::from("mlk_test");
    let client = Client::new(Connection { url, key }).unwrap();
    let named = message_of(&client, attempt).await;
    handle.stop(false).await;
    named
}

fn last(message: &str) -> AttemptMessage {
    AttemptMessage::Last(message.to_owned())
}

#[tokio::test]
async fn mail_before_the_attempt_after_it_and_of_another_is_not_named() {
    let others = [
        item("msg_before", None, BEFORE),
        item("msg_of_another", Some("att_other"), DURING),
        item("msg_after", None, DEADLINE),
    ];
    let told = named(&attempt(&Value::Null), vec![page(1, &others)]).await;
    assert_eq!(told, AttemptMessage::Nothing);
    let empty = named(&attempt(&Value::Null), Vec::new()).await;
    assert_eq!(empty, AttemptMessage::Nothing);
}

#[tokio::test]
async fn newest_own_message_of_several_pages_is_named() {
    let pages = vec![
        page(1, &[item("msg_before", None, BEFORE)]),
        page(2, &[item("msg_first", None, OPENED)]),
        page(3, &[item("msg_last", None, LATER)]),
        page(4, &[item("msg_read_late", None, DURING)]),
        page(5, &[item("msg_of_another", Some("att_other"), LATER)]),
    ];
    assert_eq!(named(&attempt(&Value::Null), pages).await, last("msg_last"));
}

#[tokio::test]
async fn message_that_was_given_to_the_attempt_is_named_whenever_it_came() {
    let pages = vec![page(1, &[item("msg_mine", Some("att_mine"), BEFORE)])];
    assert_eq!(named(&attempt(&Value::Null), pages).await, last("msg_mine"));
    let pages = vec![page(1, &[item("msg_question", None, LATER)])];
    let with_value = attempt(&json!({ "message": "msg_value" }));
    assert_eq!(named(&with_value, pages).await, last("msg_value"));
}

#[tokio::test]
async fn list_with_deleted_items_is_read_to_its_end() {
    let gap = json!({ "type": "urn:maillatch:problem:cursor-expired", "oldest": "2" });
    let pages = vec![
        page(1, &[item("msg_first", None, OPENED)]),
        (StatusCode::GONE, gap),
        page(3, &[item("msg_last", None, LATER)]),
    ];
    assert_eq!(named(&attempt(&Value::Null), pages).await, last("msg_last"));
}

#[tokio::test]
async fn list_that_cannot_be_read_to_its_end_names_nothing() {
    let own = item("msg_first", None, OPENED);
    let refused = (StatusCode::FORBIDDEN, json!({}));
    let pages = vec![page(1, &[own]), refused];
    let told = named(&attempt(&Value::Null), pages).await;
    assert_eq!(told, AttemptMessage::Unknown);
}
