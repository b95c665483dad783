//! `source test`: a sample of the provider's own shape, signed with the source's
//! own secret, to a running server.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use pipeline::{Clock, InboxId, SourceName, SystemClock};
use providers::{Post, Sample, Source, Sources};
use serde_json::json;
use url::Url;

use crate::client::send;
use crate::config::ConfigArgs;
use crate::dev;

/// Posts a correctly signed sample of the provider's own shape to a running server.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  maillatch source test postmark && maillatch wait code")]
pub(crate) struct Test {
    /// The configured source.
    name: SourceName,
    /// The inbox that the sample is sent to.
    #[arg(long, value_name = "ADDRESS", default_value = "agent@inbox.test")]
    to: InboxId,
    /// The server; by default the one that the configuration listens on.
    #[arg(long, env = dev::URL, value_name = "URL")]
    url: Option<Url>,
    /// Print JSON on standard output.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Test, place: &ConfigArgs) -> Result<ExitCode> {
    let config = place.load(None)?;
    let url = match args.url {
        Some(url) => url,
        None => Url::parse(&format!("http://{}", config.server.listen))?,
    };
    let sources = Sources::build(config.source)?;
    let source = sources
        .get(args.name.as_str())
        .with_context(|| format!("no source {} is configured", args.name))?;
    let code = rand::random_range(100_000..=999_999).to_string();
    let id = format!("test_{}", uuid::Uuid::now_v7().simple());
    let sample = Sample {
        id: &id,
        at: SystemClock.now(),
        from: "no-reply@example.com",
        recipient: args.to.as_str(),
        subject: "Your verification code",
        text: &format!("Your verification code is {code}.\n"),
    };
    let Some(post) = source.sample(&sample) else {
        return test_refusal(&url, source).await;
    };
    let status = send(&url, source.name().as_str(), post).await?.http;
    if args.json {
        let line = json!({ "http": status, "source": source.name().as_str(), "value": code });
        writeln!(std::io::stdout().lock(), "{line}")?;
    }
    eprintln!(
        "{} sample with code {code} to {} → {status}",
        source.provider(),
        args.to
    );
    Ok(if status == 200 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Tests a source for which only the provider can sign: the server must know the source
/// and refuse an unsigned post with the status that keeps the provider's mail.
async fn test_refusal(url: &Url, source: &Source) -> Result<ExitCode> {
    let provider = source.provider();
    if !source.posts() {
        bail!("{provider} is polled, not posted to; `maillatch doctor` says how its polls went");
    }
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
