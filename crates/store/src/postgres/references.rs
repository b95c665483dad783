//! References: an opener's own words for attempts, each for one of them.

use pipeline::{AttemptId, IdempotencyKey, NewAttempt, Opened};
use sqlx::PgConnection;

use super::Postgres;
use super::attempts::{find, view};
use crate::fault::Fault;
use crate::requests::{self, Noted};
use crate::stored::inbox;

/// The attempt that has the reference already, if one has. Its inbox may have
/// ended since, but it must still be one of the opener's.
pub(super) async fn known(
    connection: &mut PgConnection,
    attempt: &NewAttempt,
) -> Result<Option<Opened>, Fault> {
    let id = sqlx::query_scalar("SELECT id FROM attempts WHERE owner = $1 AND reference = $2")
        .bind(attempt.owner.as_str())
        .bind(attempt.reference.as_ref().map(IdempotencyKey::as_str))
        .fetch_optional(&mut *connection)
        .await?;
    let Some(id) = id else {
        return Ok(None);
    };
    let id = AttemptId::from_uuid(id);
    let row = find(connection, id).await?;
    let row = row.ok_or(Fault::Restless)?;
    if row.request != attempt.request {
        return Ok(Some(Opened::ReferenceReused));
    }
    let owner = row.inbox_owner.as_deref();
    if !attempt.scope.covers(&inbox(&row.inbox)?, owner) {
        return Ok(Some(Opened::InboxUnknown));
    }
    // Its key stands for the same attempt from now on.
    let noted =
        requests::note::<Postgres>(connection, attempt.asked.as_ref(), &id.to_string()).await?;
    if let Noted::Reused = noted {
        return Ok(Some(Opened::KeyReused));
    }
    Ok(Some(Opened::Known(view(connection, row).await?)))
}
