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

use futures_util::future::join_all;
use pipeline::{
    Callback, CallbackLog, Clock, InboxId, Meters, Outcome, Reason, SystemClock, Told, token_of,
};
use reqwest::{Client, StatusCode, redirect};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use url::Url;

/// How long a receiver may be given to answer.
const LEAST_PATIENCE: Duration = Duration::from_millis(100);
const MOST_PATIENCE: Duration = Duration::from_secs(20);
/// How long a claim holds: longer than a try can take.
const LEASE: Duration = Duration::from_secs(30);
/// How many are told at once.
const BATCH: u32 = 16;
/// The wait after the first failed try; it doubles up to the longest.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_mins(5);

/// Where a callback leads.
#[derive(Debug, Clone)]
pub struct Receiver {
    /// Where its posts go.
    pub url: Url,
    /// What they are signed with: `whsec_…`.
    pub secret: SecretString,
    /// How long it may take to answer.
    pub patience: Duration,
}

impl Receiver {
    /// How long it may take to answer, unless its operator says otherwise.
    pub const PATIENCE: Duration = Duration::from_secs(10);
}

/// The configured receivers cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CallbacksError {
    /// Values go over the wire: only to `https`, or to this machine.
    #[error("callback `{0}`: the URL must be https, or http to this machine")]
    Url(String),
    /// Not a secret as Standard Webhooks has it.
    #[error("callback `{0}`: the secret must be `whsec_` and base64 of 24 to 64 bytes")]
    Secret(String),
    /// A claim would end before the try does, or no try could succeed.
    #[error("callback `{0}`: the timeout must be 100ms to 20s")]
    Patience(String),
    /// No client could be built.
    #[error("failed to build the client for callbacks")]
    Client(#[from] reqwest::Error),
}

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
            if !is_safe(&receiver.url) {
                return Err(CallbacksError::Url(name.clone()));
            }
            let tried = providers::sign(&receiver.secret, "id", SystemClock.now(), b"");
            if tried.is_err() {
                return Err(CallbacksError::Secret(name.clone()));
            }
            if !(LEAST_PATIENCE..=MOST_PATIENCE).contains(&receiver.patience) {
                return Err(CallbacksError::Patience(name.clone()));
            }
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

    /// Tells what is due, again and again, until stopped.
    pub async fn tell_forever(&self, every: Duration, stop: CancellationToken) {
        while !stop.is_cancelled() {
            let next = Instant::now() + every;
            if self.tell_due().await == BATCH as usize {
                continue;
            }
            tokio::select! {
                () = self.due.notified() => {}
                () = sleep_until(next) => {}
                () = stop.cancelled() => return,
            }
        }
    }

    /// Tells what is due now; tells how many that were.
    pub async fn tell_due(&self) -> usize {
        match self.log.claim_callbacks(BATCH, LEASE).await {
            Ok(callbacks) => {
                let all = callbacks.iter().map(|callback| self.tell(callback));
                join_all(all).await.len()
            }
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, "callbacks cannot be claimed");
                0
            }
        }
    }

    async fn tell(&self, callback: &Callback) {
        let told = match self.post(callback).await {
            Ok(()) => Told::Done,
            Err(reason) => after_failure(callback, reason),
        };
        let (word, reason) = match &told {
            Told::Done => ("done", None),
            Told::Again(_, reason) => ("again", Some(reason)),
            Told::Dead(reason) => ("dead", Some(reason)),
        };
        let reason = reason.map_or("-", Reason::as_str);
        tracing::info!(callback.id = %callback.id, callback.name, word, reason, "callback told");
        let label = Outcome::new(&callback.name, word);
        self.meters.callbacks.get_or_create(&label).inc();
        let ended = self.log.end_callback(callback.id, callback.token, told);
        if let Err(error) = ended.await {
            // The lease brings it back, and the receiver knows the id.
            let error: &dyn std::error::Error = &error;
            tracing::warn!(callback.id = %callback.id, error, "callback left to its lease");
        }
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

/// Whether a value may be sent there at all.
fn is_safe(url: &Url) -> bool {
    let is_here = match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    };
    url.scheme() == "https" || (url.scheme() == "http" && is_here)
}

/// Tries again while there is time; a receiver that is gone has said so.
fn after_failure(callback: &Callback, reason: Reason) -> Told {
    let growth = 2_u32.saturating_pow(callback.tries.saturating_sub(1));
    let wait = FIRST_WAIT.saturating_mul(growth).min(LONGEST_WAIT);
    if callback.remaining.is_zero() || reason.as_str() == "gone" {
        return Told::Dead(reason);
    }
    // The last try is at the deadline, not beyond it.
    Told::Again(wait.min(callback.remaining), reason)
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
        Some(field) => say("token", json!(token_of(value, field))),
        None => say("value", json!(value)),
    };
    json!({
        "type": "artifact.consumed",
        "timestamp": artifact.consumed_at,
        "data": data,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_go_over_https_or_stay_here() {
        for safe in [
            "https://hooks.example.com/x",
            "http://127.0.0.1:9/x",
            "http://[::1]:9/",
        ] {
            assert!(is_safe(&safe.parse().unwrap()), "{safe}");
        }
        for unsafe_one in [
            "http://example.com/",
            "http://10.0.0.1/",
            "ftp://localhost/",
        ] {
            assert!(!is_safe(&unsafe_one.parse().unwrap()), "{unsafe_one}");
        }
    }
}
