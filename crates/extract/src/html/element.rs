//! An open element and the look of its text.

mod applied;
mod defaults;
mod look;

use std::borrow::Cow;
use std::ops::Range;

use super::attribute::{Attributes, lowered};
use super::color::Color;
use super::declaration::Declarations;
use super::length::Size;
use super::property::{Display, Property};
use super::selector::Node;
use super::sheet::{MAX_CLASSES, Match, Sheet};
use super::token::Tag;
use crate::steps::Steps;

use applied::Applied;
use defaults::{default_display, heading_scale, is_code_name, is_never_shown, is_stressed};
use look::Ground;

pub(super) use look::Look;

/// An open element.
#[derive(Debug)]
pub(super) struct Element<'a> {
    /// In lower case.
    pub(super) tag: Cow<'a, str>,
    id: Cow<'a, str>,
    class: Cow<'a, str>,
    /// The range of each class, each class once.
    classes: Vec<Range<usize>>,
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

    fn classes(&self) -> impl Iterator<Item = &str> {
        self.classes
            .iter()
            .filter_map(|range| self.class.get(range.clone()))
    }

    fn attribute_count(&self) -> usize {
        self.attributes.len()
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
    pub(super) fn open(
        tag: Tag<'a>,
        sheet: &Sheet,
        open: &[Element<'a>],
        steps: &Steps<'_>,
    ) -> Self {
        let attributes: Vec<_> = Attributes::new(tag.attributes).take(64).collect();
        let named = |wanted: &str| {
            attributes
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(wanted))
                .map(|(_, value)| value.clone())
        };
        let (id, class) = (
            named("id").unwrap_or_default(),
            named("class").unwrap_or_default(),
        );
        let mut element = Self {
            display: default_display(&tag.name),
            tag: tag.name,
            classes: classes(&class),
            id,
            class,
            attributes,
            look: open.last().map_or(Look::PLAIN, |parent| parent.look),
        };
        let matched = sheet.matching(&element, open, steps);
        let style = element.attribute("style").map(|style| sheet.style(style));
        let none = Declarations::default();
        let inline = style.as_deref().unwrap_or(&none);
        let count = matched.iter().map(|one| one.declarations.len());
        steps.charge(4 * (count.sum::<usize>() + inline.len()));
        element.apply(&matched, inline);
        element.look.folded = element.is_folded(open);
        element
    }

    /// Applies the certain rules. Rules that may apply as well make the look unclear if
    /// they would change whether the element is hidden.
    fn apply(&mut self, matched: &[Match<'_>], inline: &Declarations) {
        let inherited = self.look;
        let display = self.display;
        let certain: Vec<_> = matched
            .iter()
            .filter(|one| one.is_certain)
            .map(|one| one.declarations)
            .collect();
        // This element turns digits around.
        let mut unclear = self.tag == "bdo";
        if certain.len() < matched.len() {
            let all: Vec<_> = matched.iter().map(|one| one.declarations).collect();
            self.cascade(&all, inline);
            let other = self.look;
            (self.look, self.display) = (inherited, display);
            self.cascade(&certain, inline);
            unclear |= other.is_hidden() != self.look.is_hidden();
            unclear |= other.is_unclear() && !self.look.is_unclear();
        } else {
            self.cascade(&certain, inline);
        }
        self.look.unclear |= unclear;
        self.look.quoted |= self.is_quotation();
        self.look.marked |= is_code_name(&self.class) || is_code_name(&self.id);
    }

    /// Applies the cascade: rules, then the element's own style, then what is marked
    /// as important.
    fn cascade(&mut self, declared: &[&Declarations], inline: &Declarations) {
        let parent = self.look;
        self.look.font = parent.font * heading_scale(&self.tag);
        self.apply_attributes();
        let mut style = Applied::default();
        let normal = declared.iter().flat_map(|one| &one.normal);
        let important = declared.iter().flat_map(|one| &one.important);
        let cascade = normal
            .chain(&inline.normal)
            .chain(important)
            .chain(&inline.important);
        for property in cascade {
            match *property {
                Property::Display(display) => self.display = display,
                Property::Visible(visible) => self.look.visible = visible,
                Property::FontSize(Size::Pixels(size)) => self.look.font = size,
                Property::FontSize(Size::Relative(scale)) => self.look.font = parent.font * scale,
                Property::Color(color) => self.look.color = Some(color),
                Property::Background(ground) => {
                    self.look.ground = ground.map_or(Ground::Unknown, Ground::Known);
                }
                Property::Spaced(spaced) => self.look.spaced = spaced,
                Property::Stressed(stressed) => self.look.stressed = stressed,
                Property::KeepsLines(keeps) => self.look.keeps_lines = keeps,
                Property::Opacity(opacity) => style.opacity = opacity,
                Property::Gone(means, is) => style.set(means, is),
                Property::Unclear(doubt, is) => style.doubt(doubt, is),
                Property::Clips(clips) => style.clips = clips,
                Property::OutOfFlow(out) => style.out_of_flow = out,
            }
        }
        self.look.opacity = parent.opacity * style.opacity.clamp(0.0, 1.0);
        self.look.unclear |= !style.doubts.is_empty();
        self.look.gone |= self.display == Display::None || style.is_gone();
    }

    fn apply_attributes(&mut self) {
        let ground = self
            .attribute("bgcolor")
            .and_then(|color| Color::of_attribute(&lowered(color)));
        if let Some(ground) = ground {
            self.look.ground = Ground::Known(ground);
        } else if self.look.ground == Ground::Undeclared && self.attribute("background").is_some() {
            self.look.ground = Ground::Unknown;
        }
        let color = match self.tag.as_ref() {
            "font" => Some("color"),
            "body" => Some("text"),
            _ => None,
        };
        if let Some(name) = color {
            let color = self
                .attribute(name)
                .and_then(|color| Color::of_attribute(&lowered(color)));
            self.look.color = color.or(self.look.color);
        }
        self.look.stressed |= is_stressed(&self.tag);
        self.look.keeps_lines |= self.tag == "pre";
        self.look.gone |= self.attribute("hidden").is_some() || is_never_shown(&self.tag);
    }

    /// Whether the content is shown only after a click. Of closed details, the summary
    /// is shown.
    fn is_folded(&self, open: &[Self]) -> bool {
        let around = |depth: usize| open.iter().nth_back(depth);
        let inherited = |depth| around(depth).is_some_and(|element| element.look.folded);
        match self.tag.as_ref() {
            "details" | "dialog" if self.attribute("open").is_none() => true,
            "summary" if around(0).is_some_and(|parent| parent.tag == "details") => inherited(1),
            // Only the first option is shown.
            "select" => true,
            _ => inherited(0) || self.attribute("popover").is_some(),
        }
    }

    fn is_quotation(&self) -> bool {
        let cited = self.tag == "blockquote" && self.attribute("type") == Some("cite");
        let quotes = [
            "gmail_quote",
            "gmail_quote_container",
            "yahoo_quoted",
            "moz-cite-prefix",
            "protonmail_quote",
        ];
        cited || self.classes().any(|class| quotes.contains(&class)) || self.id == "divRplyFwdMsg"
    }
}

/// The ranges of the classes, each class once.
fn classes(class: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for name in class.split_ascii_whitespace().take(MAX_CLASSES) {
        let start = name.as_ptr().addr() - class.as_ptr().addr();
        let is_known = found
            .iter()
            .any(|known| class.get(known.clone()) == Some(name));
        if !is_known {
            found.push(start..start + name.len());
        }
    }
    found
}
