//! The same link in the text and in the HTML, and labels that ask for another mail.

use extract::{AbstainReason, Extraction};

use crate::{extract_allowed, html_mail};

const DIRECT: &str = "https://id.example.com/confirm/Zk3v9QmB7tY1wN5dPq8x";
const TRACKED: &str = "https://click.example.com/k/mi8Aj0jMMUQxLm9yTKi9Lbu67S7GAq4";

/// A mail with a text and an HTML part.
fn both(text: &str, html: &str) -> Vec<u8> {
    format!(
        "From: a@example.com\r\nMessage-ID: <1@example.com>\r\nSubject: Confirm your address\r\n\
         Content-Type: multipart/alternative; boundary=b\r\n\r\n\
         --b\r\nContent-Type: text/plain\r\n\r\n{text}\r\n\
         --b\r\nContent-Type: text/html\r\n\r\n{html}\r\n--b--\r\n"
    )
    .into_bytes()
}

#[test]
fn link_that_only_the_html_tracks_is_returned() {
    let text = format!("Please confirm your address.\n\nConfirm my address: {DIRECT}\n");
    let html =
        format!("<p>Please confirm your address.</p><a href='{TRACKED}'>Confirm my address</a>");
    let mail = extract_allowed(&both(&text, &html));
    let found = mail.link.found().map(|link| link.url.as_str());
    assert!(found == Some(DIRECT) || found == Some(TRACKED), "{found:?}");
}

#[test]
fn third_link_with_the_same_label_is_ambiguous() {
    let planted = "https://click.example.com/k/p4Xk29LmQz7RtB8sVb6kP0zqHn2Wd5";
    for (in_text, in_html) in [(planted, ""), ("", planted)] {
        let text = format!(
            "Confirm my address: {in_text}\n\nPlease confirm your address.\n\n\
             Confirm my address: {DIRECT}\n"
        );
        let html = format!(
            "<p><a href='{in_html}'>Confirm my address</a></p>\
             <p>Please confirm your address.</p><a href='{TRACKED}'>Confirm my address</a>"
        );
        let mail = extract_allowed(&both(&text, &html));
        let is_ambiguous = matches!(mail.link, Extraction::Withheld(AbstainReason::Ambiguous));
        assert!(is_ambiguous, "{in_text} {in_html}");
    }
}

#[test]
fn label_that_asks_for_another_mail_is_not_followed() {
    let found = |label: &str| {
        let mail = extract_allowed(&html_mail(&format!(
            "<p>Please confirm your e-mail address to use the account.</p>\
             <a href='{DIRECT}'>{label}</a>"
        )));
        mail.link.found().is_some()
    };
    for label in [
        "Send me a new link",
        "Resend",
        "Neuen Link anfordern",
        "Renvoyer le lien",
    ] {
        assert!(!found(label), "{label}");
    }
    assert!(found("Confirm my address"));
    assert!(found("Confirm before the link has expired"));
}
