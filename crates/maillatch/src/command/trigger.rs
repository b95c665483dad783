//! `trigger`: posts correctly signed sample mail, as a provider would.

mod play;
mod scenario;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use pipeline::{InboxId, SourceName};
use serde_json::json;

use crate::command::wait::exit;
use crate::remote::Remote;
use crate::server_clock::{TOLERANCE, complaint};
use client::{CallError, Delivery, Hook, Posted, Sample, SampleKind, sample_mail};
use scenario::Scenario;

/// The kinds of mail, with their help.
fn sample_kinds() -> impl TypedValueParser<Value = SampleKind> {
    let named = SampleKind::ALL.map(|kind| {
        let help = match kind {
            SampleKind::Otp => "A six-digit one-time code",
            SampleKind::MagicLink => "A link to sign in with",
        };
        PossibleValue::new(kind.as_str()).help(help)
    });
    PossibleValuesParser::new(named).map(|name| {
        let named = SampleKind::ALL
            .into_iter()
            .find(|kind| kind.as_str() == name);
        // The parser accepts only names of kinds.
        named.unwrap_or(SampleKind::Otp)
    })
}

/// Posts a correctly signed, realistic sample mail to a running server.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  maillatch trigger otp
  maillatch trigger magic-link --to shop-7@inbox.test
  maillatch trigger otp --count 20 --json | jq -r .value
  maillatch trigger otp --as mailgun --scenario forged
  maillatch trigger otp --as standard-webhooks --scenario stale --json

--as posts in that provider's form and with its signature, for a source of the
configuration. A scenario prints each post and its answer, and exits with 1 if an
answer is not the one that the provider's contract requires.

The mail has a text and an HTML part, a hidden preheader, and near the code or link
a year, a phone number and an order number that must not be mistaken for it.")]
pub(crate) struct Trigger {
    /// The kind of mail.
    #[arg(value_parser = sample_kinds())]
    kind: SampleKind,
    /// The inbox to send it to.
    #[arg(long, value_name = "ADDRESS", default_value = "agent@inbox.test")]
    to: InboxId,
    /// The source to post to, by default `dev`. Its secret is in
    /// `MAILLATCH_SIGNING_SECRET` or in the data directory; with `--as`, in the
    /// configuration.
    #[arg(long)]
    source: Option<SourceName>,
    /// Post as this provider does, to its first source in the configuration.
    #[arg(long = "as", value_name = "PROVIDER")]
    provider: Option<String>,
    /// What happens to the post on the way.
    #[arg(long, value_enum, default_value_t = Scenario::Plain)]
    scenario: Scenario,
    /// With `--as`: a TOML file with settings.
    #[arg(long, value_name = "FILE", requires = "provider")]
    config: Option<PathBuf>,
    /// How many different mails to post, one after another.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    count: u32,
    /// Print one JSON object for each delivery on standard output, with the code
    /// or link that was sent.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

impl Trigger {
    /// The name of the source.
    fn source(&self) -> String {
        let named = self.source.as_ref().map(SourceName::to_string);
        named.unwrap_or_else(|| "dev".to_owned())
    }
}

pub(crate) async fn run(args: Trigger) -> Result<ExitCode> {
    if args.provider.is_some() || args.scenario != Scenario::Plain {
        return play::run(&args).await;
    }
    let hook = args.remote.hook(&args.source())?;
    for _ in 0..args.count {
        let sample = sample_mail(args.kind, &args.to);
        let delivery = Delivery::of_mail(&sample.mail, std::slice::from_ref(&args.to));
        let posted = match post(&hook, &delivery).await? {
            Ok(posted) => posted,
            Err(error) => {
                let advice = exit::advice(&error);
                eprintln!("maillatch: {:#}{advice}", anyhow::Error::new(error));
                return Ok(ExitCode::from(exit::UNREACHABLE));
            }
        };
        if args.json {
            print_object(&args, &sample, &delivery, &posted)?;
        }
        if let Some(code) = refusal(&args, &posted)? {
            return Ok(code);
        }
        eprintln!(
            "{} posted to {} by source {}: 200 {}, delivery {}",
            args.kind.as_str(),
            args.to,
            args.source(),
            posted.status.as_deref().unwrap_or("?"),
            posted.delivery.as_deref().unwrap_or("?"),
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Posts once. The outer error is about the secret, the inner one about the server.
async fn post(hook: &Hook, delivery: &Delivery) -> Result<Result<Posted, CallError>> {
    let signed = hook.sign(delivery)?;
    Ok(hook.post(&signed).await)
}

fn print_object(
    args: &Trigger,
    sample: &Sample,
    delivery: &Delivery,
    posted: &Posted,
) -> Result<()> {
    let object = json!({
        "kind": args.kind.as_str(),
        "to": args.to,
        "value": sample.value,
        "webhook_id": delivery.id,
        "http": posted.http,
        "status": posted.status,
        "delivery": posted.delivery,
        "problem": posted.problem,
    });
    writeln!(std::io::stdout().lock(), "{object}")?;
    Ok(())
}

/// The exit code for a post that was refused; `None` if it was accepted.
fn refusal(args: &Trigger, posted: &Posted) -> Result<Option<ExitCode>> {
    let problem = posted.problem.as_deref().unwrap_or("no reason given");
    match posted.http {
        200 => Ok(None),
        401 if let Some(clock) = complaint(posted.date.as_deref(), TOLERANCE) => {
            eprintln!("maillatch: the server refused the signature ({problem}): {clock}");
            Ok(Some(ExitCode::from(exit::AUTH)))
        }
        401 => {
            eprintln!(
                "maillatch: the server refused the signature for source {} ({problem}); check that \
                 MAILLATCH_SIGNING_SECRET is the secret of this source",
                args.source()
            );
            Ok(Some(ExitCode::from(exit::AUTH)))
        }
        404 => bail!(
            "the server has no source named {}; list its sources with: maillatch source list",
            args.source()
        ),
        http @ 500.. => bail!(
            "the server answered {http} ({problem}); whether it recorded the mail is unknown; a \
             provider would post it again"
        ),
        http => bail!("the server answered {http} ({problem}); nothing was recorded"),
    }
}
