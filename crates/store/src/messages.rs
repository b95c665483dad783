//! The second layer of deduplication: a claim ends with its messages, in one
//! transaction.

use std::collections::BTreeMap;
use std::time::Duration;

use pipeline::{Claim, Completed, DeliveryId, Finished, NewMessage, Processed, Reason};

use crate::artifacts;
use crate::backend::{Backend, Connection, Sql, query};
use crate::column::Moment;
use crate::database::Session;
use crate::fault::Fault;
use crate::seal::SealedMessage;
use crate::stored::{joined, span};

/// Writes everything or nothing: the delivery's state, if the claim still holds, then
/// messages, artifacts and their places in the inbox.
///
/// All inboxes are locked before anything is inserted, in order. A message and an
/// artifact belong to one inbox, so a transaction that could collide with this one
/// waits at the same lock, and none that holds such a lock waits for a row of ours.
pub(crate) async fn complete<B: Backend>(
    session: Session<B>,
    claim: Claim,
    processed: Processed,
) -> Result<Completed<Finished>, Fault> {
    let Processed { messages, ignored } = processed;
    let messages = SealedMessage::seal(messages, &session.secrets.keyring)?;
    let mut transaction = session.begin().await?;
    let reason = ignored.as_ref().map(Reason::as_str);
    let Some(origin) = finish::<B>(&mut transaction, &claim, reason).await? else {
        transaction.rollback().await?;
        return Ok(Completed::Lost);
    };
    let mut by_inbox: BTreeMap<&str, Vec<&SealedMessage>> = BTreeMap::new();
    for message in &messages {
        let inbox = message.message.inbox.as_str();
        by_inbox.entry(inbox).or_default().push(message);
    }
    let mut locked = Vec::with_capacity(by_inbox.len());
    for (inbox, messages) in by_inbox {
        let last_seq = artifacts::lock_inbox::<B>(&mut transaction, inbox).await?;
        locked.push((inbox, last_seq, messages));
    }
    let mut finished = Finished::default();
    let mut changed = Vec::new();
    for (inbox, last_seq, messages) in locked {
        let batch = InboxMessages { messages, last_seq };
        let seq = write::<B>(&mut transaction, &origin, batch, &mut finished).await?;
        if let Some(seq) = seq {
            artifacts::advance::<B>(&mut transaction, inbox, seq).await?;
            changed.push(inbox);
        }
    }
    transaction.commit().await?;
    for inbox in changed {
        session.announce(inbox);
    }
    Ok(Completed::Done(finished))
}

/// The messages of a delivery to one inbox.
struct InboxMessages<'m> {
    messages: Vec<&'m SealedMessage>,
    /// The last place that is taken in the inbox.
    last_seq: i64,
}

/// Writes the messages to one inbox. Returns the last place that is taken now, or
/// nothing if no watcher has to look again. A message without a new artifact may end a
/// wait, too.
async fn write<B: Backend>(
    connection: &mut Connection<B>,
    origin: &Origin,
    batch: InboxMessages<'_>,
    finished: &mut Finished,
) -> Result<Option<i64>, Fault> {
    let (mut seq, mut is_changed) = (batch.last_seq, false);
    for message in batch.messages {
        let inserted = insert::<B>(connection, &message.message, origin).await?;
        let Some(received_at) = inserted else {
            finished.duplicate_messages += 1;
            let lag = note_other_path::<B>(connection, &message.message, origin).await?;
            finished.other_path_lag = finished.other_path_lag.max(lag);
            continue;
        };
        finished.messages += 1;
        finished.recovered += u32::from(origin.is_polled);
        let written = artifacts::insert::<B>(connection, message, received_at, seq, finished);
        let (last, wakes) = written.await?;
        seq = last;
        is_changed |= wakes;
    }
    Ok(is_changed.then_some(seq))
}

/// How and when a delivery came.
struct Origin {
    delivery: DeliveryId,
    recorded_at: Moment,
    is_polled: bool,
    /// When its mail arrived: for a polled one as its source says, otherwise when it
    /// was recorded.
    arrived_at: Moment,
}

impl Origin {
    fn path(&self) -> &'static str {
        if self.is_polled { "poll" } else { "push" }
    }
}

/// Ends the claim, if it still holds; returns how the delivery came.
async fn finish<B: Backend>(
    connection: &mut Connection<B>,
    claim: &Claim,
    reason: Option<&str>,
) -> Result<Option<Origin>, Fault> {
    let row: Option<(Moment, bool, Option<Moment>)> = query::<B>(Sql {
        postgres: "UPDATE deliveries
             SET state = 'done', claim_token = NULL, reason = $3, finished_at = clock_timestamp()
             WHERE id = $1 AND claim_token = $2 AND state = 'claimed'
             RETURNING recorded_at,
                       EXISTS (SELECT 1 FROM polled WHERE delivery_id = id),
                       (SELECT arrived_at FROM polled WHERE delivery_id = id)",
        sqlite: "UPDATE deliveries
             SET state = 'done', claim_token = NULL, reason = $3,
                 finished_at = (SELECT now FROM clock)
             WHERE id = $1 AND claim_token = $2 AND state = 'claimed'
             RETURNING recorded_at,
                       EXISTS (SELECT 1 FROM polled WHERE delivery_id = id),
                       (SELECT arrived_at FROM polled WHERE delivery_id = id)",
    })
    .bind(claim.delivery.as_uuid())
    .bind(claim.token.as_uuid())
    .bind(reason)
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|(recorded_at, is_polled, arrived_at)| Origin {
        delivery: claim.delivery,
        recorded_at,
        is_polled,
        arrived_at: arrived_at.unwrap_or(recorded_at),
    }))
}

/// Inserts a message unless one of its keys is known. Returns when it was received:
/// when the provider says, but never later than it was recorded here.
async fn insert<B: Backend>(
    connection: &mut Connection<B>,
    message: &NewMessage,
    origin: &Origin,
) -> Result<Option<Moment>, Fault> {
    query::<B>(Sql {
        postgres: "INSERT INTO messages
                 (id, delivery_id, inbox, message_key, sender, sender_domain, sender_proof, flags,
                  received_at, path, provider_key)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, least($9, $10), $11, $12)
             ON CONFLICT DO NOTHING
             RETURNING received_at",
        sqlite: "INSERT INTO messages
                 (id, delivery_id, inbox, message_key, sender, sender_domain, sender_proof, flags,
                  received_at, path, provider_key)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, min(coalesce($9, $10), $10), $11, $12)
             ON CONFLICT DO NOTHING
             RETURNING received_at",
    })
    .bind(message.id.as_uuid())
    .bind(origin.delivery.as_uuid())
    .bind(message.inbox.as_str())
    .bind(message.key.as_bytes().as_slice())
    .bind(message.sender.address.as_deref())
    .bind(message.sender.domain.as_deref())
    .bind(message.sender.proof.as_str())
    .bind(joined(&message.flags))
    .bind(message.received_at.map(Moment::from))
    .bind(origin.arrived_at)
    .bind(origin.path())
    .bind(provider_key(message))
    .scalar(connection)
    .await
}

/// Notes that the other path has brought a known message, too, and returns how much
/// later; nothing if it is the same path or was noted before.
async fn note_other_path<B: Backend>(
    connection: &mut Connection<B>,
    message: &NewMessage,
    origin: &Origin,
) -> Result<Option<Duration>, Fault> {
    let lag: Option<i64> = query::<B>(Sql {
        postgres: "UPDATE messages SET other_path_at = $3
             WHERE (message_key = $1 OR provider_key = $4) AND path <> $2
               AND other_path_at IS NULL
             RETURNING (extract(epoch FROM $3 - (SELECT recorded_at FROM deliveries
                                                 WHERE id = messages.delivery_id)) * 1000)::bigint",
        sqlite: "UPDATE messages SET other_path_at = $3
             WHERE (message_key = $1 OR provider_key = $4) AND path <> $2
               AND other_path_at IS NULL
             RETURNING $3 - (SELECT recorded_at FROM deliveries WHERE id = messages.delivery_id)",
    })
    .bind(message.key.as_bytes().as_slice())
    .bind(origin.path())
    .bind(origin.recorded_at)
    .bind(provider_key(message))
    .scalar(connection)
    .await?;
    Ok(lag.map(span))
}

fn provider_key(message: &NewMessage) -> Option<&[u8]> {
    let key = message.provider_key.as_ref()?;
    Some(key.as_bytes().as_slice())
}
