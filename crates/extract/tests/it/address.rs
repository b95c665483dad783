//! URLs that the gate must refuse, and some that it must not.

use extract::{AbstainReason, Allowlist, Flag, Rejection, judge};

use crate::{extract_allowed, html_mail};

fn allowed() -> Allowlist {
    Allowlist::parse(["example.com", "*.example.com"]).unwrap()
}

/// URLs and the first check that each fails.
const REFUSED: &[(&str, Rejection)] = &[
    ("https://example.com@evil.test/", Rejection::Userinfo),
    ("https://example.com:443@evil.test/", Rejection::Userinfo),
    ("https://example.com\\.evil.test/", Rejection::Characters),
    ("https:\\\\evil.test/", Rejection::Characters),
    ("//evil.test/", Rejection::Scheme),
    ("https://example.com%40evil.test/", Rejection::BadHost),
    ("https://example.com%2f@evil.test/", Rejection::Userinfo),
    ("https://example\u{3002}com/", Rejection::Characters),
    ("https://example\u{ff0e}com/", Rejection::Characters),
    ("https://ex\u{430}mple.com/", Rejection::Characters),
    ("https://xn--exmple-4nf.com/", Rejection::Idn),
    ("https://example.com./", Rejection::BadHost),
    ("https://example.com:8443/", Rejection::Port),
    ("https://127.0.0.1/", Rejection::IpLiteral),
    ("https://2130706433/", Rejection::IpLiteral),
    ("https://0x7f000001/", Rejection::IpLiteral),
    ("https://0177.0.0.1/", Rejection::IpLiteral),
    ("https://127.1/", Rejection::IpLiteral),
    ("https://0x7f.1/", Rejection::IpLiteral),
    ("https://017700000001/", Rejection::IpLiteral),
    ("https://0/", Rejection::IpLiteral),
    (
        "https://\u{2460}\u{2461}\u{2466}.\u{24ea}.\u{24ea}.\u{2460}/",
        Rejection::Characters,
    ),
    ("https://[::1]/", Rejection::IpLiteral),
    ("https://[::ffff:127.0.0.1]/", Rejection::IpLiteral),
    ("https://[64:ff9b::7f00:1]/", Rejection::IpLiteral),
    ("https://127.0.0.1.nip.io/", Rejection::Internal),
    ("https://localhost/", Rejection::Internal),
    ("https://intranet/", Rejection::Internal),
    ("https://example.com;evil.test/", Rejection::BadHost),
    ("https://example.com,evil.test/", Rejection::BadHost),
    ("https://exam\tple.com/", Rejection::Characters),
    ("ht\ntps://example.com/", Rejection::Characters),
    ("https://exam\u{200b}ple.com/", Rejection::Characters),
    ("https://exam\u{ad}ple.com/", Rejection::Characters),
    ("http://example.com/", Rejection::Scheme),
    ("https:example.com/", Rejection::Scheme),
    ("https:/example.com/", Rejection::Scheme),
    ("https:///example.com/", Rejection::NoHost),
    ("javascript://example.com/%0aalert(1)", Rejection::Scheme),
    ("data:text/html,x", Rejection::Scheme),
    ("file:///etc/passwd", Rejection::Scheme),
    ("blob:https://example.com/x", Rejection::Scheme),
    (
        "https://example.com/r?u=https%3A%2F%2Fevil.test",
        Rejection::Redirect,
    ),
    (
        "https://example.com/r?u=%2568ttps%253A%252F%252Fevil.test",
        Rejection::Redirect,
    ),
    ("https://example.com/r?u=//evil.test", Rejection::Redirect),
    ("https://example.com/r?url=evil.com/x", Rejection::Redirect),
    ("https://example.com/r?next=@evil.com", Rejection::Redirect),
    (
        "https://example.com/r?x=aHR0cHM6Ly9ldmlsLmNvbS8",
        Rejection::Redirect,
    ),
    ("https://example.com/amp/s/evil.com/x", Rejection::Redirect),
    ("https://-example.com/", Rejection::BadHost),
    ("https://exa_mple.com/", Rejection::BadHost),
    ("https://user:pw@example.com/", Rejection::Userinfo),
    ("https://evil.test/?example.com", Rejection::NotAllowed),
    ("https://example.com.evil.test/", Rejection::NotAllowed),
    ("https://badexample.com/", Rejection::NotAllowed),
    ("https://co.uk/", Rejection::NotRegistrable),
];

#[test]
fn hostile_urls_are_refused_with_their_rejection() {
    for (url, rejection) in REFUSED {
        assert_eq!(judge(url, &allowed()), Err(*rejection), "{url:?}");
    }
    assert_eq!(
        judge(
            &format!("https://example.com/{}", "a".repeat(2_048)),
            &allowed()
        ),
        Err(Rejection::TooLong)
    );
}

#[test]
fn escaped_path_leaves_no_path_prefix() {
    let allowed = Allowlist::parse(["example.com/verify/"]).unwrap();
    assert!(judge("https://example.com/verify/x", &allowed).is_ok());
    assert_eq!(
        judge("https://example.com/..%2f..%2fadmin", &allowed),
        Err(Rejection::NotAllowed)
    );
}

#[test]
fn allowed_urls_pass_in_canonical_form() {
    let url = |written: &str| judge(written, &allowed()).unwrap().url;
    assert_eq!(url("https://EXAMPLE.COM/"), "https://example.com/");
    assert_eq!(
        url("HTTPS://example.com:443/a?b#c"),
        "https://example.com/a?b#c"
    );
    assert_eq!(
        url("https://example.com#@evil.test/"),
        "https://example.com/#@evil.test/"
    );
    assert_eq!(
        url("https://a.b.example.com/v?next=/home"),
        "https://a.b.example.com/v?next=/home"
    );
}

#[test]
fn wildcard_below_a_public_suffix_is_refused() {
    assert!(Allowlist::parse(["*.github.io"]).is_err());
    assert!(Allowlist::parse(["*.co.uk"]).is_err());
}

#[test]
fn allowed_link_is_returned_beside_a_forbidden_one() {
    let mail = extract_allowed(&html_mail(
        "<p>Please click the button below to verify your email address and activate your account.</p>\
         <a href='https://evil.test/verify?token=Zk3v9QmB7tY1abcd'>Verify email</a>\
         <a href='https://example.com/verify?token=Qk3v9QmB7tY1abcd'>Verify email</a>",
    ));
    assert_eq!(
        mail.link.found().map(|link| link.host.as_str()),
        Some("example.com")
    );
    assert!(mail.flags.contains(&Flag::OtherLinks));
}

#[test]
fn link_that_shows_another_host_is_refused_and_flagged() {
    let shows = |text: &str| {
        extract_allowed(&html_mail(&format!(
            "<p>Verify your email</p>\
             <a href='https://www.example.com/verify?token=Zk3v9QmB7tY1abcd'>{text}</a>"
        )))
    };
    for text in [
        "https://bank.test/verify",
        "bank.test",
        "Verify at https://bank.test/verify",
        "https://bank.test/verify ›",
        "https://example.com/verify or https://bank.test/verify",
        "https://www.example.com@bank.test/verify",
        "https://b\u{430}nk.com/verify",
    ] {
        let mail = shows(text);
        assert!(mail.link.found().is_none(), "{text}");
        assert!(mail.flags.contains(&Flag::TextHostMismatch), "{text}");
    }
    for text in [
        "Verify",
        "https://example.com/verify",
        "Verify at https://example.com/verify",
        "https://exam... (verify)",
        "Verify jane@bank.test",
    ] {
        assert!(shows(text).link.found().is_some(), "{text}");
    }
}

#[test]
fn relative_link_is_not_returned() {
    let mail = extract_allowed(&html_mail(
        "<base href='https://example.com/'><p>Verify your email</p><a href='/verify?token=Zk3v9QmB7tY1abcd'>Verify email</a>",
    ));
    assert!(mail.link.found().is_none());
}

#[test]
fn protected_links_are_never_returned() {
    for (href, label) in [
        (
            "https://example.com/delete?token=Zk3v9QmB7tY1abcd",
            "Confirm",
        ),
        (
            "https://example.com/confirm?token=Zk3v9QmB7tY1abcd",
            "Delete my account",
        ),
        (
            "https://example.com/verify?token=Zk3v9QmB7tY1abcd",
            "This wasn't me",
        ),
        (
            "https://example.com/report?token=Zk3v9QmB7tY1abcd",
            "Verify",
        ),
        (
            "https://example.com/unsubscribe?token=Zk3v9QmB7tY1abcd",
            "Confirm",
        ),
    ] {
        let mail = extract_allowed(&html_mail(&format!(
            "<p>Acme</p><a href=\"{href}\">{label}</a>"
        )));
        assert!(mail.link.found().is_none(), "{href} {label}");
        assert_ne!(mail.link.reason(), Some(AbstainReason::NoCandidate));
    }
}
