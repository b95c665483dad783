//! Dispatching sends and writing what the provider said: several in one commit.

use std::sync::Arc;
use std::time::Duration;

use pipeline::{Reason, SendClaim, SendPermit, SendResult, SendState, SendWritten};

use super::event::Event;
use super::proof::prove;
use crate::backend::{Backend, Connection, Sql, query};
use crate::database::Session;
use crate::fault::Fault;
use crate::stored::millis;

/// A claimed send that is about to leave.
pub(super) struct Dispatching {
    pub(super) claim: SendClaim,
    pub(super) timeout: Duration,
}

/// A dispatched send, and what the provider said.
pub(super) struct Ended {
    pub(super) claim: SendClaim,
    pub(super) result: SendResult,
}

/// Dispatches in one commit, after which bytes may leave.
pub(super) async fn dispatch_all<B: Backend>(
    session: Session<B>,
    all: Arc<Vec<Dispatching>>,
) -> Result<Vec<SendPermit>, Fault> {
    let mut transaction = session.begin().await?;
    let mut permits = Vec::with_capacity(all.len());
    for dispatching in all.iter() {
        permits.push(dispatch::<B>(&mut transaction, dispatching).await?);
    }
    transaction.commit().await?;
    Ok(permits)
}

/// The statement that permits one request. A claim whose lease ends before the provider's
/// timeout changes no row.
async fn dispatch<B: Backend>(
    connection: &mut Connection<B>,
    Dispatching { claim, timeout }: &Dispatching,
) -> Result<SendPermit, Fault> {
    let written = query::<B>(Sql {
        postgres: "UPDATE sends
                   SET state = 'dispatched', tries = tries + 1,
                       first_dispatched_at = coalesce(first_dispatched_at, clock_timestamp())
                   WHERE id = $1 AND claim_token = $2 AND state = 'claimed'
                     AND lease_until > clock_timestamp() + $3 * interval '1 millisecond'",
        sqlite: "UPDATE sends
                 SET state = 'dispatched', tries = tries + 1,
                     first_dispatched_at = coalesce(first_dispatched_at, (SELECT now FROM clock))
                 WHERE id = $1 AND claim_token = $2 AND state = 'claimed'
                   AND lease_until > (SELECT now FROM clock) + $3",
    })
    .bind(claim.send.as_uuid())
    .bind(claim.token.as_uuid())
    .bind(millis(*timeout))
    .execute(connection)
    .await?;
    if written != 1 {
        return Ok(SendPermit::Lost);
    }
    let event = Event::new("dispatched").with_token(claim.token.as_uuid());
    event.add::<B>(connection, claim.send.as_uuid()).await?;
    Ok(SendPermit::Go)
}

/// Writes results in one commit.
pub(super) async fn end_all<B: Backend>(
    session: Session<B>,
    all: Arc<Vec<Ended>>,
) -> Result<Vec<SendWritten>, Fault> {
    let mut transaction = session.begin().await?;
    let mut written = Vec::with_capacity(all.len());
    for ended in all.iter() {
        written.push(end::<B>(&mut transaction, ended).await?);
    }
    transaction.commit().await?;
    for ended in all.iter() {
        session.announce(&ended.claim.send.to_string());
    }
    Ok(written)
}

async fn end<B: Backend>(
    connection: &mut Connection<B>,
    Ended { claim, result }: &Ended,
) -> Result<SendWritten, Fault> {
    let id = claim.send.as_uuid();
    let (state, wait, reason) = match result {
        SendResult::Sent(receipt) => {
            return prove::<B>(connection, id, receipt.as_ref(), None).await;
        }
        SendResult::NotSent(wait, reason) => (SendState::Ready, *wait, reason),
        SendResult::Refused(reason) => (SendState::Failed, Duration::ZERO, reason),
        SendResult::Maybe(wait, reason) => (SendState::Uncertain, *wait, reason),
    };
    let Some(state) = leave::<B>(connection, *claim, (state, wait, reason)).await? else {
        return Ok(SendWritten::Lost);
    };
    let what = match state {
        SendState::Ready => "not_sent",
        other => other.as_str(),
    };
    let event = Event::new(what).because(reason.as_str());
    event.add::<B>(connection, id).await?;
    Ok(SendWritten::Done(state))
}

/// Takes a send out of `dispatched`, under the claim of the dispatch; returns its state. What
/// may have been sent by an earlier dispatch has not failed: it is uncertain without a due
/// time, so the operator decides.
async fn leave<B: Backend>(
    connection: &mut Connection<B>,
    claim: SendClaim,
    (state, wait, reason): (SendState, Duration, &Reason),
) -> Result<Option<SendState>, Fault> {
    let state: Option<String> = query::<B>(Sql {
        postgres: "UPDATE sends
                   SET state = CASE WHEN $3 = 'failed' AND may_have_been_sent
                                    THEN 'uncertain' ELSE $3 END,
                       reason = $4, claim_token = NULL, lease_until = NULL,
                       may_have_been_sent = may_have_been_sent OR $3 = 'uncertain',
                       due_at = CASE WHEN $3 <> 'failed'
                                     THEN clock_timestamp() + $5 * interval '1 millisecond' END,
                       finished_at = CASE WHEN $3 = 'failed' AND NOT may_have_been_sent
                                          THEN clock_timestamp() END
                   WHERE id = $1 AND claim_token = $2 AND state = 'dispatched'
                   RETURNING state",
        sqlite: "UPDATE sends
                 SET state = CASE WHEN $3 = 'failed' AND may_have_been_sent
                                  THEN 'uncertain' ELSE $3 END,
                     reason = $4, claim_token = NULL, lease_until = NULL,
                     may_have_been_sent = may_have_been_sent OR $3 = 'uncertain',
                     due_at = CASE WHEN $3 <> 'failed' THEN (SELECT now FROM clock) + $5 END,
                     finished_at = CASE WHEN $3 = 'failed' AND NOT may_have_been_sent
                                        THEN (SELECT now FROM clock) END
                 WHERE id = $1 AND claim_token = $2 AND state = 'dispatched'
                 RETURNING state",
    })
    .bind(claim.send.as_uuid())
    .bind(claim.token.as_uuid())
    .bind(state.as_str())
    .bind(reason.as_str())
    .bind(millis(wait))
    .scalar(connection)
    .await?;
    let word = |word: String| SendState::from_word(&word).ok_or(Fault::Damaged("state"));
    state.map(word).transpose()
}
