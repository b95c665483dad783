//! Concepts by language. The same word stands for different things in different languages:
//! "die" is an article in German. So the languages of each text are found first, and then
//! only their terms count.

use super::concept::{MOST_LANGUAGES, OPEN};
use super::trie::Trie;
use super::{Hit, Languages, Memory, Sense, stored, stored_trie};
use crate::steps::Steps;

/// A text has at most so many pieces that tell its languages, of at most so many bytes. They
/// are spread over the text: a second language often comes after the first.
const PIECES: usize = 8;
const PIECE: usize = 160;
/// Fewer terms say nothing about the language.
const FEW: usize = 4;
/// Terms of more languages say nothing about the language: "pin", "sms".
const SHARED: usize = 12;
/// Longer terms say no more about the language than one of so many bytes.
const LONG: usize = 12;
/// Languages with at least this many tenths of the best score are like the best one:
/// Norwegian is like Danish.
const ALIKE: usize = 8;
/// A text has another language if the terms that the first ones lack give it at least this
/// many tenths of the best score, and this score, which is about three terms. So a stranger
/// needs several times as much text to hide one.
const ANOTHER: usize = 1;
const LEAST: usize = 20;
/// A text has at most so many languages, with those like them.
const MOST: usize = 4;
/// How many concepts of a term count.
const CONCEPTS: usize = 4;

static TRIE: Trie<'static> = stored_trie!("concepts");
/// Where the uses of each term begin.
static PLACES: &[[u8; 4]] = stored!("concepts", ".places").as_chunks().0;
/// A language and the concept that a term stands for in it.
static USES: &[[u8; 2]] = stored!("concepts", ".uses").as_chunks().0;

impl Languages {
    /// The languages that a text is written in; all of them if it says too little.
    pub(crate) fn of(text: &str, memory: &mut Memory, steps: &Steps<'_>) -> Self {
        let mut votes: Vec<Hit> = Vec::new();
        for piece in pieces(text) {
            let hits = known_concept_hits(piece, Self::ALL, memory, steps).into_iter();
            votes.extend(hits.filter(|hit| is_vote(piece, hit)));
        }
        steps.charge(votes.len() * SHARED * MOST);
        if votes.len() < FEW {
            return Self::ALL;
        }
        let (mut found, score) = Self::best(&votes);
        for _ in 1..MOST {
            votes.retain(|hit| !found.overlaps(Self::that_use(hit.term)));
            let (others, further) = Self::best(&votes);
            if further < LEAST || further * 10 < score * ANOTHER {
                break;
            }
            found = found.or(others);
        }
        found
    }

    /// The language with most of these terms and those like it, and its score.
    fn best(votes: &[Hit]) -> (Self, usize) {
        let mut scores = [0; MOST_LANGUAGES];
        for hit in votes {
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
}

/// Whether a term tells the language of its text: not if many languages have it, or if it is
/// part of an address.
fn is_vote(text: &str, hit: &Hit) -> bool {
    let is_joined = |at: Option<usize>| {
        let byte = at.and_then(|at| text.as_bytes().get(at));
        byte.is_some_and(|byte| b"/=&?%_@".contains(byte))
    };
    uses(hit.term).len() <= SHARED
        && !is_joined(hit.start().checked_sub(1))
        && !is_joined(Some(hit.end()))
}

/// Pieces of a text. Those of a long text begin and end at a space near by, if there is one.
fn pieces(text: &str) -> Vec<&str> {
    const NEAR: usize = 24;
    if text.len() <= PIECES * PIECE {
        return vec![text];
    }
    let step = text.len() / PIECES;
    let piece = |number: usize| {
        let start = text.ceil_char_boundary(number * step);
        let piece = text.get(start..)?;
        let piece = piece.get(..piece.floor_char_boundary(PIECE))?;
        let first = piece.find(char::is_whitespace).filter(|at| *at < NEAR);
        let last = piece.rfind(char::is_whitespace);
        let last = last.filter(|at| at + NEAR > piece.len());
        let from = if number == 0 { 0 } else { first.unwrap_or(0) };
        piece.get(from..last.unwrap_or(piece.len()))
    };
    (0..PIECES).filter_map(piece).collect()
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

/// The concepts of a term in these languages, as the sense of a hit. The first ones count.
fn concepts(uses: &[[u8; 2]], is_whole: bool, languages: Languages) -> Option<Sense> {
    let (mut numbers, mut count) = ([0; 8], 0);
    for [language, concept] in uses {
        let is_open = language & OPEN != 0;
        if (is_whole || is_open)
            && languages.has(language & !OPEN)
            && numbers.iter().take(CONCEPTS).all(|known| known != concept)
            && let Some(free) = numbers.get_mut(count)
        {
            *free = *concept;
            count += 1;
            if count == CONCEPTS {
                break;
            }
        }
    }
    (count > 0).then(|| Sense(u64::from_le_bytes(numbers)))
}

/// What a term stands for in these languages, and the steps of finding that out.
fn meant(languages: Languages) -> impl Fn(u32, bool, &mut usize) -> Option<Sense> {
    move |term, is_whole, cost| {
        let uses = uses(term);
        *cost += uses.len();
        concepts(uses, is_whole, languages)
    }
}

/// Every concept in the text that a term of these languages stands for. Where several terms
/// begin, the longest.
pub(crate) fn concept_hits(text: &str, languages: Languages, steps: &Steps<'_>) -> Vec<Hit> {
    TRIE.hits(text, steps, meant(languages))
}

/// The same. The terms of lines that are known are not searched for again.
pub(crate) fn known_concept_hits(
    text: &str,
    languages: Languages,
    memory: &mut Memory,
    steps: &Steps<'_>,
) -> Vec<Hit> {
    TRIE.known_hits(text, (memory, languages), steps, meant(languages))
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
        Languages::of(text, &mut Memory::default(), &Steps::for_size(text.len()))
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
        assert!(both.overlaps(languages(ENGLISH)) && both.overlaps(languages(FRENCH)));
        assert!(!both.overlaps(languages(GERMAN)));
    }

    #[test]
    fn much_foreign_text_does_not_hide_the_language_of_a_sentence() {
        let mixed = format!("{}\n{ENGLISH}\n{}", FRENCH.repeat(2), FRENCH.repeat(2));
        assert!(languages(&mixed).overlaps(languages(ENGLISH)));
    }

    #[test]
    fn text_of_three_languages_has_all_of_them() {
        let all = languages(&format!("{ENGLISH}\n{GERMAN}\n{FRENCH}"));
        for text in [ENGLISH, GERMAN, FRENCH] {
            assert!(all.overlaps(languages(text)), "{text}");
        }
    }

    #[test]
    fn words_of_many_languages_and_addresses_tell_no_language() {
        assert_eq!(languages("pin otp sms token pin otp sms"), Languages::ALL);
        let address = "https://a.example/verify/enter?click=email&account=code_page ";
        assert_eq!(languages(&address.repeat(4)), Languages::ALL);
    }

    #[test]
    fn pieces_cover_a_short_text_and_sample_a_long_one() {
        assert_eq!(pieces("a b c"), ["a b c"]);
        for text in ["word ".repeat(900), "ж".repeat(4_000), "行\n".repeat(2_000)] {
            let pieces = pieces(&text);
            assert_eq!(pieces.len(), PIECES);
            let sizes = (PIECE - 30)..=PIECE;
            assert!(pieces.iter().all(|piece| sizes.contains(&piece.len())));
        }
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
