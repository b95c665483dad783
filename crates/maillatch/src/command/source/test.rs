//! `source test`: a sample of the provider's own shape, signed with the source's
//! own secret, to a running server. A source that is only polled is asked for its list.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use pipeline::{Clock, InboxId, SourceName, SystemClock};
use poll::PolledSources;
use providers::{Post, Sample, Source, Sources};
use serde_json::json;
use url::Url;

use crate::config::{Config, ConfigArgs};
use crate::dev;
use crate::server_clock::complaint;
use crate::wire::poll_settings;
use client::{Posted, send};

/// Posts a correctly signed sample of the provider's own shape to a running server. A source
/// that is only polled is asked for its list instead; nothing is recorded.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  maillatch source test postmark --to agent@inbox.example.com")]
pub(crate) struct Test {
    /// The configured source.
    name: SourceName,
    /// The inbox that the sample is sent to; by default `agent` at a domain of the source.
    #[arg(long, value_name = "ADDRESS")]
    to: Option<InboxId>,
    /// The server; by default the one that the configuration listens on.
    #[arg(long, env = dev::URL, value_name = "URL")]
    url: Option<Url>,
    /// Print JSON on standard output.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Test, place: &ConfigArgs) -> Result<ExitCode> {
    let config = place.load(None)?;
    let sources = Sources::build(config.source.clone())?;
    let source = sources
        .get(args.name.as_str())
        .with_context(|| format!("no source {} is configured", args.name))?;
    if !source.posts() {
        return test_polling(&config, &sources, source).await;
    }
    let url = match args.url {
        Some(url) => url,
        None => Url::parse(&format!("http://{}", config.server.listen))?,
    };
    let to = match args.to {
        Some(to) => to,
        None => own_inbox(&config, source)?,
    };
    let code = rand::random_range(100_000..=999_999).to_string();
    let id = format!("test_{}", uuid::Uuid::now_v7().simple());
    let sample = Sample {
        id: &id,
        at: SystemClock.now(),
        from: "no-reply@example.com",
        recipient: to.as_str(),
        subject: "Your verification code",
        text: &format!("Your verification code is {code}.\n"),
    };
    let Some(post) = source.sample(&sample) else {
        return test_refusal(&url, source).await;
    };
    let posted = send(&url, source.name().as_str(), post).await?;
    let status = posted.http;
    if args.json {
        let line = json!({ "http": status, "source": source.name().as_str(), "value": code });
        writeln!(std::io::stdout().lock(), "{line}")?;
    }
    eprintln!(
        "{} sample with code {code} to {} → {status}",
        source.provider(),
        to
    );
    if status == 200 {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("{}", refusal(&posted, source));
    Ok(ExitCode::FAILURE)
}

/// An inbox that mail of this source may reach.
fn own_inbox(config: &Config, source: &Source) -> Result<InboxId> {
    let listed = source.domains().and_then(|domains| domains.first());
    let domain = listed.unwrap_or(&config.inbox.mint_domain);
    let inbox = format!("agent@{domain}").parse();
    inbox.context("the source's `domains` has no domain name; name an inbox with --to")
}

/// Why the server may have refused the sample, and what to do.
fn refusal(posted: &Posted, source: &Source) -> String {
    let name = source.name();
    match posted.http {
        404 => format!(
            "the server has no source named {name}: restart it after a change of the configuration"
        ),
        status if status == source.answers().unproven => {
            let tolerance = source.tolerance();
            let clock =
                tolerance.and_then(|tolerance| complaint(posted.date.as_deref(), tolerance));
            clock.unwrap_or_else(|| {
                format!(
                    "the server did not accept the signature: its `secrets` or its password for \
                     {name} differ from those of this configuration; restart it after a change"
                )
            })
        }
        _ => format!(
            "the server did not record it ({}); its log says why",
            posted.problem.as_deref().unwrap_or("no reason given")
        ),
    }
}

/// Tests a source for which only the provider can sign: the server must know the source
/// and refuse an unsigned post with the status that keeps the provider's mail.
async fn test_refusal(url: &Url, source: &Source) -> Result<ExitCode> {
    let provider = source.provider();
    let unsigned = Post {
        query: None,
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: b"{}".to_vec(),
    };
    let status = send(url, source.name().as_str(), unsigned).await?.http;
    let expected = source.answers().unproven;
    eprintln!("only {provider} can sign for this source: an unsigned post → {status}");
    Ok(if status == expected {
        ExitCode::SUCCESS
    } else {
        eprintln!("expected {expected}");
        ExitCode::FAILURE
    })
}

/// Asks a source that is only polled for its list, as the poller does.
async fn test_polling(config: &Config, sources: &Sources, source: &Source) -> Result<ExitCode> {
    let settings = poll_settings(config)?;
    let polled = PolledSources::build(&config.source, sources, &settings)?;
    let (name, now) = (source.name(), SystemClock.now());
    let listed = polled.try_list(name, now, settings.answer_budget).await;
    Ok(match listed.context("the source is not polled")? {
        Ok(mails) => {
            eprintln!("{name} can be polled; its first page has {mails} mails to read");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("{name} cannot be polled: {reason}");
            ExitCode::FAILURE
        }
    })
}
