//! Splits text into the tokens that may be codes.

use std::ops::Range;

use super::disguise::is_slashed;
use super::number::{is_composite, is_digits};

/// Letters, digits and the characters that join them, without outer punctuation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) range: Range<usize>,
    pub(super) form: Form,
}

/// What is known about the letters of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Two or more letters, of which the last is a small one.
    Word,
    /// The same, and all of them are small.
    SmallWord,
    /// Anything.
    Any,
}

impl Form {
    /// The form of a token of letters. `all` is what the classes of its bytes say together.
    fn of_letters(letters: &[u8], all: u8) -> Self {
        match letters {
            [_, .., last] if last.is_ascii_lowercase() => {
                if all & CAPITAL == 0 {
                    Self::SmallWord
                } else {
                    Self::Word
                }
            }
            _ => Self::Any,
        }
    }
}

impl Token {
    /// The character directly before.
    pub(super) fn before(&self, text: &str) -> Option<char> {
        text.get(..self.range.start)?.chars().next_back()
    }

    /// The character directly after.
    pub(super) fn after(&self, text: &str) -> Option<char> {
        text.get(self.range.end..)?.chars().next()
    }
}

/// Every token in the text. URLs, mail addresses and paths hold no codes, so they
/// give no tokens.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut found = Vec::with_capacity(text.len() / 6);
    let mut at = 0;
    while let Some(start) = position(bytes, at, |byte| class(byte) & PART != 0) {
        let (letters, all) = letters(bytes, start);
        let from = word_start(bytes, start);
        // The fast path: most words are only letters.
        let word = bytes.get(start..letters).unwrap_or_default();
        if from == start && !word.is_empty() && ends_after(bytes, letters, word) {
            at = letters;
            found.push(Token {
                range: start..letters,
                form: Form::of_letters(word, all),
            });
            continue;
        }
        let end = position(bytes, from, ends_word).unwrap_or(bytes.len());
        if let Some(word) = text.get(from..end)
            && !is_address(word)
        {
            split(text, from..end, &mut found);
        }
        at = end.max(from + 1);
    }
    found
}

/// What a byte is, as a bit each.
const SMALL: u8 = 1;
const CAPITAL: u8 = 2;
const DIGIT: u8 = 4;
const ENDING: u8 = 8;
const LEADING: u8 = 16;
const LETTER: u8 = SMALL | CAPITAL;
const PART: u8 = LETTER | DIGIT;

/// What each byte is. Most bytes of a mail are letters, and each is looked at once.
const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut rest = classes.as_mut_slice();
    let mut byte: u8 = 0;
    while let [first, later @ ..] = rest {
        *first = match byte {
            b'a'..=b'z' => SMALL,
            b'A'..=b'Z' => CAPITAL,
            b'0'..=b'9' => DIGIT,
            b'<' | b'>' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'"' | b'|' => ENDING,
            b'@' | b'/' | b'+' | b'*' | b'#' => LEADING,
            _ if byte.is_ascii_graphic() => 0,
            _ => ENDING,
        };
        rest = later;
        byte = byte.wrapping_add(1);
    }
    classes
};

fn class(byte: u8) -> u8 {
    let class = CLASSES.get(usize::from(byte));
    class.copied().unwrap_or_default()
}

/// Where the letters end that begin at an offset, and what their classes say together.
fn letters(bytes: &[u8], start: usize) -> (usize, u8) {
    let (mut end, mut all) = (start, 0);
    for byte in bytes.get(start..).unwrap_or_default() {
        let class = class(*byte);
        if class & LETTER == 0 {
            break;
        }
        all |= class;
        end += 1;
    }
    (end, all)
}

/// Whether nothing but a sign that ends a clause comes between some letters and the end of
/// the word. `www.` begins an address.
fn ends_after(bytes: &[u8], at: usize, letters: &[u8]) -> bool {
    let ends = |at: usize| bytes.get(at).is_none_or(|byte| ends_word(*byte));
    let is_sign = |byte: &u8| matches!(byte, b'.' | b',' | b':' | b';' | b'!' | b'?');
    ends(at)
        || bytes.get(at).is_some_and(is_sign)
            && ends(at + 1)
            && !letters.eq_ignore_ascii_case(b"www")
}

fn position(bytes: &[u8], from: usize, is: impl Fn(u8) -> bool) -> Option<usize> {
    let found = bytes.get(from..)?.iter().position(|byte| is(*byte))?;
    Some(from + found)
}

/// Where a word begins: characters such as `@` or `+` before it decide what it is.
fn word_start(bytes: &[u8], at: usize) -> usize {
    let before = bytes.get(..at).unwrap_or_default();
    let signs = before
        .iter()
        .rev()
        .take_while(|byte| class(**byte) & LEADING != 0)
        .count();
    at - signs.min(8)
}

fn ends_word(byte: u8) -> bool {
    class(byte) & ENDING != 0
}

/// Whether a word is a URL, a mail address, a host with a path or a USSD string.
fn is_address(word: &str) -> bool {
    let bytes = word.as_bytes();
    if word
        .get(..4)
        .is_some_and(|start| start.eq_ignore_ascii_case("www."))
    {
        return true;
    }
    let has_sign = bytes.iter().any(|byte| matches!(byte, b'/' | b'@' | b'#'));
    if !has_sign {
        return false;
    }
    word.contains("://")
        || is_mail_address(word)
        || is_host_path(word)
        || (bytes.first() == Some(&b'*')
            && bytes.contains(&b'#')
            && bytes.iter().filter(|b| b.is_ascii_digit()).count() > 2)
}

fn is_mail_address(word: &str) -> bool {
    word.split_once('@').is_some_and(|(local, domain)| {
        local.ends_with(|c: char| c.is_ascii_alphanumeric()) && domain.contains('.')
    })
}

/// `host.tld/path`. A slash alone is not enough.
fn is_host_path(word: &str) -> bool {
    let Some((host, _)) = word.split_once('/') else {
        return false;
    };
    host.rsplit_once('.').is_some_and(|(name, top)| {
        !name.is_empty()
            && (2..=10).contains(&top.len())
            && top.bytes().all(|byte| byte.is_ascii_alphabetic())
    })
}

/// Splits a word at punctuation that does not occur inside codes.
fn split(text: &str, word: Range<usize>, found: &mut Vec<Token>) {
    let Some(body) = text.get(word.clone()) else {
        return;
    };
    let numeric = body.bytes().any(|byte| byte.is_ascii_digit());
    if numeric {
        let bare = body.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        if is_composite(bare) || is_slashed(bare) {
            push(text, word, found);
            return;
        }
    }
    let mut start = word.start;
    for (offset, c) in body.char_indices() {
        if matches!(
            c,
            ':' | '=' | ';' | ',' | '/' | '!' | '?' | '&' | '#' | '+' | '~' | '\''
        ) {
            push(text, start..word.start + offset, found);
            start = word.start + offset + c.len_utf8();
        }
    }
    push(text, start..word.end, found);
}

fn push(text: &str, range: Range<usize>, found: &mut Vec<Token>) {
    let Some(body) = text.get(range.clone()) else {
        return;
    };
    let trimmed = body.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    if trimmed.is_empty() {
        return;
    }
    let lead = body.find(|c: char| c.is_ascii_alphanumeric()).unwrap_or(0);
    let start = range.start + lead;
    let (lead, tail) = affixes(trimmed);
    let end = start + trimmed.len() - tail;
    found.push(Token {
        range: start + lead.max(glued(trimmed))..end,
        form: Form::Any,
    });
}

/// The lengths of a prefix and an ending that grammar joins to a number with a dash:
/// `u-482913` in Zulu, `482913-as` in Hungarian.
fn affixes(core: &str) -> (usize, usize) {
    let is_small = |part: &str| part.bytes().all(|byte| byte.is_ascii_lowercase());
    let Some((first, last)) = core.split_once('-') else {
        return (0, 0);
    };
    let ends_in_vowel = first.ends_with(['a', 'e', 'i', 'o', 'u']);
    if first.len() <= 4 && is_small(first) && ends_in_vowel && is_digits(last) {
        return (first.len() + 1, 0);
    }
    let is_number = (4..=8).contains(&first.len()) && is_digits(first);
    // One letter is a part of a code, but for the `t` of Hungarian.
    if is_number && is_small(last) && (matches!(last.len(), 2..=4) || last == "t") {
        return (0, last.len() + 1);
    }
    (0, 0)
}

/// The length of a label that is written without a space: `OTP634809`.
fn glued(core: &str) -> usize {
    const LABELS: &[&str] = &[
        "otp", "code", "pin", "is", "tac", "kod", "kode", "token", "codigo", "password",
    ];
    let letters = core.bytes().take_while(u8::is_ascii_alphabetic).count();
    let digits = core
        .get(letters..)
        .is_some_and(|rest| (4..=8).contains(&rest.len()) && is_digits(rest));
    let label = core
        .get(..letters)
        .is_some_and(|name| LABELS.iter().any(|label| name.eq_ignore_ascii_case(label)));
    if digits && label { letters } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cores(text: &str) -> Vec<&str> {
        tokens(text)
            .iter()
            .map(|token| text.get(token.range.clone()).unwrap())
            .collect()
    }

    #[test]
    fn tokens_have_no_outer_punctuation() {
        assert_eq!(cores("Code: (123456)."), ["Code", "123456"]);
        assert_eq!(cores("OTP=567234, ok"), ["OTP", "567234", "ok"]);
        assert_eq!(cores("验证码660214，5分钟"), ["660214", "5"]);
        assert_eq!(
            cores("G-412157 RKJ-YP6 482.913"),
            ["G-412157", "RKJ-YP6", "482.913"]
        );
    }

    #[test]
    fn sign_after_a_word_changes_no_token() {
        assert_eq!(
            cores("now, later. who? me; www. x:"),
            cores("now , later . who ? me ; x :")
        );
        assert_eq!(cores("sign.in a,b c:d"), ["sign.in", "a", "b", "c", "d"]);
    }

    #[test]
    fn prefixes_and_endings_are_no_part_of_a_number() {
        assert_eq!(
            cores("u-83 17 ku-4821 482913-as 4821-x 915372-t"),
            ["83", "17", "4821", "482913", "4821-x", "915372"]
        );
    }

    #[test]
    fn urls_and_addresses_give_no_tokens() {
        assert_eq!(
            cores("see https://a.com/123456?c=654321 or a.com/123456 now"),
            ["see", "or", "now"]
        );
        assert_eq!(cores("to alex99817@example.net *123*4567# x"), ["to", "x"]);
        assert_eq!(cores("and/or 24/7"), ["and", "or", "24/7"]);
    }

    #[test]
    fn dates_times_and_amounts_are_one_token() {
        assert_eq!(
            cores("on 14/03/2026 10:30:22 for 4,821.50"),
            ["on", "14/03/2026", "10:30:22", "for", "4,821.50"]
        );
    }
}
