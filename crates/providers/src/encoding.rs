//! How signatures and digests are written as text.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// How a signature is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// Lower-case hexadecimal. Upper case is refused, so that a MAC has one spelling.
    Hex,
    /// Base64 with the standard alphabet and padding.
    Base64,
}

impl Encoding {
    pub(crate) fn decode(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Self::Hex => hex(text),
            Self::Base64 => STANDARD.decode(text).ok(),
        }
    }

    pub(crate) fn encode(self, mac: &[u8]) -> String {
        match self {
            Self::Hex => mac
                .iter()
                .flat_map(|byte| [byte >> 4, byte & 15])
                .filter_map(|digit| char::from_digit(u32::from(digit), 16))
                .collect(),
            Self::Base64 => STANDARD.encode(mac),
        }
    }
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let nibble = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs
        .iter()
        .map(|[high, low]| Some(nibble(*high)? << 4 | nibble(*low)?))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_is_lower_case_with_an_even_number_of_digits() {
        assert_eq!(Encoding::Hex.decode("00ff1a"), Some(vec![0, 255, 26]));
        for bad in ["0", "00FF", "0g", "0x00", " 00", "é0"] {
            assert_eq!(Encoding::Hex.decode(bad), None, "{bad:?}");
        }
    }
}
