//! Words as features.

use crate::property::Property;

/// The words of a text.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let bytes = text.as_bytes();
        loop {
            match class(*bytes.get(at)?) {
                Class::Part => break,
                Class::Separator => at += 1,
                Class::Other => match char_at(text, at)? {
                    c if PART.is_of(c) => break,
                    c => at += c.len_utf8(),
                },
            }
        }
        let start = at;
        while let Some(byte) = bytes.get(at) {
            match class(*byte) {
                Class::Part => at += 1,
                Class::Separator => break,
                Class::Other => match char_at(text, at).filter(|c| PART.is_of(*c)) {
                    Some(c) => at += c.len_utf8(),
                    None => break,
                },
            }
        }
        text.get(start..at)
    })
}

fn char_at(text: &str, at: usize) -> Option<char> {
    text.get(at..)?.chars().next()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Part,
    Separator,
    /// Not ASCII.
    Other,
}

/// What each byte is.
const CLASSES: [Class; 256] = {
    let mut classes = [Class::Other; 256];
    let mut rest = classes.as_mut_slice();
    let mut byte: u8 = 0;
    while let [first, later @ ..] = rest
        && byte.is_ascii()
    {
        *first = if byte.is_ascii_alphanumeric() {
            Class::Part
        } else {
            Class::Separator
        };
        rest = later;
        byte += 1;
    }
    classes
};

fn class(byte: u8) -> Class {
    let class = CLASSES.get(usize::from(byte));
    class.copied().unwrap_or(Class::Other)
}

/// Characters that are parts of words.
static PART: Property = Property::new(|c| c.is_alphanumeric() || is_mark(c));

/// The vowel signs of syllabaries are parts of words.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{900}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{591}'..='\u{5c7}' | '\u{64b}'..='\u{65f}')
}

/// Whether a script is written without spaces between words.
pub(super) fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f00}'..='\u{fff}')
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn words_are_letters_digits_and_vowel_signs() {
        let all = |text| words(text).collect::<Vec<_>>();
        assert_eq!(all(" your code: 12-34. "), ["your", "code", "12", "34"]);
        assert_eq!(all("Größe,कोड-код"), ["Größe", "कोड", "код"]);
        assert_eq!(all(" .-").len(), 0);
    }
}
