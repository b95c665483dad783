//! Properties of characters. The tables of Unicode are slow, so the answers for the
//! characters of the first plane are kept, page by page.

use std::sync::OnceLock;

/// How many characters are on a page, and how many pages the first plane has.
const PAGE: usize = 256;
/// One bit for each character of a page.
type Page = [u64; PAGE / 64];

/// A property that a character has or has not.
pub(crate) struct Property {
    by_tables: fn(char) -> bool,
    /// A page is filled when a character of it is first asked for.
    pages: [OnceLock<Page>; PAGE],
}

static ALPHANUMERIC: Property = Property::new(char::is_alphanumeric);

/// The same answer as `char::is_alphanumeric`.
pub(crate) fn is_alphanumeric(c: char) -> bool {
    c.is_ascii_alphanumeric() || !c.is_ascii() && ALPHANUMERIC.is_of(c)
}

impl Property {
    pub(crate) const fn new(by_tables: fn(char) -> bool) -> Self {
        Self {
            by_tables,
            pages: [const { OnceLock::new() }; PAGE],
        }
    }

    /// Whether the character has it.
    pub(crate) fn is_of(&self, c: char) -> bool {
        let (page, place) = (c as usize / PAGE, c as usize % PAGE);
        let Some(known) = self.pages.get(page) else {
            return (self.by_tables)(c);
        };
        let known = known.get_or_init(|| self.page(page));
        let bits = known.get(place / 64).copied().unwrap_or_default();
        bits >> (place % 64) & 1 == 1
    }

    fn page(&self, page: usize) -> Page {
        let mut known = Page::default();
        for place in 0..PAGE {
            let code = u32::try_from(page * PAGE + place).ok();
            let has = code.and_then(char::from_u32).is_some_and(self.by_tables);
            if let Some(bits) = known.get_mut(place / 64) {
                *bits |= u64::from(has) << (place % 64);
            }
        }
        known
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
