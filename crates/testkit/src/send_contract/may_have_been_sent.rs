//! Sends that are handed over once more although they may have been sent: they never end as
//! not sent, unless the operator says so.

use std::time::Duration;

use pipeline::{
    OperatorSettlement, Reason, SendClaim, SendDecided, SendDecision, SendId, SendPermit,
    SendResult, SendState, SendWritten, Settlement,
};

use super::SendSubject;
use super::fixtures::{
    OVER, claim_one, claim_ready, claim_uncertain, new_send, now, recorded, shop,
};
use super::outbox::{abandoned, dispatched};
use super::settling::uncertain;
use crate::store_contract::{LONG, must};

const POLICY: Reason = Reason::new("retry_policy");
const REFUSED: Reason = Reason::new("refused_by_provider");

/// The configuration of its sender makes the only uncertain send ready.
async fn sent_again_by_policy(subject: &dyn SendSubject) -> SendId {
    let claim = claim_uncertain(subject, LONG).await.claim;
    let unsent = Settlement::Retry(POLICY);
    let written = must(subject.outbox().settle(claim, unsent).await);
    assert_eq!(written, SendWritten::Done(SendState::Ready));
    claim.send
}

/// Dispatches the only ready send.
async fn dispatched_again(subject: &dyn SendSubject) -> SendClaim {
    let claim = claim_one(subject, LONG).await.claim;
    let permit = subject.outbox().dispatch(claim, Duration::ZERO).await;
    assert_eq!(must(permit), SendPermit::Go);
    claim
}

async fn end(subject: &dyn SendSubject, claim: SendClaim, result: SendResult) -> SendWritten {
    must(subject.outbox().end_dispatch(claim, result).await)
}

async fn cancel(subject: &dyn SendSubject, send: SendId) -> SendDecided {
    let by = must("agent".parse());
    let cancel = SendDecision::Cancel;
    must(subject.sends().decide_send(send, cancel, &by).await)
}

async fn operator_retries(subject: &dyn SendSubject, send: SendId) {
    let (by, retry) = (must("operator".parse()), OperatorSettlement::Retry);
    let settled = must(subject.sends().settle_send(send, retry, &by).await);
    assert!(matches!(settled, SendDecided::Done(_)), "{settled:?}");
}

/// It waits for the operator: nothing is due any more.
async fn expect_uncertain(subject: &dyn SendSubject, send: SendId, reason: Reason) {
    let view = now(subject, send).await;
    assert_eq!((view.state, view.finished_at), (SendState::Uncertain, None));
    assert_eq!(view.reason, Some(reason.clone()));
    let due = subject.outbox().claim_uncertain(&[shop()], 10, LONG).await;
    assert!(must(due).is_empty(), "it is due");
    assert!(claim_ready(subject, LONG).await.is_empty(), "it is ready");
    let events = must(subject.sends().send_events(send).await);
    let last = events.into_iter().next_back();
    let last = last.map(|event| (event.what, event.why));
    assert_eq!(last, Some((Reason::new("uncertain"), Some(reason))));
}

/// What the provider says about the second dispatch says nothing about the first one.
pub async fn refusal_of_what_may_have_been_sent_is_uncertain(subject: &dyn SendSubject) {
    let silent = uncertain(subject, "silent").await.send;
    assert_eq!(sent_again_by_policy(subject).await, silent);
    let second = dispatched_again(subject).await;
    let written = end(subject, second, SendResult::Refused(REFUSED)).await;
    assert_eq!(written, SendWritten::Done(SendState::Uncertain));
    expect_uncertain(subject, silent, REFUSED).await;
    let again = end(subject, second, SendResult::Refused(REFUSED)).await;
    assert_eq!(again, SendWritten::Lost);

    let dead = abandoned(subject, "dead").await.send;
    assert_eq!(sent_again_by_policy(subject).await, dead);
    let second = dispatched_again(subject).await;
    end(subject, second, SendResult::Refused(REFUSED)).await;
    expect_uncertain(subject, dead, REFUSED).await;
}

/// Neither a dispatch that proves to have sent nothing nor a claim without one changes what
/// is known of the first dispatch.
pub async fn giving_up_what_may_have_been_sent_is_uncertain(subject: &dyn SendSubject) {
    let send = uncertain(subject, "order").await.send;
    sent_again_by_policy(subject).await;
    let second = dispatched_again(subject).await;
    let later = SendResult::NotSent(Duration::ZERO, Reason::new("rate_limited"));
    let written = end(subject, second, later).await;
    assert_eq!(written, SendWritten::Done(SendState::Ready));
    claim_one(subject, OVER).await;
    assert_eq!(must(subject.outbox().expire_leases().await).ready, 1);
    let third = dispatched_again(subject).await;
    let gave_up = Reason::new("gave_up");
    end(subject, third, SendResult::Refused(gave_up.clone())).await;
    expect_uncertain(subject, send, gave_up).await;
}

/// It is sent again, and its content stays. What provably was not sent is cancelled.
pub async fn what_may_have_been_sent_is_not_cancelled(subject: &dyn SendSubject) {
    let send = uncertain(subject, "order").await.send;
    sent_again_by_policy(subject).await;
    let SendDecided::NotNow(view) = cancel(subject, send).await else {
        panic!("it may be sent");
    };
    assert_eq!((view.id, view.state), (send, SendState::Ready));
    let claimed = claim_one(subject, OVER).await;
    assert_eq!(claimed.payload, new_send("order").payload);
    must(subject.outbox().expire_leases().await);
    let late = cancel(subject, send).await;
    assert!(matches!(late, SendDecided::NotNow(_)), "{late:?}");
    let again = dispatched_again(subject).await;
    end(subject, again, SendResult::Sent(None)).await;

    let refused = dispatched(subject, "later", LONG).await;
    end(subject, refused, SendResult::NotSent(LONG, REFUSED)).await;
    let cancelled = cancel(subject, refused.send).await;
    assert!(matches!(cancelled, SendDecided::Done(_)), "{cancelled:?}");
}

/// The operator's retry says that it was not sent, also after a retry of the configuration.
pub async fn after_the_operators_retry_a_send_can_fail_or_be_cancelled(subject: &dyn SendSubject) {
    let send = uncertain(subject, "refused").await.send;
    sent_again_by_policy(subject).await;
    let second = dispatched_again(subject).await;
    end(subject, second, SendResult::Refused(REFUSED)).await;
    operator_retries(subject, send).await;
    let third = dispatched_again(subject).await;
    assert_eq!(third.send, send);
    let written = end(subject, third, SendResult::Refused(REFUSED)).await;
    assert_eq!(written, SendWritten::Done(SendState::Failed));

    let send = uncertain(subject, "cancelled").await.send;
    operator_retries(subject, send).await;
    let cancelled = cancel(subject, send).await;
    assert!(matches!(cancelled, SendDecided::Done(_)), "{cancelled:?}");

    // A send that was never in doubt ends as before.
    recorded(subject, "new").await;
    let first = dispatched_again(subject).await;
    let written = end(subject, first, SendResult::Refused(REFUSED)).await;
    assert_eq!(written, SendWritten::Done(SendState::Failed));
}
