//! Builds the parts of the worker.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use extract::{Allowlist, Policy};
use pipeline::{Backoff, RetentionPeriods, SystemClock, UpstreamBackoff};
use tokio::sync::Notify;
use tracing::info;
use worker::{Callbacks, Dkim, Fetcher, InboxPolicy, Janitor, Receiver, ReplySettings};

use super::Parts;
use crate::config::Config;

/// The worker's settings.
pub(crate) fn worker_settings(config: &Config) -> Result<worker::Settings> {
    let worker = &config.worker;
    Ok(worker::Settings {
        concurrency: worker.concurrency.max(1),
        lease: worker.lease.0,
        backoff: Backoff {
            first: worker.retry_first.0,
            factor: worker.retry_factor,
            ceiling: worker.retry_ceiling.0,
            attempts: worker.retry_attempts,
            wall_clock: worker.retry_wall_clock.0,
        },
        upstream_backoff: UpstreamBackoff {
            first: worker.fetch_retry_first.0,
            ceiling: worker.fetch_retry_ceiling.0,
            wall_clock: worker.fetch_retry_wall_clock.0,
        },
        parse_budget: worker.parse_budget.0,
        inboxes: InboxPolicy::from_domains(config.inbox.domains.iter().map(String::as_str)),
        policy: policy(config)?,
        lifetime: config.inbox.lifetime.0,
        same_value_window: config.inbox.same_value_window.0,
        needs_proof: config.sender.require_verified,
        replies: ReplySettings::default(),
        sweep_every: worker.sweep_every.0,
        notify_again_after: worker.ring_patience.0,
    })
}

/// The rules for mail, and whether it can be answered.
pub(crate) fn reply_settings(parts: &Parts) -> ReplySettings {
    ReplySettings {
        rules: parts.config.rules.clone(),
        keeps_context: !parts.senders.is_empty(),
        own_addresses: parts.senders.addresses(),
    }
}

/// The DKIM checker, if it is enabled and a DNS server is known.
pub(crate) fn dkim(config: &Config) -> Result<Option<Dkim>> {
    if !config.sender.dkim {
        return Ok(None);
    }
    let servers = config.sender.dns.iter().map(|server| {
        let address = server.parse().or_else(|_| {
            let ip: Result<IpAddr, _> = server.parse();
            ip.map(|ip| SocketAddr::new(ip, 53))
        });
        address
            .with_context(|| format!("sender.dns: {server:?} is not the address of a DNS server"))
    });
    let servers = servers.collect::<Result<Vec<_>>>()?;
    let dkim = Dkim::new(&servers, config.sender.budget.0).context("in [sender]")?;
    if dkim.is_none() {
        info!("no DNS server is known; DKIM signatures are not checked");
    }
    Ok(dkim)
}

fn policy(config: &Config) -> Result<Policy> {
    let links = Allowlist::parse(&config.inbox.allow_links);
    let threshold = config.extract.threshold;
    if threshold > 99 {
        // Nothing is certain, so this would withhold everything.
        bail!("extract.threshold is {threshold}; write a percentage from 0 to 99");
    }
    Ok(Policy {
        links: links.context("inbox.allow_links is not valid")?,
        threshold,
        expected: None,
    })
}

/// For how long the recipient and the bytes of a finished send are kept: for as long as
/// the longest window of a provider in which it recognises a repetition.
const SEND_CONTENTS: Duration = Duration::from_hours(24);
/// For how long it is kept what happened to a send.
const SEND_EVENTS: Duration = Duration::from_hours(90 * 24);
/// For how long an intent is kept: longer than any agent or provider remembers it.
const INTENTS: Duration = Duration::from_hours(400 * 24);

/// The task that deletes expired data.
pub(crate) fn janitor(parts: &Parts) -> Janitor {
    let retention = &parts.config.retention;
    Janitor {
        retention: Arc::clone(&parts.store.retention),
        meters: parts.meters.clone(),
        keep: RetentionPeriods {
            consumed_values: parts.config.feed.replay_window.0,
            expired_values: retention.expired_values.0,
            done_bodies: retention.bodies.0,
            dead_letter_bodies: retention.buried_bodies.0,
            items: retention.items.0,
            known: retention.items.0.max(Duration::from_hours(7 * 24)),
            consumes: retention.consumes.0,
            send_contents: SEND_CONTENTS,
            send_events: SEND_EVENTS,
            intents: INTENTS,
        },
        quota: Arc::clone(&parts.quota),
        every: retention.every.0.max(Duration::from_millis(100)),
    }
}

/// The client that fetches mail from providers' APIs.
pub(crate) fn fetcher(config: &Config) -> Fetcher {
    Fetcher::new(
        Arc::new(SystemClock),
        config.worker.fetch_budget.0,
        config.webhook.body_limit,
    )
}

/// The sender of callbacks.
pub(crate) fn callbacks(parts: &Parts, due: Arc<Notify>) -> Result<Callbacks> {
    let mut receivers = BTreeMap::new();
    for (name, callback) in &parts.config.callback {
        let url = callback.url.parse();
        let url = url.with_context(|| format!("callback `{name}`: the URL is not valid"))?;
        let receiver = Receiver {
            url,
            secret: callback.secret.clone(),
            timeout: callback
                .timeout
                .map_or(Receiver::DEFAULT_TIMEOUT, |span| span.0),
        };
        receivers.insert(name.clone(), receiver);
    }
    let log = Arc::clone(&parts.store.callbacks);
    Callbacks::new(log, receivers, parts.meters.clone(), due).context("a callback is not valid")
}
