//! Text in a header that is not ASCII, by RFC 2047.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// How many bytes of text one encoded word holds: its base64 and its frame fit into the
/// 75 characters that it may have.
const WORD: usize = 42;

/// The text as it may stand in a header: itself, if it is plain ASCII, or encoded words.
pub(crate) fn encoded(text: &str) -> String {
    let is_plain = text.len() <= 900 && text.bytes().all(|b| (b' '..=b'~').contains(&b));
    // What looks like an encoded word would be decoded by the reader.
    if is_plain && !text.contains("=?") {
        return text.to_owned();
    }
    let words: Vec<String> = chunks(text)
        .iter()
        .map(|chunk| format!("=?utf-8?B?{}?=", STANDARD.encode(chunk)))
        .collect();
    words.join("\r\n ")
}

/// Cuts a text between characters.
fn chunks(text: &str) -> Vec<String> {
    let mut chunks = vec![String::new()];
    for letter in text.chars() {
        let is_full = |chunk: &String| chunk.len() + letter.len_utf8() > WORD;
        if chunks.last().is_none_or(is_full) {
            chunks.push(String::new());
        }
        if let Some(chunk) = chunks.last_mut() {
            chunk.push(letter);
        }
    }
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_ascii_stays_as_it_is() {
        assert_eq!(
            encoded("Re: Where is order 4821?"),
            "Re: Where is order 4821?"
        );
    }

    #[test]
    fn other_text_becomes_encoded_words_of_at_most_75_characters() {
        assert_eq!(encoded("Grüße"), "=?utf-8?B?R3LDvMOfZQ==?=");
        let long = encoded(&"ä€😀".repeat(40));
        assert!(long.split("\r\n ").all(|word| word.len() <= 75), "{long}");
        assert!(long.is_ascii());
    }

    #[test]
    fn text_that_looks_encoded_is_encoded_once_more() {
        assert!(encoded("=?utf-8?Q?x?=").starts_with("=?utf-8?B?"));
    }
}
