//! Builds the parts that send mail.

use std::sync::Arc;

use anyhow::{Context, Result};
use pipeline::{Clock, SendDesk};
use send::{Desk, SendSettings, Senders, Sending};

use super::Parts;
use crate::config::Config;

/// The configured senders and templates.
pub(crate) fn senders(config: &Config, clock: &Arc<dyn Clock>) -> Result<Senders> {
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
        server_key: parts.server_key.clone(),
        clock: Arc::clone(&parts.clock),
        meters: parts.send_meters.clone(),
    }))
}

/// What hands sends to their providers.
pub(crate) fn sending(parts: &Parts) -> Sending {
    Sending {
        senders: Arc::clone(&parts.senders),
        outbox: Arc::clone(&parts.store.outbox),
        meters: parts.send_meters.clone(),
    }
}
