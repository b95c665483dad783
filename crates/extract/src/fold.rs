//! Folds text for matching, with a map back to the source.
//!
//! Codes are ASCII, and terms are compared without case and accents. So digits of
//! every script become ASCII, letters lose their accents, and invisible characters
//! are removed. ASCII letters keep their case, because codes need it.

use unicode_normalization::char::{decompose_canonical, is_combining_mark};

/// Marks damaged text and digits of mixed scripts. No artifact may touch it.
pub(crate) const BARRIER: char = '\u{fffd}';

/// The digit zero of every script that has its own digits.
const ZEROS: &[u32] = &[
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6,
    0xe50, 0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50,
    0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10,
    0x104a0, 0x10d30, 0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650,
    0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0, 0x16b50,
    0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,
];

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
    /// Offsets where a character was replaced or removed.
    altered: Vec<usize>,
    /// A word or a number contained invisible characters.
    pub(crate) has_invisible: bool,
    /// There were digits other than ASCII.
    pub(crate) has_foreign_digits: bool,
}

impl Folder {
    pub(crate) fn text(&self) -> &str {
        &self.text
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
        let from = self.altered.partition_point(|at| *at < range.start);
        self.altered.get(from).is_none_or(|at| *at >= range.end)
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
        let inside = c.is_alphanumeric() && self.text.ends_with(char::is_alphanumeric);
        self.has_invisible |=
            inside && (c.is_ascii() || self.text.ends_with(|last: char| last.is_ascii()));
        self.gap = false;
    }

    fn push_other(&mut self, c: char) {
        if self.altered.last() != Some(&self.text.len()) {
            self.altered.push(self.text.len());
        }
        if is_invisible(c) {
            self.gap = true;
            return;
        }
        if let Some((digit, zero)) = digit(c) {
            self.push_digit(digit, zero);
            return;
        }
        // A mark on a digit makes it another character, so the number is no number.
        if is_combining_mark(c) && self.text.ends_with(|last: char| last.is_ascii_digit()) {
            self.text.push(BARRIER);
            return;
        }
        self.last_zero = None;
        self.note_gap(c);
        match replaced(c) {
            Some(ascii) => self.text.push_str(ascii),
            None if ('\u{ff01}'..='\u{ff5e}').contains(&c) => {
                self.text.extend(char::from_u32(u32::from(c) - 0xfee0));
            }
            None if c.is_whitespace() => self.text.push(' '),
            None => c.to_lowercase().for_each(|lower| self.push_letter(lower)),
        }
    }

    /// Adds a letter without its accents. The marks of syllabaries are kept.
    fn push_letter(&mut self, c: char) {
        let may_have_accents = matches!(c, '\u{c0}'..='\u{dff}' | '\u{1e00}'..='\u{1fff}');
        if !may_have_accents || !(c.is_alphabetic() || is_combining_mark(c)) {
            self.text.push(c);
            return;
        }
        let text = &mut self.text;
        decompose_canonical(c, |part| {
            if !is_accent(part) {
                match replaced(part) {
                    Some(ascii) => text.push_str(ascii),
                    None => text.push(same_letter(part)),
                }
            }
        });
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

/// Folds a term of a lexicon in the same way.
pub fn folded(text: &str) -> String {
    let mut folder = Folder::default();
    folder.push_str(text, 0);
    folder.text
}

fn digit(c: char) -> Option<(char, u32)> {
    let code = u32::from(c);
    let zero = ZEROS.get(ZEROS.partition_point(|zero| *zero <= code).checked_sub(1)?)?;
    let value = code.checked_sub(*zero).filter(|value| *value < 10)?;
    Some((char::from_digit(value, 10)?, *zero))
}

fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Accents of Latin, Greek and Cyrillic letters, Hebrew points, Arabic vowels.
fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{487}' | '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}'..='\u{5c7}'
        | '\u{610}'..='\u{61a}' | '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}')
}

fn replaced(c: char) -> Option<&'static str> {
    Some(match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}' => "-",
        '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}' | '\u{2bc}' | '\u{2b9}' | '\u{60}'
        | '\u{b4}' | '\u{5f3}' => "'",
        '\u{201c}'..='\u{201f}'
        | '\u{ab}'
        | '\u{bb}'
        | '\u{2033}'
        | '\u{5f4}'
        | '\u{2039}'
        | '\u{203a}' => "\"",
        '\u{2026}' => "...",
        // A full-width comma never stands inside a number.
        '\u{ff0c}' => ", ",
        'ß' | 'ẞ' => "ss",
        'æ' => "ae",
        'œ' => "oe",
        'ø' => "o",
        'ł' => "l",
        'đ' | 'ð' | 'ɗ' => "d",
        'þ' => "th",
        'ħ' => "h",
        'ı' => "i",
        'ə' | 'ɛ' => "e",
        'ŋ' => "n",
        'ɓ' => "b",
        'ƙ' => "k",
        _ => return None,
    })
}

/// One form for letters that neighbouring languages write differently.
fn same_letter(c: char) -> char {
    match c {
        'أ' | 'إ' | 'آ' | 'ٱ' => 'ا',
        'ى' | 'ي' | 'ې' => 'ی',
        'ك' => 'ک',
        'ة' | 'ۀ' | 'ە' | 'ہ' | 'ھ' => 'ه',
        'ς' => 'σ',
        'ё' => 'е',
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_every_script_become_ascii() {
        assert_eq!(folded("１２３ ٤٥٦ ۷۸۹ ०१२"), "123 456 789 012");
        assert!(ZEROS.is_sorted());
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
