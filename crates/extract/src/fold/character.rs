//! What single characters become. The answers for the common ones are kept: the tables of
//! Unicode take many times as long as the rest of folding.

use std::sync::LazyLock;

use unicode_normalization::char::{decompose_canonical, is_combining_mark};

/// The digit zero of every script that has its own digits.
const ZEROS: &[u32] = &[
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6,
    0xe50, 0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50,
    0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10,
    0x104a0, 0x10d30, 0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650,
    0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0, 0x16b50,
    0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,
];

/// What a character becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Folding {
    /// Nothing: it is invisible.
    Gap,
    /// A digit, of the script with this zero.
    Digit(char, u32),
    /// Another letter, or nothing.
    Letter(Option<char>),
    /// The same for a combining mark.
    Mark(Option<char>),
    /// What [`push_text`] adds.
    Other,
    /// The same for a combining mark.
    OtherMark,
}

/// Characters before this are looked up: all alphabets, and no ideographs.
const END: u32 = 0x3100;

static FOLDINGS: LazyLock<Vec<Folding>> = LazyLock::new(|| {
    // There are no surrogates among these.
    (0..END).filter_map(char::from_u32).map(near).collect()
});

/// What a character becomes.
pub(super) fn folding(c: char) -> Folding {
    match FOLDINGS.get(c as usize) {
        Some(folding) => *folding,
        None => far(c),
    }
}

/// The answer for a character of the table.
fn near(c: char) -> Folding {
    if is_invisible(c) {
        return Folding::Gap;
    }
    if let Some((digit, zero)) = digit(c) {
        return Folding::Digit(digit, zero);
    }
    let mut text = String::new();
    push_text(c, &mut text);
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (_, Some(_)) if is_combining_mark(c) => Folding::OtherMark,
        (_, Some(_)) => Folding::Other,
        (letter, None) if is_combining_mark(c) => Folding::Mark(letter),
        (letter, None) => Folding::Letter(letter),
    }
}

/// The answer for a character after the table. Ideographs and syllables have no other
/// form, and neither have the marks there.
fn far(c: char) -> Folding {
    if matches!(c, '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}') {
        Folding::Letter(Some(c))
    } else if is_invisible(c) {
        Folding::Gap
    } else if let Some((digit, zero)) = digit(c) {
        Folding::Digit(digit, zero)
    } else if is_combining_mark(c) {
        Folding::Mark(Some(c))
    } else {
        Folding::Other
    }
}

/// Adds the text that a character stands for.
pub(super) fn push_text(c: char, text: &mut String) {
    match replaced(c) {
        Some(ascii) => text.push_str(ascii),
        None if ('\u{ff01}'..='\u{ff5e}').contains(&c) => {
            text.extend(char::from_u32(u32::from(c) - 0xfee0));
        }
        None if c.is_whitespace() => text.push(' '),
        None => c.to_lowercase().for_each(|lower| push_letter(lower, text)),
    }
}

/// Adds a letter without its accents. The marks of syllabaries are kept.
fn push_letter(c: char, text: &mut String) {
    let may_have_accents = matches!(c, '\u{c0}'..='\u{dff}' | '\u{1e00}'..='\u{1fff}');
    if !may_have_accents || !(c.is_alphabetic() || is_combining_mark(c)) {
        text.push(c);
        return;
    }
    decompose_canonical(c, |part| {
        if !is_accent(part) {
            match replaced(part) {
                Some(ascii) => text.push_str(ascii),
                None => text.push(same_letter(part)),
            }
        }
    });
}

fn digit(c: char) -> Option<(char, u32)> {
    let code = u32::from(c);
    let zero = ZEROS.get(ZEROS.partition_point(|zero| *zero <= code).checked_sub(1)?)?;
    let value = code.checked_sub(*zero).filter(|value| *value < 10)?;
    Some((char::from_digit(value, 10)?, *zero))
}

pub(super) fn is_invisible(c: char) -> bool {
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
    fn every_character_becomes_what_its_text_says() {
        for c in ('\u{80}'..=char::MAX).filter(|c| !is_invisible(*c)) {
            let mut text = String::new();
            push_text(c, &mut text);
            match folding(c) {
                Folding::Letter(letter) => {
                    assert!(!is_combining_mark(c), "{c:?}");
                    assert_eq!(text, letter.into_iter().collect::<String>(), "{c:?}");
                }
                Folding::Mark(letter) => {
                    assert!(is_combining_mark(c), "{c:?}");
                    assert_eq!(text, letter.into_iter().collect::<String>(), "{c:?}");
                }
                Folding::Digit(digit, zero) => {
                    let value = digit.to_digit(10).unwrap();
                    assert_eq!(u32::from(c), zero + value, "{c:?}");
                }
                Folding::Other => assert!(!is_combining_mark(c), "{c:?}"),
                Folding::OtherMark => assert!(is_combining_mark(c), "{c:?}"),
                Folding::Gap => panic!("{c:?} is visible"),
            }
        }
        assert!(ZEROS.is_sorted());
        assert_eq!(folding('é'), Folding::Letter(Some('e')));
        assert_eq!(folding('\u{301}'), Folding::Mark(None));
        assert_eq!(folding('ß'), Folding::Other);
        assert_eq!(folding('验'), Folding::Letter(Some('验')));
    }
}
