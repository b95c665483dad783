//! What a style property says about visibility.

use memchr::memchr;

use super::color::Color;
use super::length::{Size, any_beyond, font_size, is_tiny, is_zero, number, pixels, ratio};

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
    /// Bold letters.
    Stressed(bool),
    /// Line breaks in the source are shown as line breaks.
    KeepsLines(bool),
    OutOfFlow(bool),
}

/// A way to hide an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Means {
    MaxHeight,
    /// Hides only together with clipping.
    SmallMaxHeight,
    /// Hides only together with clipping.
    LineHeight,
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
    Move,
    Scale,
    Zoom,
    ClipPath,
    Filter,
    Mask,
    Blend,
    Animation,
    Lines,
    Glyphs,
    Replaced,
    Contained,
    Path,
    Stacking,
    Words,
    Letters,
    Padding,
    Order,
    Ratio,
    /// The mail program computes the value.
    Computed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Display {
    None,
    Inline,
    Block,
    Cell,
    Row,
}

/// The meaning of a property; `None` for most, which do not affect visibility.
pub(super) fn property(name: &str, value: &str) -> Option<Property> {
    if is_computed(value) {
        return computed(name);
    }
    hiding(name, value).or_else(|| appearance(name, value))
}

/// Properties that hide by size, place or effect.
fn hiding(name: &str, value: &str) -> Option<Property> {
    let gone = |means, is| Some(Property::Gone(means, is));
    let unclear = |doubt, is| Some(Property::Unclear(doubt, is));
    match name {
        "visibility" | "content-visibility" => {
            Some(Property::Visible(!matches!(value, "hidden" | "collapse")))
        }
        "opacity" | "-moz-opacity" => ratio(value).map(Property::Opacity),
        "max-height" | "max-block-size" if is_zero(value) => gone(Means::MaxHeight, true),
        "max-height" | "max-block-size" => gone(Means::SmallMaxHeight, is_tiny(value)),
        "height" | "block-size" => gone(Means::Height, is_tiny(value)),
        "line-height" => gone(
            Means::LineHeight,
            is_tiny(value) && value.ends_with("px") || is_zero(value),
        ),
        "width" | "max-width" | "inline-size" | "max-inline-size" => {
            gone(Means::Width, is_tiny(value))
        }
        "overflow" | "overflow-x" | "overflow-y" => {
            Some(Property::Clips(!value.starts_with("visible")))
        }
        "text-indent" => gone(Means::Indent, pixels(value)?.abs() >= 500.0),
        "margin-left" | "margin-top" => gone(Means::Margin, pixels(value)? <= -500.0),
        "margin" if value.contains('-') && any_beyond(value, 500.0) => gone(Means::Margin, true),
        _ if name.starts_with("padding") && any_beyond(value, 900.0) => {
            unclear(Doubt::Padding, true)
        }
        "left" | "top" | "right" | "bottom" => gone(Means::Offset, pixels(value)?.abs() >= 900.0),
        _ if name.starts_with("inset") => gone(Means::Offset, any_beyond(value, 900.0)),
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
        "translate" | "rotate" => unclear(Doubt::Move, is_set(value)),
        "scale" => unclear(Doubt::Scale, is_set(value) && value != "1"),
        "zoom" => unclear(Doubt::Zoom, ratio(value)? < 0.9),
        _ => effect(name, value).map(|(doubt, is)| Property::Unclear(doubt, is)),
    }
}

/// Effects that may make text unreadable, and whether this value does.
fn effect(name: &str, value: &str) -> Option<(Doubt, bool)> {
    Some(match name {
        "clip-path" | "-webkit-clip-path" => (Doubt::ClipPath, is_set(value)),
        "mask" | "mask-image" | "-webkit-mask" | "-webkit-mask-image" => {
            (Doubt::Mask, is_set(value))
        }
        "filter" | "-webkit-filter" => (Doubt::Filter, is_set(value)),
        "mix-blend-mode" => (Doubt::Blend, is_set(value) && value != "normal"),
        "animation" | "animation-name" | "-webkit-animation" => (Doubt::Animation, is_set(value)),
        "-webkit-line-clamp" | "line-clamp" => (Doubt::Lines, is_set(value)),
        "-webkit-text-security" => (Doubt::Glyphs, is_set(value)),
        "content" => (Doubt::Replaced, value.contains("url(")),
        "contain" => (
            Doubt::Contained,
            value.contains("size") || value.contains("strict"),
        ),
        "offset" | "offset-path" => (Doubt::Path, is_set(value)),
        "unicode-bidi" => (Doubt::Order, value.contains("override")),
        "aspect-ratio" => (Doubt::Ratio, value != "auto"),
        "z-index" => (Doubt::Stacking, value.starts_with('-')),
        "word-spacing" => (Doubt::Words, pixels(value)? <= -100.0),
        _ => return None,
    })
}

/// What text looks like.
fn appearance(name: &str, value: &str) -> Option<Property> {
    match name {
        "display" => display(value).map(Property::Display),
        "font-size" => font_size(value).map(Property::FontSize),
        "font" => value
            .split_whitespace()
            .find_map(|word| font_size(word.split('/').next()?))
            .map(Property::FontSize),
        "color" | "-webkit-text-fill-color" => Color::of_text(value).map(Property::Color),
        "background-color" => Some(Property::Background(Color::parse(value))),
        // A picture may have any colour, so the background is unknown.
        "background" | "background-image" => Some(Property::Background(
            Some(value)
                .filter(|value| !value.contains("url(") && !value.contains("gradient"))
                .and_then(first_color),
        )),
        // Letters that stand on each other cannot be read.
        "letter-spacing" if pixels(value)? <= -4.0 => Some(Property::Unclear(Doubt::Letters, true)),
        "letter-spacing" => Some(Property::Spaced(number(value)? >= 1.0)),
        "font-weight" => Some(Property::Stressed(
            value.starts_with("bold") || matches!(value, "600" | "700" | "800" | "900"),
        )),
        "white-space" => Some(Property::KeepsLines(value.starts_with("pre"))),
        _ => None,
    }
}

/// Whether a value is computed by the mail program.
fn is_computed(value: &str) -> bool {
    let functions = ["var(", "calc(", "env(", "min(", "max(", "clamp("];
    memchr(b'(', value.as_bytes()).is_some() && functions.iter().any(|name| value.contains(name))
}

/// What a computed value of a property means: it may be one that hides.
fn computed(name: &str) -> Option<Property> {
    let may_hide = matches!(
        name,
        "display"
            | "visibility"
            | "opacity"
            | "font-size"
            | "font"
            | "height"
            | "max-height"
            | "text-indent"
            | "color"
            | "-webkit-text-fill-color"
            | "transform"
            | "filter"
            | "clip-path"
            | "position"
            | "zoom"
            | "scale"
    );
    match name {
        "background" | "background-color" | "background-image" => Some(Property::Background(None)),
        _ => may_hide.then_some(Property::Unclear(Doubt::Computed, true)),
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
