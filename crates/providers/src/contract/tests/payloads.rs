//! One post of each provider's shape, and what it holds.

use std::collections::BTreeMap;

use pipeline::Reason;
use secrecy::SecretString;

use crate::contract::pulled::is_pulled;
use crate::{
    Coverage, DecodeError, Decoded, InboundMail, PollSettings, Post, RawRequest, Sample,
    SchemeSettings, SenderVerdict, SourceFlaw, SourceSettings, Sources,
};

pub(super) const RAW: &str = "From: a@b.test\r\nSubject: Hi\r\n\r\nCode 493817\r\n";

/// Settings under which the provider can be built.
fn settings(provider: &str) -> SourceSettings {
    let mut settings = SourceSettings {
        provider: provider.to_owned(),
        ..SourceSettings::default()
    };
    match provider {
        "postmark" | "cloudmailin" | "sendgrid" => {
            settings.url_token = Some("a-long-token".into());
        }
        "mailhook" => {
            settings.url_token = Some("a-long-token".into());
            settings.recipient = Some("x@y.test".to_owned());
        }
        "postal" => settings.public_key = Some(RSA_KEY.to_owned()),
        "folder" | "http-list" | "imap" => settings.poll = Some(PollSettings::default()),
        "ses-sns" => settings.topics = vec![testkit::sns::TOPIC.to_owned()],
        _ => {
            let secret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
            settings.secrets = vec![SecretString::from(secret).into()];
        }
    }
    if provider == "mandrill" {
        settings.url = Some("https://example.com/hook".to_owned());
    }
    settings
}

/// The same, and a header for those who leave its name open.
fn complete(provider: &str) -> SourceSettings {
    let mut settings = settings(provider);
    if matches!(provider, "generic" | "stripe-style") {
        settings.scheme = Some(SchemeSettings {
            signature_header: Some("x-signature".to_owned()),
            ..SchemeSettings::default()
        });
    }
    settings
}

/// A 1024-bit key made for this test; its private half is gone.
const RSA_KEY: &str = "MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDPuBAPwo/5rvjspa9Z5iJxzWTfH50Y8UsFsegr2y6cLf13mIuYTNY7MyzNlBx1FEIcTLjESRbky4vXjjIczOZ0OuhfF6sIq0su2nNpskXh6ryC7GS+A/11/eVzqQYUP5HoCxW/OBrK5z7KEtrsrhbfRFAGmEBR7u7PRoT159aMdwIDAQAB";

fn sources(settings: SourceSettings) -> Result<Sources, SourceFlaw> {
    Sources::build(BTreeMap::from([("main".to_owned(), settings)])).map_err(|error| error.flaw)
}

pub(super) fn decode(
    provider: &str,
    content_type: &str,
    body: &str,
) -> Result<Decoded, DecodeError> {
    let sources = sources(complete(provider)).expect("a source");
    let source = sources.get("main").expect("the source");
    source.decode(content_type, body.as_bytes())
}

fn json(provider: &str, body: &serde_json::Value) -> Result<Decoded, DecodeError> {
    decode(provider, "application/json", &body.to_string())
}

pub(super) fn form(fields: &[(&str, &str)]) -> (String, String) {
    let parts: String = fields
        .iter()
        .map(|(name, value)| {
            [
                "--b\r\nContent-Disposition: form-data; name=\"",
                name,
                "\"\r\n\r\n",
                value,
                "\r\n",
            ]
            .concat()
        })
        .collect();
    let content_type = "multipart/form-data; boundary=b".to_owned();
    (content_type, format!("{parts}--b--\r\n"))
}

fn original(recipients: &[&str]) -> Decoded {
    Decoded::Mails(vec![InboundMail {
        recipients: recipients.iter().map(|&one| one.to_owned()).collect(),
        raw: RAW.into(),
        rebuilt: false,
        provider_id: None,
        received_at: None,
        stated_from: None,
        sender: None,
    }])
}

/// The same mail under the provider's id.
fn known_as(id: &str, decoded: Decoded) -> Decoded {
    match decoded {
        Decoded::Mails(mails) => {
            let known = mails.into_iter().map(|mail| mail.known_as(Some(id)));
            Decoded::Mails(known.collect())
        }
        other => other,
    }
}

/// The rebuilt message's text; its recipients must be these.
fn rebuilt(decoded: Result<Decoded, DecodeError>, recipients: &[&str]) -> String {
    match decoded {
        Ok(Decoded::Mails(mails)) => match &mails[..] {
            [mail] if mail.rebuilt && mail.recipients == recipients => {
                String::from_utf8(mail.raw.clone()).expect("text")
            }
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

const IGNORED: Reason = Reason::new("event_ignored");

/// The provider's own id for the one mail of a post.
fn provider_id(decoded: Result<Decoded, DecodeError>) -> Option<String> {
    match decoded {
        Ok(Decoded::Mails(mails)) => mails[0].provider_id.clone(),
        Ok(Decoded::RemoteMail(elsewhere)) => elsewhere.provider_id,
        other => panic!("{other:?}"),
    }
}

/// What is posted and what is listed differ, and the provider's id does not. An id
/// that the sender chose, such as `AgentMail`'s, is none.
#[test]
fn a_mail_keeps_the_id_that_its_provider_gave_it_whatever_form_it_comes_in() {
    use serde_json::json;
    let to = [("RawEmail", RAW), ("TextBody", "Code")].map(|(field, body)| {
        json!({"MessageID":"1","OriginalRecipient":"x@y.test","From":"a@b.test", field: body})
    });
    for event in to {
        assert_eq!(provider_id(json("postmark", &event)).as_deref(), Some("1"));
    }
    let object = json!({"id":"1","grant_id":"g","to":[{"email":"x@y.test"}],"from":[]});
    for (kind, body) in [
        ("message.created", Some("Code")),
        ("message.created.truncated", None),
    ] {
        let mut object = object.clone();
        object["body"] = json!(body);
        let event = json!({"type":kind,"id":"e","data":{"object":object}});
        assert_eq!(provider_id(json("nylas", &event)).as_deref(), Some("g 1"));
    }
    let fields = json!({"from":"a@b.test","text_body":"Code"});
    let event = json!({"data":{"id":"ie_1","type":"inbound_email","attributes":fields}});
    assert_eq!(
        provider_id(json("mailhook", &event)).as_deref(),
        Some("ie_1")
    );
    let message = json!({"inbox_id":"x@y.test","message_id":"<1@b>","text":"Code","to":[]});
    let event = json!({"event_type":"message.received","message":message});
    assert_eq!(provider_id(json("agentmail", &event)), None);
}

#[test]
fn raw_messages_come_out_as_they_went_in() {
    use serde_json::json;
    assert_eq!(
        json(
            "mailersend",
            &json!({"type":"inbound.message","data":{"id":"1","raw":RAW,
                "recipients":{"rcptTo":[{"email":"x@y.test"},{"email":"z@y.test"}]}}})
        ),
        Ok(original(&["x@y.test", "z@y.test"]))
    );
    assert_eq!(
        json(
            "postmark",
            &json!({"MessageID":"1","OriginalRecipient":"x@y.test","To":"list@y.test",
                "RawEmail":RAW,"TextBody":"other"})
        ),
        Ok(known_as("1", original(&["x@y.test"])))
    );
    assert_eq!(
        json(
            "postal",
            &json!({"id":1,"rcpt_to":"x@y.test","message":RAW,"base64":false})
        ),
        Ok(original(&["x@y.test"]))
    );
    let (kind, body) = form(&[
        ("envelope", r#"{"to":["x@y.test"],"from":"q"}"#),
        ("email", RAW),
    ]);
    assert_eq!(
        decode("sendgrid", &kind, &body),
        Ok(original(&["x@y.test"]))
    );
    let (kind, body) = form(&[("recipient", "x@y.test, z@y.test"), ("body-mime", RAW)]);
    assert_eq!(
        decode("mailgun", &kind, &body),
        Ok(original(&["x@y.test", "z@y.test"]))
    );
    let (kind, body) = form(&[("envelope[to]", "x@y.test"), ("message", RAW)]);
    assert_eq!(
        decode("cloudmailin", &kind, &body),
        Ok(original(&["x@y.test"]))
    );
}

#[test]
fn a_mandrill_post_may_hold_many_mails() {
    let event = |kind: &str, to: &str| serde_json::json!({"event":kind,"ts":1,"msg":{"email":to,"raw_msg":RAW}});
    let post = |events: &[serde_json::Value]| {
        let (kind, body) = form(&[("mandrill_events", &serde_json::json!(events).to_string())]);
        decode("mandrill", &kind, &body)
    };
    let both = post(&[event("inbound", "x@y.test"), event("inbound", "z@y.test")]);
    match both {
        Ok(Decoded::Mails(mails)) => assert_eq!(mails.len(), 2),
        other => panic!("{other:?}"),
    }
    assert_eq!(
        post(&[event("open", "x@y.test")]),
        Ok(Decoded::Ignored(IGNORED))
    );
    assert_eq!(post(&[]), Ok(Decoded::Ignored(IGNORED)));
}

#[test]
fn parsed_fields_are_put_together_again_and_say_so() {
    use serde_json::json;
    let message = rebuilt(
        json(
            "agentmail",
            &json!({"event_type":"message.received","message":{"inbox_id":"x@y.test",
                "from":"A <a@b.test>","to":["x@y.test"],"subject":"Hi","message_id":"<1@b>",
                "text":"Code 493817"}}),
        ),
        &["x@y.test"],
    );
    assert!(message.starts_with("From: A <a@b.test>\r\nTo: x@y.test\r\nSubject: Hi\r\n"));
    assert!(message.contains("Message-ID: <1@b>\r\n"));
    assert!(message.contains("Q29kZSA0OTM4MTc=\r\n"));

    let message = rebuilt(
        json(
            "nylas",
            &json!({"id":"1","type":"message.created","data":{"object":{"id":"m","subject":"Hi",
                "from":[{"name":"A \"x\" <q@r>","email":"a@b.test"}],"folders":["INBOX"],
                "to":[{"name":"","email":"x@y.test"}],"body":"<p>Code 493817</p>"}}}),
        ),
        &["x@y.test"],
    );
    assert!(
        message.starts_with("From: \"A x <q@r>\" <a@b.test>\r\n"),
        "{message}"
    );
    assert!(message.contains("Content-Type: text/html; charset=utf-8\r\n"));
}

#[test]
fn parsed_forms_are_put_together_again_too() {
    use serde_json::json;
    let (kind, body) = form(&[
        ("recipient", "x@y.test"),
        (
            "message-headers",
            r#"[["From","a@b.test"],["Subject","Hi"]]"#,
        ),
        ("body-plain", "Code 493817"),
    ]);
    let message = rebuilt(decode("mailgun", &kind, &body), &["x@y.test"]);
    assert!(message.starts_with("From: a@b.test\r\nSubject: Hi\r\nMIME-Version"));

    let (kind, body) = form(&[
        ("envelope", r#"{"to":["x@y.test"]}"#),
        (
            "headers",
            "From: a@b.test\nSubject: H\n i\nContent-Type: x/y\n",
        ),
        ("html", "<p>Code 493817</p>"),
    ]);
    let message = rebuilt(decode("sendgrid", &kind, &body), &["x@y.test"]);
    assert!(
        message.starts_with("From: a@b.test\r\nSubject: H i\r\nMIME-Version"),
        "{message}"
    );

    let message = rebuilt(
        json(
            "postmark",
            &json!({"MessageID":"1","From":"a@b.test","Subject":"Hi","TextBody":"Code",
                "ToFull":[{"Email":"x@y.test"}],"Headers":[{"Name":"Message-ID","Value":"<1@b>"}]}),
        ),
        &["x@y.test"],
    );
    assert!(message.contains("Message-ID: <1@b>\r\n"));

    let message = rebuilt(
        json(
            "cloudmailin",
            &json!({"envelope":{"to":"x@y.test","recipients":["x@y.test"]},
                "headers":{"message_id":"<1@b>","received":["a","b"]},"plain":"Code"}),
        ),
        &["x@y.test"],
    );
    assert!(message.starts_with("message-id: <1@b>\r\nreceived: a\r\nreceived: b\r\n"));
}

#[test]
fn a_mail_that_is_not_in_the_post_says_where_it_is() {
    use serde_json::json;
    for (provider, body, path) in [
        (
            "resend",
            json!({"type":"email.received","data":{"email_id":"e1","received_for":["x@y.test"]}}),
            "emails/receiving/e1",
        ),
        (
            "agentmail",
            json!({"event_type":"message.received",
                "message":{"inbox_id":"x@y.test","message_id":"<m@z>"}}),
            "v0/inboxes/x@y.test/messages/<m@z>/raw",
        ),
        (
            "nylas",
            json!({"type":"message.created.truncated","data":{"object":{
                "id":"m","grant_id":"g","body":"cut","to":[{"email":"x@y.test"}]}}}),
            "v3/grants/g/messages/m",
        ),
    ] {
        let Ok(Decoded::RemoteMail(elsewhere)) = json(provider, &body) else {
            panic!("{provider}");
        };
        assert_eq!(elsewhere.recipients, ["x@y.test"], "{provider}");
        assert_eq!(elsewhere.path.join("/"), path, "{provider}");
    }
}

#[test]
fn a_mail_that_cannot_be_found_is_malformed() {
    use serde_json::json;
    for (provider, body) in [
        (
            "resend",
            json!({"type":"email.received","data":{"received_for":["x@y"]}}),
        ),
        (
            "agentmail",
            json!({"event_type":"message.received","message":{"inbox_id":"x@y"}}),
        ),
        (
            "nylas",
            json!({"type":"message.created","data":{"object":{"id":"m","to":[{"email":"x@y"}]}}}),
        ),
    ] {
        assert_eq!(
            json(provider, &body),
            Err(DecodeError::Malformed),
            "{provider}"
        );
    }
}

#[test]
fn p17_other_events_are_ignored_and_so_is_the_mailboxs_own_mail() {
    use serde_json::json;
    for (provider, body) in [
        ("resend", json!({"type":"email.bounced"})),
        ("agentmail", json!({"event_type":"message.sent"})),
        ("nylas", json!({"type":"grant.expired"})),
        ("mailersend", json!({"type":"webhook.test"})),
        ("postmark", json!({"RecordType":"Bounce"})),
        ("postal", json!({"event":"MessageSent"})),
        ("mailgun", json!({"signature":{},"event-data":{}})),
    ] {
        assert_eq!(
            json(provider, &body),
            Ok(Decoded::Ignored(IGNORED)),
            "{provider}"
        );
    }
    assert_eq!(
        json(
            "nylas",
            &json!({"type":"message.created","data":{"object":{"folders":["SENT"]}}})
        ),
        Ok(Decoded::Ignored(Reason::new("own_mail")))
    );
}

#[test]
fn only_those_that_greet_are_greeted() {
    let greeting = |provider: &str, method: &str, query: &str| {
        let sources = sources(settings(provider)).expect("a source");
        sources
            .get("main")
            .expect("the source")
            .greet(method, query)
    };
    assert_eq!(
        greeting("nylas", "GET", "challenge=aB-1_2").as_deref(),
        Some("aB-1_2")
    );
    assert_eq!(greeting("mandrill", "HEAD", "").as_deref(), Some(""));
    for (provider, method, query) in [
        ("nylas", "GET", ""),
        ("nylas", "GET", "challenge="),
        ("nylas", "GET", "challenge=%3Cscript%3E"),
        ("nylas", "HEAD", "challenge=x"),
        ("mandrill", "GET", "challenge=x"),
        ("standard-webhooks", "GET", "challenge=x"),
        ("standard-webhooks", "HEAD", ""),
    ] {
        assert_eq!(
            greeting(provider, method, query),
            None,
            "{provider} {method} {query}"
        );
    }
}

#[test]
fn every_sample_is_accepted_and_decodes_to_its_mail_and_its_forged_twin_is_not() {
    let sample = Sample {
        id: "sample1",
        at: pipeline::Timestamp::from_millis(1_763_164_800_000),
        from: "a@b.test",
        recipient: "x@y.test",
        subject: "Hi",
        text: "Code 493817",
    };
    // Those two sign with keys that only they have.
    let ours = |name: &str| !["postal", "ses-sns"].contains(&name);
    let signs = |contract: &&crate::Contract| ours(contract.name) && !is_pulled(contract);
    for contract in crate::contracts().filter(signs) {
        let name = contract.name;
        let sources = sources(complete(name)).expect("a source");
        let source = sources.get("main").expect("the source");
        let post = source.sample(&sample).unwrap_or_else(|| panic!("{name}"));
        let content_type = post.headers[0].1.clone();
        match source.decode(&content_type, &post.body) {
            Ok(Decoded::Mails(mails)) => assert_eq!(mails[0].recipients, ["x@y.test"], "{name}"),
            Ok(Decoded::RemoteMail(mail)) => {
                assert_eq!(
                    (name, mail.recipients),
                    ("resend", vec!["x@y.test".to_owned()])
                );
            }
            other => panic!("{name}: {other:?}"),
        }
        let verify = |post: &Post, at: i64| {
            let lines = post.headers.iter();
            let lines = lines.map(|(name, value)| (name.as_str(), value.as_bytes()));
            let request = RawRequest::new(lines, &post.body);
            let request = request.with_query(post.query.as_deref().unwrap_or_default());
            source.verify(&request, pipeline::Timestamp::from_millis(at))
        };
        let now = sample.at.as_millis();
        assert_eq!(verify(&post, now).map(|_| ()), Ok(()), "{name}");
        let mut forged = post.clone();
        match (forged.query.as_mut(), forged.headers.len()) {
            (Some(query), _) => query.push('x'),
            (None, 1) => {
                let body = String::from_utf8(forged.body).expect("text");
                forged.body = body.replace("token=", "token=x").into_bytes();
            }
            (None, _) => forged.body.push(b'x'),
        }
        assert!(verify(&forged, now).is_err(), "{name}");
    }
}

#[test]
fn a_source_that_is_only_polled_takes_no_post_and_reads_what_was_found() {
    let mail = InboundMail {
        recipients: vec!["x@y.test".to_owned()],
        raw: b"Subject: x\r\n\r\n".to_vec(),
        rebuilt: false,
        provider_id: None,
        received_at: None,
        stated_from: None,
        sender: None,
    };
    let body = crate::polled(&mail.recipients, &mail.raw);
    for provider in ["folder", "http-list", "imap"] {
        let sources = sources(settings(provider)).expect("a source");
        let source = sources.get("main").expect("the source");
        let now = pipeline::Timestamp::from_millis(0);
        let post = RawRequest::new([("content-type", crate::POLLED.as_bytes())], &body);
        assert!(source.verify(&post, now).is_err(), "{provider}");
        let decoded = source.decode(crate::POLLED, &body);
        assert_eq!(
            decoded,
            Ok(Decoded::Mails(vec![mail.clone()])),
            "{provider}"
        );
        let unpolled = SourceSettings {
            provider: provider.to_owned(),
            ..SourceSettings::default()
        };
        assert_eq!(
            Sources::build(BTreeMap::from([("main".to_owned(), unpolled)]))
                .err()
                .map(|error| error.flaw),
            Some(SourceFlaw::Missing("poll"))
        );
    }
}

#[test]
fn a_source_that_nothing_proves_is_not_built() {
    for provider in ["postmark", "cloudmailin", "mailhook", "sendgrid"] {
        let mut settings = settings(provider);
        settings.url_token = None;
        assert_eq!(
            sources(settings).err(),
            Some(SourceFlaw::Unproven),
            "{provider}"
        );
    }
}

#[test]
fn a_second_proof_of_any_kind_ends_the_caution() {
    let caution = |settings| {
        let sources = sources(settings).expect("a source");
        let source = sources.get("main").expect("the source");
        source.caution().is_some()
    };
    let weak = settings("mailgun");
    assert!(caution(weak.clone()));
    let basic = SourceSettings {
        username: Some("maillatch".to_owned()),
        password: Some("a-long-password".into()),
        ..weak.clone()
    };
    let token = SourceSettings {
        url_token: Some("a-long-token".into()),
        ..weak.clone()
    };
    let listed = SourceSettings {
        addresses: vec!["192.0.2.0/24".to_owned()],
        ..weak
    };
    for second in [basic, token, listed] {
        assert!(!caution(second.clone()), "{second:?}");
    }
}

#[test]
fn every_provider_builds_and_refuses_what_it_does_not_take() {
    for contract in crate::contracts() {
        let mut settings = complete(contract.name);
        let built =
            sources(settings.clone()).unwrap_or_else(|flaw| panic!("{}: {flaw}", contract.name));
        let source = built.get("main").expect("the source");
        assert_eq!(source.provider(), contract.name);
        let is_weak = contract.coverage == Coverage::TokenOnly;
        assert_eq!(source.caution().is_some(), is_weak, "{}", contract.name);
        if contract.name != "mandrill" {
            settings.url = Some("https://example.com".to_owned());
            assert_eq!(sources(settings).err(), Some(SourceFlaw::Unfit("url")));
        }
    }
    assert!(matches!(
        sources(settings("nobody")),
        Err(SourceFlaw::Provider(_))
    ));
}

#[test]
fn sendgrid_names_the_domains_whose_signatures_hold() {
    let signers = |dkim: &str| {
        let (kind, body) = form(&[
            ("envelope", r#"{"to":["x@y.test"],"from":"a@b.test"}"#),
            ("email", RAW),
            ("dkim", dkim),
        ]);
        let Decoded::Mails(mails) = decode("sendgrid", &kind, &body).expect("it decodes") else {
            panic!("no mail");
        };
        mails[0].sender.clone()
    };
    let by = |domains: &[&str]| {
        let domains = domains.iter().map(|&one| one.to_owned()).collect();
        Some(SenderVerdict::SignedBy(domains))
    };
    assert_eq!(signers("{@example.com : pass}"), by(&["example.com"]));
    let two = "{@a.test : pass, @b.test : fail, @c.test : pass}";
    assert_eq!(signers(two), by(&["a.test", "c.test"]));
    for odd in [
        "none",
        "{}",
        "{@a.test}",
        "{a.test : pass}",
        "{@a.test : passed}",
        "",
    ] {
        assert_eq!(signers(odd), by(&[]), "{odd}");
    }
}
