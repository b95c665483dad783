//! Whether any agent can ask: keys of the configuration, and those that were made.

use store::Store;

use super::Check;
use crate::config::{Config, Profile};

/// The keys that are good, wherever they are kept.
pub(super) async fn api_keys(config: &Config, store: Option<&Store>) -> Check {
    if let Err(error) = feed::Keys::build(config.key.clone()) {
        return Check::of("keys", Err(error.into()));
    }
    let mut names: Vec<String> = config.key.keys().cloned().collect();
    if names.is_empty() && config.profile() == Profile::Embedded {
        names.push("dev, kept in the data directory".to_owned());
    }
    if let Some(store) = store
        && let Ok(made) = store.keys.keys().await
    {
        let good = made.iter().filter(|key| key.state() == "good").count();
        names.extend((good > 0).then(|| format!("{good} in the database")));
    }
    if names.is_empty() {
        let how = "none: no agent can ask; maillatch api-key create NAME makes one";
        return Check::doubtful("keys", how);
    }
    Check::good("keys", names.join(", "))
}
