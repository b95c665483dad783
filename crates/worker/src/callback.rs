//! Telling callbacks: values that were consumed in a callback's name go to the
//! receiver that the operator has configured under it, and nowhere else.
//!
//! Each is posted as Standard Webhooks has it, under an id and with a body that
//! are the same on every try, until the receiver says 2xx or its time is over. A
//! worker that dies in between leaves a lease behind, and the next one repeats
//! the post: the receiver deduplicates by the id.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use pipeline::{
    Callback, CallbackLog, CallbackResult, Clock, InboxId, Meters, OutcomeLabel, Reason,
    SystemClock, token_of,
};
use reqwest::{Client, StatusCode, redirect};
use secrecy::ExposeSecret;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

mod receiver;
mod running;

pub use receiver::{CallbacksError, Receiver};
use running::Running;

/// How long a claim holds: longer than a try can take.
const LEASE: Duration = Duration::from_secs(30);
/// How many are told at once to one receiver, before it counts as busy, and how many
/// are claimed at once.
const BATCH: u32 = 8;
/// The wait after the first failed try; it doubles up to the longest.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_mins(5);

/// What tells callbacks.
pub struct Callbacks {
    log: Arc<dyn CallbackLog>,
    receivers: BTreeMap<String, Receiver>,
    client: Client,
    meters: Meters,
    /// Rung by the worker when something may be due at once.
    due: Arc<Notify>,
}

impl fmt::Debug for Callbacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.receivers.keys()).finish()
    }
}

impl Callbacks {
    /// Checks the receivers.
    pub fn new(
        log: Arc<dyn CallbackLog>,
        receivers: BTreeMap<String, Receiver>,
        meters: Meters,
        due: Arc<Notify>,
    ) -> Result<Self, CallbacksError> {
        for (name, receiver) in &receivers {
            receiver.check(name)?;
        }
        // A redirect would carry the value to somewhere else.
        let client = Client::builder()
            .redirect(redirect::Policy::none())
            .no_proxy()
            .build()?;
        Ok(Self {
            log,
            receivers,
            client,
            meters,
            due,
        })
    }

    /// Tells what is due, again and again, until stopped. A receiver that takes its
    /// time holds up nobody but itself.
    pub async fn tell_forever(&self, every: Duration, stop: CancellationToken) {
        let mut tries = FuturesUnordered::new();
        let mut running = Running::default();
        while !stop.is_cancelled() {
            let claimed = self.claim(&running.busy()).await;
            let is_more = claimed.len() == BATCH as usize;
            for callback in claimed {
                running.begin(&callback.name);
                tries.push(self.tell(callback));
            }
            if is_more {
                continue;
            }
            let next = Instant::now() + every;
            tokio::select! {
                Some(name) = tries.next() => running.end(&name),
                () = self.due.notified() => {}
                () = sleep_until(next) => {}
                () = stop.cancelled() => {}
            }
        }
        // What was begun is finished; beyond the process's own patience the leases
        // bring it back.
        while tries.next().await.is_some() {}
    }

    /// Tells what is due now; tells how many that were.
    pub async fn tell_due(&self) -> usize {
        let claimed = self.claim(&[]).await;
        let tries = claimed.into_iter().map(|callback| self.tell(callback));
        join_all(tries).await.len()
    }

    async fn claim(&self, busy: &[String]) -> Vec<Callback> {
        let claimed = self.log.claim_callbacks(BATCH, LEASE, busy).await;
        claimed.unwrap_or_else(|error| {
            let error: &dyn std::error::Error = &error;
            tracing::warn!(error, "callbacks cannot be claimed");
            Vec::new()
        })
    }

    /// Makes one try; tells to whom it was.
    async fn tell(&self, callback: Callback) -> String {
        let callback = &callback;
        let told = match self.post(callback).await {
            Ok(()) => CallbackResult::Done,
            Err(reason) => after_failure(callback, reason),
        };
        let (word, reason) = match &told {
            CallbackResult::Done => ("done", None),
            CallbackResult::RetryLater(_, reason) => ("again", Some(reason)),
            CallbackResult::Dead(reason) => ("dead", Some(reason)),
        };
        let reason = reason.map_or("-", Reason::as_str);
        tracing::info!(callback.id = %callback.id, callback.name, word, reason, "callback told");
        let label = OutcomeLabel::new(&callback.name, word);
        self.meters.callbacks.get_or_create(&label).inc();
        let ended = self.log.end_callback(callback.id, callback.token, told);
        if let Err(error) = ended.await {
            // The lease brings it back, and the receiver knows the id.
            let error: &dyn std::error::Error = &error;
            tracing::warn!(callback.id = %callback.id, error, "callback left to its lease");
        }
        callback.name.clone()
    }

    async fn post(&self, callback: &Callback) -> Result<(), Reason> {
        let receiver = self.receivers.get(&callback.name);
        // A receiver that was removed from the configuration may come back.
        let receiver = receiver.ok_or(Reason::new("callback_unknown"))?;
        let body = body(callback).to_string().into_bytes();
        let (id, now) = (callback.id.to_string(), SystemClock.now());
        let signature = providers::sign(&receiver.secret, &id, now, &body)
            .map_err(|_unfit| Reason::new("callback_secret"))?;
        let request = self
            .client
            .post(receiver.url.clone())
            .timeout(receiver.patience)
            .header("content-type", "application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", now.as_seconds().to_string())
            .header("webhook-signature", signature)
            .body(body);
        match request.send().await.map(|answer| answer.status()) {
            Ok(status) if status.is_success() => Ok(()),
            Ok(StatusCode::GONE) => Err(Reason::new("gone")),
            Ok(status) if status.is_redirection() => Err(Reason::new("redirected")),
            Ok(status) if status.is_client_error() => Err(Reason::new("refused")),
            Ok(_) => Err(Reason::new("failed")),
            Err(error) if error.is_timeout() => Err(Reason::new("no_answer")),
            Err(_) => Err(Reason::new("unreachable")),
        }
    }
}

/// Tries again while there is time; a receiver that is gone has said so.
fn after_failure(callback: &Callback, reason: Reason) -> CallbackResult {
    let growth = 2_u32.saturating_pow(callback.tries.saturating_sub(1));
    let wait = FIRST_WAIT.saturating_mul(growth).min(LONGEST_WAIT);
    if callback.remaining.is_zero() || reason.as_str() == "gone" {
        return CallbackResult::Dead(reason);
    }
    // The last try is at the deadline, not beyond it.
    CallbackResult::RetryLater(wait.min(callback.remaining), reason)
}

/// What is told: ids, closed words, bounded addresses and the value. It is made
/// of what the rows hold and never changes.
fn body(callback: &Callback) -> Value {
    let artifact = &callback.artifact;
    let mut data = Map::new();
    let mut say = |name: &str, value: Value| data.insert(name.to_owned(), value);
    say("attempt", json!(callback.attempt));
    say("artifact", json!(artifact.id));
    say("message", json!(artifact.message));
    say("inbox", json!(artifact.inbox));
    say("kind", json!(artifact.kind));
    say("rule", json!(artifact.rule));
    say("confidence", json!(artifact.confidence));
    let sender: Option<InboxId> = artifact.sender.as_deref().and_then(|s| s.parse().ok());
    say("sender", json!(sender));
    say("received_at", json!(artifact.received_at));
    let value = callback.value.expose_secret();
    match callback.field.as_deref() {
        Some(field) => say("token", json!(token_of(value, field).ok())),
        None => say("value", json!(value)),
    };
    json!({
        "type": "artifact.consumed",
        "timestamp": artifact.consumed_at,
        "data": data,
    })
}
