//! `attempt consume` and `attempt resend`.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use secrecy::ExposeSecret;
use serde_json::json;
use tokio::time::Instant;

use super::show::MAX_WAIT;
use super::{Done, Out, attempt_id};
use crate::command::wait::exit;
use crate::command::wait::pace::Pace;
use crate::command::wait::patience::Patience;
use crate::config::Span;
use client::{Attempt, AttemptConsumption, AttemptValue, CallError, Client, ResendAnswer};

/// How often a call is retried whose value is replaced at the same moment, also after the
/// timeout.
const MAX_RETRIES: u32 = 10;
/// The longest pause between two calls.
const MAX_PAUSE: Duration = Duration::from_mins(1);

/// Waits for the value and consumes it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  code=$(maillatch attempt consume att_0190… --timeout 90s) || echo \"no code: $?\"
  maillatch attempt consume att_0190… --key signup-7 --json

Only the value is printed. Without a value nothing is printed and the exit code is
not 0.")]
pub(super) struct Consume {
    /// The attempt's id.
    #[arg(value_parser = attempt_id)]
    attempt: String,
    /// How long to wait: 500ms, 30s, 10m.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    timeout: Span,
    /// The Idempotency-Key; for two minutes the same key returns the same answer.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

impl Consume {
    pub(super) async fn run(self, client: &Client, out: &Out) -> Done {
        // The same key for every retry, so a lost answer is returned again.
        let key = self.key.clone().unwrap_or_else(fresh_key);
        match self.take(client, &key).await? {
            AttemptConsumption::Value(given) => Ok(self.print(out, &given)),
            AttemptConsumption::NotReady(attempt) => Ok(report_miss(out, &attempt)),
            AttemptConsumption::Already { consumed_at } => {
                let hint = "another request has consumed the value";
                eprintln!("maillatch: {hint}");
                out.object(&json!({
                    "id": self.attempt, "state": "consumed", "next": "nothing", "hint": hint,
                    "consumed_at": consumed_at,
                }));
                Ok(exit::of_state("consumed"))
            }
        }
    }

    fn print(&self, out: &Out, given: &AttemptValue) -> ExitCode {
        let value = given.value.expose_secret();
        out.line(value);
        out.object(&json!({
            "state": "consumed", "attempt": self.attempt, "artifact": given.artifact,
            "kind": given.kind, "value": value, "sender_verified": given.sender_verified,
            "sender_proof": given.sender_proof, "consumed_at": given.consumed_at,
        }));
        ExitCode::SUCCESS
    }

    async fn take(&self, client: &Client, key: &str) -> Result<AttemptConsumption, CallError> {
        let until = Instant::now() + self.timeout.0;
        let (mut pace, mut patience) = (Pace::new(), Patience::new(until));
        let mut retries = 0;
        loop {
            let began = Instant::now();
            let left = until.saturating_duration_since(began);
            let taken = client.consume_attempt(&self.attempt, key, left.min(MAX_WAIT));
            let taken = match taken.await {
                Ok(taken) => taken,
                Err(error) => {
                    patience.after(error, &mut pace).await?;
                    continue;
                }
            };
            patience.answered();
            match taken {
                // The value arrived or was replaced at this moment.
                AttemptConsumption::NotReady(attempt)
                    if attempt.is_ready() && retries < MAX_RETRIES =>
                {
                    retries += 1;
                    pace.pause(began + MAX_PAUSE).await;
                }
                AttemptConsumption::NotReady(attempt)
                    if attempt.may_change() && !left.is_zero() =>
                {
                    pace.after(began, until).await;
                }
                outcome => return Ok(outcome),
            }
        }
    }
}

/// Reports why there is no value.
fn report_miss(out: &Out, attempt: &Attempt) -> ExitCode {
    let why = attempt.reason.as_ref().or(attempt.component.as_ref());
    let seen = attempt.seen.as_ref().map(|seen| format!(", seen {seen}"));
    let seen = seen.unwrap_or_default();
    let why = why.map(|word| format!(" ({word}{seen})"));
    let why = why.unwrap_or_default();
    eprintln!("maillatch: {}{why}: {}", attempt.state, attempt.hint);
    out.object(&attempt.body);
    exit::of_state(&attempt.state)
}

/// Asks for permission to request another mail from the sender.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  maillatch attempt resend att_0190… && click-resend-on-the-site

Maillatch sends nothing. Exit codes: 0 allowed, 5 no resends are left (`--resends`),
9 the attempt is finished or expired.")]
pub(super) struct Resend {
    /// The attempt's id.
    #[arg(value_parser = attempt_id)]
    attempt: String,
    /// The Idempotency-Key; the same key counts once.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

impl Resend {
    pub(super) async fn run(self, client: &Client, out: &Out) -> Done {
        let key = self.key.unwrap_or_else(fresh_key);
        let (left, refusal) = match client.resend(&self.attempt, &key).await? {
            ResendAnswer::Granted { left } => (left, None),
            ResendAnswer::Spent => (0, Some(("spent", exit::WITHHELD))),
            ResendAnswer::Over => (0, Some(("over", exit::EXPIRED))),
        };
        let why = refusal.map(|(why, _)| why);
        out.object(&json!({ "allowed": why.is_none(), "reason": why, "resends_left": left }));
        let Some((why, code)) = refusal else {
            out.line(&format!("allowed, {left} left"));
            return Ok(ExitCode::SUCCESS);
        };
        out.line(&format!("refused ({why})"));
        eprintln!(
            "maillatch: {}",
            match why {
                "spent" => "the attempt has no resends left; open another attempt",
                _ => "the attempt is finished or expired; open another one",
            }
        );
        Ok(ExitCode::from(code))
    }
}

fn fresh_key() -> String {
    uuid::Uuid::now_v7().to_string()
}
