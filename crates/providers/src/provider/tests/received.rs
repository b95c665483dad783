//! Which time of a post counts as the time when the provider received the mail.

use pipeline::Timestamp;
use serde_json::{Value, json};

use super::payloads::{RAW, decode, form};
use crate::{Decoded, contracts};

/// The provider's own time in every payload below, in whole seconds.
const STATED: i64 = 1_763_164_800;
/// The same as text.
const WRITTEN: &str = "2025-11-15T00:00:00Z";
/// Times that must not be used: the sender's, or that of one attempt.
const OTHER: &str = "2024-01-01T00:00:00Z";
const OTHER_MAIL: &str = "Mon, 1 Jan 2024 00:00:00 +0000";

/// Providers that state no time of their own.
const WITHOUT_TIME: [&str; 4] = ["cloudmailin", "postmark", "relay", "sendgrid"];

/// A mail whose headers have times that its sender wrote.
fn raw() -> String {
    format!("Received: from a.test; {OTHER_MAIL}\r\nDate: {OTHER_MAIL}\r\n{RAW}")
}

/// A provider's posts with all their times: content type and body.
fn posts(provider: &str) -> Vec<(String, String)> {
    let bodies = match provider {
        "cloudmailin" | "mailgun" | "mandrill" | "relay" | "sendgrid" => return forms(provider),
        "agentmail" | "nylas" => vec![with_text(provider), without_text(provider)],
        other => vec![body(other)],
    };
    let typed = |body: Value| ("application/json".to_owned(), body.to_string());
    bodies.into_iter().map(typed).collect()
}

fn forms(provider: &str) -> Vec<(String, String)> {
    let raw = raw();
    match provider {
        "cloudmailin" => vec![
            form(&[("envelope[to]", "x@y.test"), ("message", &raw)]),
            (
                "application/json".to_owned(),
                json!({ "envelope": { "to": "x@y.test" }, "plain": "Code",
                    "headers": { "date": OTHER_MAIL, "received": [OTHER_MAIL] } })
                .to_string(),
            ),
        ],
        "mailgun" => vec![form(&[
            ("recipient", "x@y.test"),
            ("body-mime", &raw),
            ("Date", OTHER_MAIL),
            ("timestamp", &STATED.to_string()),
            ("token", "t"),
            ("signature", "s"),
        ])],
        "mandrill" => {
            let events = json!([{ "event": "inbound", "ts": STATED,
                "msg": { "email": "x@y.test", "raw_msg": raw, "ts": 1 } }]);
            vec![form(&[("mandrill_events", &events.to_string())])]
        }
        "relay" => vec![(
            "message/rfc822".to_owned(),
            format!("X-Maillatch-Recipient: x@y.test\r\n{raw}"),
        )],
        _ => vec![form(&[
            ("envelope", r#"{"to":["x@y.test"],"from":"q"}"#),
            ("email", &raw),
            ("headers", &format!("Date: {OTHER_MAIL}")),
        ])],
    }
}

fn with_text(provider: &str) -> Value {
    match provider {
        "agentmail" => json!({ "event_type": "message.received", "timestamp": OTHER,
            "message": { "inbox_id": "x@y.test", "message_id": "<1@b>", "to": [],
                "text": "Code", "timestamp": OTHER, "created_at": WRITTEN } }),
        _ => json!({ "type": "message.created", "id": "e", "time": 1, "data": { "object": {
            "id": "1", "grant_id": "g", "to": [{ "email": "x@y.test" }], "from": [],
            "body": "Code", "date": STATED, "created_at": 1 } } }),
    }
}

/// The same, of a mail that has to be fetched.
fn without_text(provider: &str) -> Value {
    let mut body = with_text(provider);
    match provider {
        "agentmail" => body["message"]["text"] = Value::Null,
        _ => body["type"] = json!("message.created.truncated"),
    }
    body
}

fn body(provider: &str) -> Value {
    let raw = raw();
    match provider {
        "mailersend" => json!({ "type": "inbound.message", "created_at": OTHER, "data": {
            "id": "1", "raw": raw, "date": OTHER, "created_at": "2025-11-15T00:00:00.000000Z",
            "recipients": { "rcptTo": [{ "email": "x@y.test" }] } } }),
        "mailhook" => json!({ "data": { "id": "ie_1", "attributes": {
            "from": "a@b.test", "text_body": "Code", "date": OTHER, "received_at": WRITTEN } } }),
        "postal" => json!({ "id": 1, "rcpt_to": "x@y.test", "message": raw, "base64": false,
            "date": OTHER_MAIL, "timestamp": 1_763_164_800.0 }),
        "postmark" => json!({ "MessageID": "1", "OriginalRecipient": "x@y.test",
            "RawEmail": raw, "Date": OTHER_MAIL }),
        "resend" => json!({ "type": "email.received", "created_at": OTHER, "data": {
            "email_id": "1", "received_for": ["x@y.test"],
            "created_at": "2025-11-15 00:00:00.000000+00" } }),
        "ses-sns" => {
            let message = json!({ "notificationType": "Received", "content": raw,
                "mail": { "timestamp": WRITTEN, "commonHeaders": { "date": OTHER_MAIL } },
                "receipt": { "recipients": ["x@y.test"], "timestamp": OTHER } });
            sns(&message, OTHER)
        }
        // Maillatch's own payload.
        _ => json!({ "type": "email.received", "timestamp": WRITTEN,
            "data": { "recipients": ["x@y.test"], "raw": "RGF0ZTogeA0KDQo=" } }),
    }
}

/// What SNS posts, published at `at`.
fn sns(message: &Value, at: &str) -> Value {
    json!({ "Type": "Notification", "MessageId": "1", "TopicArn": testkit::sns::TOPIC,
        "Message": message.to_string(), "Timestamp": at, "SignatureVersion": "2",
        "Signature": "AAAA", "SigningCertURL": "https://x.test/a.pem" })
}

fn received_at(provider: &str, (kind, body): &(String, String)) -> Option<i64> {
    let decoded = decode(provider, kind, body);
    let at = match decoded {
        Ok(Decoded::Mails(mails)) => mails[0].received_at,
        Ok(Decoded::RemoteMail(remote)) => remote.received_at,
        other => panic!("{provider}: {other:?}"),
    };
    at.map(Timestamp::as_millis)
}

#[test]
fn received_time_is_the_providers_and_never_a_header_of_the_mail() {
    for contract in contracts().filter(|contract| !contract.is_poll_only()) {
        let name = contract.name;
        let stated = (!WITHOUT_TIME.contains(&name)).then_some(STATED * 1000);
        for post in posts(name) {
            assert_eq!(received_at(name, &post), stated, "{name}: {}", post.1);
        }
    }
}

#[test]
fn post_without_the_providers_time_has_no_received_time() {
    let times = ["created_at", "received_at", "timestamp", "ts", "date"];
    for name in [
        "agentmail",
        "mailersend",
        "mailgun",
        "mailhook",
        "mandrill",
        "nylas",
        "postal",
        "resend",
    ] {
        for (kind, body) in posts(name) {
            let odd = times.iter().fold(body, |body, time| {
                body.replace(&format!("\"{time}\""), &format!("\"no_{time}\""))
            });
            assert_eq!(received_at(name, &(kind, odd)), None, "{name}");
        }
    }
}

#[test]
fn ses_received_time_is_of_the_mail_else_the_receipt_else_the_envelope() {
    let received = |mail: Option<&str>, receipt: Option<&str>, topic: &str| {
        let message = json!({ "notificationType": "Received", "content": RAW,
            "mail": { "timestamp": mail },
            "receipt": { "recipients": ["x@y.test"], "timestamp": receipt } });
        let post = ("text/plain".to_owned(), sns(&message, topic).to_string());
        received_at("ses-sns", &post)
    };
    let stated = Some(STATED * 1000);
    assert_eq!(received(Some(WRITTEN), Some(OTHER), OTHER), stated);
    assert_eq!(received(None, Some(WRITTEN), OTHER), stated);
    assert_eq!(received(None, None, WRITTEN), stated);
}
