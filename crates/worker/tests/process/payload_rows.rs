//! Rows of the bad-input catalogue that only show behind the decoder.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pipeline::{ArtifactView, Clock, SystemClock};
use providers::SourceSettings;
use secrecy::SecretString;
use serde_json::json;

use crate::desk::{Desk, otp_mail, payload};

async fn dead_letters(desk: &Desk) -> Vec<String> {
    let buried = desk.store.failures.dead_letters(10).await.unwrap();
    let reasons = buried.iter().map(|failure| failure.reason.to_string());
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
async fn what_is_authentic_and_cannot_be_read_is_buried_with_its_reason() {
    let desk = Desk::open().await;
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
        let id = desk.record(row, body.as_bytes()).await;
        desk.work_until_idle().await;
        let (buried, kept) = desk
            .store
            .failures
            .find_dead_letter(id)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(buried.reason.as_str(), reason, "{row}");
        assert_eq!(kept.as_deref(), Some(body.as_bytes()), "{row}");
    }
    assert!(desk.items("agent@inbox.test").await.is_empty());
}

#[tokio::test]
async fn p5_p10_p13_what_is_odd_and_can_be_read_is_processed() {
    let desk = Desk::open().await;
    let raw = STANDARD.encode(otp_mail("1", "493817"));
    let lines = raw.as_bytes().chunks(60);
    let lines: Vec<&str> = lines.map(|line| str::from_utf8(line).unwrap()).collect();
    let body = json!({
        "type": "email.received", "unknown": [1, { "x": null }], "n": -0.0,
        "big": 9_223_372_036_854_775_808_u64,
        "data": { "recipients": ["agent@inbox.test"], "raw": lines.join("\r\n"), "more": true },
    });
    desk.record("one", body.to_string().as_bytes()).await;
    desk.work_until_idle().await;
    assert_eq!(desk.items("agent@inbox.test").await.len(), 1);
}

#[tokio::test]
async fn p17_an_event_that_is_not_for_us_is_closed_and_counted() {
    let desk = Desk::open().await;
    desk.record("one", br#"{"type":"email.bounced","data":{}}"#)
        .await;
    desk.work_until_idle().await;
    assert_eq!(dead_letters(&desk).await, Vec::<String>::new());
    let label = pipeline::OutcomeLabel::new("dev", "ignored");
    let counted = desk.deps.meters.processed.get_or_create(&label).get();
    assert_eq!(counted, 1);
}

#[tokio::test]
async fn p20_a_form_of_too_many_fields_is_buried_with_its_reason() {
    let mailgun = source("mailgun");
    let desk = Desk::with_sources(BTreeMap::from([("mailgun".to_owned(), mailgun)])).await;
    let form = "application/x-www-form-urlencoded";
    let body = "v=1&".repeat(5000);
    desk.record_as("mailgun", "one", form, body.as_bytes())
        .await;
    desk.work_until_idle().await;
    assert_eq!(dead_letters(&desk).await, ["too_many_fields"]);
}

#[tokio::test]
async fn p7_mail_for_an_inbox_that_nobody_has_is_kept_for_the_operator() {
    let desk = Desk::open().await;
    let body = payload("agent@elsewhere.test", &otp_mail("1", "493817"));
    desk.record("one", &body).await;
    desk.work_until_idle().await;
    assert_eq!(dead_letters(&desk).await, ["inbox_unknown"]);
    assert!(desk.items("agent@elsewhere.test").await.is_empty());
}

#[tokio::test]
async fn p8_mail_for_the_inbox_of_anothers_domain_reaches_neither() {
    let shop = SourceSettings {
        domains: vec!["Shop.test".to_owned()],
        ..source("standard-webhooks")
    };
    let desk = Desk::with_sources(BTreeMap::from([("shop".to_owned(), shop)])).await;
    let body = payload("agent@inbox.test", &otp_mail("1", "493817"));
    desk.record_from("shop", "one", &body).await;
    desk.work_until_idle().await;
    assert_eq!(dead_letters(&desk).await, ["inbox_unknown"]);
    assert!(desk.items("agent@inbox.test").await.is_empty());
}

/// The one item of a mail that its provider says it received then.
async fn received(at: &str) -> ArtifactView {
    let desk = Desk::open().await;
    let body = payload("agent@inbox.test", &otp_mail("1", "493817"));
    let body = String::from_utf8(body).unwrap();
    let body = body.replacen('{', &format!(r#"{{"timestamp":"{at}","#), 1);
    desk.record("one", body.as_bytes()).await;
    desk.work_until_idle().await;
    desk.items("agent@inbox.test").await.remove(0)
}

#[tokio::test]
async fn p14_a_time_that_cannot_be_is_not_believed_and_marked() {
    for odd in ["9999-12-31T23:59:59Z", "1969-12-31T23:59:59Z"] {
        let item = received(odd).await;
        assert!(item.flags.contains(&"received_at_odd".to_owned()), "{odd}");
        let age = SystemClock.now().since(item.received_at);
        assert!(age.as_secs() < 60, "{odd}: {age:?}");
        assert!(!item.is_expired, "{odd}");
    }
    // No such second was in that year; what is no time says nothing.
    for none in ["2016-12-31T23:59:61Z", "yesterday", ""] {
        let item = received(none).await;
        assert!(
            !item.is_expired && item.flags.is_empty(),
            "{none:?} {item:?}"
        );
    }
}

#[tokio::test]
async fn p16_the_message_wins_over_what_the_provider_says_of_it() {
    let desk = Desk::with_sources(BTreeMap::from([(
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
        desk.record_from("mailersend", from, body.as_bytes()).await;
    }
    desk.work_until_idle().await;
    let same = desk.items("agent0@inbox.test").await.remove(0);
    assert!(same.flags.is_empty(), "{same:?}");
    let other = desk.items("agent1@inbox.test").await.remove(0);
    assert_eq!(other.flags, ["provider_mismatch"]);
    assert_eq!(other.sender.as_deref(), Some("no-reply@example.com"));
}

#[tokio::test]
async fn p19_a_batch_that_holds_a_mail_twice_is_one_message() {
    let mandrill = SourceSettings {
        url: Some("https://example.com/hook".to_owned()),
        ..source("mandrill")
    };
    let desk = Desk::with_sources(BTreeMap::from([("mandrill".to_owned(), mandrill)])).await;
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
    desk.record_as("mandrill", "one", form, body.as_bytes())
        .await;
    desk.work_until_idle().await;
    assert_eq!(desk.items("agent@inbox.test").await.len(), 2);
}

#[tokio::test]
async fn an_answer_of_a_machine_and_the_inboxs_own_mail_give_nothing() {
    let desk = Desk::open().await;
    let mail = String::from_utf8(otp_mail("1", "493817")).unwrap();
    let replied = format!("Auto-Submitted: auto-replied\r\n{mail}");
    let own = mail.replace("no-reply@example.com", "agent@inbox.test");
    for (id, raw) in [("reply", &replied), ("own", &own)] {
        let body = payload(&format!("{id}@inbox.test"), raw.as_bytes());
        desk.record(id, &body).await;
    }
    desk.work_until_idle().await;
    for (id, mark) in [("reply", "auto_reply"), ("own", "self_sent")] {
        let item = desk.items(&format!("{id}@inbox.test")).await.remove(0);
        assert!(item.flags.contains(&mark.to_owned()), "{item:?}");
        assert_ne!(item.verdict.as_str(), "usable", "{item:?}");
    }
}
