//! A text with placeholders: `Order {{order}} is on its way`.

use std::collections::BTreeMap;

use super::TemplateFlaw;

/// A text, cut at its placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pieces(Vec<Piece>);

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// The operator's own text.
    Literal(String),
    /// The place of a value.
    Value(String),
}

impl Pieces {
    /// Cuts a text at its placeholders.
    pub(super) fn parse(text: &str) -> Result<Self, TemplateFlaw> {
        let mut parts = text.split("{{");
        let first = parts.next().unwrap_or_default();
        let mut pieces = vec![Piece::Literal(first.to_owned())];
        for part in parts {
            let (name, rest) = part.split_once("}}").ok_or(TemplateFlaw::Placeholder)?;
            if !is_name(name) {
                return Err(TemplateFlaw::Placeholder);
            }
            pieces.push(Piece::Value(name.to_owned()));
            pieces.push(Piece::Literal(rest.to_owned()));
        }
        Ok(Self(pieces))
    }

    /// The pieces.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Piece> {
        self.0.iter()
    }

    /// The names of the values, one for each place.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Literal(_) => None,
            Piece::Value(name) => Some(name.as_str()),
        })
    }

    /// The operator's own text, with a letter for each value.
    pub(super) fn literal(&self) -> String {
        let literals = self.0.iter().map(|piece| match piece {
            Piece::Literal(text) => text.as_str(),
            Piece::Value(_) => "x",
        });
        literals.collect()
    }

    /// The text with its values.
    pub(super) fn fill(
        &self,
        values: &BTreeMap<&str, String>,
        write: fn(&str) -> String,
    ) -> String {
        let mut filled = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Literal(text) => filled.push_str(text),
                Piece::Value(name) => {
                    let value = values.get(name.as_str()).map(String::as_str);
                    filled.push_str(&write(value.unwrap_or_default()));
                }
            }
        }
        filled
    }
}

/// Whether a text names a value.
fn is_name(name: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    (1..=40).contains(&name.len()) && name.bytes().all(is_plain)
}
