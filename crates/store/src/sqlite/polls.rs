//! Polling: who holds a source, how far it was read, and what was found there.

use std::time::Duration;

use async_trait::async_trait;
use pipeline::{
    Completed, DeliveryKey, Lease, Leased, OverdueInbox, PollLog, Polled, PollerId, Reason,
    Recorded, ServerKey, SourceName, StoreError, Timestamp,
};
use sqlx::{SqliteConnection, SqlitePool};

use super::Sqlite;
use crate::batch::Batch;
use crate::database::Database;
use crate::deliveries;
use crate::fault::Fault;
use crate::stored::{inbox, millis, span};
use crate::uncancelled::{LONG, SHORT};

#[async_trait]
impl PollLog for Database<Sqlite> {
    async fn lease(
        &self,
        source: &SourceName,
        poller: PollerId,
        length: Duration,
    ) -> Result<Leased, StoreError> {
        let work = lease(
            self.session.backend.writer.clone(),
            source.clone(),
            poller,
            length,
        );
        self.work.run(SHORT, work).await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        let work = release(self.session.backend.writer.clone(), lease.clone());
        self.work.run(SHORT, work).await
    }

    async fn unseen(&self, keys: &[DeliveryKey]) -> Result<Vec<DeliveryKey>, StoreError> {
        let server_key = self.session.secrets.server_key.clone();
        let work = unseen(
            self.session.backend.readers.clone(),
            server_key,
            keys.to_vec(),
        );
        self.work.run(SHORT, work).await
    }

    async fn save(
        &self,
        lease: &Lease,
        found: Vec<Polled>,
        cursor: &str,
    ) -> Result<Completed<Vec<Recorded>>, StoreError> {
        let (writer, secrets) = (
            self.session.backend.writer.clone(),
            self.session.secrets.clone(),
        );
        let (lease, cursor) = (lease.clone(), cursor.to_owned());
        let work = async move {
            let (found, arrivals) = found
                .into_iter()
                .map(|it| (it.delivery, it.arrived_at))
                .unzip();
            let batch = Batch::new(found, &secrets)?;
            save(writer, lease, batch, arrivals, cursor).await
        };
        self.work.run(LONG, work).await
    }

    async fn round_ended(&self, lease: &Lease, failure: Option<Reason>) -> Result<(), StoreError> {
        let work = ended(self.session.backend.writer.clone(), lease.clone(), failure);
        self.work.run(SHORT, work).await
    }

    async fn overdue_inboxes(
        &self,
        after: Duration,
        limit: u32,
    ) -> Result<Vec<OverdueInbox>, StoreError> {
        let work = overdue_inboxes(self.session.backend.readers.clone(), after, limit);
        self.work.run(SHORT, work).await
    }
}

/// One guarded statement. Whoever prolongs keeps its number; every new hold has
/// a new one.
async fn lease(
    writer: SqlitePool,
    source: SourceName,
    poller: PollerId,
    length: Duration,
) -> Result<Leased, Fault> {
    let row: Option<(i64, String, Option<i64>)> = sqlx::query_as(
        "INSERT INTO polls AS held (source, holder, fence, expires_at)
         SELECT $1, $2, 1, now + $3 FROM clock WHERE true
         ON CONFLICT (source) DO UPDATE
         SET fence = held.fence
                 + CASE WHEN held.holder = $2 AND held.expires_at > (SELECT now FROM clock)
                        THEN 0 ELSE 1 END,
             holder = excluded.holder,
             expires_at = excluded.expires_at
         WHERE held.holder IS NULL OR held.holder = $2
            OR held.expires_at <= (SELECT now FROM clock)
         RETURNING fence, cursor, (SELECT now FROM clock) - polled_at",
    )
    .bind(source.as_str())
    .bind(poller.as_uuid())
    .bind(millis(length))
    .fetch_optional(&writer)
    .await?;
    Ok(match row {
        Some((fence, cursor, since_last)) => Leased::Yours(Lease {
            source,
            fence,
            cursor,
            since_last: since_last.map(span),
        }),
        None => Leased::Held,
    })
}

async fn release(writer: SqlitePool, lease: Lease) -> Result<(), Fault> {
    sqlx::query(
        "UPDATE polls SET holder = NULL, expires_at = NULL WHERE source = $1 AND fence = $2",
    )
    .bind(lease.source.as_str())
    .bind(lease.fence)
    .execute(&writer)
    .await?;
    Ok(())
}

async fn unseen(
    readers: SqlitePool,
    server_key: ServerKey,
    keys: Vec<DeliveryKey>,
) -> Result<Vec<DeliveryKey>, Fault> {
    let mut unseen = Vec::new();
    let mut connection = readers.acquire().await?;
    for key in keys {
        let seen: Option<i64> =
            sqlx::query_scalar("SELECT 1 FROM deliveries WHERE delivery_key = $1")
                .bind(key.keyed_with(&server_key).as_bytes().as_slice())
                .fetch_optional(&mut *connection)
                .await?;
        if seen.is_none() {
            unseen.push(key);
        }
    }
    Ok(unseen)
}

/// The fence first: a poller that was overtaken finds the number changed and
/// writes nothing.
async fn save(
    writer: SqlitePool,
    lease: Lease,
    batch: Batch,
    arrivals: Vec<Option<Timestamp>>,
    cursor: String,
) -> Result<Completed<Vec<Recorded>>, Fault> {
    let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    let passed = sqlx::query("UPDATE polls SET cursor = $3 WHERE source = $1 AND fence = $2")
        .bind(lease.source.as_str())
        .bind(lease.fence)
        .bind(&cursor)
        .execute(&mut *transaction)
        .await?;
    if passed.rows_affected() == 0 {
        transaction.rollback().await?;
        return Ok(Completed::Lost);
    }
    let answers = deliveries::settle::<Sqlite>(&mut transaction, batch).await?;
    for (answer, arrived) in answers.iter().zip(arrivals) {
        if answer.is_fresh() {
            mark(&mut transaction, *answer, arrived).await?;
        }
    }
    transaction.commit().await?;
    Ok(Completed::Done(answers))
}

/// Notes that polling has found a row, and when its mail had arrived.
async fn mark(
    connection: &mut SqliteConnection,
    answer: Recorded,
    arrived: Option<Timestamp>,
) -> Result<(), Fault> {
    sqlx::query("INSERT INTO polled (delivery_id, arrived_at) SELECT $1, min($2, now) FROM clock")
        .bind(answer.id().as_uuid())
        .bind(arrived.map(Timestamp::as_millis))
        .execute(connection)
        .await?;
    Ok(())
}

async fn ended(writer: SqlitePool, lease: Lease, failure: Option<Reason>) -> Result<(), Fault> {
    sqlx::query(
        "UPDATE polls
         SET failure = $3,
             polled_at = CASE WHEN $3 IS NULL THEN (SELECT now FROM clock) ELSE polled_at END
         WHERE source = $1 AND fence = $2",
    )
    .bind(lease.source.as_str())
    .bind(lease.fence)
    .bind(failure.as_ref().map(Reason::as_str))
    .execute(&writer)
    .await?;
    Ok(())
}

/// Open attempts that have nothing yet, or nothing since they asked their sender
/// for another mail.
async fn overdue_inboxes(
    readers: SqlitePool,
    after: Duration,
    limit: u32,
) -> Result<Vec<OverdueInbox>, Fault> {
    let rows: Vec<(String, i64)> = sqlx::query_as(
        "SELECT t.inbox, max(t.deadline) - clock.now
         FROM clock, attempts t
         LEFT JOIN artifacts a ON a.id = t.current
         LEFT JOIN messages m ON m.id = a.message_id
         WHERE t.outcome IS NULL AND t.deadline > clock.now
           AND max(t.opened_at, coalesce(t.resent_at, 0)) <= clock.now - $1
           AND (t.current IS NULL OR m.received_at < t.resent_at)
         GROUP BY t.inbox ORDER BY t.inbox LIMIT $2",
    )
    .bind(millis(after))
    .bind(i64::from(limit))
    .fetch_all(&readers)
    .await?;
    rows.into_iter().map(waiting).collect()
}

fn waiting((address, remaining): (String, i64)) -> Result<OverdueInbox, Fault> {
    Ok(OverdueInbox {
        inbox: inbox(&address)?,
        remaining: span(remaining),
    })
}
