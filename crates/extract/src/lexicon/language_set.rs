//! A set of languages.

use super::concept::MOST_LANGUAGES;

/// A set of languages, a bit for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Languages([u64; MOST_LANGUAGES / 64]);

impl Languages {
    pub(crate) const ALL: Self = Self([u64::MAX; MOST_LANGUAGES / 64]);
    pub(super) const NONE: Self = Self([0; MOST_LANGUAGES / 64]);

    pub(super) fn with(mut self, language: u8) -> Self {
        if let Some(bits) = self.0.get_mut(usize::from(language / 64)) {
            *bits |= 1 << (language % 64);
        }
        self
    }

    pub(super) fn has(self, language: u8) -> bool {
        let bits = self.0.get(usize::from(language / 64));
        bits.is_some_and(|bits| bits >> (language % 64) & 1 != 0)
    }

    pub(crate) fn or(self, other: Self) -> Self {
        let ([one, two], [three, four]) = (self.0, other.0);
        Self([one | three, two | four])
    }

    pub(super) fn overlaps(self, other: Self) -> bool {
        let ([one, two], [three, four]) = (self.0, other.0);
        one & three != 0 || two & four != 0
    }
}
