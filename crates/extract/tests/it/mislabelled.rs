//! HTML in a part that says it is plain text.

use extract::Extracted;

use crate::{code, extract_allowed, text_mail};

const URL: &str = "https://id.example.com/verify?token=Zk3v9QmB7tY1abcd";

fn link(mail: &Extracted) -> Option<&str> {
    mail.link.found().map(|link| link.url.as_str())
}

#[test]
fn page_in_a_text_part_is_read_as_html() {
    let page = |body: &str| {
        extract_allowed(&text_mail(&format!(
            "<!DOCTYPE html>\r\n<html><body>{body}</body></html>\r\n"
        )))
    };
    let mail = page("<p>Your verification code is <b>48</b>2913.</p>");
    assert_eq!(code(&mail), Some("482913"));
    let mail = page(&format!(
        "<p>Confirm your e-mail address.</p><a href=\"{URL}\">Confirm</a>"
    ));
    assert_eq!(link(&mail), Some(URL));
    let mail = page("<p style='display:none'>Your verification code is 482913.</p><p>Hi</p>");
    assert_eq!(code(&mail), None, "hidden");
}

#[test]
fn tags_in_plain_text_hide_nothing() {
    let planted = "<p>Your verification code is 640275.</p>";
    for (before, after) in [
        (planted, "<!--"),
        (planted, "<div style='display:none'>"),
        ("<div style='display:none'>", planted),
        ("<html><body>", "<style>"),
    ] {
        let mail = extract_allowed(&text_mail(&format!(
            "{before} invited you.{after}\r\n\r\nYour verification code is 482913.\r\n"
        )));
        assert_ne!(code(&mail), Some("640275"), "{before} {after}");
        assert!(
            mail.explanation
                .sources
                .iter()
                .all(|source| source.hidden == 0),
            "{before} {after}"
        );
    }
}

#[test]
fn page_in_a_text_part_beside_html_is_plain_text() {
    let raw = "From: a@example.com\r\nMessage-ID: <1@example.com>\r\n\
        Content-Type: multipart/alternative; boundary=b\r\n\r\n\
        --b\r\nContent-Type: text/plain\r\n\r\n\
        <p style='display:none'>Your verification code is 482913.</p>\r\n\
        --b\r\nContent-Type: text/html\r\n\r\n<p>Your verification code is 482913.</p>\r\n--b--\r\n";
    let mail = extract_allowed(raw.as_bytes());
    assert!(
        mail.explanation
            .sources
            .iter()
            .all(|source| source.hidden == 0)
    );
    assert_eq!(mail.explanation.sources.len(), 3);
}

#[test]
fn link_around_its_own_address_is_that_address() {
    let mail = extract_allowed(&text_mail(&format!(
        "Greetings mara,\r\n\r\nYou are receiving this email because you requested that your \
         password be reset.\r\n\r\nTo reset your password, please click the following link, or \
         copy and paste it\r\ninto your web browser:\r\n\r\n\r\n\
         <a rel=\"noreferrer\" href=\"{URL}\">\r\n  {URL}\r\n</a>\r\n\r\nBest regards\r\n"
    )));
    assert_eq!(link(&mail), Some(URL));
}
