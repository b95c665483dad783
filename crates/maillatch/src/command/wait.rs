//! `wait`: the one command that an agent needs. Only the value goes to standard output.

pub(crate) mod exit;
mod handle;
mod miss;
pub(crate) mod pace;
pub(crate) mod patience;
mod search;

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, ValueEnum};
use pipeline::InboxId;
use secrecy::ExposeSecret;
use serde_json::json;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use url::Host;

use crate::config::Span;
use crate::remote::Remote;
use client::{Client, Kind};

use search::{Found, Value, search};

/// Waits for a code or a link, consumes it, and prints it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  maillatch wait code
  maillatch wait link --to shop-7@inbox.test --from-domain example.com --timeout 2m
  code=$(maillatch wait code --timeout 90s) || echo \"no code: $?\"

`wait` opens an attempt and takes the newest code or link. If it arrived before this
call, standard error says how long before. `wait` never returns a value that is older
than a consumed one, so a second `wait` waits for a newer one. While it waits, mail to
the inbox belongs to its attempt. The attempt ends with the command, also after Ctrl-C or
SIGTERM, and ten seconds after the command was killed.

Exit codes: 0 printed, 2 usage, 3 nothing arrived, 4 mail arrived without a code or
link, or another attempt on this inbox got it, 5 withheld by policy or from another
sender, 6 the newest was already consumed, 7 the key is not accepted, 8 the server is
unreachable or unhealthy, 9 it arrived and expired, 130 interrupted, 143 terminated.")]
pub(crate) struct Wait {
    /// What to wait for.
    #[arg(value_enum)]
    kind: Wanted,
    /// The inbox to watch.
    #[arg(long, value_name = "ADDRESS", default_value = "agent@inbox.test")]
    to: InboxId,
    /// How long to wait: 500ms, 30s, 10m.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    timeout: Span,
    /// Accept only mail from this domain or a subdomain of it.
    #[arg(long, value_name = "DOMAIN", value_parser = domain)]
    from_domain: Option<String>,
    /// Accept only mail whose sender is proven, by the provider or by DKIM.
    #[arg(long)]
    verified: bool,
    /// Print one JSON object on standard output, also without a value.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

/// What to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Wanted {
    /// A one-time code.
    Code,
    /// A link.
    Link,
}

impl Wanted {
    fn kind(self) -> Kind {
        match self {
            Self::Code => Kind::Code,
            Self::Link => Kind::Link,
        }
    }
}

/// What to search for, where, and for how long.
struct Search<'a> {
    client: &'a Client,
    inbox: &'a InboxId,
    kind: Kind,
    from_domain: Option<&'a str>,
    verified: bool,
    timeout: Duration,
}

/// Parses a domain into the feed's form: lower case, ASCII, without a leading `@`.
fn domain(text: &str) -> Result<String, String> {
    let wrong = || "write a domain, such as example.com".to_owned();
    let Ok(Host::Domain(domain)) = Host::parse(text.trim_start_matches('@')) else {
        return Err(wrong());
    };
    let is_one = domain.contains('.') && format!("any@{domain}").parse::<InboxId>().is_ok();
    is_one.then_some(domain).ok_or_else(wrong)
}

pub(crate) async fn run(args: Wait) -> Result<ExitCode> {
    let client = Client::new(args.remote.connection()?)?;
    let wanted = Search {
        client: &client,
        inbox: &args.to,
        kind: args.kind.kind(),
        from_domain: args.from_domain.as_deref(),
        verified: args.verified,
        timeout: args.timeout.0,
    };
    match search(&wanted).await {
        Ok(Found::Value(value)) => {
            print_value(&args, &value)?;
            Ok(ExitCode::SUCCESS)
        }
        Ok(Found::None(miss)) => {
            let explained = miss.explain(args.kind.kind(), &args.to, args.timeout.0);
            eprintln!("maillatch: {explained}");
            let details = json!({ "reason": miss.reason(), "component": miss.component() });
            print_miss(&args, miss.as_str(), details)?;
            Ok(miss.exit())
        }
        Ok(Found::Stopped(signal)) => {
            print_miss(&args, "interrupted", json!({}))?;
            Ok(signal.exit())
        }
        Err(error) => {
            let (word, code) = exit::of_failure(&error);
            print_miss(&args, word, exit::describe(&error))?;
            let advice = exit::advice(&error);
            eprintln!("maillatch: {:#}{advice}", anyhow::Error::new(error));
            Ok(code)
        }
    }
}

fn print_value(args: &Wait, found: &Value) -> Result<()> {
    let disclosed = &found.disclosed;
    let kind = disclosed.kind.as_str();
    if let Some(age) = age(found) {
        let age = match age.as_secs() {
            0 => "a moment".to_owned(),
            seconds => format!("{seconds} s"),
        };
        eprintln!("maillatch: this {kind} arrived {age} before this call");
    }
    let mut out = std::io::stdout().lock();
    let value = disclosed.value.expose_secret();
    if args.json {
        let object = json!({
            "outcome": "consumed",
            "kind": kind,
            "value": value,
            "artifact": disclosed.artifact,
            "inbox": args.to,
            "sender_verified": disclosed.sender_verified,
            "sender_proof": disclosed.sender_proof,
            "received_at": found.received_at,
            "consumed_at": disclosed.consumed_at,
        });
        writeln!(out, "{object}")?;
    } else {
        writeln!(out, "{value}")?;
    }
    Ok(out.flush()?)
}

/// How long before the wait the mail of a value was received, if before. Both times are the
/// server's.
fn age(found: &Value) -> Option<Duration> {
    let time = |text: &Option<String>| OffsetDateTime::parse(text.as_deref()?, &Rfc3339).ok();
    let age = time(&found.opened_at)? - time(&found.received_at)?;
    age.is_positive().then(|| age.unsigned_abs())
}

/// Prints the outcome and its details as JSON, if JSON is wanted.
fn print_miss(args: &Wait, outcome: &str, details: serde_json::Value) -> Result<()> {
    if !args.json {
        return Ok(());
    }
    let mut object = serde_json::Map::new();
    object.insert("outcome".to_owned(), outcome.into());
    object.insert("kind".to_owned(), args.kind.kind().as_str().into());
    object.insert("inbox".to_owned(), json!(args.to));
    if let serde_json::Value::Object(details) = details {
        object.extend(details);
    }
    let object = serde_json::Value::Object(object);
    Ok(writeln!(std::io::stdout().lock(), "{object}")?)
}

#[cfg(test)]
mod tests;
