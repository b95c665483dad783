//! `attempt`: the handle that is opened before the mail is triggered.

mod consume;
mod open;
mod show;

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::client::{Attempt, CallError, Client, Remote};
use crate::command::wait::exit;

/// Opens, shows, waits for, consumes and finishes attempts.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: sign up with an address of one's own, then read the code that was sent there
  read -r attempt address < <(maillatch attempt new --from example.com)
  # … enter $address at example.com …
  code=$(maillatch attempt consume $attempt --timeout 90s) || echo \"no code: $?\"
  maillatch attempt finish $attempt succeeded

Exit codes: 0 ok, 2 usage, 3 nothing arrived, 4 mail arrived without one, 5 a rule
blocks it, or the budget of resends is spent, 6 already consumed, or finished
otherwise, 7 the key is not accepted, or lacks a scope, 8 the server cannot be
reached or is unhealthy, 9 expired or over.")]
pub(crate) struct AttemptCommand {
    #[command(subcommand)]
    act: Act,
    /// Print one JSON object on standard output, whatever comes of it.
    #[arg(long, global = true)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

#[derive(Debug, Subcommand)]
enum Act {
    /// Open an attempt; prints its id and the address to use.
    New(open::New),
    /// Say how an attempt stands.
    Show(show::Show),
    /// Wait until an attempt is ready, without consuming it.
    Wait(show::Await),
    /// Wait for the value and consume it; prints the value alone.
    Consume(consume::Consume),
    /// Ask whether the sender may be asked for another mail.
    Resend(consume::Resend),
    /// Say how an attempt ended.
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
            out.object(&exit::told_of(&error));
            let advice = exit::advice(&error);
            eprintln!("maillatch: {:#}{advice}", anyhow::Error::new(error));
            Ok(code)
        }
    }
}

/// Where answers go: plain words, or one JSON object.
struct Out {
    json: bool,
}

impl Out {
    /// A line for people and scripts.
    fn line(&self, line: &str) {
        if !self.json {
            write(line);
        }
    }

    /// The object for machines.
    fn object(&self, object: &serde_json::Value) {
        if self.json {
            write(&object.to_string());
        }
    }

    /// How an attempt stands; the hint goes to people.
    fn attempt(&self, attempt: &Attempt) {
        self.line(&match &attempt.reason {
            Some(reason) => format!("{} ({reason})", attempt.state),
            None => attempt.state.clone(),
        });
        if !attempt.hint.is_empty() {
            eprintln!("maillatch: {}", attempt.hint);
        }
        self.object(&attempt.told);
    }
}

fn write(line: &str) {
    let mut out = std::io::stdout().lock();
    // A reader that is gone wants to hear nothing.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

type Done = Result<ExitCode, CallError>;
