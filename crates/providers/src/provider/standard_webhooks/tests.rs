//! The signature rows of the bad-input catalogue, and the payload rows of Maillatch's own
//! payload.

use std::collections::BTreeMap;

use pipeline::Reason;

use super::*;
use crate::{
    DecodeError, Decoded, InboundMail, RawRequest, Source, SourceError, Sources, Verified,
    VerifyError,
};

/// The vector of the specification's own test suite.
const SECRET: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const ID: &str = "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk";
const STAMP: &str = "1649367553";
const BODY: &[u8] = br#"{"email":"test@example.com","username":"test_user"}"#;
const SIGNATURE: &str = "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=";

fn now() -> Timestamp {
    Timestamp::from_millis(1_649_367_553_000)
}

fn later(seconds: i64) -> Timestamp {
    Timestamp::from_millis(now().as_millis() + seconds * 1000)
}

fn built(settings: SourceSettings) -> Result<Sources, SourceError> {
    Sources::build(BTreeMap::from([("main".to_owned(), settings)]))
}

fn secrets(texts: &[&str]) -> SourceSettings {
    SourceSettings::standard_webhooks(texts.iter().map(|&text| SecretString::from(text)))
}

fn check(
    settings: SourceSettings,
    headers: &[(&str, &str)],
    body: &[u8],
    at: Timestamp,
) -> Result<Verified, VerifyError> {
    let sources = built(settings).expect("usable settings");
    let source: &Source = sources.get("main").expect("the source");
    let headers = headers
        .iter()
        .map(|(name, value)| (*name, value.as_bytes()));
    source.verify(&RawRequest::new(headers, body), at)
}

fn with(headers: &[(&str, &str)]) -> Result<Verified, VerifyError> {
    check(secrets(&[SECRET]), headers, BODY, now())
}

fn signed(id: &str, stamp: &str, signature: &str) -> Result<Verified, VerifyError> {
    with(&[
        ("webhook-id", id),
        ("webhook-timestamp", stamp),
        ("webhook-signature", signature),
    ])
}

/// A signature over any id and timestamp text, however malformed.
fn forge_shape(id: &str, stamp: &str) -> String {
    let key = Key::new(
        &SecretString::from(SECRET).into(),
        KeyForm::Whsec,
        Digest::Sha256,
    )
    .expect("a key");
    let mac = key.sign(&[id.as_bytes(), b".", stamp.as_bytes(), b".", BODY]);
    format!("v1,{}", STANDARD.encode(mac))
}

const GOOD: [(&str, &str); 3] = [
    ("webhook-id", ID),
    ("webhook-timestamp", STAMP),
    ("webhook-signature", SIGNATURE),
];

#[test]
fn published_vector_is_accepted_with_both_header_families() {
    let verified = with(&GOOD).expect("verified");
    assert_eq!(verified.coverage(), Coverage::Body);
    let svix = with(&[
        ("svix-id", ID),
        ("svix-timestamp", STAMP),
        ("Svix-Signature", SIGNATURE),
    ]);
    assert_eq!(svix, Ok(verified));
}

#[test]
fn our_signature_equals_the_published_one() {
    let signature = sign(&SecretString::from(SECRET), ID, now(), BODY);
    assert_eq!(signature.as_deref(), Ok(SIGNATURE));
}

#[test]
fn s1_s2_missing_header_is_refused() {
    for missing in 0..3 {
        let mut headers = GOOD.to_vec();
        headers.remove(missing);
        assert_eq!(with(&headers), Err(VerifyError::HeaderMissing), "{missing}");
    }
    assert_eq!(with(&[]), Err(VerifyError::HeaderMissing));
}

#[test]
fn s4_s5_changed_body_is_refused() {
    let respaced = br#"{"email": "test@example.com", "username": "test_user"}"#;
    let mut stray = BODY.to_vec();
    stray.push(b'\n');
    let flips = (0..BODY.len()).map(|at| {
        let mut flipped = BODY.to_vec();
        flipped[at] ^= 1;
        flipped
    });
    for body in flips.chain([respaced.to_vec(), stray, Vec::new()]) {
        assert_eq!(
            check(secrets(&[SECRET]), &GOOD, &body, now()),
            Err(VerifyError::SignatureMismatch)
        );
    }
}

#[test]
fn s7_s8_other_spellings_of_the_mac_are_refused() {
    let hex = "b59d48e3f843ca000980ee5363189277a49dd240d6ea13de9c37be6d36b72a4c";
    let url = SIGNATURE.replace('+', "-").replace('/', "_");
    for bad in [
        format!("v1,{hex}"),
        url,
        SIGNATURE.trim_end_matches('=').to_owned(),
        format!("{SIGNATURE}\n"),
        format!("{SIGNATURE}="),
        SIGNATURE.replace("v1,", "V1,"),
        SIGNATURE.replace("v1,", ""),
        SIGNATURE.replace("v1,", "v1a,"),
        "v1,".to_owned(),
        String::new(),
    ] {
        assert!(signed(ID, STAMP, &bad).is_err(), "{bad:?}");
    }
}

#[test]
fn s10_valid_signature_is_accepted_at_any_position() {
    let wrong = "v1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    for list in [
        format!("v1a,AAAA {SIGNATURE}"),
        format!("{wrong} v2,AAAA {SIGNATURE} {wrong}"),
    ] {
        assert!(signed(ID, STAMP, &list).is_ok(), "{list}");
    }
}

#[test]
fn s11_more_than_ten_signatures_are_refused() {
    let eleven = [SIGNATURE; 11].join(" ");
    assert_eq!(
        signed(ID, STAMP, &eleven),
        Err(VerifyError::SignatureTooLarge)
    );
    let padded = format!("{SIGNATURE} v2,{}", "A".repeat(1024));
    assert_eq!(
        signed(ID, STAMP, &padded),
        Err(VerifyError::SignatureTooLarge)
    );
}

#[test]
fn s13_s14_repeated_header_is_refused_even_if_one_is_valid() {
    for extra in [
        ("webhook-signature", "v1,AAAA"),
        ("webhook-signature", SIGNATURE),
        ("Webhook-Id", "other"),
        ("webhook-timestamp", STAMP),
    ] {
        for at_front in [true, false] {
            let mut headers = GOOD.to_vec();
            headers.insert(if at_front { 0 } else { 3 }, extra);
            assert_eq!(
                with(&headers),
                Err(VerifyError::HeaderRepeated),
                "{extra:?}"
            );
        }
    }
}

#[test]
fn mixed_header_families_are_refused() {
    for extra in [("svix-id", ID), ("svix-signature", SIGNATURE)] {
        let mut headers = GOOD.to_vec();
        headers.push(extra);
        assert_eq!(with(&headers), Err(VerifyError::FamiliesMixed));
    }
}

#[test]
fn s16_s17_timestamp_more_than_300_seconds_off_is_stale() {
    for (offset, expected) in [(300, true), (301, false), (-300, true), (-301, false)] {
        let answer = check(secrets(&[SECRET]), &GOOD, BODY, later(offset));
        assert_eq!(answer.is_ok(), expected, "{offset}");
        if !expected {
            assert_eq!(answer, Err(VerifyError::Stale(offset)));
        }
    }
}

#[test]
fn tolerance_outside_30_to_900_seconds_is_refused() {
    let within = |tolerance| SourceSettings {
        tolerance_seconds: Some(tolerance),
        ..secrets(&[SECRET])
    };
    assert!(check(within(30), &GOOD, BODY, later(30)).is_ok());
    assert!(check(within(30), &GOOD, BODY, later(31)).is_err());
    assert!(check(within(900), &GOOD, BODY, later(900)).is_ok());
    for bad in [0, 29, 901, u64::MAX] {
        assert!(built(within(bad)).is_err(), "{bad}");
    }
}

#[test]
fn s19_s20_malformed_timestamps_are_refused() {
    for stamp in [
        "+1649367553",
        "01649367553",
        "1649367553.0",
        "1.6e9",
        " 1649367553",
        "1649367553 ",
        "١٦٤٩٣٦٧٥٥٣",
        "1649367553000",
        "-9223372036854775808",
        "",
    ] {
        assert_eq!(
            signed(ID, stamp, &forge_shape(ID, stamp)),
            Err(VerifyError::TimestampMalformed),
            "{stamp:?}"
        );
    }
}

#[test]
fn s22_malformed_or_long_ids_are_refused() {
    for id in [
        "",
        &"a".repeat(129),
        "a\rb",
        "a b",
        "📧",
        "a.b",
        "a.1649367553",
        "a/b",
    ] {
        assert_eq!(
            signed(id, STAMP, &forge_shape(id, STAMP)),
            Err(VerifyError::IdMalformed),
            "{id:?}"
        );
    }
    let longest = "a".repeat(128);
    assert!(signed(&longest, STAMP, &forge_shape(&longest, STAMP)).is_ok());
}

#[test]
fn s23_every_valid_secret_is_accepted() {
    let other = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";
    assert!(check(secrets(&[other, SECRET]), &GOOD, BODY, now()).is_ok());
    assert!(check(secrets(&[other]), &GOOD, BODY, now()).is_err());
    let between = |from: i64, until: i64| {
        let mut settings = secrets(&[other, SECRET]);
        settings.secrets[1].not_before = Some(later(from));
        settings.secrets[1].not_after = Some(later(until));
        check(settings, &GOOD, BODY, now())
    };
    assert!(between(-60, 60).is_ok());
    assert!(between(0, 0).is_ok());
    assert_eq!(between(-60, -1), Err(VerifyError::SignatureMismatch));
    assert_eq!(between(1, 60), Err(VerifyError::SignatureMismatch));
}

#[test]
fn s28_s29_secret_of_another_source_is_refused() {
    let other = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";
    let sources = Sources::build(BTreeMap::from([
        ("a".to_owned(), secrets(&[SECRET])),
        ("b".to_owned(), secrets(&[SECRET])),
        ("c".to_owned(), secrets(&[other])),
    ]))
    .expect("three sources");
    let headers = GOOD.map(|(name, value)| (name, value.as_bytes()));
    let request = RawRequest::new(headers, BODY);
    let at = |name| sources.get(name).expect("a source").verify(&request, now());
    assert_ne!(at("a").expect("a").key(), at("b").expect("b").key());
    assert_eq!(at("c"), Err(VerifyError::SignatureMismatch));
}

#[test]
fn s31_source_without_a_valid_secret_is_refused() {
    for bad in [
        &["whsec_"][..],
        &[""],
        &[],
        &["whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7o="],
        &["whsec_not base64!"],
        &[SECRET, "whsec_"],
        &[SECRET, SECRET, SECRET, SECRET],
    ] {
        assert!(built(secrets(bad)).is_err(), "{bad:?}");
    }
    let long = format!("whsec_{}", STANDARD.encode([7; 65]));
    assert!(built(secrets(&[&long])).is_err());
}

#[test]
fn retry_has_the_same_key_and_changed_content_another_digest() {
    let resigned = "1649367600";
    let first = with(&GOOD).expect("first");
    let retry = signed(ID, resigned, &forge_shape(ID, resigned)).expect("retry");
    assert_eq!(first, retry);
    let body = b"other";
    let signature = sign(&SecretString::from(SECRET), ID, now(), body).expect("signed");
    let headers = [GOOD[0], GOOD[1], ("webhook-signature", signature.as_str())];
    let other = check(secrets(&[SECRET]), &headers, body, now()).expect("other");
    assert_eq!(first.key(), other.key());
    assert_ne!(first.content(), other.content());
}

fn decode(body: &str) -> Result<Decoded, DecodeError> {
    let sources = built(secrets(&[SECRET])).expect("usable settings");
    let source = sources.get("main").expect("the source");
    source.decode("application/json", body.as_bytes())
}

fn received(data: &str) -> Result<Decoded, DecodeError> {
    decode(&format!(r#"{{"type":"email.received","data":{data}}}"#))
}

#[test]
fn own_payload_is_decoded_to_message_and_recipients() {
    let expected = Decoded::Mails(vec![InboundMail {
        recipients: vec!["agent@inbox.test".to_owned()],
        raw: b"Subject: hi\r\n\r\n".to_vec(),
        rebuilt: false,
        provider_id: None,
        received_at: None,
        stated_from: None,
        sender: None,
        flags: Vec::new(),
    }]);
    for raw in ["U3ViamVjdDogaGkNCg0K", "U3ViamVjdDog\\r\\naGkNCg0K\\n"] {
        let data = format!(r#"{{"recipients":["agent@inbox.test"],"raw":"{raw}","more":[1]}}"#);
        assert_eq!(received(&data).as_ref(), Ok(&expected));
    }
}

#[test]
fn p10_raw_that_is_not_base64_is_refused() {
    for raw in ["plain text", "U3Vi amVj", "U3ViamVjdA", "U3V_", "📧"] {
        let data = format!(r#"{{"recipients":["a@b.test"],"raw":"{raw}"}}"#);
        assert_eq!(received(&data), Err(DecodeError::NotBase64), "{raw}");
    }
}

#[test]
fn p17_other_events_are_ignored() {
    assert_eq!(
        decode(r#"{"type":"email.bounced","data":null}"#),
        Ok(Decoded::Ignored(Reason::new("event_ignored")))
    );
}

#[test]
fn incomplete_payload_is_refused_with_its_reason() {
    let crowd = vec![r#""a@b.test""#; 101].join(",");
    for (data, flaw) in [
        ("null".to_owned(), DecodeError::Malformed),
        ("{}".to_owned(), DecodeError::NoRecipient),
        (
            r#"{"recipients":[],"raw":""}"#.to_owned(),
            DecodeError::NoRecipient,
        ),
        (
            r#"{"recipients":[1],"raw":""}"#.to_owned(),
            DecodeError::Malformed,
        ),
        (r#"{"recipients":["a"]}"#.to_owned(), DecodeError::Malformed),
        (
            format!(r#"{{"recipients":[{crowd}],"raw":""}}"#),
            DecodeError::TooManyRecipients,
        ),
    ] {
        assert_eq!(received(&data), Err(flaw), "{data}");
    }
    assert_eq!(decode("{}"), Err(DecodeError::Malformed));
    assert_eq!(decode(""), Err(DecodeError::Empty));
}
