//! The health of sources: how many posts came, and how long a source is usually silent.

use async_trait::async_trait;
use pipeline::{Reason, SilenceLog, SourceHealth, SourceName, StoreError};
use uuid::Uuid;

use crate::backend::{Backend, Connection, Sql, query, row};
use crate::column::Moment;
use crate::database::{Database, Session};
use crate::fault::Fault;
use crate::stored::{count, source, span};
use crate::uncancelled::SHORT;

#[async_trait]
impl<B: Backend> SilenceLog for Database<B> {
    async fn observe_posts(&self, source: &SourceName) -> Result<(), StoreError> {
        let source = source.clone();
        self.run(SHORT, |session| observe_posts(session, source))
            .await
    }

    async fn source_health(&self) -> Result<Vec<SourceHealth>, StoreError> {
        self.run(SHORT, source_health).await
    }
}

row! {
    /// The posts of a source among the deliveries that were not counted yet.
    struct Observed {
        posts: i64,
        last_at: Option<Moment>,
        longest_gap_ms: Option<i64>,
        /// The last delivery that was looked at, of whatever source.
        last_id: Option<Uuid>,
    }
}

/// Counts the deliveries behind the last one that was counted.
async fn observe_posts<B: Backend>(session: Session<B>, source: SourceName) -> Result<(), Fault> {
    let mut transaction = session.begin().await?;
    query::<B>(Sql::both(
        "INSERT INTO polls (source, heard_id)
         VALUES ($1, (SELECT id FROM deliveries ORDER BY id DESC LIMIT 1))
         ON CONFLICT (source) DO NOTHING",
    ))
    .bind(source.as_str())
    .execute(&mut transaction)
    .await?;
    let (heard_at, heard_id): (Option<Moment>, Option<Uuid>) = query::<B>(Sql {
        postgres: "SELECT heard_at, heard_id FROM polls WHERE source = $1 FOR UPDATE",
        // The transaction has the lock of the one writer already.
        sqlite: "SELECT heard_at, heard_id FROM polls WHERE source = $1",
    })
    .bind(source.as_str())
    .fetch_one(&mut transaction)
    .await?;
    let observed = posts_behind::<B>(&mut transaction, &source, heard_id, heard_at).await?;
    // The usual gap decays slowly: after a busy week it is short.
    query::<B>(Sql {
        postgres: "UPDATE polls
                   SET posts = posts + $2,
                       heard_at = coalesce($3, heard_at),
                       heard_id = coalesce($5, heard_id),
                       habit_ms = CASE WHEN $2 > 0
                                       THEN greatest(coalesce($4, 0), habit_ms * 15 / 16)
                                       ELSE habit_ms END
                   WHERE source = $1",
        sqlite: "UPDATE polls
                 SET posts = posts + $2,
                     heard_at = coalesce($3, heard_at),
                     heard_id = coalesce($5, heard_id),
                     habit_ms = CASE WHEN $2 > 0
                                     THEN max(coalesce($4, 0), habit_ms * 15 / 16)
                                     ELSE habit_ms END
                 WHERE source = $1",
    })
    .bind(source.as_str())
    .bind(observed.posts)
    .bind(observed.last_at)
    .bind(observed.longest_gap_ms)
    .bind(observed.last_id)
    .execute(&mut transaction)
    .await?;
    transaction.commit().await
}

/// The posts of a source behind a delivery. Ids follow time, so that is a short range
/// of the primary key; a long one is read in parts.
async fn posts_behind<B: Backend>(
    connection: &mut Connection<B>,
    source: &SourceName,
    heard_id: Option<Uuid>,
    heard_at: Option<Moment>,
) -> Result<Observed, Fault> {
    query::<B>(Sql {
        postgres: "WITH recent AS (
                       SELECT id, source, recorded_at FROM deliveries
                       WHERE id > $2 ORDER BY id LIMIT 20000
                   ), posts AS (
                       SELECT recorded_at,
                              recorded_at - lag(recorded_at, 1, $3) OVER (ORDER BY recorded_at)
                                  AS gap
                       FROM recent
                       WHERE source = $1
                         AND NOT EXISTS (SELECT 1 FROM polled WHERE delivery_id = id)
                   )
                   SELECT count(*) AS posts, max(recorded_at) AS last_at,
                          (extract(epoch FROM max(gap)) * 1000)::bigint AS longest_gap_ms,
                          (SELECT id FROM recent ORDER BY id DESC LIMIT 1) AS last_id
                   FROM posts",
        sqlite: "WITH recent AS (
                     SELECT id, source, recorded_at FROM deliveries
                     WHERE id > $2 ORDER BY id LIMIT 20000
                 ), posts AS (
                     SELECT recorded_at,
                            recorded_at - lag(recorded_at, 1, $3) OVER (ORDER BY recorded_at)
                                AS gap
                     FROM recent
                     WHERE source = $1
                       AND NOT EXISTS (SELECT 1 FROM polled WHERE delivery_id = id)
                 )
                 SELECT count(*) AS posts, max(recorded_at) AS last_at,
                        max(gap) AS longest_gap_ms,
                        (SELECT id FROM recent ORDER BY id DESC LIMIT 1) AS last_id
                 FROM posts",
    })
    .bind(source.as_str())
    .bind(heard_id.unwrap_or_default())
    .bind(heard_at)
    .fetch_one(connection)
    .await
}

row! {
    /// A source, with the time since it was last heard of.
    struct HealthRow {
        source: String,
        posts: i64,
        since_post_ms: Option<i64>,
        habit_ms: i64,
        since_poll_ms: Option<i64>,
        failure: Option<String>,
    }
}

async fn source_health<B: Backend>(session: Session<B>) -> Result<Vec<SourceHealth>, Fault> {
    let rows: Vec<HealthRow> = query::<B>(Sql {
        postgres: "SELECT source, posts, habit_ms, failure,
                          (extract(epoch FROM now() - heard_at) * 1000)::bigint AS since_post_ms,
                          (extract(epoch FROM now() - polled_at) * 1000)::bigint AS since_poll_ms
                   FROM polls ORDER BY source",
        sqlite: "SELECT source, posts, habit_ms, failure, now - heard_at AS since_post_ms,
                        now - polled_at AS since_poll_ms
                 FROM polls, clock ORDER BY source",
    })
    .fetch_all(&mut *session.reader().await?)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

impl TryFrom<HealthRow> for SourceHealth {
    type Error = Fault;

    fn try_from(row: HealthRow) -> Result<Self, Fault> {
        Ok(Self {
            source: source(&row.source)?,
            posts: count(row.posts),
            since_last_post: row.since_post_ms.map(span),
            usual_gap: span(row.habit_ms),
            since_last_poll: row.since_poll_ms.map(span),
            failure: row.failure.as_deref().map(Reason::from_stored),
        })
    }
}
