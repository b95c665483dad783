//! The style properties that decide whether text is visible.

use memchr::memchr;

use super::attribute::lowered;
use super::color::Color;

/// A property that matters here.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Property {
    Display(Display),
    Visible(bool),
    /// Hidden by size or position.
    Gone(Means, bool),
    /// From 0 to 1.
    Opacity(f32),
    /// May hide in a way that cannot be computed here.
    Unclear(Doubt, bool),
    /// Content that does not fit is cut off.
    Clips(bool),
    FontSize(Size),
    Color(Color),
    Background(Option<Color>),
    /// Letters are spaced apart, as in many codes.
    Spaced(bool),
    /// Line breaks in the source are shown as line breaks.
    KeepsLines(bool),
    OutOfFlow(bool),
}

/// A way to hide an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Means {
    MaxHeight,
    /// Hides only together with clipping.
    Height,
    /// Hides only together with clipping.
    Width,
    Indent,
    Margin,
    /// Hides only together with a position.
    Offset,
    /// Hides only together with a position.
    Clip,
    Scale,
}

/// A property that may hide an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doubt {
    Transform,
    ClipPath,
    Filter,
    Mask,
    Zoom,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Display {
    None,
    Inline,
    Block,
    Cell,
    Row,
}

/// A font size in pixels, or relative to the parent's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Size {
    Pixels(f32),
    Relative(f32),
}

/// Properties in source order, with those marked important apart.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Declarations {
    pub(super) normal: Vec<Property>,
    pub(super) important: Vec<Property>,
}

impl Declarations {
    pub(super) fn parse(text: &str) -> Self {
        let mut declarations = Self::default();
        let mut rest = Some(text);
        while let Some(text) = rest {
            let (declaration, after) = halves(text, b';');
            rest = after;
            let (name, Some(value)) = halves(declaration, b':') else {
                continue;
            };
            let value = lowered(value.trim());
            let (value, important) = match value.rsplit_once('!') {
                Some((value, mark)) if mark.trim() == "important" => (value.trim(), true),
                _ => (value.as_ref(), false),
            };
            let list = if important {
                &mut declarations.important
            } else {
                &mut declarations.normal
            };
            if let Some(property) = property(&lowered(name.trim()), value) {
                set(list, property);
            }
        }
        declarations
    }

    /// How many properties there are.
    pub(super) fn len(&self) -> usize {
        self.normal.len() + self.important.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Adds a property. An earlier one of the same kind has no effect any more, so the list
/// stays short however long the style is.
fn set(list: &mut Vec<Property>, property: Property) {
    let is_same = |other: &&mut Property| match (&**other, &property) {
        (Property::Gone(one, _), Property::Gone(other, _)) => one == other,
        (Property::Unclear(one, _), Property::Unclear(other, _)) => one == other,
        (one, other) => std::mem::discriminant(one) == std::mem::discriminant(other),
    };
    match list.iter_mut().find(is_same) {
        Some(earlier) => *earlier = property,
        None => list.push(property),
    }
}

/// Splits at the first separator. This search is most of the cost of parsing
/// declarations, which are many and short.
fn halves(text: &str, sign: u8) -> (&str, Option<&str>) {
    match memchr(sign, text.as_bytes()) {
        Some(at) => (text.get(..at).unwrap_or_default(), text.get(at + 1..)),
        None => (text, None),
    }
}

/// The meaning of a property; `None` for most, which do not affect visibility.
fn property(name: &str, value: &str) -> Option<Property> {
    let gone = |means, is| Some(Property::Gone(means, is));
    let unclear = |doubt, is| Some(Property::Unclear(doubt, is));
    match name {
        "display" => display(value).map(Property::Display),
        "visibility" | "content-visibility" => {
            Some(Property::Visible(!matches!(value, "hidden" | "collapse")))
        }
        "opacity" | "-moz-opacity" => ratio(value).map(Property::Opacity),
        "max-height" => gone(Means::MaxHeight, is_zero(value)),
        "height" => gone(Means::Height, is_tiny(value)),
        "width" | "max-width" => gone(Means::Width, is_tiny(value)),
        "overflow" | "overflow-x" | "overflow-y" => {
            Some(Property::Clips(matches!(value, "hidden" | "clip")))
        }
        "text-indent" => gone(Means::Indent, pixels(value)?.abs() >= 500.0),
        "margin-left" | "margin-top" => gone(Means::Margin, pixels(value)? <= -500.0),
        "left" | "top" | "right" | "bottom" => gone(Means::Offset, pixels(value)?.abs() >= 900.0),
        "position" => Some(Property::OutOfFlow(!matches!(
            value,
            "static" | "initial" | "inherit" | "unset"
        ))),
        "clip" => gone(
            Means::Clip,
            value.starts_with("rect(0") || value.starts_with("rect(1px"),
        ),
        "transform" | "-webkit-transform" if value.starts_with("scale(0)") => {
            gone(Means::Scale, true)
        }
        "transform" | "-webkit-transform" => unclear(Doubt::Transform, is_unclear_transform(value)),
        "scale" | "zoom" => unclear(Doubt::Zoom, ratio(value)? < 0.5),
        "clip-path" | "-webkit-clip-path" => unclear(Doubt::ClipPath, is_set(value)),
        "mask" | "mask-image" | "-webkit-mask" | "-webkit-mask-image" => {
            unclear(Doubt::Mask, is_set(value))
        }
        "filter" | "-webkit-filter" => {
            let hiding = ["opacity(", "blur(", "brightness(", "contrast("];
            unclear(
                Doubt::Filter,
                hiding.iter().any(|name| value.contains(name)),
            )
        }
        "font-size" => font_size(value).map(Property::FontSize),
        "font" => value
            .split_whitespace()
            .find_map(|word| font_size(word.split('/').next()?))
            .map(Property::FontSize),
        "color" | "-webkit-text-fill-color" => Color::parse(value).map(Property::Color),
        "background-color" => Some(Property::Background(Color::parse(value))),
        // A picture may have any colour, so the background is unknown.
        "background" | "background-image" => Some(Property::Background(
            Some(value)
                .filter(|value| !value.contains("url(") && !value.contains("gradient"))
                .and_then(first_color),
        )),
        "letter-spacing" => Some(Property::Spaced(number(value)? >= 1.0)),
        "white-space" => Some(Property::KeepsLines(value.starts_with("pre"))),
        _ => None,
    }
}

fn first_color(value: &str) -> Option<Color> {
    value.split_whitespace().find_map(Color::parse)
}

fn display(value: &str) -> Option<Display> {
    Some(match value {
        "none" => Display::None,
        "table-cell" => Display::Cell,
        "table-row" => Display::Row,
        "block" | "table" | "flex" | "grid" | "list-item" | "flow-root" => Display::Block,
        _ if value.starts_with("inline") || value == "contents" => Display::Inline,
        _ => return None,
    })
}

fn is_zero(value: &str) -> bool {
    number(value) == Some(0.0)
}

/// Two pixels or less: no letter fits.
fn is_tiny(value: &str) -> bool {
    value != "auto" && !value.ends_with('%') && pixels(value).is_some_and(|size| size <= 2.0)
        || is_zero(value)
}

fn is_set(value: &str) -> bool {
    !matches!(value, "none" | "initial" | "inherit" | "unset" | "")
}

/// Transforms that shrink, distort or move. A rotation hides nothing.
fn is_unclear_transform(value: &str) -> bool {
    [
        "scale",
        "matrix",
        "translate",
        "perspective",
        "rotatex",
        "rotatey",
        "skew",
    ]
    .iter()
    .any(|name| value.contains(name))
}

/// A length in pixels; relative ones are estimated.
fn pixels(value: &str) -> Option<f32> {
    let size = number(value)?;
    let unit =
        value.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+'));
    Some(match unit.trim() {
        "em" | "rem" | "ch" | "ex" => size * 16.0,
        "%" | "vw" | "vh" => size * 10.0,
        "in" => size * 96.0,
        "cm" => size * 38.0,
        _ => size,
    })
}

/// A number or a percentage.
fn ratio(value: &str) -> Option<f32> {
    let scale = if value.ends_with('%') { 100.0 } else { 1.0 };
    Some(number(value)? / scale)
}

/// The number before the unit, if there is one.
fn number(value: &str) -> Option<f32> {
    let end = value
        .find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '-' | '+'))
        .unwrap_or(value.len());
    value.get(..end)?.parse().ok()
}

fn font_size(value: &str) -> Option<Size> {
    let size = match value {
        "smaller" => return Some(Size::Relative(0.83)),
        "larger" => return Some(Size::Relative(1.2)),
        "inherit" => return Some(Size::Relative(1.0)),
        "small" | "x-small" | "xx-small" => return Some(Size::Pixels(12.0)),
        "medium" | "initial" => return Some(Size::Pixels(16.0)),
        "large" | "x-large" | "xx-large" => return Some(Size::Pixels(24.0)),
        _ => number(value)?,
    };
    let unit =
        value.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+'));
    match unit {
        "" if size == 0.0 => Some(Size::Pixels(0.0)),
        "px" => Some(Size::Pixels(size)),
        "pt" => Some(Size::Pixels(size * 4.0 / 3.0)),
        "em" => Some(Size::Relative(size)),
        "%" => Some(Size::Relative(size / 100.0)),
        "rem" | "vw" | "vh" => Some(Size::Pixels(size * 16.0)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_properties_about_visibility_are_kept() {
        let style = Declarations::parse(
            "DISPLAY : none !important; color:#FFF; mso-hide:all; margin:0; opacity:.0",
        );
        assert_eq!(style.important, [Property::Display(Display::None)]);
        assert_eq!(
            style.normal,
            [
                Property::Color(Color::Rgb(255, 255, 255)),
                Property::Opacity(0.0)
            ]
        );
        assert!(Declarations::parse("mso-hide:all;padding:0").is_empty());
    }

    #[test]
    fn last_declaration_of_a_property_counts_and_the_list_stays_short() {
        let style = Declarations::parse(&"display:none;color:#000;".repeat(1_000));
        assert_eq!(style.len(), 2);
        let style = Declarations::parse("display:none;display:block");
        assert_eq!(style.normal, [Property::Display(Display::Block)]);
    }

    #[test]
    fn font_size_depends_on_its_unit() {
        assert_eq!(font_size("0"), Some(Size::Pixels(0.0)));
        assert_eq!(font_size("0px"), Some(Size::Pixels(0.0)));
        assert_eq!(font_size("2em"), Some(Size::Relative(2.0)));
        assert_eq!(font_size("12pt"), Some(Size::Pixels(16.0)));
        assert_eq!(font_size("12"), None);
    }
}
