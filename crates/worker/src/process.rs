//! The story of one delivery: claim → decode → read → minimize → complete.

use std::sync::Arc;
use std::time::Instant;

use pipeline::{
    Claim, Claimed, Class, Completed, DeliveryId, DeliveryLog, Doorbell, Finished, Meters,
    NewMessage, Processed, Reason, ServerKey, StoreError, StoredDelivery, WorkLog,
};
use providers::{Decoded, InboundMail, RemoteMail, Source, Sources};

use tokio::sync::Notify;

use crate::dkim::Dkim;
use crate::fetch::{FetchError, Fetcher};
use crate::letter;
use crate::report::report;
use crate::settings::Settings;

/// What the worker works with.
pub struct Deps {
    /// Claims and their ends.
    pub work: Arc<dyn WorkLog>,
    /// For the sweeper.
    pub deliveries: Arc<dyn DeliveryLog>,
    /// For the sweeper.
    pub doorbell: Arc<dyn Doorbell>,
    /// Who can decode which delivery.
    pub sources: Arc<Sources>,
    /// Gets mail that a webhook does not carry.
    pub fetcher: Fetcher,
    /// Checks signatures; nobody does where there is no DNS.
    pub dkim: Option<Dkim>,
    /// Rung when something may be there for a callback.
    pub callback_due: Arc<Notify>,
    /// What artifact keys are made with.
    pub server_key: ServerKey,
    /// What is counted.
    pub meters: Meters,
    /// What an operator may set.
    pub settings: Settings,
}

/// What became of a delivery.
#[derive(Debug)]
pub enum Outcome {
    /// It is finished; this was written.
    Done(Finished),
    /// It was not about inbound mail.
    Ignored(Reason),
    /// It will be tried again.
    RetryLater(Reason),
    /// It was given up and kept for the operator.
    DeadLettered(Reason),
    /// Somebody else took it over meanwhile; what we had was not written.
    Lost,
    /// There was nothing to do: it is finished or in other hands.
    Echo,
    /// The database could not be asked; the row is as it was, and the lease or
    /// the sweeper brings it back.
    StoreAway(StoreError),
}

/// Why a delivery could not be processed, and whether trying again may help.
pub(crate) struct Failure {
    class: Class,
    reason: Reason,
}

impl Failure {
    pub(crate) fn permanent(reason: Reason) -> Self {
        let class = Class::Permanent;
        Self { class, reason }
    }

    /// Somebody else's server is away, which no number of tries shortens.
    pub(crate) fn upstream(reason: Reason) -> Self {
        let class = Class::Upstream;
        Self { class, reason }
    }

    pub(crate) fn transient(reason: Reason) -> Self {
        let class = Class::Transient;
        Self { class, reason }
    }
}

impl From<FetchError> for Failure {
    fn from(error: FetchError) -> Self {
        Self {
            class: error.class(),
            reason: error.reason(),
        }
    }
}

/// Processes one delivery if it is there to be had, and counts what came of it.
pub(crate) async fn process(deps: &Deps, id: DeliveryId) -> Outcome {
    let began = Instant::now();
    let (source, outcome) = match deps.work.claim(id, deps.settings.lease).await {
        Ok(Claimed::Yours(claim, delivery)) => {
            let source = delivery.source.to_string();
            (source, work(deps, claim, delivery).await)
        }
        Ok(Claimed::Unsealable(claim, why)) => {
            let (class, reason) = (why.class(), why.reason());
            let failure = Failure { class, reason };
            ("-".to_owned(), fail(deps, claim, failure).await)
        }
        Ok(Claimed::NotNow | Claimed::Finished) => ("-".to_owned(), Outcome::Echo),
        Err(error) => ("-".to_owned(), Outcome::StoreAway(error)),
    };
    report(deps, id, &source, &outcome, began);
    outcome
}

async fn work(deps: &Deps, claim: Claim, delivery: StoredDelivery) -> Outcome {
    if deps.settings.backoff.is_exhausted(claim.attempt) {
        return dead_letter(deps, claim, Reason::new("attempts_spent")).await;
    }
    match understand(deps, delivery).await {
        Ok(processed) => complete(deps, claim, processed).await,
        Err(failure) => fail(deps, claim, failure).await,
    }
}

/// Decodes the post and reads each mail in it.
async fn understand(deps: &Deps, delivery: StoredDelivery) -> Result<Processed, Failure> {
    let name = delivery.source.as_str();
    let decoded = deps
        .sources
        .decode(name, &delivery.content_type, &delivery.body);
    // A source that was removed from the configuration may come back.
    let decoded = decoded.ok_or_else(|| Failure::transient(Reason::new("source_unknown")))?;
    let mails = match decoded {
        Ok(Decoded::Mails(mails)) => mails,
        Ok(Decoded::RemoteMail(elsewhere)) => vec![fetch(deps, name, elsewhere).await?],
        Ok(Decoded::Confirm(confirmation)) => {
            deps.fetcher.confirm(&confirmation).await?;
            return Ok(ignored(Reason::new("subscription_confirmed")));
        }
        Ok(Decoded::Ignored(reason)) => return Ok(ignored(reason)),
        Err(error) => {
            let (class, reason) = (error.class(), error.reason());
            return Err(Failure { class, reason });
        }
    };
    let mut messages = Vec::new();
    for mail in mails {
        messages.extend(letter::read(deps, &delivery.source, mail, delivery.recorded_at).await?);
    }
    let ignored = None;
    Ok(Processed { messages, ignored })
}

/// A delivery that holds no mail, and why it needs none.
fn ignored(reason: Reason) -> Processed {
    Processed {
        messages: Vec::new(),
        ignored: Some(reason),
    }
}

/// Gets a mail that its webhook did not carry. Without a key to the provider's
/// API the delivery is kept for the operator, who may set one and requeue it.
async fn fetch(deps: &Deps, source: &str, elsewhere: RemoteMail) -> Result<InboundMail, Failure> {
    let Some(api) = deps.sources.get(source).and_then(Source::api) else {
        return Err(Failure::permanent(Reason::new("message_not_included")));
    };
    let raw = deps.fetcher.fetch(api, &elsewhere).await?;
    Ok(InboundMail {
        recipients: elsewhere.recipients,
        raw,
        rebuilt: false,
        provider_id: elsewhere.provider_id,
        received_at: elsewhere.received_at,
        stated_from: None,
        sender: elsewhere.sender,
    })
}

async fn complete(deps: &Deps, claim: Claim, processed: Processed) -> Outcome {
    let ignored = processed.ignored.clone();
    count_artifacts(deps, &processed.messages);
    match deps.work.complete(claim, processed).await {
        Ok(Completed::Done(finished)) => {
            deps.callback_due.notify_one();
            ignored.map_or(Outcome::Done(finished), Outcome::Ignored)
        }
        Ok(Completed::Lost) => Outcome::Lost,
        // Whether it was written is unknown, and the claim is spent. When the
        // lease ends it is claimed again, and the unique keys absorb the rest.
        Err(error) => Outcome::StoreAway(error),
    }
}

async fn fail(deps: &Deps, claim: Claim, failure: Failure) -> Outcome {
    let chance = rand::random();
    let settings = &deps.settings;
    let wait = match failure.class {
        Class::Permanent => None,
        Class::Transient => settings.backoff.wait(claim.attempt, claim.age, chance),
        Class::Upstream => settings.fetch_backoff.wait(claim.age, chance),
    };
    let Some(wait) = wait else {
        return dead_letter(deps, claim, failure.reason).await;
    };
    let why = failure.reason.clone();
    let ended = match failure.class {
        Class::Upstream => deps.work.retry_uncounted(claim, wait, why).await,
        Class::Transient | Class::Permanent => deps.work.retry_later(claim, wait, why).await,
    };
    match ended {
        Ok(Completed::Done(())) => Outcome::RetryLater(failure.reason),
        Ok(Completed::Lost) => Outcome::Lost,
        Err(error) => Outcome::StoreAway(error),
    }
}

async fn dead_letter(deps: &Deps, claim: Claim, reason: Reason) -> Outcome {
    match deps.work.dead_letter(claim, reason.clone()).await {
        Ok(Completed::Done(())) => Outcome::DeadLettered(reason),
        Ok(Completed::Lost) => Outcome::Lost,
        Err(error) => Outcome::StoreAway(error),
    }
}

fn count_artifacts(deps: &Deps, messages: &[NewMessage]) {
    for artifact in messages.iter().flat_map(|message| &message.artifacts) {
        let label = pipeline::OutcomeLabel::new(artifact.kind.as_str(), artifact.verdict.as_str());
        deps.meters.artifacts.get_or_create(&label).inc();
    }
}
