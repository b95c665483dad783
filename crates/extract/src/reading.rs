//! The text of one part of a mail, ready to be searched.

use std::ops::Range;

use crate::fold::Folder;

/// The part of a mail that text comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TextSource {
    /// The Subject field.
    Subject,
    /// The plain text body.
    Text,
    /// The HTML body.
    Html,
}

/// The visible text of one source. Lines end in `\n`, table cells in `\t`.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) source: TextSource,
    pub(crate) folded: Folder,
    /// Text that is printed larger or wider than the rest.
    pub(crate) emphasis: Vec<Range<usize>>,
    /// Text in elements whose class or id says "code".
    pub(crate) marked: Vec<Range<usize>>,
    pub(crate) anchors: Vec<Anchor>,
    /// Hidden text, folded. No artifact is taken from it.
    pub(crate) hidden: String,
    /// The source is longer than what is examined.
    pub(crate) truncated: bool,
}

/// A link element of HTML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Anchor {
    pub(crate) href: String,
    /// The range of its text.
    pub(crate) span: Range<usize>,
    /// The alternative text of its pictures, and its title.
    pub(crate) alternative: String,
    /// It is the action of a form.
    pub(crate) form: bool,
}

impl Reading {
    pub(crate) fn text(&self) -> &str {
        self.folded.text()
    }

    pub(crate) fn is_emphasised(&self, at: usize) -> bool {
        self.emphasis
            .iter()
            .any(|range| range.start <= at && at < range.end)
    }

    pub(crate) fn is_marked(&self, at: usize) -> bool {
        self.marked
            .iter()
            .any(|range| range.start <= at && at < range.end)
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.text().trim().is_empty()
    }

    /// Reads one line, such as the subject.
    pub(crate) fn of_line(source: TextSource, line: &str) -> Self {
        let mut reading = Self::empty(source);
        reading.folded.push_str(line, 0);
        reading
    }

    /// Reads plain text without lines quoted from earlier mails. If every line is
    /// quoted, the mail is a forwarded one, and the quoted lines are read.
    pub(crate) fn of_text(text: &str, limit: usize) -> Self {
        let own = Self::of_lines(text, limit, false);
        if own.is_blank() {
            Self::of_lines(text, limit, true)
        } else {
            own
        }
    }

    fn of_lines(text: &str, limit: usize, quoted: bool) -> Self {
        let mut reading = Self::empty(TextSource::Text);
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let start = at;
            at += line.len();
            if reading.folded.len() >= limit {
                reading.truncated = true;
                break;
            }
            let is_quoted = line.starts_with('>');
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
            reading.folded.push_str(kept, start + skip);
            if line.ends_with('\n') {
                reading.folded.newline();
            }
        }
        reading
    }

    pub(crate) fn empty(source: TextSource) -> Self {
        Self {
            source,
            folded: Folder::default(),
            emphasis: Vec::new(),
            marked: Vec::new(),
            anchors: Vec::new(),
            hidden: String::new(),
            truncated: false,
        }
    }
}
