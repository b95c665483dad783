//! Hashes of features.

use std::fmt;

/// The last index of a table of weights.
pub(super) const LAST: u32 = (1 << 17) - 1;

/// The hash of the first part of a feature, such as `left:`. More text can follow it.
///
/// FNV-1a: short, and the same everywhere.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind(u32);

impl Kind {
    pub(crate) fn of(name: &str) -> Self {
        Self::of_two("", name)
    }

    /// The kind whose name consists of these two parts.
    pub(crate) fn of_two(first: &str, second: &str) -> Self {
        let start = Self(0x811c_9dc5);
        start.then(first).then(second).then(":")
    }

    /// The hash with more text. Capitals count as small letters.
    pub(crate) fn then(self, text: &str) -> Self {
        self.then_bytes(text.as_bytes())
    }

    pub(super) fn then_bytes(self, bytes: &[u8]) -> Self {
        bytes.iter().fold(self, |hash, byte| hash.then_byte(*byte))
    }

    pub(crate) fn then_byte(self, byte: u8) -> Self {
        let mixed = self.0 ^ u32::from(byte.to_ascii_lowercase());
        Self(mixed.wrapping_mul(0x0100_0193))
    }

    /// The index of the feature that ends here.
    pub(super) fn place(self) -> u32 {
        // The high bits of this hash are better than the low ones.
        (self.0 ^ (self.0 >> 15)) & LAST
    }
}

/// Formats without a copy of the text.
impl fmt::Write for Kind {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        *self = self.then(text);
        Ok(())
    }
}
