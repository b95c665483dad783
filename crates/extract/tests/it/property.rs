//! Properties that hold for every mail.

use extract::{Allowlist, Policy, extract, judge};
use proptest::prelude::*;
use unicode_normalization::char::is_combining_mark;

use crate::{html_mail, text_mail};

/// Pieces of hostile and honest mails.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,24}",
        "\\PC{0,12}",
        "[0-9]{3,11}",
        "[A-Z0-9]{4,10}(-[A-Z0-9]{3,6}){0,3}",
        Just("Your verification code is ".to_owned()),
        Just("<b>".to_owned()),
        Just("</b><td>".to_owned()),
        Just("<p style=\"display:none\">".to_owned()),
        Just(
            "<a href=\"https://example.com/verify?token=Zk3v9QmB7tY1abcd\">Verify email</a>"
                .to_owned()
        ),
        Just(
            "<a href=\"https://evil.test/verify?token=Zk3v9QmB7tY1abcd\">Verify email</a>"
                .to_owned()
        ),
        Just("https://example.com@evil.test/verify?token=Zk3v9QmB7tY1abcd ".to_owned()),
        Just("@evil.test #482913\n".to_owned()),
        Just("\u{200b}\u{ad}\u{663}".to_owned()),
        Just("\n".to_owned()),
    ]
}

fn mail() -> impl Strategy<Value = Vec<u8>> {
    (any::<bool>(), prop::collection::vec(piece(), 0..24)).prop_map(|(html, pieces)| {
        let body = pieces.concat();
        if html {
            html_mail(&body)
        } else {
            text_mail(&body)
        }
    })
}

fn policy() -> Policy {
    Policy {
        links: Allowlist::parse(["example.com", "*.example.com"]).unwrap(),
        ..Policy::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_without_a_panic(raw in prop::collection::vec(any::<u8>(), 0..2_000)) {
        let _ = extract(&raw, &policy());
    }

    #[test]
    fn same_mail_gives_the_same_answer(raw in mail()) {
        let (one, other) = (extract(&raw, &policy()).unwrap(), extract(&raw, &policy()).unwrap());
        prop_assert_eq!(one.code, other.code);
        prop_assert_eq!(one.link, other.link);
        prop_assert_eq!(one.flags, other.flags);
        prop_assert_eq!(one.explanation, other.explanation);
    }

    #[test]
    fn returned_link_leads_to_an_allowed_host(raw in mail()) {
        let mail = extract(&raw, &policy()).unwrap();
        if let Some(link) = mail.link.found() {
            prop_assert!(link.host == "example.com" || link.host.ends_with(".example.com"));
            prop_assert!(judge(&link.url, &policy().links).is_ok());
            prop_assert!(!link.kind.is_protected());
        }
    }

    #[test]
    fn returned_code_has_a_bounded_alphabet_and_length(raw in mail()) {
        let mail = extract(&raw, &policy()).unwrap();
        if let Some(code) = mail.code.found() {
            prop_assert!((4..=40).contains(&code.value.chars().count()));
            let is_part = |c: char| c.is_alphanumeric() || is_combining_mark(c);
            prop_assert!(code.value.chars().all(|c| is_part(c) || "-.,:/_· \n\t".contains(c)));
            prop_assert!(code.compact.chars().all(is_part));
        }
    }

    #[test]
    fn explanation_holds_no_value(raw in mail()) {
        let mail = extract(&raw, &policy()).unwrap();
        let explained = serde_json::to_string(&mail.explanation).unwrap();
        if let Some(code) = mail.code.found().filter(|code| code.compact.len() >= 6) {
            prop_assert!(!explained.contains(&code.compact));
            let shown = format!("{:?} {:?}", mail.code, mail.link);
            prop_assert!(!shown.contains(&code.compact));
        }
    }

    #[test]
    fn judge_accepts_only_https_with_a_host_name(url in "[ -~]{0,40}|https://[a-z0-9.@:/%\\\\-]{0,40}") {
        if let Ok(destination) = judge(&url, &Allowlist::any()) {
            prop_assert!(destination.url.starts_with("https://"));
            prop_assert!(destination.host.contains('.') && !destination.host.ends_with('.'));
            prop_assert!(!destination.url.contains('\\'));
        }
    }
}
