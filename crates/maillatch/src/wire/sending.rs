//! Builds the parts that send mail.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use pipeline::{Clock, SendDesk, ThreadCaps};
use send::{Desk, SendSettings, Senders, Sending};

use super::Parts;
use crate::config::Config;

/// The configured senders and templates.
pub(crate) fn senders(config: &Config, clock: &Arc<dyn Clock>) -> Result<Senders> {
    let callback = &config.reply.callback;
    if !callback.is_empty() && !config.callback.contains_key(callback) {
        bail!("reply.callback: there is no callback of this name");
    }
    let send = &config.send;
    let settings = SendSettings {
        timeout: send.timeout.0,
        smtp_timeout: send.smtp_timeout.0,
        lease_margin: send.lease_margin.0,
        every: send.every.0,
        concurrency: send.concurrency,
        hold: send.hold.0,
        per_day: send.per_day,
        give_up: send.give_up.0,
        settle_first: send.settle_first.0,
        settle_ceiling: send.settle_ceiling.0,
        retry_after: send.retry_after.0,
    };
    let (senders, templates) = (config.senders.clone(), config.templates.clone());
    Senders::build(senders, templates, settings, clock).context("sending is not configured rightly")
}

/// What accepts the orders of agents; `None` if there is no sender.
pub(crate) fn desk(parts: &Parts) -> Option<Arc<dyn SendDesk>> {
    if parts.senders.is_empty() {
        return None;
    }
    Some(Arc::new(Desk {
        senders: Arc::clone(&parts.senders),
        log: Arc::clone(&parts.store.sends),
        replies: Arc::clone(&parts.store.replies),
        caps: thread_caps(&parts.config),
        server_key: parts.server_key.clone(),
        clock: Arc::clone(&parts.clock),
        meters: parts.send_meters.clone(),
    }))
}

/// How many replies are allowed.
fn thread_caps(config: &Config) -> ThreadCaps {
    let reply = &config.reply;
    ThreadCaps {
        burst_window: reply.burst_window.0,
        burst: reply.burst,
        day: reply.day,
        person_burst: reply.person_burst,
        person_day: reply.person_day,
        callback: (!reply.callback.is_empty()).then(|| reply.callback.clone()),
    }
}

/// What hands sends to their providers.
pub(crate) fn sending(parts: &Parts) -> Sending {
    Sending {
        senders: Arc::clone(&parts.senders),
        outbox: Arc::clone(&parts.store.outbox),
        threads: Arc::clone(&parts.store.threads),
        meters: parts.send_meters.clone(),
    }
}
