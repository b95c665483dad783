//! The second layer: a claim ends with its messages, in one transaction.

use std::collections::BTreeMap;

use pipeline::{Claim, Completed, Finished, NewMessage, Processed, Reason};
use sqlx::{Connection, PgConnection};
use time::OffsetDateTime;

use super::artifacts;
use super::pool::Pool;
use crate::fault::Fault;
use crate::stored::joined;

/// Writes everything or nothing: the delivery's state behind the fence, then
/// messages, artifacts and their places, and the news of them.
///
/// All inboxes are locked before anything is inserted, in order. A message and
/// an artifact belong to one inbox, so whoever could collide with us waits at
/// the same lock, and nobody who holds one waits for a row of ours.
pub(super) async fn complete(
    pool: Pool,
    claim: Claim,
    processed: Processed,
) -> Result<Completed<Finished>, Fault> {
    let mut connection = pool.lend().await?;
    let mut transaction = connection.begin().await?;
    let reason = processed.ignored.as_ref().map(Reason::as_str);
    let Some(received_at) = finish(&mut transaction, &claim, reason).await? else {
        transaction.rollback().await?;
        return Ok(Completed::Lost);
    };
    let mut by_inbox: BTreeMap<&str, Vec<&NewMessage>> = BTreeMap::new();
    for message in &processed.messages {
        let inbox = message.inbox.as_str();
        by_inbox.entry(inbox).or_default().push(message);
    }
    let mut places = Vec::with_capacity(by_inbox.len());
    for (inbox, messages) in by_inbox {
        let last_seq = artifacts::lock_inbox(&mut transaction, inbox).await?;
        places.push((inbox, last_seq, messages));
    }
    let mut finished = Finished::default();
    for (inbox, last_seq, messages) in places {
        let mut seq = last_seq;
        for message in messages {
            if insert(&mut transaction, &claim, message, received_at).await? {
                finished.messages += 1;
                seq = artifacts::insert(&mut transaction, message, received_at, seq, &mut finished)
                    .await?;
            } else {
                finished.duplicate_messages += 1;
            }
        }
        if seq > last_seq {
            artifacts::advance(&mut transaction, inbox, seq).await?;
        }
    }
    transaction.commit().await?;
    Ok(Completed::Done(finished))
}

/// Passes the fence or finds it closed; tells when the delivery was recorded.
async fn finish(
    connection: &mut PgConnection,
    claim: &Claim,
    reason: Option<&str>,
) -> Result<Option<OffsetDateTime>, Fault> {
    let recorded_at = sqlx::query_scalar(
        "UPDATE deliveries
         SET state = 'done', claim_token = NULL, finished_at = now(), reason = $3
         WHERE id = $1 AND claim_token = $2 AND state = 'claimed'
         RETURNING recorded_at",
    )
    .bind(claim.delivery.as_uuid())
    .bind(claim.token.as_uuid())
    .bind(reason)
    .fetch_optional(connection)
    .await?;
    Ok(recorded_at)
}

async fn insert(
    connection: &mut PgConnection,
    claim: &Claim,
    message: &NewMessage,
    received_at: OffsetDateTime,
) -> Result<bool, Fault> {
    let written = sqlx::query(
        "INSERT INTO messages
             (id, delivery_id, inbox, message_key, sender, sender_domain, flags, received_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (message_key) DO NOTHING",
    )
    .bind(message.id.as_uuid())
    .bind(claim.delivery.as_uuid())
    .bind(message.inbox.as_str())
    .bind(message.key.as_bytes().as_slice())
    .bind(message.sender.address.as_deref())
    .bind(message.sender.domain.as_deref())
    .bind(joined(&message.flags))
    .bind(received_at)
    .execute(connection)
    .await?;
    Ok(written.rows_affected() == 1)
}
