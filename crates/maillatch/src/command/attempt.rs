//! `attempt`: opened before the mail is requested, consumed when it arrives.

mod consume;
mod open;
mod show;

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use pipeline::AttemptId;

use crate::command::wait::exit;
use crate::remote::Remote;
use client::{Attempt, CallError, Client};

/// Opens, shows, waits for, consumes and finishes attempts.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: sign up with a fresh address, then read the code that was sent to it
  read -r attempt address < <(maillatch attempt new --from example.com)
  # … enter $address at example.com …
  code=$(maillatch attempt consume $attempt --timeout 90s) || echo \"no code: $?\"
  maillatch attempt finish $attempt succeeded

Exit codes: 0 ok, 2 usage, 3 nothing arrived, 4 mail arrived without a code or link,
5 withheld by policy, or no resends are left, 6 already consumed, or finished with
another outcome, 7 the key is not accepted or lacks a scope, 8 the server is
unreachable or unhealthy, 9 expired or finished.")]
pub(crate) struct AttemptCommand {
    #[command(subcommand)]
    act: Act,
    /// Print one JSON object on standard output, also without a value.
    #[arg(long, global = true)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

#[derive(Debug, Subcommand)]
enum Act {
    /// Open an attempt; print its id and the address to use.
    New(open::New),
    /// Show the state of an attempt.
    Show(show::Show),
    /// Wait until an attempt is ready, without consuming it.
    Wait(show::Await),
    /// Wait for the value, consume it, and print nothing else.
    Consume(consume::Consume),
    /// Ask for permission to request another mail from the sender.
    Resend(consume::Resend),
    /// Finish an attempt with an outcome.
    Finish(show::Finish),
}

pub(crate) async fn run(args: AttemptCommand) -> Result<ExitCode> {
    let client = Client::new(args.remote.connection()?)?;
    let out = Out { json: args.json };
    let done = match args.act {
        Act::New(new) => new.run(&client, &out).await,
        Act::Show(show) => show.run(&client, &out).await,
        Act::Wait(wait) => wait.run(&client, &out).await,
        Act::Consume(consume) => consume.run(&client, &out).await,
        Act::Resend(resend) => resend.run(&client, &out).await,
        Act::Finish(finish) => finish.run(&client, &out).await,
    };
    match done {
        Ok(code) => Ok(code),
        Err(error) => {
            let (_, code) = exit::of_failure(&error);
            out.object(&exit::describe(&error));
            let advice = exit::advice(&error);
            eprintln!("maillatch: {:#}{advice}", anyhow::Error::new(error));
            Ok(code)
        }
    }
}

/// Checks an id before the server is asked. A script whose `attempt new` has failed passes
/// an empty one.
fn attempt_id(text: &str) -> Result<String, &'static str> {
    let id: Result<AttemptId, _> = text.parse();
    id.map(|id| id.to_string())
        .map_err(|_other| "not an attempt's id, which `maillatch attempt new` prints: att_…")
}

/// How answers are printed: as plain lines, or as one JSON object.
struct Out {
    json: bool,
}

impl Out {
    /// Prints a line for people and scripts.
    fn line(&self, line: &str) {
        if !self.json {
            write(line);
        }
    }

    /// Prints the object for programs.
    fn object(&self, object: &serde_json::Value) {
        if self.json {
            write(&object.to_string());
        }
    }

    /// Prints an attempt's state; its hint goes to standard error.
    fn attempt(&self, attempt: &Attempt) {
        self.line(&match &attempt.reason {
            Some(reason) => format!("{} ({reason})", attempt.state),
            None => attempt.state.clone(),
        });
        if !attempt.hint.is_empty() {
            eprintln!("maillatch: {}", attempt.hint);
        }
        self.object(&attempt.body);
    }
}

fn write(line: &str) {
    let mut out = std::io::stdout().lock();
    // The reader may have closed the pipe. That is no failure.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

type Done = Result<ExitCode, CallError>;
