//! Quoted-printable text and dates for mail.

use std::fmt::Write;

use pipeline::Timestamp;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

/// RFC 2045 allows 76 characters in a line; a soft line break takes one.
const MAX_LINE: usize = 75;

/// Text as quoted-printable, RFC 2045 section 6.7.
pub(super) fn quoted_printable(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(quoted_line).collect();
    lines.join("\r\n")
}

fn quoted_line(line: &str) -> String {
    let mut written = String::new();
    let mut room = MAX_LINE;
    let mut bytes = line.bytes().peekable();
    while let Some(byte) = bytes.next() {
        let is_last = bytes.peek().is_none();
        // Mail servers may strip white space at the end of a line, so it is encoded.
        let is_plain =
            matches!(byte, b'!'..=b'<' | b'>'..=b'~') || (matches!(byte, b' ' | b'\t') && !is_last);
        let width = if is_plain { 1 } else { 3 };
        if width > room {
            written.push_str("=\r\n");
            room = MAX_LINE;
        }
        room -= width;
        if is_plain {
            written.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(written, "={byte:02X}");
        }
    }
    written
}

/// A time in the form of the `Date` header.
pub(super) fn mail_date(at: Timestamp) -> String {
    let text = moment(at).format(&Rfc2822);
    text.unwrap_or_else(|_| "Thu, 01 Jan 1970 00:00:00 +0000".to_owned())
}

/// The year of a time.
pub(super) fn year(at: Timestamp) -> String {
    moment(at).year().to_string()
}

fn moment(at: Timestamp) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(at.as_seconds()).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_and_equal_signs_encoded() {
        let long = format!("a=\"{}\" é ", "x".repeat(200));
        let coded = quoted_printable(&long);
        assert!(coded.lines().all(|line| line.len() <= 76), "{coded}");
        let back = coded.replace("=\r\n", "");
        assert_eq!(back, format!("a=3D\"{}\" =C3=A9=20", "x".repeat(200)));
    }

    #[test]
    fn dates_are_in_rfc_2822_form() {
        let at = Timestamp::from_millis(1_763_164_800_000);
        assert_eq!(mail_date(at), "Sat, 15 Nov 2025 00:00:00 +0000");
        assert_eq!(year(at), "2025");
    }
}
