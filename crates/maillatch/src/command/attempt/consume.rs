//! `attempt consume` and `attempt resend`.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use secrecy::ExposeSecret;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::show::ONE_WAIT;
use super::{Done, Out};
use crate::client::{CallError, Client, Taken};
use crate::command::wait::exit;
use crate::config::Span;

/// The pause before a failed call is repeated.
const PAUSE: Duration = Duration::from_millis(500);
/// How often a call that fails is repeated at most, when no time is left to wait.
const TRIES: u32 = 10;

/// Waits for the value and consumes it.
#[derive(Debug, Args)]
pub(super) struct Consume {
    /// The attempt's id.
    attempt: String,
    /// How long to wait: 500ms, 30s, 10m.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    timeout: Span,
    /// The Idempotency-Key; the same one gets the same answer again for two minutes.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

impl Consume {
    pub(super) async fn run(self, client: &Client, out: &Out) -> Done {
        // One key for all of it: whatever is lost on the way is asked for again.
        let key = self.key.clone().unwrap_or_else(fresh_key);
        match self.take(client, &key).await? {
            Taken::Value {
                artifact,
                kind,
                value,
                consumed_at,
            } => {
                let value = value.expose_secret();
                out.line(value);
                out.object(&json!({
                    "state": "consumed", "attempt": self.attempt, "artifact": artifact,
                    "kind": kind, "value": value, "consumed_at": consumed_at,
                }));
                Ok(ExitCode::SUCCESS)
            }
            Taken::NotReady {
                state,
                reason,
                hint,
            } => {
                let why = reason.as_ref().map(|why| format!(" ({why})"));
                eprintln!("maillatch: {state}{}: {hint}", why.unwrap_or_default());
                out.object(&json!({ "state": state, "reason": reason, "hint": hint }));
                Ok(exit::of_state(&state))
            }
            Taken::Already { consumed_at } => {
                eprintln!("maillatch: it was consumed by another request");
                out.object(&json!({ "state": "consumed", "consumed_at": consumed_at }));
                Ok(exit::of_state("consumed"))
            }
        }
    }

    async fn take(&self, client: &Client, key: &str) -> Result<Taken, CallError> {
        let until = Instant::now() + self.timeout.0;
        let mut tries = 0;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let taken = client.consume_attempt(&self.attempt, key, left.min(ONE_WAIT));
            match taken.await {
                Ok(Taken::NotReady { state, .. }) if may_change(&state) && !left.is_zero() => {
                    // A server that is ending answers its waits early.
                    sleep(left.min(Duration::from_millis(100))).await;
                }
                Err(error) if error.is_passing() && tries < TRIES => {
                    tries += 1;
                    sleep(PAUSE).await;
                }
                outcome => return outcome,
            }
        }
    }
}

fn may_change(state: &str) -> bool {
    matches!(state, "pending" | "unhealthy" | "blocked" | "no_artifact")
}

/// Asks whether the sender may be asked for another mail.
#[derive(Debug, Args)]
pub(super) struct Resend {
    /// The attempt's id.
    attempt: String,
    /// The Idempotency-Key; the same one counts once.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

impl Resend {
    pub(super) async fn run(self, client: &Client, out: &Out) -> Done {
        let key = self.key.unwrap_or_else(fresh_key);
        let left = client.resend(&self.attempt, &key).await?;
        out.object(&json!({ "allowed": left.is_some(), "resends_left": left.unwrap_or(0) }));
        let Some(left) = left else {
            out.line("refused");
            return Ok(ExitCode::FAILURE);
        };
        out.line(&format!("allowed, {left} left"));
        Ok(ExitCode::SUCCESS)
    }
}

fn fresh_key() -> String {
    uuid::Uuid::now_v7().to_string()
}
