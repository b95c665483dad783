//! Reads one mail for all the inboxes it was sent to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use pipeline::{
    Claim, Expectation, InboxId, NewMessage, Reason, Sender, SenderProof, StoredDelivery, Timestamp,
};
use providers::{InboundMail, Source};

use crate::decisions::{Decisions, LinkList};
use crate::deps::Deps;
use crate::failure::Failure;
use crate::minimize::{Minimizer, Recipient, minimize};
use crate::reading::reading;
use crate::recipients::{addresses, is_other_sender};
use crate::sender::{Evidence, Proof, ProofResult, prove};
use crate::slot::Slot;

/// An inbox that a mail was sent to.
struct Awaited {
    expected: Expectation,
    /// The recipients that belong to the inbox: its address, with or without a `+tag`.
    addresses: Vec<InboxId>,
}

/// Makes one message of the mail for each inbox it was sent to.
pub(crate) async fn read_mail(
    deps: &Deps,
    claim: &Claim,
    delivery: &StoredDelivery,
    mail: InboundMail,
    slot: &mut Slot,
) -> Result<Vec<NewMessage>, Failure> {
    let (source, recorded_at) = (&delivery.source, delivery.recorded_at);
    let settings = &deps.settings;
    let origin = deps.sources.get(source.as_str());
    let awaited = expect(deps, own_recipients(&mail, origin)?).await?;
    let (is_rebuilt, stated_from, verdict) = (mail.rebuilt, mail.stated_from, mail.sender);
    let raw = Arc::new(mail.raw);
    let lists = link_lists(&awaited);
    let deciding = Decisions::of(&deps.parser_threads, settings, Arc::clone(&raw), lists);
    let decisions = reading(deps, claim, deciding).await?;
    let is_implausible = mail
        .received_at
        .is_some_and(|at| !is_plausible(at, recorded_at));
    let received_at = mail.received_at.filter(|_| !is_implausible);
    let stated = &decisions.sender;
    let evidence = Evidence {
        raw,
        is_rebuilt,
        verdict: verdict.as_ref(),
        domain: stated.domain.as_deref(),
        received_at: received_at.unwrap_or(recorded_at),
        slot,
    };
    let proof = proof(deps, evidence, &awaited).await?;
    let minimizer = Minimizer {
        server_key: &deps.server_key,
        named: mail.provider_id.as_deref().map(|id| (source, id)),
        needs_proof: settings.needs_proof,
        recorded_at,
        received_at: received_at.map(Timestamp::end_of_its_second),
        lifetime: settings.lifetime,
        same_value_window: settings.same_value_window,
    };
    let differs = is_other_sender(stated_from.as_deref(), stated.address.as_deref());
    let marks = [
        (differs, "provider_mismatch"),
        (is_implausible, "received_at_odd"),
    ];
    let message = |(inbox, awaited): (InboxId, Awaited)| {
        let sender = Sender {
            address: stated.address.clone(),
            domain: stated.domain.clone(),
            proof: proof_for(&proof, &awaited.addresses, origin),
        };
        let recipient = Recipient {
            inbox,
            expected: awaited.expected,
            sender,
        };
        let mut message = minimize(&decisions, recipient, &minimizer);
        let held = marks.iter().filter(|(holds, _)| *holds);
        message
            .flags
            .extend(held.map(|(_, mark)| (*mark).to_owned()));
        let of_provider = mail.flags.iter().map(|flag| (*flag).to_owned());
        message.flags.extend(of_provider);
        message
    };
    Ok(awaited.into_iter().map(message).collect())
}

/// The recipients at the source's own domains.
fn own_recipients(mail: &InboundMail, origin: Option<&Source>) -> Result<Vec<InboxId>, Failure> {
    let recipients = addresses(&mail.recipients, origin.and_then(Source::domains));
    if recipients.is_empty() && !addresses(&mail.recipients, None).is_empty() {
        return Err(Failure::permanent(Reason::new("not_the_sources_domain")));
    }
    Ok(recipients)
}

/// What the proof of a mail's sender is worth to an inbox. The mail must be addressed to
/// it, or to an address that the operator named for the source.
fn proof_for(proof: &Proof, own: &[InboxId], origin: Option<&Source>) -> SenderProof {
    if origin.is_some_and(Source::accepts_any_addressee) {
        return proof.for_anybody();
    }
    let is_named =
        |addressee: &InboxId| origin.is_some_and(|source| source.accepts_addressee(addressee));
    proof.for_inbox(|addressee| own.contains(addressee) || is_named(addressee))
}

/// Whether the sender is proven. While the DNS is unavailable, mail that must be proven
/// is retried later; other mail goes on without a proof.
async fn proof(
    deps: &Deps,
    evidence: Evidence<'_>,
    awaited: &BTreeMap<InboxId, Awaited>,
) -> Result<Proof, Failure> {
    let needs_proof = |Awaited { expected, .. }: &Awaited| {
        let mut attempts = expected.attempts.iter();
        expected.rules.needs_proof || attempts.any(|attempt| attempt.rules.needs_proof)
    };
    let is_needed = deps.settings.needs_proof || awaited.values().any(needs_proof);
    match prove(deps.dkim.as_ref(), evidence).await {
        ProofResult::Known(proof) => Ok(proof),
        ProofResult::NotNow if is_needed => Err(Failure::upstream(Reason::new("dns_away"))),
        ProofResult::NotNow => Ok(Proof::missing("dns_away")),
    }
}

/// The inboxes of the recipients, each once, and what is expected there.
async fn expect(
    deps: &Deps,
    addresses: Vec<InboxId>,
) -> Result<BTreeMap<InboxId, Awaited>, Failure> {
    let expectations = deps.work.expectations(&addresses).await;
    let expectations = expectations.map_err(|_unavailable| Failure::store_unavailable())?;
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

/// The allowlists of the inboxes and of their attempts, each once.
fn link_lists(awaited: &BTreeMap<InboxId, Awaited>) -> BTreeSet<LinkList> {
    let of_inbox = |Awaited { expected, .. }: &Awaited| {
        let attempts = expected.attempts.iter();
        let of_attempts = attempts.map(|attempt| expected.links_of(attempt));
        let lists: Vec<LinkList> = of_attempts.collect();
        lists.into_iter().chain([expected.rules.links.clone()])
    };
    awaited.values().flat_map(of_inbox).collect()
}

/// Whether the provider's time of receipt can be right. Providers retry for three days
/// at most, and clocks differ by minutes. With a wrong time a good code would already
/// be expired, or never expire.
fn is_plausible(received_at: Timestamp, recorded_at: Timestamp) -> bool {
    recorded_at.since(received_at) <= Duration::from_hours(7 * 24)
        && received_at.since(recorded_at) <= Duration::from_mins(5)
}
