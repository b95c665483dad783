//! `doctor`: checks a deployment.

mod api_keys;
mod check;
mod deliveries;
mod provider_apis;
mod refusals;
mod remote;
mod running;
mod secrets;
mod sender_proof;
mod senders;
mod source_health;
mod storage;

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Error, Result};
use clap::Args;
use pipeline::Probe;
use secrecy::ExposeSecret;
use tokio::time::{Instant, sleep};
use url::Url;

use check::{Check, Health, as_json, print};

use crate::config::{Config, ConfigArgs, MintDomain, Profile};
use crate::dev::DevEnv;
use crate::secrets::{keyring, will_create_key_file};
use crate::wire::{queue_settings, source_warnings, store_settings, worker_settings};

/// Checks configuration, database, queue, sources, senders, keys and clock.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  maillatch doctor
  maillatch doctor --config /etc/maillatch.toml --json
  MAILLATCH_KEY=mlk_… maillatch doctor --url https://mail.example.com

With --url it asks a server from outside, as an agent sees it, and reads no
configuration. With the URL of its operators' address (server.ops_listen) it says more.

If nothing but the broker or the database of a server fails, the server is asked again for
up to 15 s.

Exit codes: 0 nothing failed, 1 a check failed.")]
pub(crate) struct Doctor {
    #[command(flatten)]
    config_args: ConfigArgs,
    /// Print JSON on standard output.
    #[arg(long)]
    json: bool,
    /// Check the server at this URL from outside. `MAILLATCH_KEY` is tried, if it is set.
    #[arg(long, value_name = "URL", conflicts_with = "accept_server_secret")]
    url: Option<Url>,
    /// Accept a changed server.secret, because the previous one is lost.
    #[arg(long)]
    accept_server_secret: bool,
}

pub(crate) async fn run(args: Doctor) -> Result<ExitCode> {
    let checks = match (&args.url, args.config_args.load(None)) {
        (Some(url), _) => remote::check_all(url).await,
        (None, Ok(config)) => {
            if args.accept_server_secret {
                secrets::accept(&config).await?;
            }
            check_all(&config).await
        }
        (None, Err(error)) => vec![Check::failed("configuration", format!("{error:#}"))],
    };
    if args.json {
        writeln!(std::io::stdout().lock(), "{}", as_json(&checks))?;
    } else {
        print(&checks)?;
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
        sender_proof::sender_proof(config),
    ];
    checks.extend(Box::pin(database(config)).await);
    checks.push(queue(config).await);
    checks.push(provider_apis::provider_apis(config).await);
    checks.push(senders::senders(config).await);
    // What has just failed from here is not waited for again.
    let is_broken = checks
        .iter()
        .any(|check| matches!(check.name, "database" | "queue") && check.health == Health::Failed);
    let patience = if is_broken {
        Duration::ZERO
    } else {
        running::PATIENCE
    };
    checks.push(running::tasks(config, patience).await);
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
            let source_warnings = source_warnings(&sources);
            if source_warnings.is_empty() {
                Check::ok("sources", names.join(", "))
            } else {
                Check::warning("sources", source_warnings.join("; "))
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
    let Ok(sources) = providers::Sources::build(config.source.clone()) else {
        return Check::warning("addresses", "not checked, because a source is not valid");
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

/// Checks the database and what only it knows.
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
    checks.extend(secrets::secrets(&store).await);
    checks.extend(deliveries::deliveries(&store).await);
    checks.extend(storage::storage(config, &store).await);
    checks.extend(source_health::source_health(config, &store).await);
    checks.extend(refusals::refusals(&store).await);
    checks.extend(senders::sends(&store).await);
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
    let deadline = Instant::now() + running::PATIENCE;
    let mut check = probed("queue", &*queue.probe).await;
    while check.health == Health::Failed && Instant::now() < deadline {
        sleep(Duration::from_millis(100)).await;
        check = probed("queue", &*queue.probe).await;
    }
    queue.close().await;
    if check.health == Health::Failed {
        check.detail = format!(
            "{} ({}); check that it runs, and the host, user, password and virtual host of \
             queue.url. Mail is still processed: workers look into the database",
            check.detail,
            broker(config)
        );
    }
    check
}

/// Host and port of the broker, without the password.
fn broker(config: &Config) -> String {
    let url = Url::parse(config.queue.url.expose_secret());
    let host = url.as_ref().ok().and_then(Url::host_str).unwrap_or("?");
    let port = url.as_ref().ok().and_then(Url::port);
    port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

async fn probed(name: &'static str, probe: &dyn Probe) -> Check {
    match probe.probe().await {
        Ok(()) => Check::ok(name, format!("{} works", probe.name())),
        Err(error) => {
            let next = match name {
                "database" => {
                    "; it must be writable: check its log, its disk, and that it is no standby"
                }
                _ => "",
            };
            Check::failed(name, format!("{error}{next}"))
        }
    }
}
