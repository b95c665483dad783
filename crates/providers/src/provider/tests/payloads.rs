//! Posts in each provider's format, and what they decode to.

use std::collections::BTreeMap;

use pipeline::Reason;

use super::properties::signed_sendgrid;

use crate::{
    Ask, Coverage, DecodeError, Decoded, InboundMail, Post, RawRequest, Sample, SenderVerdict,
    SourceFlaw, SourceSettings, Sources, contract, contracts,
};

pub(super) const RAW: &str = "From: a@b.test\r\nSubject: Hi\r\n\r\nCode 493817\r\n";

/// The settings that `source add` prints, with examples filled in.
fn settings(provider: &str) -> SourceSettings {
    contract(provider).expect("a provider").example()
}

fn sources(settings: SourceSettings) -> Result<Sources, SourceFlaw> {
    Sources::build(BTreeMap::from([("main".to_owned(), settings)])).map_err(|error| error.flaw)
}

pub(super) fn decode(
    provider: &str,
    content_type: &str,
    body: &str,
) -> Result<Decoded, DecodeError> {
    let sources = sources(settings(provider)).expect("a source");
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
        flags: Vec::new(),
    }])
}

/// The same mail with the provider's id.
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
        Ok(Decoded::RemoteMail(remote)) => remote.provider_id,
        other => panic!("{other:?}"),
    }
}

/// A posted and a polled mail differ in form and have the same provider id. An id that
/// the sender chose, such as `AgentMail`'s, is not used.
#[test]
fn provider_id_is_the_same_in_posts_and_in_polled_mails() {
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
fn raw_messages_are_decoded_unchanged() {
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
fn mandrill_batch_gives_a_post_of_its_own_for_each_mail() {
    let event = |kind: &str, to: &str| serde_json::json!({"event":kind,"ts":1,"msg":{"email":to,"raw_msg":RAW}});
    let post = |events: &[serde_json::Value]| {
        let (kind, body) = form(&[("mandrill_events", &serde_json::json!(events).to_string())]);
        decode("mandrill", &kind, &body)
    };
    let one = post(&[event("inbound", "x@y.test")]).expect("decoded");
    let batch = [
        event("inbound", "x@y.test"),
        event("open", "x@y.test"),
        serde_json::json!({"event":"inbound","msg":{"email":"z@y.test"}}),
        serde_json::json!("not an event"),
    ];
    let Ok(Decoded::Batch(parts)) = post(&batch) else {
        panic!("no batch");
    };
    let body = |part: &crate::BatchPart| String::from_utf8(part.body.clone()).expect("text");
    let decoded = parts
        .iter()
        .map(|part| decode("mandrill", part.content_type, &body(part)));
    let malformed = || Err(DecodeError::Malformed);
    assert_eq!(
        decoded.collect::<Vec<_>>(),
        [Ok(one), malformed(), malformed()],
        "each mail has its own result"
    );
    assert_eq!(
        post(&[event("open", "x@y.test")]),
        Ok(Decoded::Ignored(IGNORED))
    );
    assert_eq!(post(&[]), Ok(Decoded::Ignored(IGNORED)));
}

#[test]
fn parsed_json_fields_give_a_rebuilt_message() {
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
fn parsed_form_fields_give_a_rebuilt_message() {
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
fn post_without_the_mail_gives_its_path_at_the_api() {
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
        let Ok(Decoded::RemoteMail(remote)) = json(provider, &body) else {
            panic!("{provider}");
        };
        assert_eq!(remote.recipients, ["x@y.test"], "{provider}");
        assert_eq!(remote.path.join("/"), path, "{provider}");
    }
}

#[test]
fn post_without_mail_and_without_id_is_malformed() {
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
fn p17_other_events_and_sent_mail_are_ignored() {
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
fn only_providers_with_a_handshake_get_an_answer_to_it() {
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

/// Whether a source of this provider can be tried out without the provider.
fn can_sign(contract: &crate::Contract) -> bool {
    contract.asks.iter().any(Ask::can_sign)
}

#[test]
fn every_sample_is_accepted_and_decoded_and_its_forgery_is_refused() {
    let sample = Sample {
        id: "sample1",
        at: pipeline::Timestamp::from_millis(1_763_164_800_000),
        from: "a@b.test",
        recipient: "x@y.test",
        subject: "Hi",
        text: "Code 493817",
    };
    for contract in contracts().filter(|contract| can_sign(contract)) {
        let name = contract.name;
        let sources = sources(settings(name)).expect("a source");
        let source = sources.get("main").expect("the source");
        let post = source.sample(&sample).unwrap_or_else(|| panic!("{name}"));
        let content_type = post.headers[0].1.clone();
        match source.decode(&content_type, &post.body) {
            Ok(Decoded::Mails(mails)) => {
                let recipient = settings(name).recipient;
                let recipient = recipient.as_deref().unwrap_or("x@y.test");
                assert_eq!(mails[0].recipients, [recipient], "{name}");
            }
            Ok(Decoded::RemoteMail(mail)) => {
                assert_eq!(contract.posts, crate::Posts::Notice, "{name}");
                assert_eq!(mail.recipients, ["x@y.test"], "{name}");
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
        if source.coverage() == Coverage::Body {
            forged.body.push(b'x');
        } else {
            let is_password = |(name, _): &&mut (String, String)| name == "authorization";
            let password = forged.headers.iter_mut().find(is_password);
            password.expect("a password").1.push('x');
        }
        assert!(verify(&forged, now).is_err(), "{name}");
    }
}

#[test]
fn poll_only_source_refuses_posts_and_decodes_polled_mail() {
    let mail = InboundMail {
        recipients: vec!["x@y.test".to_owned()],
        raw: b"Subject: x\r\n\r\n".to_vec(),
        rebuilt: false,
        provider_id: None,
        received_at: None,
        stated_from: None,
        sender: None,
        flags: Vec::new(),
    };
    let body = crate::addressed_message(&mail.recipients, &mail.raw);
    for contract in contracts().filter(|contract| contract.is_poll_only()) {
        let provider = contract.name;
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
        let rebuilt = source.decode(crate::POLLED_REBUILT, &body);
        let mail = InboundMail {
            rebuilt: true,
            ..mail.clone()
        };
        assert_eq!(rebuilt, Ok(Decoded::Mails(vec![mail])), "{provider}");
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
fn source_without_signature_and_password_is_refused() {
    let by_password = |contract: &&crate::Contract| {
        contract.asks.contains(&Ask::MintPassword) && contract.coverage != Coverage::TokenOnly
    };
    for contract in contracts().filter(by_password) {
        let provider = contract.name;
        let mut settings = settings(provider);
        settings.username = None;
        settings.password = None;
        assert_eq!(
            sources(settings).err(),
            Some(SourceFlaw::Unproven),
            "{provider}"
        );
    }
}

#[test]
fn weak_signature_with_a_password_token_or_address_list_has_no_warning() {
    let has_warning = |settings| {
        let sources = sources(settings).expect("a source");
        let source = sources.get("main").expect("the source");
        source.warning().is_some()
    };
    let weak = SourceSettings {
        username: None,
        password: None,
        ..settings("mailgun")
    };
    assert!(has_warning(weak.clone()));
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
        assert!(!has_warning(second.clone()), "{second:?}");
    }
}

#[test]
fn every_example_builds_and_refuses_a_setting_it_does_not_take() {
    for contract in contracts() {
        let mut settings = settings(contract.name);
        let built =
            sources(settings.clone()).unwrap_or_else(|flaw| panic!("{}: {flaw}", contract.name));
        let source = built.get("main").expect("the source");
        assert_eq!(source.provider(), contract.name);
        assert_eq!(source.warning(), None, "{}", contract.name);
        if settings.url.is_none() {
            settings.url = Some("https://example.com".to_owned());
            assert_eq!(sources(settings).err(), Some(SourceFlaw::Unfit("url")));
        }
    }
    let unknown = SourceSettings {
        provider: "nobody".to_owned(),
        ..SourceSettings::default()
    };
    let flaw = sources(unknown).expect_err("an unknown provider");
    assert!(flaw.to_string().contains("postmark"), "{flaw}");
}

/// What a `SendGrid` source says about the sender of a mail with this field.
fn sendgrid_verdict(settings: SourceSettings, dkim: &str) -> Option<SenderVerdict> {
    let (kind, body) = form(&[
        ("envelope", r#"{"to":["x@y.test"],"from":"a@b.test"}"#),
        ("email", RAW),
        ("dkim", dkim),
    ]);
    let sources = sources(settings).expect("a source");
    let source = sources.get("main").expect("the source");
    match source.decode(&kind, body.as_bytes()).expect("it decodes") {
        Decoded::Mails(mails) => mails[0].sender.clone(),
        other => panic!("no mail: {other:?}"),
    }
}

/// Whoever has the password could write the verdict.
#[test]
fn verdict_of_a_source_with_a_password_alone_is_ignored() {
    let by_password = SourceSettings {
        public_key: None,
        username: Some("user".to_owned()),
        password: Some("a-long-password-0123456789".into()),
        ..settings("sendgrid")
    };
    assert_eq!(sendgrid_verdict(by_password, "{@example.com : pass}"), None);
}

#[test]
fn sendgrid_dkim_field_gives_the_domains_that_passed() {
    let signers = |dkim: &str| sendgrid_verdict(signed_sendgrid(), dkim);
    let by = |domains: &[&str]| {
        let domains = domains.iter().map(|&one| one.to_owned()).collect();
        Some(SenderVerdict::SignedBy(domains))
    };
    assert_eq!(signers("{@example.com : pass}"), by(&["example.com"]));
    assert_eq!(signers("none"), by(&[]));
}

/// Anybody can add a second type to a signed mail. The rebuilt message has one of its own.
#[test]
fn sendgrid_mail_rebuilt_from_a_doubtful_header_has_no_verdict() {
    let verdict = |headers: &str, texts: &[&str]| {
        let mut fields = vec![
            ("envelope", r#"{"to":["x@y.test"],"from":"a@b.test"}"#),
            ("headers", headers),
            ("dkim", "{@b.test : pass}"),
        ];
        fields.extend(texts.iter().map(|name| (*name, "Code 493817")));
        let (kind, body) = form(&fields);
        let sources = sources(signed_sendgrid()).expect("a source");
        let source = sources.get("main").expect("the source");
        match source.decode(&kind, body.as_bytes()).expect("it decodes") {
            Decoded::Mails(mails) => mails[0].sender.clone(),
            other => panic!("no mail: {other:?}"),
        }
    };
    let plain = "From: a@b.test\nSubject: Hi\n there\nContent-Type: text/plain\n";
    let encoded = format!("{plain}Content-Transfer-Encoding: 8bit\n");
    let signed = Some(SenderVerdict::SignedBy(vec!["b.test".to_owned()]));
    assert_eq!(verdict(plain, &["text", "html"]), signed);
    assert_eq!(verdict(&encoded, &["html"]), signed);
    assert_eq!(verdict(&encoded, &["text", "html"]), None);
    for added in [
        "Content-Type: text/html",
        "content-type : text/html",
        "no field",
    ] {
        let headers = format!("{added}\r\n{plain}");
        assert_eq!(verdict(&headers, &["text"]), None, "{added}");
    }
}
