//! A source: one configured place that mail comes from.

use std::fmt;
use std::str::FromStr;

/// The name of a configured source; also the last segment of its webhook's path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceName(String);

/// The text is not a valid source name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a source name is 1 to 40 characters of a-z, 0-9, `-` and `_`")]
pub struct SourceNameError;

impl SourceName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SourceName {
    type Err = SourceNameError;

    fn from_str(text: &str) -> Result<Self, SourceNameError> {
        let fits = (1..=40).contains(&text.len())
            && text
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_');
        fits.then(|| Self(text.to_owned())).ok_or(SourceNameError)
    }
}

impl fmt::Display for SourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_names_with_other_characters_or_lengths_are_refused() {
        for bad in ["", "UPPER", "a b", "a/b", "ä", &"a".repeat(41)] {
            assert_eq!(bad.parse::<SourceName>(), Err(SourceNameError), "{bad:?}");
        }
    }
}
