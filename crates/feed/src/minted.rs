//! Keys from the database, believed for a moment.
//!
//! Every request needs its key, so a key that was looked up is believed for
//! [`BELIEVED`] and then looked up again. That is the bound on revocation: it
//! takes effect in every process after that time at the latest, and a database
//! that is away does not stretch it. Expiry is exact, for the database says how
//! much of a key's time is left when it is looked up.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pipeline::{KeyLog, LiveKey, StoreError};
use subtle::ConstantTimeEq;
use tokio::time::Instant;

use crate::auth::Caller;
use crate::keys::scope_of;
use crate::token::{self, sha256};

/// For how long a key that was looked up needs no further look.
const BELIEVED: Duration = Duration::from_secs(2);
/// How many are remembered before those that are over are forgotten.
const MANY: usize = 1024;

/// The keys of one database, as far as they were asked for.
pub(crate) struct MintedKeys {
    log: Arc<dyn KeyLog>,
    believed: Mutex<HashMap<String, Believed>>,
}

#[derive(Clone)]
struct Believed {
    hash: [u8; 32],
    caller: Caller,
    until: Instant,
}

impl MintedKeys {
    pub(crate) fn over(log: Arc<dyn KeyLog>) -> Self {
        Self {
            log,
            believed: Mutex::default(),
        }
    }

    /// Where they are kept.
    pub(crate) fn log(&self) -> &Arc<dyn KeyLog> {
        &self.log
    }

    /// Whose token this is. A token whose check does not fit is nobody's, and
    /// costs no look.
    pub(crate) async fn caller(&self, token: &str) -> Result<Option<Caller>, StoreError> {
        let Some(id) = token::id_of(token) else {
            return Ok(None);
        };
        let key = self.find(id).await?;
        let is_right = |key: &Believed| bool::from(key.hash.ct_eq(&sha256(token)));
        Ok(key.filter(is_right).map(|key| key.caller))
    }

    /// Whether a key that was good when its request began still is.
    pub(crate) async fn stands(&self, id: &str) -> Result<bool, StoreError> {
        Ok(self.find(id).await?.is_some())
    }

    async fn find(&self, id: &str) -> Result<Option<Believed>, StoreError> {
        let now = Instant::now();
        let known = self.believed().get(id).cloned();
        if let Some(key) = known.filter(|key| now < key.until) {
            return Ok(Some(key));
        }
        // The time runs from before the look: what is revoked while the answer
        // is under way must not be believed for longer than all else.
        let found = self.log.live_key(id).await?;
        let key = found.and_then(|key| self.believe(key, now));
        if key.is_none() {
            self.believed().remove(id);
        }
        Ok(key)
    }

    fn believe(&self, key: LiveKey, now: Instant) -> Option<Believed> {
        // None is made under such a name; whoever writes into the database by
        // hand does not make one either.
        if key.view.name.is_callback() {
            return None;
        }
        let scope = scope_of(&key.view.name, &key.view.inboxes)?;
        let id = key.view.id;
        let time_left = key.expires_in.unwrap_or(BELIEVED).min(BELIEVED);
        let believed = Believed {
            hash: key.hash,
            caller: Caller {
                consumer: key.view.name,
                scope,
                permissions: key.view.permissions.into(),
                minted: Some(id.as_str().into()),
            },
            until: now + time_left,
        };
        let mut all = self.believed();
        if all.len() >= MANY {
            all.retain(|_, key| now < key.until);
        }
        all.insert(id.clone(), believed.clone());
        drop(all);
        if key.use_is_stale {
            self.note_use(id);
        }
        Some(believed)
    }

    /// Notes the use beside the request; nobody waits for it, and a use that
    /// is not noted is noted with the next look.
    fn note_use(&self, id: String) {
        let log = Arc::clone(&self.log);
        tokio::spawn(async move {
            let _ = log.key_used(&id).await;
        });
    }

    fn believed(&self) -> MutexGuard<'_, HashMap<String, Believed>> {
        // The map is whole whenever the lock is free, also after a panic.
        self.believed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
