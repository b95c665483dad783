//! `demo`: runs the whole pipeline against real processes. Each line is a real request
//! and a check.

mod provider;
mod sends;
mod story;
mod transcript;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use secrecy::SecretString;
use url::Url;

use crate::deployment::{Backing, Deployment};

use provider::Provider;
use sends::Mailer;
use transcript::Transcript;

/// How long the demo waits without any progress before it gives up.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Runs the whole pipeline against temporary processes and checks each step.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  maillatch demo
  maillatch demo --json
  maillatch demo --send
  maillatch demo --database-url postgres://… --amqp-url amqp://…

Without flags it runs one process on SQLite in a temporary directory. With both
URLs it runs two processes of each role on a new database of that server, and drops
the database afterwards. Exit codes: 0 every check passed, 1 a check failed.")]
pub(crate) struct Demo {
    /// A Postgres server; the demo creates its database there.
    #[arg(long, value_name = "URL", requires = "amqp_url")]
    database_url: Option<String>,
    /// A RabbitMQ broker.
    #[arg(long, value_name = "URL", requires = "database_url")]
    amqp_url: Option<String>,
    /// Print the transcript as JSON on standard output.
    #[arg(long)]
    json: bool,
    /// Show how mail is sent once, by a provider of the demo's own that lies.
    #[arg(long)]
    send: bool,
}

pub(crate) async fn run(args: Demo) -> Result<ExitCode> {
    let scratch = Scratch::prepare(&args).await?;
    let mut transcript = Transcript::new(args.json);
    let outcome = if args.send {
        play_sends(scratch.backing(), &mut transcript).await
    } else {
        play(scratch.backing(), &mut transcript).await
    };
    let dropped = scratch.discard().await;
    transcript.finish(outcome.as_ref().err())?;
    outcome.and(dropped)?;
    Ok(if transcript.passed() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

async fn play(backing: Backing, transcript: &mut Transcript) -> Result<()> {
    let binary: PathBuf = std::env::current_exe().context("failed to find this binary")?;
    let settings = "worker.lease = \"2s\"\nworker.sweep_every = \"200ms\"\n";
    let mut deployment = Deployment::launch(&binary, backing, settings).await?;
    let outcome = story::play(&mut deployment, transcript).await;
    let stopped = deployment.stop().await;
    outcome.and(stopped)
}

async fn play_sends(backing: Backing, transcript: &mut Transcript) -> Result<()> {
    let binary: PathBuf = std::env::current_exe().context("failed to find this binary")?;
    let (provider, token) = (Provider::start().await?, feed::Keys::mint());
    let settings = sends::settings(&provider, &token);
    let mut deployment = Deployment::launch(&binary, backing, &settings).await?;
    let mailer = Mailer::new(token)?;
    let outcome = sends::play(&mut deployment, &provider, &mailer, transcript).await;
    let stopped = deployment.stop().await;
    outcome.and(stopped)
}

/// The demo's storage; it is removed at the end.
enum Scratch {
    Directory,
    Database {
        url: SecretString,
        text: String,
        amqp_url: String,
    },
}

impl Scratch {
    async fn prepare(args: &Demo) -> Result<Self> {
        let (Some(server), Some(amqp_url)) = (&args.database_url, &args.amqp_url) else {
            return Ok(Self::Directory);
        };
        let mut url = Url::parse(server).context("--database-url is not a URL")?;
        if !url.scheme().starts_with("postgres") {
            bail!("--database-url must begin with postgres://");
        }
        url.set_path(&format!("maillatch_demo_{}", uuid::Uuid::now_v7().simple()));
        let text = url.to_string();
        let url = SecretString::from(text.clone());
        store::create_database(&url)
            .await
            .context("failed to create the demo's database")?;
        let amqp_url = amqp_url.clone();
        Ok(Self::Database {
            url,
            text,
            amqp_url,
        })
    }

    fn backing(&self) -> Backing {
        match self {
            Self::Directory => Backing::Embedded,
            Self::Database { text, amqp_url, .. } => Backing::Full {
                is_migrated: false,
                database_url: text.clone(),
                amqp_url: amqp_url.clone(),
            },
        }
    }

    async fn discard(self) -> Result<()> {
        match self {
            Self::Directory => Ok(()),
            Self::Database { url, .. } => {
                let dropped = store::drop_database(&url).await;
                dropped.context("failed to drop the demo's database")
            }
        }
    }
}
