//! Where values stand in HTML. Escaping protects in text and in quoted attributes; in a
//! tag, a script, a style or a comment it does not.

use std::collections::BTreeMap;

use super::TemplateFlaw;
use super::pieces::{Piece, Pieces};
use super::value::{ValueKind, ValueSettings};

/// Where in HTML a position is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    Text,
    Tag,
    Quoted(char),
    Comment,
    Style,
}

/// Checks the places of all values.
pub(super) fn check(
    html: &Pieces,
    values: &BTreeMap<String, ValueSettings>,
) -> Result<(), TemplateFlaw> {
    if html.literal().to_ascii_lowercase().contains("<script") {
        return Err(TemplateFlaw::Script);
    }
    let mut position = Position::Text;
    for piece in html.iter() {
        match piece {
            Piece::Literal(text) => position = after(position, text),
            Piece::Value(name) => {
                let kind = values.get(name).map(|value| value.kind);
                let fits = match position {
                    Position::Text => true,
                    Position::Quoted(_) => kind != Some(ValueKind::Text),
                    Position::Tag | Position::Comment | Position::Style => false,
                };
                if !fits {
                    return Err(TemplateFlaw::Position(name.clone()));
                }
            }
        }
    }
    Ok(())
}

/// The position after a literal.
fn after(mut position: Position, text: &str) -> Position {
    let lower = text.to_ascii_lowercase();
    for (at, letter) in lower.char_indices() {
        let rest = lower.get(at..).unwrap_or_default();
        position = match (position, letter) {
            (Position::Text, '<') if rest.starts_with("<!--") => Position::Comment,
            (Position::Text, '<') if rest.starts_with("<style") => Position::Style,
            (Position::Text, '<') => Position::Tag,
            (Position::Tag, '>') => Position::Text,
            (Position::Tag, '"' | '\'') => Position::Quoted(letter),
            (Position::Quoted(quote), letter) if letter == quote => Position::Tag,
            (Position::Comment, '-') if rest.starts_with("-->") => Position::Text,
            (Position::Style, '<') if rest.starts_with("</style") => Position::Tag,
            (same, _) => same,
        };
    }
    position
}
