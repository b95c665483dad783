//! The look of text.

use crate::html::color::Color;

/// Text smaller than this, in pixels, counts as hidden.
const UNREADABLE: f32 = 2.0;
const BODY_FONT: f32 = 16.0;

/// The look of text. Child elements inherit it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one property of a style"
)]
pub(in crate::html) struct Look {
    /// The element and everything in it is hidden.
    pub(super) gone: bool,
    pub(super) visible: bool,
    /// Whether the element is hidden cannot be decided here.
    pub(super) unclear: bool,
    /// It is shown after a click.
    pub(super) folded: bool,
    /// The product of the opacity of all elements around the text.
    pub(super) opacity: f32,
    /// The font size in pixels. It is checked at each text and not at the element, because
    /// some wrappers set it to zero and their children set it again.
    pub(super) font: f32,
    pub(super) color: Option<Color>,
    pub(super) ground: Ground,
    pub(in crate::html) spaced: bool,
    pub(in crate::html) keeps_lines: bool,
    /// Part of a quoted mail.
    pub(in crate::html) quoted: bool,
    /// Mostly bold, or in the font of a typewriter.
    pub(in crate::html) stressed: bool,
    /// The class or id of the element says "code".
    pub(in crate::html) marked: bool,
}

/// The background of text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Ground {
    /// No element sets one, so the mail program chooses it; mostly white.
    Undeclared,
    /// A picture, or a colour that was not understood.
    Unknown,
    Known(Color),
}

impl Look {
    pub(in crate::html) const PLAIN: Self = Self {
        gone: false,
        visible: true,
        unclear: false,
        folded: false,
        opacity: 1.0,
        font: BODY_FONT,
        color: None,
        ground: Ground::Undeclared,
        spaced: false,
        keeps_lines: false,
        quoted: false,
        stressed: false,
        marked: false,
    };

    pub(in crate::html) fn is_hidden(&self) -> bool {
        let blends = match (self.color, self.ground) {
            (Some(Color::Transparent), _) => true,
            (Some(color), Ground::Known(ground)) => color.is_like(ground),
            _ => false,
        };
        self.gone || !self.visible || self.opacity <= 0.05 || self.font < UNREADABLE || blends
    }

    /// Whether a person may or may not see the text.
    pub(in crate::html) fn is_unclear(&self) -> bool {
        let blends = match (self.color, self.ground) {
            (Some(Color::Faint), _) => true,
            (Some(color), Ground::Known(ground)) => color.is_close(ground),
            (Some(color), Ground::Undeclared) => color.is_close(Color::WHITE),
            _ => false,
        };
        self.unclear || self.folded || self.opacity <= 0.3 || blends
    }

    pub(in crate::html) fn is_large(&self) -> bool {
        self.font >= BODY_FONT * 1.2 && self.font.is_finite()
    }
}
