//! The sender of a mail: a name and an address, as the operator configured them.

use std::str::FromStr;

use pipeline::InboxId;

use crate::encoded_word::encoded;
use crate::header_text::is_one_line;

/// `Shop <support@mail.example.com>`, or an address alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mailbox {
    name: Option<String>,
    address: InboxId,
}

/// The text is no name and address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a sender such as `Shop <support@mail.example.com>`")]
pub struct MailboxError;

impl Mailbox {
    /// The address.
    pub(crate) fn address(&self) -> &InboxId {
        &self.address
    }

    /// The domain of the address.
    pub(crate) fn domain(&self) -> &str {
        self.address.domain()
    }

    /// The name and the address, as the APIs of providers take them.
    pub(crate) fn plain(&self) -> String {
        match &self.name {
            Some(name) if is_atoms(name) => format!("{name} <{}>", self.address),
            Some(name) => format!("\"{name}\" <{}>", self.address),
            None => self.address.to_string(),
        }
    }

    /// The same as a JSON object, for APIs that take one.
    pub(crate) fn as_json(&self) -> serde_json::Value {
        let mut object = serde_json::json!({"email": self.address.to_string()});
        if let (Some(name), Some(object)) = (&self.name, object.as_object_mut()) {
            object.insert("name".to_owned(), name.as_str().into());
        }
        object
    }

    /// The same in ASCII, for the header of a message.
    pub(crate) fn encoded(&self) -> String {
        match &self.name {
            Some(name) if !name.is_ascii() => {
                format!("{} <{}>", encoded(name), self.address)
            }
            _ => self.plain(),
        }
    }
}

impl FromStr for Mailbox {
    type Err = MailboxError;

    fn from_str(text: &str) -> Result<Self, MailboxError> {
        let (name, address) = match text.trim().strip_suffix('>') {
            Some(rest) => {
                let (name, address) = rest.rsplit_once('<').ok_or(MailboxError)?;
                (name.trim().trim_matches('"'), address)
            }
            None => ("", text.trim()),
        };
        let fits = name.len() <= 80 && is_one_line(name) && !name.contains(['"', '\\', '<', '>']);
        let address = address.parse().or(Err(MailboxError))?;
        fits.then(|| Self {
            name: (!name.is_empty()).then(|| name.to_owned()),
            address,
        })
        .ok_or(MailboxError)
    }
}

/// Whether a name needs no quotes in a header. Letters of every script need none. A comma or
/// another special of RFC 5322 needs them, whatever script the name is in.
fn is_atoms(name: &str) -> bool {
    let is_plain = |letter: char| {
        letter.is_ascii_alphanumeric()
            || !letter.is_ascii()
            || " !#$%&'*+-/=?^_`{|}~".contains(letter)
    };
    name.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_and_address_are_written_as_a_header_needs_them() {
        for (text, plain, encoded) in [
            ("a@x.test", "a@x.test", "a@x.test"),
            ("Shop <A@X.test>", "Shop <a@x.test>", "Shop <a@x.test>"),
            (
                "\"Shop, Ltd.\" <a@x.test>",
                "\"Shop, Ltd.\" <a@x.test>",
                "\"Shop, Ltd.\" <a@x.test>",
            ),
            (
                "Bücher <a@x.test>",
                "Bücher <a@x.test>",
                "=?utf-8?B?QsO8Y2hlcg==?= <a@x.test>",
            ),
            (
                "Müller, Söhne <a@x.test>",
                "\"Müller, Söhne\" <a@x.test>",
                "=?utf-8?B?TcO8bGxlciwgU8O2aG5l?= <a@x.test>",
            ),
        ] {
            let mailbox: Mailbox = text.parse().unwrap();
            assert_eq!(mailbox.as_json()["email"], "a@x.test");
            assert_eq!(mailbox.plain(), plain);
            assert_eq!(mailbox.encoded(), encoded);
        }
    }

    #[test]
    fn name_with_a_special_is_quoted_in_every_script() {
        for name in ["Shop", "Müller", "店", "Ёлка"] {
            for special in ["(", ")", "[", "]", ":", ";", "@", ",", "."] {
                let name = format!("{name}{special} 1");
                let mailbox: Mailbox = format!("{name} <a@x.test>").parse().unwrap();
                assert_eq!(mailbox.plain(), format!("\"{name}\" <a@x.test>"));
            }
        }
    }

    #[test]
    fn names_that_could_end_the_header_are_refused() {
        for bad in [
            "",
            "a",
            "a\r\nBcc: b@x.test <a@x.test>",
            "a\0 <a@x.test>",
            "a\"b <a@x.test>",
            "<b@x.test> <a@x.test>",
            "a <a@x.test> b",
        ] {
            assert!(bad.parse::<Mailbox>().is_err(), "{bad:?}");
        }
    }
}
