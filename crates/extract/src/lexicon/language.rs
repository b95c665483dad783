//! Concepts by language. The same word stands for different things in different languages:
//! "die" is an article in German. So the languages of a mail are found first, and then only
//! their terms count.

use super::concept::OPEN;
use super::trie::Trie;
use super::{Hit, Sense, stored, stored_trie};
use crate::steps::Steps;

/// How many pieces of a text tell its languages, and how many bytes each of them has. They
/// are spread over the text: a second language often comes after the first.
const PIECES: usize = 4;
const PIECE: usize = 256;
/// Fewer terms say nothing about the language.
const FEW: usize = 4;
/// Longer terms say no more about the language than one of so many bytes.
const LONG: usize = 12;
/// Languages with this many tenths of the best score are like the best one: Norwegian is
/// like Danish.
const ALIKE: usize = 8;
/// A text has a second language if the terms that the first one lacks give it this many
/// tenths of the best score.
const SECOND: usize = 3;

static TRIE: Trie<'static> = stored_trie!("concepts");
/// Where the uses of each term begin.
static PLACES: &[[u8; 4]] = stored!("concepts", ".places").as_chunks().0;
/// A language and the concept that a term stands for in it.
static USES: &[[u8; 2]] = stored!("concepts", ".uses").as_chunks().0;

/// A set of languages, a bit for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Languages(u128);

impl Languages {
    pub(crate) const ALL: Self = Self(u128::MAX);
    const NONE: Self = Self(0);

    /// The languages that a text is written in; all of them if it says too little.
    pub(crate) fn of(text: &str, steps: &Steps<'_>) -> Self {
        let pieces = pieces(text).into_iter();
        let hits: Vec<Hit> = pieces
            .flat_map(|piece| concept_hits(piece, Self::ALL, steps))
            .collect();
        if hits.len() < FEW {
            return Self::ALL;
        }
        let (first, score) = Self::best(&hits);
        let foreign: Vec<Hit> = hits
            .into_iter()
            .filter(|hit| !first.overlaps(Self::that_use(hit.term)))
            .collect();
        let (second, further) = Self::best(&foreign);
        if further * 10 > score * SECOND {
            Self(first.0 | second.0)
        } else {
            first
        }
    }

    /// The language with most of these terms and those like it, and its score.
    fn best(hits: &[Hit]) -> (Self, usize) {
        let mut scores = [0; OPEN as usize];
        for hit in hits {
            let length = hit.range().len().min(LONG);
            let mut last = None;
            for [language, _] in uses(hit.term) {
                let language = language & !OPEN;
                if last != Some(language)
                    && let Some(score) = scores.get_mut(usize::from(language))
                {
                    *score += length;
                }
                last = Some(language);
            }
        }
        let best = scores.iter().copied().max().unwrap_or_default();
        let alike = (0..)
            .zip(scores)
            .filter(|(_, score)| *score > 0 && score * 10 >= best * ALIKE)
            .fold(Self::NONE, |all, (language, _)| all.with(language));
        (alike, best)
    }

    /// The languages that have a term.
    fn that_use(term: u32) -> Self {
        let languages = uses(term).iter().map(|[language, _]| language & !OPEN);
        languages.fold(Self::NONE, Self::with)
    }

    fn with(self, language: u8) -> Self {
        Self(self.0 | 1 << language)
    }

    fn has(self, language: u8) -> bool {
        self.0 & 1 << language != 0
    }

    fn overlaps(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// Pieces of a text that begin and end where words do, if it has spaces.
fn pieces(text: &str) -> Vec<&str> {
    if text.len() <= PIECES * PIECE {
        return vec![text];
    }
    let step = text.len() / PIECES;
    let starts = (0..PIECES).map(|number| text.ceil_char_boundary(number * step));
    let piece = |start: usize| {
        let end = text.floor_char_boundary((start + PIECE).min(text.len()));
        let piece = text.get(start..end).unwrap_or_default();
        let after_word = |piece: &'_ str| piece.find(' ').map_or(0, |space| space + 1);
        let before_word = piece.rfind(' ').unwrap_or(piece.len());
        let from = if start == 0 { 0 } else { after_word(piece) };
        piece.get(from..before_word).unwrap_or(piece)
    };
    starts.map(piece).collect()
}

/// What a term stands for, and in which languages.
fn uses(term: u32) -> &'static [[u8; 2]] {
    let place = |term: usize| {
        PLACES
            .get(term)
            .map(|place| u32::from_le_bytes(*place) as usize)
    };
    let range = place(term as usize).zip(place(term as usize + 1));
    let uses = range.and_then(|(from, until)| USES.get(from..until));
    uses.unwrap_or_default()
}

/// The concepts of a term in these languages, as the sense of a hit.
fn concepts(term: u32, is_whole: bool, languages: Languages) -> Option<Sense> {
    let (mut numbers, mut count) = ([0; 8], 0);
    for [language, concept] in uses(term) {
        let is_open = language & OPEN != 0;
        if languages.has(language & !OPEN)
            && (is_whole || is_open)
            && !numbers.contains(concept)
            && let Some(free) = numbers.get_mut(count)
        {
            *free = *concept;
            count += 1;
        }
    }
    (count > 0).then(|| Sense(u64::from_le_bytes(numbers)))
}

/// Every concept in the text that a term of these languages stands for. Where several terms
/// begin, the longest.
pub(crate) fn concept_hits(text: &str, languages: Languages, steps: &Steps<'_>) -> Vec<Hit> {
    TRIE.hits(text, steps, |term, is_whole| {
        concepts(term, is_whole, languages)
    })
}

/// Every concept in the text that is a cue.
pub(crate) fn cue_hits(text: &str, languages: Languages, steps: &Steps<'_>) -> Vec<Hit> {
    let hits = concept_hits(text, languages, steps);
    hits.iter().filter_map(Hit::as_cue).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn languages(text: &str) -> Languages {
        Languages::of(text, &Steps::for_size(text.len()))
    }

    /// The numbers of the concepts of the first term.
    fn first(text: &str, languages: Languages) -> Vec<u8> {
        let hits = concept_hits(text, languages, &Steps::for_size(text.len()));
        let numbers = hits.first().map(Hit::numbers).into_iter().flatten();
        numbers.filter(|number| *number != 0).collect()
    }

    const ENGLISH: &str = "Please enter this code on the sign-in page within ten minutes.";
    const GERMAN: &str = "Bitte geben Sie diesen Code innerhalb von zehn Minuten ein.";
    const FRENCH: &str = "Veuillez saisir ce code sur la page de connexion dans les dix minutes.";

    #[test]
    fn texts_of_three_languages_share_none() {
        let all = [ENGLISH, GERMAN, FRENCH].map(languages);
        let [english, german, french] = all;
        assert!(!english.overlaps(german) && !german.overlaps(french));
        assert!(!english.overlaps(french) && !all.contains(&Languages::ALL));
    }

    #[test]
    fn text_of_two_languages_has_both() {
        let both = languages(&format!("{ENGLISH}\n{FRENCH}"));
        assert_eq!(both.0 & languages(ENGLISH).0, languages(ENGLISH).0);
        assert_eq!(both.0 & languages(FRENCH).0, languages(FRENCH).0);
        assert!(!both.overlaps(languages(GERMAN)));
    }

    #[test]
    fn few_terms_leave_every_language() {
        assert_eq!(languages("code 482913"), Languages::ALL);
        assert_eq!(languages(""), Languages::ALL);
    }

    #[test]
    fn term_of_another_language_is_not_found() {
        let french = languages(FRENCH);
        assert!(!first("saisir", french).is_empty());
        assert!(first("saisir", languages(ENGLISH)).is_empty());
        assert_eq!(first("saisir", Languages::ALL), first("saisir", french));
    }
}
