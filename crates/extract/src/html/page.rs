//! Collects the visible text of a page.

use std::ops::Range;

use super::element::Look;
use super::entity::{Piece, pieces};
use super::property::Display;
use crate::fold::Folder;
use crate::reading::{Anchor, Reading, TextSource};

const MAX_ANCHORS: usize = 1_000;
const MAX_HIDDEN: usize = 64 * 1024;

/// The separation between two texts, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Break {
    None,
    Space,
    Block,
    Cell,
    Row,
}

/// The text of a page by lines and cells, and its links.
pub(super) struct Page {
    reading: Reading,
    /// Text of quoted mails. It is read only if there is no other text.
    quoted: Folder,
    hidden: Folder,
    /// The separation between the text so far and the next text.
    pending: Break,
    /// The link element that is open.
    anchor: Option<Anchor>,
    /// It has a picture.
    has_picture: bool,
    /// It has a text or a picture that is not seen.
    has_hidden: bool,
    limit: usize,
}

impl Page {
    /// An empty page that takes at most `limit` bytes of text.
    pub(super) fn new(limit: usize) -> Self {
        let mut reading = Reading::empty(TextSource::Html);
        reading.folded.reserve(limit.min(4096));
        Self {
            reading,
            quoted: Folder::default(),
            hidden: Folder::default(),
            pending: Break::None,
            anchor: None,
            has_picture: false,
            has_hidden: false,
            limit,
        }
    }

    /// Separates the next text from the text so far.
    pub(super) fn separate(&mut self, separation: Break) {
        self.pending = self.pending.max(separation);
    }

    /// Separates texts as the start and the end of such an element do.
    pub(super) fn separate_by(&mut self, display: Display) {
        self.separate(match display {
            Display::Block => Break::Block,
            Display::Cell => Break::Cell,
            Display::Row => Break::Row,
            Display::Inline | Display::None => Break::None,
        });
    }

    /// Adds text to the visible or to the hidden text.
    pub(super) fn text(&mut self, text: &str, at: usize, look: Look) {
        if look.is_hidden() {
            self.hide(text, at);
            return;
        }
        let emphasised = look.is_large() || look.spaced;
        let start = self.reading.folded.len();
        for piece in pieces(text, at) {
            match piece {
                Piece::Plain { text, at } => self.show(text, at, look),
                Piece::Reference { decoded, at } => {
                    decoded.chars().for_each(|c| self.visible(c, at, look));
                }
            }
        }
        let end = self.reading.folded.len();
        if emphasised {
            add_range(&mut self.reading.emphasis, start..end);
        }
        if look.stressed {
            add_range(&mut self.reading.stressed, start..end);
        }
        if look.marked {
            add_range(&mut self.reading.marked, start..end);
        }
        if look.is_unclear() {
            add_range(&mut self.reading.unclear, start..end);
        }
    }

    /// Adds the value of a form field on a line of its own.
    pub(super) fn value(&mut self, value: &str, at: usize, look: Look) {
        self.separate(Break::Block);
        let start = self.reading.folded.len();
        value.chars().for_each(|c| self.visible(c, at, look));
        if look.is_unclear() {
            add_range(&mut self.reading.unclear, start..self.reading.folded.len());
        }
        self.separate(Break::Block);
    }

    fn hide(&mut self, text: &str, at: usize) {
        self.has_hidden |= !text.trim().is_empty();
        if self.hidden.len() >= MAX_HIDDEN {
            return;
        }
        for piece in pieces(text, at) {
            match piece {
                Piece::Plain { text, at } => self.hidden.push_str(text, at),
                Piece::Reference { decoded, at } => decoded.chars().for_each(|c| {
                    self.hidden
                        .push(if c.is_whitespace() { ' ' } else { c }, at);
                }),
            }
        }
        self.hidden.push(' ', at);
    }

    /// Adds visible text: ASCII words at once, other text character by character.
    fn show(&mut self, text: &str, at: usize, look: Look) {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let at = at + text.len() - rest.len();
            // No more is counted than fits, or a long word is counted at every letter.
            let room = self.limit.saturating_sub(self.reading.folded.len());
            let graphic = rest.bytes().take(room).take_while(u8::is_ascii_graphic);
            let word = graphic.count();
            let length = if word > 0 {
                let word = rest.get(..word).unwrap_or_default();
                self.place(at, look, |folder| folder.push_plain(word, at));
                word.len()
            } else {
                self.visible(c, at, look);
                c.len_utf8()
            };
            rest = rest.get(length..).unwrap_or_default();
        }
    }

    fn visible(&mut self, c: char, at: usize, look: Look) {
        if c == '\n' && look.keeps_lines {
            self.separate(Break::Block);
        } else if c.is_whitespace() {
            self.separate(Break::Space);
        } else if self.reading.folded.len() >= self.limit {
            self.reading.truncated = true;
        } else {
            self.place(at, look, |folder| folder.push(c, at));
        }
    }

    /// Adds text to the page or to the quoted text, after the pending separation.
    fn place(&mut self, at: usize, look: Look, push: impl FnOnce(&mut Folder)) {
        let folder = if look.quoted {
            &mut self.quoted
        } else {
            &mut self.reading.folded
        };
        if folder.len() > 0 {
            match self.pending {
                Break::None => {}
                Break::Space => folder.push_space(at),
                Break::Block | Break::Row => folder.newline(),
                Break::Cell => folder.tab(),
            }
        }
        self.pending = Break::None;
        let before = folder.len();
        push(folder);
        if let Some(anchor) = self.anchor.as_mut().filter(|_| !look.quoted) {
            if anchor.span.is_empty() {
                anchor.span.start = before;
            }
            anchor.span.end = folder.len();
        }
    }

    /// Opens a link. The text from here on belongs to it.
    pub(super) fn open_anchor(&mut self, href: &str, alternative: String, look: Look) {
        self.close_anchor();
        (self.has_picture, self.has_hidden) = (false, false);
        let at = self.reading.folded.len();
        self.anchor = Some(Anchor {
            href: href.trim().to_owned(),
            span: at..at,
            alternative,
            is_unclear: look.is_unclear(),
        });
    }

    /// Notes that the open link has a picture.
    pub(super) fn note_picture(&mut self, is_seen: bool) {
        self.has_picture |= is_seen;
        self.has_hidden |= !is_seen;
    }

    /// Adds the alternative text of a picture to the open link.
    pub(super) fn picture(&mut self, alternative: &str) {
        if let Some(anchor) = self.anchor.as_mut() {
            anchor.alternative.push_str(alternative);
            anchor.alternative.push(' ');
        }
    }

    pub(super) fn close_anchor(&mut self) {
        let Some(mut anchor) = self.anchor.take() else {
            return;
        };
        // It may still have a background.
        anchor.is_unclear |= anchor.span.is_empty() && self.has_hidden && !self.has_picture;
        if self.reading.anchors.len() < MAX_ANCHORS {
            self.reading.anchors.push(anchor);
        } else {
            self.reading.truncated = true;
        }
    }

    /// The finished reading. `cut` says that not all of the HTML was read.
    pub(super) fn finish(mut self, cut: bool) -> Reading {
        self.close_anchor();
        self.reading.truncated |= cut;
        self.reading.hidden = self.hidden.into_text();
        if self.reading.is_blank() && self.quoted.len() > 0 {
            self.reading.folded = self.quoted;
        }
        self.reading
    }
}

/// Adds a range behind the others; adjacent ranges become one.
fn add_range(ranges: &mut Vec<Range<usize>>, range: Range<usize>) {
    if range.is_empty() {
        return;
    }
    match ranges.last_mut().filter(|last| last.end == range.start) {
        Some(last) => last.end = range.end,
        None => ranges.push(range),
    }
}
