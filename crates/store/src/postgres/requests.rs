//! Requests that may come twice, noted with what they make.

use pipeline::Request;
use sqlx::PgConnection;

use crate::fault::Fault;
use crate::requests::Noted;

/// Notes a request in the transaction that makes `made`, before anything else is
/// locked in it: the same request that comes at the same moment waits here until
/// the first is done. One without a key is always new.
pub(super) async fn note(
    connection: &mut PgConnection,
    request: Option<&Request>,
    made: &str,
) -> Result<Noted, Fault> {
    let Some(request) = request else {
        return Ok(Noted::New);
    };
    let written = sqlx::query(
        "INSERT INTO requests (consumer, route, idempotency_key, tag, made)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (consumer, route, idempotency_key) DO NOTHING",
    )
    .bind(request.consumer.as_str())
    .bind(request.kind.as_str())
    .bind(request.key.as_str())
    .bind(request.tag.as_slice())
    .bind(made)
    .execute(&mut *connection)
    .await?;
    if written.rows_affected() == 1 {
        return Ok(Noted::New);
    }
    let known: Option<(Vec<u8>, String)> = sqlx::query_as(
        "SELECT tag, made FROM requests
         WHERE consumer = $1 AND route = $2 AND idempotency_key = $3",
    )
    .bind(request.consumer.as_str())
    .bind(request.kind.as_str())
    .bind(request.key.as_str())
    .fetch_optional(connection)
    .await?;
    let (tag, made) = known.ok_or(Fault::Restless)?;
    Ok(Noted::by_row(request, &tag, made))
}
