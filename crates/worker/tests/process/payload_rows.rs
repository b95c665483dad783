//! Rows of the bad-input catalogue that show only after decoding.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pipeline::{ArtifactView, Clock, SystemClock};
use providers::SourceSettings;
use secrecy::SecretString;
use serde_json::json;

use crate::fixture::{Fixture, nested, otp_mail, payload};

async fn dead_letter_reasons(fixture: &Fixture) -> Vec<String> {
    let dead_letters = fixture.store.failures.dead_letters(10).await.unwrap();
    let reasons = dead_letters
        .iter()
        .map(|failure| failure.reason.to_string());
    reasons.collect()
}

fn source(provider: &str) -> SourceSettings {
    SourceSettings {
        provider: provider.to_owned(),
        secrets: vec![SecretString::from("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD").into()],
        ..SourceSettings::default()
    }
}

#[tokio::test]
async fn authentic_but_unreadable_posts_are_dead_lettered_with_a_reason() {
    let fixture = Fixture::open().await;
    let of_raw = |raw: &str| {
        format!(
            r#"{{"type":"email.received","data":{{"recipients":["agent@inbox.test"],"raw":"{raw}"}}}}"#
        )
    };
    let plain = r#"{"type":"email.received","#;
    for (row, body, reason) in [
        ("h5", String::new(), "empty_body"),
        ("p1", "{".to_owned(), "payload_malformed"),
        ("p2 list", "[]".to_owned(), "payload_malformed"),
        ("p2 text", "\"x\"".to_owned(), "payload_malformed"),
        ("p2 number", "1".to_owned(), "payload_malformed"),
        (
            "p4",
            format!(r#"{plain}"inbox":"a","inbox":"b"}}"#),
            "duplicate_key",
        ),
        ("p10", of_raw("not base64"), "not_base64"),
        (
            "p11",
            format!(r#"{plain}"x":"\ud800"}}"#),
            "payload_malformed",
        ),
        ("p13", format!(r#"{plain}"x":1e400}}"#), "payload_malformed"),
        ("p22", format!("{} more", of_raw("")), "payload_malformed"),
    ] {
        let id = fixture.record(row, body.as_bytes()).await;
        fixture.work_until_idle().await;
        let (dead_letter, kept) = fixture
            .store
            .failures
            .find_dead_letter(id)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(dead_letter.reason.as_str(), reason, "{row}");
        assert_eq!(kept.as_deref(), Some(body.as_bytes()), "{row}");
    }
    assert!(fixture.items("agent@inbox.test").await.is_empty());
}

#[tokio::test]
async fn p5_p10_p13_unknown_fields_wrapped_base64_and_odd_numbers_are_processed() {
    let fixture = Fixture::open().await;
    let raw = STANDARD.encode(otp_mail("1", "493817"));
    let lines = raw.as_bytes().chunks(60);
    let lines: Vec<&str> = lines.map(|line| str::from_utf8(line).unwrap()).collect();
    let body = json!({
        "type": "email.received", "unknown": [1, { "x": null }], "n": -0.0,
        "big": 9_223_372_036_854_775_808_u64,
        "data": { "recipients": ["agent@inbox.test"], "raw": lines.join("\r\n"), "more": true },
    });
    fixture.record("one", body.to_string().as_bytes()).await;
    fixture.work_until_idle().await;
    assert_eq!(fixture.items("agent@inbox.test").await.len(), 1);
}

#[tokio::test]
async fn p17_event_other_than_inbound_mail_is_ignored_and_counted() {
    let fixture = Fixture::open().await;
    fixture
        .record("one", br#"{"type":"email.bounced","data":{}}"#)
        .await;
    fixture.work_until_idle().await;
    assert_eq!(dead_letter_reasons(&fixture).await, Vec::<String>::new());
    let counted = fixture.deps.meters.processed("dev", "ignored").get();
    assert_eq!(counted, 1);
}

#[tokio::test]
async fn p20_form_with_5000_fields_is_dead_lettered_with_a_reason() {
    let mailgun = source("mailgun");
    let fixture = Fixture::with_sources(BTreeMap::from([("mailgun".to_owned(), mailgun)])).await;
    let form = "application/x-www-form-urlencoded";
    let body = "v=1&".repeat(5000);
    fixture
        .record_as("mailgun", "one", form, body.as_bytes())
        .await;
    fixture.work_until_idle().await;
    assert_eq!(dead_letter_reasons(&fixture).await, ["too_many_fields"]);
}

#[tokio::test]
async fn p7_mail_for_an_unknown_inbox_is_dead_lettered() {
    let fixture = Fixture::open().await;
    let body = payload("agent@elsewhere.test", &otp_mail("1", "493817"));
    fixture.record("one", &body).await;
    fixture.work_until_idle().await;
    assert_eq!(dead_letter_reasons(&fixture).await, ["inbox_unknown"]);
    assert!(fixture.items("agent@elsewhere.test").await.is_empty());
}

#[tokio::test]
async fn p8_mail_outside_the_sources_domains_is_dead_lettered() {
    let shop = SourceSettings {
        domains: vec!["Shop.test".to_owned()],
        ..source("standard-webhooks")
    };
    let fixture = Fixture::with_sources(BTreeMap::from([("shop".to_owned(), shop)])).await;
    let body = payload("agent@inbox.test", &otp_mail("1", "493817"));
    fixture.record_from("shop", "one", &body).await;
    fixture.work_until_idle().await;
    assert_eq!(
        dead_letter_reasons(&fixture).await,
        ["not_the_sources_domain"]
    );
    assert!(fixture.items("agent@inbox.test").await.is_empty());
}

/// The item of a mail that its provider says it received at `at`.
async fn received(at: &str) -> ArtifactView {
    let fixture = Fixture::open().await;
    let body = payload("agent@inbox.test", &otp_mail("1", "493817"));
    let body = String::from_utf8(body).unwrap();
    let body = body.replacen('{', &format!(r#"{{"timestamp":"{at}","#), 1);
    fixture.record("one", body.as_bytes()).await;
    fixture.work_until_idle().await;
    fixture.items("agent@inbox.test").await.remove(0)
}

#[tokio::test]
async fn p14_implausible_received_at_is_replaced_and_flagged() {
    for odd in ["9999-12-31T23:59:59Z", "1969-12-31T23:59:59Z"] {
        let item = received(odd).await;
        assert!(item.flags.contains(&"received_at_odd".to_owned()), "{odd}");
        let age = SystemClock.now().since(item.received_at);
        assert!(age.as_secs() < 60, "{odd}: {age:?}");
        assert!(!item.is_expired, "{odd}");
    }
    // Text that is not a valid time is ignored.
    for none in ["2016-12-31T23:59:61Z", "yesterday", ""] {
        let item = received(none).await;
        assert!(
            !item.is_expired && item.flags.is_empty(),
            "{none:?} {item:?}"
        );
    }
}

#[tokio::test]
async fn p16_sender_of_the_message_wins_over_the_providers_field() {
    let fixture = Fixture::with_sources(BTreeMap::from([(
        "mailersend".to_owned(),
        source("mailersend"),
    )]))
    .await;
    for (number, from) in ["no-reply@example.com", "other@evil.test"]
        .iter()
        .enumerate()
    {
        let raw = String::from_utf8(otp_mail(&number.to_string(), "493817")).unwrap();
        let body = json!({ "type": "inbound.message", "data": {
            "from": { "email": from },
            "recipients": { "rcptTo": [{ "email": format!("agent{number}@inbox.test") }] },
            "raw": raw,
        } });
        let body = body.to_string();
        fixture
            .record_from("mailersend", from, body.as_bytes())
            .await;
    }
    fixture.work_until_idle().await;
    let same = fixture.items("agent0@inbox.test").await.remove(0);
    assert!(same.flags.is_empty(), "{same:?}");
    let other = fixture.items("agent1@inbox.test").await.remove(0);
    assert_eq!(other.flags, ["provider_mismatch"]);
    assert_eq!(other.sender.as_deref(), Some("no-reply@example.com"));
}

#[tokio::test]
async fn p19_batch_with_the_same_mail_twice_is_one_message() {
    let mandrill = SourceSettings {
        url: Some("https://example.com/hook".to_owned()),
        ..source("mandrill")
    };
    let fixture = Fixture::with_sources(BTreeMap::from([("mandrill".to_owned(), mandrill)])).await;
    let event = |id: &str, code: &str| {
        let raw = String::from_utf8(otp_mail(id, code)).unwrap();
        json!({ "event": "inbound", "msg": { "email": "agent@inbox.test", "raw_msg": raw } })
    };
    let events = json!([
        event("1", "493817"),
        event("2", "271828"),
        event("1", "493817")
    ]);
    let body = form_urlencoded::Serializer::new(String::new())
        .append_pair("mandrill_events", &events.to_string())
        .finish();
    let form = "application/x-www-form-urlencoded";
    fixture
        .record_as("mandrill", "one", form, body.as_bytes())
        .await;
    fixture.work_until_idle().await;
    assert_eq!(fixture.items("agent@inbox.test").await.len(), 2);
}

/// A Mandrill post with these events.
/// A worker with a source whose posts have many mails.
pub(crate) async fn mandrill_fixture() -> Fixture {
    let mandrill = SourceSettings {
        url: Some("https://example.com/hook".to_owned()),
        ..source("mandrill")
    };
    Fixture::with_sources(BTreeMap::from([("mandrill".to_owned(), mandrill)])).await
}

pub(crate) fn mandrill_event(to: &str, raw: &[u8]) -> serde_json::Value {
    let raw = String::from_utf8_lossy(raw);
    json!({ "event": "inbound", "msg": { "email": to, "raw_msg": raw } })
}

pub(crate) fn mandrill_post(events: &[serde_json::Value]) -> String {
    form_urlencoded::Serializer::new(String::new())
        .append_pair("mandrill_events", &json!(events).to_string())
        .finish()
}

#[tokio::test]
async fn batch_of_100_with_3_bad_mails_gives_97_artifacts_and_3_dead_letters() {
    let fixture = mandrill_fixture().await;
    let event = mandrill_event;
    let mut events: Vec<_> = (0..97)
        .map(|n| {
            event(
                "agent@inbox.test",
                &otp_mail(&n.to_string(), &(100_000 + n * 73).to_string()),
            )
        })
        .collect();
    events.insert(5, event("nobody@elsewhere.test", &otp_mail("x", "271828")));
    events.insert(
        50,
        json!({ "event": "inbound", "msg": { "email": "agent@inbox.test" } }),
    );
    events.insert(99, event("agent@inbox.test", &nested(40_000)));
    let body = mandrill_post(&events);
    let form = "application/x-www-form-urlencoded";
    for id in ["one", "again"] {
        fixture
            .record_as("mandrill", id, form, body.as_bytes())
            .await;
        fixture.work_until_idle().await;
        assert_eq!(fixture.items("agent@inbox.test").await.len(), 97, "{id}");
        let backlog = fixture.store.deliveries.backlog().await.unwrap();
        let reasons = dead_letter_reasons(&fixture).await;
        assert_eq!(backlog.dead_letters, 3, "{id}: {reasons:?}");
    }
}

#[tokio::test]
async fn auto_replies_and_self_sent_mail_give_no_usable_code() {
    let fixture = Fixture::open().await;
    let mail = String::from_utf8(otp_mail("1", "493817")).unwrap();
    let replied = format!("Auto-Submitted: auto-replied\r\n{mail}");
    let own = mail.replace("no-reply@example.com", "agent@inbox.test");
    for (id, raw) in [("reply", &replied), ("own", &own)] {
        let body = payload(&format!("{id}@inbox.test"), raw.as_bytes());
        fixture.record(id, &body).await;
    }
    fixture.work_until_idle().await;
    for (id, mark) in [("reply", "auto_reply"), ("own", "self_sent")] {
        let item = fixture.items(&format!("{id}@inbox.test")).await.remove(0);
        assert!(item.flags.contains(&mark.to_owned()), "{item:?}");
        assert_ne!(item.verdict.as_str(), "usable", "{item:?}");
    }
}
