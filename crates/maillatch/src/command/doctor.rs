//! `doctor`: is this deployment fit to run?

mod api_keys;
mod standing;

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Error, Result};
use clap::Args;
use pipeline::{Clock, Probe, SystemClock};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::config::{Config, ConfigArgs, Profile};
use crate::dev::DevEnv;
use crate::secrets::{is_to_be_minted, keyring};
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

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Good,
    Doubtful,
    Bad,
}

struct Check {
    name: &'static str,
    health: Health,
    detail: String,
}

impl Check {
    fn good(name: &'static str, detail: impl Into<String>) -> Self {
        let (health, detail) = (Health::Good, detail.into());
        Self {
            name,
            health,
            detail,
        }
    }

    fn doubtful(name: &'static str, detail: impl Into<String>) -> Self {
        let (health, detail) = (Health::Doubtful, detail.into());
        Self {
            name,
            health,
            detail,
        }
    }

    fn bad(name: &'static str, detail: impl Into<String>) -> Self {
        let (health, detail) = (Health::Bad, detail.into());
        Self {
            name,
            health,
            detail,
        }
    }

    fn of(name: &'static str, outcome: Result<String>) -> Self {
        match outcome {
            Ok(detail) => Self::good(name, detail),
            Err(error) => Self::bad(name, format!("{error:#}")),
        }
    }
}

pub(crate) async fn run(args: Doctor) -> Result<ExitCode> {
    let checks = match args.config_args.load(None) {
        Ok(config) => examine(&config).await,
        Err(error) => vec![Check::bad("configuration", format!("{error:#}"))],
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
                Health::Good => "ok  ",
                Health::Doubtful => "warn",
                Health::Bad => "FAIL",
            };
            writeln!(out, "{mark}  {name:<14} {detail}")?;
        }
    }
    let failed = checks.iter().any(|check| check.health == Health::Bad);
    Ok(if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

async fn examine(config: &Config) -> Vec<Check> {
    let mut checks = vec![
        Check::good(
            "configuration",
            format!("{} profile", config.profile().name()),
        ),
        secret(config),
        sealing(config),
        sources(config),
        Check::of("policy", policy(config)),
    ];
    checks.extend(database(config).await);
    checks.push(queue(config).await);
    checks
}

fn secret(config: &Config) -> Check {
    let length = config.server.secret().len();
    match (length, config.profile()) {
        (0, Profile::Embedded) => Check::good("secret", "minted and kept in the data directory"),
        (32.., _) => Check::good("secret", "set"),
        _ => Check::bad("secret", "server.secret needs at least 32 characters"),
    }
}

fn sealing(config: &Config) -> Check {
    match keyring(config) {
        Err(_) if is_to_be_minted(config) => {
            Check::good("sealing", "a key, minted at the first start")
        }
        keyring => Check::of("sealing", keyring.map(|ring| format!("keys {ring}"))),
    }
}

fn sources(config: &Config) -> Check {
    let embedded = config.profile() == Profile::Embedded;
    match providers::Sources::build(config.source.clone()) {
        Err(error) => Check::of("sources", Err(error.into())),
        Ok(sources) if !config.source.is_empty() => {
            if let Err(error) = standing::pulls(config, &sources) {
                return Check::of("sources", Err(error));
            }
            let names: Vec<&str> = sources
                .iter()
                .map(|source| source.name().as_str())
                .collect();
            let cautions = cautions(&sources);
            if cautions.is_empty() {
                Check::good("sources", names.join(", "))
            } else {
                Check::doubtful("sources", cautions.join("; "))
            }
        }
        Ok(_) if embedded => match DevEnv::read(&config.data.dir) {
            Ok(Some(dev)) => Check::good("sources", format!("dev, from {}", dev.path().display())),
            _ => Check::good("sources", "dev, minted at the first start"),
        },
        Ok(_) => Check::doubtful("sources", "none: no webhook will be accepted"),
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

/// The database, what keys it holds, and by its clock ours.
async fn database(config: &Config) -> Vec<Check> {
    if config.profile() == Profile::Embedded && !config.data.dir.join("maillatch.db").exists() {
        let yet = Check::good("database", "SQLite, created at the first start");
        return vec![api_keys::api_keys(config, None).await, yet];
    }
    let opened = match store_settings(config) {
        Ok(settings) => store::open(&settings.as_guest()).await.map_err(Error::from),
        Err(error) => Err(error),
    };
    let store = match opened {
        Ok(store) => store,
        Err(error) => {
            let away = Check::of("database", Err(error));
            return vec![api_keys::api_keys(config, None).await, away];
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
            skew if skew > Duration::from_secs(30) => {
                Check::bad("clock", format!("{} s off the database's", skew.as_secs()))
            }
            skew => Check::good(
                "clock",
                format!("{} ms off the database's", skew.as_millis()),
            ),
        });
        let (oldest, overdue) = (backlog.oldest.as_secs(), backlog.overdue.as_secs());
        let detail = format!(
            "{} unfinished, the oldest for {oldest} s, due for {overdue} s; {} buried",
            backlog.unfinished, backlog.dead_letters
        );
        checks.push(if overdue > 60 || backlog.dead_letters > 0 {
            Check::doubtful("deliveries", detail)
        } else {
            Check::good("deliveries", detail)
        });
    }
    checks.extend(standing::standing(config, &store).await);
    store.close().await;
    checks
}

async fn queue(config: &Config) -> Check {
    if config.queue.url.expose_secret().is_empty() {
        return Check::good("queue", "in process");
    }
    let queue = match queue::open(&queue_settings(config)).await {
        Ok(queue) => queue,
        Err(error) => return Check::of("queue", Err(error.into())),
    };
    // It connects behind our back; give it the time a broker needs.
    let patience = Instant::now() + Duration::from_secs(5);
    let mut check = probed("queue", &*queue.probe).await;
    while check.health == Health::Bad && Instant::now() < patience {
        sleep(Duration::from_millis(100)).await;
        check = probed("queue", &*queue.probe).await;
    }
    queue.close().await;
    check
}

async fn probed(name: &'static str, probe: &dyn Probe) -> Check {
    match probe.probe().await {
        Ok(()) => Check::good(name, format!("{} works", probe.name())),
        Err(error) => Check::bad(name, error.to_string()),
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
                    Health::Good => "ok",
                    Health::Doubtful => "warn",
                    Health::Bad => "fail",
                };
                json!({ "check": name, "health": health, "detail": detail })
            },
        )
        .collect();
    json!({ "checks": items })
}
