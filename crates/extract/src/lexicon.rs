//! Terms of many languages and what they say about a code or a link.
//!
//! The terms are data: one file per language. The build script turns them into tables, so
//! that no process has to. A `*` at the end of a term allows more letters.

use crate::steps::Steps;

mod boundary;
mod concept;
mod hit;
mod meaning;
mod node;
mod sense;
#[cfg(test)]
mod table;
mod trie;

pub(crate) use self::sense::Sense;
pub(crate) use hit::Hit;

use boundary::{begins_word, word_end};
use meaning::{Meaning, is_open_after, sense};
use trie::Trie;

struct Lexicon {
    trie: Trie<'static>,
    /// What each term means.
    terms: &'static [Meaning],
}

/// Steps charged for a word, and for comparing a word with a term.
const PER_WORD: usize = 6;
const PER_TRY: usize = 30;
/// How many steps are taken before they are charged.
const AT_ONCE: usize = 2_000;

/// A part of a lexicon that the build script wrote.
macro_rules! table {
    ($name:literal, $part:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name, $part))
    };
}

macro_rules! lexicon {
    ($name:literal) => {
        Lexicon {
            trie: Trie {
                letters: table!($name, ".letters"),
                nodes: table!($name, ".nodes").as_chunks().0.as_chunks().0,
                tails: table!($name, ".tails"),
            },
            terms: table!($name, ".terms").as_chunks().0,
        }
    };
}

/// Terms about codes and terms about links overlap, so these are two lexicons.
static CODES: Lexicon = lexicon!("codes");
static LINKS: Lexicon = lexicon!("links");
static CONCEPTS: Lexicon = lexicon!("concepts");
static LINK_CUES: Lexicon = lexicon!("link_cues");

/// Every term about codes in the text, in order. Where several begin, the longest.
pub(crate) fn code_hits(text: &str, steps: &Steps<'_>) -> Vec<Hit> {
    CODES.hits(text, steps)
}

/// Every term about links in the text, in the same way.
pub(crate) fn link_hits(text: &str, steps: &Steps<'_>) -> Vec<Hit> {
    LINKS.hits(text, steps)
}

/// Every concept in the text, in the same way.
pub(crate) fn concept_hits(text: &str, steps: &Steps<'_>) -> Vec<Hit> {
    CONCEPTS.hits(text, steps)
}

/// Every concept in the text that is a cue.
pub(crate) fn cue_hits(text: &str, steps: &Steps<'_>) -> Vec<Hit> {
    let hits = concept_hits(text, steps);
    hits.iter().filter_map(Hit::as_cue).collect()
}

/// Every cue of links for the model in the text, in the same way.
pub(crate) fn link_cue_hits(text: &str, steps: &Steps<'_>) -> Vec<Hit> {
    LINK_CUES.hits(text, steps)
}

/// The three most frequent languages of terms about codes.
pub(crate) fn languages<'h>(hits: impl IntoIterator<Item = &'h Hit>) -> Vec<&'static str> {
    let mut counts: Vec<(&'static str, usize)> = Vec::new();
    let terms = hits
        .into_iter()
        .filter_map(|hit| CODES.terms.get(hit.term as usize));
    for term in terms.map(meaning::language) {
        match counts.iter_mut().find(|(language, _)| *language == term) {
            Some((_, count)) => *count += 1,
            None => counts.push((term, 1)),
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
            match term.filter(|term| end == end_of_word || is_open_after(term)) {
                Some(term) => {
                    tries = own;
                    best = Hit::new(&(at..end_of_word), place, sense(term));
                }
                None => tries += own,
            }
        });
        *cost += tries;
        best
    }
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
            sense(term).says(connecting) && sense(term).says(Sense::NUMBER.or(Sense::KIND))
        });
        assert_eq!(torn.map(meaning::language), None);
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
