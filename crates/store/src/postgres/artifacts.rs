//! The third layer: artifacts, and their places in the inbox. A place is taken
//! under the lock of the inbox's row and only by a row that was inserted, so a
//! reader who has seen place 7 will never see a 6 appear behind it.

use pipeline::{FeedBounds, Finished, NewArtifact, NewMessage, Reason, Seq};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};
use time::OffsetDateTime;
use uuid::Uuid;

use super::binding;
use super::listen::CHANNEL;
use super::moment::timestamp;
use super::pool::Pool;
use crate::binding::Binding;
use crate::fault::Fault;
use crate::seal::{Sealed, SealedMessage};
use crate::stored::{Item, millis};

/// Locks the inbox's row until the transaction ends and tells the last place
/// that was taken.
pub(super) async fn lock_inbox(connection: &mut PgConnection, inbox: &str) -> Result<i64, Fault> {
    if let Some(last_seq) = lock_known(connection, inbox).await? {
        return Ok(last_seq);
    }
    sqlx::query(
        "INSERT INTO inboxes (inbox, is_passing) VALUES ($1, true) ON CONFLICT (inbox) DO NOTHING",
    )
    .bind(inbox)
    .execute(&mut *connection)
    .await?;
    lock_known(connection, inbox).await?.ok_or(Fault::Restless)
}

async fn lock_known(connection: &mut PgConnection, inbox: &str) -> Result<Option<i64>, Fault> {
    let last_seq = sqlx::query_scalar("SELECT last_seq FROM inboxes WHERE inbox = $1 FOR UPDATE")
        .bind(inbox)
        .fetch_optional(connection)
        .await?;
    Ok(last_seq)
}

/// Inserts what a message held behind the place `seq`; tells the last place now, and
/// whether anybody who waits should look again.
pub(super) async fn insert(
    connection: &mut PgConnection,
    message: &SealedMessage,
    received_at: OffsetDateTime,
    mut seq: i64,
    finished: &mut Finished,
) -> Result<(i64, bool), Fault> {
    let SealedMessage { message, values } = message;
    let inbox = message.inbox.as_str();
    let mut is_news = !message.misses.is_empty();
    for (artifact, value) in message.artifacts.iter().zip(values) {
        let binding = binding::choose(connection, inbox, artifact, received_at).await?;
        let place = Place {
            message,
            value: value.as_ref(),
            received_at,
            seq: seq + 1,
        };
        let is_new = insert_one(connection, artifact, &place, &binding).await?;
        is_news |= is_new || matches!(binding, Binding::Known(_));
        if is_new {
            seq += 1;
            finished.artifacts += 1;
        } else {
            finished.duplicate_artifacts += 1;
        }
    }
    for miss in &message.misses {
        binding::note_miss(connection, miss, received_at).await?;
    }
    Ok((seq, is_news))
}

/// Where an artifact would stand.
struct Place<'m> {
    message: &'m NewMessage,
    value: Option<&'m Sealed>,
    received_at: OffsetDateTime,
    seq: i64,
}

/// Inserts an artifact unless its key is known; tells whether it did.
async fn insert_one(
    connection: &mut PgConnection,
    artifact: &NewArtifact,
    place: &Place<'_>,
    binding: &Binding,
) -> Result<bool, Fault> {
    let (key, attempt) = match binding {
        Binding::Known(known) => {
            let (message, at) = (place.message.id.as_uuid(), place.received_at);
            binding::renew(connection, known, message, at, artifact.lifetime).await?;
            return Ok(false);
        }
        Binding::Inbox(key) => (key, None),
        Binding::Attempt(bound) => (&bound.key, Some(bound.attempt)),
    };
    let written = sqlx::query(
        "INSERT INTO artifacts
             (id, message_id, inbox, seq, artifact_key, kind, verdict, reason, rule,
              confidence, host, value, value_key, expires_at, attempt_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
                 $14 + $15 * interval '1 millisecond', $16)
         ON CONFLICT (artifact_key) DO NOTHING",
    )
    .bind(artifact.id.as_uuid())
    .bind(place.message.id.as_uuid())
    .bind(place.message.inbox.as_str())
    .bind(place.seq)
    .bind(key.as_bytes().as_slice())
    .bind(artifact.kind.as_str())
    .bind(artifact.verdict.as_str())
    .bind(artifact.verdict.reason().map(Reason::as_str))
    .bind(artifact.rule.as_str())
    .bind(i16::from(artifact.confidence))
    .bind(artifact.host.as_deref())
    .bind(place.value.map(|sealed| sealed.bytes.as_slice()))
    .bind(place.value.map(|sealed| sealed.key.as_str()))
    .bind(place.received_at)
    .bind(millis(artifact.lifetime))
    .bind(attempt)
    .execute(&mut *connection)
    .await?;
    let is_new = written.rows_affected() == 1;
    if let (true, Binding::Attempt(bound)) = (is_new, binding) {
        binding::settle(connection, artifact.id.as_uuid(), bound).await?;
    }
    Ok(is_new)
}

/// Notes the last place taken, and tells every process that there is news; the
/// server sends that when the transaction commits, and not if it does not.
pub(super) async fn advance(
    connection: &mut PgConnection,
    inbox: &str,
    seq: i64,
) -> Result<(), Fault> {
    sqlx::query("UPDATE inboxes SET last_seq = $2 WHERE inbox = $1 RETURNING pg_notify($3, inbox)")
        .bind(inbox)
        .bind(seq)
        .bind(CHANNEL)
        .execute(connection)
        .await?;
    Ok(())
}

/// Items of an inbox behind a place, in order.
pub(super) async fn list(
    pool: Pool,
    inbox: String,
    after: i64,
    limit: u32,
) -> Result<Vec<Item>, Fault> {
    let rows =
        sqlx::query("SELECT * FROM items WHERE inbox = $1 AND seq > $2 ORDER BY seq LIMIT $3")
            .bind(inbox)
            .bind(after)
            .bind(i64::from(limit))
            .fetch_all(&mut *pool.lend().await?)
            .await?;
    rows.iter().map(from_columns).collect()
}

/// How far the feed of an inbox reaches; nowhere when nothing ever came there.
pub(super) async fn feed_bounds(pool: Pool, inbox: String) -> Result<FeedBounds, Fault> {
    let row: Option<(i64, i64)> =
        sqlx::query_as("SELECT purged_seq, last_seq FROM inboxes WHERE inbox = $1")
            .bind(inbox)
            .fetch_optional(&mut *pool.lend().await?)
            .await?;
    let (purged, last) = row.unwrap_or_default();
    Ok(FeedBounds {
        purged: Seq::new(purged),
        last: Seq::new(last),
    })
}

/// One item.
pub(super) async fn item(connection: &mut PgConnection, id: Uuid) -> Result<Option<Item>, Fault> {
    let row = sqlx::query("SELECT * FROM items WHERE id = $1")
        .bind(id)
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(from_columns).transpose()
}

fn from_columns(row: &PgRow) -> Result<Item, Fault> {
    let consumed_at: Option<OffsetDateTime> = row.try_get("consumed_at")?;
    Ok(Item {
        id: row.try_get("id")?,
        inbox: row.try_get("inbox")?,
        seq: row.try_get("seq")?,
        kind: row.try_get("kind")?,
        verdict: row.try_get("verdict")?,
        reason: row.try_get("reason")?,
        rule: row.try_get("rule")?,
        confidence: row.try_get("confidence")?,
        host: row.try_get("host")?,
        message: row.try_get("message_id")?,
        sender: row.try_get("sender")?,
        sender_domain: row.try_get("sender_domain")?,
        sender_proof: row.try_get("sender_proof")?,
        flags: row.try_get("flags")?,
        received_at: timestamp(row.try_get("received_at")?),
        expires_at: timestamp(row.try_get("expires_at")?),
        is_expired: row.try_get("is_expired")?,
        consumed_at: consumed_at.map(timestamp),
        attempt: row.try_get("attempt_id")?,
        is_superseded: row.try_get("is_superseded")?,
    })
}
