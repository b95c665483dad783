//! `attempt consume` and `attempt resend`.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use secrecy::ExposeSecret;
use serde_json::json;
use tokio::time::Instant;

use super::show::ONE_WAIT;
use super::{Done, Out};
use crate::client::{Attempt, CallError, Client, Given, Resent, Taken};
use crate::command::wait::exit;
use crate::command::wait::pace::Pace;
use crate::config::Span;

/// How often a call is repeated at most that fails, or that finds what is there gone
/// again, also when no time is left to wait.
const TRIES: u32 = 10;
/// No single pause is longer than this.
const AT_LAST: Duration = Duration::from_mins(1);

/// Waits for the value and consumes it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  code=$(maillatch attempt consume att_0190… --timeout 90s) || echo \"no code: $?\"
  maillatch attempt consume att_0190… --key signup-7 --json

The value alone is printed; without one, nothing is, and the exit code is not 0.")]
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
            Taken::Value(given) => Ok(self.print(out, &given)),
            Taken::NotReady(attempt) => Ok(refuse(out, &attempt)),
            Taken::Already { consumed_at } => {
                let hint = "it was consumed by another request";
                eprintln!("maillatch: {hint}");
                out.object(&json!({
                    "id": self.attempt, "state": "consumed", "next": "nothing", "hint": hint,
                    "consumed_at": consumed_at,
                }));
                Ok(exit::of_state("consumed"))
            }
        }
    }

    fn print(&self, out: &Out, given: &Given) -> ExitCode {
        let value = given.value.expose_secret();
        out.line(value);
        out.object(&json!({
            "state": "consumed", "attempt": self.attempt, "artifact": given.artifact,
            "kind": given.kind, "value": value, "consumed_at": given.consumed_at,
        }));
        ExitCode::SUCCESS
    }

    async fn take(&self, client: &Client, key: &str) -> Result<Taken, CallError> {
        let until = Instant::now() + self.timeout.0;
        let mut pace = Pace::new();
        let mut tries = 0;
        loop {
            let began = Instant::now();
            let left = until.saturating_duration_since(began);
            let taken = client.consume_attempt(&self.attempt, key, left.min(ONE_WAIT));
            match taken.await {
                // It is there, and came or changed at the very moment.
                Ok(Taken::NotReady(attempt)) if attempt.is_ready() && tries < TRIES => {
                    tries += 1;
                    pace.rest(began + AT_LAST).await;
                }
                Ok(Taken::NotReady(attempt)) if attempt.may_change() && !left.is_zero() => {
                    pace.after(began, until).await;
                }
                Err(error) if error.is_passing() && tries < TRIES => {
                    tries += 1;
                    pace.rest(began + AT_LAST).await;
                }
                outcome => return outcome,
            }
        }
    }
}

/// Says why there is no value.
fn refuse(out: &Out, attempt: &Attempt) -> ExitCode {
    let why = attempt.reason.as_ref().or(attempt.component.as_ref());
    let why = why.map(|word| format!(" ({word})")).unwrap_or_default();
    eprintln!("maillatch: {}{why}: {}", attempt.state, attempt.hint);
    out.object(&attempt.told);
    exit::of_state(&attempt.state)
}

/// Asks whether the sender may be asked for another mail.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  maillatch attempt resend att_0190… && ask-for-another-mail

Nothing is sent. Exit codes: 0 it may be asked, 5 the budget of `--resends` is spent,
9 the attempt is over.")]
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
        let (left, refusal) = match client.resend(&self.attempt, &key).await? {
            Resent::Granted { left } => (left, None),
            Resent::Spent => (0, Some(("spent", exit::WITHHELD))),
            Resent::Over => (0, Some(("over", exit::EXPIRED))),
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
                "spent" => "the attempt's budget of resends is spent; open another attempt",
                _ => "the attempt is over, or was finished; open another one",
            }
        );
        Ok(ExitCode::from(code))
    }
}

fn fresh_key() -> String {
    uuid::Uuid::now_v7().to_string()
}
