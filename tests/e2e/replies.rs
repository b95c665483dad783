//! Replies: one to each message, none to our own mail, and an end to every loop.

use std::path::Path;
use std::time::Duration;

use maillatch::deployment::Role;
use serde_json::{Value, json};
use testkit::mail_provider::MailProvider;

use crate::harness::{Harness, payload};
use crate::openapi::assert_fits;

const INBOX: &str = "agent@inbox.test";
const PERSON: &str = "user@example.com";

#[derive(Debug, Clone, Copy)]
enum Profile {
    Embedded,
    Full,
}

/// A deployment that answers mail, and two agents.
struct Desk {
    harness: Harness,
    provider: MailProvider,
    keys: [String; 2],
    posts: usize,
    mailbox: tempfile::TempDir,
    http: reqwest::Client,
}

impl Desk {
    async fn open(profile: Profile) -> Self {
        let provider = MailProvider::start().await;
        let keys = [(); 2].map(|()| feed::Keys::mint());
        let mailbox = tempfile::tempdir().unwrap();
        let settings = settings(&provider.url, &keys, mailbox.path());
        let harness = match profile {
            Profile::Embedded => Harness::embedded_with(&settings).await,
            Profile::Full => {
                let mut harness = Harness::full_with(&settings).await;
                harness.deployment.add(Role::Poll).await.unwrap();
                harness
            }
        };
        Self {
            harness,
            provider,
            keys,
            posts: 0,
            mailbox,
            http: reqwest::Client::new(),
        }
    }

    /// A mail arrives by webhook; returns the id of its message.
    async fn arrives(&mut self, raw: &[u8]) -> String {
        self.posts += 1;
        let id = format!("post_{}", self.posts);
        self.harness.post(0, &id, &payload(INBOX, raw)).await;
        let items = self.harness.until_items(INBOX, self.posts).await;
        let last = items.last().unwrap();
        last["message"].as_str().unwrap().to_owned()
    }

    async fn reply(&self, key: usize, message: &str, order: &str) -> (u16, Value) {
        let request = self.request(message, order).bearer_auth(&self.keys[key]);
        Self::answer(request).await
    }

    /// The same of the first agent, with an idempotency key.
    async fn reply_with(&self, key: &str, message: &str) -> (u16, Value) {
        let request = self.request(message, "4821").bearer_auth(&self.keys[0]);
        Self::answer(request.header("Idempotency-Key", key)).await
    }

    fn request(&self, message: &str, order: &str) -> reqwest::RequestBuilder {
        let path = format!("v1/messages/{message}/replies");
        let body = json!({ "template": "answer", "values": { "order": order }, "wait": 10 });
        let url = self.harness.deployment.url(Role::Feed, 0).unwrap();
        self.http.post(url.join(&path).unwrap()).json(&body)
    }

    async fn answer(request: reqwest::RequestBuilder) -> (u16, Value) {
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    async fn sent(&self, wanted: i64) {
        let sent = "SELECT count(*) FROM sends WHERE state = 'sent'";
        self.harness.until_count(sent, wanted).await;
    }

    async fn threads(&self) -> Value {
        let mut command = self.harness.command(&["threads", "list", "--json"]);
        let output = tokio::task::spawn_blocking(move || command.output().unwrap());
        serde_json::from_slice(&output.await.unwrap().stdout).unwrap()
    }
}

fn settings(url: &str, keys: &[String; 2], mailbox: &Path) -> String {
    let [one, two] = keys;
    let keys = [("one", one), ("two", two)].map(|(name, token)| {
        format!(
            "key.{name} = {{ token = \"{token}\", inboxes = [\"*\"], \
             scopes = [\"reply\", \"feed\", \"operator\"] }}\n"
        )
    });
    let keys = keys.concat();
    format!(
        "send.timeout = \"2s\"\nsend.every = \"50ms\"\npoll.every = \"100ms\"\n\
         templates.answer.subject = \"Your question\"\n\
         templates.answer.text = \"We look into order {{{{order}}}}.\\n\"\n\
         templates.answer.values.order.type = \"id\"\n\
         senders.shop = {{ provider = \"resend\", api_url = \"{url}\", api_key = \"key\", \
         from = \"Shop <shop@mail.example.com>\", recipients = [\"@example.com\"] }}\n\
         source.sent = {{ provider = \"folder\", poll = {{ path = \"{}\" }} }}\n{keys}",
        mailbox.display()
    )
}

/// A question of a person, or of a machine that looks like one.
fn question(number: usize, fields: &str) -> Vec<u8> {
    let text = format!(
        "From: {PERSON}\r\nTo: {INBOX}\r\nMessage-ID: <q{number}@example.com>\r\n\
         Subject: Where is it?\r\n{fields}\r\nQuestion {number}.\r\n"
    );
    text.into_bytes()
}

async fn two_agents_answer_one_message_once(profile: Profile) {
    let mut desk = Desk::open(profile).await;
    let message = desk
        .arrives(&question(1, "References: <q0@example.com>\r\n"))
        .await;
    let (one, two) = tokio::join!(
        desk.reply(0, &message, "4821"),
        desk.reply(1, &message, "9999")
    );
    let mut statuses = [one.0, two.0];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 201], "{one:?} {two:?}");
    assert_eq!(one.1["id"], two.1["id"]);
    desk.sent(1).await;
    let (status, later) = desk.reply(1, &message, "7").await;
    assert_eq!((status, &later["state"]), (200, &json!("sent")));
    assert_eq!(later["same_content"], false);
    assert_eq!(desk.provider.accepted().len(), 1);
    let (_, body) = desk.provider.bodies().remove(0);
    for part in [
        "Re: Where is it?",
        PERSON,
        "<q0@example.com> <q1@example.com>",
        "auto-replied",
    ] {
        assert!(body.contains(part), "{part} is not in {body}");
    }
    desk.harness.end().await;
}

/// What a reply needs of its message is deleted before the reply is.
async fn key_of_a_reply_is_used_for_it_when_its_message_is_no_longer_answered(profile: Profile) {
    let mut desk = Desk::open(profile).await;
    let message = desk.arrives(&question(1, "")).await;
    let (status, first) = desk.reply_with("first", &message).await;
    assert_eq!(status, 201, "{first}");
    let forget = "UPDATE handlings SET content = NULL, content_key = NULL";
    desk.harness.database.execute([forget, forget]).await;
    let next = desk.arrives(&question(2, "")).await;
    for (key, is_same) in [("first", true), ("later", false)] {
        for _ in 0..2 {
            let (status, known) = desk.reply_with(key, &message).await;
            assert_eq!((status, &known["id"]), (200, &first["id"]), "{known}");
            assert_eq!(known["same_content"], is_same, "{key}");
        }
        let (status, reused) = desk.reply_with(key, &next).await;
        assert_eq!(status, 422, "{reused}");
    }
    assert_eq!(desk.reply_with("next", &next).await.0, 201);
    desk.sent(2).await;
    desk.harness.end().await;
}

/// A machine that answers each of our replies, and does not say that it is one.
async fn ping_pong_of_a_hundred_rounds_ends_at_the_cap(profile: Profile) {
    let mut desk = Desk::open(profile).await;
    let mut statuses = Vec::new();
    for round in 0..100 {
        let fields = if round == 0 {
            String::new()
        } else {
            "References: <q0@example.com>\r\n".to_owned()
        };
        let message = desk.arrives(&question(round, &fields)).await;
        let (status, body) = desk.reply(0, &message, "4821").await;
        if status == 409 {
            assert_eq!(body["type"], "urn:maillatch:problem:thread-handed-over");
        }
        statuses.push(status);
    }
    assert_eq!(statuses[..3], [201; 3]);
    assert!(statuses[3..].iter().all(|status| *status == 409));
    desk.sent(3).await;
    assert_eq!(desk.provider.accepted().len(), 3);
    let threads = desk.threads().await;
    let threads = threads["items"].as_array().unwrap();
    assert_eq!(threads.len(), 1);
    assert_eq!(threads[0]["state"], "handed_over");
    assert_eq!(threads[0]["reason"], "thread_burst");
    let metrics = desk.harness.all_metrics(Role::Feed).await;
    let handed_over = "maillatch_send_replies_total{outcome=\"handed_over_now\"} 1";
    assert!(metrics.contains(handed_over), "{metrics}");
    desk.harness.end().await;
}

/// A machine that does not name what it answers: each of its mails is a thread.
async fn ping_pong_without_references_ends_at_the_persons_cap(profile: Profile) {
    let mut desk = Desk::open(profile).await;
    for round in 0..15 {
        let message = desk.arrives(&question(round, "")).await;
        let (status, _) = desk.reply(0, &message, "4821").await;
        assert_eq!(status, if round < 10 { 201 } else { 409 }, "{round}");
    }
    desk.sent(10).await;
    assert_eq!(desk.provider.accepted().len(), 10);
    desk.harness.end().await;
}

/// The mail that the provider accepted, as a mailbox shows it: with another Message-ID.
fn copy(key: &str, subject: &str) -> Vec<u8> {
    let text = format!(
        "From: Shop <shop@mail.example.com>\r\nTo: {PERSON}\r\nDelivered-To: {INBOX}\r\n\
         Message-ID: <rewritten@provider.test>\r\nX-Maillatch-Send: {key}\r\n\
         Subject: {subject}\r\n\r\nYour verification code is 493817.\r\n"
    );
    text.into_bytes()
}

async fn own_copy_by_webhook_and_by_poll_is_marked_and_gives_nothing(profile: Profile) {
    let mut desk = Desk::open(profile).await;
    let message = desk.arrives(&question(1, "")).await;
    assert_eq!(desk.reply(0, &message, "4821").await.0, 201);
    desk.sent(1).await;
    let key = desk.provider.accepted().remove(0).key;
    let posted = payload(INBOX, &copy(&key, "by webhook"));
    desk.harness.post(0, "echo", &posted).await;
    let (aside, named) = ("1.aside", "1.eml");
    let place = |name: &str| desk.mailbox.path().join(name);
    std::fs::write(place(aside), copy(&key, "by poll")).unwrap();
    std::fs::rename(place(aside), place(named)).unwrap();
    let echoes = "SELECT count(*) FROM handlings WHERE rules LIKE '%built_in.own_echo:drop%'";
    desk.harness.until_count(echoes, 2).await;
    let items = desk.harness.until_items(INBOX, 1).await;
    assert_eq!(items.len(), 1, "the question, and no copy: {items:?}");
    let all = desk
        .harness
        .count("SELECT count(*) FROM artifacts WHERE kind <> 'nothing'");
    assert_eq!(all.await, 0);
    let one = desk
        .harness
        .count("SELECT count(*) FROM handlings WHERE no_reply = 'own_echo' AND content IS NULL");
    assert_eq!(one.await, 2, "neither can be answered");
    assert_eq!(desk.provider.accepted().len(), 1);
    desk.harness.end().await;
}

macro_rules! on_each_profile {
    ($($name:ident),* $(,)?) => {
        mod embedded {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::$name(super::Profile::Embedded).await;
            })*
        }

        mod full {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::$name(super::Profile::Full).await;
            })*
        }
    };
}

on_each_profile!(
    two_agents_answer_one_message_once,
    key_of_a_reply_is_used_for_it_when_its_message_is_no_longer_answered,
    ping_pong_of_a_hundred_rounds_ends_at_the_cap,
    ping_pong_without_references_ends_at_the_persons_cap,
    own_copy_by_webhook_and_by_poll_is_marked_and_gives_nothing,
);

/// A deployment tells a person, by the configured callback.
#[tokio::test(flavor = "multi_thread")]
async fn handover_is_posted_to_the_configured_callback() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let provider = MailProvider::start().await;
    let keys = [(); 2].map(|()| feed::Keys::mint());
    let mailbox = tempfile::tempdir().unwrap();
    let secret = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let settings = settings(&provider.url, &keys, mailbox.path())
        + &format!(
            "reply.burst = 0\nreply.callback = \"people\"\n\
             callback.people = {{ url = \"http://127.0.0.1:{port}/\", secret = \"{secret}\" }}\n"
        );
    let harness = Harness::embedded_with(&settings).await;
    let mut desk = Desk {
        harness,
        provider,
        keys,
        posts: 0,
        mailbox,
        http: reqwest::Client::new(),
    };
    let message = desk.arrives(&question(1, "")).await;
    assert_eq!(desk.reply(0, &message, "4821").await.0, 409);
    let accept = tokio::time::timeout(Duration::from_secs(30), listener.accept());
    let (mut stream, _) = accept.await.unwrap().unwrap();
    let mut request = String::new();
    let body: Value = loop {
        let (_, body) = request.split_once("\r\n\r\n").unwrap_or_default();
        if let Ok(body) = serde_json::from_str(body) {
            break body;
        }
        let mut bytes = [0; 4096];
        let read = stream.read(&mut bytes).await.unwrap();
        assert_ne!(read, 0, "{request}");
        request += &String::from_utf8_lossy(&bytes[..read]);
    };
    let answer = b"HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n";
    stream.write_all(answer).await.unwrap();
    assert!(request.contains("webhook-signature: v1,"), "{request}");
    assert_eq!(body["data"]["message"], *message);
    assert_eq!(body["data"]["reason"], "thread_burst");
    let document = desk.harness.get(Role::Feed, "openapi.json").await.body;
    let described = &document["webhooks"]["threadHandedOver"]["post"]["requestBody"];
    let schema = &described["content"]["application/json"]["schema"];
    assert_fits(&document, schema, &body);
    assert!(!request.contains(PERSON), "{request}");
    desk.harness
        .until_count(
            "SELECT count(*) FROM threads WHERE state = 'handed_over' AND callback_due_at IS NULL",
            1,
        )
        .await;
    desk.harness.end().await;
}
