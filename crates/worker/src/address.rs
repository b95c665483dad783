//! From envelope recipients to inboxes.

use std::collections::BTreeSet;

use pipeline::{Expectation, InboxId};

/// Which addresses become inboxes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InboxPolicy {
    /// Every address; the default of the embedded profile.
    AnyDomain,
    /// Addresses at these domains.
    Domains(BTreeSet<String>),
}

impl InboxPolicy {
    /// The policy behind a list of domains; `*` stands for every one.
    pub fn from_domains<'a>(domains: impl IntoIterator<Item = &'a str>) -> Self {
        let domains: BTreeSet<String> = domains.into_iter().map(str::to_ascii_lowercase).collect();
        if domains.contains("*") {
            Self::AnyDomain
        } else {
            Self::Domains(domains)
        }
    }

    fn accepts(&self, inbox: &InboxId) -> bool {
        match self {
            Self::AnyDomain => true,
            Self::Domains(domains) => domains.contains(inbox.domain()),
        }
    }

    /// The inbox that an address means: the one that is there, or else the one
    /// that a first mail makes, which has no tag. None where a first mail makes
    /// none.
    pub(crate) fn inbox(&self, expected: &Expectation) -> Option<InboxId> {
        let untagged = || expected.address.untagged();
        let made = || self.accepts(&expected.address).then(untagged);
        expected.inbox.clone().or_else(made)
    }
}

/// The recipients that can be inboxes at all, each once.
pub(crate) fn addresses(recipients: &[String]) -> Vec<InboxId> {
    let addresses: BTreeSet<InboxId> = recipients
        .iter()
        .filter_map(|recipient| recipient.trim().parse().ok())
        .collect();
    addresses.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use pipeline::InboxRules;

    use super::*;

    /// What a first mail to each of the recipients makes.
    fn made(policy: &InboxPolicy, recipients: &[&str]) -> Vec<String> {
        let recipients: Vec<String> = recipients.iter().map(ToString::to_string).collect();
        let unknown = |address| Expectation {
            address,
            inbox: None,
            rules: InboxRules::default(),
            is_expired: false,
            attempts: Vec::new(),
        };
        addresses(&recipients)
            .into_iter()
            .filter_map(|address| policy.inbox(&unknown(address)))
            .map(|inbox| inbox.to_string())
            .collect()
    }

    #[test]
    fn only_configured_domains_become_inboxes() {
        let policy = InboxPolicy::from_domains(["Inbox.test"]);
        let recipients = [
            "A@inbox.test",
            "b@other.test",
            "a@INBOX.test",
            "c@sub.inbox.test",
        ];
        assert_eq!(made(&policy, &recipients), ["a@inbox.test"]);
    }

    #[test]
    fn a_star_takes_every_well_formed_address() {
        let policy = InboxPolicy::from_domains(["*"]);
        let recipients = ["b@x.test", "not an address", "a@y.test", "\"a b\"@x.test"];
        assert_eq!(made(&policy, &recipients), ["a@y.test", "b@x.test"]);
    }

    #[test]
    fn a_first_mail_to_a_tagged_address_makes_the_inbox_without_it() {
        let policy = InboxPolicy::from_domains(["inbox.test"]);
        assert_eq!(made(&policy, &["a+7@inbox.test"]), ["a@inbox.test"]);
    }

    #[test]
    fn an_inbox_that_is_there_is_meant_whatever_its_domain() {
        let policy = InboxPolicy::from_domains(["inbox.test"]);
        let inbox: InboxId = "a+7@elsewhere.test".parse().unwrap();
        let expected = Expectation {
            address: inbox.clone(),
            inbox: Some(inbox.clone()),
            rules: InboxRules::default(),
            is_expired: false,
            attempts: Vec::new(),
        };
        assert_eq!(policy.inbox(&expected), Some(inbox));
    }
}
