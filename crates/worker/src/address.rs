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
        let domains: BTreeSet<String> = domains.into_iter().map(folded).collect();
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

/// A domain in the form that the domain of an inbox has; what is none stays as it
/// is and matches nothing.
fn folded(domain: &str) -> String {
    let address: Result<InboxId, _> = format!("any@{domain}").parse();
    address.map_or_else(|_none| domain.to_owned(), |it| it.domain().to_owned())
}

/// The recipients that can be inboxes at all, each once; of a source that is kept
/// to some domains, those at these domains.
pub(crate) fn addresses(recipients: &[String], domains: Option<&[String]>) -> Vec<InboxId> {
    let is_for = |inbox: &InboxId| {
        domains.is_none_or(|domains| domains.iter().any(|domain| domain == inbox.domain()))
    };
    let addresses: BTreeSet<InboxId> = recipients
        .iter()
        .filter_map(|recipient| recipient.trim().parse().ok())
        .filter(is_for)
        .collect();
    addresses.into_iter().collect()
}

/// Whether the provider states another sender than the message's own. Where
/// either is not an address, nothing can be said.
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
        addresses(&recipients, None)
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
    fn a_recipient_in_another_script_reaches_the_inbox_of_its_ascii_form() {
        for domain in ["bücher.de", "xn--bcher-kva.de"] {
            let policy = InboxPolicy::from_domains([domain]);
            let recipients = ["a@Bücher.de", "a@xn--bcher-kva.de", "a@bucher.de"];
            assert_eq!(made(&policy, &recipients), ["a@xn--bcher-kva.de"]);
        }
    }

    #[test]
    fn p8_a_source_reaches_the_inboxes_of_its_own_domains_alone() {
        let own = ["a.test".to_owned(), "c.test".to_owned()];
        let recipients = ["x@a.test", "x@b.test"].map(str::to_owned);
        let found = addresses(&recipients, Some(&own));
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, ["x@a.test"]);
    }

    #[test]
    fn p16_only_another_address_is_another_sender() {
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
