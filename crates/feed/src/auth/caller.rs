//! An authenticated caller.

use std::sync::Arc;

use pipeline::{ConsumerId, InboxId, Permission, Scope};

/// Who makes a request, and what its key allows.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// The name of its key. Consume rows carry it.
    pub(crate) consumer: ConsumerId,
    /// Which inboxes and attempts exist for it.
    pub(crate) scope: Scope,
    /// Which operations it may use.
    pub(crate) permissions: Arc<[Permission]>,
    /// The id of its key if the key is in the database and can be revoked.
    pub(crate) database_key: Option<Arc<str>>,
}

/// The scope of a key: everything, or its own inboxes and the listed ones. `None` if
/// an entry is not an address.
pub(super) fn scope_of(consumer: &ConsumerId, inboxes: &[String]) -> Option<Scope> {
    if matches!(inboxes, [all] if all == "*") {
        return Some(Scope::All);
    }
    let others = inboxes
        .iter()
        .map(|address| address.parse::<InboxId>().ok());
    Some(Scope::Own {
        owner: consumer.clone(),
        others: others.collect::<Option<_>>()?,
    })
}
