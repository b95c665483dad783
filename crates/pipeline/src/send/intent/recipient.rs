//! The address that mail is sent to.

use std::fmt;
use std::str::FromStr;

use crate::inbox::{folded, is_host};

/// The address of a recipient: lower case, its domain in ASCII, its `+tag` kept. So one
/// recipient has one spelling in an intent.
///
/// There is no quoting, no Unicode before the `@`, no space and no line break, so an
/// address can be written into a header as it is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Recipient(String);

/// The text is not an address that mail may be sent to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a mail address such as user@example.com")]
pub struct RecipientError;

impl Recipient {
    /// The address as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part after the `@`.
    pub fn domain(&self) -> &str {
        self.0.split_once('@').map_or("", |(_, domain)| domain)
    }
}

impl FromStr for Recipient {
    type Err = RecipientError;

    fn from_str(text: &str) -> Result<Self, RecipientError> {
        let text = folded(text).ok_or(RecipientError)?;
        let (local, domain) = text.split_once('@').ok_or(RecipientError)?;
        let fits = is_dot_atom(local) && is_host(domain) && domain.contains('.');
        fits.then_some(Self(text)).ok_or(RecipientError)
    }
}

/// Whether a local part needs no quotes (RFC 5322, section 3.2.3).
fn is_dot_atom(local: &str) -> bool {
    let is_atom = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte);
    (1..=64).contains(&local.len())
        && local
            .split('.')
            .all(|atom| !atom.is_empty() && atom.bytes().all(is_atom))
}

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Logs never show an address.
impl fmt::Debug for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recipient(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_gets_one_spelling_and_keeps_its_tag() {
        for (text, address) in [
            ("User@Example.COM", "user@example.com"),
            ("User@BÜCHER.example", "user@xn--bcher-kva.example"),
            ("o'brien+news@example.com", "o'brien+news@example.com"),
        ] {
            assert_eq!(text.parse::<Recipient>().unwrap().as_str(), address);
        }
    }

    #[test]
    fn addresses_that_could_break_a_header_are_refused() {
        for bad in [
            "",
            "user",
            "user@",
            "@example.com",
            "user@localhost",
            "a b@example.com",
            "\"a b\"@example.com",
            "a@example.com\r\nBcc: b@example.com",
            "a@example.com, b@example.com",
            "<a@example.com>",
            "a..b@example.com",
            ".a@example.com",
            "ä@example.com",
            "a@b@example.com",
        ] {
            assert_eq!(bad.parse::<Recipient>(), Err(RecipientError), "{bad:?}");
        }
    }
}
