//! What an address says by its own words: path, parameters, fragment.

use url::Url;

use super::vocabulary::{SOCIAL, WORDS};
use crate::lexicon::Sense;

/// What the words of an address say, protected senses included.
pub(super) fn senses(url: &Url) -> Sense {
    let mut words = String::new();
    push_words(&mut words, url.path());
    for (key, value) in url.query_pairs() {
        push_words(&mut words, &key);
        push_short(&mut words, &value);
    }
    let fragment = url.fragment().unwrap_or_default();
    for piece in fragment.split(['?', '&', '/', '=']) {
        push_short(&mut words, piece);
    }
    let said = WORDS
        .iter()
        .filter(|(word, _)| words.contains(word))
        .fold(Sense::default(), |all, (_, sense)| all.or(*sense));
    // Changing a password is for whoever is signed in; resetting one is asked for.
    let changes =
        words.contains("password") && (words.contains("change") || words.contains("modify"));
    let asked = ["reset", "recover", "forgot"]
        .iter()
        .any(|word| words.contains(word));
    if changes && !asked {
        said.or(Sense::DENY)
    } else {
        said
    }
}

/// Words of a path, joined without their dashes and set apart from each other.
fn push_words(words: &mut String, text: &str) {
    for segment in text.split('/') {
        push_short(words, segment);
    }
}

/// Long pieces are tokens; what they spell is chance.
fn push_short(words: &mut String, piece: &str) {
    let digits = piece.bytes().filter(u8::is_ascii_digit).count();
    if piece.len() <= 40 && digits <= 2 {
        words.push(' ');
        words.extend(
            piece
                .chars()
                .filter(char::is_ascii_alphabetic)
                .map(|c| c.to_ascii_lowercase()),
        );
    }
}

/// How much in the address only its recipient can know, from 0 to 2.
pub(super) fn token_strength(url: &Url) -> u8 {
    let pairs: Vec<_> = url.query_pairs().collect();
    let fragment = url.fragment().unwrap_or_default();
    let in_fragment = fragment
        .split(['?', '&'])
        .filter_map(|pair| pair.split_once('='));
    let named = pairs
        .iter()
        .map(|(key, value)| (key.as_ref(), value.as_ref()))
        .chain(in_fragment)
        .any(|(key, value)| is_token_name(key) && !value.is_empty());
    let pieces = url
        .path()
        .split('/')
        .chain(fragment.split(['/', '?', '&', '=']))
        .map(str::to_owned);
    let secrets = pairs
        .into_iter()
        .filter(|(key, _)| !is_identifier(key))
        .map(|(_, value)| value.into_owned());
    let long = pieces.chain(secrets).any(|piece| is_token(&piece));
    let short = url.path().split('/').any(is_short_token);
    match (named || short, long) {
        (_, true) => 2,
        (true, false) => 1,
        (false, false) => 0,
    }
}

/// `x7Kp2Q`: letters of both cases with digits among them, as short links have.
fn is_short_token(segment: &str) -> bool {
    let inner = segment.trim_end_matches(|c: char| c.is_ascii_digit());
    (6..16).contains(&segment.len())
        && segment.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && inner.bytes().any(|byte| byte.is_ascii_digit())
        && inner.bytes().any(|byte| byte.is_ascii_uppercase())
        && inner.bytes().any(|byte| byte.is_ascii_lowercase())
}

fn is_token_name(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let suffixed = [
        "token",
        "code",
        "key",
        "secret",
        "hash",
        "signature",
        "ticket",
        "otp",
        "nonce",
    ];
    suffixed.iter().any(|name| key.ends_with(name))
        || matches!(
            key.as_str(),
            "t" | "k" | "c" | "s" | "sig" | "h" | "oobcode" | "token_hash" | "jwt" | "id"
        )
}

/// Parameters that say who or where, which others know too.
fn is_identifier(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    key.starts_with("utm_")
        || key.contains("redirect")
        || key.contains("email")
        || key.ends_with("id") && key != "oobid"
        || matches!(
            key.as_str(),
            "flow" | "next" | "continue" | "lang" | "service" | "style" | "entrypoint"
        )
}

/// At least sixteen characters that are no words: letters and digits mixed, or
/// letters of both cases.
fn is_token(piece: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~%:=+".contains(&byte);
    let digits = piece.bytes().filter(u8::is_ascii_digit).count();
    let lower = piece.bytes().filter(u8::is_ascii_lowercase).count();
    let upper = piece.bytes().filter(u8::is_ascii_uppercase).count();
    piece.len() >= 16
        && piece.bytes().all(allowed)
        && (digits >= 3 && lower + upper >= 3 || upper >= 3 && lower >= 3)
}

/// Pictures, style sheets, social sites, and bare home pages.
pub(super) fn is_furniture(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let path = url.path().to_ascii_lowercase();
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    SOCIAL.iter().any(|site| super::host::is_under(host, site))
        || matches!(
            extension,
            "png"
                | "gif"
                | "jpg"
                | "jpeg"
                | "svg"
                | "css"
                | "ico"
                | "webp"
                | "pdf"
                | "woff"
                | "ics"
        )
        || path == "/"
            && url.query().is_none()
            && url.fragment().is_none_or(|fragment| fragment.len() < 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(url: &str, sense: Sense) -> bool {
        senses(&Url::parse(url).unwrap()).says(sense)
    }

    #[test]
    fn paths_parameters_and_fragments_speak() {
        assert!(says(
            "https://a.com/accounts/confirm-email/abc/",
            Sense::VERIFY
        ));
        assert!(says(
            "https://a.com/auth/v1/verify?token=x&type=recovery",
            Sense::RESET
        ));
        assert!(says(
            "https://a.com/c.html#organizationuserinvited?token=x",
            Sense::INVITE
        ));
        assert!(says(
            "https://a.com/#/verify-recover-delete?token=x",
            Sense::DELETE
        ));
        assert!(says("https://a.com/report_signin?uid=1", Sense::DENY));
        assert!(!says(
            "https://a.com/x?token=verifyABCDEF0123456789abcdef0123456789abcdef",
            Sense::VERIFY
        ));
    }

    #[test]
    fn tokens_are_told_from_words() {
        let strength = |url: &str| token_strength(&Url::parse(url).unwrap());
        assert_eq!(strength("https://a.com/v?token=Zk3v9QmB7tY1aaaaX"), 2);
        assert_eq!(
            strength("https://a.com/v/#/x?token=gYM2UWwpHtPWmmPz5aW2"),
            2
        );
        assert_eq!(strength("https://a.com/v?t=a1"), 1);
        assert_eq!(strength("https://a.com/s/x7Kp2Q"), 1);
        assert_eq!(strength("https://a.com/sign-in/Help2026"), 0);
        assert_eq!(strength("https://a.com/the-complete-guide-to-buttons"), 0);
    }
}
