//! Which inboxes a source can bring mail for, as far as its settings say: an
//! awaited inbox makes these sources be asked and no others.

use pipeline::InboxId;
use providers::{Source, SourceSettings};

/// The inboxes whose mail a source may have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Carried {
    /// Those of these domains; of all when there is none.
    domains: Vec<String>,
    /// Those that these addresses mean; all when nothing is said.
    addresses: Option<Vec<InboxId>>,
}

impl Carried {
    /// What the settings of a polled source say.
    pub(crate) fn of(source: &Source, settings: &SourceSettings) -> Self {
        let poll = settings.poll.as_ref();
        let named = match source.provider() {
            // An inbox's id there is its address, and its mail is for nobody else.
            "agentmail" => poll.map(|poll| poll.accounts.as_slice()),
            "mailhook" => Some(settings.recipient.as_slice()),
            _ => poll.map(|poll| poll.deliver_to.as_slice()),
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

    /// Whether the inbox's mail may be there.
    pub(crate) fn has(&self, inbox: &InboxId) -> bool {
        let is_at = |domain: &String| domain == inbox.domain();
        // A tagged address means its inbox without the tag, unless there is one
        // with it.
        let means = |address: &InboxId| address == inbox || address.untagged() == *inbox;
        let is_of_domain = self.domains.is_empty() || self.domains.iter().any(is_at);
        let named = self.addresses.as_ref();
        is_of_domain && named.is_none_or(|named| named.iter().any(means))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(domains: &[&str], named: &[&str], inbox: &str) -> bool {
        let texts =
            |list: &[&str]| -> Vec<String> { list.iter().map(ToString::to_string).collect() };
        Carried::new(&texts(domains), &texts(named)).has(&inbox.parse().unwrap())
    }

    #[test]
    fn a_source_that_names_nothing_may_have_anybodys_mail() {
        assert!(has(&[], &[], "a@inbox.test"));
    }

    #[test]
    fn a_source_of_some_domains_has_the_mail_of_their_inboxes_alone() {
        assert!(has(&["inbox.test", "x.test"], &[], "a@inbox.test"));
        assert!(!has(&["inbox.test"], &[], "a@other.test"));
        assert!(!has(&["inbox.test"], &[], "a@sub.inbox.test"));
    }

    #[test]
    fn a_source_whose_mail_is_all_for_some_has_theirs_alone() {
        assert!(has(&[], &["A@inbox.test"], "a@inbox.test"));
        assert!(has(&[], &["a+tag@inbox.test"], "a@inbox.test"));
        assert!(!has(&[], &["a@inbox.test"], "b@inbox.test"));
        assert!(!has(&["x.test"], &["a@inbox.test"], "a@inbox.test"));
        assert!(!has(&[], &["no address"], "a@inbox.test"));
    }
}
