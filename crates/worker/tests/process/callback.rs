//! What a receiver of callbacks may do, and what it cannot.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pipeline::{AttemptId, Meters, NewAttempt};
use prometheus_client::registry::Registry;
use testkit::store_contract::attempt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use worker::{Callbacks, CallbacksError, Receiver};

use crate::desk::{Desk, otp_mail, payload};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A server that answers everything the same way, and what it was sent.
async fn server(answer: String) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/flow", listener.local_addr().unwrap());
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let posts = Arc::clone(&heard);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut bytes = vec![0; 8192];
            let count = stream.read(&mut bytes).await.unwrap_or(0);
            bytes.truncate(count);
            posts
                .lock()
                .unwrap()
                .push(String::from_utf8(bytes).unwrap());
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (url, heard)
}

fn callbacks(desk: &Desk, url: &str) -> Result<Callbacks, CallbacksError> {
    patient_callbacks(desk, url, Receiver::PATIENCE)
}

fn patient_callbacks(
    desk: &Desk,
    url: &str,
    patience: Duration,
) -> Result<Callbacks, CallbacksError> {
    let receiver = Receiver {
        url: url.parse().unwrap(),
        secret: SECRET.into(),
        patience,
    };
    let receivers = BTreeMap::from([("flow".to_owned(), receiver)]);
    let meters = Meters::register(&mut Registry::default());
    Callbacks::new(
        Arc::clone(&desk.store.callbacks),
        receivers,
        meters,
        Arc::default(),
    )
}

/// A desk at which a code has come for the callback `flow`.
async fn desk_with_a_code() -> Desk {
    let desk = Desk::open().await;
    let asked = NewAttempt {
        id: AttemptId::new(),
        callback: Some("flow".to_owned()),
        ..attempt(&"agent@inbox.test".parse().unwrap())
    };
    desk.store.attempts.open_attempt(asked).await.unwrap();
    let body = payload("agent@inbox.test", &otp_mail("1", "493817"));
    desk.record("one", &body).await;
    desk.work_until_idle().await;
    desk
}

fn status(line: &str) -> String {
    format!("HTTP/1.1 {line}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let desk = desk_with_a_code().await;
    let (lure, lured) = server(status("200 OK")).await;
    // The one that a client would repeat the post for.
    let moved = format!("307 Temporary Redirect\r\nlocation: {lure}");
    let (url, heard) = server(status(&moved)).await;
    let callbacks = callbacks(&desk, &url).unwrap();
    assert_eq!(callbacks.tell_due().await, 1);
    assert_eq!(heard.lock().unwrap().len(), 1);
    assert_eq!(*lured.lock().unwrap(), Vec::<String>::new());
    assert_eq!(desk.store.callbacks.dead_callbacks(10).await.unwrap(), []);
}

#[tokio::test]
async fn a_receiver_that_is_gone_is_not_told_again() {
    let desk = desk_with_a_code().await;
    let (url, heard) = server(status("410 Gone")).await;
    let callbacks = callbacks(&desk, &url).unwrap();
    assert_eq!(callbacks.tell_due().await, 1);
    assert_eq!(callbacks.tell_due().await, 0);
    assert_eq!(heard.lock().unwrap().len(), 1);
    let dead = desk.store.callbacks.dead_callbacks(10).await.unwrap();
    assert_eq!(dead[0].reason.as_str(), "gone");
}

/// A try that takes longer than its claim holds would be told by two at once.
#[tokio::test]
async fn no_try_outlasts_its_claim() {
    let desk = Desk::open().await;
    let url = "https://hooks.example.com/flow";
    for unfit in [Duration::ZERO, Duration::from_secs(21), Duration::MAX] {
        let error = patient_callbacks(&desk, url, unfit).unwrap_err();
        assert!(matches!(error, CallbacksError::Patience(_)), "{error:?}");
    }
    patient_callbacks(&desk, url, Duration::from_secs(20)).unwrap();
}

#[tokio::test]
async fn values_go_to_no_other_machine_in_clear() {
    let desk = Desk::open().await;
    let error = callbacks(&desk, "http://hooks.example.com/flow").unwrap_err();
    assert!(matches!(error, CallbacksError::Url(_)), "{error:?}");
    callbacks(&desk, "https://hooks.example.com/flow").unwrap();
}
