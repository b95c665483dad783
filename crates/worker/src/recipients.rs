//! Which inboxes the envelope recipients of a mail stand for.

use std::collections::BTreeSet;

use pipeline::{Expectation, InboxId};

/// Which addresses become inboxes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InboxPolicy {
    /// Every address. The default of the embedded profile.
    AnyDomain,
    /// Addresses at these domains.
    Domains(BTreeSet<String>),
}

impl InboxPolicy {
    /// The policy for a list of domains; `*` means every domain.
    pub fn from_domains<'a>(domains: impl IntoIterator<Item = &'a str>) -> Self {
        let domains: BTreeSet<String> = domains.into_iter().map(normalized).collect();
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

    /// The inbox of an address: the existing one, or the one that a first mail
    /// creates, which has no tag. `None` when the policy does not accept the domain.
    pub(crate) fn inbox(&self, expected: &Expectation) -> Option<InboxId> {
        let untagged = || expected.address.untagged();
        let created = || self.accepts(&expected.address).then(untagged);
        expected.inbox.clone().or_else(created)
    }
}

/// A domain in the form that inbox addresses use. Text that is not a domain is
/// returned unchanged and matches nothing.
fn normalized(domain: &str) -> String {
    let address: Result<InboxId, _> = format!("any@{domain}").parse();
    address.map_or_else(|_none| domain.to_owned(), |it| it.domain().to_owned())
}

/// The recipients that are valid addresses, each once. For a source that is bound
/// to domains, only those at its domains.
pub(crate) fn addresses(recipients: &[String], domains: Option<&[String]>) -> Vec<InboxId> {
    let is_in_domains = |inbox: &InboxId| {
        domains.is_none_or(|domains| domains.iter().any(|domain| domain == inbox.domain()))
    };
    let addresses: BTreeSet<InboxId> = recipients
        .iter()
        .filter_map(|recipient| recipient.trim().parse().ok())
        .filter(is_in_domains)
        .collect();
    addresses.into_iter().collect()
}

/// Whether the provider states another sender than the message itself. False when
/// either of them is not an address.
pub(crate) fn is_other_sender(stated: Option<&str>, own: Option<&str>) -> bool {
    let (Some(stated), Some(own)) = (stated, own) else {
        return false;
    };
    let address = match stated.rsplit_once('<') {
        Some((_, rest)) => rest.split('>').next().unwrap_or_default(),
        None => stated,
    };
    let address = address.trim();
    address.contains('@') && !address.eq_ignore_ascii_case(own)
}

#[cfg(test)]
mod tests {
    use pipeline::InboxRules;

    use super::*;

    /// The inboxes that a first mail to these recipients creates.
    fn created(policy: &InboxPolicy, recipients: &[&str]) -> Vec<String> {
        let recipients: Vec<String> = recipients.iter().map(ToString::to_string).collect();
        let unknown = |address| Expectation {
            address,
            inbox: None,
            owner: None,
            rules: InboxRules::default(),
            inbound: Vec::new(),
            is_expired: false,
            attempts: Vec::new(),
        };
        addresses(&recipients, None)
            .into_iter()
            .filter_map(|address| policy.inbox(&unknown(address)))
            .map(|inbox| inbox.to_string())
            .collect()
    }

    #[test]
    fn only_addresses_at_configured_domains_become_inboxes() {
        let policy = InboxPolicy::from_domains(["Inbox.test"]);
        let recipients = [
            "A@inbox.test",
            "b@other.test",
            "a@INBOX.test",
            "c@sub.inbox.test",
        ];
        assert_eq!(created(&policy, &recipients), ["a@inbox.test"]);
    }

    #[test]
    fn idn_recipient_maps_to_the_inbox_in_ascii_form() {
        for domain in ["bücher.de", "xn--bcher-kva.de"] {
            let policy = InboxPolicy::from_domains([domain]);
            let recipients = ["a@Bücher.de", "a@xn--bcher-kva.de", "a@bucher.de"];
            assert_eq!(created(&policy, &recipients), ["a@xn--bcher-kva.de"]);
        }
    }

    #[test]
    fn p8_source_bound_to_domains_drops_recipients_at_other_domains() {
        let own = ["a.test".to_owned(), "c.test".to_owned()];
        let recipients = ["x@a.test", "x@b.test"].map(str::to_owned);
        let found = addresses(&recipients, Some(&own));
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, ["x@a.test"]);
    }

    #[test]
    fn p16_sender_mismatch_is_reported_only_for_a_different_address() {
        let other = |stated| is_other_sender(Some(stated), Some("a@b.test"));
        for same in [
            "A@B.test",
            "Shop <a@b.test>",
            "\"x <c@d.test>\" <a@b.test>",
            "Shop",
            "",
        ] {
            assert!(!other(same), "{same}");
        }
        assert!(other("c@d.test"));
        assert!(other("a@b.test <c@d.test>"));
        assert!(!is_other_sender(None, Some("a@b.test")));
        assert!(!is_other_sender(Some("c@d.test"), None));
    }

    #[test]
    fn star_accepts_every_well_formed_address() {
        let policy = InboxPolicy::from_domains(["*"]);
        let recipients = ["b@x.test", "not an address", "a@y.test", "\"a b\"@x.test"];
        assert_eq!(created(&policy, &recipients), ["a@y.test", "b@x.test"]);
    }

    #[test]
    fn first_mail_to_a_tagged_address_creates_the_untagged_inbox() {
        let policy = InboxPolicy::from_domains(["inbox.test"]);
        assert_eq!(created(&policy, &["a+7@inbox.test"]), ["a@inbox.test"]);
    }

    #[test]
    fn existing_inbox_is_used_whatever_its_domain() {
        let policy = InboxPolicy::from_domains(["inbox.test"]);
        let inbox: InboxId = "a+7@elsewhere.test".parse().unwrap();
        let expected = Expectation {
            address: inbox.clone(),
            inbox: Some(inbox.clone()),
            owner: None,
            rules: InboxRules::default(),
            inbound: Vec::new(),
            is_expired: false,
            attempts: Vec::new(),
        };
        assert_eq!(policy.inbox(&expected), Some(inbox));
    }
}
