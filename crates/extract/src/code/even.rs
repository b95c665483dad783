//! Codes of capitals and digits in groups of the same length.

use super::apart::is_set_apart_whole;
use super::run::{Run, in_one_line};
use super::shape::Shape;
use super::token::Token;

/// Groups of two to four capitals and digits, equally long and one space or cell apart:
/// `M62 0K8`, `R7 P3 XU`.
pub(super) fn letter_groups(text: &str, tokens: &[Token], at: usize) -> Option<Run> {
    const LONGEST: usize = 12;
    let first = tokens.get(at)?.range.clone();
    let is_group = |group: &str| {
        group.len() == first.len()
            && group
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
    };
    if !matches!(first.len(), 2..=4) || is_label(text.get(first.clone())?) {
        return None;
    }
    let (mut used, mut mixed, mut end) = (0, 0, first.start);
    let (mut any_letter, mut any_digit, mut in_cells) = (false, false, false);
    // No code has more groups, and each token is looked at a few times only.
    for token in tokens.get(at..)?.iter().take(8) {
        let group = text.get(token.range.clone())?;
        let gap = text.get(end..token.range.start)?;
        let is_next = used == 0 || matches!(gap, " " | "\t");
        in_cells |= used > 0 && gap == "\t";
        if !is_next || !is_group(group) {
            break;
        }
        let has_letter = group.bytes().any(|byte| byte.is_ascii_uppercase());
        let has_digit = group.bytes().any(|byte| byte.is_ascii_digit());
        any_letter |= has_letter;
        any_digit |= has_digit;
        mixed += usize::from(has_letter && has_digit);
        used += 1;
        end = token.range.end;
    }
    let fits = match used {
        0 | 1 => false,
        // A state and a number are two groups as well.
        2 => mixed >= if first.len() == 2 { 2 } else { 1 },
        _ => any_letter && any_digit,
    };
    if fits && used * first.len() > LONGEST {
        // An account number.
        return Some(Run::Nothing { used });
    }
    let range = first.start..end;
    // A row of cells that holds a code holds nothing else.
    let fits = fits && (!in_cells || is_set_apart_whole(text, &range));
    fits.then(|| Run::Code {
        value: in_one_line(text.get(range.clone()).unwrap_or_default()),
        range,
        shape: Shape::Dashed,
        used,
    })
}

/// Whether a group says what the ones behind it are.
fn is_label(group: &str) -> bool {
    matches!(
        group,
        "OTP" | "PIN" | "TAN" | "KOD" | "MFA" | "CODE" | "PASS"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::token::tokens;

    fn value(run: Option<Run>) -> Option<String> {
        match run? {
            Run::Code { value, .. } => Some(value),
            Run::Nothing { .. } => Some("nothing".to_owned()),
        }
    }

    #[test]
    fn groups_of_capitals_and_digits_are_one_code() {
        let of = |text: &str| value(letter_groups(text, &tokens(text), 0));
        assert_eq!(of("R7 P3 XU").as_deref(), Some("R7 P3 XU"));
        assert_eq!(of("QM 41 TZ").as_deref(), Some("QM 41 TZ"));
        assert_eq!(of("M62 0K8 now").as_deref(), Some("M62 0K8"));
        assert_eq!(of("4K\t9P\t2T\nyellow").as_deref(), Some("4K 9P 2T"));
        assert_eq!(of("4K\t9P\t2T\tyellow"), None);
        assert_eq!(of("DE89 3704 0044 0532"), Some("nothing".to_owned()));
        for no in ["AB 12", "OTP 482", "OTP\t640 227", "R7", "LHR JFK BER"] {
            assert_eq!(of(no), None, "{no}");
        }
    }
}
