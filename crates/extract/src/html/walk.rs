//! Walks over the tokens of a page and collects what is visible.

use std::borrow::Cow;

use memchr::memrchr_iter;

use super::attribute::lowered;
use super::element::{Element, Look};
use super::implied::{self, OpenElements};
use super::page::{Break, Page};
use super::selector::Node;
use super::sheet::Sheet;
use super::token::{Tag, Token, Tokens};
use crate::reading::Reading;
use crate::steps::{PER_FOREIGN_BYTE, Steps, foreign_bytes};

/// Elements nested deeper inherit the look of the element at this depth.
const MAX_DEPTH: usize = 256;
/// The elements around every page: `html` and `body`.
const IMPLIED: usize = 2;
/// Steps charged for a tag and for a piece of text, besides their bytes. A `<` that begins no
/// tag is a piece of text.
const PER_TAG: usize = 520;
const PER_TEXT: usize = 100;
/// Steps charged for a byte of a tag, and for a byte of text.
const PER_TAG_BYTE: usize = 6;
const PER_TEXT_BYTE: usize = 8;

struct Walk<'a, 's> {
    page: Page,
    sheet: Sheet,
    open: OpenElements<'a>,
    /// Elements that are open beyond the depth limit.
    overflow: usize,
    steps: &'s Steps<'s>,
}

/// Reads at most `input` bytes of an HTML body, and takes at most `limit` bytes of text
/// from it.
pub(crate) fn read(html: &str, (input, limit): (usize, usize), steps: &Steps<'_>) -> Reading {
    let cut = html
        .get(..html.floor_char_boundary(input))
        .unwrap_or_default();
    let mut walk = Walk {
        page: Page::new(limit),
        sheet: sheet_of(cut, steps),
        open: OpenElements::default(),
        overflow: 0,
        steps,
    };
    walk.open_implied("html");
    walk.open_implied("body");
    let mut tokens = Tokens::new(cut);
    let mut at = 0;
    while let Some(token) = tokens.next() {
        // Skipped comments count as bytes of the next token.
        let length = tokens.place() - at;
        at = tokens.place();
        let cost = match token {
            Token::Text { text, .. } => {
                PER_TEXT + PER_TEXT_BYTE * length + PER_FOREIGN_BYTE * foreign_bytes(text)
            }
            Token::Start(_) | Token::End(_) => PER_TAG + PER_TAG_BYTE * length,
        };
        if !steps.charge(cost) {
            break;
        }
        match token {
            Token::Text { text, at } => walk.page.text(text, at, walk.look()),
            Token::Start(tag) => walk.start(tag),
            Token::End(name) => walk.end(&name),
        }
    }
    let is_cut = cut.len() < html.len() || walk.sheet.is_cut();
    walk.page.finish(is_cut)
}

/// Reads the style rules first, because they also apply to elements before them.
fn sheet_of(html: &str, steps: &Steps<'_>) -> Sheet {
    let mut sheet = Sheet::default();
    let is_style = |at: &usize| {
        let name = html.as_bytes().get(at + 1..at + 6);
        name.is_some_and(|name| name.eq_ignore_ascii_case(b"style"))
    };
    let Some(last) = memrchr_iter(b'<', html.as_bytes()).find(is_style) else {
        return sheet;
    };
    let mut tokens = Tokens::new(html);
    let mut at = 0;
    while tokens.place() <= last
        && let Some(token) = tokens.next()
    {
        if !steps.charge(20 + 2 * (tokens.place() - at)) {
            break;
        }
        at = tokens.place();
        if let Token::Start(tag) = token
            && tag.name == "style"
        {
            sheet.add(tag.raw, steps);
        }
    }
    sheet
}

impl<'a> Walk<'a, '_> {
    fn look(&self) -> Look {
        self.open.last().map_or(Look::PLAIN, |element| element.look)
    }

    /// Opens an element that a page has without its tag.
    fn open_implied(&mut self, name: &'static str) {
        let tag = Tag {
            name: Cow::Borrowed(name),
            attributes: "",
            raw: "",
            at: 0,
        };
        let element = Element::open(tag, &self.sheet, self.open.all(), self.steps);
        self.open.push(element);
    }

    /// Takes the implied elements away before the tag that stands for one of them.
    fn close_implied(&mut self, name: &str) {
        match name {
            "html" if self.open.len() == IMPLIED => self.close_to(0),
            "body" if self.open.len() == IMPLIED => self.close_to(IMPLIED - 1),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'a>) {
        if let Some(depth) = self.open.closed_by(&tag.name) {
            self.close_to(depth);
        }
        self.close_implied(&tag.name);
        let is_html = tag.name == "html";
        let (raw, at) = (tag.raw, tag.at);
        let element = Element::open(tag, &self.sheet, self.open.all(), self.steps);
        self.page.separate_by(element.display);
        if element.tag == "br" {
            self.page.separate(Break::Block);
        }
        let is_hidden = element.look.is_hidden();
        if element.tag == "img" {
            self.page.note_picture(!is_hidden && !is_dot(&element));
        }
        if !is_hidden || element.tag == "link" {
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
        if is_html && self.open.len() < IMPLIED {
            self.open_implied("body");
        }
    }

    /// Adds what an element itself shows: a link, a picture, a form field.
    fn take(&mut self, element: &Element<'a>, raw: &str, at: usize) {
        match element.tag.as_ref() {
            "a" | "area" => self.open_anchor(element),
            "img" => self
                .page
                .picture(element.attribute("alt").unwrap_or_default()),
            "input" | "textarea" => self.field(element, raw, at),
            "button" => self.page.separate(Break::Space),
            "link" if is_inline_sheet(element) => self.sheet.cut(),
            _ => {}
        }
    }

    fn open_anchor(&mut self, element: &Element<'a>) {
        let Some(href) = element.attribute("href") else {
            return;
        };
        let alternative = ["title", "aria-label", "alt"]
            .into_iter()
            .filter_map(|name| element.attribute(name))
            .flat_map(|name| [name, " "])
            .collect();
        self.page.open_anchor(href, alternative, element.look);
        if element.tag == "area" {
            // It is a part of a picture.
            self.page.note_picture(true);
            self.page.close_anchor();
        }
    }

    /// A text field shows its value. A submit button shows the label of its form.
    fn field(&mut self, element: &Element<'a>, raw: &str, at: usize) {
        let kind = lowered(element.attribute("type").unwrap_or("text"));
        let value = element.attribute("value").unwrap_or(raw);
        if matches!(
            kind.as_ref(),
            "text" | "tel" | "number" | "submit" | "button" | ""
        ) {
            self.page.value(value, at, element.look);
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "a" => self.page.close_anchor(),
            "p" => self.page.separate(Break::Block),
            "button" => self.page.separate(Break::Space),
            // What follows belongs to the body all the same.
            "body" | "html" => return self.page.separate(Break::Block),
            _ => {}
        }
        if self.overflow > 0 {
            self.overflow -= 1;
            return;
        }
        self.steps.charge(self.open.len() / 4);
        if let Some(depth) = self.open.innermost(name) {
            self.close_to(depth);
        }
    }

    fn close_to(&mut self, depth: usize) {
        while self.open.len() > depth {
            if let Some(element) = self.open.pop() {
                self.page.separate_by(element.display);
            }
        }
    }
}

/// Whether a picture is too small to be seen, as those are that count readers.
fn is_dot(picture: &Element<'_>) -> bool {
    let is_dot = |name: &str| {
        let size = picture.attribute(name).map(str::trim);
        matches!(size, Some("0" | "0px" | "1" | "1px"))
    };
    is_dot("width") || is_dot("height")
}

/// Whether a link is a style sheet that the mail brings along.
fn is_inline_sheet(link: &Element<'_>) -> bool {
    let address = link.attribute("href").unwrap_or_default().trim_start();
    address
        .get(..5)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"))
}
