//! `doctor`: checks a deployment.

mod api_keys;
mod refusals;
mod running;
mod source_health;
mod storage;

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Error, Result};
use clap::Args;
use pipeline::{Clock, Probe, SystemClock};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::config::{Config, ConfigArgs, MintDomain, Profile};
use crate::dev::DevEnv;
use crate::secrets::{keyring, will_create_key_file};
use crate::wire::{cautions, queue_settings, store_settings, worker_settings};

/// Checks configuration, database, queue, sources, keys and clock.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  maillatch doctor
  maillatch doctor --config /etc/maillatch.toml --json

Exit codes: 0 nothing failed, 1 a check failed.")]
pub(crate) struct Doctor {
    #[command(flatten)]
    config_args: ConfigArgs,
    /// Print JSON on standard output.
    #[arg(long)]
    json: bool,
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Ok,
    Warning,
    Failed,
}

struct Check {
    name: &'static str,
    health: Health,
    detail: String,
}

impl Check {
    fn ok(name: &'static str, detail: impl Into<String>) -> Self {
        let (health, detail) = (Health::Ok, detail.into());
        Self {
            name,
            health,
            detail,
        }
    }

    fn warning(name: &'static str, detail: impl Into<String>) -> Self {
        let (health, detail) = (Health::Warning, detail.into());
        Self {
            name,
            health,
            detail,
        }
    }

    fn failed(name: &'static str, detail: impl Into<String>) -> Self {
        let (health, detail) = (Health::Failed, detail.into());
        Self {
            name,
            health,
            detail,
        }
    }

    fn of(name: &'static str, outcome: Result<String>) -> Self {
        match outcome {
            Ok(detail) => Self::ok(name, detail),
            Err(error) => Self::failed(name, format!("{error:#}")),
        }
    }
}

pub(crate) async fn run(args: Doctor) -> Result<ExitCode> {
    let checks = match args.config_args.load(None) {
        Ok(config) => check_all(&config).await,
        Err(error) => vec![Check::failed("configuration", format!("{error:#}"))],
    };
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", as_json(&checks))?;
    } else {
        for Check {
            name,
            health,
            detail,
        } in &checks
        {
            let mark = match health {
                Health::Ok => "ok  ",
                Health::Warning => "warn",
                Health::Failed => "FAIL",
            };
            writeln!(out, "{mark}  {name:<14} {detail}")?;
        }
    }
    let failed = checks.iter().any(|check| check.health == Health::Failed);
    Ok(if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

async fn check_all(config: &Config) -> Vec<Check> {
    let mut checks = vec![
        Check::ok(
            "configuration",
            format!("{} profile", config.profile().name()),
        ),
        secret(config),
        sealing(config),
        sources(config),
        addresses(config),
        Check::of("policy", policy(config)),
    ];
    checks.extend(database(config).await);
    checks.push(queue(config).await);
    checks.push(running::tasks(config).await);
    checks
}

fn secret(config: &Config) -> Check {
    let length = config.server.secret().len();
    match (length, config.profile()) {
        (0, Profile::Embedded) => Check::ok("secret", "generated; kept in the data directory"),
        (32.., _) => Check::ok("secret", "set"),
        _ => Check::failed(
            "secret",
            "server.secret needs at least 32 characters; use the same secret for every process",
        ),
    }
}

fn sealing(config: &Config) -> Check {
    match keyring(config) {
        Err(_) if will_create_key_file(config) => {
            Check::ok("sealing", "the first start will create a key")
        }
        keyring => Check::of("sealing", keyring.map(|ring| format!("keys {ring}"))),
    }
}

fn sources(config: &Config) -> Check {
    let embedded = config.profile() == Profile::Embedded;
    match providers::Sources::build(config.source.clone()) {
        Err(error) => Check::of("sources", Err(error.into())),
        Ok(sources) if !config.source.is_empty() => {
            if let Err(error) = source_health::polled_sources(config, &sources) {
                return Check::of("sources", Err(error));
            }
            let names: Vec<&str> = sources
                .iter()
                .map(|source| source.name().as_str())
                .collect();
            let cautions = cautions(&sources);
            if cautions.is_empty() {
                Check::ok("sources", names.join(", "))
            } else {
                Check::warning("sources", cautions.join("; "))
            }
        }
        Ok(_) if embedded => match DevEnv::read(&config.data.dir) {
            Ok(Some(dev)) => Check::ok("sources", format!("dev, from {}", dev.path().display())),
            _ => Check::ok("sources", "dev, created at the first start"),
        },
        Ok(_) => Check::warning(
            "sources",
            "none, so every post is refused; add one with: maillatch source add PROVIDER",
        ),
    }
}

/// Checks that mail to fresh addresses arrives.
fn addresses(config: &Config) -> Check {
    let sources = match providers::Sources::build(config.source.clone()) {
        Ok(sources) => sources,
        Err(_) => return Check::warning("addresses", "not checked, because a source is not valid"),
    };
    let domain = &config.inbox.mint_domain;
    match MintDomain::of(config, &sources) {
        MintDomain::Covered(names) if names.is_empty() => {
            Check::ok("addresses", format!("fresh addresses at {domain}"))
        }
        MintDomain::Covered(names) => Check::ok(
            "addresses",
            format!(
                "fresh addresses at {domain}, received by {}",
                names.join(", ")
            ),
        ),
        MintDomain::Development(why) => Check::warning("addresses", why),
        MintDomain::Dead(why) => Check::failed("addresses", why),
    }
}

fn policy(config: &Config) -> Result<String> {
    let settings = worker_settings(config)?;
    let links = config.inbox.allow_links.len();
    let domains = config.inbox.domains.join(", ");
    let lifetime = settings.lifetime.as_secs();
    Ok(format!(
        "inboxes at {domains}; {links} allowed link hosts; lifetime {lifetime} s"
    ))
}

/// Checks the database, its API keys, and this machine's clock against the database's.
async fn database(config: &Config) -> Vec<Check> {
    if config.profile() == Profile::Embedded && !config.data.dir.join("maillatch.db").exists() {
        let later = Check::ok("database", "SQLite, created at the first start");
        return vec![api_keys::api_keys(config, None).await, later];
    }
    let opened = match store_settings(config) {
        Ok(settings) => store::open(&settings.as_guest()).await.map_err(Error::from),
        Err(error) => Err(error),
    };
    let store = match opened {
        Ok(store) => store,
        Err(error) => {
            let failed = Check::of("database", Err(error));
            return vec![api_keys::api_keys(config, None).await, failed];
        }
    };
    let mut checks = vec![
        api_keys::api_keys(config, Some(&store)).await,
        probed("database", &*store.probe).await,
    ];
    if let Ok(backlog) = store.deliveries.backlog().await {
        let now = SystemClock.now();
        let skew = now.since(backlog.at).max(backlog.at.since(now));
        checks.push(match skew {
            skew if skew > Duration::from_secs(30) => Check::failed(
                "clock",
                format!(
                    "{} s off the database's clock; synchronise both with NTP",
                    skew.as_secs()
                ),
            ),
            skew => Check::ok(
                "clock",
                format!("{} ms off the database's clock", skew.as_millis()),
            ),
        });
        let (oldest, overdue) = (backlog.oldest.as_secs(), backlog.overdue.as_secs());
        let detail = format!(
            "{} unfinished, the oldest for {oldest} s, overdue for {overdue} s; {} dead letters",
            backlog.unfinished, backlog.dead_letters
        );
        checks.push(if overdue > 60 || backlog.dead_letters > 0 {
            Check::warning("deliveries", detail)
        } else {
            Check::ok("deliveries", detail)
        });
    }
    checks.extend(storage::storage(config, &store).await);
    checks.extend(source_health::source_health(config, &store).await);
    checks.extend(refusals::refusals(&store).await);
    store.close().await;
    checks
}

async fn queue(config: &Config) -> Check {
    if config.queue.url.expose_secret().is_empty() {
        return Check::ok("queue", "in the process");
    }
    let queue = match queue::open(&queue_settings(config)).await {
        Ok(queue) => queue,
        Err(error) => return Check::of("queue", Err(error.into())),
    };
    // The queue connects in the background; wait for it.
    let deadline = Instant::now() + Duration::from_secs(5);
    let mut check = probed("queue", &*queue.probe).await;
    while check.health == Health::Failed && Instant::now() < deadline {
        sleep(Duration::from_millis(100)).await;
        check = probed("queue", &*queue.probe).await;
    }
    queue.close().await;
    check
}

async fn probed(name: &'static str, probe: &dyn Probe) -> Check {
    match probe.probe().await {
        Ok(()) => Check::ok(name, format!("{} works", probe.name())),
        Err(error) => Check::failed(name, error.to_string()),
    }
}

fn as_json(checks: &[Check]) -> Value {
    let items: Vec<Value> = checks
        .iter()
        .map(
            |Check {
                 name,
                 health,
                 detail,
             }| {
                let health = match health {
                    Health::Ok => "ok",
                    Health::Warning => "warn",
                    Health::Failed => "fail",
                };
                json!({ "check": name, "health": health, "detail": detail })
            },
        )
        .collect();
    json!({ "checks": items })
}
