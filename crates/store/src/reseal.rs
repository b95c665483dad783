//! Sealing anew: rows whose key is no longer the one that seals, a few at a time.

use pipeline::{ArtifactId, DeliveryId, StoreError};
use uuid::Uuid;

use crate::fault::Fault;
use crate::open::{AnyDatabase, Store};
use crate::seal::{KeyId, Keyring, Row, Sealed};
use crate::uncancelled::LONG;

/// Which column of which table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sealing {
    /// The bodies of deliveries.
    Bodies,
    /// The values of artifacts.
    Values,
}

/// How far the sealing anew has come in one column.
#[derive(Debug, Clone, Copy, Default)]
pub struct Resealed {
    /// How many rows were sealed anew.
    pub count: u64,
    /// How many rows do not open, and so stay as they are.
    pub stuck: u64,
    /// Where to go on; nothing at the end.
    pub next: Option<Uuid>,
}

/// A row under an older key.
pub(crate) struct Old {
    pub(crate) id: Uuid,
    /// The source of a delivery, the inbox of an artifact.
    pub(crate) owner: String,
    pub(crate) key: String,
    pub(crate) sealed: Vec<u8>,
}

impl From<(Uuid, String, String, Vec<u8>)> for Old {
    fn from((id, owner, key, sealed): (Uuid, String, String, Vec<u8>)) -> Self {
        Self {
            id,
            owner,
            key,
            sealed,
        }
    }
}

/// Rows with their values under another key.
pub(crate) type Renewed<'o> = Vec<(&'o Old, Sealed)>;

/// Of these rows those that open, with their values under `key`, and how many do not.
pub(crate) fn renew<'o>(
    old: &'o [Old],
    column: Sealing,
    (keyring, key): (&Keyring, &KeyId),
) -> Result<(Renewed<'o>, u64), Fault> {
    let (mut renewed, mut stuck) = (Vec::with_capacity(old.len()), 0);
    for row in old {
        match row.opened(column, keyring) {
            Ok(plain) => renewed.push((row, row.sealed(column, keyring, key, &plain)?)),
            // One that never opens again must not keep the others under an old key.
            Err(Fault::KeyUnknown(_) | Fault::Damaged(_)) => stuck += 1,
            Err(other) => return Err(other),
        }
    }
    Ok((renewed, stuck))
}

impl Old {
    fn row(&self, column: Sealing) -> Row<'_> {
        match column {
            Sealing::Bodies => Row::delivery(DeliveryId::from_uuid(self.id), &self.owner),
            Sealing::Values => Row::artifact(ArtifactId::from_uuid(self.id), &self.owner),
        }
    }

    fn opened(&self, column: Sealing, keyring: &Keyring) -> Result<Vec<u8>, Fault> {
        keyring.open(self.row(column), &self.key, &self.sealed)
    }

    /// The same value under another key.
    fn sealed(
        &self,
        column: Sealing,
        keyring: &Keyring,
        key: &KeyId,
        plain: &[u8],
    ) -> Result<Sealed, Fault> {
        // By name, for the ring may not have noticed yet that this one seals.
        let sealing = keyring.opening(key.as_str());
        let unknown = || Fault::KeyUnknown(key.to_string());
        sealing.ok_or_else(unknown)?.seal(self.row(column), plain)
    }
}

impl Store {
    /// Seals up to `limit` rows under `key` that are under another, from a place on.
    /// A row that is wiped or changed meanwhile is left as it is.
    pub async fn reseal(
        &self,
        column: Sealing,
        key: &KeyId,
        from: Option<Uuid>,
        limit: u32,
    ) -> Result<Resealed, StoreError> {
        let from = from.unwrap_or(Uuid::nil());
        match &self.database {
            AnyDatabase::Postgres(it) => {
                let work = it.reseal(column, key.clone(), from, limit);
                it.work().run(LONG, work).await
            }
            AnyDatabase::Sqlite(it) => {
                let work = it.reseal(column, key.clone(), from, limit);
                it.work().run(LONG, work).await
            }
        }
    }

    /// From now on no row comes under this key, whoever sealed it and whenever: what
    /// was on its way is stored and can be seen, and what comes later is refused.
    pub async fn forbid(&self, key: &KeyId) -> Result<(), StoreError> {
        match &self.database {
            AnyDatabase::Postgres(it) => it.work().run(LONG, it.forbid(key.clone())).await,
            AnyDatabase::Sqlite(it) => it.work().run(LONG, it.forbid(key.clone())).await,
        }
    }

    /// How many rows of a column are sealed under which key.
    pub async fn sealed_under(&self, column: Sealing) -> Result<Vec<(String, u64)>, StoreError> {
        match &self.database {
            AnyDatabase::Postgres(it) => it.work().run(LONG, it.sealed_under(column)).await,
            AnyDatabase::Sqlite(it) => it.work().run(LONG, it.sealed_under(column)).await,
        }
    }

    /// The names of the keys that this store opens with, the sealing one first.
    pub fn key_names(&self) -> Vec<KeyId> {
        match &self.database {
            AnyDatabase::Postgres(it) => it.keyring().names(),
            AnyDatabase::Sqlite(it) => it.keyring().names(),
        }
    }
}
