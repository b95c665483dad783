//! Published and computed signatures of every scheme, checked at the time of signing,
//! and what each scheme must refuse.

use std::collections::BTreeMap;

use pipeline::Timestamp;
use secrecy::SecretString;

use crate::{Coverage, RawRequest, SchemeSettings, SourceSettings, Sources, Verified, VerifyError};

const EVENT: &[u8] = br#"{"type":"message.received","id":"evt_1"}"#;
const FORM: &str = "application/x-www-form-urlencoded";

/// A signed post from a provider's documents or tests, or computed by its formula.
struct Vector {
    settings: SourceSettings,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    seconds: i64,
    /// The header or field whose change must break the proof.
    proof: &'static str,
}

impl Vector {
    fn verify_at(&self, seconds: i64) -> Result<Verified, VerifyError> {
        verify(&self.settings, &self.headers, &self.body, seconds)
    }

    fn verify(&self) -> Result<Verified, VerifyError> {
        self.verify_at(self.seconds)
    }
}

fn verify(
    settings: &SourceSettings,
    headers: &[(&'static str, String)],
    body: &[u8],
    seconds: i64,
) -> Result<Verified, VerifyError> {
    let settings = BTreeMap::from([("main".to_owned(), settings.clone())]);
    let sources = Sources::build(settings).expect("a source");
    let headers = headers
        .iter()
        .map(|(name, value)| (*name, value.as_bytes()));
    let request = RawRequest::new(headers, body);
    let source = sources.get("main").expect("the source");
    source.verify(&request, Timestamp::from_millis(seconds * 1000))
}

fn provider(name: &str, secret: &str) -> SourceSettings {
    SourceSettings {
        provider: name.to_owned(),
        secrets: vec![SecretString::from(secret).into()],
        ..SourceSettings::default()
    }
}

fn scheme(name: &str, secret: &str, scheme: SchemeSettings) -> SourceSettings {
    SourceSettings {
        scheme: Some(scheme),
        ..provider(name, secret)
    }
}

/// The vector of the specification's own test suite, and its Ed25519 twin.
fn standard_webhooks() -> Vec<Vector> {
    let body = br#"{"email":"test@example.com","username":"test_user"}"#;
    let vector = |settings, signature: &str| Vector {
        settings,
        headers: vec![
            ("webhook-id", "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk".to_owned()),
            ("webhook-timestamp", "1649367553".to_owned()),
            ("webhook-signature", signature.to_owned()),
        ],
        body: body.to_vec(),
        seconds: 1_649_367_553,
        proof: "webhook-signature",
    };
    let public = SourceSettings {
        provider: "standard-webhooks".to_owned(),
        public_key: Some("whpk_A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=".into()),
        ..SourceSettings::default()
    };
    vec![
        vector(
            provider(
                "standard-webhooks",
                "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
            ),
            "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=",
        ),
        vector(
            public,
            "v1a,CnkujwXFUOk59gNZFCCzmJ2MkkC0yKa+OmyYFXFtPnxkRhEkUBAd4PGNNNjLh4huOXNuqy+Eyxud5+\
             wHP2ezBA==",
        ),
    ]
}

/// GitHub's documented vector, Nylas, and others that sign only the body.
fn body_alone() -> Vec<Vector> {
    let vector = |settings, header, signature: &str, body: &str| Vector {
        settings,
        headers: vec![(header, signature.to_owned())],
        body: body.into(),
        seconds: 1_763_164_800,
        proof: header,
    };
    let skyvern = scheme(
        "generic",
        "test-key",
        SchemeSettings {
            signature_header: Some("x-skyvern-signature".into()),
            ..SchemeSettings::default()
        },
    );
    vec![
        vector(
            provider("github-style", "It's a Secret to Everybody"),
            "x-hub-signature-256",
            "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
            "Hello, World!",
        ),
        vector(
            provider("nylas", "test-secret"),
            "x-nylas-signature",
            "001a93cc90c9f67b81d2c9efc0167f78417268aea1261dc63cd0780ef6a9cfb9",
            r#"{"type":"message.created"}"#,
        ),
        vector(
            provider("mailersend", "test-secret"),
            "signature",
            "001a93cc90c9f67b81d2c9efc0167f78417268aea1261dc63cd0780ef6a9cfb9",
            r#"{"type":"message.created"}"#,
        ),
        vector(
            skyvern,
            "x-skyvern-signature",
            "07956e27c92305350ffe4016d079842fd76d8a11ba46bd07fa1feda62fa16785",
            r#"{"task_id": "tsk_1"}"#,
        ),
    ]
}

/// Stripe's one header, in seconds and in milliseconds.
fn one_header() -> Vec<Vector> {
    let vector = |header: &'static str, secret, unit: &str, signature: &str| Vector {
        settings: scheme(
            "stripe-style",
            secret,
            SchemeSettings {
                signature_header: Some(header.into()),
                unit: Some(unit.into()),
                ..SchemeSettings::default()
            },
        ),
        headers: vec![(header, signature.to_owned())],
        body: EVENT.to_vec(),
        seconds: 1_763_164_800,
        proof: header,
    };
    vec![
        vector(
            "x-mails-signature",
            "whsec_test_secret",
            "seconds",
            "t=1763164800,v1=b60aecc7d03ec30f545bce11f7ac01614930741317771dd86ef7140744e0fee4",
        ),
        vector(
            "x-mailkite-signature",
            "test-secret",
            "milliseconds",
            "t=1763164800000,v1=263ff73a168216c67c9433f0b6b112c747b51f52b7b49568abe582e9cc575967",
        ),
    ]
}

/// A timestamp in its own header, in seconds and in milliseconds.
fn two_headers() -> Vec<Vector> {
    let vector = |secret, prefix: &str, (unit, stamp): (&str, &str), hex: &str| Vector {
        settings: scheme(
            "generic",
            secret,
            SchemeSettings {
                signature_header: Some("x-signature".into()),
                timestamp_header: Some("x-timestamp".into()),
                signed: Some("{timestamp}.{body}".into()),
                prefix: Some(prefix.into()),
                unit: Some(unit.into()),
                ..SchemeSettings::default()
            },
        ),
        headers: vec![
            ("x-timestamp", stamp.to_owned()),
            ("x-signature", format!("{prefix}{hex}")),
        ],
        body: EVENT.to_vec(),
        seconds: 1_763_164_800,
        proof: "x-signature",
    };
    vec![
        vector(
            "whsec_test_secret",
            "v1=",
            ("milliseconds", "1763164800000"),
            "dacfb786d9e9a8f1791795e124949dcd56602c60b6806715d6a6711b91278ed9",
        ),
        vector(
            "test-secret",
            "sha256=",
            ("seconds", "1763164800"),
            "44dbf8bac9d1e768831287a2ec9f2976fe186a785a14b94820eb9f4c310dfd6f",
        ),
    ]
}

/// Made with a 1024-bit key whose private key was deleted.
const POSTAL_KEY: &str = "MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDPuBAPwo/5rvjspa9Z5iJxzWTfH50Y8UsFsegr2y6cLf13mIuYTNY7MyzNlBx1FEIcTLjESRbky4vXjjIczOZ0OuhfF6sIq0su2nNpskXh6ryC7GS+A/11/eVzqQYUP5HoCxW/OBrK5z7KEtrsrhbfRFAGmEBR7u7PRoT159aMdwIDAQAB";
const POSTAL_SIGNATURE: &str = "CEdYi5yGXZWa4HpioVf2wcQQQhTS8MqDwVBdOwE/dTcZCttvZVgzi2NKa1cEGDL+LUChToUVPcQPeQRPJ8MBSl4zyAe7GG4ZGvlh4KD0CmcWnM3y0DrE534g1qtj2dEe/E/em0hyxr12VfE9tDwjUxM3RlBd2cy2EZURqmHF1U8=";
const POSTAL_BODY: &[u8] =
    br#"{"id":1,"rcpt_to":"x@y.test","message":"U3ViamVjdDogaGkNCg0K","base64":true}"#;

/// The vector of Rails' tests: a form that signs its time and token alone.
fn mailgun() -> Vector {
    let mailgun = "timestamp=1539112500&token=7VwW7k6Ak7zcTwoSoNm7aTtbk1g67MKAnsYLfUB7PdszbgR5Xi\
        &signature=ef24c5225322217bb065b80bb54eb4f9206d764e3e16abab07f0a64d1cf477cc\
        &recipient=a%40b.test&body-mime=Subject%3A+x";
    Vector {
        settings: provider(
            "mailgun",
            "tbsy84uSV1Kt3ZJZELY2TmShPRs91E3yL4tzf96297vBCkDWgL",
        ),
        headers: vec![("content-type", FORM.to_owned())],
        body: mailgun.into(),
        seconds: 1_539_112_500,
        proof: "in the body",
    }
}

/// The vector of `SendGrid`'s own client: ECDSA over time and body.
fn sendgrid() -> Vector {
    let key = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEEDr2LjtURuePQzplybdC+u4CwrqDqBaWjcMMsTbhdbcwHBcep\
        xo7yAQGhHPTnlvFYPAZFceEu/1FwCM/QmGUhA==";
    let signature = "MEUCIQCtIHJeH93Y+qpYeWrySphQgpNGNr/U+UyUlBkU6n7RAwIgJTz2C+8a8xonZGi6BpSzoQsbVRam\
        r2nlxFDWYNH2j/0=";
    Vector {
        settings: SourceSettings {
            provider: "sendgrid".to_owned(),
            public_key: Some(key.into()),
            ..SourceSettings::default()
        },
        headers: vec![
            (
                "x-twilio-email-event-webhook-timestamp",
                "1588788367".to_owned(),
            ),
            (
                "x-twilio-email-event-webhook-signature",
                signature.to_owned(),
            ),
        ],
        body: br#"{"category":"example_payload","event":"test_event","message_id":"message_id"}"#
            .to_vec(),
        seconds: 1_588_788_367,
        proof: "x-twilio-email-event-webhook-signature",
    }
}

/// RSA over the body.
fn postal() -> Vector {
    Vector {
        settings: SourceSettings {
            provider: "postal".to_owned(),
            public_key: Some(POSTAL_KEY.into()),
            ..SourceSettings::default()
        },
        headers: vec![("x-postal-signature", POSTAL_SIGNATURE.to_owned())],
        body: POSTAL_BODY.to_vec(),
        seconds: 1_763_164_800,
        proof: "x-postal-signature",
    }
}

/// SHA-1 over URL and form.
fn mandrill() -> Vector {
    Vector {
        settings: SourceSettings {
            url: Some("https://example.com/hook".into()),
            ..provider("mandrill", "test-key")
        },
        headers: vec![
            ("content-type", FORM.to_owned()),
            (
                "x-mandrill-signature",
                "ZT7SWh/rAEyv7yEkqTGXhi68YCA=".to_owned(),
            ),
        ],
        body: b"mandrill_events=%5B%5D".to_vec(),
        seconds: 1_763_164_800,
        proof: "x-mandrill-signature",
    }
}

fn all() -> Vec<Vector> {
    [
        standard_webhooks(),
        body_alone(),
        one_header(),
        two_headers(),
        vec![mailgun(), sendgrid(), postal(), mandrill()],
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[test]
fn every_vector_is_accepted() {
    for vector in all() {
        let verified = vector.verify();
        let name = &vector.settings.provider;
        let verified = verified.unwrap_or_else(|flaw| panic!("{name}: {flaw}"));
        let expected = match name.as_str() {
            "mailgun" => Coverage::TokenOnly,
            _ => Coverage::Body,
        };
        assert_eq!(verified.coverage(), expected, "{name}");
    }
}

#[test]
fn vector_with_a_changed_body_is_refused() {
    for vector in all()
        .iter()
        .filter(|one| one.settings.provider != "mailgun")
    {
        for at in 0..vector.body.len() {
            let mut body = vector.body.clone();
            body[at] ^= 1;
            let answer = verify(&vector.settings, &vector.headers, &body, vector.seconds);
            assert!(answer.is_err(), "{} {at}", vector.settings.provider);
        }
        let longer = [vector.body.as_slice(), b"\n"].concat();
        let answer = verify(&vector.settings, &vector.headers, &longer, vector.seconds);
        assert!(answer.is_err(), "{}", vector.settings.provider);
    }
}

#[test]
fn vector_with_a_changed_header_is_refused() {
    for vector in all() {
        let name = &vector.settings.provider;
        for (at, (header, value)) in vector.headers.iter().enumerate() {
            let mut without = vector.headers.clone();
            without.remove(at);
            let mut twice = vector.headers.clone();
            twice.push((header, value.clone()));
            for headers in [without, twice] {
                let answer = verify(&vector.settings, &headers, &vector.body, vector.seconds);
                assert!(answer.is_err(), "{name} {header}");
            }
        }
        let proof = |(_, (header, _)): &(usize, &(&str, String))| *header == vector.proof;
        let Some((at, (_, value))) = vector.headers.iter().enumerate().find(proof) else {
            continue;
        };
        let upper = value.to_uppercase();
        let (front, back) = (value.replacen(['v', 's', 't', 'Z', 'M', '0'], "", 1), "");
        for changed in [
            upper,
            front,
            back.to_owned(),
            format!("{value}0"),
            "é".to_owned(),
        ] {
            let mut headers = vector.headers.clone();
            headers[at].1 = changed.clone();
            let answer = verify(&vector.settings, &headers, &vector.body, vector.seconds);
            assert!(answer.is_err(), "{name} {changed}");
        }
    }
}

#[test]
fn wrong_secret_is_refused_and_either_of_two_secrets_is_accepted() {
    for vector in all().iter().filter(|one| !one.settings.secrets.is_empty()) {
        let other = SecretString::from("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX");
        let mut settings = vector.settings.clone();
        settings.secrets.insert(0, other.into());
        let both = verify(&settings, &vector.headers, &vector.body, vector.seconds);
        assert!(both.is_ok(), "{}", settings.provider);
        settings.secrets.truncate(1);
        let answer = verify(&settings, &vector.headers, &vector.body, vector.seconds);
        assert_eq!(
            answer,
            Err(VerifyError::SignatureMismatch),
            "{}",
            settings.provider
        );
    }
}

#[test]
fn proof_older_than_the_providers_window_is_stale() {
    let windows: BTreeMap<&str, Option<i64>> = BTreeMap::from([
        ("standard-webhooks", Some(300)),
        ("stripe-style", Some(300)),
        ("generic", Some(300)),
        ("mailgun", Some(9 * 3600)),
        ("sendgrid", Some(73 * 3600)),
        ("github-style", None),
        ("nylas", None),
        ("mailersend", None),
        ("mandrill", None),
        ("postal", None),
    ]);
    for vector in all() {
        let name = vector.settings.provider.as_str();
        let is_timed = !vector
            .headers
            .iter()
            .any(|(header, _)| *header == "x-skyvern-signature");
        match windows[name] {
            Some(window) if is_timed => {
                assert!(vector.verify_at(vector.seconds + window).is_ok(), "{name}");
                for late in [window + 1, -window - 1] {
                    let answer = vector.verify_at(vector.seconds + late);
                    assert_eq!(answer, Err(VerifyError::Stale(late)), "{name}");
                }
            }
            _ => assert!(
                vector.verify_at(vector.seconds + 1_000_000).is_ok(),
                "{name}"
            ),
        }
    }
}

#[test]
fn mailgun_form_with_a_changed_proof_field_is_refused() {
    let vector = mailgun();
    let good = String::from_utf8(vector.body.clone()).expect("text");
    for (from, to) in [
        ("timestamp=1539112500", "timestamp=1539112501"),
        ("timestamp=", "time="),
        ("token=7", "token=8"),
        ("token=", "token=x&token="),
        ("token=7", "token=7."),
        ("signature=ef", "signature=EF"),
        ("signature=ef", "signature=ee"),
        ("signature=", "sign="),
    ] {
        assert!(good.contains(from), "{from}");
        let body = good.replacen(from, to, 1);
        let answer = verify(
            &vector.settings,
            &vector.headers,
            body.as_bytes(),
            vector.seconds,
        );
        assert!(answer.is_err(), "{to}");
    }
}

#[test]
fn mailgun_retry_after_seven_hours_has_the_same_key() {
    let vector = mailgun();
    let first = vector.verify().expect("verified");
    let late = vector
        .verify_at(vector.seconds + 7 * 3600)
        .expect("verified");
    assert_eq!(first, late);
}

#[test]
fn mailgun_token_with_another_body_has_another_content_digest() {
    let vector = mailgun();
    let first = vector.verify().expect("verified");
    let body = String::from_utf8(vector.body.clone()).expect("text");
    let other = body.replace("Subject", "Object");
    let forged = verify(
        &vector.settings,
        &vector.headers,
        other.as_bytes(),
        vector.seconds,
    );
    let forged = forged.expect("the proof does not cover the body");
    assert_eq!(forged.key(), first.key());
    assert_ne!(forged.content(), first.content());
    assert_eq!(forged.coverage(), Coverage::TokenOnly);
}

#[test]
fn mandrill_form_split_differently_is_refused() {
    let vector = mandrill();
    for cut in [
        "mandrill_event=s%5B%5D",
        "mandrill_events=%5B&%5D=",
        "mandrill_events%5B%5D=",
    ] {
        let answer = verify(
            &vector.settings,
            &vector.headers,
            cut.as_bytes(),
            vector.seconds,
        );
        assert!(answer.is_err(), "{cut}");
    }
}

#[test]
fn second_signature_in_one_header_is_accepted() {
    let vector = &one_header()[0];
    let (header, value) = &vector.headers[0];
    let rotated = value.replace(",v1=", &format!(",v1={},v1=", "00".repeat(32)));
    let answer = verify(
        &vector.settings,
        &[(header, rotated)],
        &vector.body,
        vector.seconds,
    );
    assert!(answer.is_ok());
}

#[test]
fn post_with_an_unsigned_id_header_is_keyed_by_content() {
    let vector = &body_alone()[0];
    let without = vector.verify().expect("verified");
    let mut headers = vector.headers.clone();
    headers.push(("x-github-delivery", "72d3162e-cc78-11e3".to_owned()));
    let with = verify(&vector.settings, &headers, &vector.body, vector.seconds).expect("verified");
    assert_eq!(with, without, "GitHub does not sign the id");
}

#[test]
fn nylas_retry_with_another_attempt_count_is_the_same_delivery() {
    let post = |body: &str| {
        let settings = provider("nylas", "test-secret");
        let setting = settings.secrets[0].clone();
        let key = crate::proof::key::Key::new(
            &setting,
            crate::proof::key::KeyForm::Literal,
            crate::proof::key::Digest::Sha256,
        );
        let mac = key.expect("a key").sign(&[body.as_bytes()]);
        let hex = mac
            .as_ref()
            .iter()
            .fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
        verify(
            &settings,
            &[("x-nylas-signature", hex)],
            body.as_bytes(),
            1_763_164_800,
        )
    };
    let first = post(r#"{"id":"n1","webhook_delivery_attempt":1,"data":{}}"#).expect("verified");
    let retry = post(r#"{"id":"n1","webhook_delivery_attempt":2,"data":{}}"#).expect("verified");
    let changed = post(r#"{"id":"n1","data":{"object":{}}}"#).expect("verified");
    let other = post(r#"{"id":"n2","webhook_delivery_attempt":1,"data":{}}"#).expect("verified");
    assert_eq!(first, retry, "the attempt count is not part of the content");
    assert_eq!(first.key(), changed.key());
    assert_ne!(first.content(), changed.content());
    assert_ne!(first.key(), other.key());
}
