//! The form of the code that an attempt waits for.

use std::fmt;
use std::str::FromStr;

/// What an agent knows about the code: its characters, and how many there are. Blanks and
/// dashes between them do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CodeForm {
    /// Digits only.
    Digits(u8),
    /// Letters only.
    Letters(u8),
    /// Letters and digits, in any mixture.
    Characters(u8),
}

/// The text is no form of a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected digits:6, letters:6 or characters:6, with a number from 3 to 32")]
pub struct InvalidCodeForm;

impl CodeForm {
    /// How many characters a code can have.
    pub const LENGTHS: std::ops::RangeInclusive<u8> = 3..=32;

    /// The word for the characters, in the database and in the API.
    pub fn characters(self) -> &'static str {
        match self {
            Self::Digits(_) => "digits",
            Self::Letters(_) => "letters",
            Self::Characters(_) => "characters",
        }
    }

    /// How many characters the code has.
    pub fn length(self) -> u8 {
        match self {
            Self::Digits(length) | Self::Letters(length) | Self::Characters(length) => length,
        }
    }

    /// Whether codes of this length are possible.
    pub fn is_possible(self) -> bool {
        Self::LENGTHS.contains(&self.length())
    }
}

/// As stored and as written on a command line: `digits:6`.
impl fmt::Display for CodeForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.characters(), self.length())
    }
}

impl FromStr for CodeForm {
    type Err = InvalidCodeForm;

    fn from_str(text: &str) -> Result<Self, InvalidCodeForm> {
        let (characters, length) = text.split_once(':').ok_or(InvalidCodeForm)?;
        let length = length.parse().map_err(|_invalid| InvalidCodeForm)?;
        let form = match characters {
            "digits" => Self::Digits(length),
            "letters" => Self::Letters(length),
            "characters" => Self::Characters(length),
            _ => return Err(InvalidCodeForm),
        };
        form.is_possible().then_some(form).ok_or(InvalidCodeForm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_is_read_as_it_is_written() {
        for text in ["digits:6", "letters:8", "characters:32"] {
            assert_eq!(text.parse::<CodeForm>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "6",
            "digits",
            "digits:",
            "digits:2",
            "digits:33",
            "words:4",
        ] {
            assert_eq!(text.parse::<CodeForm>(), Err(InvalidCodeForm), "{text}");
        }
    }
}
