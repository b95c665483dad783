//! The outbox: claimed by one, dispatched once, and what became of it.

use std::time::Duration;

use pipeline::{
    NewSend, OperatorSettlement, Reason, Receipt, SendClaim, SendDecided, SendDecision, SendPermit,
    SendRecorded, SendResult, SendState, SendWritten,
};
use tokio::task::JoinSet;

use super::SendSubject;
use super::fixtures::{OVER, claim_one, claim_ready, new_send, now, recorded, shop};
use crate::store_contract::{LONG, must};
use crate::wait::{soon, until, until_quiet};

/// Shorter than [`LONG`].
const TIMEOUT: Duration = Duration::from_secs(30);

const WHY: Reason = Reason::new("test");

fn receipt() -> Receipt {
    must("re_1".parse())
}

async fn dispatch(subject: &dyn SendSubject, claim: SendClaim) -> SendPermit {
    must(subject.outbox().dispatch(claim, TIMEOUT).await)
}

async fn end(subject: &dyn SendSubject, claim: SendClaim, result: SendResult) -> SendWritten {
    must(subject.outbox().end_dispatch(claim, result).await)
}

/// Records, claims and dispatches a send.
pub(super) async fn dispatched(
    subject: &dyn SendSubject,
    entity: &str,
    lease: Duration,
) -> SendClaim {
    recorded(subject, entity).await;
    let claim = claim_one(subject, lease).await.claim;
    let permit = subject.outbox().dispatch(claim, Duration::ZERO).await;
    assert_eq!(must(permit), SendPermit::Go);
    claim
}

/// A dispatched send whose lease is over.
pub(super) async fn abandoned(subject: &dyn SendSubject, entity: &str) -> SendClaim {
    // The shortest lease with which a dispatch succeeds, however slow the machine is,
    // is tried until it does.
    for millis in [50, 500, 5000] {
        let lease = Duration::from_millis(millis);
        recorded_once(subject, entity).await;
        let claim = claim_one(subject, lease).await.claim;
        let permit = subject.outbox().dispatch(claim, Duration::ZERO).await;
        if must(permit) == SendPermit::Go {
            until("the lease to end", || async {
                let expired = must(subject.outbox().expire_leases().await);
                (expired.uncertain > 0).then_some(())
            })
            .await;
            return claim;
        }
        must(subject.outbox().expire_leases().await);
    }
    panic!("no lease was long enough");
}

async fn recorded_once(subject: &dyn SendSubject, entity: &str) {
    must(subject.sends().record_send(new_send(entity)).await);
}

/// A send is ready when it is recorded, approved, or settled as not sent by the operator.
/// The watch of another sender hears nothing.
pub async fn ready_send_wakes_the_outbox_of_its_sender(subject: &dyn SendSubject) {
    let by = must("operator".parse());
    let mut other = subject.outbox().watch_ready(&must("other".parse()));
    let mut watch = subject.outbox().watch_ready(&shop());
    until_quiet(&mut *watch).await;
    until_quiet(&mut *other).await;
    recorded(subject, "order").await;
    soon("a recorded send wakes", watch.changed()).await;

    let held = NewSend {
        hold: Some(LONG),
        ..new_send("held")
    };
    let SendRecorded::New(held) = must(subject.sends().record_send(held).await) else {
        panic!("the intent is new");
    };
    until_quiet(&mut *watch).await;
    let approve = SendDecision::Approve;
    must(subject.sends().decide_send(held.id, approve, &by).await);
    soon("an approved send wakes", watch.changed()).await;

    for send in claim_ready(subject, LONG).await {
        must(subject.outbox().dispatch(send.claim, TIMEOUT).await);
        end(subject, send.claim, SendResult::Maybe(LONG, WHY)).await;
    }
    until_quiet(&mut *watch).await;
    let retry = OperatorSettlement::Retry;
    must(subject.sends().settle_send(held.id, retry, &by).await);
    soon("a send to retry wakes", watch.changed()).await;
    let quiet = tokio::time::timeout(Duration::from_millis(1), other.changed()).await;
    assert!(quiet.is_err(), "the watch of another sender woke");
}

/// The bytes are those that were recorded.
pub async fn claimed_send_has_what_was_recorded(subject: &dyn SendSubject) {
    let view = recorded(subject, "order").await;
    let send = new_send("order");
    let claimed = claim_one(subject, LONG).await;
    assert_eq!(claimed.claim.send, view.id);
    assert_eq!(claimed.payload, send.payload);
    assert_eq!(claimed.to, send.to);
    assert_eq!(claimed.key, send.key);
    assert_eq!(claimed.message_id, send.message_id);
    assert_eq!((claimed.provider.as_str(), claimed.tries), ("resend", 0));
    assert_eq!(claimed.since_first_dispatch, None);
    let other = must("other".parse());
    recorded(subject, "second").await;
    let none = must(subject.outbox().claim_ready(&[other], 10, LONG).await);
    assert!(none.is_empty(), "of another sender");
}

/// Many processes look at the same time.
pub async fn of_many_dispatchers_one_claims_a_send(subject: &dyn SendSubject) {
    for n in 0..10 {
        recorded(subject, &format!("order-{n}")).await;
    }
    let mut tasks = JoinSet::new();
    for _ in 0..10 {
        let outbox = subject.outbox();
        tasks.spawn(async move { must(outbox.claim_ready(&[shop()], 10, LONG).await) });
    }
    let claimed: Vec<_> = tasks.join_all().await.into_iter().flatten().collect();
    let mut ids: Vec<_> = claimed.iter().map(|send| send.claim.send).collect();
    ids.sort();
    ids.dedup();
    assert_eq!((claimed.len(), ids.len()), (10, 10));
}

/// Nothing was sent, so it may be claimed again.
pub async fn claim_without_a_dispatch_is_ready_again(subject: &dyn SendSubject) {
    recorded(subject, "order").await;
    let first = claim_one(subject, OVER).await;
    assert!(claim_ready(subject, LONG).await.is_empty());
    let expired = must(subject.outbox().expire_leases().await);
    assert_eq!((expired.ready, expired.uncertain), (1, 0));
    let second = claim_one(subject, LONG).await;
    assert_ne!(second.claim.token, first.claim.token);
    assert_eq!(dispatch(subject, first.claim).await, SendPermit::Lost);
    assert_eq!(dispatch(subject, second.claim).await, SendPermit::Go);
}

/// Otherwise the lease could end while the provider accepts it.
pub async fn dispatch_needs_a_lease_longer_than_the_timeout(subject: &dyn SendSubject) {
    recorded(subject, "order").await;
    let claim = claim_one(subject, TIMEOUT).await.claim;
    assert_eq!(dispatch(subject, claim).await, SendPermit::Lost);
    assert_eq!(now(subject, claim.send).await.state, SendState::Claimed);
}

/// A worker that stood still wakes up too late.
pub async fn lost_claim_is_not_dispatched(subject: &dyn SendSubject) {
    recorded(subject, "order").await;
    let frozen = claim_one(subject, OVER).await.claim;
    assert_eq!(dispatch(subject, frozen).await, SendPermit::Lost);
    must(subject.outbox().expire_leases().await);
    assert_eq!(dispatch(subject, frozen).await, SendPermit::Lost);
    assert_eq!(now(subject, frozen.send).await.tries, 0);
}

/// A second dispatch under the same claim changes nothing.
pub async fn send_is_dispatched_once(subject: &dyn SendSubject) {
    let claim = dispatched(subject, "order", LONG).await;
    assert_eq!(dispatch(subject, claim).await, SendPermit::Lost);
    assert!(claim_ready(subject, LONG).await.is_empty());
    let view = now(subject, claim.send).await;
    assert_eq!((view.state, view.tries), (SendState::Dispatched, 1));
    assert!(view.first_dispatched_at.is_some());
    let by = must("operator".parse());
    let cancelled = subject
        .sends()
        .decide_send(claim.send, SendDecision::Cancel, &by)
        .await;
    assert!(matches!(must(cancelled), SendDecided::NotNow(_)));
}

/// Each meaning of an answer has its state.
pub async fn results_of_a_dispatch_lead_to_their_states(subject: &dyn SendSubject) {
    for (entity, result, state) in [
        ("sent", SendResult::Sent(Some(receipt())), SendState::Sent),
        ("later", SendResult::NotSent(LONG, WHY), SendState::Ready),
        ("refused", SendResult::Refused(WHY), SendState::Failed),
        ("maybe", SendResult::Maybe(LONG, WHY), SendState::Uncertain),
    ] {
        let claim = dispatched(subject, entity, LONG).await;
        let written = end(subject, claim, result.clone()).await;
        assert_eq!(written, SendWritten::Done(state), "{entity}");
        let view = now(subject, claim.send).await;
        assert_eq!(view.state, state);
        assert_eq!(view.receipt.is_some(), state == SendState::Sent);
        assert_eq!(view.finished_at.is_some(), view.state.is_final());
        // The claim has ended; only proof is still accepted under it.
        if state != SendState::Sent {
            assert_eq!(end(subject, claim, result).await, SendWritten::Lost);
        }
    }
    assert!(claim_ready(subject, LONG).await.is_empty(), "due later");
    let again = dispatched(subject, "soon", LONG).await;
    end(subject, again, SendResult::NotSent(Duration::ZERO, WHY)).await;
    let retried = claim_one(subject, LONG).await;
    assert_eq!((retried.claim.send, retried.tries), (again.send, 1));
    assert!(retried.since_first_dispatch.is_some());
}

/// The process died, or the provider was silent.
pub async fn dispatch_without_a_result_is_uncertain(subject: &dyn SendSubject) {
    let claim = abandoned(subject, "order").await;
    let view = now(subject, claim.send).await;
    assert_eq!(view.state, SendState::Uncertain);
    assert!(claim_ready(subject, LONG).await.is_empty());
}

/// Only the holder of the lease may say that nothing was sent.
pub async fn negative_result_after_the_lease_is_lost(subject: &dyn SendSubject) {
    let claim = abandoned(subject, "order").await;
    for result in [
        SendResult::NotSent(Duration::ZERO, WHY),
        SendResult::Refused(WHY),
        SendResult::Maybe(LONG, WHY),
    ] {
        assert_eq!(end(subject, claim, result).await, SendWritten::Lost);
    }
    assert_eq!(now(subject, claim.send).await.state, SendState::Uncertain);
}

/// A zombie that comes back with an acceptance is believed.
pub async fn proof_of_sent_is_accepted_in_every_state(subject: &dyn SendSubject) {
    let by = must("operator".parse());
    let sent = || SendResult::Sent(Some(receipt()));
    let late = abandoned(subject, "uncertain").await;
    let written = end(subject, late, sent()).await;
    assert_eq!(written, SendWritten::Late(SendState::Uncertain));
    let again = end(subject, late, sent()).await;
    assert_eq!(again, SendWritten::Done(SendState::Sent));

    let failed = dispatched(subject, "failed", LONG).await;
    end(subject, failed, SendResult::Refused(WHY)).await;
    let written = end(subject, failed, sent()).await;
    assert_eq!(written, SendWritten::Late(SendState::Failed));

    let retried = dispatched(subject, "ready", LONG).await;
    end(subject, retried, SendResult::NotSent(LONG, WHY)).await;
    let settled = subject
        .sends()
        .settle_send(retried.send, OperatorSettlement::Sent(Some(receipt())), &by)
        .await;
    assert!(matches!(must(settled), SendDecided::Done(_)));
    for claim in [late, failed, retried] {
        let view = now(subject, claim.send).await;
        assert_eq!(
            (view.state, view.receipt),
            (SendState::Sent, Some(receipt()))
        );
    }
}

/// A send that was settled as unsent, and that another process has claimed since, is not
/// dispatched again.
pub async fn proof_of_sent_takes_the_claim_of_another(subject: &dyn SendSubject) {
    let first = dispatched(subject, "order", LONG).await;
    end(subject, first, SendResult::NotSent(Duration::ZERO, WHY)).await;
    let second = claim_one(subject, LONG).await.claim;
    let written = end(subject, first, SendResult::Sent(Some(receipt()))).await;
    assert_eq!(written, SendWritten::Late(SendState::Claimed));
    assert_eq!(dispatch(subject, second).await, SendPermit::Lost);
}
