//! Which inboxes a mail was sent to, and to which ones rules may route it.

use std::collections::{BTreeMap, BTreeSet};

use pipeline::{Disposition, Expectation, InboundRule, InboxId, Reason, RuleEffects};

use crate::decisions::Terms;
use crate::deps::Deps;
use crate::failure::Failure;

/// An inbox that a mail was sent to.
pub(crate) struct Awaited {
    pub(crate) expected: Expectation,
    /// The recipients that belong to the inbox: its address, with or without a `+tag`.
    pub(crate) addresses: Vec<InboxId>,
}

/// The inboxes that a mail was sent to, and those that rules may route it to.
pub(crate) struct Addressed {
    pub(crate) awaited: BTreeMap<InboxId, Awaited>,
    targets: BTreeMap<InboxId, Expectation>,
}

impl Addressed {
    /// Looks the recipients up, each inbox once.
    pub(crate) async fn look_up(deps: &Deps, addresses: Vec<InboxId>) -> Result<Self, Failure> {
        let awaited = expect(deps, addresses).await?;
        let routes = |rules: &[InboundRule]| -> Vec<InboxId> {
            rules
                .iter()
                .filter_map(InboundRule::route)
                .cloned()
                .collect()
        };
        let mut wanted: BTreeSet<InboxId> =
            routes(&deps.settings.replies.rules).into_iter().collect();
        for Awaited { expected, .. } in awaited.values() {
            wanted.extend(routes(&expected.inbound));
        }
        let mut targets = BTreeMap::new();
        if !wanted.is_empty() {
            let wanted: Vec<InboxId> = wanted.into_iter().collect();
            for expected in expectations(deps, &wanted).await? {
                targets.insert(expected.address.clone(), expected);
            }
        }
        Ok(Self { awaited, targets })
    }

    /// What is expected at any of these inboxes.
    pub(crate) fn expectations(&self) -> impl Iterator<Item = &Expectation> {
        let awaited = self.awaited.values().map(|awaited| &awaited.expected);
        awaited.chain(self.targets.values())
    }

    /// The terms of the inboxes and of their attempts, each once.
    pub(crate) fn terms(&self) -> BTreeSet<Terms> {
        let mut terms = BTreeSet::new();
        for expected in self.expectations() {
            let attempts = expected.attempts.iter();
            terms.extend(attempts.map(|attempt| Terms::of_attempt(expected, attempt)));
            terms.insert(Terms::of_inbox(expected));
        }
        terms
    }

    /// Where rules route a mail to. A route of an inbox's own rules leads only to inboxes
    /// of the same owner. Without a usable target the mail stays where it is.
    pub(crate) fn route(
        &self,
        deps: &Deps,
        effects: &mut RuleEffects,
        from: &Expectation,
    ) -> Option<(InboxId, Expectation)> {
        let Disposition::Route(target) = &effects.disposition else {
            return None;
        };
        let is_of_inbox = effects
            .applied
            .last()
            .is_some_and(|rule| rule.starts_with("inbox."));
        let target = self
            .targets
            .get(target)
            .filter(|target| !target.is_expired && (!is_of_inbox || from.owner == target.owner));
        let routed = target.and_then(|target| {
            let inbox = deps.settings.inboxes.inbox(target)?;
            Some((inbox, target.clone()))
        });
        if routed.is_none() {
            effects.disposition = Disposition::Keep;
            effects
                .applied
                .push("built_in.route_unusable:keep".to_owned());
        }
        routed
    }
}

/// The inboxes of the recipients, each once, and what is expected there.
async fn expect(
    deps: &Deps,
    addresses: Vec<InboxId>,
) -> Result<BTreeMap<InboxId, Awaited>, Failure> {
    let expectations = expectations(deps, &addresses).await?;
    let is_expired = expectations.iter().any(|expected| expected.is_expired);
    let mut inboxes: BTreeMap<InboxId, Awaited> = BTreeMap::new();
    for expected in expectations.into_iter().filter(|it| !it.is_expired) {
        let Some(inbox) = deps.settings.inboxes.inbox(&expected) else {
            continue;
        };
        let own = [inbox.clone(), expected.address.clone()];
        let addresses = Vec::new();
        let awaited = inboxes.entry(inbox).or_insert(Awaited {
            expected,
            addresses,
        });
        awaited.addresses.extend(own);
    }
    match (inboxes.is_empty(), is_expired) {
        (false, _) => Ok(inboxes),
        (true, true) => Err(Failure::permanent(Reason::new("inbox_expired"))),
        (true, false) => Err(Failure::permanent(Reason::new("inbox_unknown"))),
    }
}

async fn expectations(deps: &Deps, addresses: &[InboxId]) -> Result<Vec<Expectation>, Failure> {
    let expectations = deps.work.expectations(addresses).await;
    expectations.map_err(|error| Failure::of_store(&error))
}
