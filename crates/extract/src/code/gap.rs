//! The text between a term and a candidate.

use crate::property::is_alphanumeric;

/// The text between a term and a candidate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gap<'h>(&'h str);

impl<'h> Gap<'h> {
    pub(super) fn new(text: &'h str) -> Self {
        Self(text)
    }

    pub(super) fn has_digits(self) -> bool {
        self.0.bytes().any(|byte| byte.is_ascii_digit())
    }

    pub(super) fn is_blank(self) -> bool {
        self.0 == " "
    }

    pub(super) fn has(self, sign: char) -> bool {
        self.0.contains(sign)
    }

    pub(super) fn size(self) -> Size {
        Size {
            words: count_words(self.0),
            stops: stops(self.0),
            lines: self.0.bytes().filter(|byte| *byte == b'\n').count(),
        }
    }
}

/// How much a gap contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Size {
    pub(super) words: usize,
    /// Sentences that end.
    pub(super) stops: usize,
    /// Lines that end.
    pub(super) lines: usize,
}

/// Measures ASCII that begins at the end of a candidate and becomes longer.
#[derive(Debug, Default)]
pub(super) struct Onward {
    size: Size,
    in_word: bool,
    after_stop: bool,
    ended: bool,
}

impl Onward {
    pub(super) fn push(&mut self, text: &[u8]) {
        for byte in text {
            let class = class(*byte);
            let belongs = class & WORD != 0;
            self.size.words += usize::from(belongs && !self.in_word);
            self.in_word = belongs;
            if class & SPACE != 0 {
                self.size.lines += usize::from(*byte == b'\n');
                self.ended |= self.after_stop;
            } else {
                self.size.stops += usize::from(self.ended && class & CAPITAL != 0);
                self.ended = false;
            }
            self.after_stop = class & STOP != 0;
        }
    }

    pub(super) fn size(&self) -> Size {
        let stops = self.size.stops + usize::from(self.ended || self.after_stop);
        Size { stops, ..self.size }
    }
}

/// Measures ASCII that ends at the start of a candidate and becomes longer.
#[derive(Debug)]
pub(super) struct Backward {
    size: Size,
    in_word: bool,
    /// A capital or the end of the text follows, after nothing but spaces.
    starts: bool,
    /// Those spaces are enough for a stop before them to end a sentence.
    spaced: bool,
}

impl Default for Backward {
    fn default() -> Self {
        Self {
            size: Size::default(),
            in_word: false,
            starts: true,
            spaced: true,
        }
    }
}

impl Backward {
    /// Adds text before the text so far.
    pub(super) fn push(&mut self, text: &[u8]) {
        let mut rest = text;
        while let Some((byte, before)) = rest.split_last() {
            let mut last = class(*byte);
            rest = before;
            if last & WORD != 0 {
                // Of a word only its first letter counts.
                while let Some((byte, before)) = rest.split_last()
                    && class(*byte) & WORD != 0
                {
                    last = class(*byte);
                    rest = before;
                }
                self.size.words += usize::from(!self.in_word);
            }
            self.in_word = last & WORD != 0;
            if last & SPACE != 0 {
                self.size.lines += usize::from(*byte == b'\n');
                self.spaced = true;
            } else {
                let ends = self.starts && self.spaced && last & STOP != 0;
                self.size.stops += usize::from(ends);
                self.starts = last & CAPITAL != 0;
                self.spaced = false;
            }
        }
    }

    pub(super) fn size(&self) -> Size {
        self.size
    }
}

/// What a byte is, as a bit each.
const WORD: u8 = 1;
const SPACE: u8 = 2;
const STOP: u8 = 4;
const CAPITAL: u8 = 8;

/// What each byte is.
const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut rest = classes.as_mut_slice();
    let mut byte: u8 = 0;
    while let [first, later @ ..] = rest
        && byte.is_ascii()
    {
        // Unlike ASCII, Unicode has a vertical tab among the spaces.
        *first = match byte {
            b'A'..=b'Z' => WORD | CAPITAL,
            b'a'..=b'z' | b'0'..=b'9' | b'\'' => WORD,
            b' ' | b'\t'..=b'\r' => SPACE,
            b'.' | b'!' | b'?' => STOP,
            _ => 0,
        };
        rest = later;
        byte += 1;
    }
    classes
};

fn class(byte: u8) -> u8 {
    let class = CLASSES.get(usize::from(byte));
    class.copied().unwrap_or_default()
}

/// The number of words. Scripts without spaces count about four letters as a word.
pub(super) fn count_words(text: &str) -> usize {
    if text.is_ascii() {
        let mut measured = Onward::default();
        measured.push(text.as_bytes());
        return measured.size.words;
    }
    let spaced = text
        .split(|c: char| !is_alphanumeric(c) && c != '\'')
        .filter(|word| !word.is_empty());
    spaced
        .map(|word| {
            let letters = word.chars().filter(|c| u32::from(*c) >= 0xe00).count();
            if letters > 3 { letters.div_ceil(4) } else { 1 }
        })
        .sum()
}

/// The number of sentence ends: a full-width stop, or a stop, a space and a capital.
/// A digit or a small letter follows an abbreviation.
fn stops(text: &str) -> usize {
    let mut count = 0;
    let mut ended = false;
    let mut previous = ' ';
    for c in text.chars() {
        if matches!(c, '。' | '！' | '？' | '।' | '؟' | '۔' | '։') {
            count += 1;
            ended = false;
        } else if c.is_whitespace() {
            ended |= matches!(previous, '.' | '!' | '?');
        } else {
            count += usize::from(
                ended && (c.is_ascii_uppercase() || !c.is_ascii() && c.is_alphabetic()),
            );
            ended = false;
        }
        previous = c;
    }
    count + usize::from(ended || matches!(previous, '.' | '!' | '?'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_has_the_same_size_in_either_direction() {
        for text in [
            "",
            " is ",
            "'s code. It's",
            "Mr. Smith.  New\nline! two\r\n",
            "a.b. c? D",
            "End.\x0bNext",
            "end. ",
            "a. ? B",
            "...  A",
            "U.S. A.",
        ] {
            let size = Gap::new(text).size();
            for cut in 0..=text.len() {
                let (first, second) = text.as_bytes().split_at(cut);
                let mut onward = Onward::default();
                onward.push(first);
                onward.push(second);
                assert_eq!(onward.size(), size, "{text:?}");
                let mut backward = Backward::default();
                backward.push(second);
                backward.push(first);
                assert_eq!(backward.size(), size, "{text:?}");
            }
        }
    }
}
