//! Callbacks and what their receivers can do.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pipeline::{AttemptId, Meters, NewAttempt};
use prometheus_client::registry::Registry;
use testkit::store_contract::attempt;
use testkit::wait::until;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use worker::{Callbacks, CallbacksError, Receiver};

use crate::fixture::{Fixture, otp_mail, payload};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A server that gives every request the same answer; returns the requests it got.
async fn server(answer: String) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/flow", listener.local_addr().unwrap());
    let received: Arc<Mutex<Vec<String>>> = Arc::default();
    let posts = Arc::clone(&received);
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
    (url, received)
}

/// A server that answers nobody until it is released; counts the requests.
async fn slow_server() -> (String, Arc<Notify>, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/slow", listener.local_addr().unwrap());
    let (gate, asked): (Arc<Notify>, Arc<AtomicUsize>) = Default::default();
    let (closed, count) = (Arc::clone(&gate), Arc::clone(&asked));
    tokio::spawn(async move {
        let mut held = Vec::new();
        loop {
            tokio::select! {
                Ok((mut stream, _)) = listener.accept() => {
                    let _ = stream.read(&mut [0; 8192]).await;
                    count.fetch_add(1, Ordering::SeqCst);
                    held.push(stream);
                }
                () = closed.notified() => break,
            }
        }
        for mut stream in held {
            let _ = stream.write_all(status("200 OK").as_bytes()).await;
        }
    });
    (url, gate, asked)
}

fn callbacks(fixture: &Fixture, url: &str) -> Result<Callbacks, CallbacksError> {
    callbacks_with_timeout(fixture, url, Receiver::DEFAULT_TIMEOUT)
}

fn callbacks_with_timeout(
    fixture: &Fixture,
    url: &str,
    timeout: Duration,
) -> Result<Callbacks, CallbacksError> {
    let meters = Meters::register(&mut Registry::default());
    callbacks_to(fixture, [("flow", url, timeout)], &meters)
}

fn callbacks_to<const N: usize>(
    fixture: &Fixture,
    receivers: [(&str, &str, Duration); N],
    meters: &Meters,
) -> Result<Callbacks, CallbacksError> {
    let receivers = receivers.map(|(name, url, timeout)| {
        let receiver = Receiver {
            url: url.parse().unwrap(),
            secret: SECRET.into(),
            timeout,
        };
        (name.to_owned(), receiver)
    });
    Callbacks::new(
        Arc::clone(&fixture.store.callbacks),
        BTreeMap::from(receivers),
        meters.clone(),
        Arc::default(),
    )
}

/// A worker that has extracted a code for the callback `flow`.
async fn fixture_with_a_code() -> Fixture {
    let fixture = Fixture::open().await;
    process_code(&fixture, "flow", "1").await;
    fixture
}

/// Processes a mail with a code for a callback.
async fn process_code(fixture: &Fixture, callback: &str, number: &str) {
    let to = format!("agent{number}@inbox.test");
    let asked = NewAttempt {
        id: AttemptId::new(),
        callback: Some(callback.to_owned()),
        ..attempt(&to.parse().unwrap())
    };
    fixture.store.attempts.open_attempt(asked).await.unwrap();
    let body = payload(&to, &otp_mail(number, "493817"));
    fixture.record(number, &body).await;
    fixture.work_until_idle().await;
}

fn status(line: &str) -> String {
    format!("HTTP/1.1 {line}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}

#[tokio::test]
async fn callback_redirect_is_not_followed() {
    let fixture = fixture_with_a_code().await;
    let (other, followed) = server(status("200 OK")).await;
    // 307 asks the client to repeat the post.
    let moved = format!("307 Temporary Redirect\r\nlocation: {other}");
    let (url, received) = server(status(&moved)).await;
    let callbacks = callbacks(&fixture, &url).unwrap();
    assert_eq!(callbacks.post_due().await, 1);
    assert_eq!(received.lock().unwrap().len(), 1);
    assert_eq!(*followed.lock().unwrap(), Vec::<String>::new());
    assert_eq!(
        fixture.store.callbacks.dead_callbacks(10).await.unwrap(),
        []
    );
}

#[tokio::test]
async fn callback_receiver_answering_410_is_not_retried() {
    let fixture = fixture_with_a_code().await;
    let (url, received) = server(status("410 Gone")).await;
    let callbacks = callbacks(&fixture, &url).unwrap();
    assert_eq!(callbacks.post_due().await, 1);
    assert_eq!(callbacks.post_due().await, 0);
    assert_eq!(received.lock().unwrap().len(), 1);
    let dead = fixture.store.callbacks.dead_callbacks(10).await.unwrap();
    assert_eq!(dead[0].reason.as_str(), "gone");
}

/// The slow receiver answers only after the quick one got its post. If the quick one
/// had to wait for the slow one, the test would time out.
#[tokio::test]
async fn slow_callback_receiver_does_not_delay_another() {
    let fixture = Fixture::open().await;
    for number in 0..20 {
        process_code(&fixture, "slow", &number.to_string()).await;
    }
    let (slow, gate, asked) = slow_server().await;
    let (quick, received) = server(status("200 OK")).await;
    let most = Duration::from_secs(20);
    let receivers = [("slow", slow.as_str(), most), ("quick", &quick, most)];
    let meters = Meters::register(&mut Registry::default());
    let callbacks = callbacks_to(&fixture, receivers, &meters).unwrap();
    let stop = CancellationToken::new();
    let posting = callbacks.run(Duration::from_millis(20), stop.clone());
    let watching = async {
        let asks = async || (asked.load(Ordering::SeqCst) >= 8).then_some(());
        until("the slow receiver is at its limit", asks).await;
        process_code(&fixture, "quick", "20").await;
        let posted = async || (received.lock().unwrap().len() == 1).then_some(());
        until("the quick receiver gets its post", posted).await;
        assert!(asked.load(Ordering::SeqCst) < 16);
        gate.notify_one();
        stop.cancel();
    };
    tokio::join!(posting, watching);
    // Every post that was begun was finished, and none timed out.
    let count = |word| {
        let counter = meters.callbacks("slow", word);
        usize::try_from(counter.get()).unwrap()
    };
    assert_eq!(
        (count("done"), count("retry_later")),
        (asked.load(Ordering::SeqCst), 0)
    );
}

/// If a post could outlast its claim, two workers would post at the same time.
#[tokio::test]
async fn callback_timeout_must_fit_its_claim() {
    let fixture = Fixture::open().await;
    let url = "https://hooks.example.com/flow";
    for invalid in [Duration::ZERO, Duration::from_secs(21), Duration::MAX] {
        let error = callbacks_with_timeout(&fixture, url, invalid).unwrap_err();
        assert!(matches!(error, CallbacksError::Timeout(_)), "{error:?}");
    }
    callbacks_with_timeout(&fixture, url, Duration::from_secs(20)).unwrap();
}

#[tokio::test]
async fn callback_over_plain_http_to_another_host_is_refused() {
    let fixture = Fixture::open().await;
    let error = callbacks(&fixture, "http://hooks.example.com/flow").unwrap_err();
    assert!(matches!(error, CallbacksError::Url(_)), "{error:?}");
    callbacks(&fixture, "https://hooks.example.com/flow").unwrap();
}
