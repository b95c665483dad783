//! One mail, decided once under the allowlist of the operator and once under that of each
//! inbox and attempt that waits for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use extract::{Allowlist, Decision, Extraction, FromAddress, Identity, Policy, ReplyHeaders};
use pipeline::Reason;

use crate::failure::Failure;
use crate::parser_threads::{Parsed, ParsedMail, ParserThreads};
use crate::settings::Settings;

/// A list of link hosts; `None` is the operator's own.
pub(crate) type LinkList = Option<Vec<String>>;

/// A mail that was parsed once, with one decision for each allowlist.
pub(crate) struct Decisions {
    pub(crate) identity: Identity,
    pub(crate) sender: FromAddress,
    pub(crate) reply: ReplyHeaders,
    by_list: BTreeMap<LinkList, Decision>,
    /// The decision for a list that `of` was not given: everything is withheld.
    closed: Decision,
}

impl Decisions {
    /// Parses a mail and decides it under each list.
    pub(crate) async fn of(
        threads: &ParserThreads,
        settings: &Settings,
        raw: Arc<Vec<u8>>,
        lists: BTreeSet<LinkList>,
    ) -> Result<Self, Failure> {
        let policies = lists
            .iter()
            .map(|list| policy(list, &settings.policy))
            .collect();
        let parsed = threads.parse(raw, policies, settings.parse_budget).await;
        let ParsedMail {
            identity,
            sender,
            reply,
            decisions,
        } = *mail(parsed)?;
        let nothing = extract::AbstainReason::HostNotAllowed;
        Ok(Self {
            identity,
            sender,
            reply,
            by_list: lists.into_iter().zip(decisions).collect(),
            closed: Decision {
                flags: Vec::new(),
                code: Extraction::Withheld(nothing),
                link: Extraction::Withheld(nothing),
                refused_host: None,
            },
        })
    }

    /// What the mail holds under a list.
    pub(crate) fn under(&self, list: &LinkList) -> &Decision {
        self.by_list.get(list).unwrap_or(&self.closed)
    }
}

/// Lists are checked when they are set. If this version refuses a list that an earlier
/// one accepted, the operator's own list replaces it.
fn policy(list: &LinkList, operators: &Policy) -> Policy {
    let links = list.as_ref().and_then(|list| Allowlist::parse(list).ok());
    Policy {
        links: links.unwrap_or_else(|| operators.links.clone()),
        threshold: operators.threshold,
    }
}

fn mail(parsed: Parsed) -> Result<Box<ParsedMail>, Failure> {
    let permanent = |slug| Err(Failure::permanent(Reason::new(slug)));
    match parsed {
        Parsed::Mail(mail) => Ok(mail),
        Parsed::Refused(refusal) => permanent(refusal.reason()),
        Parsed::Panicked => permanent("parser_panicked"),
        // The step budget decides whether a mail is too costly. Time runs out only on a
        // machine that is too busy, so the mail is tried again.
        Parsed::TooSlow => Err(Failure::transient(Reason::new("parser_too_slow"))),
        Parsed::NoThread => Err(Failure::transient(Reason::new("no_thread"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempts_own_list_keeps_the_operators_threshold() {
        let operators = Policy {
            threshold: 90,
            ..Policy::default()
        };
        for list in [None, Some(vec!["example.com".to_owned()])] {
            assert_eq!(policy(&list, &operators).threshold, 90);
        }
    }
}
