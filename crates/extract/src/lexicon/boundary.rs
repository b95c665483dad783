//! Where words begin and end.

use crate::property::Property;

/// Whether a word may begin at an offset, where a character begins.
pub(super) fn begins_word(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    let before = at.checked_sub(1).and_then(|before| bytes.get(before));
    match (before, bytes.get(at)) {
        (Some(before), Some(next)) if before.is_ascii() && next.is_ascii() => {
            !before.is_ascii_alphabetic() || !next.is_ascii_alphabetic()
        }
        (None, _) => true,
        _ => {
            let next = text.get(at..).and_then(|rest| rest.chars().next());
            is_boundary(last_char(text, at), next)
        }
    }
}

/// The end of the word that continues at an offset.
pub(super) fn word_end(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    match at.checked_sub(1).and_then(|last| bytes.get(last)) {
        Some(last) if last.is_ascii_alphabetic() => {
            let rest = bytes.get(at..).unwrap_or_default().iter();
            at + rest.take_while(|byte| byte.is_ascii_alphabetic()).count()
        }
        Some(last) if last.is_ascii() => at,
        _ => word_end_by_characters(text, at),
    }
}

fn word_end_by_characters(text: &str, at: usize) -> usize {
    let mut last = last_char(text, at);
    let mut end = at;
    for next in text.get(at..).unwrap_or_default().chars() {
        if is_boundary(last, Some(next)) {
            break;
        }
        last = Some(next);
        end += next.len_utf8();
    }
    end
}

/// The length of the character that begins with a byte.
pub(super) fn length(first: u8) -> usize {
    match first {
        0..0xc0 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0.. => 4,
    }
}

/// The character that ends here.
fn last_char(text: &str, end: usize) -> Option<char> {
    text.get(..end)?.chars().next_back()
}

/// Whether a word may end between the two characters.
fn is_boundary(left: Option<char>, right: Option<char>) -> bool {
    match (left, right) {
        (Some(left), Some(right)) if left.is_ascii() && right.is_ascii() => {
            !left.is_ascii_alphabetic() || !right.is_ascii_alphabetic()
        }
        (Some(left), Some(right)) => {
            is_unspaced(left)
                || is_unspaced(right)
                || script_differs(left, right)
                || !LETTER.is_of(left)
                || !LETTER.is_of(right)
        }
        _ => true,
    }
}

/// Letters of all alphabets, and combining marks.
static LETTER: Property =
    Property::new(|c| c.is_alphabetic() || unicode_normalization::char::is_combining_mark(c));

fn script_differs(left: char, right: char) -> bool {
    left.is_ascii() != right.is_ascii()
}

/// Whether the script has no spaces between words.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_begin_and_end_the_same_way_by_bytes_and_by_characters() {
        let text = "Your code:12ab, Größe des Kódu, 您的码code код1-кода ’s";
        let ends = text.char_indices().map(|(at, _)| at);
        for at in ends.filter(|at| *at > 0) {
            let next = text.get(at..).and_then(|rest| rest.chars().next());
            let is_start = is_boundary(last_char(text, at), next);
            assert_eq!(begins_word(text, at), is_start, "{at}");
            assert_eq!(word_end(text, at), word_end_by_characters(text, at), "{at}");
        }
    }

    #[test]
    fn first_byte_gives_the_length_of_a_character() {
        for c in ['a', 'é', '码', '𝟎'] {
            let mut bytes = [0; 4];
            let first = c.encode_utf8(&mut bytes).bytes().next();
            assert_eq!(first.map(length), Some(c.len_utf8()));
        }
    }
}
