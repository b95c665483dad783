//! `guard`: claimed before an action, so that the action happens once.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use client::{CallError, Client, GuardAnswer};
use serde_json::{Map, Value, json};

use crate::command::wait::exit;
use crate::config::Span;
use crate::remote::Remote;

/// The action is done already, or another caller does it.
const NOT_YOURS: u8 = exit::ALREADY_CONSUMED;
/// It is unknown whether the action was done.
const UNCERTAIN: u8 = exit::WITHHELD;
/// The report came too late, or the intent has ended.
const OVER: u8 = exit::EXPIRED;

/// Claims an intent before an action, and reports after it.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: open one ticket for one order, however often the script runs
  if read -r id token key < <(maillatch guard claim shop --kind ticket \\
      --type ticket.open --entity order_4821); then
    ticket=$(open-ticket --idempotency-key \"$key\") &&
      maillatch guard confirm \"$id\" \"$token\" --result \"$ticket\"
  fi

Without a report the intent becomes uncertain at its deadline, and no caller may act
until it is confirmed late or the operator settles it (`maillatch sends settle`).

Exit codes: 0 ok, 2 usage, 5 uncertain, 6 already done or in progress, 7 the key is not
accepted or lacks the scope `guard`, 8 the server is unreachable, 9 too late or ended.")]
pub(crate) struct GuardCommand {
    #[command(subcommand)]
    act: Act,
    /// Print one JSON object on standard output.
    #[arg(long, global = true)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

#[derive(Debug, Subcommand)]
enum Act {
    /// Claim an intent; print the guard's id, the token and the provider key.
    Claim(Claim),
    /// Report that the action is done; accepted at any time.
    Confirm {
        /// The guard's id.
        guard: String,
        /// The token of the claim.
        token: String,
        /// What the action returned, such as the id of a ticket.
        #[arg(long, value_name = "TEXT")]
        result: Option<String>,
    },
    /// Report that the action was not done, if that is certain.
    Release {
        /// The guard's id.
        guard: String,
        /// The token of the claim.
        token: String,
    },
    /// Show the state of a guard.
    Show {
        /// The guard's id.
        guard: String,
    },
}

#[derive(Debug, Args)]
struct Claim {
    /// Who acts; intents are unique for each sender.
    sender: String,
    /// What the action is, such as order.confirmation.
    #[arg(long = "type", value_name = "TYPE", required_unless_present = "key")]
    kind_of_intent: Option<String>,
    /// What it is about, such as `order_4821`.
    #[arg(long, value_name = "ID", required_unless_present = "key")]
    entity: Option<String>,
    /// Which edition of it; another version is another intent.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    version: u32,
    /// The address that the action is for.
    #[arg(long, value_name = "ADDRESS")]
    to: Option<String>,
    /// A key that names the intent instead.
    #[arg(long, conflicts_with_all = ["kind_of_intent", "entity", "to"])]
    key: Option<String>,
    /// The kind of action: mail, ticket, payment, post …
    #[arg(long, default_value = "mail")]
    kind: String,
    /// How long the action may take: 30s, 10m.
    #[arg(long, value_name = "TIME", default_value = "2m")]
    lease: Span,
}

impl Claim {
    fn request(self) -> Value {
        let mut request = Map::new();
        request.insert("sender".to_owned(), json!(self.sender));
        request.insert("kind".to_owned(), json!(self.kind));
        request.insert("lease".to_owned(), json!(self.lease.0.as_secs()));
        if let (Some(kind), Some(entity)) = (self.kind_of_intent, self.entity) {
            let intent = json!({ "type": kind, "entity": entity, "version": self.version });
            request.insert("intent".to_owned(), intent);
        }
        for (name, value) in [("to", self.to), ("key", self.key)] {
            if let Some(value) = value {
                request.insert(name.to_owned(), json!(value));
            }
        }
        Value::Object(request)
    }
}

pub(crate) async fn run(args: GuardCommand) -> Result<ExitCode> {
    let client = Client::new(args.remote.connection()?)?;
    match act(&client, args.act, args.json).await {
        Ok(code) => Ok(code),
        Err(error) => {
            let (_, code) = exit::of_failure(&error);
            if args.json {
                print(&exit::describe(&error).to_string());
            }
            let advice = exit::advice(&error);
            eprintln!("maillatch: {:#}{advice}", anyhow::Error::new(error));
            Ok(code)
        }
    }
}

async fn act(client: &Client, act: Act, as_json: bool) -> Result<ExitCode, CallError> {
    let answer = match act {
        Act::Claim(claim) => client.claim_guard(&claim.request(), None).await?,
        Act::Confirm {
            guard,
            token,
            result,
        } => {
            let done = client.confirm_guard(&guard, &token, result.as_deref());
            return Ok(report(&done.await?, as_json));
        }
        Act::Release { guard, token } => {
            let released = client.release_guard(&guard, &token).await?;
            return Ok(report(&released, as_json));
        }
        Act::Show { guard } => {
            let guard = client.guard(&guard).await?;
            show(&guard, as_json);
            return Ok(ExitCode::SUCCESS);
        }
    };
    Ok(claimed(&answer, as_json))
}

/// Prints the answer to a claim.
fn claimed(answer: &GuardAnswer, as_json: bool) -> ExitCode {
    let (body, hint, code) = match answer {
        GuardAnswer::Claimed(body) => {
            let line = ["id", "token", "provider_key"].map(|name| text(body, name));
            print(&if as_json {
                body.to_string()
            } else {
                line.join(" ")
            });
            return ExitCode::SUCCESS;
        }
        GuardAnswer::Done(body) => (body, "the action is done already", NOT_YOURS),
        GuardAnswer::InProgress(body) => (body, "another caller acts on this intent", NOT_YOURS),
        GuardAnswer::Uncertain(body) => (
            body,
            "it is unknown whether the action was done; do not act",
            UNCERTAIN,
        ),
        GuardAnswer::Over(body) => (body, "the intent has ended; use a higher version", OVER),
    };
    if as_json {
        print(&body.to_string());
    }
    eprintln!("maillatch: {hint} ({})", text(body, "id"));
    ExitCode::from(code)
}

/// Prints the answer to a report.
fn report(answer: &GuardAnswer, as_json: bool) -> ExitCode {
    match answer {
        GuardAnswer::Claimed(body) | GuardAnswer::Done(body) => {
            show(body, as_json);
            ExitCode::SUCCESS
        }
        GuardAnswer::InProgress(body) | GuardAnswer::Uncertain(body) | GuardAnswer::Over(body) => {
            if as_json {
                print(&body.to_string());
            }
            eprintln!("maillatch: {}", text(body, "detail"));
            ExitCode::from(OVER)
        }
    }
}

fn show(body: &Value, as_json: bool) {
    let result = body.get("result").and_then(Value::as_str);
    print(&match (as_json, result) {
        (true, _) => body.to_string(),
        (false, Some(result)) => format!("{} {result}", text(body, "state")),
        (false, None) => text(body, "state"),
    });
}

fn text(body: &Value, name: &str) -> String {
    let text = body.get(name).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

fn print(line: &str) {
    let mut out = std::io::stdout().lock();
    // The reader may have closed the pipe. That is no failure.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
