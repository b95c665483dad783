//! What a receiver of callbacks may do, and what it cannot.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pipeline::{AttemptId, Meters, NewAttempt, OutcomeLabel};
use prometheus_client::registry::Registry;
use testkit::patience::until;
use testkit::store_contract::attempt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
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

/// A server that answers nobody until it is let, and how many have asked it.
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

fn callbacks(desk: &Desk, url: &str) -> Result<Callbacks, CallbacksError> {
    patient_callbacks(desk, url, Receiver::PATIENCE)
}

fn patient_callbacks(
    desk: &Desk,
    url: &str,
    patience: Duration,
) -> Result<Callbacks, CallbacksError> {
    let meters = Meters::register(&mut Registry::default());
    tellers(desk, [("flow", url, patience)], &meters)
}

fn tellers<const N: usize>(
    desk: &Desk,
    receivers: [(&str, &str, Duration); N],
    meters: &Meters,
) -> Result<Callbacks, CallbacksError> {
    let receivers = receivers.map(|(name, url, patience)| {
        let receiver = Receiver {
            url: url.parse().unwrap(),
            secret: SECRET.into(),
            patience,
        };
        (name.to_owned(), receiver)
    });
    Callbacks::new(
        Arc::clone(&desk.store.callbacks),
        BTreeMap::from(receivers),
        meters.clone(),
        Arc::default(),
    )
}

/// A desk at which a code has come for the callback `flow`.
async fn desk_with_a_code() -> Desk {
    let desk = Desk::open().await;
    bring(&desk, "flow", "1").await;
    desk
}

/// Brings a code for a callback.
async fn bring(desk: &Desk, callback: &str, number: &str) {
    let to = format!("agent{number}@inbox.test");
    let asked = NewAttempt {
        id: AttemptId::new(),
        callback: Some(callback.to_owned()),
        ..attempt(&to.parse().unwrap())
    };
    desk.store.attempts.open_attempt(asked).await.unwrap();
    let body = payload(&to, &otp_mail(number, "493817"));
    desk.record(number, &body).await;
    desk.work_until_idle().await;
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

/// The slow one answers when the other has been told, so if the other had to wait for
/// it both would wait in vain.
#[tokio::test]
async fn a_slow_receiver_holds_up_nobody_else() {
    let desk = Desk::open().await;
    for number in 0..20 {
        bring(&desk, "slow", &number.to_string()).await;
    }
    let (slow, gate, asked) = slow_server().await;
    let (quick, heard) = server(status("200 OK")).await;
    let most = Duration::from_secs(20);
    let receivers = [("slow", slow.as_str(), most), ("quick", &quick, most)];
    let meters = Meters::register(&mut Registry::default());
    let callbacks = tellers(&desk, receivers, &meters).unwrap();
    let stop = CancellationToken::new();
    let telling = callbacks.tell_forever(Duration::from_millis(20), stop.clone());
    let watching = async {
        let asks = async || (asked.load(Ordering::SeqCst) >= 8).then_some(());
        until("the slow one has enough to do", asks).await;
        bring(&desk, "quick", "20").await;
        let told = async || (heard.lock().unwrap().len() == 1).then_some(());
        until("the quick one is told", told).await;
        assert!(asked.load(Ordering::SeqCst) < 16);
        gate.notify_one();
        stop.cancel();
    };
    tokio::join!(telling, watching);
    // What was begun was finished, and nobody ran out of patience.
    let count = |word| {
        let label = OutcomeLabel::new("slow", word);
        usize::try_from(meters.callbacks.get_or_create(&label).get()).unwrap()
    };
    assert_eq!(
        (count("done"), count("again")),
        (asked.load(Ordering::SeqCst), 0)
    );
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
