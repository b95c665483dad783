//! Broken, unusual and hostile mails.

use extract::{AbstainReason, Allowlist, Flag, Policy, Refusal, extract};

use crate::{code, extract_any, html_mail, text_mail};

fn refusal(raw: &[u8]) -> Refusal {
    extract(raw, &Policy::default()).unwrap_err()
}

#[test]
fn deeply_nested_mail_is_refused() {
    assert_eq!(
        refusal(&b"Content-Type:message/rfc822\n\n".repeat(40_000)),
        Refusal::TooDeep
    );
    let level = |n: u32| format!("Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n");
    let multiparts = (0..50_000).map(level).collect::<Vec<_>>().concat();
    assert_eq!(refusal(multiparts.as_bytes()), Refusal::TooDeep);
    assert_eq!(Refusal::TooDeep.reason(), "too_deep");
}

#[test]
fn million_headers_are_refused() {
    assert_eq!(
        refusal(&b"X: y\n".repeat(1_000_000)),
        Refusal::HeadersTooLarge
    );
}

#[test]
fn undeclared_latin_1_gives_its_code() {
    let plain = b"From: a@b.example\r\nSubject: Ihr Best\xe4tigungscode\r\n\r\n\
        Ihr Best\xe4tigungscode f\xfcr die Anmeldung lautet 482913.\r\n";
    let html = b"From: a@b.example\r\nSubject: V\xe9rification\r\n\
        Content-Type: text/html\r\n\r\n<p>Code de v\xe9rification : <b>482913</b></p>\r\n";
    for raw in [&plain[..], html] {
        assert_eq!(code(&extract_any(raw)), Some("482913"));
    }
}

#[test]
fn unusable_message_id_is_none_and_flagged() {
    let huge = format!(
        "Message-ID: <{}@b.example>\r\nFrom: a@b.example\r\n\r\nx",
        "a".repeat(100_000)
    );
    for raw in [
        huge.as_str(),
        "Message-ID: <a@b>\r\nMessage-ID: <c@d>\r\nFrom: a@b.example\r\n\r\nx",
        "Message-ID: <a@b> <c@d>\r\nFrom: a@b.example\r\n\r\nx",
        "Message-ID:\r\nFrom: a@b.example\r\n\r\nx",
    ] {
        let mail = extract_any(raw.as_bytes());
        assert_eq!(mail.identity.message_id, None);
        assert!(mail.flags.contains(&Flag::SyntheticMessageId));
    }
}

#[test]
fn same_mail_over_two_paths_has_one_digest() {
    let one = extract_any(
        b"Received: from a by b\r\nFrom: a@b.example\r\nSubject: x\r\n\r\nYour code is 482913\r\n",
    );
    let other = extract_any(
        b"Received: from c by d\nFrom: a@b.example\nSubject: x\n\nYour code is 482913\n",
    );
    let third = extract_any(b"From: a@b.example\nSubject: x\n\nYour code is 482914\n");
    assert_eq!(one.identity.content, other.identity.content);
    assert_ne!(one.identity.content, third.identity.content);
}

#[test]
fn ambiguous_sender_withholds_code_and_link() {
    for head in [
        "From: a@b.example\r\nFrom: c@d.example",
        "From: x: a@b.example;",
        "From: a@b.example, c@d.example",
        "X: y",
        "From: a@bank.example\0@evil.example",
    ] {
        let mail =
            extract_any(format!("{head}\r\n\r\nYour verification code is 482913").as_bytes());
        assert_eq!(
            mail.code.reason(),
            Some(AbstainReason::FromAmbiguous),
            "{head}"
        );
        assert!(mail.flags.contains(&Flag::FromAmbiguous), "{head}");
        assert_eq!(mail.sender.address, None, "{head}");
    }
}

#[test]
fn similar_header_names_are_ignored() {
    let mail = extract_any(b"Fr om: x@y.example\r\n:From: x@y.example\r\nFrom\0: x@y.example\r\nFrom: a@b.example\r\n\r\nYour code is 482913");
    assert_eq!(mail.sender.address.as_deref(), Some("a@b.example"));
    assert_eq!(code(&mail), Some("482913"));
}

#[test]
fn international_sender_is_ascii_and_flagged() {
    let mail = extract_any("From: a@b\u{430}nk.example\r\n\r\nhello".as_bytes());
    assert!(mail.flags.contains(&Flag::Idn));
    assert!(mail.sender.domain.unwrap().starts_with("xn--"));
}

#[test]
fn every_kind_of_line_end_is_read() {
    for raw in [
        "From: a@b.example\n\nYour code is 482913\n.\nYour code is not here\n",
        "From: a@b.example\r\rYour code is 482913\r",
        "From: a@b.example\r\n\nYour code is 482913\r\n.\r\nMAIL FROM:<x@y.example>\r\n",
    ] {
        assert_eq!(
            code(&extract_any(raw.as_bytes())),
            Some("482913"),
            "{raw:?}"
        );
    }
}

#[test]
fn boundary_inside_a_line_gives_one_code_and_a_flag() {
    let mail = extract_any(b"From: a@b.example\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nYour code is 111111 --b\r\nend\r\n--b--\r\n");
    assert_eq!(code(&mail), Some("111111"));
    assert!(mail.flags.contains(&Flag::StructureDamaged));
}

#[test]
fn broken_base64_is_decoded_leniently() {
    for body in [
        "WW91ciBjb2RlIGlzIDQ4MjkxMw",
        "WW91ciBj\r\n!!b2RlIGlz IDQ4MjkxMw",
        "WW91ciBjb2RlIGlzIDQ4MjkxMw=\r\n",
    ] {
        let raw = format!("From: a@b.example\r\nContent-Transfer-Encoding: base64\r\n\r\n{body}");
        assert_eq!(code(&extract_any(raw.as_bytes())), Some("482913"), "{body}");
    }
}

#[test]
fn damaged_characters_are_in_no_code() {
    for charset in ["no-such-set", "utf-7", "utf-16", "utf-8"] {
        let raw = [format!("From: a@b.example\r\nContent-Type: text/plain; charset={charset}\r\n\r\nYour code is 48").as_bytes(), b"\xff\xfe2913 and 1\xff2345"].concat();
        let mail = extract_any(&raw);
        assert!(
            mail.code
                .found()
                .is_none_or(|code| code.value.is_ascii() && code.value != "2913"),
            "{charset}"
        );
    }
}

#[test]
fn code_split_by_inline_tags_is_joined() {
    assert_eq!(
        code(&extract_any(&html_mail(
            "<p>Your code is <b>12</b>34<i>56</i></p>"
        ))),
        Some("123456")
    );
    assert_ne!(
        code(&extract_any(&html_mail(
            "<p>Your code is 12</p><p>3456</p>"
        ))),
        Some("123456")
    );
}

#[test]
fn different_codes_in_text_and_html_are_withheld() {
    let raw = b"From: a@b.example\r\nContent-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\n\r\nYour verification code is 111111\r\n--b\r\nContent-Type: text/html\r\n\r\n<p>Your verification code is 222222</p>\r\n--b--\r\n";
    assert_eq!(
        extract_any(raw).code.reason(),
        Some(AbstainReason::PartsDisagree)
    );
}

#[test]
fn different_codes_are_withheld_even_if_one_scores_high() {
    let raw = b"From: a@b.example\r\nContent-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\n\r\nYour verification code is 111111. It expires in 10 minutes.\r\n--b\r\nContent-Type: text/html\r\n\r\n<p>Hello</p><p>222222</p>\r\n--b--\r\n";
    assert_eq!(
        extract_any(raw).code.reason(),
        Some(AbstainReason::PartsDisagree)
    );
}

#[test]
fn fifty_codes_are_ambiguous() {
    let line = |n: u32| format!("Your code is {}\n", 100_003 + n * 7_919);
    let body = (0..50).map(line).collect::<Vec<_>>().concat();
    assert_eq!(
        extract_any(&text_mail(&body)).code.reason(),
        Some(AbstainReason::Ambiguous)
    );
}

#[test]
fn digits_of_one_other_script_are_read_and_mixed_ones_are_not() {
    let whole = extract_any(&text_mail(
        "Your verification code is \u{ff14}\u{ff18}\u{ff12}\u{ff19}\u{ff11}\u{ff13}",
    ));
    assert_eq!(code(&whole), Some("482913"));
    assert!(whole.flags.contains(&Flag::ForeignDigits));
    let mixed = extract_any(&text_mail(
        "Your verification code is 12\u{663}\u{664}\u{665}\u{666}",
    ));
    assert_eq!(code(&mixed), None);
}

#[test]
fn invisible_characters_inside_a_code_are_removed_and_flagged() {
    let mail = extract_any(&text_mail("Your verification code is 482\u{200d}913"));
    assert_eq!(code(&mail), Some("482913"));
    assert!(mail.flags.contains(&Flag::InvisibleCharacters));
}

#[test]
fn code_in_an_attachment_is_not_read() {
    let raw = b"From: a@b.example\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nSee attachment\r\n--b\r\nContent-Type: application/zip; name=42.zip\r\nContent-Transfer-Encoding: base64\r\n\r\nWW91ciBjb2RlIGlzIDQ4MjkxMw==\r\n--b--\r\n";
    assert_eq!(
        extract_any(raw).code.reason(),
        Some(AbstainReason::NoCandidate)
    );
}

#[test]
fn oversize_content_type_is_dropped() {
    let raw = format!(
        "From: a@b.example\r\nContent-Type: text/plain; charset=\"{}\r\n\r\nYour code is 482913",
        "x".repeat(1_000_000)
    );
    let mail = extract_any(raw.as_bytes());
    assert_eq!(mail.code.found(), None);
    assert!(mail.flags.contains(&Flag::HeaderDropped));
    let section = |n: u32| format!(" name*{n}=x;");
    let sections = (0..40_000).map(section).collect::<Vec<_>>().concat();
    let raw = format!(
        "From: a@b.example\r\nContent-Type: text/plain;{sections}\r\n\r\nYour code is 482913"
    );
    assert_eq!(extract_any(raw.as_bytes()).code.found(), None);
}

/// Without its disposition an attachment would be read as a body.
#[test]
fn part_with_an_oversize_content_header_gives_no_code() {
    let name = "x".repeat(20_000);
    let raw = format!(
        "From: a@b.example\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n\
         --b\r\n\r\nSee the attachment\r\n\
         --b\r\nContent-Disposition: attachment; filename=\"{name}\"\r\n\r\n\
         Your verification code is 482913\r\n--b--\r\n"
    );
    let mail = extract_any(raw.as_bytes());
    assert_eq!(mail.code.found(), None);
    assert!(mail.flags.contains(&Flag::HeaderDropped));
}

#[test]
fn number_with_a_combining_mark_gives_no_part_of_it_as_code() {
    for mark in ['\u{301}', '\u{20e3}', '\u{e31}', '\u{483}'] {
        let body = format!("Your verification code is 77{mark}482913");
        assert_eq!(code(&extract_any(&text_mail(&body))), None, "{mark:?}");
    }
}

#[test]
fn link_broken_over_two_lines_is_withheld() {
    let url = "https://example.com/verify?token=Zk3v9Qm";
    let plain = text_mail(&format!("Verify your email:\n{url}\nB7tY1abcd99\n\nThanks"));
    let flowed = format!(
        "From: a@example.com\r\nContent-Type: text/plain; format=flowed\r\n\r\n\
         Verify your email:\r\n{url} \r\nB7tY1abcd99\r\n\r\nThanks"
    );
    for raw in [plain.as_slice(), flowed.as_bytes()] {
        let mail = crate::extract_allowed(raw);
        assert_eq!(mail.link.reason(), Some(AbstainReason::UnsafeLink));
    }
    let whole = text_mail(&format!("Verify your email:\n{url}B7tY1abcd99\nThanks\n"));
    assert!(crate::extract_allowed(&whole).link.found().is_some());
}

#[test]
fn form_action_is_not_a_link() {
    let form = "<p>Confirm your email</p>\
                <form action='https://example.com/verify?token=Zk3v9QmB7tY1abcd'>\
                <button>Confirm</button></form>";
    assert_eq!(crate::extract_allowed(&html_mail(form)).link.found(), None);
}

#[test]
fn sender_domain_with_percent_escapes_withholds_code_and_link() {
    let mail = extract_any(b"From: a@b%61nk.test\r\n\r\nYour verification code is 482913");
    assert_eq!(mail.sender.domain, None);
    assert_eq!(mail.code.reason(), Some(AbstainReason::FromAmbiguous));
}

#[test]
fn automatic_reply_is_flagged_and_withheld() {
    let raw = b"From: a@b.example\r\nTo: a@b.example\r\nAuto-Submitted: auto-replied\r\n\r\nYour verification code is 482913";
    let mail = extract_any(raw);
    assert_eq!(mail.code.reason(), Some(AbstainReason::AutoReply));
    assert!(mail.flags.contains(&Flag::AutoReply) && mail.flags.contains(&Flag::SelfSent));
    let generated = extract_any(b"From: a@b.example\r\nAuto-Submitted: auto-generated\r\n\r\nYour verification code is 482913");
    assert_eq!(code(&generated), Some("482913"));
}

#[test]
fn empty_and_oversize_mails_are_refused() {
    assert_eq!(refusal(b""), Refusal::Empty);
    assert_eq!(refusal(&[0; 1_000]), Refusal::Empty);
    assert_eq!(refusal(b"x"), Refusal::NotMail);
    assert_eq!(refusal(&vec![b'a'; 11 * 1024 * 1024]), Refusal::TooLarge);
    assert_eq!(
        extract_any(b"From: a@b.example\r\nSubject: only headers")
            .code
            .reason(),
        Some(AbstainReason::NoCandidate)
    );
}

#[test]
fn text_beyond_the_limit_withholds_as_truncated() {
    let body = format!(
        "Your verification code is 482913\n{}",
        "word word word\n".repeat(20_000)
    );
    let mail = extract_any(&text_mail(&body));
    assert_eq!(mail.code.reason(), Some(AbstainReason::Truncated));
    assert!(mail.flags.contains(&Flag::Truncated));
}

#[test]
fn bound_code_needs_an_allowed_host() {
    let mail = text_mail("747723 is your code.\n\n@example.com #747723");
    assert_eq!(code(&crate::extract_allowed(&mail)), Some("747723"));
    let foreign = text_mail("747723 is your code.\n\n@evil.test #747723");
    assert_eq!(
        crate::extract_allowed(&foreign).code.reason(),
        Some(AbstainReason::HostNotAllowed)
    );
}

#[test]
fn refused_host_is_the_registrable_domain_that_the_allowlist_lacks() {
    let of = |raw: &[u8]| {
        let links = Allowlist::parse(["example.com"]).unwrap();
        let mail = extract::read(raw).unwrap();
        let policy = Policy {
            links,
            ..Policy::default()
        };
        mail.decide(&policy).refused_host
    };
    let linked = |host: &str| {
        let url = format!("https://{host}/verify?token=4Kq8Zt2LpW9x4Kq8Zt2LpW9x");
        html_mail(&format!(
            "<p>Confirm your address:</p><a href=\"{url}\">Verify email</a>"
        ))
    };
    assert_eq!(of(&linked("example.com")), None);
    assert_eq!(
        of(&linked("auth.shop.test.example.net")).as_deref(),
        Some("example.net")
    );
    let bound = text_mail("747723 is your code.\n\n@login.evil.test #747723");
    assert_eq!(of(&bound).as_deref(), Some("evil.test"));
}
