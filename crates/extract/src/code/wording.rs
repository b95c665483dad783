//! The shapes of codes of words, and of short groups of letters and digits.

use super::alphabet::{Alphabet, is_of_one_alphabet};
use super::number::is_digits;
use super::shape::Shape;
use crate::words::are_things;

/// The most words, and words and numbers, of such a code.
const MOST_WORDS: usize = 3;
pub(super) const MOST_PARTS: usize = 5;
/// The most letters and digits of words, and of short groups.
const LONGEST_WORDS: usize = 28;
const LONGEST_GROUPS: usize = 12;

/// The shape of a piece, if it can be a code: words and numbers, or short groups of letters
/// and digits.
pub(super) fn wording(piece: &str) -> Option<Shape> {
    let parts = || piece.split(|c| !is_part(c)).filter(|part| !part.is_empty());
    let gaps = || piece.split(is_part).filter(|gap| !gap.is_empty());
    let count = parts().count();
    let numbers = parts().filter(|part| is_number(part)).count();
    let words = parts().filter(|part| is_word(part)).count();
    let groups = parts().filter(|part| is_group(part)).count();
    let length: usize = parts().map(|part| part.chars().count()).sum();
    if count == 1 && piece.is_ascii() {
        return single_word(piece);
    }
    if count > MOST_PARTS || !is_of_one_alphabet(piece) {
        return None;
    }
    let is_even = || gaps().all(|gap| Some(gap) == gaps().next());
    let is_joined = gaps().all(is_gap) || is_even() && is_numbered_name(piece, words);
    let are_words = (1..=MOST_WORDS).contains(&words)
        && words + numbers == count
        && (4..=LONGEST_WORDS).contains(&length);
    let is_name = |part: &str| is_silent(part) || are_things(part);
    let are_capitals = numbers > 0
        && !piece.contains(char::is_lowercase)
        && parts().filter(|part| is_word(part)).all(is_name);
    let are_groups = groups > 0
        && (groups + numbers == count || are_capitals && groups + numbers + words == count)
        && (4..=LONGEST_GROUPS).contains(&length)
        && piece.contains(|c: char| c.is_ascii_digit())
        && !has_label(piece);
    if !is_joined {
        None
    } else if let Some(most) = most_letters(piece) {
        is_word_with_number(piece, most).then_some(Shape::Words)
    } else if are_words && is_even() && stand_out(piece, count, numbers) {
        Some(Shape::Words)
    } else {
        are_groups.then_some(Shape::Dashed)
    }
}

/// One word of ASCII, all of whose letters are capitals or none is. Longer ones with a digit
/// have a shape of their own.
fn single_word(piece: &str) -> Option<Shape> {
    let is_of = |is: fn(&u8) -> bool| piece.bytes().all(|byte| is(&byte));
    let is_mixed = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    match piece.len() {
        4 if is_of(u8::is_ascii_lowercase) => Some(Shape::SmallLetters),
        4 if !is_of(u8::is_ascii_digit) && piece.bytes().all(|byte| is_mixed(&byte)) => {
            Some(Shape::MixedCase)
        }
        4..=10 if is_of(u8::is_ascii_uppercase) => Some(Shape::Letters),
        4..=10 if is_of(u8::is_ascii_lowercase) => Some(Shape::SmallLetters),
        _ => None,
    }
}

/// `olivera.far.12`, `cinke/520/963`, `tin_roof_rain`: no host ends with a number, no path is one
/// word, and few names are three.
fn is_numbered_name(piece: &str, words: usize) -> bool {
    let mut gaps = piece.split(is_part).filter(|gap| !gap.is_empty());
    if words == 0 || gaps.any(|gap| gap.len() > 1) {
        return false;
    }
    let ends_with_number = piece.ends_with(|c: char| c.is_ascii_digit());
    let has = |sign: char| piece.contains(sign);
    ends_with_number && (has('.') && !has('/') || has('/') && !has('.') && words == 1)
        || has('_') && words == MOST_WORDS
}

/// Whether words look different from those of a sentence: all letters are capitals, or none
/// is. In a script without capitals, a number or a dash is needed. With dashes and a number,
/// each word may begin with a capital, and so may a known thing before a number.
fn stand_out(piece: &str, count: usize, numbers: usize) -> bool {
    let has_capital = piece.contains(char::is_uppercase);
    let has_small = piece.contains(char::is_lowercase);
    match (has_capital, has_small) {
        (true, true) => {
            let is_joined = !piece.contains(' ') || count == 2 && are_things(piece);
            numbers > 0 && is_joined && is_capitalised(piece)
        }
        (false, false) => numbers > 0 || count > 1 && !piece.contains(' '),
        _ => true,
    }
}

/// Whether each word begins with a capital and goes on with small letters.
fn is_capitalised(piece: &str) -> bool {
    piece.split(['-', ' ']).all(|part| {
        let rest = part.chars().skip(1);
        !part.starts_with(char::is_lowercase) && !rest.into_iter().any(char::is_uppercase)
    })
}

/// The most letters of a piece in a script in which a few letters can be a sentence.
pub(super) fn most_letters(piece: &str) -> Option<usize> {
    piece.chars().find_map(Alphabet::of)?.most_letters()
}

/// `みかん 507`: one word of so many letters, and then one number.
fn is_word_with_number(piece: &str, most: usize) -> bool {
    let word = piece.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = piece.len() - word.len();
    let word = word.strip_suffix([' ', '-']).unwrap_or(word);
    let letters = word.chars().count();
    (1..=4).contains(&number)
        && (2..=most).contains(&letters)
        && letters + number >= 4
        && word.chars().all(|c| Alphabet::of(c).is_some())
}

/// A letter of a known alphabet, or a digit.
pub(super) fn is_part(c: char) -> bool {
    c.is_ascii_digit() || Alphabet::of(c).is_some()
}

/// Capitals without a vowel: no word of a sentence.
fn is_silent(part: &str) -> bool {
    part.bytes()
        .all(|byte| byte.is_ascii_uppercase() && !b"AEIOUY".contains(&byte))
}

/// Three to twelve letters, or two where a letter may be a syllable.
pub(super) fn is_word(part: &str) -> bool {
    let fewest = if part.is_ascii() { 3 } else { 2 };
    (fewest..=12).contains(&part.chars().count()) && !part.contains(|c: char| c.is_ascii_digit())
}

/// Before a longer number, a word is rather its label.
fn is_number(part: &str) -> bool {
    (1..=4).contains(&part.len()) && is_digits(part)
}

/// `id 4821`: a small word before a number that is a code by itself.
fn has_label(piece: &str) -> bool {
    let number = piece.rsplit_once(' ').map(|(_, number)| number);
    number.is_some_and(|number| number.len() == 4 && is_digits(number))
        && piece.contains(|c: char| c.is_lowercase())
}

/// Up to five letters and digits. A word with digits that is not Latin may have more.
fn is_group(part: &str) -> bool {
    let most = if part.is_ascii() { 5 } else { LONGEST_GROUPS };
    part.chars().count() <= most && !is_digits(part) && !is_word(part)
}

/// Whether this stands between two parts of a code. Dots and slashes join hosts and paths.
fn is_gap(gap: &str) -> bool {
    matches!(gap, " " | "-" | "·" | ", " | " - " | " · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_numbers_have_a_shape() {
        for piece in [
            "copper heron lamp",
            "MANGO KETTLE",
            "GRAN 27",
            "elm-39-bridge",
            "pino-vela-sasso-7",
            "27 martins",
            "луна-48",
            "ГРАБ 507",
            "калина",
            "KAŠTAN",
            "ვაზი-348",
            "Tulpe-83-Kran",
            "olivera.far.12",
            "cinke/520/963",
            "tin_roof_rain",
            "ひばり27",
            "みかん 507",
            "海豚 62",
            "기적77",
            "זית 58",
        ] {
            assert_eq!(wording(piece), Some(Shape::Words), "{piece}");
        }
        for piece in [
            "A1 77 Z",
            "wq 81 zt",
            "PL 77 - 20 - KR",
            "HTRV 5520 KM",
            "LIPA 118 Ż",
            "жкл507",
            "н7п4",
            "МЖ4-118-ТР0",
        ] {
            assert_eq!(wording(piece), Some(Shape::Dashed), "{piece}");
        }
    }

    #[test]
    fn single_words_have_a_shape_in_one_case() {
        assert_eq!(wording("krivop"), Some(Shape::SmallLetters));
        assert_eq!(wording("TOLIP"), Some(Shape::Letters));
        assert_eq!(wording("w4n8"), Some(Shape::MixedCase));
        assert_eq!(wording("biltongmaand"), None);
    }

    #[test]
    fn sentences_and_mixed_scripts_have_no_shape() {
        for piece in [
            "Kind regards",
            "copper heron lamp otter",
            "copper, heron lamp",
            "copper: lamp",
            "Добрый день",
            "с уважением Анна",
            "青山晚钟",
            "こんにちは さん",
            "cорреr lamp",
            "ѕеոԁ ոоԝ",
            "𝐬𝐞𝐧𝐝 𝐦𝐨𝐧𝐞𝐲",
            "删除-马上",
            "ひばりのうた 27",
            "立即转账 27",
            "海豚",
            "mallory.com",
            "mallory.7.com",
            "etc/shadow",
            "etc/shadow/5",
            "Kabel 64",
            "Copper",
            "482 913",
            "KODENI 48213",
            "id 4821",
        ] {
            assert_eq!(wording(piece), None, "{piece}");
        }
    }
}
