//! Colours, compared to tell text from its background.

/// A colour of text or of a background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Color {
    Transparent,
    /// So transparent that it may be invisible.
    Faint,
    Rgb(u8, u8, u8),
}

impl Color {
    pub(super) const WHITE: Self = Self::Rgb(255, 255, 255);

    pub(super) fn parse(value: &str) -> Option<Self> {
        let value = value.trim();
        if let Some(hex) = value.strip_prefix('#') {
            return from_hex(hex);
        }
        if let Some(arguments) = value
            .strip_prefix("rgba(")
            .or_else(|| value.strip_prefix("rgb("))
        {
            return from_function(arguments.trim_end_matches(')'));
        }
        match value {
            "transparent" => Some(Self::Transparent),
            "white" => Some(Self::WHITE),
            "snow" | "ivory" | "ghostwhite" | "floralwhite" | "mintcream" | "azure"
            | "whitesmoke" => Some(Self::Rgb(250, 250, 250)),
            "black" => Some(Self::Rgb(0, 0, 0)),
            _ => None,
        }
    }

    /// The colour of text. One that is not computed here may be invisible.
    pub(super) fn of_text(value: &str) -> Option<Self> {
        let value = value.trim();
        let is_known = Self::parse(value);
        is_known.or_else(|| (value.contains('(') || is_of_system(value)).then_some(Self::Faint))
    }

    /// The colour in an attribute, which needs no `#`.
    pub(super) fn of_attribute(value: &str) -> Option<Self> {
        Self::parse(value).or_else(|| from_hex(value.trim()))
    }

    /// Whether a person cannot tell the colours apart.
    pub(super) fn is_like(self, other: Self) -> bool {
        match (self, other) {
            (Self::Rgb(..), Self::Rgb(..)) => self.distance(other) <= 3,
            _ => false,
        }
    }

    /// Whether the colours are so close that a person may not tell them apart.
    pub(super) fn is_close(self, other: Self) -> bool {
        match (self, other) {
            (Self::Rgb(..), Self::Rgb(..)) => self.distance(other) <= 16,
            _ => false,
        }
    }

    /// The largest difference of a channel.
    fn distance(self, other: Self) -> u8 {
        match (self, other) {
            (Self::Rgb(r1, g1, b1), Self::Rgb(r2, g2, b2)) => {
                let (r, g, b) = (r1.abs_diff(r2), g1.abs_diff(g2), b1.abs_diff(b2));
                r.max(g).max(b)
            }
            _ => u8::MAX,
        }
    }
}

/// System colours that are usually light, so text in them may be invisible.
fn is_of_system(name: &str) -> bool {
    matches!(
        name,
        "canvas" | "field" | "buttonface" | "highlighttext" | "selecteditemtext" | "window"
    )
}

fn from_hex(hex: &str) -> Option<Color> {
    if !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let digit = |at: usize| {
        hex.get(at..=at)
            .and_then(|d| u8::from_str_radix(d, 16).ok())
    };
    let pair = |at: usize| {
        hex.get(at..at + 2)
            .and_then(|d| u8::from_str_radix(d, 16).ok())
    };
    match hex.len() {
        4 if digit(3)? == 0 => Some(Color::Transparent),
        4 if digit(3)? <= 4 => Some(Color::Faint),
        3 | 4 => Some(Color::Rgb(digit(0)? * 17, digit(1)? * 17, digit(2)? * 17)),
        8 if pair(6)? == 0 => Some(Color::Transparent),
        8 if pair(6)? <= 76 => Some(Color::Faint),
        6 | 8 => Some(Color::Rgb(pair(0)?, pair(2)?, pair(4)?)),
        _ => None,
    }
}

fn from_function(arguments: &str) -> Option<Color> {
    let mut numbers = arguments
        .split([',', ' ', '/'])
        .map(str::trim)
        .filter(|number| !number.is_empty());
    let mut channel = || {
        let number = numbers.next()?;
        match number.strip_suffix('%') {
            // At most 255 after the clamp.
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "clamped"
            )]
            Some(percent) => Some((percent.parse::<f32>().ok()? * 2.55).clamp(0.0, 255.0) as u8),
            None => number.parse::<u8>().ok(),
        }
    };
    let color = Color::Rgb(channel()?, channel()?, channel()?);
    let alpha = numbers.next().and_then(|alpha| {
        let (number, scale) = alpha.strip_suffix('%').map_or((alpha, 1.0), |n| (n, 100.0));
        Some(number.parse::<f32>().ok()? / scale)
    });
    Some(match alpha {
        Some(alpha) if alpha <= 0.01 => Color::Transparent,
        Some(alpha) if alpha <= 0.3 => Color::Faint,
        _ => color,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_is_parsed_in_every_notation() {
        for written in [
            "#fff",
            "#FFFFFF",
            "white",
            "rgb(255, 255, 255)",
            "rgba(255,255,255,1)",
            "#fefefe",
        ] {
            assert!(
                Color::parse(written)
                    .unwrap()
                    .is_like(Color::Rgb(255, 255, 255)),
                "{written}"
            );
        }
        assert_eq!(Color::parse("rgba(0,0,0,0)"), Some(Color::Transparent));
        assert_eq!(Color::parse("#12"), None);
        assert_eq!(Color::parse("#é12"), None);
    }
}
