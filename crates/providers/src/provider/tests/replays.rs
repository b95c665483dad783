//! A replay of a proven post, changed in what its signature does not cover, is the same
//! delivery.

use std::collections::BTreeMap;

use pipeline::Timestamp;
use secrecy::SecretString;

use crate::{RawRequest, SourceSettings, Sources, Verified, contract};

const NOW: i64 = 1_763_164_800;

fn sources(names: &[&str], settings: &SourceSettings) -> Sources {
    let each = names
        .iter()
        .map(|name| ((*name).to_owned(), settings.clone()));
    Sources::build(each.collect::<BTreeMap<_, _>>()).expect("every source")
}

fn verify(sources: &Sources, name: &str, headers: &[(&str, &str)], body: &str) -> Verified {
    let source = sources.get(name).expect("the source");
    let lines = headers
        .iter()
        .map(|(name, value)| (*name, value.as_bytes()));
    let request = RawRequest::new(lines, body.as_bytes());
    let verified = source.verify(&request, Timestamp::from_millis(NOW * 1000));
    verified.expect("a proven post")
}

#[test]
fn mandrill_post_with_other_escapes_has_the_same_key() {
    let settings = SourceSettings {
        provider: "mandrill".to_owned(),
        secrets: vec![SecretString::from("test-key").into()],
        url: Some("https://example.com/hook".to_owned()),
        ..SourceSettings::default()
    };
    let sources = sources(&["main"], &settings);
    let headers = [
        ("content-type", "application/x-www-form-urlencoded"),
        ("x-mandrill-signature", "ZT7SWh/rAEyv7yEkqTGXhi68YCA="),
    ];
    let first = verify(&sources, "main", &headers, "mandrill_events=%5B%5D");
    let replay = verify(&sources, "main", &headers, "mandrill%5fevents=[]");
    assert_eq!(first, replay);
}

#[test]
fn github_style_post_with_another_id_has_the_same_key() {
    let settings = SourceSettings {
        secrets: vec![SecretString::from("It's a Secret to Everybody").into()],
        ..contract("github-style").expect("a provider").example()
    };
    let sources = sources(&["main"], &settings);
    let signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    let post = |id: &str| {
        let headers = [
            ("x-hub-signature-256", signature),
            ("x-github-delivery", id),
        ];
        verify(&sources, "main", &headers, "Hello, World!")
    };
    assert_eq!(post("one"), post("two"));
}

#[test]
fn mailgun_token_has_the_same_key_in_every_source_of_its_secret() {
    let settings = SourceSettings {
        provider: "mailgun".to_owned(),
        secrets: vec![SecretString::from("a-shared-signing-key").into()],
        ..SourceSettings::default()
    };
    let sources = sources(&["one", "two"], &settings);
    let sample = crate::Sample {
        id: "token1",
        at: Timestamp::from_millis(NOW * 1000),
        from: "a@b.test",
        recipient: "x@y.test",
        subject: "Hi",
        text: "Code 493817",
    };
    let post = sources.get("one").and_then(|source| source.sample(&sample));
    let post = post.expect("a sample");
    let body = String::from_utf8(post.body).expect("text");
    let kind = [("content-type", post.headers[0].1.as_str())];
    let first = verify(&sources, "one", &kind, &body);
    assert_eq!(first, verify(&sources, "two", &kind, &body));
    let changed = verify(&sources, "two", &kind, &body.replace("x%40y", "z%40y"));
    assert_eq!(first.key(), changed.key(), "the token is used");
    assert_ne!(
        first.content(),
        changed.content(),
        "and so the other body is refused"
    );
}
