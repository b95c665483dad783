//! Numbers and lengths in style declarations.

/// A font size in pixels, or relative to the parent's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Size {
    Pixels(f32),
    Relative(f32),
}

pub(super) fn is_zero(value: &str) -> bool {
    number(value) == Some(0.0)
}

/// Two pixels or less: no letter fits.
pub(super) fn is_tiny(value: &str) -> bool {
    value != "auto" && !value.ends_with('%') && pixels(value).is_some_and(|size| size <= 2.0)
        || is_zero(value)
}

/// A length in pixels; relative ones are estimated.
pub(super) fn pixels(value: &str) -> Option<f32> {
    let (size, unit) = parts(value)?;
    Some(match unit.trim() {
        "em" | "rem" | "ch" | "ex" => size * 16.0,
        "%" | "vw" | "vh" | "vmin" | "vmax" => size * 10.0,
        "in" => size * 96.0,
        "cm" => size * 38.0,
        _ => size,
    })
}

/// Whether one of several lengths is at least this far from zero.
pub(super) fn any_beyond(values: &str, least: f32) -> bool {
    let mut lengths = values.split_whitespace().filter_map(pixels);
    lengths.any(|length| length.abs() >= least)
}

/// A number or a percentage.
pub(super) fn ratio(value: &str) -> Option<f32> {
    let scale = if value.ends_with('%') { 100.0 } else { 1.0 };
    Some(number(value)? / scale)
}

/// The number before the unit, if there is one.
pub(super) fn number(value: &str) -> Option<f32> {
    parts(value).map(|(number, _)| number)
}

/// A number, which may have an exponent, and its unit.
fn parts(value: &str) -> Option<(f32, &str)> {
    let sign_or_digit = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+');
    let bytes = value.as_bytes();
    let mut end = bytes.iter().take_while(|byte| sign_or_digit(byte)).count();
    if let Some((b'e', exponent)) = bytes.get(end..).and_then(<[u8]>::split_first) {
        let length = exponent
            .iter()
            .take_while(|byte| sign_or_digit(byte))
            .count();
        if length > 0 {
            end += 1 + length;
        }
    }
    Some((value.get(..end)?.parse().ok()?, value.get(end..)?))
}

pub(super) fn font_size(value: &str) -> Option<Size> {
    let (size, unit) = match value {
        "smaller" => return Some(Size::Relative(0.83)),
        "larger" => return Some(Size::Relative(1.2)),
        "inherit" => return Some(Size::Relative(1.0)),
        "small" | "x-small" | "xx-small" => return Some(Size::Pixels(12.0)),
        "medium" | "initial" => return Some(Size::Pixels(16.0)),
        "large" | "x-large" | "xx-large" => return Some(Size::Pixels(24.0)),
        _ => parts(value)?,
    };
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
    fn font_size_depends_on_its_unit() {
        assert_eq!(font_size("0"), Some(Size::Pixels(0.0)));
        assert_eq!(font_size("0px"), Some(Size::Pixels(0.0)));
        assert_eq!(font_size("2em"), Some(Size::Relative(2.0)));
        assert_eq!(font_size("12pt"), Some(Size::Pixels(16.0)));
        assert_eq!(font_size("1e1px"), Some(Size::Pixels(10.0)));
        assert_eq!(font_size("12"), None);
    }
}
