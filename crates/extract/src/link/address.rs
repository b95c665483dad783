//! The words of a URL: path, parameters, fragment.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use url::Url;

use super::token::{is_token, is_token_name};
use super::vocabulary::{SOCIAL, WORDS};
use crate::host;
use crate::lexicon::Sense;

/// Finds all words of more than four letters in one pass.
static LONG_WORDS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let words = WORDS.iter().map(|(word, _)| *word);
    AhoCorasick::new(words.filter(|word| word.len() > SHORT)).ok()
});
/// Words of this length or less count only at the start of a word.
const SHORT: usize = 4;

/// The senses of the words in a URL.
pub(super) fn senses(url: &Url) -> Sense {
    let words = UrlWords::of(url);
    let said = words.senses();
    // A signed-in user changes a password. A user who asked for a mail resets it.
    let changes = words.hold("password") && (words.hold("change") || words.hold("modify"));
    let asked = ["reset", "recover", "forgot"]
        .iter()
        .any(|word| words.hold(word));
    if changes && !asked || answers_no(url) {
        said.or(Sense::DENY)
    } else {
        said
    }
}

/// `?approve=false`, `?answer=no`.
fn answers_no(url: &Url) -> bool {
    const QUESTIONS: [&str; 20] = [
        "accept",
        "accepted",
        "agree",
        "allow",
        "allowed",
        "answer",
        "approve",
        "approved",
        "confirm",
        "confirmed",
        "consent",
        "decision",
        "ismine",
        "itwasme",
        "me",
        "ok",
        "reply",
        "response",
        "v",
        "valid",
    ];
    const NO: [&str; 6] = ["0", "false", "n", "never", "no", "none"];
    url.query_pairs().any(|(name, value)| {
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let is =
            |words: &[&str], word: &str| words.iter().any(|one| one.eq_ignore_ascii_case(word));
        is(&QUESTIONS, &name) && is(&NO, &value)
    })
}

/// The words of a URL in lower case, without its tokens.
#[derive(Default)]
struct UrlWords {
    /// Each piece without its dashes: `opt-out` is `optout`.
    joined: String,
    /// Each word by itself, split at dashes and capitals.
    apart: String,
}

impl UrlWords {
    fn of(url: &Url) -> Self {
        let mut words = Self::default();
        for segment in url.path().split('/') {
            words.push(segment);
        }
        for (key, value) in url.query_pairs() {
            words.push(&key);
            if !(is_token_name(&key) && is_token(&value)) {
                words.push(&value);
            }
        }
        let fragment = url.fragment().unwrap_or_default();
        for piece in fragment.split(['?', '&', '/', '=']) {
            words.push(piece);
        }
        words
    }

    fn push(&mut self, piece: &str) {
        if is_spelt_by_chance(piece) {
            return;
        }
        self.joined.push(' ');
        let mut before = ' ';
        for letter in piece.chars() {
            if letter.is_ascii_alphabetic() {
                let begins = !before.is_ascii_alphabetic()
                    || before.is_ascii_lowercase() && letter.is_ascii_uppercase();
                if begins {
                    self.apart.push(' ');
                }
                self.joined.push(letter.to_ascii_lowercase());
                self.apart.push(letter.to_ascii_lowercase());
            }
            before = letter;
        }
    }

    /// The senses of all words of the table that the URL has.
    fn senses(&self) -> Sense {
        let long = WORDS.iter().filter(|(word, _)| word.len() > SHORT);
        let long: Vec<Sense> = long.map(|(_, sense)| *sense).collect();
        let searcher = LONG_WORDS.iter();
        let matches = searcher.flat_map(|long| long.find_overlapping_iter(&self.joined));
        let found = matches.filter_map(|found| long.get(found.pattern().as_usize()));
        let short = WORDS
            .iter()
            .filter(|(word, _)| word.len() <= SHORT && self.hold(word))
            .map(|(_, sense)| sense);
        found
            .chain(short)
            .fold(Sense::default(), |all, sense| all.or(*sense))
    }

    /// Whether the URL has the word. Words of three or four letters occur inside
    /// other words by chance, so they count only at the start of a word.
    fn hold(&self, word: &str) -> bool {
        if word.len() > SHORT {
            return self.joined.contains(word);
        }
        self.apart
            .split(' ')
            .any(|candidate| candidate.starts_with(word))
    }
}

/// Long pieces, pieces with digits and pieces half in capitals are tokens. A word
/// inside a token is there by chance.
fn is_spelt_by_chance(piece: &str) -> bool {
    let digits = piece.bytes().filter(u8::is_ascii_digit).count();
    let lower = piece.bytes().filter(u8::is_ascii_lowercase).count();
    let upper = piece.bytes().filter(u8::is_ascii_uppercase).count();
    let mixed = 4 * lower.min(upper) >= lower + upper;
    piece.len() > 40 || digits > 2 || is_token(piece) && mixed
}

/// Whether a URL cannot be an action link: a picture or another file, a social site, or a
/// plain home page.
pub(super) fn is_no_action(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let path = url.path().to_ascii_lowercase();
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    SOCIAL.iter().any(|site| host::is_under(host, site))
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
    fn words_are_found_in_path_parameters_and_fragment() {
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
    fn short_words_count_only_at_the_start_of_a_word() {
        assert!(says("https://a.com/help-center", Sense::PAGE));
        assert!(says("https://a.com/openHelp", Sense::PAGE));
        assert!(says("https://a.com/x?page=faqs", Sense::PAGE));
        assert!(!says("https://a.com/whelped", Sense::PAGE));
        assert!(says("https://a.com/ConfirmEmailAddress", Sense::VERIFY));
    }

    #[test]
    fn words_inside_tokens_are_ignored() {
        let words = WORDS
            .iter()
            .fold(Sense::default(), |all, (_, sense)| all.or(*sense));
        for (word, _) in WORDS.iter().filter(|(word, _)| word.len() <= 12) {
            let token = format!("pgWWTPSi4esVsaG{word}IOQYmwjsTkZ");
            for url in [
                "https://a.com/s?token=",
                "https://a.com/s/",
                "https://a.com/s#",
            ] {
                assert!(!says(&format!("{url}{token}"), words), "{url}{token}");
            }
        }
    }

    #[test]
    fn url_that_answers_no_denies() {
        let says = |url: &str| senses(&Url::parse(url).unwrap()).says(Sense::DENY);
        for url in [
            "https://a.com/confirm?t=8fj39dk2&approve=false",
            "https://a.com/consent?c=33b9&v=no",
            "https://a.com/s?it_was_me=0",
            "https://a.com/email/unverify/8fj39dk2",
        ] {
            assert!(says(url), "{url}");
        }
        for url in [
            "https://a.com/confirm?v=1",
            "https://a.com/confirm?track=no",
        ] {
            assert!(!says(url), "{url}");
        }
    }
}
