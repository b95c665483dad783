//! From envelope recipients to inboxes.

use std::collections::BTreeSet;

use pipeline::InboxId;

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

    /// The inboxes that these recipients mean, each once.
    pub(crate) fn inboxes(&self, recipients: &[String]) -> BTreeSet<InboxId> {
        recipients
            .iter()
            .filter_map(|recipient| recipient.trim().parse::<InboxId>().ok())
            .filter(|inbox| self.accepts(inbox))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(policy: &InboxPolicy, recipients: &[&str]) -> Vec<String> {
        let recipients: Vec<String> = recipients.iter().map(ToString::to_string).collect();
        let inboxes = policy.inboxes(&recipients);
        inboxes.iter().map(ToString::to_string).collect()
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
        assert_eq!(found(&policy, &recipients), ["a@inbox.test"]);
    }

    #[test]
    fn a_star_takes_every_well_formed_address() {
        let policy = InboxPolicy::from_domains(["*"]);
        let recipients = ["b@x.test", "not an address", "a@y.test", "\"a b\"@x.test"];
        assert_eq!(found(&policy, &recipients), ["a@y.test", "b@x.test"]);
    }
}
