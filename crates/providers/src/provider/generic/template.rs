//! The template of what a sender signs.

use crate::flaw::SourceFlaw;
use crate::proof::scheme::Part;

/// Reads a template such as `{id}.{timestamp}.{body}`. A signature that does not cover
/// the body is refused: anybody who has seen one post could send another body.
pub(super) fn template(text: &str) -> Result<Vec<Part>, SourceFlaw> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        if !before.is_empty() {
            parts.push(Part::Text(before.to_owned()));
        }
        let (name, after) = after
            .split_once('}')
            .ok_or(SourceFlaw::Scheme("`signed` has an open `{`"))?;
        parts.push(match name {
            "id" => Part::Id,
            "timestamp" => Part::Timestamp,
            "body" => Part::Body,
            _ => {
                return Err(SourceFlaw::Scheme(
                    "`signed` may use {id}, {timestamp} and {body}",
                ));
            }
        });
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest.to_owned()));
    }
    let bodies = parts.iter().filter(|part| **part == Part::Body).count();
    if bodies == 1 && parts.last() == Some(&Part::Body) {
        Ok(parts)
    } else {
        Err(SourceFlaw::Scheme(
            "`signed` must end with `{body}` and use it once",
        ))
    }
}
