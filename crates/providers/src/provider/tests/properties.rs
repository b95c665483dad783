//! Properties for every input: no verifier or decoder panics, no unsigned post is
//! accepted, and our signatures equal those of the reference library.

use std::collections::BTreeMap;

use pipeline::Timestamp;
use proptest::collection::vec;
use proptest::prelude::*;
use secrecy::SecretString;
use standardwebhooks::Webhook;

use crate::{RawRequest, Source, SourceSettings, Sources, contracts, sign};

const SECRET: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

/// One source of every provider.
fn every_source() -> Sources {
    let examples = contracts().map(|contract| (contract.name.to_owned(), contract.example()));
    let signed = [("signed-sendgrid".to_owned(), signed_sendgrid())];
    Sources::build(examples.chain(signed).collect::<BTreeMap<_, _>>()).expect("every source")
}

/// `SendGrid` with a public key, so that its signature is checked, too.
pub(super) fn signed_sendgrid() -> SourceSettings {
    SourceSettings {
        provider: "sendgrid".to_owned(),
        public_key: Some(SENDGRID_KEY.to_owned()),
        ..SourceSettings::default()
    }
}

const SENDGRID_KEY: &str = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEEDr2LjtURuePQzplybdC+u4CwrqDqBaWj\
    cMMsTbhdbcwHBcepxo7yAQGhHPTnlvFYPAZFceEu/1FwCM/QmGUhA==";

/// The headers that some verifier looks at.
fn header() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
        "svix-signature",
        "x-signature",
        "x-hub-signature-256",
        "x-nylas-signature",
        "signature",
        "x-mandrill-signature",
        "x-postal-signature",
        "x-twilio-email-event-webhook-signature",
        "x-twilio-email-event-webhook-timestamp",
        "content-type",
        "authorization",
    ])
}

/// Values that look like valid ones (known prefixes, types and digits), and random ones.
fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(any::<u8>(), 0..80),
        "(v1|v1a|V1),[A-Za-z0-9+/]{0,44}={0,2}( v1,[A-Za-z0-9+/=]{0,44}){0,12}"
            .prop_map(String::into_bytes),
        "t=[0-9]{9,14}(,v1=[0-9a-f]{0,64}){0,3}".prop_map(String::into_bytes),
        "(sha256=)?[0-9a-fA-F]{0,64}".prop_map(String::into_bytes),
        "[0-9]{9,14}".prop_map(String::into_bytes),
        Just(b"application/x-www-form-urlencoded".to_vec()),
        Just(b"multipart/form-data; boundary=b".to_vec()),
        Just(b"application/json".to_vec()),
    ]
}

/// Bodies that look like valid ones, and random ones.
fn body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(any::<u8>(), 0..200),
        r#"\{("(type|event_type|data|message|id)":("email.received"|"message.created"|\{\}|\[\]|1e9),?){0,4}\}"#
            .prop_map(String::into_bytes),
        "((timestamp|token|signature|recipient|mandrill_events)=[0-9a-z%\\[\\]+]{0,20}&){0,6}"
            .prop_map(String::into_bytes),
        "(--b(--)?(\r\n)?|content-disposition: form-data; name=[a-z]{0,3}|\r\n){0,20}"
            .prop_map(String::into_bytes),
        "(X-Maillatch-Recipient:[ a-z@]{0,9}\n){0,3}[a-z: \n]{0,30}".prop_map(String::into_bytes),
    ]
}

fn at(seconds: u32) -> Timestamp {
    Timestamp::from_millis(i64::from(seconds) * 1000)
}

fn main_source(settings: SourceSettings) -> Sources {
    Sources::build(BTreeMap::from([("main".to_owned(), settings)])).expect("a source")
}

/// At least a thousand inputs each; `PROPTEST_CASES` can ask for more.
fn at_least_a_thousand() -> ProptestConfig {
    let own = ProptestConfig::default();
    ProptestConfig {
        cases: own.cases.max(1000),
        ..own
    }
}

proptest! {
    #![proptest_config(at_least_a_thousand())]

    #[test]
    fn unsigned_posts_are_refused_by_every_source(
        headers in vec((header(), value()), 0..6),
        body in body(),
        now in any::<u32>(),
    ) {
        let sources = every_source();
        let lines = headers.iter().map(|(name, value)| (*name, value.as_slice()));
        let request = RawRequest::new(lines, &body);
        for source in sources.iter() {
            prop_assert!(source.verify(&request, at(now)).is_err(), "{source:?}");
        }
    }

    #[test]
    fn decoders_never_panic_and_are_deterministic(
        kind in value(),
        body in body(),
    ) {
        let kind = String::from_utf8_lossy(&kind).into_owned();
        for source in every_source().iter() {
            let decode = |source: &Source| source.decode(&kind, &body);
            prop_assert_eq!(decode(source), decode(source));
        }
    }

    #[test]
    fn our_signatures_equal_the_reference_librarys(
        key in vec(any::<u8>(), 24..=64),
        id in "[A-Za-z0-9_-]{1,128}",
        seconds in 1_000_000_000_u32..,
        text in ".{0,200}",
    ) {
        use base64::Engine;
        let encoded = base64::engine::general_purpose::STANDARD.encode(&key);
        let secret = format!("whsec_{encoded}");
        let reference = Webhook::new(&secret).expect("a key");
        let theirs = reference.sign(&id, i64::from(seconds), text.as_bytes()).expect("signed");
        let ours = sign(&SecretString::from(secret.as_str()), &id, at(seconds), text.as_bytes());
        prop_assert_eq!(ours.expect("signed"), theirs.clone());

        let stamp = seconds.to_string();
        let headers = [
            ("webhook-id", id.as_bytes()),
            ("webhook-timestamp", stamp.as_bytes()),
            ("webhook-signature", theirs.as_bytes()),
        ];
        let settings = SourceSettings::standard_webhooks([SecretString::from(secret)]);
        let sources = main_source(settings);
        let source = sources.get("main").expect("the source");
        let request = RawRequest::new(headers, text.as_bytes());
        prop_assert!(source.verify(&request, at(seconds)).is_ok());
    }

    #[test]
    fn any_change_of_a_signed_post_is_refused(
        body in vec(any::<u8>(), 1..200),
        seconds in 1_000_000_000_u32..,
        place in any::<prop::sample::Index>(),
        flip in 1_u8..,
    ) {
        let secret = SecretString::from(SECRET);
        let signature = sign(&secret, "msg_1", at(seconds), &body).expect("signed");
        let stamp = seconds.to_string();
        let sources = main_source(SourceSettings::standard_webhooks([secret]));
        let source = sources.get("main").expect("the source");
        let verify = |id: &str, stamp: &str, body: &[u8]| {
            let headers = [
                ("svix-id", id.as_bytes()),
                ("svix-timestamp", stamp.as_bytes()),
                ("svix-signature", signature.as_bytes()),
            ];
            source.verify(&RawRequest::new(headers, body), at(seconds)).is_ok()
        };
        prop_assert!(verify("msg_1", &stamp, &body));
        let mut changed = body.clone();
        changed[place.index(body.len())] ^= flip;
        prop_assert!(!verify("msg_1", &stamp, &changed));
        prop_assert!(!verify("msg_2", &stamp, &body));
        prop_assert!(!verify("msg_1", &(seconds ^ 1).to_string(), &body));
    }
}
