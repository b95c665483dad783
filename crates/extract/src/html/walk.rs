//! One walk over the tokens, keeping what a reader sees.

use memchr::memrchr_iter;

use super::declaration::Display;
use super::element::{Element, Look};
use super::entity::{Piece, pieces};
use super::implied;
use super::selector::Node;
use super::sheet::Sheet;
use super::token::{Tag, Token, Tokens};
use crate::fold::Folder;
use crate::reading::{Anchor, Reading, Source};

/// Deeper nesting changes nothing any more; keeps every step constant.
const MAX_DEPTH: usize = 256;
const MAX_ANCHORS: usize = 2_000;
const MAX_HIDDEN: usize = 64 * 1024;

/// What separates two texts, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Break {
    None,
    Space,
    Block,
    Cell,
    Row,
}

struct Walk<'a> {
    reading: Reading,
    quoted: Folder,
    hidden: Folder,
    sheet: Sheet,
    open: Vec<Element<'a>>,
    /// Elements opened beyond the depth limit.
    overflow: usize,
    pending: Break,
    anchor: Option<Anchor>,
    limit: usize,
}

/// Reads an HTML body: at most `input` bytes of it, at most `limit` of text.
pub(crate) fn read(html: &str, input: usize, limit: usize) -> Reading {
    let cut = html
        .get(..html.floor_char_boundary(input))
        .unwrap_or_default();
    let mut walk = Walk {
        reading: Reading::empty(Source::Html),
        quoted: Folder::default(),
        hidden: Folder::default(),
        sheet: sheet_of(cut),
        open: Vec::new(),
        overflow: 0,
        pending: Break::None,
        anchor: None,
        limit,
    };
    for token in Tokens::new(cut) {
        match token {
            Token::Text { text, at } => walk.text(text, at),
            Token::Start(tag) => walk.start(tag),
            Token::End(name) => walk.end(&name),
        }
    }
    walk.finish(cut.len() < html.len())
}

/// Rules apply to elements that stand before them, so they are read first, as
/// far as there are any.
fn sheet_of(html: &str) -> Sheet {
    let mut sheet = Sheet::default();
    let is_style = |at: &usize| {
        let name = html.as_bytes().get(at + 1..at + 6);
        name.is_some_and(|name| name.eq_ignore_ascii_case(b"style"))
    };
    let Some(last) = memrchr_iter(b'<', html.as_bytes()).find(is_style) else {
        return sheet;
    };
    let mut tokens = Tokens::new(html);
    while tokens.place() <= last
        && let Some(token) = tokens.next()
    {
        if let Token::Start(tag) = token
            && tag.name == "style"
        {
            sheet.add(tag.raw);
        }
    }
    sheet
}

impl<'a> Walk<'a> {
    fn look(&self) -> Look {
        self.open.last().map_or(Look::PLAIN, |element| element.look)
    }

    fn text(&mut self, text: &str, at: usize) {
        let look = self.look();
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
        if emphasised && end > start {
            self.reading.emphasis.push(start..end);
        }
        if look.marked && end > start {
            self.reading.marked.push(start..end);
        }
    }

    fn hide(&mut self, text: &str, at: usize) {
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

    /// Shows text word by word; whatever is no plain word, letter by letter.
    fn show(&mut self, text: &str, at: usize, look: Look) {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let at = at + text.len() - rest.len();
            let word = rest.bytes().take_while(u8::is_ascii_graphic).count();
            let length = if word > 0 && self.reading.folded.len() + word < self.limit {
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
            self.pending = self.pending.max(Break::Block);
        } else if c.is_whitespace() {
            self.pending = self.pending.max(Break::Space);
        } else if self.reading.folded.len() >= self.limit {
            self.reading.truncated = true;
        } else {
            self.place(at, look, |folder| folder.push(c, at));
        }
    }

    /// Puts something where it is read, behind whatever separates it.
    fn place(&mut self, at: usize, look: Look, push: impl FnOnce(&mut Folder)) {
        let folder = if look.quoted {
            &mut self.quoted
        } else {
            &mut self.reading.folded
        };
        if folder.len() > 0 {
            match self.pending {
                Break::None => {}
                Break::Space => folder.push(' ', at),
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

    fn start(&mut self, tag: Tag<'a>) {
        self.close_implied(&tag.name);
        let (raw, at) = (tag.raw, tag.at);
        let element = Element::open(tag, &self.sheet, &self.open);
        self.separate(element.display);
        if element.tag == "br" {
            self.pending = self.pending.max(Break::Block);
        }
        if !element.look.is_hidden() {
            self.take(&element, raw, at);
        }
        if implied::is_childless(&element.tag) {
            return;
        }
        if self.open.len() < MAX_DEPTH {
            self.open.push(element);
        } else {
            self.overflow += 1;
        }
    }

    /// What an element itself shows or offers.
    fn take(&mut self, element: &Element<'a>, raw: &str, at: usize) {
        match element.tag.as_ref() {
            "a" | "area" | "form" => self.open_anchor(element),
            "img" => {
                if let (Some(anchor), Some(alt)) = (self.anchor.as_mut(), element.attribute("alt"))
                {
                    anchor.alternative.push_str(alt);
                    anchor.alternative.push(' ');
                }
            }
            "input" | "textarea" => self.field(element, raw, at),
            "button" => self.pending = self.pending.max(Break::Space),
            _ => {}
        }
    }

    fn open_anchor(&mut self, element: &Element<'a>) {
        let form = element.tag == "form";
        let Some(href) = element.attribute(if form { "action" } else { "href" }) else {
            return;
        };
        self.close_anchor();
        let at = self.reading.folded.len();
        let named = [
            element.attribute("title"),
            element.attribute("aria-label"),
            element.attribute("alt"),
        ];
        let alternative = named
            .into_iter()
            .flatten()
            .flat_map(|name| [name, " "])
            .collect();
        self.anchor = Some(Anchor {
            href: href.trim().to_owned(),
            span: at..at,
            alternative,
            form,
        });
        if element.tag == "area" {
            self.close_anchor();
        }
    }

    fn close_anchor(&mut self) {
        if let Some(anchor) = self.anchor.take()
            && self.reading.anchors.len() < MAX_ANCHORS
        {
            self.reading.anchors.push(anchor);
        }
    }

    /// A text field shows its value; a submit button is the label of its form.
    fn field(&mut self, element: &Element<'a>, raw: &str, at: usize) {
        let kind = element
            .attribute("type")
            .unwrap_or("text")
            .to_ascii_lowercase();
        let value = element.attribute("value").unwrap_or(raw);
        if matches!(
            kind.as_str(),
            "text" | "tel" | "number" | "submit" | "button" | ""
        ) {
            self.pending = self.pending.max(Break::Block);
            value
                .chars()
                .for_each(|c| self.visible(c, at, element.look));
            self.pending = self.pending.max(Break::Block);
        }
    }

    fn separate(&mut self, display: Display) {
        let separation = match display {
            Display::Block => Break::Block,
            Display::Cell => Break::Cell,
            Display::Row => Break::Row,
            Display::Inline | Display::None => return,
        };
        self.pending = self.pending.max(separation);
    }

    fn end(&mut self, name: &str) {
        if matches!(name, "a" | "form") {
            self.close_anchor();
        }
        if name == "p" {
            self.pending = self.pending.max(Break::Block);
        }
        if self.overflow > 0 {
            self.overflow -= 1;
            return;
        }
        if let Some(at) = self.open.iter().rposition(|element| element.tag == name) {
            self.close_to(at);
        }
    }

    fn close_to(&mut self, depth: usize) {
        while self.open.len() > depth {
            if let Some(element) = self.open.pop() {
                self.separate(element.display);
            }
        }
    }

    fn close_implied(&mut self, name: &str) {
        if let Some(depth) = implied::closed_by(name, &self.open) {
            self.close_to(depth);
        }
    }

    fn finish(mut self, cut: bool) -> Reading {
        self.close_anchor();
        self.reading.truncated |= cut || self.sheet.is_exhausted();
        self.reading.hidden = self.hidden.text().to_owned();
        if self.reading.is_blank() && self.quoted.len() > 0 {
            self.reading.folded = self.quoted;
        }
        self.reading
    }
}
