//! Characters around a token that make it something else than a code.

use super::token::Token;

/// Whether the sign before a token stands at the end of its line's next words as well: `*482
/// 913*` is bold, and `*4821` hides digits.
fn is_closed(text: &str, token: &Token, sign: char) -> bool {
    const LONGEST: usize = 16;
    let until = text.floor_char_boundary(token.range.end + LONGEST);
    let after = text.get(token.range.end..until).unwrap_or_default();
    let rest = after.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ' ' | '-'));
    rest.starts_with(sign)
}

/// Whether the characters around a token show that it is no code: money, a
/// percentage, part of an address, a decimal number, a masked card number.
pub(super) fn is_masked(text: &str, token: &Token, core: &str) -> bool {
    let (before, after) = (token.before(text), token.after(text));
    let starred = before == Some('*') && !is_closed(text, token, '*');
    let money = before.is_some_and(|c| {
        matches!(
            c,
            '$' | '€' | '£' | '¥' | '₹' | '฿' | '₽' | '₩' | '₫' | '₺' | '+' | '@' | '_'
        )
    });
    let counted = after
        .is_some_and(|c| matches!(c, '%' | '@' | '_' | '#' | '°' | '$' | '€' | '£' | '₫' | '₽'));
    let reference = core
        .get(..3)
        .is_some_and(|start| start.eq_ignore_ascii_case("ref"));
    let hidden_card = reference
        || core
            .get(..2)
            .is_some_and(|start| start.eq_ignore_ascii_case("xx"));
    let after = text.get(token.range.end..).unwrap_or_default();
    let fraction = after.strip_prefix(['.', ',']).map_or(0, |next| {
        next.bytes().take_while(u8::is_ascii_digit).count()
    });
    // "739105,5 minutes": a comma without a space after it.
    let decimal = fraction > 1 || fraction == 1 && core.len() < 6;
    let before = text.get(..token.range.start).unwrap_or_default();
    let spaced_money = before
        .trim_end_matches(' ')
        .ends_with(['$', '€', '£', '¥', '₹', '฿', '₽', '₩', '₫', '₺']);
    starred || money || counted || hidden_card || decimal || spaced_money
}
