//! Terms of many languages and what they say about a code or a link.
//!
//! The terms are data: one file per language, parsed once. A `*` at the end of a term
//! allows more letters.

use std::sync::LazyLock;

use crate::fold::folded;
use crate::steps::Steps;

mod boundary;
mod files;
mod hit;
mod sense;
mod trie;

pub(crate) use hit::Hit;
pub(crate) use sense::Sense;

use boundary::{begins_word, word_end};
use trie::Trie;

struct Term {
    sense: Sense,
    language: &'static str,
    open_after: bool,
}

struct Lexicon {
    trie: Trie,
    terms: Vec<Term>,
}

/// Steps charged for a word, and for comparing a word with a term.
const PER_WORD: usize = 6;
const PER_TRY: usize = 30;
/// How many steps are taken before they are charged.
const AT_ONCE: usize = 2_000;

/// Built on first use from files inside the program. Terms about codes and terms about
/// links overlap, so there are two lexicons.
static CODES: LazyLock<Lexicon> =
    LazyLock::new(|| Lexicon::build(terms().filter(|(_, sense, _)| !sense.says(Sense::LINKS))));
static LINKS: LazyLock<Lexicon> =
    LazyLock::new(|| Lexicon::build(terms().filter(|(_, sense, _)| sense.says(Sense::LINKS))));
static CUES: LazyLock<Lexicon> = LazyLock::new(|| Lexicon::build(cues()));

/// Every term about codes in the text, in order. Where several begin, the longest.
pub(crate) fn code_hits(text: &str, steps: &Steps<'_>) -> Vec<Hit> {
    CODES.hits(text, steps)
}

/// Every term about links in the text, in the same way.
pub(crate) fn link_hits(text: &str, steps: &Steps<'_>) -> Vec<Hit> {
    LINKS.hits(text, steps)
}

/// Every cue for the model in the text, in the same way.
pub(crate) fn cue_hits(text: &str, steps: &Steps<'_>) -> Vec<Hit> {
    CUES.hits(text, steps)
}

/// The three most frequent languages of terms about codes.
pub(crate) fn languages<'h>(hits: impl IntoIterator<Item = &'h Hit>) -> Vec<&'static str> {
    let mut counts: Vec<(&'static str, usize)> = Vec::new();
    let terms = hits
        .into_iter()
        .filter_map(|hit| CODES.terms.get(hit.term as usize));
    for term in terms {
        match counts
            .iter_mut()
            .find(|(language, _)| *language == term.language)
        {
            Some((_, count)) => *count += 1,
            None => counts.push((term.language, 1)),
        }
    }
    counts.sort_by_key(|(language, count)| (std::cmp::Reverse(*count), *language));
    counts
        .into_iter()
        .take(3)
        .map(|(language, _)| language)
        .collect()
}

impl Lexicon {
    /// Searches only where a word may begin. A search that begins there is cheap for words
    /// that begin no term.
    fn hits(&self, text: &str, steps: &Steps<'_>) -> Vec<Hit> {
        let mut found = Vec::new();
        let (mut at, mut cost) = (0, 0);
        while let Some(rest) = text.as_bytes().get(at..)
            && let Some(byte) = rest.first()
        {
            if cost > AT_ONCE && !steps.charge(std::mem::take(&mut cost)) {
                break;
            }
            cost += PER_WORD;
            if byte.is_ascii_whitespace() {
                at += 1;
            } else if begins_word(text, at)
                && let Some(hit) = self.hit(text, at, &mut cost)
            {
                at = hit.end();
                found.push(hit);
            } else {
                // Skip the rest of the word.
                let letters = rest.iter().take_while(|byte| byte.is_ascii_alphabetic());
                let letters = letters.count();
                cost += letters;
                at += letters.max(boundary::length(*byte));
            }
        }
        steps.charge(cost);
        found
    }

    /// The longest term that begins here and ends at the end of a word. If the longest
    /// does not, a shorter one, perhaps of another language, may.
    fn hit(&self, text: &str, at: usize, cost: &mut usize) -> Option<Hit> {
        let mut best = None;
        // The steps of comparing the terms that are longer than the best.
        let mut tries = PER_TRY;
        let mut end_of_word = 0;
        self.trie.find(text.as_bytes().get(at..)?, |length, place| {
            let end = at + length;
            // A shorter term may have ended in the same word.
            if end > end_of_word {
                end_of_word = word_end(text, end);
            }
            let own = PER_TRY + 4 * (end_of_word - at);
            let term = self.terms.get(place as usize);
            match term.filter(|term| term.open_after || end == end_of_word) {
                Some(term) => {
                    tries = own;
                    best = Hit::new(&(at..end_of_word), place, term.sense);
                }
                None => tries += own,
            }
        });
        *cost += tries;
        best
    }

    fn build(written: impl Iterator<Item = Entry>) -> Self {
        let mut entries: Vec<(String, Entry)> = written
            .map(|entry| (bare(entry.2), entry))
            .filter(|(bare, _)| !bare.is_empty())
            .collect();
        // The sort is stable: the first language that has a term stays the first.
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        let (mut terms, mut numbered) = (Vec::new(), Vec::new());
        for same in entries.chunk_by_mut(|(one, _), (other, _)| one == other) {
            let mut term = Term {
                sense: Sense::default(),
                language: "",
                open_after: false,
            };
            for (_, (language, sense, written)) in same.iter().rev() {
                term.sense = term.sense.or(*sense);
                term.language = language;
                term.open_after |= written.ends_with('*');
            }
            if let (Some((bare, _)), Ok(number)) = (same.first_mut(), terms.len().try_into()) {
                numbered.push((std::mem::take(bare), number));
                terms.push(term);
            }
        }
        Self {
            trie: Trie::build(numbered),
            terms,
        }
    }
}

/// A term as it is compared: folded and in small letters.
fn bare(written: &str) -> String {
    let term = written.trim_matches('*');
    let is_plain = term.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let mut bare = if is_plain {
        term.to_owned()
    } else {
        folded(term)
    };
    bare.make_ascii_lowercase();
    bare
}

type Entry = (&'static str, Sense, &'static str);

/// The language, sense and text of every term.
fn terms() -> impl Iterator<Item = Entry> {
    let files = files::FILES.iter();
    files.flat_map(|(language, file)| entries(language, file, Sense::named))
}

/// The same of every cue. A line `[de]` begins a language.
fn cues() -> impl Iterator<Item = Entry> {
    let languages = files::CUES
        .split("\n[")
        .filter_map(|part| part.split_once("]\n"));
    languages.flat_map(|(language, part)| entries(language, part, Sense::cue))
}

/// `sense: term, term, term` lines; `#` begins a comment.
fn entries(
    language: &'static str,
    file: &'static str,
    named: fn(&str) -> Option<Sense>,
) -> impl Iterator<Item = Entry> {
    file.lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(':'))
        .filter_map(move |(name, terms)| Some((named(name.trim())?, terms)))
        .flat_map(move |(sense, terms)| {
            terms
                .split(',')
                .map(str::trim)
                .filter(|term| !term.is_empty())
                .map(move |term| (language, sense, term))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_hits(text: &str) -> Vec<Hit> {
        super::code_hits(text, &Steps::for_size(text.len()))
    }

    #[test]
    fn connecting_words_of_one_language_name_no_number_in_another() {
        let connecting = Sense::COPULA.or(Sense::IS).or(Sense::ENTER);
        let hit = |text: &str| code_hits(text).first().map(|hit| hit.sense);
        for word in ["the", "ein", "den", "an", "of", "your", "is", "for"] {
            let sense = hit(word).unwrap_or_default();
            assert!(!sense.says(Sense::NUMBER.or(Sense::KIND)), "{word}");
        }
        let torn = CODES.terms.iter().find(|term| {
            term.sense.says(connecting) && term.sense.says(Sense::NUMBER.or(Sense::KIND))
        });
        assert_eq!(torn.map(|term| term.language), None);
    }

    #[test]
    fn terms_match_whole_words_only() {
        let said = |text: &str| {
            let names = Sense::CODE.or(Sense::WORD);
            code_hits(text).iter().any(|hit| hit.sense.says(names))
        };
        for text in [
            "your code",
            "code 12",
            "OTP",
            "您的验证码是",
            "kodunuz",
            "kodem",
        ] {
            assert!(said(text), "{text}");
        }
        for text in [
            "codeine",
            "barcode",
            "unicode",
            "footpath",
            "opinion",
            "геокод",
        ] {
            assert!(!said(text), "{text}");
        }
    }
}
