//! Resends: how often the sender of an attempt's mail may be asked for another.

use pipeline::{ResendOutcome, ResendRequest};
use sqlx::{SqliteConnection, SqlitePool};
use uuid::Uuid;

use super::attempts::find_in;
use crate::fault::Fault;
use crate::waiting::AttemptRow;

/// Takes one from the budget, once for each key. There is one writer, so two
/// askers are served in turn.
pub(super) async fn resend(
    writer: SqlitePool,
    request: ResendRequest,
) -> Result<ResendOutcome, Fault> {
    let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    let row = find_in(&mut transaction, request.attempt, &request.scope).await?;
    let resent = match row {
        Some(row) => grant(&mut transaction, &row, &request).await?,
        None => ResendOutcome::Unknown,
    };
    transaction.commit().await?;
    Ok(resent)
}

async fn grant(
    connection: &mut SqliteConnection,
    row: &AttemptRow,
    request: &ResendRequest,
) -> Result<ResendOutcome, Fault> {
    let granted: Option<(Uuid, i32)> = sqlx::query_as(
        "SELECT attempt_id, left_after FROM resends WHERE owner = $1 AND idempotency_key = $2",
    )
    .bind(request.consumer.as_str())
    .bind(request.idempotency_key.as_str())
    .fetch_optional(&mut *connection)
    .await?;
    match granted {
        Some((attempt, left)) if attempt == row.id => {
            let left = u32::try_from(left).unwrap_or(0);
            return Ok(ResendOutcome::Repeated { left });
        }
        Some(_) => return Ok(ResendOutcome::KeyReused),
        None => {}
    }
    if row.remaining_ms <= 0 || row.outcome.is_some() {
        return Ok(ResendOutcome::Over);
    }
    let Ok(left) = u32::try_from(row.resends_left - 1) else {
        return Ok(ResendOutcome::Spent);
    };
    let noted = sqlx::query(
        "INSERT INTO resends (attempt_id, owner, idempotency_key, left_after)
         VALUES ($1, $2, $3, $4)
         ON CONFLICT (owner, idempotency_key) DO NOTHING",
    )
    .bind(row.id)
    .bind(request.consumer.as_str())
    .bind(request.idempotency_key.as_str())
    .bind(row.resends_left - 1)
    .execute(&mut *connection)
    .await?;
    // Used for another attempt at the same moment.
    if noted.rows_affected() == 0 {
        return Ok(ResendOutcome::KeyReused);
    }
    sqlx::query(
        "UPDATE attempts SET resends_used = resends_used + 1, resent_at = (SELECT now FROM clock)
         WHERE id = $1",
    )
    .bind(row.id)
    .execute(connection)
    .await?;
    Ok(ResendOutcome::Granted { left })
}
