//! What in a URL only its recipient can know.

use std::borrow::Cow;

use url::Url;

/// How much of the URL only its recipient can know: 0 nothing, 1 a short or named
/// token, 2 a long token.
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
        .any(|(key, value)| is_token_name(key) && is_token_value(value));
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

/// The length of the longest piece of a URL that has a digit and may be its recipient's own:
/// `login/4c9e21b7-88ad` has one of 13, and `v2/login?userId=7` has none.
pub(super) fn longest_number(url: &Url) -> usize {
    // `preAuthSessionId` with forty random characters is a token all the same.
    let pairs = url
        .query_pairs()
        .filter(|(key, value)| !is_identifier(key) || is_token(value));
    let values = pairs.map(|(_, value)| value.into_owned());
    let fragment = url.fragment().unwrap_or_default();
    let pieces = url.path().split('/');
    let pieces = pieces.chain(fragment.split(['/', '?', '&', '=']));
    let pieces = pieces.filter(|piece| !is_version(piece)).map(str::to_owned);
    let numbers = pieces.chain(values);
    let numbers = numbers.filter(|piece| piece.bytes().any(|byte| byte.is_ascii_digit()));
    numbers.map(|piece| piece.len()).max().unwrap_or_default()
}

/// Whether the URL is the same for everybody: it has words only, and digits only where it says
/// what a list shows. `/wiki/Main_Page`, `/users?sort=created&status=2`.
pub(super) fn is_for_everybody(url: &Url) -> bool {
    const LISTS: [&str; 10] = [
        "direction",
        "filter",
        "limit",
        "order",
        "page",
        "per_page",
        "size",
        "sort",
        "state",
        "status",
    ];
    let is_word = |word: &str| {
        let rest = word.strip_prefix(|c: char| c.is_ascii_uppercase());
        rest.unwrap_or(word)
            .bytes()
            .all(|byte| byte.is_ascii_lowercase())
    };
    let is_of_words = |piece: &str| {
        let words = piece.split(|c: char| !c.is_ascii_alphanumeric());
        is_version(piece) || words.into_iter().all(is_word)
    };
    let shows_a_list = |name: &str| LISTS.iter().any(|list| name.eq_ignore_ascii_case(list));
    let mut values = url.query_pairs();
    values.all(|(name, value)| shows_a_list(&name) || is_of_words(&name) && is_of_words(&value))
        && url.path().split('/').all(is_of_words)
        && url.fragment().is_none_or(is_of_words)
        && token_strength(url) == 0
}

/// `v2`, as in the address of an interface.
fn is_version(piece: &str) -> bool {
    let number = piece.strip_prefix('v').unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// `x7Kp2Q`: letters of both cases with digits between them, as in short links.
fn is_short_token(segment: &str) -> bool {
    let inner = segment.trim_end_matches(|c: char| c.is_ascii_digit());
    (6..16).contains(&segment.len())
        && segment.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && inner.bytes().any(|byte| byte.is_ascii_digit())
        && inner.bytes().any(|byte| byte.is_ascii_uppercase())
        && inner.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// Whether a piece of the path or the query is a token of four characters, at least: `sH04`,
/// `5b1e`. A name with a number behind it, such as `web2`, is none.
pub(super) fn has_brief_token(url: &Url) -> bool {
    let query = url.query().unwrap_or_default();
    let mut pieces = url.path().split('/').chain(query.split(['=', '&']));
    pieces.any(is_brief_token)
}

fn is_brief_token(piece: &str) -> bool {
    let name = piece.trim_end_matches(|c: char| c.is_ascii_digit());
    let rises = |pair: &[u8]| pair.iter().map(u8::is_ascii_uppercase).eq([false, true]);
    let is_mixed = name.bytes().any(|byte| byte.is_ascii_digit())
        || name.len() < piece.len() && name.as_bytes().windows(2).any(rises);
    piece.len() >= 4 && is_mixed && piece.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Whether a piece of the path or a value has digits between letters, or letters between digits:
/// `7h3`. It may be a token; a name such as `web24` or a time such as `24h` is none.
pub(super) fn has_mixed_piece(url: &Url) -> bool {
    const NAMES: [&str; 8] = [
        "b2b",
        "b2c",
        "e2e",
        "i18n",
        "k8s",
        "l10n",
        "oauth2callback",
        "p2p",
    ];
    let values = url
        .query_pairs()
        .filter(|(name, _)| !is_identifier(name))
        .map(|(_, value)| value);
    let pieces = url.path().split('/').map(Cow::from);
    pieces.chain(values).any(|piece| {
        let is_change = |pair: &&[u8; 2]| pair[0].is_ascii_digit() != pair[1].is_ascii_digit();
        piece.as_bytes().array_windows().filter(is_change).count() > 1
            && piece.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && !NAMES.iter().any(|name| piece.eq_ignore_ascii_case(name))
    })
}

/// Anything but a short word: `/login?c=mail` is the same for everybody.
fn is_token_value(value: &str) -> bool {
    const LONGEST_WORD: usize = 5;
    value.len() > LONGEST_WORD || value.bytes().any(|byte| !byte.is_ascii_alphabetic())
}

pub(super) fn is_token_name(key: &str) -> bool {
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

/// Parameters that name a person or a place, which others know too.
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

/// At least sixteen characters that form no words: letters and digits mixed, or
/// letters of both cases.
pub(super) fn is_token(piece: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~%:=+".contains(&byte);
    let digits = piece.bytes().filter(u8::is_ascii_digit).count();
    let lower = piece.bytes().filter(u8::is_ascii_lowercase).count();
    let upper = piece.bytes().filter(u8::is_ascii_uppercase).count();
    piece.len() >= 16
        && piece.bytes().all(allowed)
        && (digits >= 3 && lower + upper >= 3 || upper >= 3 && lower >= 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_number_is_the_longest_piece_with_a_digit() {
        let number = |url: &str| longest_number(&Url::parse(url).unwrap());
        assert_eq!(number("https://a.com/login/4c9e21b7-88ad"), 13);
        assert_eq!(number("https://a.com/x?key=b8c0-11fe&page=2"), 9);
        assert_eq!(number("https://a.com/#/in/7a7"), 3);
        assert_eq!(number("https://a.com/v?sessionId=xfpTA8D4F6QRo2FZ"), 16);
        for url in [
            "https://a1.com/log-in?next=home",
            "https://a.com/v2/login",
            "https://a.com/login?utm_campaign=spring24&userId=481907",
        ] {
            assert_eq!(number(url), 0, "{url}");
        }
    }

    #[test]
    fn url_of_words_is_for_everybody() {
        let is_for_everybody = |url: &str| is_for_everybody(&Url::parse(url).unwrap());
        for url in [
            "https://a.com/reset/",
            "https://a.com/wiki/Main_Page",
            "https://a.com/users?sort=created_on%3Adesc&status=2",
            "https://a.com/v2/login?next=home#Top",
        ] {
            assert!(is_for_everybody(url), "{url}");
        }
        for url in [
            "https://a.com/s/jMhAjpYJepCW",
            "https://a.com/join/7",
            "https://a.com/verify?t=5",
            "https://a.com/w/?9c2e1f",
            "https://a.com/enter#4f",
        ] {
            assert!(!is_for_everybody(url), "{url}");
        }
    }

    #[test]
    fn brief_tokens_mix_letters_and_digits() {
        let has = |url: &str| has_brief_token(&Url::parse(url).unwrap());
        for url in ["https://a.com/login?v=sH04", "https://a.com/enter/5b1e"] {
            assert!(has(url), "{url}");
        }
        for url in [
            "https://a1b2.com/login",
            "https://a.com/login/2026",
            "https://a.com/login?app=web2",
            "https://a.com/sign-in/Help4",
            "https://a.com/login/2fa",
        ] {
            assert!(!has(url), "{url}");
        }
    }

    #[test]
    fn names_and_times_are_no_mixed_pieces() {
        let has = |url: &str| has_mixed_piece(&Url::parse(url).unwrap());
        for url in ["https://a.com/in/7h3", "https://a.com/login?p=b4k2"] {
            assert!(has(url), "{url}");
        }
        for url in [
            "https://a.com/login/2fa",
            "https://a.com/v10/login",
            "https://a.com/login?app=web24",
            "https://a.com/sign-in/Help4",
            "https://a.com/login?promo=24h",
            "https://a.com/login?utm_campaign=a1b2",
            "https://a.com/login?userId=u4b2",
            "https://a.com/b2b/login",
            "https://a.com/login/2026",
        ] {
            assert!(!has(url), "{url}");
        }
    }

    #[test]
    fn token_strength_by_url() {
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
