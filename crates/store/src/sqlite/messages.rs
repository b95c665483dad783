//! The second layer: a claim ends with its messages, in one transaction.

use std::collections::BTreeMap;
use std::time::Duration;

use pipeline::{Claim, Completed, Finished, NewMessage, Processed, Reason, Timestamp};
use sqlx::{SqliteConnection, SqlitePool};

use super::artifacts;
use crate::fault::Fault;
use crate::seal::{Keyring, SealedMessage};
use crate::stored::{joined, span};

/// Writes everything or nothing: the delivery's state behind the fence, then
/// messages, artifacts and their places. Also tells which inboxes have news.
pub(super) async fn complete(
    writer: SqlitePool,
    keyring: Keyring,
    claim: Claim,
    processed: Processed,
) -> Result<(Completed<Finished>, Vec<String>), Fault> {
    let Processed { messages, ignored } = processed;
    let messages = SealedMessage::seal(messages, &keyring)?;
    let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    let reason = ignored.as_ref().map(Reason::as_str);
    let Some(came) = finish(&mut transaction, &claim, reason).await? else {
        transaction.rollback().await?;
        return Ok((Completed::Lost, Vec::new()));
    };
    let mut by_inbox: BTreeMap<&str, Vec<&SealedMessage>> = BTreeMap::new();
    for message in &messages {
        let inbox = message.message.inbox.as_str();
        by_inbox.entry(inbox).or_default().push(message);
    }
    let mut finished = Finished::default();
    let mut news = Vec::new();
    for (inbox, messages) in by_inbox {
        let last_seq = artifacts::last_seq(&mut transaction, inbox).await?;
        let (mut seq, mut has_news) = (last_seq, false);
        for message in messages {
            let inserted = insert(&mut transaction, &claim, &message.message, &came).await?;
            let Some(received_at) = inserted else {
                finished.duplicate_messages += 1;
                let lag = meet(&mut transaction, &message.message, &came).await?;
                finished.other_path_lag = finished.other_path_lag.max(lag);
                continue;
            };
            finished.messages += 1;
            finished.recovered += u32::from(came.by_poll);
            let written =
                artifacts::insert(&mut transaction, message, received_at, seq, &mut finished);
            let (last, is_news) = written.await?;
            seq = last;
            has_news |= is_news;
        }
        // Also a message without a new item may end a wait.
        if has_news {
            artifacts::advance(&mut transaction, inbox, seq).await?;
            news.push(inbox.to_owned());
        }
    }
    transaction.commit().await?;
    Ok((Completed::Done(finished), news))
}

/// How and when a delivery came.
struct Came {
    recorded_at: i64,
    by_poll: bool,
    /// When its mail arrived: as the source of a polled one says, otherwise
    /// when it was recorded.
    arrived_at: i64,
}

impl Came {
    fn path(&self) -> &'static str {
        if self.by_poll { "poll" } else { "push" }
    }
}

/// Passes the fence or finds it closed; tells how the delivery came.
async fn finish(
    connection: &mut SqliteConnection,
    claim: &Claim,
    reason: Option<&str>,
) -> Result<Option<Came>, Fault> {
    let row: Option<(i64, bool, Option<i64>)> = sqlx::query_as(
        "UPDATE deliveries
         SET state = 'done', claim_token = NULL, reason = $3,
             finished_at = (SELECT now FROM clock)
         WHERE id = $1 AND claim_token = $2 AND state = 'claimed'
         RETURNING recorded_at,
                   EXISTS (SELECT 1 FROM polled WHERE delivery_id = id),
                   (SELECT arrived_at FROM polled WHERE delivery_id = id)",
    )
    .bind(claim.delivery.as_uuid())
    .bind(claim.token.as_uuid())
    .bind(reason)
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|(recorded_at, by_poll, arrived_at)| Came {
        recorded_at,
        by_poll,
        arrived_at: arrived_at.unwrap_or(recorded_at),
    }))
}

/// Inserts a message unless one of its keys is known; tells when it was received: when
/// the provider says, but never later than it was recorded here.
async fn insert(
    connection: &mut SqliteConnection,
    claim: &Claim,
    message: &NewMessage,
    came: &Came,
) -> Result<Option<i64>, Fault> {
    let received_at = message
        .received_at
        .map_or(came.arrived_at, Timestamp::as_millis);
    let received_at = sqlx::query_scalar(
        "INSERT INTO messages
             (id, delivery_id, inbox, message_key, sender, sender_domain, sender_proof, flags,
              received_at, path, provider_key)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, min($9, $10), $11, $12)
         ON CONFLICT DO NOTHING
         RETURNING received_at",
    )
    .bind(message.id.as_uuid())
    .bind(claim.delivery.as_uuid())
    .bind(message.inbox.as_str())
    .bind(message.key.as_bytes().as_slice())
    .bind(message.sender.address.as_deref())
    .bind(message.sender.domain.as_deref())
    .bind(message.sender.proof.as_str())
    .bind(joined(&message.flags))
    .bind(received_at)
    .bind(came.arrived_at)
    .bind(came.path())
    .bind(provider_key(message))
    .fetch_optional(connection)
    .await?;
    Ok(received_at)
}

/// Notes that the other path has told of a known message, too, and how much
/// later; nothing if it is the same path or has been noted before.
async fn meet(
    connection: &mut SqliteConnection,
    message: &NewMessage,
    came: &Came,
) -> Result<Option<Duration>, Fault> {
    let lag: Option<i64> = sqlx::query_scalar(
        "UPDATE messages SET other_path_at = $3
         WHERE (message_key = $1 OR provider_key = $4) AND path <> $2 AND other_path_at IS NULL
         RETURNING $3 - (SELECT recorded_at FROM deliveries WHERE id = messages.delivery_id)",
    )
    .bind(message.key.as_bytes().as_slice())
    .bind(came.path())
    .bind(came.recorded_at)
    .bind(provider_key(message))
    .fetch_optional(connection)
    .await?;
    Ok(lag.map(span))
}

fn provider_key(message: &NewMessage) -> Option<&[u8]> {
    let key = message.provider_key.as_ref()?;
    Some(key.as_bytes().as_slice())
}
