//! What the operator allows agents to ask for.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use pipeline::{InboxId, lies_under};
use serde::{Deserialize, Serialize};

/// What a sender must be, besides being on the list of domains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Require {
    /// Proven by the provider's own check or by DKIM.
    Verified,
}

/// The most domains or hosts in one list.
pub(crate) const MAX_ENTRIES: usize = 50;

/// The limits on what inboxes and attempts may ask for.
#[derive(Clone)]
pub struct Policy {
    /// The domain of the addresses that the server generates; `None` if no mail to such
    /// an address would arrive, so that none is handed out.
    pub mint_domain: Option<String>,
    /// The hosts that the link list of an attempt or an inbox may name, as
    /// allowlist entries. `None` sets no limit besides the link gate.
    pub link_ceiling: Option<Vec<String>>,
    /// Whether a text is a valid entry of a link allowlist.
    pub is_link_entry: fn(&str) -> bool,
    /// The registrable domain of a host, if it has one.
    pub registrable: fn(&str) -> Option<&str>,
    /// The registrable domain of a sender, if it may be shown to an agent.
    pub shown_domain: fn(&str) -> Option<&str>,
    /// The names of the configured callbacks.
    pub callbacks: BTreeSet<String>,
    /// The longest deadline of an attempt.
    pub longest_attempt: Duration,
    /// How long a due delivery may stay unprocessed before a pending attempt is
    /// reported as `unhealthy`.
    pub unhealthy_after: Duration,
}

impl Policy {
    /// The link list in its stored form; `None` if it is too long or an entry is not
    /// allowed.
    pub(crate) fn links(&self, links: &[String]) -> Option<Vec<String>> {
        let links: Option<Vec<String>> = links.iter().map(|entry| ascii_entry(entry)).collect();
        let links = links.filter(|links| links.len() <= MAX_ENTRIES);
        links.filter(|links| self.allows_links(links))
    }

    /// Whether every entry is a valid allowlist entry below the operator's ceiling.
    fn allows_links(&self, links: &[String]) -> bool {
        links.iter().all(|link| {
            (self.is_link_entry)(link)
                && self
                    .link_ceiling
                    .as_ref()
                    .is_none_or(|ceiling| ceiling.iter().any(|over| lies_under(link, over)))
        })
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            mint_domain: Some("inbox.test".to_owned()),
            link_ceiling: None,
            is_link_entry: |_| true,
            registrable: |host| Some(host),
            shown_domain: |domain| Some(domain),
            callbacks: BTreeSet::new(),
            longest_attempt: Duration::from_hours(24),
            unhealthy_after: Duration::from_secs(10),
        }
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy")
            .field("mint_domain", &self.mint_domain)
            .field("link_ceiling", &self.link_ceiling)
            .finish_non_exhaustive()
    }
}

/// The sender domains in the form in which they are compared; `None` if the list is
/// too long or an entry is not a domain.
pub(crate) fn senders(from: &[String]) -> Option<Vec<String>> {
    if from.len() > MAX_ENTRIES {
        return None;
    }
    from.iter().map(|domain| ascii_domain(domain)).collect()
}

/// The domain in lower case, and an internationalized name in its ASCII form.
fn ascii_domain(domain: &str) -> Option<String> {
    let address: InboxId = format!("any@{domain}").parse().ok()?;
    let domain = address.domain();
    domain.contains('.').then(|| domain.to_owned())
}

/// An allowlist entry with its host in ASCII. An ASCII entry stays as it is, because
/// the allowlist checks it itself.
fn ascii_entry(entry: &str) -> Option<String> {
    if entry.is_ascii() {
        return Some(entry.to_owned());
    }
    let (host, path) = match entry.find('/') {
        Some(place) => entry.split_at_checked(place)?,
        None => (entry, ""),
    };
    let (star, host) = match host.strip_prefix("*.") {
        Some(host) => ("*.", host),
        None => ("", host),
    };
    Some(format!("{star}{}{path}", ascii_domain(host)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn internationalized_domains_are_stored_in_ascii() {
        let from = ["Bücher.DE", "Example.com"].map(str::to_owned);
        assert_eq!(senders(&from).unwrap(), ["xn--bcher-kva.de", "example.com"]);
        for invalid in ["bücher", "bü cher.de", "*.bücher.de", "bücher.de/x", ""] {
            assert_eq!(senders(&[invalid.to_owned()]), None, "{invalid:?}");
        }
        let policy = Policy::default();
        let links = ["*.bücher.de", "bücher.de/prüfen", "Example.com"].map(str::to_owned);
        let links = policy.links(&links).unwrap();
        assert_eq!(
            links,
            [
                "*.xn--bcher-kva.de",
                "xn--bcher-kva.de/prüfen",
                "Example.com"
            ]
        );
        assert_eq!(policy.links(&["bü cher.de".to_owned()]), None);
    }
}
