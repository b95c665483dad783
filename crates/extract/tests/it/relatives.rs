//! Links that are only understood beside another link of the same mail.

use extract::AbstainReason;

use crate::{extract_allowed, html_mail, text_mail};

const ACCEPT: &str = "https://club.example.com/uitnodiging/7c1e-90ab-4417-Zk3v9QmB7tY1";

fn link(raw: &[u8]) -> Option<String> {
    let mail = extract_allowed(raw);
    mail.link.found().map(|link| link.url.clone())
}

/// The words alone would let the last link win: it is the only one that speaks of the
/// invitation. The first is no rival, because nobody confirms anything under "Privacy".
#[test]
fn longer_variant_of_an_action_link_is_never_returned() {
    let mail = |word: &str| {
        html_mail(&format!(
            "<p>Your invitation is waiting.</p><p><a href='{ACCEPT}'>Privacy</a></p>\
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

#[test]
fn link_whose_sentence_confirms_is_returned_beside_one_with_the_same_words_that_undoes() {
    let one = "https://club.example.com/c/Zk3v9QmB7tY1abcd";
    let other = "https://club.example.com/d/Zk3v9QmB7tY1abcd";
    let confirm = |url: &str| {
        format!("<p>To confirm your e-mail address, <a href='{url}'>click here</a>.</p>")
    };
    let undo = |url: &str| {
        format!("<p>If you did not register, <a href='{url}'>click here</a> to undo it.</p>")
    };
    for (first, second) in [(one, other), (other, one)] {
        let mail = html_mail(&(confirm(first) + &undo(second)));
        assert_eq!(link(&mail).as_deref(), Some(first));
        // A question whether it was the reader, above a link, may be about that link.
        let mail = html_mail(&(undo(first) + &confirm(second)));
        assert_eq!(link(&mail), None);
    }
}

#[test]
fn link_that_only_a_heading_names_is_not_returned_beside_one_with_the_same_words() {
    let mail = html_mail(
        "<h3>It wasn't me</h3><p><a href='https://club.example.com/c/Zk3v9QmB7tY1abcd'>click \
         here</a></p><h3>If this wasn't you</h3><p>\
         <a href='https://club.example.com/d/Zk3v9QmB7tY1abcd'>click here</a></p>",
    );
    let mail = [b"Subject: Confirm your address\r\n".as_slice(), &mail].concat();
    assert_eq!(link(&mail), None);
}

#[test]
fn line_above_a_url_names_it() {
    let url = "https://bank.example.com/s/Zk3v9QmB7tY1abcd";
    for (above, says_no) in [
        ("Não fui eu: bloquear:", true),
        ("It wasn't me:", true),
        ("Nein, das war ich nicht:", true),
        ("Remove this address", true),
        ("Confirmar o e-mail:", false),
    ] {
        let ask = "Confirme seu e-mail para usar a conta.";
        let text = text_mail(&format!("{ask}\n\n{above}\n{url}\n"));
        let html = format!("<p>{ask}</p><p>{above}</p><a href='{url}'>{url}</a>");
        for mail in [text, html_mail(&html)] {
            let mail = extract_allowed(&mail);
            let is_protected = mail.link.reason() == Some(AbstainReason::ProtectedLink);
            assert_eq!(is_protected, says_no, "{above}");
            assert_eq!(mail.link.found().is_some(), !says_no, "{above}");
        }
    }
}

#[test]
fn refusal_above_or_behind_a_url_protects_it() {
    let url = "https://bank.example.com/s/Zk3v9QmB7tY1abcd";
    for (text, says_no) in [
        ("Anfrage abbrechen:\n\nURL", true),
        ("To decline the invitation:\nURL", true),
        ("URL (Refuse)", true),
        ("URL - Ablehnen", true),
        ("URL\nThis wasn't me", true),
        (
            "(1) Confirm my address\n(2) Delete my account\n\n(1) http://a.com/s\n(2) URL",
            true,
        ),
        (
            "Confirm it with [1].\n\n[1] URL - this was not me, block the account",
            true,
        ),
        (
            "Confirm it [1] within a day.\n\n[1] URL (deletes the account)",
            true,
        ),
        ("Is the address wrong? Do not confirm:\nURL", true),
        ("Block this sign-in:\nURL", true),
        ("Is the button blocked? Use this link:\nURL", false),
        (
            "Wasn't you? Ignore this mail.\nURL (valid for 24 hours)",
            false,
        ),
        ("URL (valid for 24 hours)", false),
    ] {
        let asked = "Please confirm your address with this link.";
        let body = format!("{asked}\n\n{}\n", text.replace("URL", url));
        let mail = extract_allowed(&text_mail(&body));
        let is_protected = mail.link.reason() == Some(AbstainReason::ProtectedLink);
        assert_eq!(is_protected, says_no, "{text}");
        assert_eq!(mail.link.found().is_some(), !says_no, "{text}");
    }
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

#[test]
fn links_outside_the_allowlist_do_not_make_an_allowed_link_doubtful() {
    let asked = "<p>Please click below to verify your email address.</p>";
    let own = "<a href='https://example.com/verify?token=Qk3v9QmB7tY1abcd'>Verify email</a>";
    let strange = |n: u8| {
        format!("<a href='https://evil.test/verify?token=Zk3v9QmB7tY1abc{n}'>Verify email</a>")
    };
    let strange: String = (0..5).map(strange).collect();
    let expected = link(&html_mail(&format!("{asked}{own}")));
    assert!(expected.is_some());
    for mail in [
        format!("{asked}{strange}{own}"),
        format!("{asked}{own}{strange}"),
    ] {
        assert_eq!(link(&html_mail(&mail)), expected);
    }
}

/// Links without words leave the words of the mail as they are, so nothing may change.
#[test]
fn refused_links_without_words_do_not_change_the_confidence() {
    let own = "<p>Go on here:</p><a href='https://example.com/v/Qk3v9QmB7tY1abcd'>Yes</a>";
    let strange = |n: u8| format!("<a href='https://evil.test/v/Zk3v9QmB7tY1abc{n}'></a>");
    let strange: String = (0..5).map(strange).collect();
    let confidence = |body: String| {
        let found = extract_allowed(&html_mail(&body)).link;
        found.found().map(|link| link.confidence)
    };
    let alone = confidence(own.to_owned());
    assert!(alone.is_some());
    assert_eq!(confidence(format!("{strange}{own}")), alone);
    assert_eq!(confidence(format!("{own}{strange}")), alone);
}

#[test]
fn sign_in_link_that_is_the_same_for_everybody_is_not_returned() {
    let mail = |path: &str| {
        html_mail(&format!(
            "<p>You asked to sign in. Click below to sign in to your account.</p>\
             <p><a href='https://app.example.com/login{path}'>Sign in</a></p>"
        ))
    };
    assert_eq!(link(&mail("")), None);
    let own = "https://app.example.com/login/4c9e21b7-88ad".to_owned();
    assert_eq!(link(&mail("/4c9e21b7-88ad")), Some(own));
}

#[test]
fn link_that_the_text_and_the_html_spell_differently_is_returned() {
    let raw = "From: a@example.com\r\nMessage-ID: <1@example.com>\r\n\
               Subject: Reset your password\r\n\
               Content-Type: multipart/alternative; boundary=b\r\n\r\n\
               --b\r\nContent-Type: text/plain\r\n\r\n\
               You asked for a new password. Please use the link below to set it.\r\n\
               https://app.example.com/password/reset/7c1e-90ab-4417-Zk3v9QmB?next=/\r\n\
               --b\r\nContent-Type: text/html\r\n\r\n\
               <p>You asked for a new password. Please use the link below to set it.</p>\
               <a href='https://app.example.com/password/reset/7c1e-90ab-4417-Zk3v9QmB?next=%2F'>\
               Set a new password</a>\r\n--b--\r\n";
    let found = link(raw.as_bytes()).unwrap_or_default();
    assert!(
        found.contains("/password/reset/7c1e-90ab-4417-Zk3v9QmB"),
        "{found}"
    );
}
