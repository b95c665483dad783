//! Resealing: rows whose key is no longer the one that seals, a few at a time.

use pipeline::{ArtifactId, DeliveryId, MessageId, SendId, StoreError};
use uuid::Uuid;

use crate::backend::{Backend, Sql, query, row};
use crate::database::{Database, Session};
use crate::fault::Fault;
use crate::open::{AnyDatabase, Store};
use crate::seal::{KeyId, Keyring, Row, Sealed};
use crate::sealing::Sealing;
use crate::stored::count;
use crate::uncancelled::LONG;

/// How far the resealing of one column has come.
#[derive(Debug, Clone, Copy, Default)]
pub struct Resealed {
    /// How many rows were resealed.
    pub count: u64,
    /// How many rows do not open and so stay as they are.
    pub stuck: u64,
    /// Where to continue; nothing at the end.
    pub next: Option<Uuid>,
}

row! {
    /// A sealed row.
    pub(crate) struct Old {
        id: Uuid,
        /// The source of a delivery, the inbox of an artifact or a message, the sender of a
        /// send.
        owner: String,
        key: String,
        sealed: Vec<u8>,
    }
}

/// Rows with their values under another key.
type Renewed<'o> = Vec<(&'o Old, Sealed)>;

/// Of these rows those that open, with their values under `key`, and how many do not.
fn renew<'o>(
    old: &'o [Old],
    column: Sealing,
    (keyring, key): (&Keyring, &KeyId),
) -> Result<(Renewed<'o>, u64), Fault> {
    let (mut renewed, mut stuck) = (Vec::with_capacity(old.len()), 0);
    for row in old {
        match row.opened(column, keyring) {
            Ok(plain) => renewed.push((row, row.sealed(column, keyring, key, &plain)?)),
            // A row that never opens must not keep the others under an old key.
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
            Sealing::SendContents => Row::send(SendId::from_uuid(self.id), &self.owner),
            Sealing::ReplyContexts => Row::handling(MessageId::from_uuid(self.id), &self.owner),
        }
    }

    pub(crate) fn opened(&self, column: Sealing, keyring: &Keyring) -> Result<Vec<u8>, Fault> {
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
        // By name: the keyring may not have noticed yet that this key seals.
        let sealing = keyring.opening(key.as_str());
        let unknown = || Fault::KeyUnknown(key.to_string());
        sealing.ok_or_else(unknown)?.seal(self.row(column), plain)
    }
}

impl<B: Backend> Database<B> {
    async fn reseal(
        &self,
        column: Sealing,
        key: KeyId,
        from: Uuid,
        limit: u32,
    ) -> Result<Resealed, StoreError> {
        self.run(LONG, |session| async move {
            let old = under_older_keys(&session, column, &key, from, limit).await?;
            let is_end = old.len() < limit as usize;
            let next = old.last().map(|row| row.id).filter(|_| !is_end);
            let keyring = &session.secrets.keyring;
            let (renewed, stuck) = renew(&old, column, (keyring, &key))?;
            let count = update(&session, column, renewed).await?;
            Ok(Resealed { count, stuck, next })
        })
        .await
    }

    async fn forbid(&self, key: KeyId) -> Result<(), StoreError> {
        self.run(LONG, |session| retire(session, key)).await
    }

    async fn sealed_under(&self, column: Sealing) -> Result<Vec<(String, u64)>, StoreError> {
        self.run(LONG, move |session| count_by_key(session, column))
            .await
    }
}

async fn under_older_keys<B: Backend>(
    session: &Session<B>,
    column: Sealing,
    key: &KeyId,
    from: Uuid,
    limit: u32,
) -> Result<Vec<Old>, Fault> {
    query::<B>(Sql::both(column.older()))
        .bind(from)
        .bind(key.as_str())
        .bind(i64::from(limit))
        .fetch_all(&mut *session.reader().await?)
        .await
}

/// The newest rows that still have their sealed value.
pub(crate) async fn newest<B: Backend>(
    session: &Session<B>,
    column: Sealing,
    limit: u32,
) -> Result<Vec<Old>, Fault> {
    query::<B>(Sql::both(column.newest()))
        .bind(i64::from(limit))
        .fetch_all(&mut *session.reader().await?)
        .await
}

/// The guard repeats what was read: a row that was wiped or resealed by another
/// process meanwhile stays as it is.
async fn update<B: Backend>(
    session: &Session<B>,
    column: Sealing,
    renewed: Renewed<'_>,
) -> Result<u64, Fault> {
    let mut transaction = session.begin().await?;
    let mut written = 0;
    for (row, sealed) in renewed {
        written += query::<B>(Sql::both(column.update()))
            .bind(row.id)
            .bind(row.key.as_str())
            .bind(sealed.bytes)
            .bind(sealed.key.as_str())
            .execute(&mut transaction)
            .await?;
    }
    transaction.commit().await?;
    Ok(written)
}

/// Stores that no row may be sealed under this key any more.
async fn retire<B: Backend>(session: Session<B>, key: KeyId) -> Result<(), Fault> {
    let mut transaction = session.begin().await?;
    // Waits for every transaction that writes; those that begin later see the name that
    // is inserted here. The lock is held for one statement.
    query::<B>(Sql {
        postgres: "LOCK TABLE deliveries, artifacts, handlings, sends IN SHARE MODE",
        // The transaction has the lock of the one writer already.
        sqlite: "SELECT 1",
    })
    .execute(&mut transaction)
    .await?;
    query::<B>(Sql {
        postgres: "INSERT INTO retired_keys (key_id, retired_at) VALUES ($1, clock_timestamp())
                   ON CONFLICT DO NOTHING",
        sqlite: "INSERT INTO retired_keys (key_id, retired_at)
                 SELECT $1, now FROM clock WHERE true ON CONFLICT DO NOTHING",
    })
    .bind(key.as_str())
    .execute(&mut transaction)
    .await?;
    transaction.commit().await
}

async fn count_by_key<B: Backend>(
    session: Session<B>,
    column: Sealing,
) -> Result<Vec<(String, u64)>, Fault> {
    let rows: Vec<(String, i64)> = query::<B>(Sql::both(column.by_key()))
        .fetch_all(&mut *session.reader().await?)
        .await?;
    Ok(rows.into_iter().map(|(key, n)| (key, count(n))).collect())
}

impl Store {
    /// Seals up to `limit` rows again under `key` that are sealed under another key,
    /// starting after the row `from`. A row that is wiped or changed meanwhile is left as
    /// it is.
    pub async fn reseal(
        &self,
        column: Sealing,
        key: &KeyId,
        from: Option<Uuid>,
        limit: u32,
    ) -> Result<Resealed, StoreError> {
        let (key, from) = (key.clone(), from.unwrap_or(Uuid::nil()));
        match &self.database {
            AnyDatabase::Postgres(it) => it.reseal(column, key, from, limit).await,
            AnyDatabase::Sqlite(it) => it.reseal(column, key, from, limit).await,
        }
    }

    /// Forbids a key: from now on the database refuses rows that are sealed under it.
    /// Transactions that were writing such rows have ended when this returns.
    pub async fn forbid(&self, key: &KeyId) -> Result<(), StoreError> {
        match &self.database {
            AnyDatabase::Postgres(it) => it.forbid(key.clone()).await,
            AnyDatabase::Sqlite(it) => it.forbid(key.clone()).await,
        }
    }

    /// How many rows of a column are sealed under which key.
    pub async fn sealed_under(&self, column: Sealing) -> Result<Vec<(String, u64)>, StoreError> {
        match &self.database {
            AnyDatabase::Postgres(it) => it.sealed_under(column).await,
            AnyDatabase::Sqlite(it) => it.sealed_under(column).await,
        }
    }

    /// The names of the keys that this store opens with, the sealing one first.
    pub fn key_names(&self) -> Vec<KeyId> {
        match &self.database {
            AnyDatabase::Postgres(it) => it.session.secrets.keyring.names(),
            AnyDatabase::Sqlite(it) => it.session.secrets.keyring.names(),
        }
    }
}
