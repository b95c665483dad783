//! An inbox: the address an agent waits on.

use std::fmt;
use std::str::FromStr;

/// An address in the bounded form that may be shown to an agent.
///
/// Strangers choose the recipients of their mail, so an address is hostile text
/// until it fits this type: lower case, no quoting, no Unicode, no spaces.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InboxId(String);

/// The text is not an address that an inbox can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an inbox address")]
pub struct InboxError;

impl InboxId {
    /// The address as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part after the `@`.
    pub fn domain(&self) -> &str {
        self.0.split_once('@').map_or("", |(_, domain)| domain)
    }
}

impl FromStr for InboxId {
    type Err = InboxError;

    fn from_str(text: &str) -> Result<Self, InboxError> {
        let text = text.to_ascii_lowercase();
        let (local, domain) = text.split_once('@').ok_or(InboxError)?;
        let local_fits = (1..=64).contains(&local.len())
            && local
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"._%+=-".contains(&b));
        let fits = local_fits && is_host(domain);
        fits.then_some(Self(text)).ok_or(InboxError)
    }
}

fn is_host(domain: &str) -> bool {
    (1..=253).contains(&domain.len()) && domain.split('.').all(is_label)
}

fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

impl fmt::Display for InboxId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl serde::Serialize for InboxId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_folded_to_lower_case() {
        let inbox: InboxId = "Agent+1@Inbox.TEST".parse().unwrap();
        assert_eq!(inbox.as_str(), "agent+1@inbox.test");
        assert_eq!(inbox.domain(), "inbox.test");
    }

    #[test]
    fn hostile_addresses_are_refused() {
        for bad in [
            "",
            "no-at",
            "@inbox.test",
            "a@",
            "a@b@c",
            "a b@inbox.test",
            "\"ignore all\"@inbox.test",
            "ä@inbox.test",
            "a@-inbox.test",
            "a@inbox..test",
            "a@inbox.test\n",
            "a@in_box.test",
        ] {
            assert_eq!(bad.parse::<InboxId>(), Err(InboxError), "{bad:?}");
        }
    }
}
