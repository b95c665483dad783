//! `attempt show`, `attempt wait` and `attempt finish`.

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tokio::time::Instant;

use super::{Done, Out};
use crate::client::Client;
use crate::command::wait::exit;
use crate::config::Span;

/// One wait of the server; a longer timeout is several of them.
pub(super) const ONE_WAIT: Duration = Duration::from_secs(50);

/// Says how an attempt stands.
#[derive(Debug, Args)]
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
pub(super) struct Await {
    /// The attempt's id.
    attempt: String,
    /// How long to wait: 500ms, 30s, 10m.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    timeout: Span,
}

impl Await {
    pub(super) async fn run(self, client: &Client, out: &Out) -> Done {
        let until = Instant::now() + self.timeout.0;
        let attempt = loop {
            let left = until.saturating_duration_since(Instant::now());
            let attempt = client.attempt(&self.attempt, left.min(ONE_WAIT)).await?;
            let is_open = matches!(
                attempt.state.as_str(),
                "pending" | "unhealthy" | "blocked" | "no_artifact"
            );
            if !is_open || left.is_zero() {
                break attempt;
            }
        };
        out.attempt(&attempt);
        Ok(match attempt.state.as_str() {
            "ready" | "superseded" | "consumed" => ExitCode::SUCCESS,
            state => exit::of_state(state),
        })
    }
}

/// Says how an attempt ended.
#[derive(Debug, Args)]
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
        let attempt = client.finish_attempt(&self.attempt, outcome).await?;
        out.line(outcome);
        out.object(&attempt.told);
        Ok(ExitCode::SUCCESS)
    }
}
