//! Dead letters: deliveries that were given up.

mod trace;

use async_trait::async_trait;
use pipeline::{DeadLetter, DeliveryId, FailureLog, Reason, StoreError, Trace, TracedId};
use uuid::Uuid;

use crate::backend::{Backend, Sql, query, row};
use crate::column::Moment;
use crate::database::{Database, Session};
use crate::fault::Fault;
use crate::seal::Row as SealedRow;
use crate::stored::{attempts, body_bytes, source};
use crate::uncancelled::SHORT;

#[async_trait]
impl<B: Backend> FailureLog for Database<B> {
    async fn dead_letters(&self, limit: u32) -> Result<Vec<DeadLetter>, StoreError> {
        self.run(SHORT, |session| dead_letters(session, limit))
            .await
    }

    async fn find_dead_letter(
        &self,
        delivery: DeliveryId,
    ) -> Result<Option<(DeadLetter, Option<Vec<u8>>)>, StoreError> {
        self.run(SHORT, |session| find_dead_letter(session, delivery))
            .await
    }

    async fn trace(&self, id: TracedId) -> Result<Option<Trace>, StoreError> {
        self.run(SHORT, move |session| trace::trace(session, id))
            .await
    }

    async fn requeue(&self, delivery: DeliveryId) -> Result<bool, StoreError> {
        self.run(SHORT, |session| requeue(session, delivery)).await
    }
}

row! {
    struct DeadRow {
        id: Uuid,
        source: String,
        reason: String,
        attempts: i32,
        recorded_at: Moment,
        finished_at: Moment,
        content_type: String,
        body_bytes: Option<i64>,
        is_conflict: bool,
        /// The sealed body, where it is asked for and was not wiped.
        body: Option<Vec<u8>>,
        body_key: Option<String>,
    }
}

impl TryFrom<DeadRow> for DeadLetter {
    type Error = Fault;

    fn try_from(row: DeadRow) -> Result<Self, Fault> {
        Ok(Self {
            id: DeliveryId::from_uuid(row.id),
            source: source(&row.source)?,
            reason: Reason::from_stored(&row.reason),
            attempts: attempts(row.attempts)?,
            recorded_at: row.recorded_at.into(),
            dead_lettered_at: row.finished_at.into(),
            body_bytes: row.body_bytes.map(body_bytes),
            content_type: row.content_type,
            is_conflict: row.is_conflict,
        })
    }
}

async fn dead_letters<B: Backend>(
    session: Session<B>,
    limit: u32,
) -> Result<Vec<DeadLetter>, Fault> {
    let rows: Vec<DeadRow> = query::<B>(Sql {
        postgres: "SELECT id, source, reason, attempts, recorded_at, finished_at, content_type,
                octet_length(body)::bigint AS body_bytes, conflict_of IS NOT NULL AS is_conflict,
                NULL::bytea AS body, NULL::text AS body_key
             FROM deliveries
             WHERE state = 'buried'
             ORDER BY finished_at DESC, id DESC
             LIMIT $1",
        sqlite: "SELECT id, source, reason, attempts, recorded_at, finished_at, content_type,
                length(body) AS body_bytes, conflict_of IS NOT NULL AS is_conflict,
                NULL AS body, NULL AS body_key
             FROM deliveries
             WHERE state = 'buried'
             ORDER BY finished_at DESC, id DESC
             LIMIT $1",
    })
    .bind(i64::from(limit))
    .fetch_all(&mut *session.reader().await?)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

async fn find_dead_letter<B: Backend>(
    session: Session<B>,
    delivery: DeliveryId,
) -> Result<Option<(DeadLetter, Option<Vec<u8>>)>, Fault> {
    let row: Option<DeadRow> = query::<B>(Sql {
        postgres: "SELECT id, source, reason, attempts, recorded_at, finished_at, content_type,
                octet_length(body)::bigint AS body_bytes, conflict_of IS NOT NULL AS is_conflict,
                body, body_key
             FROM deliveries
             WHERE id = $1 AND state = 'buried'",
        sqlite: "SELECT id, source, reason, attempts, recorded_at, finished_at, content_type,
                length(body) AS body_bytes, conflict_of IS NOT NULL AS is_conflict,
                body, body_key
             FROM deliveries
             WHERE id = $1 AND state = 'buried'",
    })
    .bind(delivery.as_uuid())
    .fetch_optional(&mut *session.reader().await?)
    .await?;
    let Some(mut row) = row else { return Ok(None) };
    let sealed = row.body_key.take().zip(row.body.take());
    let body = sealed.map(|(key, body)| {
        let place = SealedRow::delivery(delivery, &row.source);
        session.secrets.keyring.open(place, &key, &body)
    });
    let body = body.transpose()?;
    Ok(Some((row.try_into()?, body)))
}

async fn requeue<B: Backend>(session: Session<B>, delivery: DeliveryId) -> Result<bool, Fault> {
    let written = query::<B>(Sql {
        postgres: "UPDATE deliveries
             SET state = 'pending', attempts = 0, unended_claims = 0, tried_since = NULL,
                 claimable_at = clock_timestamp(), ring_at = clock_timestamp(),
                 reason = NULL, finished_at = NULL
             WHERE id = $1 AND state = 'buried' AND body IS NOT NULL",
        sqlite: "UPDATE deliveries
             SET state = 'pending', attempts = 0, unended_claims = 0, tried_since = NULL,
                 claimable_at = (SELECT now FROM clock), ring_at = (SELECT now FROM clock),
                 reason = NULL, finished_at = NULL
             WHERE id = $1 AND state = 'buried' AND body IS NOT NULL",
    })
    .bind(delivery.as_uuid())
    .execute(&mut *session.writer().await?)
    .await?;
    Ok(written == 1)
}
