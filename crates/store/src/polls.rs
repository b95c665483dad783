//! Polling: which poller holds a source, how far it was read, and what was found there.

use std::collections::HashSet;
use std::time::Duration;

use async_trait::async_trait;
use pipeline::{
    Completed, DeliveryKey, Lease, Leased, OverdueInbox, PollLog, Polled, PollerId, Reason,
    Recorded, SourceName, StoreError, Timestamp,
};

use crate::backend::{Backend, Connection, Sql, query};
use crate::batch::Batch;
use crate::column::List;
use crate::database::{Database, Session};
use crate::deliveries;
use crate::fault::Fault;
use crate::stored::{inbox, millis, span};
use crate::uncancelled::{LONG, SHORT};

#[async_trait]
impl<B: Backend> PollLog for Database<B> {
    async fn lease(
        &self,
        source: &SourceName,
        poller: PollerId,
        length: Duration,
    ) -> Result<Leased, StoreError> {
        let source = source.clone();
        self.run(SHORT, |session| lease(session, source, poller, length))
            .await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        let lease = lease.clone();
        self.run(SHORT, |session| release(session, lease)).await
    }

    async fn unseen(&self, keys: &[DeliveryKey]) -> Result<Vec<DeliveryKey>, StoreError> {
        let keys = keys.to_vec();
        self.run(SHORT, |session| unseen(session, keys)).await
    }

    async fn save(
        &self,
        lease: &Lease,
        found: Vec<Polled>,
        cursor: &str,
    ) -> Result<Completed<Vec<Recorded>>, StoreError> {
        let (lease, cursor) = (lease.clone(), cursor.to_owned());
        self.run(LONG, |session| save(session, lease, found, cursor))
            .await
    }

    async fn round_ended(&self, lease: &Lease, failure: Option<Reason>) -> Result<(), StoreError> {
        let lease = lease.clone();
        self.run(SHORT, |session| round_ended(session, lease, failure))
            .await
    }

    async fn overdue_inboxes(
        &self,
        after: Duration,
        limit: u32,
    ) -> Result<Vec<OverdueInbox>, StoreError> {
        self.run(SHORT, |session| overdue_inboxes(session, after, limit))
            .await
    }
}

/// One guarded statement: of two pollers the second waits for the first, looks at the
/// row again and finds it held. A poller that extends its lease keeps its fence; every
/// new lease has a new one.
async fn lease<B: Backend>(
    session: Session<B>,
    source: SourceName,
    poller: PollerId,
    length: Duration,
) -> Result<Leased, Fault> {
    let row: Option<(i64, String, Option<i64>)> = query::<B>(Sql {
        postgres: "INSERT INTO polls AS held (source, holder, fence, expires_at)
                   VALUES ($1, $2, 1, clock_timestamp() + $3 * interval '1 millisecond')
                   ON CONFLICT (source) DO UPDATE
                   SET fence = held.fence
                           + CASE WHEN held.holder = $2 AND held.expires_at > clock_timestamp()
                                  THEN 0 ELSE 1 END,
                       holder = excluded.holder,
                       expires_at = clock_timestamp() + $3 * interval '1 millisecond'
                   WHERE held.holder IS NULL OR held.holder = $2
                      OR held.expires_at <= clock_timestamp()
                   RETURNING fence, cursor,
                             (extract(epoch FROM clock_timestamp() - polled_at) * 1000)::bigint",
        sqlite: "INSERT INTO polls AS held (source, holder, fence, expires_at)
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
    })
    .bind(source.as_str())
    .bind(poller.as_uuid())
    .bind(millis(length))
    .fetch_optional(&mut *session.writer().await?)
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

async fn release<B: Backend>(session: Session<B>, lease: Lease) -> Result<(), Fault> {
    query::<B>(Sql::both(
        "UPDATE polls SET holder = NULL, expires_at = NULL WHERE source = $1 AND fence = $2",
    ))
    .bind(lease.source.as_str())
    .bind(lease.fence)
    .execute(&mut *session.writer().await?)
    .await?;
    Ok(())
}

async fn unseen<B: Backend>(
    session: Session<B>,
    keys: Vec<DeliveryKey>,
) -> Result<Vec<DeliveryKey>, Fault> {
    let server_key = &session.secrets.server_key;
    let stored = |key: &DeliveryKey| key.keyed_with(server_key).as_bytes().to_vec();
    let seen: Vec<Vec<u8>> = query::<B>(Sql {
        postgres: "SELECT delivery_key FROM deliveries WHERE delivery_key = ANY($1)",
        sqlite: "SELECT delivery_key FROM deliveries
                 WHERE delivery_key IN (SELECT unhex(value) FROM json_each($1))",
    })
    .bind(List(keys.iter().map(stored).collect::<Vec<_>>()))
    .scalars(&mut *session.reader().await?)
    .await?;
    let seen: HashSet<Vec<u8>> = seen.into_iter().collect();
    let is_unseen = |key: &DeliveryKey| !seen.contains(&stored(key));
    Ok(keys.into_iter().filter(is_unseen).collect())
}

/// Checks the fence first: its row stays locked to the end, so a poller whose lease
/// was taken over finds the fence changed and writes nothing.
async fn save<B: Backend>(
    session: Session<B>,
    lease: Lease,
    found: Vec<Polled>,
    cursor: String,
) -> Result<Completed<Vec<Recorded>>, Fault> {
    let (found, arrivals): (Vec<_>, Vec<_>) = found
        .into_iter()
        .map(|mail| (mail.delivery, mail.arrived_at))
        .unzip();
    let batch = Batch::new(found, &session.secrets)?;
    let mut transaction = session.begin().await?;
    let is_held = query::<B>(Sql::both(
        "UPDATE polls SET cursor = $3 WHERE source = $1 AND fence = $2",
    ))
    .bind(lease.source.as_str())
    .bind(lease.fence)
    .bind(cursor)
    .execute(&mut transaction)
    .await?;
    if is_held == 0 {
        transaction.rollback().await?;
        return Ok(Completed::Lost);
    }
    let answers = deliveries::settle::<B>(&mut transaction, batch).await?;
    mark_polled::<B>(&mut transaction, &answers, &arrivals).await?;
    transaction.commit().await?;
    Ok(Completed::Done(answers))
}

/// Marks the rows that polling has found, with the time at which each mail arrived at
/// its source, if that is known. A source's clock may be ahead; ours is the limit.
async fn mark_polled<B: Backend>(
    connection: &mut Connection<B>,
    answers: &[Recorded],
    arrivals: &[Option<Timestamp>],
) -> Result<(), Fault> {
    let fresh = answers.iter().zip(arrivals);
    let (ids, arrivals): (Vec<_>, Vec<_>) = fresh
        .filter(|(answer, _)| answer.is_fresh())
        .map(|(answer, arrived)| (answer.id().as_uuid(), arrived.map(Timestamp::as_millis)))
        .unzip();
    if ids.is_empty() {
        return Ok(());
    }
    query::<B>(Sql {
        postgres: "INSERT INTO polled (delivery_id, arrived_at)
                   SELECT id, CASE WHEN arrived IS NOT NULL
                                   THEN least(to_timestamp(arrived / 1000.0), clock_timestamp())
                              END
                   FROM UNNEST($1::uuid[], $2::bigint[]) AS found (id, arrived)",
        sqlite: "INSERT INTO polled (delivery_id, arrived_at)
                 SELECT unhex(value), min(CAST(nullif($2 ->> key, '') AS INTEGER), now)
                 FROM clock, json_each($1)",
    })
    .bind(List(ids))
    .bind(List(arrivals))
    .execute(connection)
    .await?;
    Ok(())
}

async fn round_ended<B: Backend>(
    session: Session<B>,
    lease: Lease,
    failure: Option<Reason>,
) -> Result<(), Fault> {
    query::<B>(Sql {
        postgres: "UPDATE polls
                   SET failure = $3,
                       polled_at = CASE WHEN $3::text IS NULL THEN clock_timestamp()
                                        ELSE polled_at END
                   WHERE source = $1 AND fence = $2",
        sqlite: "UPDATE polls
                 SET failure = $3,
                     polled_at = CASE WHEN $3 IS NULL THEN (SELECT now FROM clock)
                                      ELSE polled_at END
                 WHERE source = $1 AND fence = $2",
    })
    .bind(lease.source.as_str())
    .bind(lease.fence)
    .bind(failure.as_ref().map(Reason::as_str))
    .execute(&mut *session.writer().await?)
    .await?;
    Ok(())
}

/// Open attempts that have nothing yet, or nothing since they asked their sender
/// for another mail.
async fn overdue_inboxes<B: Backend>(
    session: Session<B>,
    after: Duration,
    limit: u32,
) -> Result<Vec<OverdueInbox>, Fault> {
    let rows: Vec<(String, i64)> = query::<B>(Sql {
        postgres: "SELECT t.inbox, (extract(epoch FROM max(t.deadline) - now()) * 1000)::bigint
                   FROM attempts t
                   LEFT JOIN artifacts a ON a.id = t.current
                   LEFT JOIN messages m ON m.id = a.message_id
                   WHERE t.outcome IS NULL AND t.deadline > now()
                     AND greatest(t.opened_at, t.resent_at)
                         <= now() - $1 * interval '1 millisecond'
                     AND (t.current IS NULL OR m.received_at < t.resent_at)
                   GROUP BY t.inbox ORDER BY t.inbox LIMIT $2",
        sqlite: "SELECT t.inbox, max(t.deadline) - clock.now
                 FROM clock, attempts t
                 LEFT JOIN artifacts a ON a.id = t.current
                 LEFT JOIN messages m ON m.id = a.message_id
                 WHERE t.outcome IS NULL AND t.deadline > clock.now
                   AND max(t.opened_at, coalesce(t.resent_at, 0)) <= clock.now - $1
                   AND (t.current IS NULL OR m.received_at < t.resent_at)
                 GROUP BY t.inbox ORDER BY t.inbox LIMIT $2",
    })
    .bind(millis(after))
    .bind(i64::from(limit))
    .fetch_all(&mut *session.reader().await?)
    .await?;
    let waiting = |(address, remaining): (String, i64)| {
        Ok(OverdueInbox {
            inbox: inbox(&address)?,
            remaining: span(remaining),
        })
    };
    rows.into_iter().map(waiting).collect()
}
