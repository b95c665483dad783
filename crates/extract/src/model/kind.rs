//! Hashes of features.

/// The hash of the first part of a feature, such as `left:`. More text can follow it.
///
/// FNV-1a: short, and the same everywhere.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind(u32);

impl Kind {
    /// Most names are constants, and so are their hashes.
    pub(crate) const fn of(name: &str) -> Self {
        Self::of_two("", name)
    }

    /// The kind whose name consists of these two parts.
    pub(crate) const fn of_two(first: &str, second: &str) -> Self {
        let start = Self(0x811c_9dc5);
        start.then(first).then(second).then(":")
    }

    /// The hash with more text. Capitals count as small letters.
    pub(crate) const fn then(self, text: &str) -> Self {
        let (mut hash, mut rest) = (self, text.as_bytes());
        while let [first, later @ ..] = rest {
            hash = hash.then_byte(first.to_ascii_lowercase());
            rest = later;
        }
        hash
    }

    /// The hash with more text that has no capitals of ASCII.
    pub(super) fn then_small(self, bytes: &[u8]) -> Self {
        bytes.iter().fold(self, |hash, byte| hash.then_byte(*byte))
    }

    /// The hash with one more byte.
    pub(crate) const fn then_byte(self, byte: u8) -> Self {
        Self((self.0 ^ byte as u32).wrapping_mul(0x0100_0193))
    }

    /// The hash with a whole number of at most two digits.
    pub(crate) fn then_number(self, number: i32) -> Self {
        let signed = if number < 0 { self.then("-") } else { self };
        let digit = |digit: u32| b'0' + u8::try_from(digit % 10).unwrap_or_default();
        let number = number.unsigned_abs();
        let begun = if number > 9 {
            signed.then_byte(digit(number / 10))
        } else {
            signed
        };
        begun.then_byte(digit(number))
    }

    /// A number for the feature that ends here. A table uses as many low bits of it as it
    /// has weights.
    pub(super) fn place(self) -> u32 {
        // The high bits of this hash are better than the low ones.
        self.0 ^ (self.0 >> 15)
    }
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn number_has_the_hash_of_its_text() {
        for number in [-12, -8, 0, 7, 10, 99] {
            let text = Kind::of("x").then(&number.to_string());
            assert_eq!(Kind::of("x").then_number(number).0, text.0, "{number}");
        }
    }
}
