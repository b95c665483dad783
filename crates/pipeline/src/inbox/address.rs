//! The address of an inbox.

use std::fmt;
use std::str::FromStr;

/// The address of an inbox, in the bounded form that may be shown to an agent.
///
/// Anybody can send mail and choose its recipients, so an address is untrusted text until
/// it is parsed into this type: lower case, no quoting, no Unicode, no spaces.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InboxId(String);

/// The text is not a valid address for an inbox.
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

    /// The address without its `+tag`, or unchanged when it has none.
    #[must_use]
    pub fn untagged(&self) -> Self {
        let plain = self.0.split_once('@').and_then(|(local, domain)| {
            let (name, _tag) = local.split_once('+')?;
            (!name.is_empty()).then(|| Self(format!("{name}@{domain}")))
        });
        plain.unwrap_or_else(|| self.clone())
    }
}

impl FromStr for InboxId {
    type Err = InboxError;

    fn from_str(text: &str) -> Result<Self, InboxError> {
        let text = folded(text).ok_or(InboxError)?;
        let (local, domain) = text.split_once('@').ok_or(InboxError)?;
        let local_fits = (1..=64).contains(&local.len())
            && local
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"._%+=-".contains(&b));
        let fits = local_fits && is_host(domain);
        fits.then_some(Self(text)).ok_or(InboxError)
    }
}

/// The address in lower case with its domain in ASCII, so that an internationalised
/// domain has one spelling, whichever form was sent.
pub(crate) fn folded(text: &str) -> Option<String> {
    match text.split_once('@') {
        Some((local, domain)) if !domain.is_ascii() => {
            let ascii = idna::domain_to_ascii_strict(domain).ok()?;
            Some(format!("{}@{ascii}", local.to_ascii_lowercase()))
        }
        _ => Some(text.to_ascii_lowercase()),
    }
}

pub(crate) fn is_host(domain: &str) -> bool {
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
    fn address_is_parsed_to_lower_case() {
        let inbox: InboxId = "Agent+1@Inbox.TEST".parse().unwrap();
        assert_eq!(inbox.as_str(), "agent+1@inbox.test");
        assert_eq!(inbox.domain(), "inbox.test");
    }

    #[test]
    fn internationalised_domain_is_parsed_to_its_ascii_form() {
        for (text, address) in [
            ("a@bücher.de", "a@xn--bcher-kva.de"),
            ("A+1@BÜCHER.de", "a+1@xn--bcher-kva.de"),
            ("a@xn--bcher-kva.de", "a@xn--bcher-kva.de"),
            ("a@例え.テスト", "a@xn--r8jz45g.xn--zckzah"),
        ] {
            assert_eq!(text.parse::<InboxId>().unwrap().as_str(), address);
        }
    }

    #[test]
    fn untagged_removes_only_the_tag() {
        for (address, plain) in [
            ("agent+7@inbox.test", "agent@inbox.test"),
            ("agent+a+b@inbox.test", "agent@inbox.test"),
            ("agent@inbox.test", "agent@inbox.test"),
            ("+7@inbox.test", "+7@inbox.test"),
        ] {
            let inbox: InboxId = address.parse().unwrap();
            assert_eq!(inbox.untagged().as_str(), plain);
        }
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
            "ü@bücher.de",
            "a@bü cher.de",
            "a@bü/cher.de",
            "a@bücher.de\n",
            "a@bü\u{202e}cher.de",
            "a@xn--\u{fc}.de",
        ] {
            assert_eq!(bad.parse::<InboxId>(), Err(InboxError), "{bad:?}");
        }
    }
}
