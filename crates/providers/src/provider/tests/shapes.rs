//! Formats that providers really send and that are easy to miss. The fields are
//! those of their documents or of their own code; the values are ours.

use serde_json::{Value, json};

use super::payloads::{decode, form};
use crate::{Decoded, InboundMail, SenderVerdict};

/// The one mail of a post.
fn mail(provider: &str, kind: &str, body: &str) -> InboundMail {
    match decode(provider, kind, body) {
        Ok(Decoded::Mails(mut mails)) if mails.len() == 1 => mails.remove(0),
        other => panic!("{provider}: {other:?}"),
    }
}

fn json_mail(provider: &str, body: &Value) -> InboundMail {
    mail(provider, "application/json", &body.to_string())
}

fn text(mail: &InboundMail) -> String {
    String::from_utf8(mail.raw.clone()).expect("text")
}

/// A post in Postal's hash format, with the fields that its code sends.
fn postal_hash() -> Value {
    json!({
        "id": 77, "rcpt_to": "agent@inbox.test", "mail_from": "no-reply@lighthouse.example",
        "token": "k3x9", "subject": "Confirm your sign-in",
        "message_id": "c0de@lighthouse.example", "timestamp": 1_763_164_800.25, "size": "1042",
        "spam_status": "NotSpam", "bounce": false, "received_with_ssl": true,
        "to": "agent@inbox.test", "cc": null,
        "from": "Lighthouse <no-reply@lighthouse.example>",
        "date": "Sat, 15 Nov 2025 00:00:00 +0000", "in_reply_to": null, "references": null,
        "plain_body": "Your code is 493817.", "html_body": "<p>Your code is 493817.</p>",
        "auto_submitted": null, "attachment_quantity": 0,
    })
}

#[test]
fn postal_hash_format_gives_a_rebuilt_message_as_json_and_as_form_data() {
    let event = postal_hash();
    let as_json = json_mail("postal", &event);
    let pairs = event.as_object().expect("an object").iter();
    let pairs = pairs.filter(|(_, value)| !value.is_null());
    let pairs = pairs.map(|(name, value)| match value {
        Value::String(text) => (name.clone(), text.clone()),
        other => (name.clone(), other.to_string()),
    });
    let mut encoder = form_urlencoded::Serializer::new(String::new());
    encoder.extend_pairs(pairs);
    let as_form = mail(
        "postal",
        "application/x-www-form-urlencoded",
        &encoder.finish(),
    );
    assert_eq!(as_json, as_form);
    assert!(as_json.rebuilt);
    assert_eq!(as_json.recipients, ["agent@inbox.test"]);
    let at = as_json.received_at.map(pipeline::Timestamp::as_millis);
    assert_eq!(at, Some(1_763_164_800_250));
    let message = text(&as_json);
    assert!(message.contains("From: Lighthouse <no-reply@lighthouse.example>\r\n"));
    assert!(message.contains("Message-ID: <c0de@lighthouse.example>"));
    assert!(message.contains("multipart/alternative"), "{message}");
}

#[test]
fn postal_raw_format_as_form_data_gives_the_original() {
    let body = "id=1&rcpt_to=x%40y.test&message=U3ViamVjdDogaGkNCg0K%0A&base64=true&size=15";
    let mail = mail("postal", "application/x-www-form-urlencoded", body);
    assert!(!mail.rebuilt);
    assert_eq!(text(&mail), "Subject: hi\r\n\r\n");
}

#[test]
fn sendgrid_parsed_fields_keep_their_charsets() {
    let (kind, body) = form(&[
        ("envelope", r#"{"to":["x@y.test"],"from":"q"}"#),
        (
            "headers",
            "From: a@b.test\nContent-Type: text/plain; charset=iso-2022-jp",
        ),
        ("text", "\u{1b}$B%3!<%I\u{1b}(B 493817"),
        (
            "charsets",
            r#"{"to":"UTF-8","text":"iso-2022-jp","html":"x\r\nBcc: z@y"}"#,
        ),
        ("html", "<p>493817</p>"),
    ]);
    let message = text(&mail("sendgrid", &kind, &body));
    let plain = "Content-Type: text/plain; charset=iso-2022-jp\r\n";
    assert!(message.contains(plain), "{message}");
    let html = "Content-Type: text/html; charset=utf-8\r\n";
    assert!(
        message.contains(html),
        "a charset cannot add a header: {message}"
    );
}

#[test]
fn resend_without_received_for_uses_to() {
    let event = json!({ "type": "email.received", "data": {
        "email_id": "e1", "from": "a@b.test", "to": ["x@y.test"] } });
    match decode("resend", "application/json", &event.to_string()) {
        Ok(Decoded::RemoteMail(remote)) => assert_eq!(remote.recipients, ["x@y.test"]),
        other => panic!("{other:?}"),
    }
}

#[test]
fn agentmail_spam_blocked_and_unauthenticated_mail_is_read() {
    for (kind, sender, flags) in [
        ("message.received", None, &[][..]),
        ("message.received.spam", None, &["provider_spam"]),
        ("message.received.blocked", None, &["provider_blocked"]),
        (
            "message.received.unauthenticated",
            Some(SenderVerdict::Refuted),
            &[],
        ),
    ] {
        let event = json!({ "event_type": kind, "message": {
            "inbox_id": "x@y.test", "message_id": "<1@b>", "to": [], "text": "Code" } });
        let mail = json_mail("agentmail", &event);
        assert_eq!(mail.sender, sender, "{kind}");
        assert_eq!(mail.flags, flags, "{kind}");
    }
}

/// A polled message comes as `message.received`, whatever it is.
#[test]
fn agentmail_labels_say_the_same_as_the_event() {
    for (labels, sender, flags) in [
        (json!(["received", "unread", "mine"]), None, &[][..]),
        (json!(["received", "spam"]), None, &["provider_spam"]),
        (
            json!(["unauthenticated", "spam", "blocked"]),
            Some(SenderVerdict::Refuted),
            &["provider_spam", "provider_blocked"],
        ),
    ] {
        let event = json!({ "event_type": "message.received", "message": {
            "inbox_id": "x@y.test", "message_id": "<1@b>", "to": [], "text": "Code",
            "labels": labels } });
        let mail = json_mail("agentmail", &event);
        assert_eq!(mail.sender, sender, "{labels}");
        assert_eq!(mail.flags, flags, "{labels}");
    }
}

#[test]
fn nylas_recipients_are_to_cc_and_bcc() {
    let person = |email: &str| json!([{ "name": "", "email": email }]);
    let event = json!({ "type": "message.created", "id": "e", "data": { "object": {
        "id": "1", "grant_id": "g", "from": person("a@b.test"), "body": "<p>493817</p>",
        "to": person("other@y.test"), "cc": person("x@y.test"), "bcc": person("z@y.test") } } });
    let recipients = json_mail("nylas", &event).recipients;
    assert_eq!(recipients, ["other@y.test", "x@y.test", "z@y.test"]);
}

#[test]
fn mailgun_repeated_html_parts_are_joined() {
    let (kind, body) = form(&[
        ("recipient", "x@y.test"),
        ("message-headers", r#"[["From","a@b.test"]]"#),
        ("body-html", "<p>Hello</p>"),
        ("body-html", "<p>493817</p>"),
    ]);
    let message = text(&mail("mailgun", &kind, &body));
    // The base64 of both parts with a line end between.
    assert!(
        message.contains("PHA+SGVsbG88L3A+CjxwPjQ5MzgxNzwvcD4="),
        "{message}"
    );
}

#[test]
fn resend_answer_without_a_link_gives_a_rebuilt_message() {
    let answer = json!({ "id": "e1", "from": "a@b.test", "to": ["x@y.test"], "raw": null,
        "subject": "Hi", "message_id": "<1@b>", "text": "Code 493817", "html": null });
    let message = crate::message_of_answer(answer.to_string().as_bytes()).expect("a message");
    let message = String::from_utf8(message).expect("text");
    assert!(message.starts_with("From: a@b.test\r\nTo: x@y.test\r\nSubject: Hi\r\n"));
    assert!(message.contains("Q29kZSA0OTM4MTc="), "{message}");
    assert_eq!(crate::message_of_answer(b"{}"), None);
}
