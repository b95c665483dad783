//! Mail that did not give an attempt what it waits for, and why.

use pipeline::{GIVEN_TO_ANOTHER_ATTEMPT, Miss, MissKind};
use uuid::Uuid;

use crate::backend::{Backend, Connection, Sql, query};
use crate::column::{List, Moment};
use crate::fault::Fault;

/// Notes for an attempt why a mail did not give it anything.
pub(crate) async fn note<B: Backend>(
    connection: &mut Connection<B>,
    miss: &Miss,
    received_at: Moment,
) -> Result<(), Fault> {
    query::<B>(Sql::both(
        "UPDATE attempts SET miss = $2, miss_reason = $3, miss_seen = $5
         WHERE id = $1 AND outcome IS NULL AND opened_at <= $4 AND deadline > $4",
    ))
    .bind(miss.attempt.as_uuid())
    .bind(miss.kind.as_str())
    .bind(miss.reason.as_str())
    .bind(received_at)
    .bind(miss.seen.clone())
    .execute(connection)
    .await?;
    Ok(())
}

/// Notes for a new attempt why earlier mail does not give it anything.
pub(crate) async fn note_earlier<B: Backend>(
    connection: &mut Connection<B>,
    miss: &Miss,
) -> Result<(), Fault> {
    query::<B>(Sql::both(
        "UPDATE attempts SET miss = $2, miss_reason = $3, miss_seen = $4 WHERE id = $1",
    ))
    .bind(miss.attempt.as_uuid())
    .bind(miss.kind.as_str())
    .bind(miss.reason.as_str())
    .bind(miss.seen.clone())
    .execute(connection)
    .await?;
    Ok(())
}

/// Notes for attempts that a mail which matched them went to another. A reason that an
/// attempt already has stays: it says more.
pub(crate) async fn note_given_away<B: Backend>(
    connection: &mut Connection<B>,
    attempts: Vec<Uuid>,
) -> Result<(), Fault> {
    query::<B>(Sql {
        postgres: "UPDATE attempts SET miss = $2, miss_reason = $3
             WHERE id = ANY($1) AND miss IS NULL",
        sqlite: "UPDATE attempts SET miss = $2, miss_reason = $3
             WHERE id IN (SELECT unhex(value) FROM json_each($1)) AND miss IS NULL",
    })
    .bind(List(attempts))
    .bind(MissKind::NoArtifact.as_str())
    .bind(GIVEN_TO_ANOTHER_ATTEMPT.as_str())
    .execute(connection)
    .await?;
    Ok(())
}
