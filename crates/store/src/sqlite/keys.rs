//! Keys: who may ask, and until when.

use async_trait::async_trait;
use pipeline::{ConsumerId, Created, KeyLog, KeyView, LiveKey, NewKey, StoreError, Timestamp};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection, SqlitePool};

use super::Sqlite;
use crate::database::Database;
use crate::fault::Fault;
use crate::requests::{self, Noted};
use crate::stored::{KeyRow, joined, millis, span};
use crate::uncancelled::SHORT;

#[async_trait]
impl KeyLog for Database<Sqlite> {
    async fn create_key(&self, key: NewKey) -> Result<Created<KeyView>, StoreError> {
        let work = create(self.session.backend.writer.clone(), key);
        self.work.run(SHORT, work).await
    }

    async fn live_key(&self, id: &str) -> Result<Option<LiveKey>, StoreError> {
        let work = live(self.session.backend.readers.clone(), id.to_owned());
        self.work.run(SHORT, work).await
    }

    async fn key_used(&self, id: &str) -> Result<(), StoreError> {
        let work = used(self.session.backend.writer.clone(), id.to_owned());
        self.work.run(SHORT, work).await
    }

    async fn keys(&self) -> Result<Vec<KeyView>, StoreError> {
        let work = list(self.session.backend.readers.clone());
        self.work.run(SHORT, work).await
    }

    async fn revoke_key(&self, name: &ConsumerId) -> Result<Option<KeyView>, StoreError> {
        let work = revoke(self.session.backend.writer.clone(), name.clone());
        self.work.run(SHORT, work).await
    }
}

async fn create(writer: SqlitePool, key: NewKey) -> Result<Created<KeyView>, Fault> {
    let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    match requests::note::<Sqlite>(&mut transaction, key.asked.as_ref(), &key.id).await? {
        Noted::New => {}
        Noted::Before(made) => return known(&mut transaction, &made).await,
        Noted::Reused => return Ok(Created::KeyReused),
    }
    // An expired key makes room for the next of its name.
    sqlx::query(
        "UPDATE keys SET revoked_at = expires_at
         WHERE name = $1 AND revoked_at IS NULL AND expires_at <= (SELECT now FROM clock)",
    )
    .bind(key.name.as_str())
    .execute(&mut *transaction)
    .await?;
    let scopes: Vec<&str> = key.permissions.iter().map(|one| one.as_str()).collect();
    let row = sqlx::query(
        "INSERT INTO keys (id, name, hash, scopes, inboxes, expires_at, created_at)
         SELECT $1, $2, $3, $4, $5, now + $6, now FROM clock WHERE true
         ON CONFLICT DO NOTHING
         RETURNING *, 0 AS is_expired",
    )
    .bind(key.id)
    .bind(key.name.as_str())
    .bind(&key.hash[..])
    .bind(scopes.join(" "))
    .bind(joined(&key.inboxes))
    .bind(key.expires_in.map(millis))
    .fetch_optional(&mut *transaction)
    .await?;
    let Some(row) = row else {
        transaction.rollback().await?;
        return Ok(Created::Refused);
    };
    transaction.commit().await?;
    Ok(Created::New(from_columns(&row)?.try_into()?))
}

/// The key that the same request has made.
async fn known(connection: &mut SqliteConnection, made: &str) -> Result<Created<KeyView>, Fault> {
    let row = sqlx::query(
        "SELECT *, coalesce(expires_at <= (SELECT now FROM clock), 0) AS is_expired
         FROM keys WHERE id = $1",
    )
    .bind(made)
    .fetch_one(connection)
    .await?;
    Ok(Created::Known(from_columns(&row)?.try_into()?))
}

async fn live(readers: SqlitePool, id: String) -> Result<Option<LiveKey>, Fault> {
    let row = sqlx::query(
        "SELECT keys.*, 0 AS is_expired, expires_at - now AS expires_in_ms,
                coalesce(used_at < now - 600000, 1) AS use_is_stale
         FROM keys, clock
         WHERE id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now)",
    )
    .bind(id)
    .fetch_optional(&readers)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let hash: Vec<u8> = row.try_get("hash")?;
    let expires_in: Option<i64> = row.try_get("expires_in_ms")?;
    Ok(Some(LiveKey {
        hash: hash.try_into().or(Err(Fault::Damaged("hash")))?,
        expires_in: expires_in.map(span),
        use_is_stale: row.try_get("use_is_stale")?,
        view: from_columns(&row)?.try_into()?,
    }))
}

async fn used(writer: SqlitePool, id: String) -> Result<(), Fault> {
    sqlx::query(
        "UPDATE keys SET used_at = now FROM clock
         WHERE id = $1 AND coalesce(used_at < now - 600000, 1)",
    )
    .bind(id)
    .execute(&writer)
    .await?;
    Ok(())
}

async fn list(readers: SqlitePool) -> Result<Vec<KeyView>, Fault> {
    let rows = sqlx::query(
        "SELECT keys.*, coalesce(expires_at <= now, 0) AS is_expired
         FROM keys, clock ORDER BY name, created_at",
    )
    .fetch_all(&readers)
    .await?;
    rows.iter()
        .map(|row| from_columns(row)?.try_into())
        .collect()
}

async fn revoke(writer: SqlitePool, name: ConsumerId) -> Result<Option<KeyView>, Fault> {
    let row = sqlx::query(
        "UPDATE keys SET revoked_at = (SELECT now FROM clock)
         WHERE name = $1 AND revoked_at IS NULL
         RETURNING *, coalesce(expires_at <= (SELECT now FROM clock), 0) AS is_expired",
    )
    .bind(name.as_str())
    .fetch_optional(&writer)
    .await?;
    row.map(|row| from_columns(&row)?.try_into()).transpose()
}

fn from_columns(row: &SqliteRow) -> Result<KeyRow, Fault> {
    let time = |column: &str| -> Result<_, Fault> {
        let millis: Option<i64> = row.try_get(column)?;
        Ok(millis.map(Timestamp::from_millis))
    };
    Ok(KeyRow {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        scopes: row.try_get("scopes")?,
        inboxes: row.try_get("inboxes")?,
        created_at: Timestamp::from_millis(row.try_get("created_at")?),
        expires_at: time("expires_at")?,
        revoked_at: time("revoked_at")?,
        used_at: time("used_at")?,
        is_expired: row.try_get("is_expired")?,
    })
}
