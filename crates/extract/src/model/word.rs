//! Words as features.

/// The words of a text.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = end_of(text, at, false);
        at = end_of(text, start, true);
        text.get(start..at).filter(|word| !word.is_empty())
    })
}

/// Where characters that are parts of words, or are not, end.
fn end_of(text: &str, from: usize, parts: bool) -> usize {
    let wanted = if parts { Class::Part } else { Class::Separator };
    let mut at = from;
    loop {
        let rest = text.as_bytes().get(at..).unwrap_or_default();
        at += rest
            .iter()
            .take_while(|byte| class(**byte) == wanted)
            .count();
        let rest = text.get(at..).unwrap_or_default();
        match rest.chars().next() {
            Some(c) if !c.is_ascii() && is_part(c) == parts => at += c.len_utf8(),
            _ => return at,
        }
    }
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

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || is_mark(c)
}

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
