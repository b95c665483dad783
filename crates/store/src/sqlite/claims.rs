//! Claims: who may work on a delivery, and how that ends.

use std::time::Duration;

use async_trait::async_trait;
use pipeline::{
    Claim, ClaimToken, Claimed, Completed, DeliveryId, Expectation, Finished, InboxId, Processed,
    Reason, StoreError, StoredDelivery, Timestamp, WorkLog,
};
use sqlx::{SqliteConnection, SqlitePool};

use super::connect::check_error;
use super::{Sqlite, expectations, messages};
use crate::fault::Fault;
use crate::open::OpenError;
use crate::seal::{Keyring, Row};
use crate::stored::{attempts, millis, source, span};
use crate::uncancelled::{LONG, SHORT};

#[async_trait]
impl WorkLog for Sqlite {
    async fn claim(&self, delivery: DeliveryId, lease: Duration) -> Result<Claimed, StoreError> {
        let keyring = self.secrets.keyring.clone();
        let work = claim(self.writer.clone(), keyring, delivery, lease);
        self.work.run(SHORT, work).await
    }

    async fn expectations(&self, addresses: &[InboxId]) -> Result<Vec<Expectation>, StoreError> {
        let work = expectations::expectations(self.readers.clone(), addresses.to_vec());
        self.work.run(SHORT, work).await
    }

    async fn complete(
        &self,
        claim: Claim,
        processed: Processed,
    ) -> Result<Completed<Finished>, StoreError> {
        let (writer, arrivals) = (self.writer.clone(), self.arrivals.clone());
        let keyring = self.secrets.keyring.clone();
        let work = async move {
            let (completed, news) = messages::complete(writer, keyring, claim, processed).await?;
            for inbox in news {
                arrivals.announce(&inbox);
            }
            Ok(completed)
        };
        self.work.run(LONG, work).await
    }

    async fn retry_later(
        &self,
        claim: Claim,
        wait: Duration,
        why: Reason,
    ) -> Result<Completed, StoreError> {
        let work = retry_later(self.writer.clone(), claim, [millis(wait), 0], why);
        self.work.run(LONG, work).await
    }

    async fn retry_uncounted(
        &self,
        claim: Claim,
        wait: Duration,
        why: Reason,
    ) -> Result<Completed, StoreError> {
        let work = retry_later(self.writer.clone(), claim, [millis(wait), 1], why);
        self.work.run(LONG, work).await
    }

    async fn dead_letter(&self, claim: Claim, why: Reason) -> Result<Completed, StoreError> {
        let work = dead_letter(self.writer.clone(), claim, why);
        self.work.run(LONG, work).await
    }
}

/// Gives back what a process held that is gone: this one holds the file's lock,
/// so there is no other that could still be at work. The attempts stay counted.
pub(super) async fn release_orphans(writer: &SqlitePool) -> Result<(), OpenError> {
    sqlx::query(
        "UPDATE deliveries
         SET state = 'pending',
             claim_token = NULL,
             claimable_at = (SELECT now FROM clock),
             ring_at = (SELECT now FROM clock)
         WHERE state = 'claimed'",
    )
    .execute(writer)
    .await
    .map_err(check_error)?;
    Ok(())
}

type Columns = (String, String, Vec<u8>, String, i32, i64, i64);

/// One guarded update: of two claimers the second finds that the row may not be
/// claimed yet.
async fn claim(
    writer: SqlitePool,
    keyring: Keyring,
    delivery: DeliveryId,
    lease: Duration,
) -> Result<Claimed, Fault> {
    let token = ClaimToken::new();
    let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    let row: Option<Columns> = sqlx::query_as(
        "UPDATE deliveries
         SET state = 'claimed',
             attempts = attempts + 1,
             claim_token = $2,
             claimable_at = (SELECT now FROM clock) + $3,
             ring_at = (SELECT now FROM clock) + $3
         WHERE id = $1 AND state IN ('pending', 'claimed')
           AND claimable_at <= (SELECT now FROM clock)
         RETURNING source, content_type, body, body_key, attempts, recorded_at,
                   (SELECT now FROM clock) - recorded_at",
    )
    .bind(delivery.as_uuid())
    .bind(token.as_uuid())
    .bind(millis(lease))
    .fetch_optional(&mut *transaction)
    .await?;
    let Some((name, content_type, body, body_key, attempt, recorded_at, age)) = row else {
        let answer = not_claimed(&mut transaction, delivery).await?;
        transaction.rollback().await?;
        return Ok(answer);
    };
    transaction.commit().await?;
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
        recorded_at: Timestamp::from_millis(recorded_at),
    };
    Ok(Claimed::Yours(claim, stored))
}

async fn not_claimed(
    connection: &mut SqliteConnection,
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
    writer: SqlitePool,
    claim: Claim,
    [wait, uncounted]: [i64; 2],
    why: Reason,
) -> Result<Completed, Fault> {
    let written = sqlx::query(
        "UPDATE deliveries
         SET state = 'pending',
             claim_token = NULL,
             claimable_at = (SELECT now FROM clock) + $3,
             ring_at = (SELECT now FROM clock) + $3,
             reason = $4,
             attempts = attempts - $5
         WHERE id = $1 AND claim_token = $2 AND state = 'claimed'",
    )
    .bind(claim.delivery.as_uuid())
    .bind(claim.token.as_uuid())
    .bind(wait)
    .bind(why.as_str())
    .bind(uncounted)
    .execute(&writer)
    .await?;
    Ok(ended(written.rows_affected()))
}

async fn dead_letter(writer: SqlitePool, claim: Claim, why: Reason) -> Result<Completed, Fault> {
    let written = sqlx::query(
        "UPDATE deliveries
         SET state = 'buried', claim_token = NULL, reason = $3,
             finished_at = (SELECT now FROM clock)
         WHERE id = $1 AND claim_token = $2 AND state = 'claimed'",
    )
    .bind(claim.delivery.as_uuid())
    .bind(claim.token.as_uuid())
    .bind(why.as_str())
    .execute(&writer)
    .await?;
    Ok(ended(written.rows_affected()))
}

fn ended(rows: u64) -> Completed {
    match rows {
        0 => Completed::Lost,
        _ => Completed::Done(()),
    }
}
