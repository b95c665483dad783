//! Polling: who holds a source, how far it was read, and what was found there.

use std::collections::HashSet;
use std::time::Duration;

use async_trait::async_trait;
use pipeline::{
    Completed, DeliveryKey, Lease, Leased, OverdueInbox, PollLog, Polled, PollerId, Reason,
    Recorded, ServerKey, SourceName, StoreError, Timestamp,
};
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use super::Postgres;
use super::pool::Pool;
use crate::batch::Batch;
use crate::database::Database;
use crate::deliveries;
use crate::fault::Fault;
use crate::stored::{inbox, millis, span};
use crate::uncancelled::{LONG, SHORT};

#[async_trait]
impl PollLog for Database<Postgres> {
    async fn lease(
        &self,
        source: &SourceName,
        poller: PollerId,
        length: Duration,
    ) -> Result<Leased, StoreError> {
        let work = lease(
            self.session.backend.pool.clone(),
            source.clone(),
            poller,
            length,
        );
        self.work.run(SHORT, work).await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        let work = release(self.session.backend.pool.clone(), lease.clone());
        self.work.run(SHORT, work).await
    }

    async fn unseen(&self, keys: &[DeliveryKey]) -> Result<Vec<DeliveryKey>, StoreError> {
        let server_key = self.session.secrets.server_key.clone();
        let work = unseen(self.session.backend.pool.clone(), server_key, keys.to_vec());
        self.work.run(SHORT, work).await
    }

    async fn save(
        &self,
        lease: &Lease,
        found: Vec<Polled>,
        cursor: &str,
    ) -> Result<Completed<Vec<Recorded>>, StoreError> {
        let (pool, secrets) = (
            self.session.backend.pool.clone(),
            self.session.secrets.clone(),
        );
        let (lease, cursor) = (lease.clone(), cursor.to_owned());
        let work = async move {
            let (found, arrivals) = found
                .into_iter()
                .map(|it| (it.delivery, it.arrived_at))
                .unzip();
            let batch = Batch::new(found, &secrets)?;
            save(pool, lease, batch, arrivals, cursor).await
        };
        self.work.run(LONG, work).await
    }

    async fn round_ended(&self, lease: &Lease, failure: Option<Reason>) -> Result<(), StoreError> {
        let work = ended(self.session.backend.pool.clone(), lease.clone(), failure);
        self.work.run(SHORT, work).await
    }

    async fn overdue_inboxes(
        &self,
        after: Duration,
        limit: u32,
    ) -> Result<Vec<OverdueInbox>, StoreError> {
        let work = overdue_inboxes(self.session.backend.pool.clone(), after, limit);
        self.work.run(SHORT, work).await
    }
}

/// One guarded statement: of two pollers the second waits for the first, looks
/// at the row again and finds it held. Whoever prolongs keeps its number; every
/// new hold has a new one.
async fn lease(
    pool: Pool,
    source: SourceName,
    poller: PollerId,
    length: Duration,
) -> Result<Leased, Fault> {
    let row: Option<(i64, String, Option<i64>)> = sqlx::query_as(
        "INSERT INTO polls AS held (source, holder, fence, expires_at)
         VALUES ($1, $2, 1, now() + $3 * interval '1 millisecond')
         ON CONFLICT (source) DO UPDATE
         SET fence = held.fence
                 + CASE WHEN held.holder = $2 AND held.expires_at > now() THEN 0 ELSE 1 END,
             holder = excluded.holder,
             expires_at = excluded.expires_at
         WHERE held.holder IS NULL OR held.holder = $2 OR held.expires_at <= now()
         RETURNING fence, cursor, (extract(epoch FROM now() - polled_at) * 1000)::bigint",
    )
    .bind(source.as_str())
    .bind(poller.as_uuid())
    .bind(millis(length))
    .fetch_optional(&mut *pool.lend().await?)
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

async fn release(pool: Pool, lease: Lease) -> Result<(), Fault> {
    sqlx::query(
        "UPDATE polls SET holder = NULL, expires_at = NULL WHERE source = $1 AND fence = $2",
    )
    .bind(lease.source.as_str())
    .bind(lease.fence)
    .execute(&mut *pool.lend().await?)
    .await?;
    Ok(())
}

async fn unseen(
    pool: Pool,
    server_key: ServerKey,
    keys: Vec<DeliveryKey>,
) -> Result<Vec<DeliveryKey>, Fault> {
    let stored = |key: &DeliveryKey| key.keyed_with(&server_key).as_bytes().to_vec();
    let bytes: Vec<Vec<u8>> = keys.iter().map(stored).collect();
    let seen: Vec<Vec<u8>> =
        sqlx::query_scalar("SELECT delivery_key FROM deliveries WHERE delivery_key = ANY($1)")
            .bind(bytes)
            .fetch_all(&mut *pool.lend().await?)
            .await?;
    let seen: HashSet<Vec<u8>> = seen.into_iter().collect();
    let is_unseen = |key: &DeliveryKey| !seen.contains(&stored(key));
    Ok(keys.into_iter().filter(is_unseen).collect())
}

/// The fence first: its row stays locked to the end, so a poller that was
/// overtaken finds the number changed and writes nothing.
async fn save(
    pool: Pool,
    lease: Lease,
    batch: Batch,
    arrivals: Vec<Option<Timestamp>>,
    cursor: String,
) -> Result<Completed<Vec<Recorded>>, Fault> {
    let mut connection = pool.lend().await?;
    let mut transaction = connection.begin().await?;
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
    let answers = deliveries::settle::<Postgres>(&mut transaction, batch).await?;
    mark(&mut transaction, &answers, &arrivals).await?;
    transaction.commit().await?;
    Ok(Completed::Done(answers))
}

/// Notes which of the rows polling has found, and when they had arrived.
async fn mark(
    connection: &mut PgConnection,
    answers: &[Recorded],
    arrivals: &[Option<Timestamp>],
) -> Result<(), Fault> {
    let fresh = answers.iter().zip(arrivals);
    let (ids, arrivals): (Vec<Uuid>, Vec<Option<i64>>) = fresh
        .filter(|(answer, _)| answer.is_fresh())
        .map(|(answer, arrived)| (answer.id().as_uuid(), arrived.map(Timestamp::as_millis)))
        .unzip();
    if ids.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "INSERT INTO polled (delivery_id, arrived_at)
         SELECT id, least(to_timestamp(arrived / 1000.0), now())
         FROM UNNEST($1::uuid[], $2::bigint[]) AS found (id, arrived)",
    )
    .bind(ids)
    .bind(arrivals)
    .execute(connection)
    .await?;
    Ok(())
}

async fn ended(pool: Pool, lease: Lease, failure: Option<Reason>) -> Result<(), Fault> {
    sqlx::query(
        "UPDATE polls
         SET failure = $3, polled_at = CASE WHEN $3::text IS NULL THEN now() ELSE polled_at END
         WHERE source = $1 AND fence = $2",
    )
    .bind(lease.source.as_str())
    .bind(lease.fence)
    .bind(failure.as_ref().map(Reason::as_str))
    .execute(&mut *pool.lend().await?)
    .await?;
    Ok(())
}

/// Open attempts that have nothing yet, or nothing since they asked their sender
/// for another mail.
async fn overdue_inboxes(
    pool: Pool,
    after: Duration,
    limit: u32,
) -> Result<Vec<OverdueInbox>, Fault> {
    let rows: Vec<(String, i64)> = sqlx::query_as(
        "SELECT t.inbox, (extract(epoch FROM max(t.deadline) - now()) * 1000)::bigint
         FROM attempts t
         LEFT JOIN artifacts a ON a.id = t.current
         LEFT JOIN messages m ON m.id = a.message_id
         WHERE t.outcome IS NULL AND t.deadline > now()
           AND greatest(t.opened_at, t.resent_at) <= now() - $1 * interval '1 millisecond'
           AND (t.current IS NULL OR m.received_at < t.resent_at)
         GROUP BY t.inbox ORDER BY t.inbox LIMIT $2",
    )
    .bind(millis(after))
    .bind(i64::from(limit))
    .fetch_all(&mut *pool.lend().await?)
    .await?;
    rows.into_iter().map(waiting).collect()
}

fn waiting((address, remaining): (String, i64)) -> Result<OverdueInbox, Fault> {
    Ok(OverdueInbox {
        inbox: inbox(&address)?,
        remaining: span(remaining),
    })
}
