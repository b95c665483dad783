//! Settings that are another provider's.

use super::SenderFlaw;
use crate::settings::SenderSettings;

/// Fails if a setting is set that is another provider's.
pub(super) fn refuse_others(settings: &SenderSettings, own: &[&str]) -> Result<(), SenderFlaw> {
    let set = [
        ("api_url", settings.api_url.is_some()),
        ("api_key", settings.api_key.is_some()),
        ("stream", settings.stream.is_some()),
        ("domain", settings.domain.is_some()),
        ("grant", settings.grant.is_some()),
        ("inbox", settings.inbox.is_some()),
        ("region", settings.region.is_some()),
        ("access_key", settings.access_key.is_some()),
        ("secret_key", settings.secret_key.is_some()),
        ("host", settings.host.is_some()),
        ("port", settings.port.is_some()),
        ("tls", settings.tls.is_some()),
        ("ca_file", settings.ca_file.is_some()),
        ("username", settings.username.is_some()),
        ("password", settings.password.is_some()),
    ];
    let foreign = set
        .iter()
        .find(|(name, is_set)| *is_set && !own.contains(name));
    foreign.map_or(Ok(()), |(name, _)| Err(SenderFlaw::Unfit(name)))
}
