//! Rows under an older key, read and written anew.

use sqlx::SqlitePool;
use uuid::Uuid;

use super::Sqlite;
use crate::database::Database;
use crate::fault::Fault;
use crate::reseal::{Old, Renewed, Resealed, Sealing, renew};
use crate::seal::{KeyId, Keyring};
use crate::stored::count;
use crate::uncancelled::Uncancelled;

type Columns = (Uuid, String, String, Vec<u8>);

impl Database<Sqlite> {
    pub(crate) fn work(&self) -> &Uncancelled {
        &self.work
    }

    pub(crate) fn keyring(&self) -> &Keyring {
        &self.session.secrets.keyring
    }

    pub(crate) fn reseal(
        &self,
        column: Sealing,
        key: KeyId,
        from: Uuid,
        limit: u32,
    ) -> impl Future<Output = Result<Resealed, Fault>> + Send + use<> {
        let (writer, keyring) = (
            self.session.backend.writer.clone(),
            self.session.secrets.keyring.clone(),
        );
        async move {
            let old = under_older_keys(&writer, column, &key, from, limit).await?;
            let is_end = old.len() < limit as usize;
            let next = old.last().map(|row| row.id).filter(|_| !is_end);
            let (renewed, stuck) = renew(&old, column, (&keyring, &key))?;
            let count = write_anew(&writer, column, renewed).await?;
            Ok(Resealed { count, stuck, next })
        }
    }

    pub(crate) fn forbid(
        &self,
        key: KeyId,
    ) -> impl Future<Output = Result<(), Fault>> + Send + use<> {
        let writer = self.session.backend.writer.clone();
        async move {
            sqlx::query(
                "INSERT INTO retired_keys (key_id, retired_at) SELECT $1, now FROM clock
                 WHERE true ON CONFLICT DO NOTHING",
            )
            .bind(key.as_str())
            .execute(&writer)
            .await?;
            Ok(())
        }
    }

    pub(crate) fn sealed_under(
        &self,
        column: Sealing,
    ) -> impl Future<Output = Result<Vec<(String, u64)>, Fault>> + Send + use<> {
        let writer = self.session.backend.writer.clone();
        async move {
            let rows: Vec<(String, i64)> = sqlx::query_as(match column {
                Sealing::Bodies => {
                    "SELECT body_key, count(*) FROM deliveries WHERE body_key IS NOT NULL
                     GROUP BY body_key"
                }
                Sealing::Values => {
                    "SELECT value_key, count(*) FROM artifacts WHERE value_key IS NOT NULL
                     GROUP BY value_key"
                }
            })
            .fetch_all(&writer)
            .await?;
            Ok(rows.into_iter().map(|(key, n)| (key, count(n))).collect())
        }
    }
}

async fn under_older_keys(
    writer: &SqlitePool,
    column: Sealing,
    key: &KeyId,
    from: Uuid,
    limit: u32,
) -> Result<Vec<Old>, Fault> {
    let rows: Vec<Columns> = sqlx::query_as(match column {
        Sealing::Bodies => {
            "SELECT id, source, body_key, body FROM deliveries
             WHERE id > $1 AND body_key <> $2 ORDER BY id LIMIT $3"
        }
        Sealing::Values => {
            "SELECT id, inbox, value_key, value FROM artifacts
             WHERE id > $1 AND value_key <> $2 ORDER BY id LIMIT $3"
        }
    })
    .bind(from)
    .bind(key.as_str())
    .bind(i64::from(limit))
    .fetch_all(writer)
    .await?;
    Ok(rows.into_iter().map(Old::from).collect())
}

/// The guard repeats what was read: a row that was wiped or sealed anew by
/// somebody else meanwhile stays as it is.
async fn write_anew(
    writer: &SqlitePool,
    column: Sealing,
    renewed: Renewed<'_>,
) -> Result<u64, Fault> {
    let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    let mut written = 0;
    for (row, sealed) in renewed {
        let update = sqlx::query(match column {
            Sealing::Bodies => {
                "UPDATE deliveries SET body = $3, body_key = $4 WHERE id = $1 AND body_key = $2"
            }
            Sealing::Values => {
                "UPDATE artifacts SET value = $3, value_key = $4 WHERE id = $1 AND value_key = $2"
            }
        });
        written += update
            .bind(row.id)
            .bind(&row.key)
            .bind(&sealed.bytes)
            .bind(sealed.key.as_str())
            .execute(&mut *transaction)
            .await?
            .rows_affected();
    }
    transaction.commit().await?;
    Ok(written)
}
