//! How much of the storage quota is used.

use pipeline::StorageQuota;
use store::Store;

use super::Check;
use crate::config::Config;

/// Warns from nine tenths of the quota on: bodies are deleted before their time, or will
/// be soon. Without an answer of the database there is nothing to say.
pub(super) async fn storage(config: &Config, store: &Store) -> Option<Check> {
    let quota = StorageQuota::new(config.retention.max_bytes);
    quota.set_unfinished(store.retention.unfinished_bytes().await.ok()?);
    let finished = store.retention.finished_bytes().await.ok()?;
    let unfinished = quota.unfinished();
    let detail = format!("{finished} bytes of finished mail, {unfinished} of unfinished");
    if let Some(most) = quota.bytes() {
        quota.set_freeing(unfinished.saturating_add(finished) > most - most / 10);
    }
    Some(match (quota.warning(), quota.bytes()) {
        (Some(warning), _) => {
            let next = "raise retention.max_bytes, shorten retention.bodies, or add workers";
            Check::warning("storage", format!("{detail}; {warning}; {next}"))
        }
        (None, Some(most)) => Check::ok("storage", format!("{detail}; the quota is {most}")),
        (None, None) => Check::ok("storage", format!("{detail}; no quota")),
    })
}
