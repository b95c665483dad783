//! The form of the code that a caller waits for.

/// What a caller knows about the code: its characters, and how many there are. Blanks and
/// dashes between them do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ExpectedCode {
    /// Digits only.
    Digits(u8),
    /// Letters only.
    Letters(u8),
    /// Letters and digits, in any mixture.
    Characters(u8),
}

impl ExpectedCode {
    /// Whether a code has this form; it is given without blanks and dashes.
    pub(crate) fn fits(self, compact: &str) -> bool {
        let (length, is_allowed): (_, fn(char) -> bool) = match self {
            Self::Digits(length) => (length, |c| c.is_ascii_digit()),
            Self::Letters(length) => (length, char::is_alphabetic),
            Self::Characters(length) => (length, char::is_alphanumeric),
        };
        compact.chars().count() == usize::from(length) && compact.chars().all(is_allowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_fits_by_its_characters_and_their_number() {
        assert!(ExpectedCode::Digits(6).fits("482911"));
        assert!(ExpectedCode::Letters(4).fits("KXRW"));
        assert!(ExpectedCode::Characters(6).fits("482911"));
        assert!(ExpectedCode::Characters(6).fits("4K29X1"));
        for other in ["48291", "4829115", "4K29X1", "KXRWQT", ""] {
            assert!(!ExpectedCode::Digits(6).fits(other), "{other}");
        }
        assert!(!ExpectedCode::Letters(4).fits("KX4W"));
    }
}
