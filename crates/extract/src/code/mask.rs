//! Characters around a token that make it something else than a code.

use super::token::Token;

/// Whether the characters around a token show that it is no code: money, a
/// percentage, part of an address, a decimal number, a masked card number.
pub(super) fn is_masked(text: &str, token: &Token, core: &str) -> bool {
    let (before, after) = (token.before(text), token.after(text));
    let starred = before == Some('*') && after != Some('*');
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
    let decimal = after.starts_with(['.', ','])
        && after
            .get(1..)
            .is_some_and(|next| next.starts_with(|c: char| c.is_ascii_digit()));
    let before = text.get(..token.range.start).unwrap_or_default();
    let spaced_money = before
        .trim_end_matches(' ')
        .ends_with(['$', '€', '£', '¥', '₹', '฿', '₽', '₩', '₫', '₺']);
    starred || money || counted || hidden_card || decimal || spaced_money
}
