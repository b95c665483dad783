//! The words of a URL: path, parameters, fragment.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use url::Url;

use super::token::{is_token, is_token_name, token_strength};
use super::vocabulary::{INNOCENT, SECTIONS, SOCIAL, WORDS};
use crate::host;
use crate::lexicon::Sense;

/// Finds all words of more than four letters in one pass.
static LONG_WORDS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let words = WORDS.iter().map(|(word, _)| *word);
    AhoCorasick::new(words.filter(|word| word.len() > SHORT)).ok()
});
/// Words of this length or less count only at the start of a word.
const SHORT: usize = 4;

/// The senses of the words in a URL. The page that a reader sees afterwards may be any page:
/// `?redirect_to=https://a.com/dashboard`.
pub(super) fn senses(url: &Url) -> Sense {
    let (words, next) = (UrlWords::of(url), UrlWords::of_next(url));
    let said = words.senses(|_| true);
    let said = said.or(next.senses(|sense| sense != Sense::PAGE));
    let holds = |word: &str| words.hold(word) || next.hold(word);
    // A signed-in user changes a password. A user who asked for a mail resets it, or changes it
    // with a token.
    let changes = holds("password") && (holds("change") || holds("modify"));
    let asked = ["reset", "recover", "forgot"]
        .iter()
        .any(|word| holds(word));
    if changes && !asked && token_strength(url) == 0 || answers_no(url) {
        said.or(Sense::DENY)
    } else {
        said
    }
}

/// Whether each page that the URL names is a part of a site: `/support/reset-password/8Fk2`.
pub(super) fn names_only_sections(url: &Url) -> bool {
    let words = UrlWords::of(url);
    let mut pages = WORDS
        .iter()
        .filter(|(word, sense)| *sense == Sense::PAGE && words.hold(word));
    pages.all(|(word, _)| SECTIONS.contains(word))
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
    url.query_pairs().any(|(name, value)| {
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let is_question = QUESTIONS.iter().any(|one| one.eq_ignore_ascii_case(&name));
        is_question && is_refusal(&value)
    })
}

/// `cancel=false` does not cancel, and `approve=no` does not approve.
fn is_refusal(value: &str) -> bool {
    const NO: [&str; 6] = ["0", "false", "n", "never", "no", "none"];
    NO.iter().any(|no| no.eq_ignore_ascii_case(value))
}

/// Parameters by which a sender counts clicks or tells its own parts apart.
fn is_about_sender(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    key.starts_with("utm_")
        || matches!(
            key.as_str(),
            "campaign" | "client_id" | "locale" | "medium" | "plan" | "ref" | "source" | "tenant"
        )
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
        for (key, value) in url.query_pairs().filter(|(key, _)| !is_about_sender(key)) {
            if !is_refusal(&value) {
                words.push(&key);
            }
            if !(leads_on(&value) || is_token_name(&key) && is_token(&value)) {
                words.push(&value);
            }
        }
        let fragment = url.fragment().unwrap_or_default();
        for piece in fragment.split(['?', '&', '/', '=']) {
            words.push(piece);
        }
        words.forget_innocent();
        words
    }

    /// The words of URLs and paths in the parameters.
    fn of_next(url: &Url) -> Self {
        let mut words = Self::default();
        for (_, value) in url.query_pairs().filter(|(_, value)| leads_on(value)) {
            words.push(&value);
        }
        words.forget_innocent();
        words
    }

    fn forget_innocent(&mut self) {
        for word in INNOCENT {
            if self.joined.contains(word) {
                self.joined = self.joined.replace(word, "");
            }
        }
    }

    fn push(&mut self, piece: &str) {
        // An address may have any word: `support@`, `huy.nguyen@`.
        if is_spelt_by_chance(piece) || piece.contains('@') || piece.contains("%40") {
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

    /// The senses of all words of the table that the URL has, of those senses that count.
    fn senses(&self, counts: impl Fn(Sense) -> bool) -> Sense {
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
            .filter(|sense| counts(**sense))
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

/// Whether a value is a URL or a path: `?redirect_to=https://a.com/dashboard`.
fn leads_on(value: &str) -> bool {
    value.starts_with('/') || value.contains("://")
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
        assert!(says(
            "https://a.com/wiki/Special:InvalidateEmail/7f",
            Sense::DENY
        ));
        assert!(says(
            "https://a.com/auth/7f/signoff?list=news",
            Sense::LEAVE
        ));
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
    fn word_inside_an_innocent_word_does_not_count() {
        assert!(says("https://a.com/konto/slett", Sense::DELETE));
        assert!(!says("https://a.com/newsletter/confirm/7", Sense::DELETE));
        assert!(says("https://a.com/newsletter/delete/7", Sense::DELETE));
        assert!(says("https://a.com/newsletter/unsubscribe", Sense::LEAVE));
        for word in INNOCENT {
            let holds = |(one, _): &&(&str, Sense)| word.contains(one);
            assert!(WORDS.iter().any(|one| holds(&one)), "{word} has none");
        }
    }

    #[test]
    fn page_that_a_reader_sees_afterwards_does_not_make_a_page() {
        let verify = "https://a.com/auth/v1/verify?token=5d1f&redirect_to=https://b.com/";
        assert!(!says(&format!("{verify}dashboard"), Sense::PAGE));
        assert!(!says("https://a.com/login?t=1&next=/support", Sense::PAGE));
        assert!(says(&format!("{verify}account/delete"), Sense::DELETE));
        assert!(says("https://a.com/support?topic=login", Sense::PAGE));
    }

    #[test]
    fn words_of_the_reader_and_the_sender_do_not_count() {
        let all = WORDS.iter();
        let all = all.fold(Sense::default(), |all, (_, sense)| all.or(*sense));
        for url in [
            "https://a.com/x?email=huy.nguyen%40b.com&to=support%2Btrial%40b.com",
            "https://a.com/x/billing@b.com/7f",
            "https://a.com/x?utm_source=notification&plan=trial&client_id=support-portal",
            "https://a.com/x?cancel=false&delete=0",
        ] {
            assert!(!says(url, all), "{url}");
        }
        assert!(says("https://a.com/x?cancel=true", Sense::DENY));
    }

    #[test]
    fn password_is_changed_with_a_token_by_a_user_who_asked_for_it() {
        let page = "https://a.com/change-password";
        assert!(says(page, Sense::DENY));
        assert!(says(&format!("{page}?source=mail"), Sense::DENY));
        for token in [
            "?token=Nf3qT7xLm2Vb9RkPz5Wc8Jd1",
            ".php?username=a&code=KLwnfYtt",
        ] {
            assert!(!says(&format!("{page}{token}"), Sense::DENY), "{token}");
        }
    }

    #[test]
    fn sections_of_a_site_are_told_from_other_pages() {
        let only_sections = |url: &str| names_only_sections(&Url::parse(url).unwrap());
        assert!(only_sections("https://a.com/helpdesk/password-reset/7"));
        assert!(only_sections("https://a.com/subscribe/confirm?u=44ab"));
        assert!(!only_sections("https://a.com/support/resend?u=44ab"));
        assert!(!only_sections("https://a.com/billing/confirm"));
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
