//! `wait`: the one call an agent needs. The value alone goes to standard output.

pub(crate) mod exit;
mod miss;
mod search;

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use pipeline::InboxId;
use secrecy::ExposeSecret;
use serde_json::json;

use crate::client::{Client, Disclosed, Kind, Remote};
use crate::config::Span;

use search::{Found, search};

/// Waits for a code or a link, consumes it, and prints it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  maillatch wait code
  maillatch wait link --to shop-7@inbox.test --from-domain example.com --timeout 2m
  code=$(maillatch wait code --timeout 90s) || echo \"no code: $?\"

The newest one that nobody has consumed counts, also if it came before this call.
It is consumed: a second `wait` gets the next one.

Exit codes: 0 printed, 3 nothing arrived, 4 mail arrived without one, 5 one was
withheld by policy, 6 one was already consumed, 7 the key is not accepted, 8 the
server cannot be reached.")]
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
    #[arg(long, value_name = "DOMAIN")]
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
    timeout: std::time::Duration,
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
        Ok(Found::Value(disclosed)) => {
            print_value(&args, &disclosed)?;
            Ok(ExitCode::SUCCESS)
        }
        Ok(Found::None(miss)) => {
            eprintln!(
                "maillatch: {}",
                miss.explain(args.kind.kind(), &args.to, args.timeout.0)
            );
            print_miss(&args, miss.word(), miss.reason())?;
            Ok(miss.exit())
        }
        Err(error) => {
            let (word, code) = exit::of_failure(&error);
            let advice = exit::advice(&error);
            eprintln!("maillatch: {:#}{advice}", anyhow::Error::new(error));
            print_miss(&args, word, None)?;
            Ok(code)
        }
    }
}

fn print_value(args: &Wait, disclosed: &Disclosed) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let value = disclosed.value.expose_secret();
    if args.json {
        let object = json!({
            "outcome": "consumed",
            "kind": disclosed.kind.as_str(),
            "value": value,
            "artifact": disclosed.id,
            "inbox": args.to,
            "consumed_at": disclosed.consumed_at,
        });
        writeln!(out, "{object}")?;
    } else {
        writeln!(out, "{value}")?;
    }
    Ok(out.flush()?)
}

fn print_miss(args: &Wait, word: &str, reason: Option<&str>) -> Result<()> {
    if args.json {
        let object = json!({
            "outcome": word,
            "reason": reason,
            "kind": args.kind.kind().as_str(),
            "inbox": args.to,
        });
        writeln!(std::io::stdout().lock(), "{object}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
