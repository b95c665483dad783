//! The lines of a text. A mail may be nothing but line ends, so an empty line must cost
//! little: it is found without a search.

use memchr::memchr;

/// The lines of a text with their ends. All but the last one have one.
pub(crate) fn with_ends(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let length = match rest.as_bytes() {
            [] => return None,
            [b'\n', ..] => 1,
            bytes => memchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1),
        };
        let (line, after) = rest.split_at_checked(length)?;
        rest = after;
        Some(line)
    })
}

/// The lines of a text without their ends, `\n` or `\r\n`.
pub(crate) fn without_ends(text: &str) -> impl Iterator<Item = &str> {
    with_ends(text).map(without_end)
}

/// A line without its end.
pub(crate) fn without_end(line: &str) -> &str {
    let kept = match line.as_bytes() {
        [.., b'\r', b'\n'] => line.len() - 2,
        [.., b'\n'] => line.len() - 1,
        _ => line.len(),
    };
    line.get(..kept).unwrap_or_default()
}

/// `>>> 482 913`: whether the only words of a paragraph are few, have a digit, and come after
/// several arrows. So little is rarely quoted of a mail that is quoted in another one.
pub(crate) fn is_pointed_at(line: &str, before: Option<&str>, after: Option<&str>) -> bool {
    const LONGEST: usize = 24;
    let is_start = |text: &str| text.ends_with("\n\n") || text.ends_with("\n\r\n");
    let is_end = |text: &str| text.is_empty() || text.starts_with(['\r', '\n']);
    line.starts_with(">>")
        && line.len() <= LONGEST
        && line.bytes().any(|byte| byte.is_ascii_digit())
        && before.is_some_and(is_start)
        && after.is_some_and(is_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_the_standard_library() {
        for text in [
            "",
            "\n",
            "\n\n",
            "a",
            "a\n",
            "a\r\nb",
            "\r",
            "\r\r\n\n\r",
            "é\n\nü\r\n",
            "a\rb\n",
        ] {
            let ours: Vec<_> = without_ends(text).collect();
            assert_eq!(ours, text.lines().collect::<Vec<_>>(), "{text:?}");
            let ours: Vec<_> = with_ends(text).collect();
            assert_eq!(
                ours,
                text.split_inclusive('\n').collect::<Vec<_>>(),
                "{text:?}"
            );
        }
    }
}
