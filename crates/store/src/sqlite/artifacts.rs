//! The third layer: artifacts, and their places in the inbox. There is one
//! writer, and a place is taken only by a row that was inserted, so a reader who
//! has seen place 7 will never see a 6 appear behind it.

use pipeline::{FeedBounds, Finished, NewArtifact, NewMessage, Reason, Seq, Timestamp};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection, SqlitePool};
use uuid::Uuid;

use super::binding;
use crate::binding::Binding;
use crate::fault::Fault;
use crate::seal::{Sealed, SealedMessage};
use crate::stored::{Item, millis};

/// The last place that was taken in an inbox, which exists from now on.
pub(super) async fn last_seq(connection: &mut SqliteConnection, inbox: &str) -> Result<i64, Fault> {
    sqlx::query(
        "INSERT INTO inboxes (inbox, is_passing, created_at) SELECT $1, 1, now FROM clock WHERE true
         ON CONFLICT (inbox) DO NOTHING",
    )
    .bind(inbox)
    .execute(&mut *connection)
    .await?;
    let last_seq = sqlx::query_scalar("SELECT last_seq FROM inboxes WHERE inbox = $1")
        .bind(inbox)
        .fetch_one(connection)
        .await?;
    Ok(last_seq)
}

/// Inserts what a message held behind the place `seq`; tells the last place now, and
/// whether anybody who waits should look again.
pub(super) async fn insert(
    connection: &mut SqliteConnection,
    message: &SealedMessage,
    received_at: i64,
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
    received_at: i64,
    seq: i64,
}

/// Inserts an artifact unless its key is known; tells whether it did.
async fn insert_one(
    connection: &mut SqliteConnection,
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
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14 + $15, $16)
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

/// Notes the last place taken.
pub(super) async fn advance(
    connection: &mut SqliteConnection,
    inbox: &str,
    seq: i64,
) -> Result<(), Fault> {
    sqlx::query("UPDATE inboxes SET last_seq = $2 WHERE inbox = $1")
        .bind(inbox)
        .bind(seq)
        .execute(connection)
        .await?;
    Ok(())
}

/// Items of an inbox behind a place, in order.
pub(super) async fn list(
    readers: SqlitePool,
    inbox: String,
    after: i64,
    limit: u32,
) -> Result<Vec<Item>, Fault> {
    let rows =
        sqlx::query("SELECT * FROM items WHERE inbox = $1 AND seq > $2 ORDER BY seq LIMIT $3")
            .bind(inbox)
            .bind(after)
            .bind(i64::from(limit))
            .fetch_all(&readers)
            .await?;
    rows.iter().map(from_columns).collect()
}

/// How far the feed of an inbox reaches; nowhere when nothing ever came there.
pub(super) async fn feed_bounds(readers: SqlitePool, inbox: String) -> Result<FeedBounds, Fault> {
    let row: Option<(i64, i64)> =
        sqlx::query_as("SELECT purged_seq, last_seq FROM inboxes WHERE inbox = $1")
            .bind(inbox)
            .fetch_optional(&readers)
            .await?;
    let (purged, last) = row.unwrap_or_default();
    Ok(FeedBounds {
        purged: Seq::new(purged),
        last: Seq::new(last),
    })
}

/// One item.
pub(super) async fn item(
    connection: &mut SqliteConnection,
    id: Uuid,
) -> Result<Option<Item>, Fault> {
    let row = sqlx::query("SELECT * FROM items WHERE id = $1")
        .bind(id)
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(from_columns).transpose()
}

fn from_columns(row: &SqliteRow) -> Result<Item, Fault> {
    let consumed_at: Option<i64> = row.try_get("consumed_at")?;
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
        received_at: Timestamp::from_millis(row.try_get("received_at")?),
        expires_at: Timestamp::from_millis(row.try_get("expires_at")?),
        is_expired: row.try_get("is_expired")?,
        consumed_at: consumed_at.map(Timestamp::from_millis),
        attempt: row.try_get("attempt_id")?,
        is_superseded: row.try_get("is_superseded")?,
    })
}
