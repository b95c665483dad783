//! What an operator lets agents ask for.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use pipeline::{InboxId, lies_under};
use serde::{Deserialize, Serialize};

/// What a sender must be besides named in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Require {
    /// Proven to be the sender, by the provider or by DKIM.
    Verified,
}

/// How many domains or hosts one list may name.
pub(crate) const MOST_ENTRIES: usize = 50;

/// The bounds of what inboxes and attempts may be.
#[derive(Clone)]
pub struct Policy {
    /// The domain under which addresses are minted.
    pub mint_domain: String,
    /// Where the links of an attempt or an inbox may lead at most, in the words
    /// of the allowlist; `None` sets no bound beside the gate.
    pub link_ceiling: Option<Vec<String>>,
    /// Whether a text can stand in an allowlist of links.
    pub is_link_entry: fn(&str) -> bool,
    /// The callbacks that are configured, by name.
    pub callbacks: BTreeSet<String>,
    /// The longest time an attempt may wait.
    pub longest_attempt: Duration,
    /// How long a delivery that is due may lie unprocessed before an attempt that
    /// hears nothing is told so.
    pub unhealthy_after: Duration,
}

impl Policy {
    /// Where a link may lead, if that may be named.
    pub(crate) fn links(&self, links: &[String]) -> Option<Vec<String>> {
        let links: Option<Vec<String>> = links.iter().map(|entry| folded_entry(entry)).collect();
        let links = links.filter(|links| links.len() <= MOST_ENTRIES);
        links.filter(|links| self.allows_links(links))
    }

    /// Whether a list of links may be named: each can stand in an allowlist,
    /// and lies under the ceiling.
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
            mint_domain: "inbox.test".to_owned(),
            link_ceiling: None,
            is_link_entry: |_| true,
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

/// The domains that a sender may have, as they are compared; `None` if one cannot
/// be.
pub(crate) fn senders(from: &[String]) -> Option<Vec<String>> {
    if from.len() > MOST_ENTRIES {
        return None;
    }
    from.iter().map(|domain| folded(domain)).collect()
}

/// A domain that an address can have, in the form it is compared in: lower case,
/// and a name in another script as its ASCII form.
fn folded(domain: &str) -> Option<String> {
    let address: InboxId = format!("any@{domain}").parse().ok()?;
    let domain = address.domain();
    domain.contains('.').then(|| domain.to_owned())
}

/// An entry of an allowlist with its host in ASCII; what is ASCII stays as it is,
/// for the allowlist judges that itself.
fn folded_entry(entry: &str) -> Option<String> {
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
    Some(format!("{star}{}{path}", folded(host)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_another_script_is_its_ascii_form() {
        let from = ["Bücher.DE", "Example.com"].map(str::to_owned);
        assert_eq!(senders(&from).unwrap(), ["xn--bcher-kva.de", "example.com"]);
        for odd in ["bücher", "bü cher.de", "*.bücher.de", "bücher.de/x", ""] {
            assert_eq!(senders(&[odd.to_owned()]), None, "{odd:?}");
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
