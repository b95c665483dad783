//! Reads one mail for all the inboxes it was sent to.

use std::sync::Arc;
use std::time::Duration;

use pipeline::{
    Claim, Expectation, InboundRule, InboxId, NewMessage, Reason, Sender, SenderProof,
    StoredDelivery, Timestamp,
};
use providers::{InboundMail, Source};

use crate::decisions::Decisions;
use crate::deps::Deps;
use crate::failure::Failure;
use crate::handling::Letter;
use crate::minimize::{Minimizer, Recipient, minimize};
use crate::reading::reading;
use crate::recipients::{addresses, is_other_sender};
use crate::routing::{Addressed, Awaited};
use crate::sender::{Evidence, Proof, ProofResult, prove};
use crate::slot::Slot;

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
    let addressed = Addressed::look_up(deps, own_recipients(&mail, origin)?).await?;
    let (is_rebuilt, stated_from, verdict) = (mail.rebuilt, mail.stated_from, mail.sender);
    let raw = Arc::new(mail.raw);
    let terms = addressed.terms();
    let deciding = Decisions::of(&deps.parser_threads, settings, Arc::clone(&raw), terms);
    let decisions = reading(deps, claim, deciding).await?;
    let is_implausible = mail
        .received_at
        .is_some_and(|at| !is_plausible(at, recorded_at));
    let received_at = mail.received_at.filter(|_| !is_implausible);
    let stated = &decisions.sender;
    let letter = Letter::of(deps, &decisions, mail.provider_id.as_deref()).await?;
    let differs = is_other_sender(stated_from.as_deref(), stated);
    let evidence = Evidence {
        raw,
        is_rebuilt,
        verdict: verdict.as_ref(),
        is_contradicted: differs,
        from: stated,
        received_at: received_at.unwrap_or(recorded_at),
        slot,
    };
    let proof = proof(deps, evidence, &addressed).await?;
    let minimizer = Minimizer {
        server_key: &deps.server_key,
        named: mail.provider_id.as_deref().map(|id| (source, id)),
        needs_proof: settings.needs_proof,
        recorded_at,
        received_at: received_at.map(Timestamp::end_of_its_second),
        lifetime: settings.lifetime,
        same_value_window: settings.same_value_window,
    };
    let marks = [
        (differs, "provider_mismatch"),
        (is_implausible, "received_at_odd"),
    ];
    let message = |(inbox, awaited): (&InboxId, &Awaited)| {
        let sender = Sender {
            address: stated.address.clone(),
            domain: stated.domain.clone(),
            proof: proof_for(&proof, &awaited.addresses, origin),
        };
        let recipient = recipient(deps, &addressed, &letter, (inbox, awaited), sender);
        let mut message = minimize(&decisions, recipient, &minimizer);
        let held = marks.iter().filter(|(holds, _)| *holds);
        message
            .flags
            .extend(held.map(|(_, mark)| (*mark).to_owned()));
        let of_provider = mail.flags.iter().map(|flag| (*flag).to_owned());
        message.flags.extend(of_provider);
        message
    };
    Ok(addressed.awaited.iter().map(message).collect())
}

/// The inbox that gets the mail, after its rules.
fn recipient(
    deps: &Deps,
    addressed: &Addressed,
    letter: &Letter<'_>,
    (inbox, awaited): (&InboxId, &Awaited),
    sender: Sender,
) -> Recipient {
    let (settings, expected) = (&deps.settings.replies, &awaited.expected);
    let mut effects = letter.effects(settings, &expected.inbound, &sender, &awaited.addresses);
    let routed = addressed.route(deps, &mut effects, expected);
    let (inbox, expected) = routed.unwrap_or_else(|| (inbox.clone(), expected.clone()));
    let place = (&deps.server_key, &inbox);
    let handled = letter.handled(settings, effects, &sender, place);
    Recipient {
        inbox,
        expected,
        sender,
        handled,
    }
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

/// Whether the sender is proven. While that cannot be found out, mail is retried later if it
/// must be proven or if a rule asks for it: a rule may drop it. Other mail goes on without a
/// proof.
async fn proof(
    deps: &Deps,
    evidence: Evidence<'_>,
    addressed: &Addressed,
) -> Result<Proof, Failure> {
    let ask = |rules: &[InboundRule]| rules.iter().any(InboundRule::asks_for_proof);
    let needs_proof = |expected: &Expectation| {
        let mut attempts = expected.attempts.iter();
        expected.rules.needs_proof
            || attempts.any(|attempt| attempt.rules.needs_proof)
            || ask(&expected.inbound)
    };
    let is_needed = deps.settings.needs_proof
        || ask(&deps.settings.replies.rules)
        || addressed.expectations().any(needs_proof);
    match prove(deps.dkim.as_ref(), evidence).await {
        ProofResult::Known(proof) => Ok(proof),
        ProofResult::NotNow(reason) if is_needed => Err(Failure::upstream(reason)),
        ProofResult::NotNow(reason) => Ok(Proof::missing(reason)),
    }
}

/// Whether the provider's time of receipt can be right. Providers retry for three days
/// at most, and clocks differ by minutes. With a wrong time a good code would already
/// be expired, or never expire.
fn is_plausible(received_at: Timestamp, recorded_at: Timestamp) -> bool {
    recorded_at.since(received_at) <= Duration::from_hours(7 * 24)
        && received_at.since(recorded_at) <= Duration::from_mins(5)
}
