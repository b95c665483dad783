//! Which inboxes a polled source can hold mail for, by its settings. When an inbox is
//! awaited, only the sources that can hold its mail are polled.

use pipeline::InboxId;
use providers::{InboxSetting, Source, SourceSettings};

/// The inboxes whose mail a source can hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct InboxFilter {
    /// The domains of these inboxes; any if empty.
    domains: Vec<String>,
    /// The addresses of these inboxes; any if `None`.
    addresses: Option<Vec<InboxId>>,
}

impl InboxFilter {
    /// The inboxes that a source's settings name.
    pub(crate) fn of(source: &Source, settings: &SourceSettings) -> Self {
        let poll = settings.poll.as_ref();
        let named = match source.contract().polling.map(|polling| polling.inboxes) {
            Some(InboxSetting::Accounts) => poll.map(|poll| poll.accounts.as_slice()),
            Some(InboxSetting::Recipient) => Some(settings.recipient.as_slice()),
            Some(InboxSetting::DeliverTo) | None => poll.map(|poll| poll.deliver_to.as_slice()),
        };
        let domains = source.domains().unwrap_or_default();
        Self::new(domains, named.unwrap_or_default())
    }

    fn new(domains: &[String], named: &[String]) -> Self {
        let addresses = named.iter().filter_map(|one| one.trim().parse().ok());
        Self {
            domains: domains.to_vec(),
            addresses: (!named.is_empty()).then(|| addresses.collect()),
        }
    }

    /// Whether the source can hold mail for this inbox.
    pub(crate) fn includes(&self, inbox: &InboxId) -> bool {
        let is_at = |domain: &String| domain == inbox.domain();
        // `a+tag@…` delivers to the inbox `a@…`, unless the tagged inbox exists.
        let means = |address: &InboxId| address == inbox || address.untagged() == *inbox;
        let is_of_domain = self.domains.is_empty() || self.domains.iter().any(is_at);
        let named = self.addresses.as_ref();
        is_of_domain && named.is_none_or(|named| named.iter().any(means))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn includes(domains: &[&str], named: &[&str], inbox: &str) -> bool {
        let texts =
            |list: &[&str]| -> Vec<String> { list.iter().map(ToString::to_string).collect() };
        InboxFilter::new(&texts(domains), &texts(named)).includes(&inbox.parse().unwrap())
    }

    #[test]
    fn source_without_domains_and_addresses_includes_every_inbox() {
        assert!(includes(&[], &[], "a@inbox.test"));
    }

    #[test]
    fn source_with_domains_includes_only_their_inboxes() {
        assert!(includes(&["inbox.test", "x.test"], &[], "a@inbox.test"));
        assert!(!includes(&["inbox.test"], &[], "a@other.test"));
        assert!(!includes(&["inbox.test"], &[], "a@sub.inbox.test"));
    }

    #[test]
    fn source_with_addresses_includes_only_these_inboxes() {
        assert!(includes(&[], &["A@inbox.test"], "a@inbox.test"));
        assert!(includes(&[], &["a+tag@inbox.test"], "a@inbox.test"));
        assert!(!includes(&[], &["a@inbox.test"], "b@inbox.test"));
        assert!(!includes(&["x.test"], &["a@inbox.test"], "a@inbox.test"));
        assert!(!includes(&[], &["no address"], "a@inbox.test"));
    }
}
