//! How much of a sender an item shows.
//!
//! Anybody can write anything before and after the `@`, and an agent's model reads it. So
//! an item shows the registrable domain alone, and not one that reads as a sentence. A
//! caller who names domains gets those names back, and one who asks for it gets the whole
//! address of a sender that is proven.

use pipeline::{ArtifactView, InboxId};

use crate::http::problem::Problem;
use crate::policy::{Policy, senders};

/// What the caller wants to see of senders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SenderDetail {
    /// The registrable domain.
    #[default]
    Domain,
    /// The whole address, if it is proven.
    Full,
}

/// Which names of senders and hosts are shown.
#[derive(Debug, Clone)]
pub(crate) struct ShownSender {
    policy: Policy,
    /// The domains that the caller named.
    named: Vec<String>,
    detail: SenderDetail,
}

impl ShownSender {
    /// Shows the registrable domain, or the one of these domains that it lies in.
    pub(crate) fn named(policy: &Policy, named: &[String]) -> Self {
        Self {
            policy: policy.clone(),
            named: named.to_vec(),
            detail: SenderDetail::Domain,
        }
    }

    /// By the parameters `from` and `sender` of a request.
    pub(super) fn requested(
        policy: &Policy,
        from: Option<&str>,
        detail: Option<SenderDetail>,
    ) -> Result<Self, Problem> {
        let named: Vec<String> = from
            .map(|list| list.split(',').map(str::to_owned).collect())
            .unwrap_or_default();
        let named = senders(&named).ok_or(Problem::InvalidParameter)?;
        let detail = detail.unwrap_or_default();
        Ok(Self {
            detail,
            ..Self::named(policy, &named)
        })
    }

    /// The address, if the caller asked for it and it is proven.
    pub(super) fn address(&self, view: &ArtifactView) -> Option<InboxId> {
        let address = view.sender.as_deref()?;
        self.is_whole(view).then(|| address.parse().ok()).flatten()
    }

    /// The domain of the sender.
    pub(super) fn domain(&self, view: &ArtifactView) -> Option<String> {
        let domain = view.sender_domain.as_deref()?;
        if self.is_whole(view) {
            return bounded_host(domain);
        }
        let is_in = |entry: &&String| {
            let rest = domain.strip_suffix(entry.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        let own_word = self.named.iter().find(is_in).cloned();
        own_word.or_else(|| bounded_host((self.policy.shown_domain)(domain)?))
    }

    /// The registrable domain of a sender, if it may be shown.
    pub(crate) fn registrable(&self, domain: &str) -> Option<String> {
        bounded_host((self.policy.shown_domain)(domain)?)
    }

    /// The registrable domain of a link's host. Its host passed the allowlist, so this
    /// is a name that the operator or the agent wrote.
    pub(super) fn host(&self, view: &ArtifactView) -> Option<String> {
        let host = view.host.as_deref()?;
        bounded_host((self.policy.registrable)(host)?)
    }

    fn is_whole(&self, view: &ArtifactView) -> bool {
        self.detail == SenderDetail::Full && view.sender_proof.holds()
    }
}

/// A host that is valid as the domain of an address: ASCII letters, digits and
/// hyphens between dots.
fn bounded_host(text: &str) -> Option<String> {
    let address: InboxId = format!("any@{text}").parse().ok()?;
    Some(address.domain().to_owned())
}
