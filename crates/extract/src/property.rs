//! Properties of characters. The tables of Unicode are slow, so the answers for the
//! characters of the first plane are kept.

use std::sync::OnceLock;

/// A property that a character has or has not.
pub(crate) struct Property {
    by_tables: fn(char) -> bool,
    known: OnceLock<Vec<bool>>,
}

static ALPHANUMERIC: Property = Property::new(char::is_alphanumeric);

/// The same answer as `char::is_alphanumeric`.
pub(crate) fn is_alphanumeric(c: char) -> bool {
    ALPHANUMERIC.is_of(c)
}

impl Property {
    pub(crate) const fn new(by_tables: fn(char) -> bool) -> Self {
        Self {
            by_tables,
            known: OnceLock::new(),
        }
    }

    /// Whether the character has it.
    pub(crate) fn is_of(&self, c: char) -> bool {
        let known = self.known.get_or_init(|| {
            let first_plane = (0..0x1_0000).map(char::from_u32);
            let has = |c: Option<char>| c.is_some_and(self.by_tables);
            first_plane.map(has).collect()
        });
        let known = known.get(c as usize).copied();
        known.unwrap_or_else(|| (self.by_tables)(c))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_has_the_answer_of_the_tables() {
        for c in '\0'..=char::MAX {
            assert_eq!(is_alphanumeric(c), c.is_alphanumeric(), "{c:?}");
        }
    }
}
