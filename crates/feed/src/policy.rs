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
const MOST_ENTRIES: usize = 50;

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
    /// How long the oldest delivery may lie unprocessed before an attempt that
    /// hears nothing is told so.
    pub unhealthy_after: Duration,
}

impl Policy {
    /// The lists of an attempt or an inbox, senders in lower case, if both may be
    /// named.
    pub(crate) fn lists(
        &self,
        from: &[String],
        links: Option<Vec<String>>,
    ) -> Option<(Vec<String>, Option<Vec<String>>)> {
        let senders: Vec<String> = from.iter().map(|d| d.to_ascii_lowercase()).collect();
        let entries = links.as_deref().unwrap_or_default();
        let fits = senders.len() <= MOST_ENTRIES
            && entries.len() <= MOST_ENTRIES
            && senders.iter().all(|domain| is_domain(domain))
            && self.allows_links(entries);
        fits.then_some((senders, links))
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

/// Whether a text is a domain that an address can have.
fn is_domain(text: &str) -> bool {
    text.contains('.') && format!("any@{text}").parse::<InboxId>().is_ok()
}
