//! Keys: who may ask, and until when.

use async_trait::async_trait;
use pipeline::{ConsumerId, Created, KeyLog, KeyView, LiveKey, NewKey, StoreError};
use sqlx::postgres::PgRow;
use sqlx::{Connection, PgConnection, Row};
use time::OffsetDateTime;

use super::Postgres;
use super::moment::timestamp;
use super::pool::Pool;
use crate::database::Database;
use crate::fault::Fault;
use crate::requests::{self, Noted};
use crate::stored::{KeyRow, joined, millis, span};
use crate::uncancelled::SHORT;

#[async_trait]
impl KeyLog for Database<Postgres> {
    async fn create_key(&self, key: NewKey) -> Result<Created<KeyView>, StoreError> {
        let work = create(self.session.backend.pool.clone(), key);
        self.work.run(SHORT, work).await
    }

    async fn live_key(&self, id: &str) -> Result<Option<LiveKey>, StoreError> {
        let work = live(self.session.backend.pool.clone(), id.to_owned());
        self.work.run(SHORT, work).await
    }

    async fn key_used(&self, id: &str) -> Result<(), StoreError> {
        let work = used(self.session.backend.pool.clone(), id.to_owned());
        self.work.run(SHORT, work).await
    }

    async fn keys(&self) -> Result<Vec<KeyView>, StoreError> {
        let work = list(self.session.backend.pool.clone());
        self.work.run(SHORT, work).await
    }

    async fn revoke_key(&self, name: &ConsumerId) -> Result<Option<KeyView>, StoreError> {
        let work = revoke(self.session.backend.pool.clone(), name.clone());
        self.work.run(SHORT, work).await
    }
}

async fn create(pool: Pool, key: NewKey) -> Result<Created<KeyView>, Fault> {
    let mut connection = pool.lend().await?;
    let mut transaction = connection.begin().await?;
    match requests::note::<Postgres>(&mut transaction, key.asked.as_ref(), &key.id).await? {
        Noted::New => {}
        Noted::Before(made) => return known(&mut transaction, &made).await,
        Noted::Reused => return Ok(Created::KeyReused),
    }
    // An expired key makes room for the next of its name.
    sqlx::query(
        "UPDATE keys SET revoked_at = expires_at
         WHERE name = $1 AND revoked_at IS NULL AND expires_at <= now()",
    )
    .bind(key.name.as_str())
    .execute(&mut *transaction)
    .await?;
    let scopes: Vec<&str> = key.permissions.iter().map(|one| one.as_str()).collect();
    let row = sqlx::query(
        "INSERT INTO keys (id, name, hash, scopes, inboxes, expires_at)
         VALUES ($1, $2, $3, $4, $5, now() + $6 * interval '1 millisecond')
         ON CONFLICT DO NOTHING
         RETURNING *, false AS is_expired",
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
async fn known(connection: &mut PgConnection, made: &str) -> Result<Created<KeyView>, Fault> {
    let row = sqlx::query(
        "SELECT *, coalesce(expires_at <= now(), false) AS is_expired
         FROM keys WHERE id = $1",
    )
    .bind(made)
    .fetch_one(connection)
    .await?;
    Ok(Created::Known(from_columns(&row)?.try_into()?))
}

async fn live(pool: Pool, id: String) -> Result<Option<LiveKey>, Fault> {
    let row = sqlx::query(
        "SELECT *, false AS is_expired,
                floor(extract(epoch FROM expires_at - now()) * 1000)::bigint AS expires_in_ms,
                coalesce(used_at < now() - interval '10 minutes', true) AS use_is_stale
         FROM keys
         WHERE id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())",
    )
    .bind(id)
    .fetch_optional(&mut *pool.lend().await?)
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

async fn used(pool: Pool, id: String) -> Result<(), Fault> {
    sqlx::query(
        "UPDATE keys SET used_at = now()
         WHERE id = $1 AND coalesce(used_at < now() - interval '10 minutes', true)",
    )
    .bind(id)
    .execute(&mut *pool.lend().await?)
    .await?;
    Ok(())
}

async fn list(pool: Pool) -> Result<Vec<KeyView>, Fault> {
    let rows = sqlx::query(
        "SELECT *, coalesce(expires_at <= now(), false) AS is_expired
         FROM keys ORDER BY name, created_at",
    )
    .fetch_all(&mut *pool.lend().await?)
    .await?;
    rows.iter()
        .map(|row| from_columns(row)?.try_into())
        .collect()
}

async fn revoke(pool: Pool, name: ConsumerId) -> Result<Option<KeyView>, Fault> {
    let row = sqlx::query(
        "UPDATE keys SET revoked_at = now() WHERE name = $1 AND revoked_at IS NULL
         RETURNING *, coalesce(expires_at <= now(), false) AS is_expired",
    )
    .bind(name.as_str())
    .fetch_optional(&mut *pool.lend().await?)
    .await?;
    row.map(|row| from_columns(&row)?.try_into()).transpose()
}

fn from_columns(row: &PgRow) -> Result<KeyRow, Fault> {
    let time = |column: &str| -> Result<_, Fault> {
        let moment: Option<OffsetDateTime> = row.try_get(column)?;
        Ok(moment.map(timestamp))
    };
    Ok(KeyRow {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        scopes: row.try_get("scopes")?,
        inboxes: row.try_get("inboxes")?,
        created_at: timestamp(row.try_get("created_at")?),
        expires_at: time("expires_at")?,
        revoked_at: time("revoked_at")?,
        used_at: time("used_at")?,
        is_expired: row.try_get("is_expired")?,
    })
}
