//! A text as a stream of items: the concepts of its words, numbers, and signs.

use std::ops::Range;

use crate::lexicon::Hit;
use crate::property::is_alphanumeric;

/// An item of a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    start: u32,
    end: u32,
    /// The numbers of the concepts of a term, or the one number of another item.
    numbers: [u8; 8],
    /// How many concepts it has; none if it is no term.
    concepts: u8,
}

/// The numbers of items that are no terms. Concepts have lower ones.
const COMMA: u8 = 242;
const DASH: u8 = 243;
const SLASH: u8 = 244;
const MONEY: u8 = 245;
const NUMBER_SIGN: u8 = 246;
const OPENING: u8 = 247;
const COLON: u8 = 248;
const STOP: u8 = 249;
const CELL: u8 = 250;
const LINE: u8 = 251;
const SHORT_NUMBER: u8 = 252;
const LONG_NUMBER: u8 = 253;
const WORD: u8 = 254;

impl Item {
    fn term(hit: &Hit) -> Self {
        let numbers = hit.numbers();
        let concepts = numbers.iter().take_while(|number| **number != 0);
        let concepts = u8::try_from(concepts.count()).unwrap_or_default();
        Self::of(hit.range(), numbers, concepts)
    }

    fn other(range: Range<usize>, number: u8) -> Self {
        Self::of(range, [number, 0, 0, 0, 0, 0, 0, 0], 0)
    }

    fn of(range: Range<usize>, numbers: [u8; 8], concepts: u8) -> Self {
        // Only the first kilobytes of a text are examined.
        let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Self {
            start: place(range.start),
            end: place(range.end),
            numbers,
            concepts,
        }
    }

    /// The concepts of a term.
    pub(super) fn concepts(&self) -> &[u8] {
        let count = usize::from(self.concepts);
        self.numbers.get(..count).unwrap_or_default()
    }

    /// The first concept of a term, or the number of another item.
    pub(super) fn number(&self) -> u8 {
        let [first, ..] = self.numbers;
        first
    }

    /// Whether it is the same item, at another place.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        (self.numbers, self.concepts) == (other.numbers, other.concepts)
    }

    pub(super) fn is_term(&self) -> bool {
        self.concepts > 0
    }

    /// Whether a sentence, a line or a cell ends here.
    pub(super) fn is_end(&self) -> bool {
        !self.is_term() && matches!(self.number(), STOP | CELL | LINE)
    }
}

/// The items of a text whose terms are `hits`.
pub(super) fn items(text: &str, hits: &[Hit]) -> Vec<Item> {
    let mut items = Vec::with_capacity(3 * hits.len() + 16);
    let mut at = 0;
    for hit in hits {
        add_others(text, at..hit.start(), &mut items);
        items.push(Item::term(hit));
        at = hit.end();
    }
    add_others(text, at..text.len(), &mut items);
    items
}

/// Adds what stands between two terms.
fn add_others(text: &str, range: Range<usize>, items: &mut Vec<Item>) {
    let end = range.end;
    let mut at = range.start;
    let bytes = text.as_bytes().get(..end).unwrap_or_default();
    while let Some(byte) = bytes.get(at) {
        // Most of it is the space between two words.
        if *byte == b' ' {
            at += 1;
            continue;
        }
        let Some(c) = text.get(at..end).and_then(|rest| rest.chars().next()) else {
            return;
        };
        let after = at + c.len_utf8();
        let next = text.as_bytes().get(after);
        let (number, length) = match c {
            '0'..='9' => {
                let digits = length(text, at..end, |c| c.is_ascii_digit());
                (
                    if digits < 4 {
                        SHORT_NUMBER
                    } else {
                        LONG_NUMBER
                    },
                    digits,
                )
            }
            'a'..='z' | 'A'..='Z' => (WORD, length(text, at..end, is_alphanumeric)),
            '.' | '!' | '?' if next.is_none_or(u8::is_ascii_whitespace) => (STOP, 1),
            _ => match sign(c) {
                Some(number) => (number, c.len_utf8()),
                None if is_alphanumeric(c) => (WORD, length(text, at..end, is_alphanumeric)),
                None => (0, c.len_utf8()),
            },
        };
        if number != 0 {
            items.push(Item::other(at..at + length, number));
        }
        at += length;
    }
}

fn sign(c: char) -> Option<u8> {
    Some(match c {
        ',' | ';' | '、' | '，' => COMMA,
        '-' | '–' | '—' => DASH,
        '/' => SLASH,
        '$' | '€' | '£' | '%' | '₹' | '¥' => MONEY,
        '#' => NUMBER_SIGN,
        '(' | '[' => OPENING,
        ':' | '：' | '=' => COLON,
        '。' | '！' | '？' | '।' | '؟' | '۔' | '։' => STOP,
        '\t' => CELL,
        '\n' => LINE,
        _ => return None,
    })
}

/// How many bytes at the beginning are such characters.
fn length(text: &str, range: Range<usize>, is_of: impl Fn(char) -> bool) -> usize {
    let rest = text.get(range).unwrap_or_default();
    let ascii = rest
        .bytes()
        .take_while(|byte| byte.is_ascii() && is_of(char::from(*byte)));
    let ascii = ascii.count();
    let rest = rest.get(ascii..).unwrap_or_default();
    match rest.as_bytes().first() {
        Some(byte) if !byte.is_ascii() => ascii + rest.find(|c| !is_of(c)).unwrap_or(rest.len()),
        _ => ascii,
    }
}

/// The items before a range and those after it.
pub(super) fn around<'i>(items: &'i [Item], own: &Range<usize>) -> (&'i [Item], &'i [Item]) {
    let before = items.partition_point(|item| item.end as usize <= own.start);
    let after = items.partition_point(|item| (item.start as usize) < own.end);
    (
        items.get(..before).unwrap_or_default(),
        items.get(after..).unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexicon::{Languages, concept_hits};
    use crate::steps::Steps;

    fn numbers(text: &str) -> Vec<u8> {
        let hits = concept_hits(text, Languages::ALL, &Steps::for_size(text.len()));
        items(text, &hits).iter().map(Item::number).collect()
    }

    #[test]
    fn terms_of_two_languages_are_the_same_items() {
        let concept = |word: &str| numbers(word).first().copied();
        assert_eq!(concept("parcel"), concept("colis"));
        assert_eq!(concept("parcel"), concept("посылка"));
        assert_ne!(concept("parcel"), concept("invoice"));
    }

    #[test]
    fn numbers_signs_and_unknown_words_are_items() {
        assert_eq!(
            numbers("xqzt 12, 4821."),
            [WORD, SHORT_NUMBER, COMMA, LONG_NUMBER, STOP]
        );
        assert_eq!(
            numbers("3.5/\t(#7)\n"),
            [
                SHORT_NUMBER,
                SHORT_NUMBER,
                SLASH,
                CELL,
                OPENING,
                NUMBER_SIGN,
                SHORT_NUMBER,
                LINE,
            ]
        );
    }

    #[test]
    fn items_around_a_range_leave_out_what_overlaps_it() {
        let text = "xqzt 4821-77 vwkj";
        let all = items(text, &[]);
        let (before, after) = around(&all, &(5..12));
        assert_eq!((before.len(), after.len()), (1, 1));
    }
}
