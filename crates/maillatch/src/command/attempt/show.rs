//! `attempt show`, `attempt wait` and `attempt finish`.

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde_json::json;
use tokio::time::Instant;

use super::{Done, Out, attempt_id};
use crate::command::wait::exit;
use crate::command::wait::pace::Pace;
use crate::command::wait::patience::Patience;
use crate::config::Span;
use client::{Attempt, CallError, Client, FinishAnswer};

/// The longest wait of one request; a longer timeout takes several requests.
pub(super) const MAX_WAIT: Duration = Duration::from_secs(50);

/// Shows the state of an attempt.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  maillatch attempt show att_0190…
  maillatch attempt show att_0190… --json --url https://mail.example.com")]
pub(super) struct Show {
    /// The attempt's id.
    #[arg(value_parser = attempt_id)]
    attempt: String,
}

impl Show {
    pub(super) async fn run(self, client: &Client, out: &Out) -> Done {
        let attempt = client.attempt(&self.attempt, Duration::ZERO).await?;
        out.attempt(&attempt);
        Ok(ExitCode::SUCCESS)
    }
}

/// Waits until an attempt is ready.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  maillatch attempt wait att_0190… --timeout 2m && maillatch attempt consume att_0190…

Exit codes: 0 ready or consumed; otherwise the same codes as `attempt consume`.")]
pub(super) struct Await {
    /// The attempt's id.
    #[arg(value_parser = attempt_id)]
    attempt: String,
    /// How long to wait: 500ms, 30s, 10m.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    timeout: Span,
}

impl Await {
    pub(super) async fn run(self, client: &Client, out: &Out) -> Done {
        let attempt = self.wait_until_final(client).await?;
        out.attempt(&attempt);
        if let Some(outcome) = &attempt.outcome {
            eprintln!("maillatch: the attempt is finished ({outcome}); it accepts no more mail");
        }
        Ok(match attempt.state.as_str() {
            "ready" | "superseded" | "consumed" => ExitCode::SUCCESS,
            state => exit::of_state(state),
        })
    }

    /// Returns the attempt when waiting cannot change it any more, or at the timeout.
    async fn wait_until_final(&self, client: &Client) -> Result<Attempt, CallError> {
        let until = Instant::now() + self.timeout.0;
        let (mut pace, mut patience) = (Pace::new(), Patience::new(until));
        loop {
            let began = Instant::now();
            let left = until.saturating_duration_since(began);
            let attempt = match client.attempt(&self.attempt, left.min(MAX_WAIT)).await {
                Ok(attempt) => attempt,
                Err(error) => {
                    patience.after(error, &mut pace).await?;
                    continue;
                }
            };
            patience.answered();
            if !attempt.may_change() || left.is_zero() {
                return Ok(attempt);
            }
            pace.after(began, until).await;
        }
    }
}

/// Finishes an attempt with an outcome.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  maillatch attempt finish att_0190… succeeded

Repeating the same outcome changes nothing; another outcome is refused with exit
code 6.")]
pub(super) struct Finish {
    /// The attempt's id.
    #[arg(value_parser = attempt_id)]
    attempt: String,
    /// The outcome.
    #[arg(value_enum)]
    outcome: FinishOutcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FinishOutcome {
    /// The value worked.
    Succeeded,
    /// The value did not work.
    Failed,
    /// The value is no longer needed.
    Abandoned,
}

impl Finish {
    pub(super) async fn run(self, client: &Client, out: &Out) -> Done {
        let outcome = match self.outcome {
            FinishOutcome::Succeeded => "succeeded",
            FinishOutcome::Failed => "failed",
            FinishOutcome::Abandoned => "abandoned",
        };
        match client.finish_attempt(&self.attempt, outcome).await? {
            FinishAnswer::Finished(attempt) => {
                out.line(outcome);
                out.object(&attempt.body);
                Ok(ExitCode::SUCCESS)
            }
            FinishAnswer::OtherOutcome => {
                let hint = "the attempt was finished before with another outcome, which is kept";
                eprintln!("maillatch: {hint}");
                out.object(&json!({ "id": self.attempt, "state": "over", "hint": hint }));
                Ok(ExitCode::from(exit::ALREADY_CONSUMED))
            }
        }
    }
}
