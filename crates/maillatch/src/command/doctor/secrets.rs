//! Whether the configured secrets are those that the database is used with.

use anyhow::Result;
use store::Store;

use super::Check;
use crate::config::Config;
use crate::wire::store_settings;

/// Opens the newest sealed rows, and compares the server secret with the noted one.
pub(super) async fn secrets(store: &Store) -> Vec<Check> {
    let mut checks = Vec::new();
    if let Ok((rows, unopened)) = store.unopened_newest_rows().await {
        checks.push(if unopened > 0 {
            Check::failed(
                "sealed rows",
                format!(
                    "{unopened} of the newest {rows} do not open with the configured sealing keys; \
                     restore the key file (seal.file) that belongs to this database"
                ),
            )
        } else {
            Check::ok("sealed rows", format!("the newest {rows} open"))
        });
    }
    if let Ok(Some(false)) = store.has_same_server_secret().await {
        checks.push(Check::failed(
            "server secret",
            "server.secret is not the one that this database is used with, so duplicates and \
             cursors are not recognised; restore it and restart every process. If it is lost, \
             accept the new one with: maillatch doctor --accept-server-secret",
        ));
    }
    checks
}

/// Notes the configured server secret in place of another one.
pub(super) async fn accept(config: &Config) -> Result<()> {
    let store = store::open(&store_settings(config)?.as_guest()).await?;
    let accepted = store.accept_server_secret().await;
    store.close().await;
    Ok(accepted?)
}
