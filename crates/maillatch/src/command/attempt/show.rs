//! `attempt show`, `attempt wait` and `attempt finish`.

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde_json::json;
use tokio::time::Instant;

use super::{Done, Out};
use crate::client::{Attempt, CallError, Client, Ended};
use crate::command::wait::exit;
use crate::command::wait::pace::Pace;
use crate::config::Span;

/// One wait of the server; a longer timeout is several of them.
pub(super) const ONE_WAIT: Duration = Duration::from_secs(50);

/// Says how an attempt stands.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  maillatch attempt show att_0190…
  maillatch attempt show att_0190… --json --url https://mail.example.com")]
pub(super) struct Show {
    /// The attempt's id.
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

Exit codes: 0 it is ready, or was consumed; the others tell why it is not, as those
of `attempt consume` do.")]
pub(super) struct Await {
    /// The attempt's id.
    attempt: String,
    /// How long to wait: 500ms, 30s, 10m.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    timeout: Span,
}

impl Await {
    pub(super) async fn run(self, client: &Client, out: &Out) -> Done {
        let attempt = self.settled(client).await?;
        out.attempt(&attempt);
        if let Some(outcome) = &attempt.outcome {
            eprintln!("maillatch: it was finished ({outcome}); no mail counts for it any more");
        }
        Ok(match attempt.state.as_str() {
            "ready" | "superseded" | "consumed" => ExitCode::SUCCESS,
            state => exit::of_state(state),
        })
    }

    /// The attempt, as soon as waiting changes nothing more.
    async fn settled(&self, client: &Client) -> Result<Attempt, CallError> {
        let until = Instant::now() + self.timeout.0;
        let mut pace = Pace::new();
        loop {
            let began = Instant::now();
            let left = until.saturating_duration_since(began);
            let attempt = client.attempt(&self.attempt, left.min(ONE_WAIT)).await?;
            if !attempt.may_change() || left.is_zero() {
                return Ok(attempt);
            }
            pace.after(began, until).await;
        }
    }
}

/// Says how an attempt ended.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  maillatch attempt finish att_0190… succeeded

Saying the same again changes nothing; another outcome than before is refused, with
exit code 6.")]
pub(super) struct Finish {
    /// The attempt's id.
    attempt: String,
    /// How it ended.
    #[arg(value_enum)]
    outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Outcome {
    /// The value did what it was for.
    Succeeded,
    /// It did not.
    Failed,
    /// It is no longer needed.
    Abandoned,
}

impl Finish {
    pub(super) async fn run(self, client: &Client, out: &Out) -> Done {
        let outcome = match self.outcome {
            Outcome::Succeeded => "succeeded",
            Outcome::Failed => "failed",
            Outcome::Abandoned => "abandoned",
        };
        match client.finish_attempt(&self.attempt, outcome).await? {
            Ended::Finished(attempt) => {
                out.line(outcome);
                out.object(&attempt.told);
                Ok(ExitCode::SUCCESS)
            }
            Ended::Otherwise => {
                let hint = "it was finished before with another outcome, which stays";
                eprintln!("maillatch: {hint}");
                out.object(&json!({ "id": self.attempt, "state": "over", "hint": hint }));
                Ok(ExitCode::from(exit::ALREADY_CONSUMED))
            }
        }
    }
}
