//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::command::{
    attempt, completions, demo, doctor, eval, explain, failures, healthcheck, import, key, keys,
    migrate, relay, source, trigger, wait,
};
use crate::config::{Config, Flags, load};

/// Receives verification mail by webhook and gives out its code or link at most once.
#[derive(Debug, Parser)]
#[command(name = "maillatch", version, about, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

const AFTER_HELP: &str = "\
Three commands to a code:
  maillatch                 serve; SQLite in ./maillatch-data, nothing to install
  maillatch trigger otp     in another terminal: a signed delivery, as a provider sends it
  maillatch wait code       prints the code, alone, on standard output

Exit codes: 0 ok, 1 failure, 2 usage, 3 nothing arrived, 4 arrived without an
artifact, 5 withheld by policy, 6 already consumed, 7 not authorised, 8 server
unreachable or unhealthy, 9 expired, 130 interrupted, 143 terminated.";

/// What to do; without a command, `up`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve every role in one process (the default).
    Up(Serve),
    /// Serve webhooks only: verify, record, ring, answer.
    Webhook(Serve),
    /// Process deliveries only: claim, parse, extract, complete.
    Worker(Serve),
    /// Serve the agents' feed only: list, wait, consume.
    Feed(Serve),
    /// Ask sources for mail that their webhooks have missed, and notice silent ones.
    Poll(Serve),
    /// List and rotate the keys that rows are sealed with.
    Keys(keys::Keys),
    /// Create or update the database's tables.
    Migrate(migrate::Migrate),
    /// Post a correctly signed, realistic delivery to a running server.
    Trigger(trigger::Trigger),
    /// Wait for a code or a link, consume it, and print it.
    Wait(wait::Wait),
    /// Open an attempt before the mail is triggered; look at it, consume it, finish it.
    Attempt(attempt::AttemptCommand),
    /// Show the whole story against a real server of its own, and check each step.
    Demo(demo::Demo),
    /// Show what a mail holds, and the evidence for it.
    Explain(explain::Explain),
    /// Score the extractor on labelled messages and URLs.
    Eval(eval::Eval),
    /// List sources, connect a new one, try one out.
    Source(source::SourceCommand),
    /// Post a message from standard input, as a mail server pipes it.
    Relay(relay::Relay),
    /// Take mail from files: a Maildir, or a folder of .eml.
    Import(import::ImportCommand),
    /// List, show and requeue deliveries that were given up.
    Failures(failures::Failures),
    /// Make, list and revoke the keys of agents.
    Key(key::KeyCommand),
    /// Check configuration, database, queue, sources and clock.
    Doctor(doctor::Doctor),
    /// Ask a running server whether it is ready (for container health checks).
    Healthcheck(healthcheck::Healthcheck),
    /// Print a completion script for a shell.
    Completions(completions::Completions),
}

/// Where the configuration comes from.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Place {
    /// A TOML file with settings; the keys are those of the defaults file.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The Postgres database of the full profile.
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) database_url: Option<String>,
    /// The RabbitMQ broker of the full profile.
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) amqp_url: Option<String>,
    /// The directory of the embedded profile.
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
}

impl Place {
    /// The configuration of this process, with `listen` laid over it.
    pub(crate) fn load(&self, listen: Option<&str>) -> anyhow::Result<Config> {
        let mut flags = Flags::default();
        flags.set("server", "listen", listen.map(str::to_owned));
        flags.set("database", "url", self.database_url.clone());
        flags.set("queue", "url", self.amqp_url.clone());
        let dir = self.data_dir.as_ref().map(|dir| dir.display().to_string());
        flags.set("data", "dir", dir);
        load(self.config.as_deref(), &flags)
    }
}

/// How to serve.
#[derive(Debug, Clone, Default, Args)]
#[command(after_help = "\
Examples:
  maillatch up --listen 127.0.0.1:0 --json
  maillatch worker --database-url postgres://… --amqp-url amqp://…")]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) place: Place,
    /// Where to serve HTTP; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// When ready, print one JSON line on standard output.
    #[arg(long)]
    pub(crate) json: bool,
}
