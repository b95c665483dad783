//! Builds the concrete parts of the roles from a [`Config`]. No other module knows
//! them.

mod sending;
mod working;

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use extract::Allowlist;
use feed::Keys;
use pipeline::{Clock, InboxId, Meters, PollerId, ServerKey, StorageQuota, SystemClock};
use prometheus_client::registry::Registry;
use providers::{Source, Sources};
use queue::Queue;
use secrecy::ExposeSecret;
use send::Senders;
use store::Store;

use crate::config::{Config, MintDomain, Profile};
use crate::ops;
use crate::secrets::{secrets, server_key};

pub(crate) use sending::{desk, senders, sending};
pub(crate) use working::{callbacks, dkim, fetcher, janitor, reply_settings, worker_settings};

/// Everything that a role may need, opened and checked.
pub(crate) struct Parts {
    pub(crate) config: Config,
    pub(crate) store: Store,
    pub(crate) queue: Queue,
    pub(crate) sources: Arc<Sources>,
    pub(crate) keys: Arc<Keys>,
    pub(crate) server_key: ServerKey,
    pub(crate) meters: Meters,
    pub(crate) poll_meters: poll::Meters,
    pub(crate) send_meters: send::Meters,
    pub(crate) senders: Arc<Senders>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) quota: Arc<StorageQuota>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// Opens every part. The broker may be unavailable; the database may not.
pub(crate) async fn wire(config: Config) -> Result<Parts> {
    let server_key = server_key(&config)?;
    let settings = store_settings(&config)?;
    let parts = open(config, server_key, &settings).await?;
    if !parts.store.note_server_secret().await? {
        tracing::warn!(
            "server.secret is not the one that this database was used with before: duplicates and \
             cursors of before are not recognised; `maillatch doctor` says what to do"
        );
    }
    Ok(parts)
}

/// Opens every part for a command that works beside running servers, with the same
/// secrets.
pub(crate) async fn wire_as_guest(config: Config) -> Result<Parts> {
    let server_key = server_key(&config)?;
    let settings = store_settings(&config)?.as_guest();
    let parts = open(config, server_key, &settings).await?;
    // What an operator imports is no stranger's mail.
    let quota = Arc::default();
    Ok(Parts { quota, ..parts })
}

/// Opens the database alone, for a command that works beside running servers.
pub(crate) async fn open_store_as_guest(config: &Config) -> Result<Store> {
    let settings = store_settings(config)?.as_guest();
    let store = store::open(&settings).await;
    store.context("failed to open the database")
}

async fn open(config: Config, server_key: ServerKey, settings: &store::Settings) -> Result<Parts> {
    let sources = Sources::build(config.source.clone()).context("a source is not valid")?;
    let keys = Keys::build(config.key.clone()).context("a key is not valid")?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let senders = senders(&config, &clock)?;
    let mut registry = Registry::default();
    let meters = Meters::register(&mut registry);
    let settings = store::Settings {
        tasks: meters.tasks.clone(),
        ..settings.clone()
    };
    let store = store::open(&settings)
        .await
        .context("failed to open the database")?;
    let queue_settings = queue::Settings {
        tasks: meters.tasks.clone(),
        ..queue_settings(&config)
    };
    let queue = queue::open(&queue_settings)
        .await
        .context("failed to open the queue")?;
    let poll_meters = poll::Meters::register(&mut registry);
    ops::register_database(&mut registry, &store);
    ops::register_process(&mut registry);
    let send_meters = send::Meters::register(&mut registry);
    Ok(Parts {
        queue,
        sources: Arc::new(sources),
        keys: Arc::new(keys.with(Arc::clone(&store.keys))),
        store,
        server_key,
        meters,
        poll_meters,
        send_meters,
        senders: Arc::new(senders),
        registry: Arc::new(registry),
        quota: Arc::new(StorageQuota::new(config.retention.max_bytes)),
        clock,
        config,
    })
}

/// How to open the configured database.
pub(crate) fn store_settings(config: &Config) -> Result<store::Settings> {
    Ok(migrate_settings(config).sealed_with(secrets(config)?))
}

/// Warnings for the operator about weak sources, each with the source's name.
pub(crate) fn source_warnings(sources: &Sources) -> Vec<String> {
    let warning = |source: &Source| Some(format!("{}: {}", source.name(), source.warning()?));
    sources.iter().filter_map(warning).collect()
}

/// The same for everybody who can reach `/readyz`: it names no source, so that a stranger
/// does not learn which one to try.
pub(crate) fn unnamed_warnings(sources: &Sources) -> Vec<String> {
    match source_warnings(sources).len() {
        0 => Vec::new(),
        weak => vec![format!(
            "{weak} sources are weakly proven; `maillatch doctor` names them"
        )],
    }
}

/// The warning for everybody who can reach `/readyz`, if mail to fresh addresses would not
/// arrive. It names no domain and no source.
pub(crate) fn dead_mint_domain(config: &Config, sources: &Sources) -> Option<String> {
    let is_dead = MintDomain::of(config, sources).is_dead();
    is_dead.then(|| {
        "no fresh address is handed out, because its mail would not arrive; `maillatch doctor` \
         says why"
            .to_owned()
    })
}

/// How to migrate the configured database. This needs no secrets.
pub(crate) fn migrate_settings(config: &Config) -> store::Settings {
    let direct = &config.database.direct_url;
    store::Settings {
        direct_url: (!direct.expose_secret().is_empty()).then(|| direct.clone()),
        max_connections: config.database.max_connections,
        acquire_timeout: config.database.acquire_timeout.0,
        ..store::Settings::new(config.database_url())
    }
}

/// How to reach the configured queue.
pub(crate) fn queue_settings(config: &Config) -> queue::Settings {
    let (url, ca_file) = (&config.queue.url, &config.queue.ca_file);
    queue::Settings {
        url: (!url.expose_secret().is_empty()).then(|| url.clone()),
        ca_file: (!ca_file.is_empty()).then(|| ca_file.into()),
        name: config.queue.name.clone(),
        prefetch: config.queue.prefetch,
        capacity: config.queue.capacity,
        ..queue::Settings::default()
    }
}

/// The webhook's settings.
pub(crate) fn webhook_settings(config: &Config) -> Result<webhook::Settings> {
    let webhook = &config.webhook;
    let settings = webhook::Settings {
        body_limit: webhook.body_limit,
        body_timeout: webhook.body_timeout.0,
        in_flight_bytes: webhook.in_flight_bytes,
        commit_timeout: webhook.commit_timeout.0,
        committers: webhook.committers,
        batch: webhook.commit_batch,
        trusted_proxies: webhook
            .trusted_proxies
            .iter()
            .map(|range| providers::address_range(range))
            .collect::<Option<_>>()
            .context("webhook.trusted_proxies is not valid; list addresses such as 10.0.0.0/8")?,
    };
    settings.checked().context("in [webhook]")
}

/// The poller's settings. A source must answer well within the lease.
pub(crate) fn poll_settings(config: &Config) -> Result<poll::Settings> {
    let poll = &config.poll;
    if poll.answer_budget.0 * 2 > poll.lease.0 {
        bail!("poll.answer_budget must be at most half of poll.lease");
    }
    Ok(poll::Settings {
        every: poll.every.0,
        patience: poll.patience.0,
        lease: poll.lease.0,
        pages: poll.pages.max(1),
        round_budget: poll.round_budget.0,
        answer_budget: poll.answer_budget.0,
        message_limit: config.webhook.body_limit,
        silence: poll.silence.0,
    })
}

/// What the poller needs.
pub(crate) fn poll_deps(parts: &Parts) -> Result<poll::Deps> {
    Ok(poll::Deps {
        polls: Arc::clone(&parts.store.polls),
        silence: Arc::clone(&parts.store.silence),
        doorbell: Arc::clone(&parts.queue.doorbell),
        quota: Arc::clone(&parts.quota),
        clock: Arc::clone(&parts.clock),
        poller: PollerId::new(),
        tasks: parts.meters.tasks.clone(),
        meters: parts.poll_meters.clone(),
        settings: poll_settings(&parts.config)?,
    })
}

/// The limits on what agents may ask for.
pub(crate) fn feed_policy(config: &Config, sources: &Sources) -> Result<feed::Policy> {
    let links = &config.attempt.links;
    let has_ceiling = !links.iter().any(|entry| entry == "*");
    if has_ceiling {
        Allowlist::parse(links).context("attempt.links is not valid")?;
    }
    let domain = &config.inbox.mint_domain;
    if format!("any@{domain}").parse::<InboxId>().is_err() {
        bail!("inbox.mint_domain is not a domain name");
    }
    Ok(feed::Policy {
        mint_domain: (!MintDomain::of(config, sources).is_dead()).then(|| domain.clone()),
        link_ceiling: has_ceiling.then(|| links.clone()),
        is_link_entry: |entry| Allowlist::parse([entry]).is_ok(),
        registrable: extract::registrable,
        shown_domain: extract::shown_domain,
        longest_attempt: config.attempt.longest.0,
        unhealthy_after: config.attempt.unhealthy_after.0,
        callbacks: config.callback.keys().cloned().collect(),
    })
}

/// The feed's settings.
pub(crate) fn feed_settings(config: &Config) -> feed::Settings {
    feed::Settings {
        wait_limit: config.feed.wait_limit.0,
        max_waits: config.feed.max_waits,
        replay_window: config.feed.replay_window.0,
        budgets: feed::Budgets {
            reads: config.feed.reads_per_minute,
            consumes: config.feed.consumes_per_minute,
            failed_consumes: config.feed.failed_consumes_per_minute,
            attempts: config.feed.attempts_per_minute,
            unauthenticated: config.feed.unauthenticated_per_minute,
        },
        ..feed::Settings::default()
    }
}

/// Checks that a single role uses a database and a queue that other processes can
/// share.
pub(crate) fn check_separate_role(config: &Config) -> Result<()> {
    if config.profile() == Profile::Embedded {
        bail!(
            "a single role needs --database-url: other processes cannot share SQLite; \
             `maillatch up` serves every role in one process"
        );
    }
    if config.queue.url.expose_secret().is_empty() {
        bail!("a single role needs --amqp-url: the in-process queue reaches no other process");
    }
    Ok(())
}
