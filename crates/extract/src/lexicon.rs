//! Terms of many languages and what they say about a code or a link.
//!
//! The terms are data: one file per language. The build script turns them into tables, so
//! that no process has to. A `*` at the end of a term allows more letters.

use crate::steps::Steps;

mod boundary;
mod concept;
mod hit;
mod language;
mod meaning;
mod node;
mod sense;
#[cfg(test)]
mod table;
mod trie;

pub(crate) use self::sense::Sense;
pub(crate) use hit::Hit;
pub(crate) use language::{Languages, concept_hits, cue_hits};

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
/// How many terms that begin at one place are tried. If there are more, the longest are.
const MOST_BEGUN: usize = 16;
/// How many steps are taken before they are charged.
const AT_ONCE: usize = 2_000;

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
pub(crate) fn code_hits(text: &str, steps: &Steps<'_>) -> Vec<Hit> {
    CODES.hits(text, steps)
}

/// Every term about links in the text, in the same way.
pub(crate) fn link_hits(text: &str, steps: &Steps<'_>) -> Vec<Hit> {
    LINKS.hits(text, steps)
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
    fn hits(&self, text: &str, steps: &Steps<'_>) -> Vec<Hit> {
        self.trie.hits(text, steps, |term, is_whole, _| {
            let meaning = self.terms.get(term as usize)?;
            (is_whole || is_open_after(meaning)).then(|| sense(meaning))
        })
    }
}

impl Trie<'_> {
    /// Every term in the text, in order. `sense` gets a term, whether the term ends where its
    /// word ends, and the steps so far, to which it adds its own. It returns what the term
    /// means there, if anything.
    ///
    /// Searches only where a word may begin. A search that begins there is cheap for words
    /// that begin no term.
    fn hits(
        &self,
        text: &str,
        steps: &Steps<'_>,
        sense: impl Fn(u32, bool, &mut usize) -> Option<Sense>,
    ) -> Vec<Hit> {
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
                && let Some(hit) = self.hit(text, at, &sense, &mut cost)
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
    fn hit(
        &self,
        text: &str,
        at: usize,
        sense: impl Fn(u32, bool, &mut usize) -> Option<Sense>,
        cost: &mut usize,
    ) -> Option<Hit> {
        let mut begun = [(0, 0); MOST_BEGUN];
        let mut count = 0;
        self.find(text.as_bytes().get(at..)?, |length, term| {
            if count == MOST_BEGUN {
                begun.rotate_left(1);
                count -= 1;
            }
            if let Some(free) = begun.get_mut(count) {
                *free = (length, term);
            }
            count += 1;
        });
        *cost += PER_TRY;
        for (length, term) in begun.iter().take(count).rev() {
            let end = at + length;
            let end_of_word = word_end(text, end);
            *cost += PER_TRY + 4 * (end_of_word - at);
            if let Some(sense) = sense(*term, end == end_of_word, cost) {
                return Hit::new(&(at..end_of_word), *term, sense);
            }
        }
        None
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
