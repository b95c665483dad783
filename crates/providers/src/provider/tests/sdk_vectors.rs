//! Posts that the official libraries signed, once and at a fixed time. The bodies are ours,
//! in the formats that the providers document. Signed by:
//!
//! * `svix` 2.9.1 for Python (Resend, `AgentMail`),
//! * `standardwebhooks` 1.1.0 for Python,
//! * `stripe` 23.1.0 for Node (`generateTestHeaderString`),
//! * `@octokit/webhooks-methods` 6.0.0 for Node (`sign`).

use std::collections::BTreeMap;

use pipeline::Timestamp;
use secrecy::SecretString;

use crate::{Decoded, PayloadSettings, RawRequest, SchemeSettings, SourceSettings, Sources};

const SIGNED_AT: i64 = 1_763_164_800;
const WHSEC: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const CODE: &str = "Your verification code is 493817.";

const AGENTMAIL: &str = r#"{"type":"event","event_type":"message.received","event_id":"evt_1","message":{"inbox_id":"agent@inbox.test","thread_id":"thd_1","message_id":"<1@lighthouse.example>","from":"no-reply@lighthouse.example","to":["agent@inbox.test"],"subject":"Confirm your sign-in","text":"Your verification code is 493817."}}"#;
const RESEND: &str = r#"{"type":"email.received","created_at":"2025-11-15T00:00:00.000Z","data":{"email_id":"re_1","from":"no-reply@lighthouse.example","to":["agent@inbox.test"],"subject":"Confirm your sign-in","attachments":[]}}"#;
const NATIVE: &str = r#"{"type":"email.received","data":{"recipients":["agent@inbox.test"],"raw":"RnJvbTogbm8tcmVwbHlAbGlnaHRob3VzZS5leGFtcGxlDQpTdWJqZWN0OiBDb25maXJtIHlvdXIgc2lnbi1pbg0KDQpZb3VyIHZlcmlmaWNhdGlvbiBjb2RlIGlzIDQ5MzgxNy4NCg=="}}"#;
const FIELDS: &str = r#"{"id":"evt_1","type":"message.received","message":{"to":["agent@inbox.test"],"from":"no-reply@lighthouse.example","subject":"Confirm your sign-in","text":"Your verification code is 493817."}}"#;

/// A post and the settings of its source.
struct SdkVector {
    settings: SourceSettings,
    headers: Vec<(&'static str, &'static str)>,
    body: &'static str,
    /// Whether a time is signed.
    is_timed: bool,
}

fn settings(provider: &str, secret: &str) -> SourceSettings {
    SourceSettings {
        provider: provider.to_owned(),
        secrets: vec![SecretString::from(secret).into()],
        ..SourceSettings::default()
    }
}

/// The same for a sender of parsed fields.
fn mapped(provider: &str, secret: &str, header: Option<&str>) -> SourceSettings {
    let at = |path: &str| Some(format!("message.{path}"));
    let payload: PayloadSettings = serde_json::from_value(serde_json::json!({
        "recipients": "message.to", "text": at("text"), "from": at("from"),
        "subject": at("subject"),
    }))
    .expect("settings");
    SourceSettings {
        payload: Some(payload),
        scheme: header.map(|header| SchemeSettings {
            signature_header: Some(header.to_owned()),
            ..SchemeSettings::default()
        }),
        ..settings(provider, secret)
    }
}

fn vectors() -> Vec<SdkVector> {
    let timed = |provider, names: [&'static str; 3], signature, body| SdkVector {
        settings: settings(provider, WHSEC),
        headers: vec![
            (names[0], "msg_outside_1"),
            (names[1], "1763164800"),
            (names[2], signature),
        ],
        body,
        is_timed: true,
    };
    let svix = ["svix-id", "svix-timestamp", "svix-signature"];
    let standard = ["webhook-id", "webhook-timestamp", "webhook-signature"];
    vec![
        timed(
            "agentmail",
            svix,
            "v1,OoKIpduL4QwX3Ud6qLY0/iPrrNCOdg4rB9gcUlereic=",
            AGENTMAIL,
        ),
        timed(
            "resend",
            svix,
            "v1,TEVNTtsm//8zOkVgJgcgaPCIIWulAZQ7ziY2Jc5v+6Q=",
            RESEND,
        ),
        timed(
            "standard-webhooks",
            standard,
            "v1,cuvj39CYfM7lw4vbQ9KON0aVQmM0XQ6IQqY19gYwmEU=",
            NATIVE,
        ),
        SdkVector {
            settings: mapped(
                "stripe-style",
                "whsec_a-signing-key-of-some-length",
                Some("stripe-signature"),
            ),
            headers: vec![(
                "stripe-signature",
                "t=1763164800,v1=3bea092593299a6fb32d0ef91256a85a500dbdace9c979b6368fdaaaa10f034e",
            )],
            body: FIELDS,
            is_timed: true,
        },
        SdkVector {
            settings: mapped("github-style", "a-signing-key-of-some-length", None),
            headers: vec![(
                "x-hub-signature-256",
                "sha256=b2ee9e2b407a22f2047ad4b87d70119af6d1e006fd82f344ec34dbb9fc45f099",
            )],
            body: FIELDS,
            is_timed: false,
        },
    ]
}

#[test]
fn posts_of_the_official_libraries_are_accepted_and_read() {
    for vector in vectors() {
        let provider = vector.settings.provider.clone();
        let sources = BTreeMap::from([("main".to_owned(), vector.settings)]);
        let sources = Sources::build(sources).expect("a source");
        let source = sources.get("main").expect("the source");
        let headers = vector.headers.iter();
        let headers: Vec<(&str, &[u8])> = headers
            .map(|(name, value)| (*name, value.as_bytes()))
            .collect();
        let verify = |body: &str, after: i64| {
            let request = RawRequest::new(headers.iter().copied(), body.as_bytes());
            let now = Timestamp::from_millis((SIGNED_AT + after) * 1000);
            source.verify(&request, now).is_ok()
        };
        assert!(verify(vector.body, 0), "{provider}");
        assert_eq!(verify(vector.body, 3600), !vector.is_timed, "{provider}");
        let changed = vector.body.replace("inbox.test", "inbox.tesT");
        assert!(!verify(&changed, 0), "{provider}");
        match source.decode("application/json", vector.body.as_bytes()) {
            Ok(Decoded::Mails(mails)) => {
                assert_eq!(mails[0].recipients, ["agent@inbox.test"], "{provider}");
                let raw = String::from_utf8_lossy(&mails[0].raw);
                let encoded = base64::Engine::encode(
                    &base64::engine::general_purpose::STANDARD,
                    CODE.as_bytes(),
                );
                assert!(raw.contains(CODE) || raw.contains(&encoded), "{provider}");
            }
            Ok(Decoded::RemoteMail(mail)) => {
                assert_eq!(mail.recipients, ["agent@inbox.test"], "{provider}");
            }
            other => panic!("{provider}: {other:?}"),
        }
    }
}
