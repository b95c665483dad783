//! An inbox: the address an agent waits on.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::{ConsumerId, OpenAttempt, Request, Timestamp};

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

    /// The address without its `+tag`; itself when it has none.
    #[must_use]
    pub fn untagged(&self) -> Self {
        let plain = self.0.split_once('@').and_then(|(local, domain)| {
            let (name, _tag) = local.split_once('+')?;
            (!name.is_empty()).then(|| Self(format!("{name}@{domain}")))
        });
        plain.unwrap_or_else(|| self.clone())
    }
}

/// What was chosen for an inbox; what was not is the operator's default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InboxRules {
    /// Domains that a sender may have, they or one below; none named: any.
    pub senders: Vec<String>,
    /// Whether mail is kept back unless its sender is proven.
    pub needs_proof: bool,
    /// Where a link may lead, in the words of the allowlist.
    pub links: Option<Vec<String>>,
    /// For how long an artifact may be consumed after its mail was received.
    pub lifetime: Option<Duration>,
}

/// An inbox that is not there yet.
#[derive(Debug, Clone)]
pub struct NewInbox {
    /// Its address.
    pub inbox: InboxId,
    /// Whose it is.
    pub owner: ConsumerId,
    /// The request it is made by, if its sender has a word for that.
    pub asked: Option<Request>,
    /// What was chosen for it.
    pub rules: InboxRules,
    /// The owner's notes, as JSON; shown to the owner alone.
    pub metadata: Option<String>,
    /// For how long it takes mail; for ever when not said.
    pub expires_in: Option<Duration>,
    /// For how long its items are kept; the operator's default when not said.
    pub retention: Option<Duration>,
}

/// What is known of an inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxView {
    /// Its address.
    pub inbox: InboxId,
    /// Whose it is; nobody's when a first mail made it.
    pub owner: Option<String>,
    /// What was chosen for it.
    pub rules: InboxRules,
    /// The owner's notes, as JSON.
    pub metadata: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it takes no mail.
    pub expires_at: Option<Timestamp>,
    /// Whether that moment has passed.
    pub is_expired: bool,
    /// For how long its items are kept.
    pub retention: Option<Duration>,
}

/// What the worker has to know of an address that mail was sent to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// The address as the envelope has it.
    pub address: InboxId,
    /// The inbox it stands for: itself, or itself without its `+tag`; `None`
    /// when there is neither yet.
    pub inbox: Option<InboxId>,
    /// What was chosen for the inbox.
    pub rules: InboxRules,
    /// Whether the inbox takes no mail any more.
    pub is_expired: bool,
    /// Who waits there, the longest first.
    pub attempts: Vec<OpenAttempt>,
}

impl Expectation {
    /// Where the links of an attempt there may lead: where both it and the inbox let
    /// them; `None` leaves it to the operator.
    pub fn links_of(&self, attempt: &OpenAttempt) -> Option<Vec<String>> {
        match (&attempt.rules.links, &self.rules.links) {
            (Some(own), Some(inbox)) => Some(common(own, inbox)),
            (own, inbox) => own.clone().or_else(|| inbox.clone()),
        }
    }
}

/// The entries of two allowlists that both admit: of two that overlap the narrower.
fn common(ones: &[String], others: &[String]) -> Vec<String> {
    let under = |entry: &String, list: &[String]| list.iter().any(|it| lies_under(entry, it));
    let kept = ones.iter().filter(|one| under(one, others));
    let others = others.iter().filter(|other| under(other, ones));
    let mut common: Vec<String> = kept.chain(others).cloned().collect();
    common.sort();
    common.dedup();
    common
}

/// Whether an entry of an allowlist admits nothing that `over` does not: it is the same
/// one, a path of the same host, or lies below `*.domain`.
pub fn lies_under(entry: &str, over: &str) -> bool {
    let host = entry.split('/').next().unwrap_or(entry);
    let is_below = over.strip_prefix("*.").is_some_and(|domain| {
        let rest = host.strip_suffix(domain);
        rest.is_some_and(|rest| rest.ends_with('.'))
    });
    entry == over || host == over || is_below
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

/// An address in lower case, its domain in ASCII: a name in another script has one
/// spelling there, whichever of the two forms it came in.
fn folded(text: &str) -> Option<String> {
    match text.split_once('@') {
        Some((local, domain)) if !domain.is_ascii() => {
            let ascii = idna::domain_to_ascii_strict(domain).ok()?;
            Some(format!("{}@{ascii}", local.to_ascii_lowercase()))
        }
        _ => Some(text.to_ascii_lowercase()),
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
    fn an_entry_lies_under_its_own_domain_and_no_other() {
        assert!(lies_under("example.com", "example.com"));
        assert!(lies_under("*.example.com", "*.example.com"));
        assert!(lies_under("login.example.com", "*.example.com"));
        assert!(lies_under("*.a.example.com", "*.example.com"));
        assert!(lies_under("a.example.com/verify/", "*.example.com"));
        assert!(lies_under("example.com/verify/", "example.com"));
        for (entry, over) in [
            ("*.example.com", "example.com"),
            ("example.com", "*.example.com"),
            ("badexample.com", "*.example.com"),
            ("a.example.com", "example.com"),
            ("evil.test/x.example.com", "*.example.com"),
        ] {
            assert!(!lies_under(entry, over), "{entry} under {over}");
        }
    }

    #[test]
    fn of_two_lists_of_links_the_narrower_entries_stay() {
        let list = |words: &str| -> Vec<String> { words.split(' ').map(str::to_owned).collect() };
        for (ones, others, both) in [
            ("bank.com", "bank.com", "bank.com"),
            ("a.bank.com shop.com", "*.bank.com", "a.bank.com"),
            (
                "*.bank.com",
                "a.bank.com b.bank.com/x/",
                "a.bank.com b.bank.com/x/",
            ),
        ] {
            assert_eq!(common(&list(ones), &list(others)), list(both));
            assert_eq!(common(&list(others), &list(ones)), list(both));
        }
        assert!(common(&list("shop.com"), &list("bank.com")).is_empty());
    }

    #[test]
    fn a_domain_in_another_script_is_its_ascii_form() {
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
    fn a_tag_is_left_out_and_nothing_else_is() {
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
