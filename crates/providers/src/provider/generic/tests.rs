//! Scheme settings and mapped payloads.

use super::*;

fn settings(scheme: SchemeSettings) -> SourceSettings {
    SourceSettings {
        provider: "generic".to_owned(),
        secrets: vec![secrecy::SecretString::from("test-secret").into()],
        scheme: Some(scheme),
        ..SourceSettings::default()
    }
}

fn flaw(scheme: SchemeSettings) -> Option<SourceFlaw> {
    build(&settings(scheme), SchemeSettings::default()).err()
}

fn signed_by(header: &str) -> SchemeSettings {
    SchemeSettings {
        signature_header: Some(header.to_owned()),
        ..SchemeSettings::default()
    }
}

#[test]
fn template_with_unknown_names_or_without_final_body_is_refused() {
    let parts = template("{id}.{timestamp}.{body}").expect("a template");
    let dot = || Part::Text(".".to_owned());
    assert_eq!(parts, [Part::Id, dot(), Part::Timestamp, dot(), Part::Body]);
    for bad in [
        "",
        "{id}",
        "{timestamp}",
        "{body}.",
        "{body}{body}",
        "{url}{body}",
        "{body",
    ] {
        assert!(template(bad).is_err(), "{bad}");
    }
}

#[test]
fn inconsistent_scheme_settings_are_refused() {
    assert_eq!(flaw(signed_by("x-signature")), None);
    let bad = [
        SchemeSettings::default(),
        SchemeSettings {
            signed: Some("{timestamp}.{body}".to_owned()),
            ..signed_by("x")
        },
        SchemeSettings {
            timestamp_header: Some("y".to_owned()),
            ..signed_by("x")
        },
        SchemeSettings {
            layout: Some("pairs".to_owned()),
            ..signed_by("x")
        },
        SchemeSettings {
            signed: Some("{id}{body}".to_owned()),
            ..signed_by("x")
        },
        SchemeSettings {
            encoding: Some("HEX".to_owned()),
            ..signed_by("x")
        },
        SchemeSettings {
            key: Some("base32".to_owned()),
            ..signed_by("x")
        },
        SchemeSettings {
            unit: Some("minutes".to_owned()),
            ..signed_by("x")
        },
        SchemeSettings {
            digest: Some("md5".to_owned()),
            ..signed_by("x")
        },
    ];
    for scheme in bad {
        assert!(flaw(scheme.clone()).is_some(), "{scheme:?}");
    }
}

#[test]
fn digest_setting_selects_the_hash() {
    // Computed with another library, over `Hello, World!`.
    let macs = [
        ("sha1", "9aae66936c72a0a165d1dc7dcba1419e89e7da6d"),
        (
            "sha256",
            "5da450d40aaa5abbb88bc3f47e37163bfc26513d8588b5cd279d7106e16485f5",
        ),
        (
            "sha512",
            "cf1f5bc12be008afbe06984168f7bc7f5fa6971cd207174ee20334254ce8d20d\
             4e61d490f1d8d15b50e87332b3e86305b0ca39bd42850c68a548a4334b819a07",
        ),
    ];
    let source = "main".parse().expect("a name");
    for (digest, _) in macs {
        let scheme = SchemeSettings {
            digest: Some(digest.to_owned()),
            ..signed_by("x-signature")
        };
        let provider = build(&settings(scheme), SchemeSettings::default()).expect("a source");
        for (of, mac) in macs {
            let headers = [("x-signature", mac.as_bytes())];
            let request = crate::RawRequest::new(headers, b"Hello, World!");
            let now = pipeline::Timestamp::from_millis(0);
            let is_proven = provider.verify(&source, &request, now).is_ok();
            assert_eq!(is_proven, of == digest, "{digest} {of}");
        }
    }
}

#[test]
fn mapped_payload_is_read_at_the_configured_paths() {
    let mapping = PayloadSettings {
        recipients: "message.to".to_owned(),
        raw: Some("message.source".to_owned()),
        text: None,
        html: None,
        from: None,
        subject: None,
        encoding: RawForm::Text,
        received_at: Some("message.at".to_owned()),
        event: Some("mail".to_owned()),
        event_field: "kind".to_owned(),
    };
    let read = |body: &str| mapped(&mapping, body.as_bytes());
    let expected = |recipients: &[&str]| {
        let mail = InboundMail {
            recipients: recipients.iter().map(|&one| one.to_owned()).collect(),
            raw: b"Subject: x".to_vec(),
            rebuilt: false,
            provider_id: None,
            received_at: None,
            stated_from: None,
            sender: None,
            flags: Vec::new(),
        };
        Ok(Decoded::Mails(vec![mail]))
    };
    assert_eq!(
        read(r#"{"kind":"mail","message":{"to":"a@b","source":"Subject: x"}}"#),
        expected(&["a@b"])
    );
    assert_eq!(
        read(r#"{"kind":"mail","message":{"to":["a@b","c@d"],"source":"Subject: x"}}"#),
        expected(&["a@b", "c@d"])
    );
    let Ok(Decoded::Mails(mails)) =
        read(r#"{"kind":"mail","message":{"to":"a@b","source":"Subject: x","at":1763164800}}"#)
    else {
        panic!("no mail");
    };
    let received_at = mails[0].received_at.map(pipeline::Timestamp::as_millis);
    assert_eq!(received_at, Some(1_763_164_800_000));
    assert_eq!(read(r#"{"kind":"bounce"}"#), Ok(Decoded::other_event()));
    assert_eq!(read(r#"{"kind":"mail"}"#), Err(DecodeError::NoRecipient));
    assert_eq!(
        read(r#"{"kind":"mail","message":{"to":"a"}}"#),
        Err(DecodeError::Malformed)
    );
}

#[test]
fn parsed_fields_of_a_mapped_payload_give_a_rebuilt_message() {
    let mapping = PayloadSettings {
        recipients: "to".to_owned(),
        raw: None,
        text: Some("body.text".to_owned()),
        html: Some("body.html".to_owned()),
        from: Some("from".to_owned()),
        subject: Some("subject".to_owned()),
        encoding: RawForm::Text,
        received_at: None,
        event: None,
        event_field: "type".to_owned(),
    };
    let body = r#"{"to":"a@b","from":"c@d","subject":"Hi","body":{"text":"Code 493817"}}"#;
    let Ok(Decoded::Mails(mails)) = mapped(&mapping, body.as_bytes()) else {
        panic!("no mail");
    };
    assert!(mails[0].rebuilt);
    assert_eq!(mails[0].recipients, ["a@b"]);
    let message = String::from_utf8(mails[0].raw.clone()).expect("text");
    assert!(message.starts_with("From: c@d\r\nTo: a@b\r\nSubject: Hi\r\n"));
    assert!(message.contains("Q29kZSA0OTM4MTc=\r\n"), "{message}");
    let empty = mapped(&mapping, br#"{"to":"a@b"}"#);
    assert_eq!(empty, Err(DecodeError::Malformed));
}

#[test]
fn payload_with_both_raw_and_fields_or_neither_is_refused() {
    let payload = |raw: Option<&str>, text: Option<&str>| PayloadSettings {
        recipients: "to".to_owned(),
        raw: raw.map(str::to_owned),
        text: text.map(str::to_owned),
        html: None,
        from: None,
        subject: None,
        encoding: RawForm::Text,
        received_at: None,
        event: None,
        event_field: "type".to_owned(),
    };
    for (raw, text, fits) in [
        (Some("raw"), None, true),
        (None, Some("text"), true),
        (None, None, false),
        (Some("raw"), Some("text"), false),
    ] {
        let built = decoder(Some(payload(raw, text)));
        assert_eq!(built.is_ok(), fits, "{raw:?} {text:?}");
    }
}
