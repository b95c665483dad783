//! The end of an attempt, as its owner reports it.

use pipeline::{AttemptFinished, AttemptId, AttemptOutcome, Request, Scope};

use super::row::{AttemptRow, find, find_in, view};
use crate::backend::{Backend, Sql, query};
use crate::database::Session;
use crate::fault::Fault;
use crate::requests::{self, Noted};

/// Stores the outcome, unless one is stored already: the first report decides.
pub(super) async fn finish<B: Backend>(
    session: Session<B>,
    attempt: AttemptId,
    scope: Scope,
    outcome: AttemptOutcome,
    asked: Option<Request>,
) -> Result<AttemptFinished, Fault> {
    let mut transaction = session.begin().await?;
    let made = attempt.to_string();
    let noted = requests::note::<B>(&mut transaction, asked.as_ref(), &made).await?;
    if let Noted::Reused = noted {
        transaction.rollback().await?;
        return Ok(AttemptFinished::KeyReused);
    }
    // Who may only read the inbox must not end what another waits for.
    let found = find_in::<B>(&mut transaction, attempt, &scope).await?;
    let may_end =
        |row: &AttemptRow| scope.owns(Some(&row.owner)) || scope.owns(row.inbox_owner.as_deref());
    if !found.as_ref().is_some_and(may_end) {
        transaction.rollback().await?;
        return Ok(AttemptFinished::Unknown);
    }
    let written = query::<B>(Sql {
        postgres: "UPDATE attempts SET outcome = $2, finished_at = clock_timestamp()
                   WHERE id = $1 AND outcome IS NULL
                   RETURNING pg_notify('maillatch_arrivals', inbox)",
        sqlite: "UPDATE attempts SET outcome = $2, finished_at = (SELECT now FROM clock)
                 WHERE id = $1 AND outcome IS NULL",
    })
    .bind(attempt.as_uuid())
    .bind(outcome.as_str())
    .execute(&mut transaction)
    .await?;
    let row = find::<B>(&mut transaction, attempt).await?;
    let view = view::<B>(&mut transaction, row.ok_or(Fault::Conflict)?).await?;
    if let Some(other) = view.outcome.filter(|stored| *stored != outcome) {
        transaction.rollback().await?;
        return Ok(AttemptFinished::OtherOutcome(other));
    }
    transaction.commit().await?;
    if written == 1 {
        session.announce(view.inbox.as_str());
    }
    let view = Box::new(view);
    Ok(match noted {
        Noted::Before(_) => AttemptFinished::Repeated(view),
        Noted::New | Noted::Reused => AttemptFinished::Finished(view),
    })
}
