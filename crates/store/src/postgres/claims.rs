//! Claims: who may work on a delivery, and how that ends.

use std::time::Duration;

use async_trait::async_trait;
use pipeline::{
    Claim, ClaimToken, Claimed, Completed, DeliveryId, Expectation, Finished, InboxId, Processed,
    Reason, StoreError, StoredDelivery, WorkLog,
};
use sqlx::PgConnection;
use time::OffsetDateTime;

use super::moment::timestamp;
use super::pool::Pool;
use super::{Postgres, expectations, messages};
use crate::fault::Fault;
use crate::seal::{Keyring, Row};
use crate::stored::{attempts, millis, source, span};
use crate::uncancelled::{LONG, SHORT};

#[async_trait]
impl WorkLog for Postgres {
    async fn claim(&self, delivery: DeliveryId, lease: Duration) -> Result<Claimed, StoreError> {
        let keyring = self.secrets.keyring.clone();
        let work = claim(self.pool.clone(), keyring, delivery, lease);
        self.work.run(SHORT, work).await
    }

    async fn expectations(&self, addresses: &[InboxId]) -> Result<Vec<Expectation>, StoreError> {
        let work = expectations::expectations(self.pool.clone(), addresses.to_vec());
        self.work.run(SHORT, work).await
    }

    async fn complete(
        &self,
        claim: Claim,
        processed: Processed,
    ) -> Result<Completed<Finished>, StoreError> {
        let keyring = self.secrets.keyring.clone();
        let work = messages::complete(self.pool.clone(), keyring, claim, processed);
        self.work.run(LONG, work).await
    }

    async fn retry_later(
        &self,
        claim: Claim,
        wait: Duration,
        why: Reason,
    ) -> Result<Completed, StoreError> {
        let work = retry_later(self.pool.clone(), claim, [millis(wait), 0], why);
        self.work.run(LONG, work).await
    }

    async fn retry_uncounted(
        &self,
        claim: Claim,
        wait: Duration,
        why: Reason,
    ) -> Result<Completed, StoreError> {
        let work = retry_later(self.pool.clone(), claim, [millis(wait), 1], why);
        self.work.run(LONG, work).await
    }

    async fn dead_letter(&self, claim: Claim, why: Reason) -> Result<Completed, StoreError> {
        let work = dead_letter(self.pool.clone(), claim, why);
        self.work.run(LONG, work).await
    }
}

type Columns = (String, String, Vec<u8>, String, i32, OffsetDateTime, i64);

/// One guarded update: of two claimers the second waits for the first, looks at
/// the row again and finds that it may not be claimed yet.
async fn claim(
    pool: Pool,
    keyring: Keyring,
    delivery: DeliveryId,
    lease: Duration,
) -> Result<Claimed, Fault> {
    let token = ClaimToken::new();
    let mut connection = pool.lend().await?;
    let row: Option<Columns> = sqlx::query_as(
        "UPDATE deliveries
         SET state = 'claimed',
             attempts = attempts + 1,
             claim_token = $2,
             claimable_at = now() + $3 * interval '1 millisecond',
             ring_at = now() + $3 * interval '1 millisecond'
         WHERE id = $1 AND state IN ('pending', 'claimed') AND claimable_at <= now()
         RETURNING source, content_type, body, body_key, attempts, recorded_at,
                   (extract(epoch FROM now() - recorded_at) * 1000)::bigint",
    )
    .bind(delivery.as_uuid())
    .bind(token.as_uuid())
    .bind(millis(lease))
    .fetch_optional(&mut *connection)
    .await?;
    let Some((name, content_type, body, body_key, attempt, recorded_at, age)) = row else {
        return not_claimed(&mut connection, delivery).await;
    };
    drop(connection);
    let claim = Claim {
        delivery,
        token,
        attempt: attempts(attempt)?,
        age: span(age),
    };
    let body = match keyring.open_body(Row::delivery(delivery, &name), &body_key, &body)? {
        Ok(body) => body,
        Err(why) => return Ok(Claimed::Unsealable(claim, why)),
    };
    let stored = StoredDelivery {
        id: delivery,
        body,
        source: source(&name)?,
        content_type,
        recorded_at: timestamp(recorded_at),
    };
    Ok(Claimed::Yours(claim, stored))
}

async fn not_claimed(
    connection: &mut PgConnection,
    delivery: DeliveryId,
) -> Result<Claimed, Fault> {
    let is_unfinished: Option<bool> =
        sqlx::query_scalar("SELECT state IN ('pending', 'claimed') FROM deliveries WHERE id = $1")
            .bind(delivery.as_uuid())
            .fetch_optional(connection)
            .await?;
    Ok(match is_unfinished {
        Some(true) => Claimed::NotNow,
        Some(false) | None => Claimed::Finished,
    })
}

/// Gives a claim back for so many milliseconds, and takes so many attempts off the
/// count.
async fn retry_later(
    pool: Pool,
    claim: Claim,
    [wait, uncounted]: [i64; 2],
    why: Reason,
) -> Result<Completed, Fault> {
    let written = sqlx::query(
        "UPDATE deliveries
         SET state = 'pending',
             claim_token = NULL,
             claimable_at = now() + $3 * interval '1 millisecond',
             ring_at = now() + $3 * interval '1 millisecond',
             reason = $4,
             attempts = attempts - $5::int
         WHERE id = $1 AND claim_token = $2 AND state = 'claimed'",
    )
    .bind(claim.delivery.as_uuid())
    .bind(claim.token.as_uuid())
    .bind(wait)
    .bind(why.as_str())
    .bind(uncounted)
    .execute(&mut *pool.lend().await?)
    .await?;
    Ok(ended(written.rows_affected()))
}

async fn dead_letter(pool: Pool, claim: Claim, why: Reason) -> Result<Completed, Fault> {
    let written = sqlx::query(
        "UPDATE deliveries
         SET state = 'buried', claim_token = NULL, finished_at = now(), reason = $3
         WHERE id = $1 AND claim_token = $2 AND state = 'claimed'",
    )
    .bind(claim.delivery.as_uuid())
    .bind(claim.token.as_uuid())
    .bind(why.as_str())
    .execute(&mut *pool.lend().await?)
    .await?;
    Ok(ended(written.rows_affected()))
}

fn ended(rows: u64) -> Completed {
    match rows {
        0 => Completed::Lost,
        _ => Completed::Done(()),
    }
}
