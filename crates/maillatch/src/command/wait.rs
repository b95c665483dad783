//! `wait`: the one call an agent needs. The value alone goes to standard output.

mod candidates;
pub(crate) mod exit;
mod handle;
mod miss;
pub(crate) mod pace;
mod search;
mod sorted;

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, ValueEnum};
use pipeline::{Clock, InboxId, SystemClock};
use secrecy::ExposeSecret;
use serde_json::json;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use url::Host;

use crate::client::{Client, Item, Kind, Remote};
use crate::config::Span;

use search::{Found, Value, search};

/// Waits for a code or a link, consumes it, and prints it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  maillatch wait code
  maillatch wait link --to shop-7@inbox.test --from-domain example.com --timeout 2m
  code=$(maillatch wait code --timeout 90s) || echo \"no code: $?\"

The newest one counts, also if it came before this call; standard error then says
how long before. None is given out that is older than one that was consumed: it is
consumed now, so a second `wait` waits for a newer one. While it waits, mail to the
inbox is for it; it lets go when it ends, also by Ctrl-C or SIGTERM.

Exit codes: 0 printed, 2 usage, 3 nothing arrived, 4 mail arrived without one, or
it was given to another attempt that waits there, 5 one was withheld by policy or
came from another sender, 6 the newest was already consumed, 7 the key is not
accepted, 8 the server cannot be reached, or is unhealthy, 9 one came and expired,
130 interrupted, 143 terminated.")]
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
    /// Only mail from this domain, or from one below it.
    #[arg(long, value_name = "DOMAIN", value_parser = domain)]
    from_domain: Option<String>,
    /// Only mail whose sender is proven, by the provider or by DKIM.
    #[arg(long)]
    verified: bool,
    /// Print one JSON object on standard output, whatever comes of it.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

/// What may be waited for.
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

/// What is searched for, where, and for how long.
struct Search<'a> {
    client: &'a Client,
    inbox: &'a InboxId,
    kind: Kind,
    from_domain: Option<&'a str>,
    verified: bool,
    timeout: Duration,
}

/// A domain as the feed has it, in lower case and ASCII, without the `@` that people
/// write before it.
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
            let [component, attempt] = miss.whose();
            let reason = miss.reason();
            let told = json!({ "reason": reason, "component": component, "attempt": attempt });
            print_miss(&args, miss.word(), told)?;
            Ok(miss.exit())
        }
        Ok(Found::Stopped(asked)) => {
            print_miss(&args, "interrupted", json!({}))?;
            Ok(asked.exit())
        }
        Err(error) => {
            let (word, code) = exit::of_failure(&error);
            print_miss(&args, word, exit::told_of(&error))?;
            let advice = exit::advice(&error);
            eprintln!("maillatch: {:#}{advice}", anyhow::Error::new(error));
            Ok(code)
        }
    }
}

fn print_value(args: &Wait, found: &Value) -> Result<()> {
    let disclosed = &found.disclosed;
    let kind = disclosed.kind.as_str();
    if !found.is_new
        && let Some(age) = age(&found.item)
    {
        let age = match age.as_secs() {
            0 => "a moment".to_owned(),
            seconds => format!("{seconds} s"),
        };
        eprintln!("maillatch: this {kind} came {age} before this call");
    }
    let mut out = std::io::stdout().lock();
    let value = disclosed.value.expose_secret();
    if args.json {
        let object = json!({
            "outcome": "consumed",
            "kind": kind,
            "value": value,
            "artifact": disclosed.id,
            "inbox": args.to,
            "received_at": found.item.received_at,
            "consumed_at": disclosed.consumed_at,
        });
        writeln!(out, "{object}")?;
    } else {
        writeln!(out, "{value}")?;
    }
    Ok(out.flush()?)
}

/// How many seconds ago an item's mail was received.
fn age(item: &Item) -> Option<Duration> {
    let received = OffsetDateTime::parse(&item.received_at, &Rfc3339).ok()?;
    let seconds = SystemClock.now().as_seconds() - received.unix_timestamp();
    Some(Duration::from_secs(seconds.max(0).unsigned_abs()))
}

/// Prints what came of it, and what else is to be told.
fn print_miss(args: &Wait, outcome: &str, told: serde_json::Value) -> Result<()> {
    if !args.json {
        return Ok(());
    }
    let mut object = serde_json::Map::new();
    object.insert("outcome".to_owned(), outcome.into());
    object.insert("kind".to_owned(), args.kind.kind().as_str().into());
    object.insert("inbox".to_owned(), json!(args.to));
    if let serde_json::Value::Object(told) = told {
        object.extend(told);
    }
    let object = serde_json::Value::Object(object);
    Ok(writeln!(std::io::stdout().lock(), "{object}")?)
}

#[cfg(test)]
mod tests;
