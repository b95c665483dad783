//! `failures requeue`.

use std::fmt;
use std::io::Write;
use std::process::ExitCode;
use std::str::FromStr;

use anyhow::{Result, bail};
use pipeline::{CallbackId, DeliveryId};
use serde::Serialize;
use serde_json::json;
use store::Store;

/// The id of a dead letter.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
pub(super) enum Failed {
    Delivery(DeliveryId),
    Callback(CallbackId),
}

impl FromStr for Failed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let delivery = text.parse().map(Self::Delivery).ok();
        let callback = || text.parse().map(Self::Callback).ok();
        let wrong = "not the id of a delivery (`dlv_…`) or of a callback (`cbk_…`)";
        delivery.or_else(callback).ok_or_else(|| wrong.to_owned())
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delivery(id) => id.fmt(f),
            Self::Callback(id) => id.fmt(f),
        }
    }
}

impl Failed {
    async fn requeue(self, store: &Store) -> Result<bool> {
        Ok(match self {
            Self::Delivery(id) => store.failures.requeue(id).await?,
            Self::Callback(id) => store.callbacks.requeue_callback(id).await?,
        })
    }

    /// Why it was not requeued.
    fn refusal(self) -> &'static str {
        match self {
            Self::Delivery(_) => "is not a dead letter, or its body was deleted",
            Self::Callback(_) => "is not a dead letter, or its value is no longer valid",
        }
    }
}

pub(super) async fn requeue(
    store: &Store,
    ids: Vec<Failed>,
    all: bool,
    as_json: bool,
) -> Result<ExitCode> {
    let ids = if all { every(store).await? } else { ids };
    if ids.is_empty() && !all {
        bail!("name the ids to requeue, or use --all");
    }
    let mut requeued = Vec::new();
    let mut refused = Vec::new();
    for id in ids {
        if id.requeue(store).await? {
            requeued.push(id);
        } else {
            eprintln!("{id} {}", id.refusal());
            refused.push(id);
        }
    }
    eprintln!("{} requeued", requeued.len());
    if as_json {
        let line = json!({ "requeued": requeued, "not_buried": refused });
        writeln!(std::io::stdout().lock(), "{line}")?;
    }
    // A callback's value is valid for a short time only, so with `--all` a callback that
    // cannot be requeued is not a failure.
    let is_failure = |id: &Failed| !all || matches!(id, Failed::Delivery(_));
    Ok(if refused.iter().any(is_failure) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// Every dead letter.
async fn every(store: &Store) -> Result<Vec<Failed>> {
    let dead_letters = store.failures.dead_letters(u32::MAX).await?;
    let dead = store.callbacks.dead_callbacks(u32::MAX).await?;
    let deliveries = dead_letters
        .into_iter()
        .map(|item| Failed::Delivery(item.id));
    let callbacks = dead.into_iter().map(|dead| Failed::Callback(dead.id));
    Ok(deliveries.chain(callbacks).collect())
}
