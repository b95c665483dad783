//! The recipients of a dead delivery. Only the operator sees them.

use pipeline::{DeadLetter, InboxId};
use providers::{Decoded, Sources};

use crate::config::{Config, Profile};
use crate::dev::DevEnv;

/// At most so many are shown.
const MAX_SHOWN: usize = 10;

/// The addresses that the mails of a delivery were sent to, if its source's contract
/// can decode it: each valid address once, at most ten.
pub(super) fn recipients(config: &Config, item: &DeadLetter, body: &[u8]) -> Vec<InboxId> {
    let mut settings = config.source.clone();
    if settings.is_empty()
        && config.profile() == Profile::Embedded
        && let Ok(Some(dev)) = DevEnv::read(&config.data.dir)
    {
        settings.insert(DevEnv::NAME.to_owned(), dev.source());
    }
    let Ok(sources) = Sources::build(settings) else {
        return Vec::new();
    };
    let decoded = sources.decode(item.source.as_str(), &item.content_type, body);
    let Some(Ok(Decoded::Mails(mails))) = decoded else {
        return Vec::new();
    };
    let named = mails.iter().flat_map(|mail| &mail.recipients);
    let mut addresses: Vec<InboxId> = named.filter_map(|one| one.trim().parse().ok()).collect();
    addresses.sort();
    addresses.dedup();
    addresses.truncate(MAX_SHOWN);
    addresses
}
