//! One attempt at one delivery: claim, decode, read, minimize, complete.

use std::sync::Arc;
use std::time::Instant;

use pipeline::{
    Claim, Claimed, Class, Completed, DeliveryId, NewMessage, Processed, Reason, StoredDelivery,
};
use providers::{Decoded, InboundMail, RemoteMail, Source};

use crate::batch;
use crate::deps::Deps;
use crate::failure::Failure;
use crate::give_back::{copy_of, give_back, outage_wait};
use crate::lease;
use crate::outcome::DeliveryOutcome;
use crate::own_mail::note_sent;
use crate::read_mail::read_mail;
use crate::reading::{reading, wait_for_others};
use crate::report::report;
use crate::slot::Slot;

/// Processes one delivery if it can be claimed, and reports the result.
pub(crate) async fn process(deps: &Arc<Deps>, id: DeliveryId, slot: &mut Slot) -> DeliveryOutcome {
    let began = Instant::now();
    let (source, outcome) = match deps.work.claim(id, deps.settings.lease).await {
        Ok(Claimed::Yours(claim, delivery)) => {
            let (source, held) = (delivery.source.to_string(), copy_of(&claim));
            let outcome = tokio::select! {
                biased;
                outcome = attempt(deps, claim, delivery, slot) => outcome,
                never = lease::keep(deps, &held) => match never {},
            };
            (source, outcome)
        }
        Ok(Claimed::Unsealable(claim, why)) => {
            let (class, reason) = (why.class(), why.reason());
            let failure = Failure { class, reason };
            ("-".to_owned(), fail(deps, claim, failure).await)
        }
        Ok(Claimed::NotNow | Claimed::Finished) => ("-".to_owned(), DeliveryOutcome::NotClaimable),
        Err(error) => ("-".to_owned(), DeliveryOutcome::StoreUnavailable(error)),
    };
    report(deps, id, &source, &outcome, began);
    outcome
}

async fn attempt(
    deps: &Arc<Deps>,
    claim: Claim,
    delivery: StoredDelivery,
    slot: &mut Slot,
) -> DeliveryOutcome {
    if deps.settings.backoff.is_exhausted(claim.attempt) {
        return dead_letter(deps, claim, Reason::new("attempts_spent")).await;
    }
    wait_for_others(&claim).await;
    match read(deps, &claim, delivery, slot).await {
        Ok(processed) => complete(deps, claim, processed).await,
        Err(failure) => fail(deps, claim, failure).await,
    }
}

/// Decodes the post and reads each mail in it.
async fn read(
    deps: &Deps,
    claim: &Claim,
    delivery: StoredDelivery,
    slot: &mut Slot,
) -> Result<Processed, Failure> {
    let name = delivery.source.as_str();
    let decoding = async {
        let sources = &deps.sources;
        let decoded = sources.decode(name, &delivery.content_type, &delivery.body);
        // A source that was removed from the configuration may be added again.
        decoded.ok_or_else(|| Failure::transient(Reason::new("source_unknown")))
    };
    let mails = match reading(deps, claim, decoding).await? {
        Ok(Decoded::Mails(mails)) => mails,
        Ok(Decoded::Batch(parts)) => {
            batch::split(deps, &delivery.source, parts).await?;
            return Ok(ignored(Reason::new("batch_split")));
        }
        Ok(Decoded::RemoteMail(remote)) => vec![fetch(deps, name, remote).await?],
        Ok(Decoded::Confirm(confirmation)) => {
            deps.fetcher.confirm(&confirmation).await?;
            return Ok(ignored(Reason::new("subscription_confirmed")));
        }
        Ok(Decoded::Sent(events)) => {
            note_sent(deps, events).await?;
            return Ok(ignored(Reason::new("send_event")));
        }
        Ok(Decoded::Ignored(reason)) => return Ok(ignored(reason)),
        Err(error) => {
            let (class, reason) = (error.class(), error.reason());
            return Err(Failure { class, reason });
        }
    };
    let mut messages = Vec::new();
    for mail in mails {
        messages.extend(read_mail(deps, claim, &delivery, mail, slot).await?);
    }
    let ignored = None;
    Ok(Processed { messages, ignored })
}

/// The result for a delivery that holds no mail, and why it holds none.
fn ignored(reason: Reason) -> Processed {
    Processed {
        messages: Vec::new(),
        ignored: Some(reason),
    }
}

/// Fetches a mail that its webhook post did not carry. Without an API key the
/// delivery is dead-lettered; the operator may set a key and requeue it.
async fn fetch(deps: &Deps, source: &str, remote: RemoteMail) -> Result<InboundMail, Failure> {
    let Some(api) = deps.sources.get(source).and_then(Source::api) else {
        return Err(Failure::permanent(Reason::new("message_not_included")));
    };
    let message = deps.fetcher.fetch(api, &remote).await?;
    Ok(InboundMail {
        recipients: remote.recipients,
        raw: message.raw,
        rebuilt: message.is_rebuilt,
        provider_id: remote.provider_id,
        received_at: remote.received_at,
        stated_from: remote.stated_from,
        sender: remote.sender,
        flags: remote.flags,
    })
}

async fn complete(deps: &Arc<Deps>, claim: Claim, processed: Processed) -> DeliveryOutcome {
    let ignored = processed.ignored.clone();
    count_artifacts(deps, &processed.messages);
    let unfinished = copy_of(&claim);
    match deps.work.complete(claim, processed).await {
        Ok(Completed::Done(finished)) => {
            deps.callback_due.notify_one();
            ignored.map_or(DeliveryOutcome::Done(finished), DeliveryOutcome::Ignored)
        }
        Ok(Completed::Lost) => DeliveryOutcome::Lost,
        Err(error) if error.class() == Class::Permanent => {
            fail(deps, unfinished, Failure::of_store(&error)).await
        }
        // Whether the transaction committed is unknown. If it did, giving the claim back
        // changes nothing; if not, the delivery is retried.
        Err(error) => give_back(deps, unfinished, error).await,
    }
}

async fn fail(deps: &Arc<Deps>, claim: Claim, failure: Failure) -> DeliveryOutcome {
    let chance = rand::random();
    let settings = &deps.settings;
    let wait = match failure.class {
        Class::Upstream if failure.is_store_outage() => Some(outage_wait()),
        Class::Permanent => None,
        Class::Transient => settings.backoff.wait(claim.attempt, claim.age, chance),
        Class::Upstream => settings.upstream_backoff.wait(claim.age, chance),
    };
    let Some(wait) = wait else {
        return dead_letter(deps, claim, failure.reason).await;
    };
    let (why, unfinished) = (failure.reason.clone(), copy_of(&claim));
    let ended = match failure.class {
        Class::Upstream => deps.work.retry_uncounted(claim, wait, why).await,
        Class::Transient | Class::Permanent => deps.work.retry_later(claim, wait, why).await,
    };
    match ended {
        Ok(Completed::Done(())) => DeliveryOutcome::RetryLater(failure.reason),
        Ok(Completed::Lost) => DeliveryOutcome::Lost,
        Err(error) if failure.class == Class::Upstream => give_back(deps, unfinished, error).await,
        Err(error) => DeliveryOutcome::StoreUnavailable(error),
    }
}

async fn dead_letter(deps: &Deps, claim: Claim, reason: Reason) -> DeliveryOutcome {
    match deps.work.dead_letter(claim, reason.clone()).await {
        Ok(Completed::Done(())) => DeliveryOutcome::DeadLettered(reason),
        Ok(Completed::Lost) => DeliveryOutcome::Lost,
        Err(error) => DeliveryOutcome::StoreUnavailable(error),
    }
}

/// Counts what the mail held, and what it gave to the attempts that wait for mail.
fn count_artifacts(deps: &Deps, messages: &[NewMessage]) {
    let meters = &deps.meters;
    for message in messages {
        for artifact in &message.artifacts {
            let (kind, verdict) = (artifact.kind.as_str(), artifact.verdict.as_str());
            meters.artifacts(kind, verdict).inc();
            // Of several attempts one gets the value.
            let is_given = u64::from(!artifact.matches.is_empty());
            meters.attempts("ready").inc_by(is_given);
        }
        for miss in &message.misses {
            meters.attempts(miss.kind.as_str()).inc();
        }
    }
}
