//! Terms of many languages and what they say about a code or a link.
//!
//! The terms are data: one file per language. The build script turns them into tables, so
//! that no process has to. A `*` at the end of a term allows more letters.

use crate::steps::Steps;

mod boundary;
mod concept;
mod hit;
mod language;
mod language_set;
mod meaning;
mod memory;
mod node;
mod search;
mod sense;
#[cfg(test)]
mod table;
mod trie;

pub(crate) use self::sense::Sense;
pub(crate) use hit::Hit;
pub(crate) use language::{concept_hits, cue_hits, known_concept_hits};
pub(crate) use language_set::Languages;
pub(crate) use memory::Memory;

use meaning::{Meaning, is_open_after, sense};
use trie::Trie;

struct Lexicon {
    trie: Trie<'static>,
    /// What each term means.
    terms: &'static [Meaning],
}

/// A part of a lexicon that the build script wrote.
macro_rules! stored {
    ($name:literal, $part:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name, $part))
    };
}

macro_rules! stored_trie {
    ($name:literal) => {
        Trie {
            nodes: stored!($name, ".nodes").as_chunks().0.as_chunks().0,
            tails: stored!($name, ".tails"),
        }
    };
}

macro_rules! lexicon {
    ($name:literal) => {
        Lexicon {
            trie: stored_trie!($name),
            terms: stored!($name, ".terms").as_chunks().0,
        }
    };
}

// `language.rs` uses them too.
use {stored, stored_trie};

/// Terms about codes and terms about links overlap, so these are two lexicons.
static CODES: Lexicon = lexicon!("codes");
static LINKS: Lexicon = lexicon!("links");
static LINK_CUES: Lexicon = lexicon!("link_cues");

/// Every term about codes in the text, in order. Where several begin, the longest.
pub(crate) fn code_hits(text: &str, memory: &mut Memory, steps: &Steps<'_>) -> Vec<Hit> {
    let known = (memory, Languages::ALL);
    CODES
        .trie
        .known_hits(text, known, steps, |term, is_whole, _| {
            CODES.sense(term, is_whole)
        })
}

/// Every term about links in the text, in the same way.
pub(crate) fn link_hits(text: &str, steps: &Steps<'_>) -> Vec<Hit> {
    LINKS.hits(text, steps)
}

/// Every cue of links in the text, in the same way.
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
    fn hits(&self, text: &str, steps: &Steps<'_>) -> Vec<Hit> {
        let sense = |term, is_whole, _: &mut usize| self.sense(term, is_whole);
        self.trie.hits(text, steps, sense)
    }

    /// What a term means where it ends with its word, or before that.
    fn sense(&self, term: u32, is_whole: bool) -> Option<Sense> {
        let meaning = self.terms.get(term as usize)?;
        (is_whole || is_open_after(meaning)).then(|| sense(meaning))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_hits(text: &str) -> Vec<Hit> {
        super::code_hits(text, &mut Memory::default(), &Steps::for_size(text.len()))
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
