//! Folds text for matching, with a map back to the source.
//!
//! Most codes are ASCII, and terms are compared without case and accents. So digits of
//! every script become ASCII, letters lose their accents, and invisible characters
//! are removed. ASCII letters keep their case, because codes need it. What other letters
//! were is kept for codes of words.

// The build script includes this file, and would look for the module elsewhere.
#[path = "fold/character.rs"]
mod character;

use crate::property::is_alphanumeric;
use character::{Folding, folding, is_invisible, push_text};
use unicode_normalization::char::is_combining_mark;

/// Marks damaged text and digits of mixed scripts. No artifact may touch it.
pub(crate) const BARRIER: char = '\u{fffd}';

/// Collects folded text.
#[derive(Debug, Default)]
pub(crate) struct Folder {
    text: String,
    /// Where runs of text begin: the offset in the folded text and in the source.
    map: Vec<(usize, usize)>,
    /// The zero of the script of the last character, if that was a digit.
    last_zero: Option<u32>,
    /// The last character was invisible and was removed.
    gap: bool,
    /// Characters that were replaced or removed, and where.
    altered: Vec<(usize, char)>,
    /// A word or a number contained invisible characters.
    pub(crate) has_invisible: bool,
    /// There were digits other than ASCII.
    pub(crate) has_foreign_digits: bool,
}

impl Folder {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Makes room for so many bytes of text.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        self.text.reserve(bytes);
        self.map.reserve(bytes / 64);
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// The offset in the source of an offset in the folded text.
    pub(crate) fn source(&self, at: usize) -> usize {
        let after = self.map.partition_point(|(folded, _)| *folded <= at);
        match after.checked_sub(1).and_then(|index| self.map.get(index)) {
            Some((folded, source)) => source + (at - folded),
            None => at,
        }
    }

    /// Whether the range is the same in the source.
    pub(crate) fn is_verbatim(&self, range: &std::ops::Range<usize>) -> bool {
        self.altered_in(range).is_empty()
    }

    /// Where letters stand in the range that are other letters in the source.
    pub(crate) fn altered_letters_in(
        &self,
        range: &std::ops::Range<usize>,
    ) -> impl Iterator<Item = usize> + use<'_> {
        let letters = self.altered_in(range).iter();
        letters
            .filter(|(_, c)| c.is_alphabetic())
            .map(|(at, _)| *at)
    }

    fn altered_in(&self, range: &std::ops::Range<usize>) -> &[(usize, char)] {
        let from = self.altered.partition_point(|(at, _)| *at < range.start);
        let until = self.altered.partition_point(|(at, _)| *at < range.end);
        self.altered.get(from..until).unwrap_or_default()
    }

    /// The text of a range as it is in the source, with the capitals and accents of its
    /// letters. Digits and signs are folded, and invisible characters are missing. Nothing if
    /// it touches damaged text, a combining mark or many invisible characters.
    pub(crate) fn as_written(&self, range: &std::ops::Range<usize>) -> Option<String> {
        let altered = self.altered_in(&(range.start..range.end + 1));
        let folded = self.text.get(range.clone())?;
        let is_near_mark = altered.iter().any(|(_, c)| is_combining_mark(*c));
        if altered.len() > 2 * range.len() || is_near_mark || folded.contains(BARRIER) {
            return None;
        }
        let mut written = String::with_capacity(range.len());
        let mut at = range.start;
        for (place, c) in altered.iter().filter(|(place, _)| *place < range.end) {
            written.push_str(self.text.get(at..*place)?);
            at = place + folded_length(*c);
            if c.is_alphabetic() {
                written.push(*c);
            } else {
                written.push_str(self.text.get(*place..at)?);
            }
        }
        written.push_str(self.text.get(at..range.end)?);
        Some(written)
    }

    /// Adds text that begins at `at` in the source. Every kind of whitespace becomes a
    /// space.
    pub(crate) fn push_str(&mut self, text: &str, at: usize) {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let at = at + text.len() - rest.len();
            let plain = rest.bytes().take_while(|byte| matches!(byte, b' '..=b'~'));
            let length = match plain.count() {
                0 => {
                    self.push(if c.is_whitespace() { ' ' } else { c }, at);
                    c.len_utf8()
                }
                length => {
                    self.push_plain(rest.get(..length).unwrap_or_default(), at);
                    length
                }
            };
            rest = rest.get(length..).unwrap_or_default();
        }
    }

    /// Adds printable ASCII, which is most of every mail, all at once. Only its first
    /// character can follow an invisible character or a digit of another script.
    pub(crate) fn push_plain(&mut self, plain: &str, at: usize) {
        let (mut rest, mut at) = (plain, at);
        if (self.gap || self.last_zero.is_some())
            && let Some(first) = plain.chars().next()
        {
            self.push(first, at);
            rest = plain.get(1..).unwrap_or_default();
            at += 1;
        }
        if let Some(last) = rest.as_bytes().last() {
            self.locate(at);
            self.text.push_str(rest);
            self.last_zero = last.is_ascii_digit().then_some(u32::from('0'));
        }
    }

    /// Adds the character at offset `at` of the source.
    pub(crate) fn push(&mut self, c: char, at: usize) {
        if !is_invisible(c) {
            self.locate(at);
        }
        if c.is_ascii() {
            self.push_ascii(c);
        } else {
            self.push_other(c);
        }
    }

    /// Records the offset of the next character, unless it follows from the last one.
    fn locate(&mut self, at: usize) {
        let expected = self
            .map
            .last()
            .map(|(folded, source)| source + (self.text.len() - folded));
        if expected != Some(at) {
            self.map.push((self.text.len(), at));
        }
    }

    /// Adds a space before the character at offset `at` of the source. It is there, too, in
    /// most texts, so that nothing has to be recorded.
    pub(crate) fn push_space(&mut self, at: usize) {
        self.locate(at.saturating_sub(1));
        self.push_ascii(' ');
    }

    fn push_ascii(&mut self, c: char) {
        if c.is_ascii_digit() {
            self.push_digit(c, u32::from('0'));
            return;
        }
        self.last_zero = None;
        self.note_gap(c);
        self.text.push(if c.is_ascii_control() && c != '\n' {
            ' '
        } else {
            c
        });
    }

    fn push_digit(&mut self, digit: char, zero: u32) {
        let mixed = self.last_zero.is_some_and(|last| last != zero);
        self.note_gap(digit);
        if mixed {
            self.text.push(BARRIER);
        }
        self.last_zero = Some(zero);
        self.has_foreign_digits |= zero != u32::from('0');
        self.text.push(digit);
    }

    fn note_gap(&mut self, c: char) {
        if !self.gap {
            return;
        }
        let inside = is_alphanumeric(c) && self.text.ends_with(is_alphanumeric);
        self.has_invisible |=
            inside && (c.is_ascii() || self.text.ends_with(|last: char| last.is_ascii()));
        self.gap = false;
    }

    fn push_other(&mut self, c: char) {
        self.altered.push((self.text.len(), c));
        match folding(c) {
            Folding::Gap => self.gap = true,
            Folding::Digit(digit, zero) => self.push_digit(digit, zero),
            // A mark on a digit makes it another character, so the number is no number.
            Folding::Mark(_) | Folding::OtherMark
                if self.text.as_bytes().last().is_some_and(u8::is_ascii_digit) =>
            {
                self.text.push(BARRIER);
            }
            Folding::Mark(letter) | Folding::Letter(letter) => {
                self.last_zero = None;
                self.note_gap(c);
                self.text.extend(letter);
            }
            Folding::Other | Folding::OtherMark => {
                self.last_zero = None;
                self.note_gap(c);
                push_text(c, &mut self.text);
            }
        }
    }

    /// Ends a table cell.
    pub(crate) fn tab(&mut self) {
        self.last_zero = None;
        self.gap = false;
        self.text.push('\t');
    }

    pub(crate) fn newline(&mut self) {
        self.last_zero = None;
        self.gap = false;
        self.text.push('\n');
    }
}

/// How many bytes a character became.
fn folded_length(c: char) -> usize {
    match folding(c) {
        Folding::Gap => 0,
        Folding::Digit(..) => 1,
        Folding::Mark(letter) | Folding::Letter(letter) => letter.map_or(0, char::len_utf8),
        Folding::Other | Folding::OtherMark => {
            let mut text = String::new();
            push_text(c, &mut text);
            text.len()
        }
    }
}

/// Folds a text that is no part of a mail, such as a term of a lexicon, in the same way.
pub fn folded(text: &str) -> String {
    let mut folder = Folder::default();
    folder.push_str(text, 0);
    folder.text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_every_script_become_ascii() {
        assert_eq!(folded("１２３ ٤٥٦ ۷۸۹ ०१२"), "123 456 789 012");
    }

    #[test]
    fn text_as_written_has_its_capitals_and_accents() {
        for (source, written) in [
            ("KAŠTAN 41", "KAŠTAN 41"),
            ("ГРАБ-507", "ГРАБ-507"),
            ("ГРАБ‑٤٧", "ГРАБ-47"),
            ("lu\u{200b}na", "luna"),
            ("Straße", "Straße"),
        ] {
            let mut folder = Folder::default();
            folder.push_str("… ", 0);
            let start = folder.len();
            folder.push_str(source, 0);
            let end = folder.len();
            folder.push_str(" …", 0);
            assert_eq!(folder.as_written(&(start..end)).as_deref(), Some(written));
        }
    }

    #[test]
    fn text_at_a_barrier_or_a_mark_is_not_written() {
        for source in ["lamp 12٣ heron", "27 cafe\u{301}", "4\u{fffd}8 lamp"] {
            let mut folder = Folder::default();
            folder.push_str(source, 0);
            assert_eq!(folder.as_written(&(0..folder.len())), None, "{source}");
        }
    }

    #[test]
    fn barrier_separates_digits_of_two_scripts() {
        assert_eq!(folded("12٣٤"), format!("12{BARRIER}34"));
    }

    #[test]
    fn invisible_characters_are_removed_and_flagged() {
        let mut folder = Folder::default();
        "55\u{200b}7"
            .char_indices()
            .for_each(|(at, c)| folder.push(c, at));
        assert_eq!(folder.text(), "557");
        assert!(folder.has_invisible);
        assert_eq!(folder.source(2), 5);
    }

    #[test]
    fn accents_are_removed_and_ascii_case_is_kept() {
        assert_eq!(folded("Vérification CODE"), "Verification CODE");
        assert_eq!(folded("xác thực"), "xac thuc");
        assert_eq!(folded("Κωδικός КОД İstanbul"), "κωδικοσ код istanbul");
        assert_eq!(folded("인증번호 確認コード"), "인증번호 確認コード");
        assert_eq!(folded("：＃"), ":#");
    }

    #[test]
    fn combining_mark_after_a_digit_is_a_barrier() {
        for mark in ['\u{301}', '\u{20e3}', '\u{e31}'] {
            assert_eq!(folded(&format!("48{mark}29")), format!("48{BARRIER}29"));
        }
        assert_eq!(folded("cafe\u{301}"), "cafe");
    }

    #[test]
    fn replacement_character_is_a_barrier() {
        assert_eq!(folded("12\u{fffd}34"), format!("12{BARRIER}34"));
    }
}
