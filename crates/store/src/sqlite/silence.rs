//! What is heard of sources: their posts, and how long they are usually quiet.

use async_trait::async_trait;
use pipeline::{SilenceLog, SourceHealth, SourceName, StoreError};
use sqlx::SqlitePool;
use uuid::Uuid;

use super::Sqlite;
use crate::database::Database;
use crate::fault::Fault;
use crate::stored::{Doing, count};
use crate::uncancelled::SHORT;

#[async_trait]
impl SilenceLog for Database<Sqlite> {
    async fn observe_posts(&self, source: &SourceName) -> Result<(), StoreError> {
        let work = listen(self.session.backend.writer.clone(), source.clone());
        self.work.run(SHORT, work).await
    }

    async fn source_health(&self) -> Result<Vec<SourceHealth>, StoreError> {
        self.work
            .run(SHORT, source_health(self.session.backend.readers.clone()))
            .await
    }
}

type Heard = (i64, Option<i64>, Option<i64>, Option<Uuid>);

/// Reads the deliveries behind the last one that was counted. Ids follow time,
/// so that is a short range of the primary key; a long one is read in parts.
async fn listen(writer: SqlitePool, source: SourceName) -> Result<(), Fault> {
    let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    sqlx::query(
        "INSERT INTO polls (source, heard_id)
         VALUES ($1, (SELECT id FROM deliveries ORDER BY id DESC LIMIT 1))
         ON CONFLICT (source) DO NOTHING",
    )
    .bind(source.as_str())
    .execute(&mut *transaction)
    .await?;
    let (heard_at, heard_id): (Option<i64>, Option<Uuid>) =
        sqlx::query_as("SELECT heard_at, heard_id FROM polls WHERE source = $1")
            .bind(source.as_str())
            .fetch_one(&mut *transaction)
            .await?;
    let (posts, last, gap, until): Heard = sqlx::query_as(
        "WITH recent AS (
             SELECT id, source, recorded_at FROM deliveries
             WHERE id > $2 ORDER BY id LIMIT 20000
         ), posts AS (
             SELECT recorded_at,
                    recorded_at - lag(recorded_at, 1, $3) OVER (ORDER BY recorded_at) AS gap
             FROM recent
             WHERE source = $1 AND NOT EXISTS (SELECT 1 FROM polled WHERE delivery_id = id)
         )
         SELECT count(*), max(recorded_at), max(gap),
                (SELECT id FROM recent ORDER BY id DESC LIMIT 1)
         FROM posts",
    )
    .bind(source.as_str())
    .bind(heard_id.unwrap_or_default())
    .bind(heard_at)
    .fetch_one(&mut *transaction)
    .await?;
    // The longest silence is forgotten slowly: a busy week makes a habit.
    sqlx::query(
        "UPDATE polls
         SET posts = posts + $2,
             heard_at = coalesce($3, heard_at),
             heard_id = coalesce($5, heard_id),
             habit_ms = CASE WHEN $2 > 0 THEN max(coalesce($4, 0), habit_ms * 15 / 16)
                             ELSE habit_ms END
         WHERE source = $1",
    )
    .bind(source.as_str())
    .bind(posts)
    .bind(last)
    .bind(gap)
    .bind(until)
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(())
}

async fn source_health(readers: SqlitePool) -> Result<Vec<SourceHealth>, Fault> {
    type Row = (String, i64, Option<i64>, i64, Option<i64>, Option<String>);
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT source, posts, (SELECT now FROM clock) - heard_at, habit_ms,
                (SELECT now FROM clock) - polled_at, failure
         FROM polls ORDER BY source",
    )
    .fetch_all(&readers)
    .await?;
    rows.into_iter()
        .map(|(source, posts, quiet, habit, polled, failure)| {
            let posts = count(posts);
            let doing = Doing {
                source,
                posts,
                quiet,
                habit,
                polled,
                failure,
            };
            doing.try_into()
        })
        .collect()
}
