//! Claims: who may work on a delivery, and how that ends.

mod held;

use std::time::Duration;

use async_trait::async_trait;
use pipeline::{
    Claim, ClaimToken, Claimed, Completed, DeliveryId, Expectation, Finished, InboxId, Processed,
    Reason, StoreError, StoredDelivery, WorkLog,
};

use crate::backend::{Backend, Connection, Sql, query};
use crate::column::Moment;
use crate::database::{Database, Session};
use crate::fault::Fault;
use crate::seal::Row;
use crate::stored::{attempts, millis, source, span};
use crate::uncancelled::{LONG, SHORT};
use crate::{expectations, messages};
use held::{extend, set_attempts};

#[async_trait]
impl<B: Backend> WorkLog for Database<B> {
    async fn claim(&self, delivery: DeliveryId, lease: Duration) -> Result<Claimed, StoreError> {
        self.run(SHORT, |session| claim(session, delivery, lease))
            .await
    }

    async fn extend(&self, claim: &Claim, lease: Duration) -> Result<Completed, StoreError> {
        let (delivery, token) = (claim.delivery, claim.token);
        self.run(SHORT, |session| extend(session, delivery, token, lease))
            .await
    }

    async fn count_attempt(&self, claim: &Claim) -> Result<Completed, StoreError> {
        let counted = Counted::of(claim, claim.attempt);
        self.run(SHORT, |session| set_attempts(session, counted))
            .await
    }

    async fn uncount_attempt(&self, claim: &Claim) -> Result<Completed, StoreError> {
        let counted = Counted::of(claim, 0);
        self.run(SHORT, |session| set_attempts(session, counted))
            .await
    }

    async fn expectations(&self, addresses: &[InboxId]) -> Result<Vec<Expectation>, StoreError> {
        let addresses = addresses.to_vec();
        self.run(SHORT, |session| {
            expectations::expectations(session, addresses)
        })
        .await
    }

    async fn complete(
        &self,
        claim: Claim,
        processed: Processed,
    ) -> Result<Completed<Finished>, StoreError> {
        self.run(LONG, |session| {
            messages::complete(session, claim, processed)
        })
        .await
    }

    async fn retry_later(
        &self,
        claim: Claim,
        wait: Duration,
        why: Reason,
    ) -> Result<Completed, StoreError> {
        let counted = Counted::of(&claim, claim.attempt);
        self.run(LONG, |session| retry_later(session, counted, wait, why))
            .await
    }

    async fn retry_uncounted(
        &self,
        claim: Claim,
        wait: Duration,
        why: Reason,
    ) -> Result<Completed, StoreError> {
        let counted = Counted::of(&claim, claim.attempt.saturating_sub(1));
        self.run(LONG, |session| retry_later(session, counted, wait, why))
            .await
    }

    async fn dead_letter(&self, claim: Claim, why: Reason) -> Result<Completed, StoreError> {
        self.run(LONG, |session| dead_letter(session, claim, why))
            .await
    }
}

type Columns = (String, String, Vec<u8>, String, i32, i32, Moment, i64);

/// One guarded update: of two claimers the second waits for the first, looks at
/// the row again and finds that it may not be claimed yet.
async fn claim<B: Backend>(
    session: Session<B>,
    delivery: DeliveryId,
    lease: Duration,
) -> Result<Claimed, Fault> {
    let token = ClaimToken::new();
    let mut connection = session.writer().await?;
    let row: Option<Columns> = query::<B>(Sql {
        postgres: "UPDATE deliveries
             SET state = 'claimed',
                 unended_claims = unended_claims + 1,
                 claim_token = $2,
                 claimable_at = clock_timestamp() + $3 * interval '1 millisecond',
                 ring_at = clock_timestamp() + $3 * interval '1 millisecond'
             WHERE id = $1 AND state IN ('pending', 'claimed')
               AND claimable_at <= clock_timestamp()
             RETURNING source, content_type, body, body_key, attempts, unended_claims - 1,
                       recorded_at,
                       (extract(epoch FROM clock_timestamp() - recorded_at) * 1000)::bigint",
        sqlite: "UPDATE deliveries
             SET state = 'claimed',
                 unended_claims = unended_claims + 1,
                 claim_token = $2,
                 claimable_at = (SELECT now FROM clock) + $3,
                 ring_at = (SELECT now FROM clock) + $3
             WHERE id = $1 AND state IN ('pending', 'claimed')
               AND claimable_at <= (SELECT now FROM clock)
             RETURNING source, content_type, body, body_key, attempts, unended_claims - 1,
                       recorded_at,
                       (SELECT now FROM clock) - recorded_at",
    })
    .bind(delivery.as_uuid())
    .bind(token.as_uuid())
    .bind(millis(lease))
    .fetch_optional(&mut connection)
    .await?;
    let Some((name, content_type, body, body_key, counted, unended, recorded_at, age)) = row else {
        return not_claimed::<B>(&mut connection, delivery).await;
    };
    drop(connection);
    let claim = Claim {
        delivery,
        token,
        attempt: attempts(counted)?.saturating_add(1),
        unended: attempts(unended)?,
        age: span(age),
    };
    let keyring = &session.secrets.keyring;
    let body = match keyring.open_body(Row::delivery(delivery, &name), &body_key, &body)? {
        Ok(body) => body,
        Err(why) => return Ok(Claimed::Unsealable(claim, why)),
    };
    let stored = StoredDelivery {
        id: delivery,
        body,
        source: source(&name)?,
        content_type,
        recorded_at: recorded_at.into(),
    };
    Ok(Claimed::Yours(claim, stored))
}

async fn not_claimed<B: Backend>(
    connection: &mut Connection<B>,
    delivery: DeliveryId,
) -> Result<Claimed, Fault> {
    let is_unfinished = query::<B>(Sql::both(
        "SELECT state IN ('pending', 'claimed') FROM deliveries WHERE id = $1",
    ))
    .bind(delivery.as_uuid())
    .scalar(connection)
    .await?;
    Ok(match is_unfinished {
        Some(true) => Claimed::NotNow,
        Some(false) | None => Claimed::Finished,
    })
}

/// A claim, and the number of attempts that its row gets.
struct Counted {
    delivery: DeliveryId,
    token: ClaimToken,
    attempts: i64,
}

impl Counted {
    fn of(claim: &Claim, attempts: u32) -> Self {
        Self {
            delivery: claim.delivery,
            token: claim.token,
            attempts: attempts.into(),
        }
    }
}

async fn retry_later<B: Backend>(
    session: Session<B>,
    counted: Counted,
    wait: Duration,
    why: Reason,
) -> Result<Completed, Fault> {
    let written = query::<B>(Sql {
        postgres: "UPDATE deliveries
             SET state = 'pending',
                 claim_token = NULL,
                 claimable_at = clock_timestamp() + $3 * interval '1 millisecond',
                 ring_at = clock_timestamp() + $3 * interval '1 millisecond',
                 reason = $4,
                 attempts = $5,
                 unended_claims = 0
             WHERE id = $1 AND claim_token = $2 AND state = 'claimed'",
        sqlite: "UPDATE deliveries
             SET state = 'pending',
                 claim_token = NULL,
                 claimable_at = (SELECT now FROM clock) + $3,
                 ring_at = (SELECT now FROM clock) + $3,
                 reason = $4,
                 attempts = $5,
                 unended_claims = 0
             WHERE id = $1 AND claim_token = $2 AND state = 'claimed'",
    })
    .bind(counted.delivery.as_uuid())
    .bind(counted.token.as_uuid())
    .bind(millis(wait))
    .bind(why.as_str())
    .bind(counted.attempts)
    .execute(&mut *session.writer().await?)
    .await?;
    Ok(ended(written))
}

async fn dead_letter<B: Backend>(
    session: Session<B>,
    claim: Claim,
    why: Reason,
) -> Result<Completed, Fault> {
    let written = query::<B>(Sql {
        postgres: "UPDATE deliveries
             SET state = 'buried', claim_token = NULL, reason = $3, attempts = $4,
                 finished_at = clock_timestamp()
             WHERE id = $1 AND claim_token = $2 AND state = 'claimed'",
        sqlite: "UPDATE deliveries
             SET state = 'buried', claim_token = NULL, reason = $3, attempts = $4,
                 finished_at = (SELECT now FROM clock)
             WHERE id = $1 AND claim_token = $2 AND state = 'claimed'",
    })
    .bind(claim.delivery.as_uuid())
    .bind(claim.token.as_uuid())
    .bind(why.as_str())
    .bind(i64::from(claim.attempt))
    .execute(&mut *session.writer().await?)
    .await?;
    Ok(ended(written))
}

fn ended(rows: u64) -> Completed {
    match rows {
        0 => Completed::Lost,
        _ => Completed::Done(()),
    }
}
