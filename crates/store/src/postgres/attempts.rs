//! Attempts: opened, looked at and finished.

use pipeline::{
    AttemptFinished, AttemptId, AttemptOutcome, AttemptView, IdempotencyKey, NewAttempt, Opened,
    Request, Scope,
};
use sqlx::postgres::PgRow;
use sqlx::{Connection, PgConnection, Row};

use super::listen::CHANNEL;
use super::moment::timestamp;
use super::pool::Pool;
use super::{Postgres, references};
use crate::fault::Fault;
use crate::requests::{self, Noted};
use crate::stored::{inbox, joined, millis};
use crate::waiting::{AttemptRow, RulesRow};
use crate::{artifacts, inboxes};

/// Opens an attempt under the lock of its inbox, so that whatever arrives there
/// is written before it or after it. The reference's unique key decides whether
/// it is new.
pub(super) async fn open(pool: Pool, attempt: NewAttempt) -> Result<Opened, Fault> {
    let mut connection = pool.lend().await?;
    let mut transaction = connection.begin().await?;
    let made = attempt.id.to_string();
    match requests::note::<Postgres>(&mut transaction, attempt.asked.as_ref(), &made).await? {
        Noted::New => {}
        Noted::Before(made) => return repeated(&mut transaction, &made).await,
        Noted::Reused => return Ok(Opened::KeyReused),
    }
    if !enter_inbox(&mut transaction, &attempt).await? {
        transaction.rollback().await?;
        // A retry finds its attempt also when the inbox has ended since.
        let known = references::known(&mut connection, &attempt).await?;
        return Ok(known.unwrap_or(Opened::InboxUnknown));
    }
    if insert(&mut transaction, &attempt).await? {
        let row = find(&mut transaction, attempt.id).await?;
        let row = row.ok_or(Fault::Restless)?;
        let view = view(&mut transaction, row).await?;
        transaction.commit().await?;
        return Ok(Opened::New(view));
    }
    // A minted address goes with the attempt that it was minted for.
    transaction.rollback().await?;
    let known = references::known(&mut connection, &attempt).await?;
    known.ok_or(Fault::Restless)
}

/// Locks the inbox, making it where the opener may; false when there is none for
/// the opener.
async fn enter_inbox(connection: &mut PgConnection, attempt: &NewAttempt) -> Result<bool, Fault> {
    let name = attempt.inbox.as_str();
    if attempt.is_minted {
        let written = sqlx::query(
            "INSERT INTO inboxes (inbox, owner, senders, links, needs_proof, is_passing)
             VALUES ($1, $2, $3, $4, $5, true)
             ON CONFLICT (inbox) DO NOTHING",
        )
        .bind(name)
        .bind(attempt.owner.as_str())
        // What the attempt keeps back is not for the feed of its inbox either.
        .bind(joined(&attempt.rules.senders))
        .bind(attempt.rules.links.as_deref().map(joined))
        .bind(attempt.rules.needs_proof)
        .execute(connection)
        .await?;
        return Ok(written.rows_affected() == 1);
    }
    let row = inboxes::find::<Postgres>(&mut *connection, name).await?;
    let owner = row.as_ref().and_then(|row| row.owner.as_deref());
    let is_expired = row.as_ref().is_some_and(|row| row.is_expired);
    if is_expired || !attempt.scope.covers(&attempt.inbox, owner) {
        return Ok(false);
    }
    artifacts::lock_inbox::<Postgres>(connection, name).await?;
    Ok(true)
}

async fn insert(connection: &mut PgConnection, attempt: &NewAttempt) -> Result<bool, Fault> {
    // Not `now()`, which is when the transaction began: what arrived while this
    // one waited for the lock was not triggered by it.
    let written = sqlx::query(
        "INSERT INTO attempts
             (id, owner, reference, request, inbox, wanted, senders, links, token, callback,
              opened_at, deadline, resends, needs_proof)
         SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, moment,
                moment + $11 * interval '1 millisecond', $12, $13
         FROM clock_timestamp() AS moment
         ON CONFLICT (owner, reference) DO NOTHING",
    )
    .bind(attempt.id.as_uuid())
    .bind(attempt.owner.as_str())
    .bind(attempt.reference.as_ref().map(IdempotencyKey::as_str))
    .bind(attempt.request.as_slice())
    .bind(attempt.inbox.as_str())
    .bind(attempt.rules.wanted.as_str())
    .bind(joined(&attempt.rules.senders))
    .bind(attempt.rules.links.as_deref().map(joined))
    .bind(attempt.rules.token.as_deref())
    .bind(attempt.callback.as_deref())
    .bind(millis(attempt.timeout))
    .bind(i32::try_from(attempt.resends).unwrap_or(i32::MAX))
    .bind(attempt.rules.needs_proof)
    .execute(connection)
    .await?;
    Ok(written.rows_affected() == 1)
}

/// The attempt that the same request has opened.
async fn repeated(connection: &mut PgConnection, made: &str) -> Result<Opened, Fault> {
    let id = made.parse().or(Err(Fault::Damaged("made")))?;
    let row = find(connection, id).await?;
    let row = row.ok_or(Fault::Restless)?;
    Ok(Opened::Known(view(connection, row).await?))
}

/// The row of an attempt.
pub(super) async fn find(
    connection: &mut PgConnection,
    attempt: AttemptId,
) -> Result<Option<AttemptRow>, Fault> {
    let row = sqlx::query(
        "SELECT t.*, i.owner AS inbox_owner,
                (extract(epoch FROM t.deadline - clock_timestamp()) * 1000)::bigint
                    AS remaining_ms,
                (extract(epoch FROM i.expires_at - clock_timestamp()) * 1000)::bigint
                    AS inbox_remaining_ms,
                t.resends - t.resends_used AS resends_left,
                (SELECT state FROM callbacks WHERE artifact_id = t.current) AS callback_state,
                EXISTS (SELECT FROM artifacts a JOIN consumes c ON c.artifact_id = a.id
                        WHERE a.attempt_id = t.id) AS has_consumed
         FROM attempts t JOIN inboxes i ON i.inbox = t.inbox
         WHERE t.id = $1",
    )
    .bind(attempt.as_uuid())
    .fetch_optional(connection)
    .await?;
    row.map(|row| from_columns(&row)).transpose()
}

/// The row of an attempt in the scope.
pub(super) async fn find_in(
    connection: &mut PgConnection,
    attempt: AttemptId,
    scope: &Scope,
) -> Result<Option<AttemptRow>, Fault> {
    let Some(row) = find(connection, attempt).await? else {
        return Ok(None);
    };
    let is_covered = scope.covers(&inbox(&row.inbox)?, row.inbox_owner.as_deref());
    Ok(is_covered.then_some(row))
}

/// The attempt with its newest artifact.
pub(super) async fn view(
    connection: &mut PgConnection,
    row: AttemptRow,
) -> Result<AttemptView, Fault> {
    let current = match row.current {
        Some(id) => artifacts::item::<Postgres>(connection, id).await?,
        None => None,
    };
    row.view(current)
}

pub(super) async fn look(
    pool: Pool,
    attempt: AttemptId,
    scope: Scope,
) -> Result<Option<AttemptView>, Fault> {
    let mut connection = pool.lend().await?;
    match find_in(&mut connection, attempt, &scope).await? {
        Some(row) => Ok(Some(view(&mut connection, row).await?)),
        None => Ok(None),
    }
}

/// Notes how it ended, if nobody has yet.
pub(super) async fn finish(
    pool: Pool,
    attempt: AttemptId,
    scope: Scope,
    outcome: AttemptOutcome,
    asked: Option<Request>,
) -> Result<AttemptFinished, Fault> {
    let mut connection = pool.lend().await?;
    let mut transaction = connection.begin().await?;
    let noted =
        requests::note::<Postgres>(&mut transaction, asked.as_ref(), &attempt.to_string()).await?;
    if let Noted::Reused = noted {
        return Ok(AttemptFinished::KeyReused);
    }
    if find_in(&mut transaction, attempt, &scope).await?.is_none() {
        transaction.rollback().await?;
        return Ok(AttemptFinished::Unknown);
    }
    // The first to say so decides, and whoever waits is told.
    sqlx::query(
        "UPDATE attempts SET outcome = $2, finished_at = clock_timestamp()
         WHERE id = $1 AND outcome IS NULL
         RETURNING pg_notify($3, inbox)",
    )
    .bind(attempt.as_uuid())
    .bind(outcome.as_str())
    .bind(CHANNEL)
    .execute(&mut *transaction)
    .await?;
    let row = find(&mut transaction, attempt).await?;
    let view = view(&mut transaction, row.ok_or(Fault::Restless)?).await?;
    if let Some(other) = view.outcome.filter(|said| *said != outcome) {
        transaction.rollback().await?;
        return Ok(AttemptFinished::OtherOutcome(other));
    }
    transaction.commit().await?;
    let view = Box::new(view);
    Ok(match noted {
        Noted::Before(_) => AttemptFinished::Repeated(view),
        Noted::New | Noted::Reused => AttemptFinished::Finished(view),
    })
}

fn from_columns(row: &PgRow) -> Result<AttemptRow, Fault> {
    Ok(AttemptRow {
        id: row.try_get("id")?,
        inbox: row.try_get("inbox")?,
        inbox_owner: row.try_get("inbox_owner")?,
        rules: RulesRow {
            wanted: row.try_get("wanted")?,
            senders: row.try_get("senders")?,
            needs_proof: row.try_get("needs_proof")?,
            links: row.try_get("links")?,
            token: row.try_get("token")?,
        },
        callback: row.try_get("callback")?,
        callback_state: row.try_get("callback_state")?,
        opened_at: timestamp(row.try_get("opened_at")?),
        deadline: timestamp(row.try_get("deadline")?),
        remaining_ms: row.try_get("remaining_ms")?,
        inbox_remaining_ms: row.try_get("inbox_remaining_ms")?,
        resends_left: row.try_get("resends_left")?,
        resent_at: row.try_get::<Option<_>, _>("resent_at")?.map(timestamp),
        outcome: row.try_get("outcome")?,
        current: row.try_get("current")?,
        has_consumed: row.try_get("has_consumed")?,
        miss: row.try_get("miss")?,
        miss_reason: row.try_get("miss_reason")?,
        request: row.try_get("request")?,
    })
}
