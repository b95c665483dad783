//! An inbox: an address that an agent waits on.

mod address;

use std::time::Duration;

use crate::{ConsumerId, InboundRule, OpenAttempt, Request, Timestamp};

pub use address::{InboxError, InboxId};
pub(crate) use address::{folded, is_host};

/// The settings of an inbox. For those that are not set the operator's defaults apply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InboxRules {
    /// Allowed sender domains, including their subdomains. Empty: any domain.
    pub senders: Vec<String>,
    /// Whether values are withheld unless the sender is proven.
    pub needs_proof: bool,
    /// Allowlist entries for links.
    pub links: Option<Vec<String>>,
    /// For how long an artifact may be consumed after its mail was received.
    pub lifetime: Option<Duration>,
}

/// An inbox that is not created yet.
#[derive(Debug, Clone)]
pub struct NewInbox {
    /// Its address.
    pub inbox: InboxId,
    /// Its owner.
    pub owner: ConsumerId,
    /// The request that creates it, if it has an idempotency key.
    pub asked: Option<Request>,
    /// Its settings.
    pub rules: InboxRules,
    /// The owner's notes, as JSON. Only the owner sees them.
    pub metadata: Option<String>,
    /// For how long it accepts mail. `None`: without end.
    pub expires_in: Option<Duration>,
    /// For how long its items are kept. `None`: the operator's default.
    pub retention: Option<Duration>,
}

/// What is known of an inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxView {
    /// Its address.
    pub inbox: InboxId,
    /// Its owner. `None` when the first mail to the address created it.
    pub owner: Option<String>,
    /// Its settings.
    pub rules: InboxRules,
    /// The owner's notes, as JSON.
    pub metadata: Option<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it expires; from then on it accepts no mail.
    pub expires_at: Option<Timestamp>,
    /// Whether it has expired.
    pub is_expired: bool,
    /// For how long its items are kept.
    pub retention: Option<Duration>,
}

/// What the worker needs to know about an address that mail was sent to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// The address in the envelope.
    pub address: InboxId,
    /// The inbox it belongs to: the inbox with this address, or with this address
    /// without its `+tag`. `None` when neither exists yet.
    pub inbox: Option<InboxId>,
    /// The owner of the inbox.
    pub owner: Option<String>,
    /// The settings of the inbox.
    pub rules: InboxRules,
    /// The inbox's own rules for mail, in order.
    pub inbound: Vec<InboundRule>,
    /// Whether the inbox no longer accepts mail.
    pub is_expired: bool,
    /// The attempts that wait on the inbox, oldest first.
    pub attempts: Vec<OpenAttempt>,
}

impl Expectation {
    /// The allowlist for the links of an attempt: what both the attempt and the inbox
    /// allow. `None`: the operator's list applies.
    pub fn links_of(&self, attempt: &OpenAttempt) -> Option<Vec<String>> {
        match (&attempt.rules.links, &self.rules.links) {
            (Some(own), Some(inbox)) => Some(common(own, inbox)),
            (own, inbox) => own.clone().or_else(|| inbox.clone()),
        }
    }
}

/// The intersection of two allowlists: of two entries that overlap, the narrower one.
fn common(ones: &[String], others: &[String]) -> Vec<String> {
    let under = |entry: &String, list: &[String]| list.iter().any(|it| lies_under(entry, it));
    let kept = ones.iter().filter(|one| under(one, others));
    let others = others.iter().filter(|other| under(other, ones));
    let mut common: Vec<String> = kept.chain(others).cloned().collect();
    common.sort();
    common.dedup();
    common
}

/// Whether everything that the allowlist entry `entry` allows is also allowed by `over`:
/// it is the same entry, a path of the same host, or a host below `*.domain`.
pub fn lies_under(entry: &str, over: &str) -> bool {
    let host = entry.split('/').next().unwrap_or(entry);
    let is_below = over.strip_prefix("*.").is_some_and(|domain| {
        let rest = host.strip_suffix(domain);
        rest.is_some_and(|rest| rest.ends_with('.'))
    });
    entry == over || host == over || is_below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_lies_under_its_own_domain_and_no_other() {
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
    fn intersection_of_two_lists_keeps_the_narrower_entries() {
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
}
