//! Events about mail that was sent here, in each provider's format.

use serde_json::{Value, json};
use testkit::sns::{Kind, Sns, TOPIC};

use super::payloads::decode;
use crate::{DecodeError, Decoded, SourceSettings, Sources};

const KEY: &str = "ml-0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9";

fn read(provider: &str, event: &Value) -> Result<Decoded, DecodeError> {
    if provider != "ses-sns" {
        return decode(provider, "application/json", &event.to_string());
    }
    let sns = Sns::at("https://sns.eu-west-1.amazonaws.com");
    let at = pipeline::Timestamp::from_millis(1_763_164_800_000);
    let fields = sns.fields(Kind::Notification, "m-1", &event.to_string(), at);
    let body = Value::Object(sns.signed(fields, "2")).to_string();
    let settings = SourceSettings {
        provider: provider.to_owned(),
        topics: vec![TOPIC.to_owned()],
        ..SourceSettings::default()
    };
    let sources = Sources::build([("ses".to_owned(), settings)].into()).expect("a source");
    let source = sources.get("ses").expect("the source");
    source.decode("text/plain", body.as_bytes())
}

/// An event of this kind about the mail with this key.
fn event(provider: &str, kind: &str, key: &str) -> Value {
    match provider {
        "resend" => json!({"type": kind, "data": {"email_id": "id-1", "tags": {"maillatch": key}}}),
        "postmark" => json!({"RecordType": kind, "MessageID": "id-1", "Tag": key}),
        "mailgun" => json!({"signature": {}, "event-data": {
            "event": kind,
            "user-variables": {"maillatch": key},
            "message": {"headers": {"message-id": "id-1"}},
        }}),
        "sendgrid" => json!([
            {"event": kind, "sg_message_id": "id-1.recvd-a", "maillatch": key},
        ]),
        "ses-sns" => json!({"eventType": kind, "mail": {
            "messageId": "id-1",
            "tags": {"ses:caller-identity": ["user"], "maillatch": [key]},
        }}),
        "nylas" => json!({"type": kind, "data": {"object": {
            "id": "id-1",
            "folders": ["SENT"],
            "headers": [{"name": "X-Maillatch-Send", "value": key}],
        }}}),
        other => panic!("{other}"),
    }
}

/// The kinds that prove acceptance, and kinds that do not.
const KINDS: [(&str, &str, &str); 6] = [
    ("resend", "email.sent", "email.failed"),
    ("postmark", "Delivery", "SubscriptionChange"),
    ("mailgun", "accepted", "rejected"),
    ("sendgrid", "processed", "dropped"),
    ("ses-sns", "Send", "Reject"),
    ("nylas", "message.created", "message.bounce_detected"),
];

#[test]
fn event_of_an_accepted_mail_names_its_key_and_id() {
    for (provider, kind, _) in KINDS {
        let Ok(Decoded::Sent(events)) = read(provider, &event(provider, kind, KEY)) else {
            panic!("{provider}: no proof");
        };
        let [event] = events.as_slice() else {
            panic!("{provider}: {events:?}");
        };
        assert_eq!(event.key.to_string(), KEY, "{provider}");
        let id = event.receipt.as_ref().map(pipeline::Receipt::as_str);
        assert_eq!(id, Some("id-1"), "{provider}");
    }
}

#[test]
fn event_of_a_refused_mail_or_of_a_strangers_proves_nothing() {
    for (provider, kind, refused) in KINDS {
        for event in [event(provider, refused, KEY), event(provider, kind, "tag")] {
            let read = read(provider, &event);
            assert!(matches!(read, Ok(Decoded::Ignored(_))), "{provider}");
        }
    }
}

#[test]
fn feedback_of_ses_names_the_key_in_the_headers_of_the_mail() {
    let feedback = json!({"notificationType": "Bounce", "mail": {
        "messageId": "id-1",
        "headers": [
            {"name": "Subject", "value": "Order"},
            {"name": "X-Maillatch-Send", "value": KEY},
        ],
    }});
    assert!(matches!(read("ses-sns", &feedback), Ok(Decoded::Sent(_))));
}

#[test]
fn events_of_one_list_are_each_read() {
    let one = |key: &str| event("sendgrid", "delivered", key)[0].clone();
    let other = KEY.replace("ml-0a", "ml-0b");
    let list = json!([one(KEY), {"event": "open"}, one(&other)]);
    let Ok(Decoded::Sent(events)) = read("sendgrid", &list) else {
        panic!("no proof");
    };
    let keys: Vec<String> = events.iter().map(|event| event.key.to_string()).collect();
    assert_eq!(keys, [KEY.to_owned(), other]);
}
