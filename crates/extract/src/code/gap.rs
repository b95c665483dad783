//! The text between a term and a candidate.

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
        if self.0.is_ascii() {
            return Size::of_ascii(self.0.as_bytes());
        }
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

impl Size {
    /// The same as for any other text, in one pass.
    fn of_ascii(text: &[u8]) -> Self {
        let mut size = Self::default();
        let (mut in_word, mut after_stop, mut ended) = (false, false, false);
        for byte in text {
            let belongs = byte.is_ascii_alphanumeric() || *byte == b'\'';
            size.words += usize::from(belongs && !in_word);
            in_word = belongs;
            size.lines += usize::from(*byte == b'\n');
            // Unlike ASCII, Unicode has a vertical tab among the spaces.
            if matches!(byte, b' ' | b'\t'..=b'\r') {
                ended |= after_stop;
            } else {
                size.stops += usize::from(ended && byte.is_ascii_uppercase());
                ended = false;
            }
            after_stop = matches!(byte, b'.' | b'!' | b'?');
        }
        size.stops += usize::from(ended || after_stop);
        size
    }
}

/// The number of words. Scripts without spaces count about four letters as a word.
pub(super) fn count_words(text: &str) -> usize {
    let spaced = text
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
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
    fn ascii_has_the_size_that_any_text_has() {
        for text in [
            "",
            " is ",
            "'s code. It's",
            "Mr. Smith.  New\nline! two\r\n",
            "a.b. c? D",
            "End.\x0bNext",
            "end. ",
            "...  A",
        ] {
            let size = Gap::new(text).size();
            assert_eq!(size.words, count_words(text), "{text:?}");
            assert_eq!(size.stops, stops(text), "{text:?}");
            assert_eq!(size.lines, text.matches('\n').count(), "{text:?}");
        }
    }
}
