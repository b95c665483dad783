//! Links that are only understood beside another link of the same mail.

use crate::{extract_allowed, html_mail};

const ACCEPT: &str = "https://club.example.com/uitnodiging/7c1e-90ab-4417-Zk3v9QmB7tY1";

fn link(raw: &[u8]) -> Option<String> {
    let mail = extract_allowed(raw);
    mail.link.found().map(|link| link.url.clone())
}

/// The words alone would let the last link win: it is the only one that speaks of the
/// invitation.
#[test]
fn longer_variant_of_an_action_link_is_never_returned() {
    let mail = |word: &str| {
        html_mail(&format!(
            "<p>Your invitation is waiting.</p><p><a href='{ACCEPT}'>Ik doe mee</a></p>\
             <p><a href='{ACCEPT}/{word}'>Verify the invitation</a></p>"
        ))
    };
    let refusal = format!("{ACCEPT}/weiger");
    assert_ne!(link(&mail("weiger")), Some(refusal));
    // A variant that names the action is what it says.
    let accepted = format!("{ACCEPT}/accept");
    assert_eq!(link(&mail("accept")), Some(accepted));
}

#[test]
fn copy_that_is_joined_with_the_next_word_is_not_returned() {
    let url = "https://id.example.com/signin/verify-magic-link/expmr31TAw5rB8r0t4x6";
    let raw = format!(
        "From: a@example.com\r\nMessage-ID: <1@example.com>\r\nSubject: Sign in\r\n\
         Content-Type: multipart/alternative; boundary=b\r\n\r\n\
         --b\r\nContent-Type: text/plain\r\n\r\n\
         Sign in: {url}Report suspicious activity: https://id.example.com/report?i=1\r\n\
         --b\r\nContent-Type: text/html\r\n\r\n\
         <p>Click the button to sign in.</p><a href=\"{url}\">Sign in</a>\r\n--b--\r\n"
    );
    assert_eq!(link(raw.as_bytes()).as_deref(), Some(url));
}

/// Only the sentences say which link does what.
#[test]
fn links_with_the_same_words_to_different_places_are_ambiguous() {
    let mail = |second: &str| {
        html_mail(&format!(
            "<p>You asked for a new password. To set it, click \
             <a href='https://id.example.com/reset/a/881'>here to reset your password</a>. \
             To keep the old one, click <a href='{second}'>here to reset your password</a>.</p>"
        ))
    };
    let other = extract_allowed(&mail("https://id.example.com/reset/b/881"));
    assert_eq!(other.link.found(), None);
    // The same place twice is no question.
    let same = "https://id.example.com/reset/a/881";
    assert_eq!(link(&mail(same)).as_deref(), Some(same));
}

#[test]
fn confirmation_in_a_mail_about_leaving_a_list_is_never_returned() {
    let mail = |subject: &str| {
        format!(
            "From: a@example.com\r\nMessage-ID: <1@example.com>\r\nSubject: {subject}\r\n\
             Content-Type: text/html\r\n\r\n<p>Click the button to confirm your address.</p>\
             <a href='https://list.example.com/c/Zk3v9QmB7tY1abcd'>Confirm</a>"
        )
    };
    assert!(link(mail("Confirm your address").as_bytes()).is_some());
    assert_eq!(
        link(mail("Unsubscribe from the weekly list").as_bytes()),
        None
    );
}
