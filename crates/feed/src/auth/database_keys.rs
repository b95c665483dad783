//! API keys of the database, cached for a moment.
//!
//! Every request needs its key, so a key that was looked up is cached for
//! [`CACHE_TIME`]. That is the upper bound on revocation: each process refuses a
//! revoked key after that time at the latest, also while the database is
//! unavailable. Expiry is exact, because the database says how much time is left
//! when the key is looked up.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pipeline::{KeyLog, LiveKey, StoreError};
use subtle::ConstantTimeEq;
use tokio::time::Instant;

use super::caller::{Caller, scope_of};
use super::token::{id_of, sha256};

/// For how long a key that was looked up is not looked up again.
const CACHE_TIME: Duration = Duration::from_secs(2);
/// How often the ids of all keys are listed at most.
const LIST_EVERY: Duration = Duration::from_secs(1);
/// From this size on, expired entries are removed before one is added.
const CLEAN_UP_AT: usize = 1024;

/// The keys of one database, with a cache.
pub(super) struct DatabaseKeys {
    log: Arc<dyn KeyLog>,
    cache: Mutex<HashMap<String, CachedKey>>,
    listed: tokio::sync::Mutex<Listed>,
}

/// The ids of all valid keys, as they were at some time.
#[derive(Default)]
struct Listed {
    ids: HashSet<String>,
    at: Option<Instant>,
}

#[derive(Clone)]
struct CachedKey {
    hash: [u8; 32],
    caller: Caller,
    until: Instant,
}

impl DatabaseKeys {
    pub(super) fn new(log: Arc<dyn KeyLog>) -> Self {
        Self {
            log,
            cache: Mutex::default(),
            listed: tokio::sync::Mutex::default(),
        }
    }

    pub(super) fn log(&self) -> &Arc<dyn KeyLog> {
        &self.log
    }

    /// The caller that a token belongs to. A token with a wrong checksum belongs to
    /// nobody and needs no look-up.
    pub(super) async fn caller(&self, token: &str) -> Result<Option<Caller>, StoreError> {
        let Some(id) = id_of(token) else {
            return Ok(None);
        };
        let key = self.find(id).await?;
        let is_right = |key: &CachedKey| bool::from(key.hash.ct_eq(&sha256(token)));
        Ok(key.filter(is_right).map(|key| key.caller))
    }

    /// Whether a key with the id of this token worked before.
    pub(super) fn has_seen(&self, token: &str) -> bool {
        id_of(token).is_some_and(|id| self.cache().contains_key(id))
    }

    /// Whether a key has the id of this token. Made-up tokens cost the database one
    /// query in [`LIST_EVERY`], however many they are.
    pub(super) async fn is_listed(&self, token: &str) -> Result<bool, StoreError> {
        let Some(id) = id_of(token) else {
            return Ok(false);
        };
        let mut listed = self.listed.lock().await;
        if listed.at.is_none_or(|at| at.elapsed() >= LIST_EVERY) {
            let at = Some(Instant::now());
            let keys = self.log.keys().await?.into_iter();
            let valid = keys.filter(|key| key.revoked_at.is_none() && !key.is_expired);
            let ids = valid.map(|key| key.id).collect();
            *listed = Listed { ids, at };
        }
        Ok(listed.ids.contains(id))
    }

    /// Whether a key that was valid when its request began is still valid.
    pub(super) async fn is_valid(&self, id: &str) -> Result<bool, StoreError> {
        Ok(self.find(id).await?.is_some())
    }

    async fn find(&self, id: &str) -> Result<Option<CachedKey>, StoreError> {
        let now = Instant::now();
        let cached = self.cache().get(id).cloned();
        if let Some(key) = cached.filter(|key| now < key.until) {
            return Ok(Some(key));
        }
        // The cache time starts before the look-up: a key that is revoked while the
        // answer is on its way must not be cached for longer than any other.
        let found = self.log.live_key(id).await?;
        let key = found.and_then(|key| self.remember(key, now));
        if key.is_none() {
            self.cache().remove(id);
        }
        Ok(key)
    }

    fn remember(&self, key: LiveKey, now: Instant) -> Option<CachedKey> {
        // No API creates a key with the name of a callback. A row that was written
        // by hand must not work either.
        if key.view.name.is_callback() {
            return None;
        }
        let scope = scope_of(&key.view.name, &key.view.inboxes)?;
        let id = key.view.id;
        let time_left = key.expires_in.unwrap_or(CACHE_TIME).min(CACHE_TIME);
        let cached = CachedKey {
            hash: key.hash,
            caller: Caller {
                consumer: key.view.name,
                scope,
                permissions: key.view.permissions.into(),
                database_key: Some(id.as_str().into()),
            },
            until: now + time_left,
        };
        let mut cache = self.cache();
        if cache.len() >= CLEAN_UP_AT {
            cache.retain(|_, key| now < key.until);
        }
        cache.insert(id.clone(), cached.clone());
        drop(cache);
        if key.use_is_stale {
            self.record_use(id);
        }
        Some(cached)
    }

    /// Records the use without delaying the request. If it fails, the next look-up
    /// records it.
    fn record_use(&self, id: String) {
        let log = Arc::clone(&self.log);
        tokio::spawn(async move {
            let _ = log.key_used(&id).await;
        });
    }

    fn cache(&self) -> MutexGuard<'_, HashMap<String, CachedKey>> {
        // No panic can leave the map half-written, so a poisoned lock is safe to use.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
