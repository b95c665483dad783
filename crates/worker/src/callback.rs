//! Posts callbacks: a value that was consumed for a callback is sent to the
//! receiver that the operator configured under that name, and to nobody else.
//!
//! Each callback is posted as Standard Webhooks defines it. Its id and body are the
//! same on every try. It is retried until the receiver answers 2xx or its deadline
//! passes. When a worker dies in between, the lease expires and another worker
//! repeats the post; the receiver deduplicates by the id.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use pipeline::{
    Callback, CallbackLog, CallbackResult, Clock, InboxId, Meters, Reason, SystemClock, token_of,
};
use reqwest::{Client, StatusCode, redirect};
use secrecy::ExposeSecret;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

mod handover;
mod in_progress;
mod receiver;

use in_progress::InProgress;
pub use receiver::{CallbacksError, Receiver};

/// How long a claim holds: longer than one post can take.
const LEASE: Duration = Duration::from_secs(30);
/// How many callbacks are posted at once to one receiver, and how many are claimed
/// at once.
const BATCH: u32 = 8;
/// The wait after the first failed post. It doubles up to the longest wait.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_mins(5);
/// Due callbacks are looked for much more often.
const LONGEST_ROUND: Duration = Duration::from_mins(2);

/// Posts callbacks.
pub struct Callbacks {
    log: Arc<dyn CallbackLog>,
    receivers: BTreeMap<String, Receiver>,
    client: Client,
    meters: Meters,
    /// Notified by the worker when a callback may be due at once.
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
        // A redirect would send the value to another place.
        let mut client = Client::builder()
            .redirect(redirect::Policy::none())
            .no_proxy();
        // Without TLS no certificates are needed, and a machine may have none.
        if receivers.values().all(|it| it.url.scheme() == "http") {
            client = client.tls_certs_only([]);
        }
        let client = client.build()?;
        Ok(Self {
            log,
            receivers,
            client,
            meters,
            due,
        })
    }

    /// Posts due callbacks until stopped. A slow receiver delays only its own
    /// callbacks.
    pub async fn run(&self, every: Duration, stop: CancellationToken) {
        let mut posts = FuturesUnordered::new();
        let mut in_progress = InProgress::default();
        while !stop.is_cancelled() {
            self.meters.tasks.round("callbacks", LONGEST_ROUND);
            let claimed = self.claim(&in_progress.busy()).await;
            let is_more = claimed.len() == BATCH as usize;
            for callback in claimed {
                in_progress.begin(&callback.name);
                posts.push(self.attempt(callback));
            }
            if is_more {
                continue;
            }
            let next = Instant::now() + every;
            tokio::select! {
                Some(name) = posts.next() => in_progress.end(&name),
                () = self.due.notified() => {}
                () = sleep_until(next) => {}
                () = stop.cancelled() => {}
            }
        }
        // Finish the posts in progress. If the process ends first, their leases
        // expire and another worker repeats them.
        while posts.next().await.is_some() {}
    }

    /// Posts the callbacks that are due now; returns how many.
    pub async fn post_due(&self) -> usize {
        let claimed = self.claim(&[]).await;
        let posts = claimed.into_iter().map(|callback| self.attempt(callback));
        join_all(posts).await.len()
    }

    async fn claim(&self, busy: &[String]) -> Vec<Callback> {
        let claimed = self.log.claim_callbacks(BATCH, LEASE, busy).await;
        claimed.unwrap_or_else(|error| {
            let error: &dyn std::error::Error = &error;
            tracing::warn!(error, "due callbacks could not be claimed");
            Vec::new()
        })
    }

    /// Posts one callback once and records the result; returns its receiver's name.
    async fn attempt(&self, callback: Callback) -> String {
        let callback = &callback;
        let posted = self.post(callback).await;
        let status = posted.as_ref().err().and_then(|failed| failed.status);
        let result = match posted {
            Ok(()) => CallbackResult::Done,
            Err(failed) => after_failure(callback, failed.reason),
        };
        self.report(callback, &result, status);
        let ended = self.log.end_callback(callback.id, callback.token, result);
        if let Err(error) = ended.await {
            // It is posted again when the lease expires; the receiver deduplicates.
            let error: &dyn std::error::Error = &error;
            tracing::warn!(callback.id = %callback.id, error, "database unavailable; the callback is posted again when its lease expires");
        }
        callback.name.clone()
    }

    /// Logs and counts a post. A failed one is a warning with the status of the answer, if
    /// there was one.
    fn report(&self, callback: &Callback, result: &CallbackResult, status: Option<u16>) {
        let (id, attempt, artifact) = (callback.id, callback.attempt, callback.artifact.id);
        let name = callback.name.as_str();
        let outcome = match result {
            CallbackResult::Done => {
                tracing::info!(
                    callback.id = %id, callback.name = name, attempt.id = %attempt,
                    artifact.id = %artifact, "value disclosed to a callback"
                );
                "done"
            }
            CallbackResult::RetryLater(wait, reason) => {
                tracing::warn!(
                    callback.id = %id, callback.name = name, attempt.id = %attempt, %reason,
                    status, retry_in_seconds = wait.as_secs_f64(),
                    "callback failed; it is retried"
                );
                "retry_later"
            }
            CallbackResult::Dead(reason) => {
                tracing::warn!(
                    callback.id = %id, callback.name = name, attempt.id = %attempt, %reason,
                    status, "callback failed for good; `maillatch failures requeue` sends it again"
                );
                "dead"
            }
        };
        self.meters.callbacks(name, outcome).inc();
    }

    async fn post(&self, callback: &Callback) -> Result<(), PostFailed> {
        let id = callback.id.to_string();
        self.post_to(&callback.name, &id, &body(callback)).await
    }

    /// Posts a body to a receiver once, signed.
    async fn post_to(&self, name: &str, id: &str, body: &Value) -> Result<(), PostFailed> {
        let receiver = self.receivers.get(name);
        // A receiver that was removed from the configuration may be added again.
        let receiver = receiver.ok_or(PostFailed::unanswered("callback_unknown"))?;
        let (body, now) = (body.to_string().into_bytes(), SystemClock.now());
        let signature = providers::sign(&receiver.secret, id, now, &body)
            .map_err(|_unfit| PostFailed::unanswered("callback_secret"))?;
        let request = self
            .client
            .post(receiver.url.clone())
            .timeout(receiver.timeout)
            .header("content-type", "application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", now.as_seconds().to_string())
            .header("webhook-signature", signature)
            .body(body);
        match request.send().await.map(|answer| answer.status()) {
            Ok(status) if status.is_success() => Ok(()),
            Ok(status) => Err(PostFailed::answered(status)),
            Err(error) if error.is_timeout() => Err(PostFailed::unanswered("no_answer")),
            Err(_) => Err(PostFailed::unanswered("unreachable")),
        }
    }
}

/// Why a post to a receiver failed.
struct PostFailed {
    reason: Reason,
    /// The status of its answer.
    status: Option<u16>,
}

impl PostFailed {
    fn unanswered(reason: &'static str) -> Self {
        Self {
            reason: Reason::new(reason),
            status: None,
        }
    }

    fn answered(status: StatusCode) -> Self {
        let reason = match status {
            StatusCode::GONE => "gone",
            status if status.is_redirection() => "redirected",
            status if status.is_client_error() => "refused",
            _ => "failed",
        };
        Self {
            reason: Reason::new(reason),
            status: Some(status.as_u16()),
        }
    }
}

/// Retries until the deadline. A receiver that answers 410 is not retried.
fn after_failure(callback: &Callback, reason: Reason) -> CallbackResult {
    let growth = 2_u32.saturating_pow(callback.tries.saturating_sub(1));
    let wait = FIRST_WAIT.saturating_mul(growth).min(LONGEST_WAIT);
    if callback.remaining.is_zero() || reason.as_str() == "gone" {
        return CallbackResult::Dead(reason);
    }
    // The last retry is at the deadline, not after it.
    CallbackResult::RetryLater(wait.min(callback.remaining), reason)
}

/// The body of a callback: ids, words from closed lists, bounded addresses and the value.
/// It is built from stored rows, so every retry sends the same body.
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
