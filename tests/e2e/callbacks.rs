//! Callbacks: the value is consumed in the callback's name and posted until the receiver
//! accepts it, always with the same id and body.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Duration, Instant, sleep};

use crate::harness::{Harness, Role, TIMEOUT, otp_delivery};
use crate::openapi::assert_fits;

const SECRET: &str = "whsec_c2VjcmV0IG9mIHRoZSBlbmQtdG8tZW5kIHRlc3Rz";

/// What a receiver does with one post.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Manner {
    /// It answers with a failure.
    Fail,
    /// It answers 410 Gone.
    Leave,
    /// It does the work and closes the connection without an answer.
    Die,
    /// It does the work and never answers.
    Hang,
    /// It answers 200.
    Take,
}

/// One received post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Post {
    id: String,
    timestamp: String,
    signature: String,
    body: String,
}

/// A receiver with a preset behaviour for each post; after these it answers 200.
pub(crate) struct Receiver {
    url: String,
    posts: Arc<Mutex<Vec<Post>>>,
}

impl Receiver {
    pub(crate) async fn start(manners: &'static [Manner]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/flow", listener.local_addr().unwrap());
        let posts: Arc<Mutex<Vec<Post>>> = Arc::default();
        let seen = Arc::clone(&posts);
        tokio::spawn(async move {
            let mut hung = Vec::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let Some(post) = read(&mut stream).await else {
                    continue;
                };
                let count = {
                    let mut seen = seen.lock().unwrap();
                    seen.push(post);
                    seen.len()
                };
                let status = match manners.get(count - 1).unwrap_or(&Manner::Take) {
                    Manner::Fail => "500 Oops",
                    Manner::Leave => "410 Gone",
                    Manner::Die => continue,
                    Manner::Hang => {
                        hung.push(stream);
                        continue;
                    }
                    Manner::Take => "200 OK",
                };
                let answer =
                    format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        Self { url, posts }
    }

    fn posts(&self) -> Vec<Post> {
        self.posts.lock().unwrap().clone()
    }

    pub(crate) async fn until_posts(&self, count: usize) -> Vec<Post> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let posts = self.posts();
            if posts.len() >= count {
                return posts;
            }
            assert!(
                Instant::now() < deadline,
                "{} of {count} posts",
                posts.len()
            );
            sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) fn settings(&self) -> String {
        format!(
            "callback.flow.url = \"{}\"\ncallback.flow.secret = \"{SECRET}\"\n\
             callback.flow.timeout = \"3s\"\n",
            self.url
        )
    }
}

async fn read(stream: &mut TcpStream) -> Option<Post> {
    let mut bytes = Vec::new();
    loop {
        let mut chunk = [0; 4096];
        let count = stream
            .read(&mut chunk)
            .await
            .ok()
            .filter(|count| *count > 0)?;
        bytes.extend_from_slice(&chunk[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let header = |name: &str| {
            let mut lines = head.lines().filter_map(|line| line.split_once(": "));
            lines
                .find(|(key, _)| key.eq_ignore_ascii_case(name))
                .map(|(_, value)| value.to_owned())
        };
        if body.len() >= header("content-length")?.parse::<usize>().ok()? {
            return Some(Post {
                id: header("webhook-id")?,
                timestamp: header("webhook-timestamp")?,
                signature: header("webhook-signature")?,
                body: body.to_owned(),
            });
        }
    }
}

/// Whether a post has a valid Standard Webhooks signature.
fn is_signed(post: &Post) -> bool {
    let seconds: i64 = post.timestamp.parse().unwrap();
    let at = pipeline::Timestamp::from_millis(seconds * 1000);
    let signature = providers::sign(&SECRET.into(), &post.id, at, post.body.as_bytes());
    signature.unwrap() == post.signature
}

async fn callback_is_retried_until_accepted(harness: Harness, receiver: Receiver) {
    let attempt = harness.open(json!({ "callback": "flow" })).await;
    let inbox = attempt["inbox"].as_str().unwrap();
    harness
        .post(0, "d1", &otp_delivery(inbox, "m1", "493817"))
        .await;
    let posts = receiver.until_posts(4).await;
    // Failure, closed connection, timeout, success: one id, one body, each signed.
    for post in &posts {
        assert!(is_signed(post), "{post:?}");
        assert_eq!((&post.id, &post.body), (&posts[0].id, &posts[0].body));
    }
    let body: Value = serde_json::from_str(&posts[0].body).unwrap();
    assert_eq!(body["data"]["value"], "493817");
    assert_eq!(body["data"]["attempt"], attempt["id"]);
    let document = harness.get(Role::Feed, "openapi.json").await.body;
    let described = &document["webhooks"]["artifactConsumed"]["post"]["requestBody"];
    assert_fits(
        &document,
        &described["content"]["application/json"]["schema"],
        &body,
    );
    // Nobody else gets the value.
    let told = harness.until_state(&attempt, "consumed").await;
    let path = format!("/v1/attempts/{}/consume", attempt["id"].as_str().unwrap());
    let (status, refused) = harness.post_json(&path, "k1", &json!({})).await;
    assert_eq!(status, 409, "{refused}");
    let artifact = told["artifact"]["id"].as_str().unwrap();
    let answer = harness.consume(artifact, 1, "k2").await;
    assert_eq!(answer.status.as_u16(), 409);
    harness
        .until_count("SELECT count(*) FROM callbacks WHERE state = 'done'", 1)
        .await;
    // A 200 that the worker did not get in time is posted again, so there may be more
    // posts than four. But each is a counted try: nothing is posted after the end.
    let tries = harness.count("SELECT sum(tries) FROM callbacks").await;
    assert!(i64::try_from(receiver.posts().len()).unwrap() <= tries);
    harness.end().await;
}

const BAD_DAY: &[Manner] = &[Manner::Fail, Manner::Die, Manner::Hang];

#[tokio::test(flavor = "multi_thread")]
async fn callback_is_retried_until_accepted_embedded() {
    let receiver = Receiver::start(BAD_DAY).await;
    let harness = Harness::embedded_with(&receiver.settings()).await;
    callback_is_retried_until_accepted(harness, receiver).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn callback_is_retried_until_accepted_full() {
    let receiver = Receiver::start(BAD_DAY).await;
    let harness = Harness::full_with(&receiver.settings()).await;
    callback_is_retried_until_accepted(harness, receiver).await;
}

/// The receiver was fixed, and the operator requeues the callback.
async fn dead_callback_is_sent_after_requeue(harness: Harness, receiver: Receiver) {
    let attempt = harness.open(json!({ "callback": "flow" })).await;
    let inbox = attempt["inbox"].as_str().unwrap();
    let mail = otp_delivery(inbox, "m1", "493817");
    harness.post(0, "d1", &mail).await;
    let dead = "SELECT count(*) FROM callbacks WHERE state = 'dead'";
    harness.until_count(dead, 1).await;
    let told = harness.until_state(&attempt, "consumed").await;
    assert_eq!(
        (&told["reason"], &told["next"]),
        (&json!("callback_dead"), &json!("tell_operator"))
    );
    let command = async |words: &[&str]| {
        let command = harness.command(words);
        tokio::process::Command::from(command)
            .output()
            .await
            .unwrap()
    };
    let listed = command(&["failures", "list", "--json"]).await;
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let id = listed["callbacks"][0]["id"].as_str().unwrap();
    for (wanted, reason) in [
        (id, "/reason"),
        (attempt["id"].as_str().unwrap(), "/callback/reason"),
    ] {
        let shown = command(&["failures", "show", wanted, "--json"]).await;
        let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
        assert_eq!(shown.pointer(reason), Some(&json!("gone")), "{shown}");
    }
    let requeued = command(&["failures", "requeue", id, "--json"]).await;
    assert!(requeued.status.success(), "{requeued:?}");
    let posts = receiver.until_posts(2).await;
    assert_eq!(
        (&posts[0].id, &posts[0].body),
        (&posts[1].id, &posts[1].body)
    );
    let done = "SELECT count(*) FROM callbacks WHERE state = 'done'";
    harness.until_count(done, 1).await;
    // It was accepted and is not sent again.
    let again = command(&["failures", "requeue", id]).await;
    assert_eq!(again.status.code(), Some(1), "{again:?}");
    harness.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_callback_is_sent_after_requeue_embedded() {
    let receiver = Receiver::start(&[Manner::Leave]).await;
    let harness = Harness::embedded_with(&receiver.settings()).await;
    dead_callback_is_sent_after_requeue(harness, receiver).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_callback_is_sent_after_requeue_full() {
    let receiver = Receiver::start(&[Manner::Leave]).await;
    let harness = Harness::full_with(&receiver.settings()).await;
    dead_callback_is_sent_after_requeue(harness, receiver).await;
}
