//! Settling sends that are uncertain.

use std::time::Duration;

use pipeline::{SendClaim, SendPermit, SendState, SendWritten, Settlement};

use super::event::Event;
use super::proof::prove;
use crate::backend::{Backend, Sql, query};
use crate::database::Session;
use crate::fault::Fault;
use crate::stored::millis;

/// Commits that an uncertain send is handed to its provider again.
pub(super) async fn permit_replay<B: Backend>(
    session: Session<B>,
    claim: SendClaim,
    timeout: Duration,
    window: Duration,
) -> Result<SendPermit, Fault> {
    let id = claim.send.as_uuid();
    let mut transaction = session.begin().await?;
    let is_in_window: Option<bool> = query::<B>(Sql {
        postgres: "UPDATE sends
                   SET tries = tries
                       + (first_dispatched_at + $4 * interval '1 millisecond'
                          > clock_timestamp())::int
                   WHERE id = $1 AND claim_token = $2 AND state = 'uncertain'
                     AND lease_until > clock_timestamp() + $3 * interval '1 millisecond'
                   RETURNING first_dispatched_at + $4 * interval '1 millisecond'
                             > clock_timestamp()",
        sqlite: "UPDATE sends
                 SET tries = tries + (first_dispatched_at + $4 > (SELECT now FROM clock))
                 WHERE id = $1 AND claim_token = $2 AND state = 'uncertain'
                   AND lease_until > (SELECT now FROM clock) + $3
                 RETURNING first_dispatched_at + $4 > (SELECT now FROM clock)",
    })
    .bind(id)
    .bind(claim.token.as_uuid())
    .bind(millis(timeout))
    .bind(millis(window))
    .scalar(&mut transaction)
    .await?;
    let permit = match is_in_window {
        Some(true) => SendPermit::Go,
        Some(false) => SendPermit::WindowOver,
        None => SendPermit::Lost,
    };
    if permit == SendPermit::Go {
        let event = Event::new("replayed").with_token(claim.token.as_uuid());
        event.add::<B>(&mut transaction, id).await?;
        transaction.commit().await?;
    } else {
        transaction.rollback().await?;
    }
    Ok(permit)
}

pub(super) async fn settle<B: Backend>(
    session: Session<B>,
    claim: SendClaim,
    settlement: Settlement,
) -> Result<SendWritten, Fault> {
    let id = claim.send.as_uuid();
    let mut transaction = session.begin().await?;
    let (state, wait, reason) = match &settlement {
        Settlement::Sent(receipt) => {
            let written = prove::<B>(&mut transaction, id, receipt.as_ref(), None).await?;
            transaction.commit().await?;
            session.announce(&claim.send.to_string());
            return Ok(written);
        }
        Settlement::Retry(reason) => (SendState::Ready, Some(Duration::ZERO), reason),
        Settlement::Unknown(wait, reason) => (SendState::Uncertain, *wait, reason),
    };
    // An uncertain send may have been sent. This is written here too, because a process of the
    // previous version did not write it when the send became uncertain.
    let written = query::<B>(Sql {
        postgres: "UPDATE sends
                   SET state = $3, reason = $4, claim_token = NULL, lease_until = NULL,
                       may_have_been_sent = true,
                       due_at = clock_timestamp() + $5 * interval '1 millisecond'
                   WHERE id = $1 AND claim_token = $2 AND state = 'uncertain'",
        sqlite: "UPDATE sends
                 SET state = $3, reason = $4, claim_token = NULL, lease_until = NULL,
                     may_have_been_sent = true,
                     due_at = (SELECT now FROM clock) + $5
                 WHERE id = $1 AND claim_token = $2 AND state = 'uncertain'",
    })
    .bind(id)
    .bind(claim.token.as_uuid())
    .bind(state.as_str())
    .bind(reason.as_str())
    .bind(wait.map(millis))
    .execute(&mut transaction)
    .await?;
    if written != 1 {
        transaction.rollback().await?;
        return Ok(SendWritten::Lost);
    }
    let what = match state {
        SendState::Ready => "settled_unsent",
        _ => "still_uncertain",
    };
    let event = Event::new(what).because(reason.as_str());
    event.add::<B>(&mut transaction, id).await?;
    transaction.commit().await?;
    session.announce(&claim.send.to_string());
    Ok(SendWritten::Done(state))
}
