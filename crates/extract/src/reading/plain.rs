//! Reads plain text, with or without the lines that it quotes.

use std::ops::Range;

use super::markup::tags_around_addresses;
use super::{Reading, TextSource};
use crate::lines;
use crate::steps::{PER_FOREIGN_BYTE, Steps, foreign_bytes};

/// Steps charged for folding a character.
const PER_CHARACTER: usize = 8;
/// Steps charged for a line of text, besides its characters.
const PER_LINE: usize = 30;

impl Reading {
    /// Reads plain text with the lines that a forwarded mail quotes.
    pub(crate) fn of_forwarded_text(text: &str, limit: usize, steps: &Steps<'_>) -> Self {
        Self::of_lines(text, (limit, true), steps).0
    }

    /// Reads plain text without lines quoted from earlier mails. If every line is
    /// quoted, the mail is a forwarded one, and the quoted lines are read.
    pub(crate) fn of_text(text: &str, limit: usize, steps: &Steps<'_>) -> Self {
        let (own, has_own) = Self::of_lines(text, (limit, false), steps);
        if has_own {
            return own;
        }
        Self::of_forwarded_text(text, limit, steps)
    }

    /// Reads at most `limit` bytes, with or without quoted lines. Returns also whether a line
    /// without arrows says something.
    fn of_lines(text: &str, (limit, quoted): (usize, bool), steps: &Steps<'_>) -> (Self, bool) {
        let (mut reading, mut has_own) = (Self::empty(TextSource::Text), false);
        reading.folded.reserve(text.len().min(limit));
        let tags =
            tags_around_addresses(text.get(..text.floor_char_boundary(limit)).unwrap_or(text));
        let mut at = 0;
        for line in lines::with_ends(text) {
            let start = at;
            at += line.len();
            if reading.folded.len() >= limit || !steps.charge(PER_LINE + line.len()) {
                reading.truncated = true;
                break;
            }
            // ">>> 482913 <<<" is a frame and no quotation.
            let has_arrow = line.starts_with('>') && !line.trim_end().ends_with('<');
            let is_quoted = has_arrow
                && (quoted || !lines::is_pointed_at(line, text.get(..start), text.get(at..)));
            if is_quoted && !quoted {
                continue;
            }
            let skip = if is_quoted {
                line.len() - line.trim_start_matches(['>', ' ']).len()
            } else {
                0
            };
            let body = line.strip_suffix('\n').unwrap_or(line);
            let body = body.get(skip..).unwrap_or_default();
            let room = limit - reading.folded.len();
            let cut = body.floor_char_boundary(room);
            reading.truncated |= cut < body.len();
            let kept = body.get(..cut).unwrap_or_default();
            let foreign = PER_FOREIGN_BYTE * foreign_bytes(kept);
            if !steps.charge(PER_CHARACTER * kept.len() + foreign) {
                break;
            }
            let before = reading.folded.len();
            reading.push_without(&tags, kept, start + skip);
            let added = reading.text().get(before..).unwrap_or_default();
            has_own |= !has_arrow && !added.trim().is_empty();
            if line.ends_with('\n') {
                reading.folded.newline();
            }
        }
        (reading, has_own)
    }

    /// Adds a text that begins at `at` in the source, without some ranges of the source.
    fn push_without(&mut self, left_out: &[Range<usize>], text: &str, at: usize) {
        let (mut from, end) = (at, at + text.len());
        let next = left_out.partition_point(|range| range.end <= at);
        let later = left_out.get(next..).unwrap_or_default().iter();
        for range in later.take_while(|range| range.start < end) {
            let own = text.get(from - at..range.start.max(from) - at);
            self.folded.push_str(own.unwrap_or_default(), from);
            from = range.end.min(end);
        }
        let rest = text.get(from - at..).unwrap_or_default();
        self.folded.push_str(rest, from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_paragraph_after_several_arrows_is_no_quotation() {
        let read = |text: &str| {
            let reading = Reading::of_text(text, 1_000, &Steps::for_size(0));
            reading.text().contains("482 913")
        };
        assert!(read("Type this:\n\n>>> 482 913\n\nThank you\n"));
        assert!(read("Type this:\r\n\r\n>> 482 913\r\n\r\nThank you\r\n"));
        assert!(!read("Thank you\n\n> 482 913\n\nBye\n"));
        assert!(!read("Thank you\n\n> Type\n>> 482 913\n\nBye\n"));
        assert!(!read(
            "Thank you\r\n\r\n> Type\r\n>> 482 913\r\n\r\nBye\r\n"
        ));
        assert!(!read("Thank you\n\n>> My code is not 482 913\n\nBye\n"));
    }

    #[test]
    fn forwarded_mail_is_read_beside_a_short_paragraph_after_several_arrows() {
        for text in [
            "> Your verification code is 482913.\n\n>> Order 55\n\n",
            "\n\n>> Order 55\n\n> Your verification code is 482913.\n",
            "\u{200b}\n\n>> Order 55\n\n> Your verification code is 482913.\n",
        ] {
            let reading = Reading::of_text(text, 1_000, &Steps::for_size(0));
            assert!(reading.text().contains("482913"), "{text}");
            assert!(!reading.text().contains('>'), "{text}");
        }
    }
}
