//! When each provider says that it received a mail, and who says nothing.

use pipeline::Timestamp;
use serde_json::{Value, json};

use super::payloads::{RAW, decode, form};
use crate::Decoded;
use crate::contract::pulled::is_pulled;

/// The provider's own time in every payload below, in whole seconds.
const STATED: i64 = 1_763_164_800;
/// The same as text.
const WRITTEN: &str = "2025-11-15T00:00:00Z";
/// Times that are the sender's, or those of one post among several, in the fields
/// where a provider has them.
const ELSES: &str = "2024-01-01T00:00:00Z";
const ELSES_MAIL: &str = "Mon, 1 Jan 2024 00:00:00 +0000";

/// Providers that tell no time which a stranger cannot have written.
const SILENT: [&str; 4] = ["cloudmailin", "postmark", "relay", "sendgrid"];

/// The mail, with times that its sender or a stranger wrote.
fn raw() -> String {
    format!("Received: from a.test; {ELSES_MAIL}\r\nDate: {ELSES_MAIL}\r\n{RAW}")
}

/// A provider's posts, with every time that they have: content type and body.
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
                    "headers": { "date": ELSES_MAIL, "received": [ELSES_MAIL] } })
                .to_string(),
            ),
        ],
        "mailgun" => vec![form(&[
            ("recipient", "x@y.test"),
            ("body-mime", &raw),
            ("Date", ELSES_MAIL),
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
            ("headers", &format!("Date: {ELSES_MAIL}")),
        ])],
    }
}

fn with_text(provider: &str) -> Value {
    match provider {
        "agentmail" => json!({ "event_type": "message.received", "timestamp": ELSES,
            "message": { "inbox_id": "x@y.test", "message_id": "<1@b>", "to": [],
                "text": "Code", "timestamp": ELSES, "created_at": WRITTEN } }),
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
        "mailersend" => json!({ "type": "inbound.message", "created_at": ELSES, "data": {
            "id": "1", "raw": raw, "date": ELSES, "created_at": "2025-11-15T00:00:00.000000Z",
            "recipients": { "rcptTo": [{ "email": "x@y.test" }] } } }),
        "mailhook" => json!({ "data": { "id": "ie_1", "attributes": {
            "from": "a@b.test", "text_body": "Code", "date": ELSES, "received_at": WRITTEN } } }),
        "postal" => json!({ "id": 1, "rcpt_to": "x@y.test", "message": raw, "base64": false,
            "date": ELSES_MAIL, "timestamp": 1_763_164_800.0 }),
        "postmark" => json!({ "MessageID": "1", "OriginalRecipient": "x@y.test",
            "RawEmail": raw, "Date": ELSES_MAIL }),
        "resend" => json!({ "type": "email.received", "created_at": ELSES, "data": {
            "email_id": "1", "received_for": ["x@y.test"],
            "created_at": "2025-11-15 00:00:00.000000+00" } }),
        "ses-sns" => {
            let message = json!({ "notificationType": "Received", "content": raw,
                "mail": { "timestamp": WRITTEN, "commonHeaders": { "date": ELSES_MAIL } },
                "receipt": { "recipients": ["x@y.test"], "timestamp": ELSES } });
            sns(&message, ELSES)
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
        Ok(Decoded::RemoteMail(elsewhere)) => elsewhere.received_at,
        other => panic!("{provider}: {other:?}"),
    };
    at.map(Timestamp::as_millis)
}

#[test]
fn every_provider_that_tells_when_it_received_a_mail_is_believed_and_no_header_is() {
    for contract in crate::contracts().filter(|contract| !is_pulled(contract)) {
        let name = contract.name;
        let stated = (!SILENT.contains(&name)).then_some(STATED * 1000);
        for post in posts(name) {
            assert_eq!(received_at(name, &post), stated, "{name}: {}", post.1);
        }
    }
}

#[test]
fn a_provider_that_leaves_its_time_out_has_said_none() {
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
fn amazon_tells_of_the_mail_then_of_the_action_then_of_the_topic() {
    let told = |mail: Option<&str>, receipt: Option<&str>, topic: &str| {
        let message = json!({ "notificationType": "Received", "content": RAW,
            "mail": { "timestamp": mail },
            "receipt": { "recipients": ["x@y.test"], "timestamp": receipt } });
        let post = ("text/plain".to_owned(), sns(&message, topic).to_string());
        received_at("ses-sns", &post)
    };
    let stated = Some(STATED * 1000);
    assert_eq!(told(Some(WRITTEN), Some(ELSES), ELSES), stated);
    assert_eq!(told(None, Some(WRITTEN), ELSES), stated);
    assert_eq!(told(None, None, WRITTEN), stated);
}
