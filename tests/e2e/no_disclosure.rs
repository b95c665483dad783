//! What must not be disclosed: no body, address, code or link in logs or metrics, no free
//! text of a mail in the feed, nothing but ids on the broker, and no key or secret
//! anywhere.

use lapin::options::BasicGetOptions;
use lapin::{Connection, ConnectionProperties};
use maillatch::deployment::Role;
use secrecy::ExposeSecret;
use serde_json::json;
use testkit::server::shared_url;
use tokio::time::{Duration, Instant, sleep};

use crate::harness::{Harness, TIMEOUT, payload};

const CANARIES: [&str; 6] = [
    "CanarySubject",
    "CanaryBody",
    "CanaryName",
    "canary-local",
    "738291",
    "canarytoken0123456789abcdef",
];

/// All log output of all libraries.
const LOUD: &str = "log.filter = \"trace\"\n";

const MAIL: &str = "From: CanaryName <no-reply@example.com>\r\n\
    To: canary-local@inbox.test\r\nMessage-ID: <c@example.com>\r\n\
    Subject: CanarySubject verification\r\n\r\n\
    CanaryBody. Your verification code is 738291.\r\n\
    Or open https://example.com/verify?token=canarytoken0123456789abcdef\r\n";

#[tokio::test(flavor = "multi_thread")]
async fn no_mail_content_reaches_logs_metrics_or_the_feed_embedded() {
    let harness = Harness::embedded_with(LOUD).await;
    no_mail_content_reaches_logs_metrics_or_the_feed(harness, Vec::new()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_mail_content_reaches_logs_metrics_the_feed_or_the_broker_full() {
    let mut harness = Harness::full_with(LOUD).await;
    // No worker removes the notifications before they are read here.
    harness.deployment.kill(Role::Worker).await.unwrap();
    post(&harness).await;
    let notifications = notifications(&harness, 2).await;
    harness.deployment.revive().await.unwrap();
    no_mail_content_reaches_logs_metrics_or_the_feed(harness, notifications).await;
}

async fn post(harness: &Harness) {
    let body = payload("canary-local@inbox.test", MAIL.as_bytes());
    harness.post(0, "msg_1", &body).await;
    harness
        .post(1, "msg_2", b"CanaryBody is not even JSON")
        .await;
}

/// The notifications on the broker, with all their properties; they stay there.
async fn notifications(harness: &Harness, count: usize) -> Vec<String> {
    let properties = ConnectionProperties::default();
    let connection = Connection::connect(&shared_url("TEST_AMQP_URL"), properties).await;
    let channel = connection.unwrap().create_channel().await.unwrap();
    let queue = harness.deployment.config().with_file_name("");
    let queue = queue.file_name().unwrap().to_str().unwrap().to_owned();
    let body = payload("canary-local@inbox.test", MAIL.as_bytes());
    let mut notifications = Vec::new();
    let deadline = Instant::now() + TIMEOUT;
    while notifications.len() < count {
        let options = BasicGetOptions { no_ack: false };
        let got = channel.basic_get(queue.as_str().into(), options).await;
        if let Some(notification) = got.unwrap() {
            let text = String::from_utf8_lossy(&notification.data).into_owned();
            assert!(text.len() <= 64, "a notification is an id: {text}");
            notifications.push(format!("{text} {:?}", notification.properties));
        } else {
            assert!(Instant::now() < deadline, "no notification came");
            // A notification may fail, and no sweeper repeats it here: post the same
            // mail once more, which becomes the same message.
            let again = uuid::Uuid::now_v7().to_string();
            harness.post(0, &again, &body).await;
            sleep(Duration::from_millis(200)).await;
        }
    }
    // Unacknowledged notifications return to the queue when the channel closes.
    channel.close(200, "read".into()).await.unwrap();
    notifications
}

async fn no_mail_content_reaches_logs_metrics_or_the_feed(
    harness: Harness,
    notifications: Vec<String>,
) {
    post(&harness).await;
    let items = harness.until_items("canary-local@inbox.test", 1).await;
    let buried = "SELECT count(*) FROM deliveries WHERE state = 'buried'";
    harness.until_count(buried, 1).await;
    let artifact = items[0]["id"].as_str().unwrap();
    let consumed = harness.consume(artifact, 0, "k1").await;
    assert_eq!(consumed.body["value"], "738291");
    // Once more through an attempt that wants the token of the link.
    let wish = json!({ "kind": "link", "links": ["example.com"], "token": "token" });
    let attempt = harness.open(wish).await;
    let inbox = attempt["inbox"].as_str().unwrap();
    let body = payload(inbox, MAIL.as_bytes());
    harness.post(0, "msg_3", &body).await;
    let taken = harness.take(&attempt, "k2").await;
    assert_eq!(taken["token"], "canarytoken0123456789abcdef");

    // A key in a URL is refused, and the URL is not logged (A7).
    let key = harness.deployment.key(1);
    let path = format!(
        "v1/inboxes/a@inbox.test/artifacts?access_token={}",
        key.expose_secret()
    );
    assert_eq!(harness.get(Role::Feed, &path).await.status, 401);

    let feed = serde_json::to_string(&items).unwrap() + &notifications.concat();
    let mut said = harness.deployment.logs().unwrap();
    for role in [Role::Webhook, Role::Worker, Role::Feed] {
        said.push_str(&harness.metrics(role).await);
    }
    let metered = said.contains("maillatch_deliveries_total");
    assert!(metered, "there are metrics to look at");
    assert!(said.contains("delivery done"), "there are logs to look at");
    assert!(said.contains("\"TRACE\""), "there are loud logs to look at");
    for canary in CANARIES {
        let line = said.lines().find(|line| line.contains(canary));
        assert_eq!(line, None, "{canary} was logged or metered");
        assert!(
            !feed.contains(canary),
            "{canary} reached the feed or the broker"
        );
    }
    for consumer in [0, 1] {
        let key = harness.deployment.key(consumer);
        assert!(!said.contains(key.expose_secret()), "a key was logged");
    }
    let secret = harness.deployment.signing_secret();
    let secret = secret
        .expose_secret()
        .trim_start_matches("whsec_")
        .to_owned();
    assert!(!said.contains(&secret), "a secret was logged");
    harness.end().await;
}
