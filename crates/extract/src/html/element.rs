//! An open element and the look of its text.

use std::borrow::Cow;

use super::attribute::{Attributes, lowered};
use super::color::Color;
use super::declaration::{Declarations, Display, Means, Property, Size};
use super::selector::Node;
use super::sheet::Sheet;
use super::token::Tag;

/// Text smaller than this, in pixels, counts as hidden.
const UNREADABLE: f32 = 2.0;
const BODY_FONT: f32 = 16.0;

/// The look of text. Child elements inherit it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one property of a style"
)]
pub(super) struct Look {
    /// The element and everything in it is hidden.
    gone: bool,
    visible: bool,
    /// Judged at each text, not at the element: wrappers set it to zero and their
    /// children set it again.
    font: f32,
    color: Option<Color>,
    ground: Option<Color>,
    pub(super) spaced: bool,
    pub(super) keeps_lines: bool,
    /// Part of a quoted mail.
    pub(super) quoted: bool,
    /// The class or id of the element says "code".
    pub(super) marked: bool,
}

impl Look {
    pub(super) const PLAIN: Self = Self {
        gone: false,
        visible: true,
        font: BODY_FONT,
        color: None,
        ground: None,
        spaced: false,
        keeps_lines: false,
        quoted: false,
        marked: false,
    };

    pub(super) fn is_hidden(&self) -> bool {
        let blends = match (self.color, self.ground) {
            (Some(Color::Transparent), _) => true,
            (Some(color), Some(ground)) => color.is_like(ground),
            _ => false,
        };
        self.gone || !self.visible || self.font < UNREADABLE || blends
    }

    pub(super) fn is_large(&self) -> bool {
        self.font >= BODY_FONT * 1.2 && self.font.is_finite()
    }
}

/// An open element.
#[derive(Debug)]
pub(super) struct Element<'a> {
    /// In lower case.
    pub(super) tag: Cow<'a, str>,
    id: Cow<'a, str>,
    classes: Cow<'a, str>,
    attributes: Vec<(&'a str, Cow<'a, str>)>,
    pub(super) look: Look,
    pub(super) display: Display,
}

impl Node for Element<'_> {
    fn tag(&self) -> &str {
        &self.tag
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn has_class(&self, class: &str) -> bool {
        self.classes
            .split_ascii_whitespace()
            .take(32)
            .any(|own| own == class)
    }

    fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|(own, _)| own.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_ref())
    }
}

impl<'a> Element<'a> {
    /// Opens an element inside the elements `open` and computes its look.
    pub(super) fn open(tag: Tag<'a>, sheet: &Sheet, open: &[Element<'a>]) -> Self {
        let attributes: Vec<_> = Attributes::new(tag.attributes).take(64).collect();
        let named = |wanted: &str| {
            attributes
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(wanted))
                .map(|(_, value)| value.clone())
        };
        let (id, classes) = (
            named("id").unwrap_or_default(),
            named("class").unwrap_or_default(),
        );
        let mut element = Self {
            display: default_display(&tag.name),
            tag: tag.name,
            id,
            classes,
            attributes,
            look: open.last().map_or(Look::PLAIN, |parent| parent.look),
        };
        let declared = sheet.matching(&element, &element.classes, open);
        let inline = Declarations::parse(element.attribute("style").unwrap_or_default());
        element.apply(&declared, &inline);
        element
    }

    /// Applies the cascade: rules, then the element's own style, then what is marked
    /// as important.
    fn apply(&mut self, declared: &[&Declarations], inline: &Declarations) {
        let parent = self.look.font;
        self.look.font = parent * heading_scale(&self.tag);
        self.apply_attributes();
        let mut style = Applied::default();
        let cascade = declared
            .iter()
            .flat_map(|declarations| &declarations.normal)
            .chain(&inline.normal)
            .chain(
                declared
                    .iter()
                    .flat_map(|declarations| &declarations.important),
            )
            .chain(&inline.important);
        for property in cascade {
            match *property {
                Property::Display(display) => self.display = display,
                Property::Visible(visible) => self.look.visible = visible,
                Property::FontSize(Size::Pixels(size)) => self.look.font = size,
                Property::FontSize(Size::Relative(scale)) => self.look.font = parent * scale,
                Property::Color(color) => self.look.color = Some(color),
                Property::Background(ground) => self.look.ground = ground,
                Property::Spaced(spaced) => self.look.spaced = spaced,
                Property::KeepsLines(keeps) => self.look.keeps_lines = keeps,
                Property::Gone(means, is) => style.set(means, is),
                Property::Clips(clips) => style.clips = clips,
                Property::OutOfFlow(out) => style.out_of_flow = out,
            }
        }
        self.look.gone |= self.display == Display::None || style.is_gone();
        self.look.quoted |= self.is_quotation();
        self.look.marked |= is_code_name(&self.classes) || is_code_name(&self.id);
    }

    fn apply_attributes(&mut self) {
        let ground = self
            .attribute("bgcolor")
            .and_then(|color| Color::parse(&lowered(color)));
        self.look.ground = ground.or(self.look.ground);
        if self.tag == "font" {
            let color = self
                .attribute("color")
                .and_then(|color| Color::parse(&lowered(color)));
            self.look.color = color.or(self.look.color);
        }
        self.look.keeps_lines |= self.tag == "pre";
        self.look.gone |= self.attribute("hidden").is_some() || is_never_shown(&self.tag);
    }

    fn is_quotation(&self) -> bool {
        let cited = self.tag == "blockquote" && self.attribute("type") == Some("cite");
        let class = [
            "gmail_quote",
            "gmail_quote_container",
            "yahoo_quoted",
            "moz-cite-prefix",
            "protonmail_quote",
        ];
        cited || class.iter().any(|class| self.has_class(class)) || self.id == "divRplyFwdMsg"
    }
}

/// Properties that hide an element only in combination.
#[derive(Default)]
struct Applied {
    means: Vec<Means>,
    clips: bool,
    out_of_flow: bool,
}

impl Applied {
    fn set(&mut self, means: Means, is: bool) {
        self.means.retain(|other| *other != means);
        if is {
            self.means.push(means);
        }
    }

    fn is_gone(&self) -> bool {
        self.means.iter().any(|means| match means {
            Means::Height | Means::Width => self.clips,
            Means::Offset | Means::Clip => self.out_of_flow,
            Means::Opacity | Means::MaxHeight | Means::Indent | Means::Scale => true,
        })
    }
}

fn heading_scale(tag: &str) -> f32 {
    match tag {
        "h1" => 2.0,
        "h2" => 1.5,
        "h3" | "big" => 1.17,
        _ => 1.0,
    }
}

/// `otp-code`, `verification_code`, `code`; not `qr-code` or `promo-code`.
fn is_code_name(name: &str) -> bool {
    let words = || name.split(|c: char| !c.is_ascii_alphanumeric());
    let is =
        |word: &str, names: &[&str]| names.iter().any(|other| word.eq_ignore_ascii_case(other));
    words().any(|word| {
        is(
            word,
            &[
                "otp",
                "code",
                "passcode",
                "verificationcode",
                "otpcode",
                "authcode",
            ],
        )
    }) && !words().any(|word| {
        is(
            word,
            &[
                "promo", "qr", "zip", "bar", "post", "discount", "coupon", "order", "source",
                "block", "snippet",
            ],
        )
    })
}

fn is_never_shown(tag: &str) -> bool {
    matches!(
        tag,
        "head"
            | "script"
            | "style"
            | "title"
            | "template"
            | "noembed"
            | "noframes"
            | "iframe"
            | "svg"
            | "object"
            | "datalist"
            | "audio"
            | "video"
            | "canvas"
    )
}

fn default_display(tag: &str) -> Display {
    match tag {
        "td" | "th" => Display::Cell,
        "tr" => Display::Row,
        "p" | "div" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "li" | "ul" | "ol" | "dl"
        | "dt" | "dd" | "table" | "tbody" | "thead" | "tfoot" | "caption" | "pre"
        | "blockquote" | "section" | "article" | "header" | "footer" | "main" | "nav" | "aside"
        | "address" | "center" | "form" | "fieldset" | "figure" | "figcaption" | "hr" | "body"
        | "html" | "details" | "summary" | "option" => Display::Block,
        _ => Display::Inline,
    }
}
