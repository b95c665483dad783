//! An uncertain send whose provider knows neither keys nor look-ups: the provider's own
//! event, or a copy of the mail that comes back, proves that it was sent.

use serde_json::json;
use testkit::mail_provider::Lie;

use super::office::{Office, Profile, SENT, UNCERTAIN, on_each_database};
use crate::harness::{Role, payload};

on_each_database!(uncertain_send_is_proven_by_an_event_or_by_a_copy);

const INBOX: &str = "agent@inbox.test";
const EVENTS: &str = "source.events = { provider = \"sendgrid\", username = \"events\", \
                      password = \"a-password-of-the-tests\" }\n";

impl Office {
    /// The key of the mail that a sender's provider has accepted.
    fn key(&self, sender: usize) -> String {
        self.senders[sender].provider.accepted().remove(0).key
    }

    async fn post_events(&self, events: &serde_json::Value) {
        let url = self.harness.deployment.url(Role::Webhook, 0).unwrap();
        let post = reqwest::Client::new().post(url.join("hooks/events").unwrap());
        let post = post.basic_auth("events", Some("a-password-of-the-tests"));
        let answer = post.json(events).send().await.unwrap();
        assert_eq!(answer.status(), 200);
    }
}

/// The mail as a mailbox shows it: with another Message-ID.
fn copy(key: &str) -> Vec<u8> {
    let text = format!(
        "From: Shop <ses@mail.example.com>\r\nTo: user@example.com\r\n\
         Message-ID: <rewritten@provider.test>\r\nX-Maillatch-Send: {key}\r\n\
         Subject: Order\r\n\r\nYour verification code is 493817.\r\n"
    );
    text.into_bytes()
}

async fn uncertain_send_is_proven_by_an_event_or_by_a_copy(profile: Profile) {
    let office = Office::open_with(profile, &["sendgrid", "ses"], EVENTS).await;
    for sender in &office.senders {
        sender.provider.lie([Lie::ResetAfterAccepting]);
    }
    let ids = office.order_by_all("o1", "paid").await;
    office.harness.until_count(UNCERTAIN, 2).await;

    // A key that is not known, and an event that says that nothing was accepted.
    let unknown = format!("ml-{}", "0".repeat(64));
    office
        .post_events(&json!([
            {"event": "delivered", "maillatch": unknown, "sg_message_id": "other.1"},
            {"event": "dropped", "maillatch": office.key(0), "sg_message_id": "other.2"},
        ]))
        .await;
    let closed = "SELECT count(*) FROM deliveries WHERE state = 'done'";
    office.harness.until_count(closed, 1).await;
    assert_eq!(office.harness.count(UNCERTAIN).await, 2);

    office
        .post_events(&json!([
            {"event": "delivered", "maillatch": office.key(0), "sg_message_id": "id-1.filter"},
        ]))
        .await;
    office.harness.until_count(SENT, 1).await;
    let shown = office.show(&ids[0]).await;
    assert_eq!(
        (&shown["state"], &shown["result"]),
        (&"sent".into(), &"id-1".into())
    );

    let posted = payload(INBOX, &copy(&office.key(1)));
    office.harness.post_until_accepted(0, "copy", &posted).await;
    office.harness.until_count(SENT, 2).await;
    let artifacts = "SELECT count(*) FROM artifacts WHERE kind <> 'nothing'";
    assert_eq!(
        office.harness.count(artifacts).await,
        0,
        "a copy gives nothing"
    );
    for sender in &office.senders {
        let counts = (sender.accepted(), sender.provider.requests());
        assert_eq!(counts, (1, 1), "{}", sender.name);
    }
    let metrics = office.harness.all_metrics(Role::Worker).await;
    for by in ["event", "copy"] {
        let proven = format!("maillatch_send_proven_total{{by=\"{by}\",before=\"uncertain\"}} 1");
        assert!(metrics.contains(&proven), "{proven} is not in {metrics}");
    }
    office.harness.end().await;
}
