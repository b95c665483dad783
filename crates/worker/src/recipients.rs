//! Which inboxes the envelope recipients of a mail stand for.

use std::collections::BTreeSet;

use extract::FromAddress;
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

/// No provider states a sender in more bytes than this.
const LONGEST_SENDER: usize = 2_000;

/// Whether the provider states another sender than the message itself, or several. False when
/// it states no address, or the message has none.
pub(crate) fn is_other_sender(stated: Option<&str>, own: &FromAddress) -> bool {
    let (Some(stated), Some(domain)) = (stated, own.domain.as_deref()) else {
        return false;
    };
    if !stated.contains('@') {
        return false;
    }
    let is_own = |address: &String| {
        let parts = address.rsplit_once('@');
        parts.is_some_and(|(_, stated)| normalized(stated) == domain)
            && own.address.as_ref().is_none_or(|own| is_same(address, own))
    };
    let addresses: Vec<String> = match stated.len() {
        0..=LONGEST_SENDER => extract::mailboxes(stated.as_bytes()),
        _ => Vec::new(),
    };
    // A name alone is no address, and what is not read as any may be another one.
    let mut addresses = addresses.iter().filter(|address| address.contains('@'));
    let first = addresses.next();
    first.is_none_or(|first| !is_own(first)) || !addresses.all(is_own)
}

/// Whether both addresses have the same name in front of their domain.
fn is_same(stated: &str, own: &str) -> bool {
    let name = |address: &str| {
        address
            .rsplit_once('@')
            .map(|(name, _)| name.to_lowercase())
    };
    name(stated) == name(own)
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
        let own = |address: &str| FromAddress {
            address: Some(address.to_owned()).filter(|address| !address.contains('"')),
            domain: address
                .rsplit_once('@')
                .map(|(_, domain)| domain.to_owned()),
            is_plain: true,
        };
        let other = |stated| is_other_sender(Some(stated), &own("a@b.test"));
        for same in [
            "A@B.test",
            "Shop <a@b.test>",
            "\"x <c@d.test>\" <a@b.test>",
            "Acme, Inc. <a@b.test>",
            "Shop",
            "",
        ] {
            assert!(!other(same), "{same}");
        }
        assert!(other("c@d.test"));
        for several in [
            "a@b.test <c@d.test>",
            "a@b.test, c@d.test",
            "c@d.test, <a@b.test>",
            "shops: a@b.test;",
        ] {
            assert!(other(several), "{several}");
        }
        assert!(other(&format!("{} <a@b.test>", "x".repeat(10_000))));
        assert!(!is_other_sender(None, &own("a@b.test")));
        assert!(!is_other_sender(Some("c@d.test"), &FromAddress::default()));
        // An address that is not shown still has a domain.
        let odd = own("\"a b\"@b.test");
        assert!(is_other_sender(Some("c@d.test"), &odd));
        assert!(!is_other_sender(Some("\"a b\"@b.test"), &odd));
        let idn = own("a@xn--bcher-kva.de");
        assert!(!is_other_sender(Some("a@bücher.de"), &idn));
        assert!(is_other_sender(Some("a@bucher.de"), &idn));
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
