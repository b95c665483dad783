//! Whether any agent has access: API keys of the configuration and of the database.

use store::Store;

use super::Check;
use crate::config::{Config, Profile};

/// Checks that there is a valid key, in the configuration or in the database.
pub(super) async fn api_keys(config: &Config, store: Option<&Store>) -> Check {
    if let Err(error) = feed::Keys::build(config.key.clone()) {
        return Check::of("keys", Err(error.into()));
    }
    let mut names: Vec<String> = config.key.keys().cloned().collect();
    if names.is_empty() && config.profile() == Profile::Embedded {
        names.push("dev, kept in the data directory".to_owned());
    }
    if let Some(store) = store
        && let Ok(stored) = store.keys.keys().await
    {
        let valid = stored.iter().filter(|key| key.state() == "good").count();
        names.extend((valid > 0).then(|| format!("{valid} in the database")));
    }
    if names.is_empty() {
        let next = "none, so no agent has access; create one with: maillatch api-key create NAME";
        return Check::warning("keys", next);
    }
    Check::ok("keys", names.join(", "))
}
