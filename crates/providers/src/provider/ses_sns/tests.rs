//! SNS as Amazon signs it, with a key and certificate made for the test. The signed text
//! is built independently of the code under test.

use std::collections::BTreeMap;

use pipeline::Timestamp;
use secrecy::SecretString;
use serde_json::{Map, Value, json};
use testkit::sns::{Kind, Sns, TOPIC};

use crate::{
    Certificate, DecodeError, Decoded, RawRequest, S3Settings, SenderVerdict, SourceSettings,
    Sources, Verified, VerifyError,
};

const NOW: i64 = 1_763_164_800_000;
const ORIGIN: &str = "https://sns.eu-west-1.amazonaws.com";

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(NOW + seconds * 1000)
}

fn settings() -> SourceSettings {
    SourceSettings {
        provider: "ses-sns".to_owned(),
        topics: vec![TOPIC.to_owned()],
        ..SourceSettings::default()
    }
}

fn sources(settings: SourceSettings) -> Sources {
    Sources::build(BTreeMap::from([("ses".to_owned(), settings)])).expect("a source")
}

/// Verifies a post with its certificate.
fn verify(sns: &Sns, body: &str, now: Timestamp) -> Result<Verified, VerifyError> {
    let sources = sources(settings());
    let source = sources.get("ses").expect("the source");
    let request = RawRequest::new([], body.as_bytes());
    source.certificate_url(&request)?;
    let certificate = Certificate::from_pem(sns.certificate().as_bytes());
    source.verify(&request.with_certificate(certificate.as_ref()), now)
}

fn notification(sns: &Sns) -> Map<String, Value> {
    sns.fields(Kind::Notification, "m-1", "a\nmessage", at(0))
}

fn text(fields: Map<String, Value>) -> String {
    Value::Object(fields).to_string()
}

#[test]
fn both_signature_versions_are_accepted_for_every_kind() {
    let sns = Sns::at(ORIGIN);
    for kind in [
        Kind::Notification,
        Kind::SubscriptionConfirmation,
        Kind::UnsubscribeConfirmation,
    ] {
        for version in ["1", "2"] {
            let fields = sns.fields(kind, "m-1", "text", at(0));
            let body = text(sns.signed(fields, version));
            assert!(verify(&sns, &body, at(0)).is_ok(), "{kind:?} {version}");
        }
    }
}

#[test]
fn subject_is_part_of_the_signed_text() {
    let sns = Sns::at(ORIGIN);
    let mut fields = notification(&sns);
    fields.insert("Subject".to_owned(), json!("Mail"));
    let mut signed = sns.signed(fields, "2");
    assert!(verify(&sns, &text(signed.clone()), at(0)).is_ok());
    signed.insert("Subject".to_owned(), json!("Other"));
    let changed = verify(&sns, &text(signed.clone()), at(0));
    assert_eq!(changed, Err(VerifyError::SignatureMismatch));
    signed.remove("Subject");
    let removed = verify(&sns, &text(signed), at(0));
    assert_eq!(removed, Err(VerifyError::SignatureMismatch));
}

#[test]
fn post_with_a_changed_signed_field_is_refused() {
    let sns = Sns::at(ORIGIN);
    let fields = sns.fields(Kind::SubscriptionConfirmation, "m-1", "text", at(0));
    let signed = sns.signed(fields, "2");
    for (name, value) in [
        ("Message", "other"),
        ("MessageId", "m-2"),
        ("Timestamp", "2025-11-15T00:00:01Z"),
        ("Token", "b-token"),
        ("SubscribeURL", "https://evil.test/"),
        ("Type", "UnsubscribeConfirmation"),
        ("SignatureVersion", "1"),
        ("Signature", "AAAA"),
    ] {
        let mut changed = signed.clone();
        changed.insert(name.to_owned(), json!(value));
        let outcome = verify(&sns, &text(changed), at(0));
        assert_eq!(outcome, Err(VerifyError::SignatureMismatch), "{name}");
    }
}

#[test]
fn post_with_a_missing_or_malformed_proof_field_is_refused() {
    let sns = Sns::at(ORIGIN);
    let signed = sns.signed(notification(&sns), "2");
    for name in [
        "Type",
        "MessageId",
        "TopicArn",
        "Message",
        "Timestamp",
        "SignatureVersion",
        "Signature",
        "SigningCertURL",
    ] {
        let mut changed = signed.clone();
        changed.remove(name);
        let outcome = verify(&sns, &text(changed), at(0));
        assert_eq!(outcome, Err(VerifyError::ProofMissing), "{name}");
    }
    for (name, value) in [
        ("SignatureVersion", "3"),
        ("Signature", "not base64"),
        ("Timestamp", "yesterday"),
        ("MessageId", "m-1\nSubject\nx"),
        ("Type", "Other"),
    ] {
        let mut changed = signed.clone();
        changed.insert(name.to_owned(), json!(value));
        let outcome = verify(&sns, &text(changed), at(0));
        assert_eq!(outcome, Err(VerifyError::ProofMissing), "{name}");
    }
}

#[test]
fn validly_signed_post_of_another_topic_is_refused() {
    let sns = Sns::at(ORIGIN);
    let mut fields = notification(&sns);
    let foreign = "arn:aws:sns:eu-west-1:999999999999:mail";
    fields.insert("TopicArn".to_owned(), json!(foreign));
    let outcome = verify(&sns, &text(sns.signed(fields, "2")), at(0));
    assert_eq!(outcome, Err(VerifyError::TopicForeign));
}

#[test]
fn certificate_url_of_another_host_is_refused() {
    for origin in [
        "https://sns.evil.com.amazonaws.com.attacker",
        "https://sns.us-east-1.amazonaws.com",
        "http://sns.eu-west-1.amazonaws.com",
        "https://evil.test",
    ] {
        let sns = Sns::at(origin);
        let body = sns.post(Kind::Notification, "m-1", "text", at(0));
        let outcome = verify(&sns, &body, at(0));
        assert_eq!(outcome, Err(VerifyError::CertificateForeign), "{origin}");
    }
}

#[test]
fn post_without_its_certificate_is_refused() {
    let sns = Sns::at(ORIGIN);
    let body = sns.post(Kind::Notification, "m-1", "text", at(0));
    let sources = sources(settings());
    let request = RawRequest::new([], body.as_bytes());
    let outcome = sources.get("ses").expect("it").verify(&request, at(0));
    assert_eq!(outcome, Err(VerifyError::CertificateMissing));
}

#[test]
fn retry_after_50_minutes_has_the_same_key_and_after_a_day_is_stale() {
    let sns = Sns::at(ORIGIN);
    let body = sns.post(Kind::Notification, "m-1", "text", at(0));
    let first = verify(&sns, &body, at(0)).expect("proven");
    let late = verify(&sns, &body, at(50 * 60)).expect("proven");
    assert_eq!(first, late);
    let replay = verify(&sns, &body, at(24 * 3600));
    assert_eq!(replay, Err(VerifyError::Stale(24 * 3600)));
}

fn decode(settings: SourceSettings, message: &Value) -> Result<Decoded, DecodeError> {
    let sns = Sns::at(ORIGIN);
    let message = match message {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let body = sns.post(Kind::Notification, "m-1", &message, at(0));
    let sources = sources(settings);
    let source = sources.get("ses").expect("the source");
    source.decode("text/plain; charset=UTF-8", body.as_bytes())
}

fn received(action: &Value, content: Option<&str>) -> Value {
    let mut message = json!({
        "notificationType": "Received",
        "mail": { "messageId": "s", "destination": ["other@inbox.test"] },
        "receipt": { "recipients": ["agent@inbox.test"], "action": action },
    });
    if let Some(content) = content {
        message["content"] = json!(content);
    }
    message
}

#[test]
fn content_is_text_or_base64_as_the_action_says() {
    for (encoding, content) in [
        ("UTF8", "Subject: x\r\n\r\ny"),
        ("BASE64", "U3ViamVjdDogeA0KDQp5"),
    ] {
        let action = json!({ "type": "SNS", "encoding": encoding });
        let decoded = decode(settings(), &received(&action, Some(content)));
        let Ok(Decoded::Mails(mails)) = decoded else {
            panic!("{encoding}: {decoded:?}");
        };
        assert_eq!(mails[0].recipients, ["agent@inbox.test"]);
        assert_eq!(mails[0].raw, b"Subject: x\r\n\r\ny");
        assert!(!mails[0].rebuilt);
    }
}

#[test]
fn mail_in_the_sources_bucket_is_remote_and_other_buckets_are_refused() {
    let s3 = |bucket: &str| SourceSettings {
        s3: Some(S3Settings {
            bucket: bucket.to_owned(),
            access_key: "AKIA".to_owned(),
            secret_key: SecretString::from("secret"),
            region: None,
            url: None,
        }),
        ..settings()
    };
    let action = json!({ "type": "S3", "bucketName": "mail", "objectKey": "in/a b" });
    let Ok(Decoded::RemoteMail(place)) = decode(s3("mail"), &received(&action, None)) else {
        panic!("it is not elsewhere");
    };
    assert_eq!(place.path, ["mail", "in", "a b"]);
    assert_eq!(place.recipients, ["agent@inbox.test"]);
    let foreign = decode(s3("other"), &received(&action, None));
    assert_eq!(foreign, Err(DecodeError::BucketForeign));

    let sources = sources(s3("mail"));
    let api = sources
        .get("ses")
        .and_then(|source| source.api())
        .expect("an API");
    assert_eq!(api.url, "https://s3.eu-west-1.amazonaws.com");
    assert_eq!(
        api.scope.as_ref().map(|scope| scope.region.as_str()),
        Some("eu-west-1")
    );
}

#[test]
fn only_the_dmarc_verdict_becomes_a_sender_verdict() {
    let action = json!({ "type": "SNS", "encoding": "UTF8" });
    for (status, verdict) in [
        ("PASS", Some(SenderVerdict::Proven)),
        ("FAIL", Some(SenderVerdict::Refuted)),
        ("GRAY", None),
        ("PROCESSING_FAILED", None),
    ] {
        let mut message = received(&action, Some("Subject: x\r\n\r\ny"));
        message["receipt"]["dmarcVerdict"] = json!({ "status": status });
        message["receipt"]["dkimVerdict"] = json!({ "status": "PASS" });
        let Ok(Decoded::Mails(mails)) = decode(settings(), &message) else {
            panic!("{status}: no mail");
        };
        assert_eq!(mails[0].sender, verdict, "{status}");
    }
}

/// The verdict is about these senders, so they go where the verdict goes.
#[test]
fn senders_that_ses_has_read_are_stated_with_its_verdict() {
    let inline = json!({ "type": "SNS", "encoding": "UTF8" });
    let stored = json!({ "type": "S3", "bucketName": "b", "objectKey": "k" });
    for (from, stated) in [
        (json!(["Shop <a@b.test>"]), Some("Shop <a@b.test>")),
        (json!(["a@b.test", "c@d.test"]), Some("a@b.test, c@d.test")),
        (json!([]), None),
    ] {
        for (action, content) in [(&inline, Some("From: a@b.test\r\n\r\ny")), (&stored, None)] {
            let mut message = received(action, content);
            message["mail"]["commonHeaders"]["from"] = from.clone();
            let found = match decode(settings(), &message) {
                Ok(Decoded::Mails(mails)) => mails[0].stated_from.clone(),
                Ok(Decoded::RemoteMail(mail)) => mail.stated_from,
                other => panic!("{other:?}"),
            };
            assert_eq!(found.as_deref(), stated, "{from}");
        }
    }
}

#[test]
fn failed_spam_and_virus_verdicts_become_flags() {
    let action = json!({ "type": "SNS", "encoding": "UTF8" });
    let stored = json!({ "type": "S3", "bucketName": "b", "objectKey": "k" });
    for (spam, virus, flags) in [
        ("PASS", "PASS", &[][..]),
        ("GRAY", "PROCESSING_FAILED", &[]),
        ("FAIL", "PASS", &["provider_spam"]),
        ("FAIL", "FAIL", &["provider_spam", "provider_virus"]),
    ] {
        for (action, content) in [(&action, Some("Subject: x\r\n\r\ny")), (&stored, None)] {
            let mut message = received(action, content);
            message["receipt"]["spamVerdict"] = json!({ "status": spam });
            message["receipt"]["virusVerdict"] = json!({ "status": virus });
            let found = match decode(settings(), &message) {
                Ok(Decoded::Mails(mails)) => mails[0].flags.clone(),
                Ok(Decoded::RemoteMail(mail)) => mail.flags,
                other => panic!("{other:?}"),
            };
            assert_eq!(found, flags, "{spam} {virus}");
        }
    }
}

#[test]
fn other_notifications_are_ignored() {
    for message in [
        json!({ "notificationType": "Bounce" }),
        json!({ "notificationType": "AMAZON_SES_SETUP_NOTIFICATION" }),
        json!("Successfully validated SNS topic for Amazon SES event publishing."),
    ] {
        let decoded = decode(settings(), &message);
        assert!(matches!(decoded, Ok(Decoded::Ignored(_))), "{decoded:?}");
    }
    let odd = decode(settings(), &received(&json!({ "type": "Lambda" }), None));
    assert_eq!(odd, Err(DecodeError::Malformed));
}

#[test]
fn subscription_is_confirmed_at_the_topics_own_sns() {
    let sns = Sns::at(ORIGIN);
    let mut fields = sns.fields(Kind::SubscriptionConfirmation, "m-1", "text", at(0));
    fields.insert(
        "SubscribeURL".to_owned(),
        json!("https://evil.test/?Token=x"),
    );
    let body = text(sns.signed(fields, "2"));
    let sources = sources(settings());
    let decoded = sources
        .get("ses")
        .expect("it")
        .decode("text/plain", body.as_bytes());
    let Ok(Decoded::Confirm(confirmation)) = decoded else {
        panic!("{decoded:?}");
    };
    assert_eq!(confirmation.base, ORIGIN);
    assert_eq!(
        confirmation.query,
        [
            ("Action", "ConfirmSubscription".to_owned()),
            ("TopicArn", TOPIC.to_owned()),
            ("Token", "a-token".to_owned()),
        ]
    );
}

#[test]
fn source_without_a_valid_topic_is_refused() {
    for topics in [vec![], vec!["arn:aws:sqs:x:1:m".to_owned()]] {
        let settings = SourceSettings {
            topics,
            ..settings()
        };
        assert!(Sources::build(BTreeMap::from([("ses".to_owned(), settings)])).is_err());
    }
}
