//! The third layer: artifacts, and their places in the inbox. A place is taken
//! under the lock of the inbox's row and only by a row that was inserted, so a
//! reader who has seen place 7 will never see a 6 appear behind it.

use pipeline::{Finished, NewMessage, Reason};
use secrecy::ExposeSecret;
use sqlx::{PgConnection, Row};
use time::OffsetDateTime;

use super::listen::CHANNEL;
use super::moment::timestamp;
use super::pool::Pool;
use crate::fault::Fault;
use crate::stored::{Item, millis};

/// Locks the inbox's row until the transaction ends and tells the last place
/// that was taken.
pub(super) async fn lock_inbox(connection: &mut PgConnection, inbox: &str) -> Result<i64, Fault> {
    if let Some(last_seq) = lock_known(connection, inbox).await? {
        return Ok(last_seq);
    }
    sqlx::query("INSERT INTO inboxes (inbox) VALUES ($1) ON CONFLICT (inbox) DO NOTHING")
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

/// Inserts what a message held behind the place `seq`; tells the last place now.
pub(super) async fn insert(
    connection: &mut PgConnection,
    message: &NewMessage,
    received_at: OffsetDateTime,
    mut seq: i64,
    finished: &mut Finished,
) -> Result<i64, Fault> {
    for artifact in &message.artifacts {
        let written = sqlx::query(
            "INSERT INTO artifacts
                 (id, message_id, inbox, seq, artifact_key, kind, verdict, reason, rule,
                  confidence, host, value, expires_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
                     $13 + $14 * interval '1 millisecond')
             ON CONFLICT (artifact_key) DO NOTHING",
        )
        .bind(artifact.id.as_uuid())
        .bind(message.id.as_uuid())
        .bind(message.inbox.as_str())
        .bind(seq + 1)
        .bind(artifact.key.as_bytes().as_slice())
        .bind(artifact.kind.as_str())
        .bind(artifact.verdict.as_str())
        .bind(artifact.verdict.reason().map(Reason::as_str))
        .bind(artifact.rule.as_str())
        .bind(i16::from(artifact.confidence))
        .bind(artifact.host.as_deref())
        .bind(artifact.value.as_ref().map(ExposeSecret::expose_secret))
        .bind(received_at)
        .bind(millis(artifact.lifetime))
        .execute(&mut *connection)
        .await?;
        if written.rows_affected() == 1 {
            seq += 1;
            finished.artifacts += 1;
        } else {
            finished.duplicate_artifacts += 1;
        }
    }
    Ok(seq)
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
    let rows = sqlx::query(
        "SELECT a.id, a.inbox, a.seq, a.kind, a.verdict, a.reason, a.rule, a.confidence, a.host,
                a.message_id, m.sender, m.sender_domain, m.flags, m.received_at, a.expires_at,
                a.expires_at <= now() AS is_expired, c.consumed_at
         FROM artifacts a
         JOIN messages m ON m.id = a.message_id
         LEFT JOIN consumes c ON c.artifact_id = a.id
         WHERE a.inbox = $1 AND a.seq > $2
         ORDER BY a.seq
         LIMIT $3",
    )
    .bind(inbox)
    .bind(after)
    .bind(i64::from(limit))
    .fetch_all(&mut *pool.lend().await?)
    .await?;
    let items = rows.iter().map(|row| {
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
            flags: row.try_get("flags")?,
            received_at: timestamp(row.try_get("received_at")?),
            expires_at: timestamp(row.try_get("expires_at")?),
            is_expired: row.try_get("is_expired")?,
            consumed_at: consumed_at.map(timestamp),
        })
    });
    items.collect()
}
