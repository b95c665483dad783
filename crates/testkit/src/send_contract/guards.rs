//! Guards: of all who claim an intent, one may act.

use std::time::Duration;

use pipeline::{
    ClaimToken, GuardClaim, GuardClaimed, GuardId, GuardReported, GuardRequest, OperatorSettlement,
    Receipt, SendDecided, SendKind, SendRecorded, SendState,
};
use tokio::task::JoinSet;

use super::SendSubject;
use super::fixtures::{OVER, claimed, guard, key, label, new_send, recorded, shop};
use crate::store_contract::{LONG, must};

fn id(claim: &GuardClaim) -> GuardId {
    GuardId::from_uuid(claim.guard.id.as_uuid())
}

fn receipt(text: &str) -> Receipt {
    must(text.parse())
}

async fn claim(subject: &dyn SendSubject, request: GuardRequest) -> GuardClaimed {
    must(subject.guards().claim_guard(request).await)
}

/// How many of fifty concurrent claims may act; all others are in progress.
async fn fifty_claims(subject: &dyn SendSubject, entity: &str) -> usize {
    let mut tasks = JoinSet::new();
    for n in 0..50 {
        let guards = subject.guards();
        let request = GuardRequest {
            by: must(format!("agent-{}", n % 2).parse()),
            ..guard(entity)
        };
        tasks.spawn(async move { must(guards.claim_guard(request).await) });
    }
    let mut yours = 0;
    for answer in tasks.join_all().await {
        match answer {
            GuardClaimed::Yours(_) => yours += 1,
            GuardClaimed::InProgress(view, wait) => {
                assert_eq!(view.state, SendState::Dispatched);
                assert!(wait > Duration::from_mins(50), "{wait:?}");
            }
            other => panic!("{other:?}"),
        }
    }
    yours
}

/// The unique key decides, for every caller.
pub async fn of_fifty_claims_of_one_intent_one_succeeds(subject: &dyn SendSubject) {
    for round in 0..4 {
        assert_eq!(fifty_claims(subject, &format!("order-{round}")).await, 1);
    }
}

/// A released guard is free for one.
pub async fn of_fifty_claims_after_a_release_one_succeeds(subject: &dyn SendSubject) {
    for round in 0..4 {
        let entity = format!("order-{round}");
        let first = claimed(subject, &entity, LONG).await;
        must(
            subject
                .guards()
                .release_guard(id(&first), first.token)
                .await,
        );
        assert_eq!(fifty_claims(subject, &entity).await, 1);
    }
}

/// The answer names the guard and its state, and not its token.
pub async fn claimed_guard_is_in_progress_for_others(subject: &dyn SendSubject) {
    let first = claimed(subject, "order", LONG).await;
    assert_eq!(first.guard.kind, SendKind::Guard);
    assert_eq!(first.guard.state, SendState::Dispatched);
    assert_eq!(first.guard.label, Some(label("order")));
    assert!(first.guard.lease_until.is_some());
    let GuardClaimed::InProgress(view, _) = claim(subject, guard("order")).await else {
        panic!("the intent is claimed");
    };
    assert_eq!(view.id, first.guard.id);
    let shown = must(subject.guards().guard(id(&first)).await);
    assert_eq!(shown.map(|view| view.state), Some(SendState::Dispatched));
}

/// The stored result is given to all who ask later, and the first one stays.
pub async fn confirmed_guard_is_done_for_all(subject: &dyn SendSubject) {
    let first = claimed(subject, "order", LONG).await;
    let guards = subject.guards();
    let confirm = async |text: &str| {
        must(
            guards
                .confirm_guard(id(&first), first.token, Some(receipt(text)))
                .await,
        )
    };
    let GuardReported::Done(view, _) = confirm("ticket-1").await else {
        panic!("the token is right");
    };
    assert_eq!(view.state, SendState::Sent);
    let GuardReported::AlreadyDone(again) = confirm("ticket-2").await else {
        panic!("it is done");
    };
    assert_eq!(again.receipt, Some(receipt("ticket-1")));
    let GuardClaimed::AlreadyDone(done, false) = claim(subject, guard("order")).await else {
        panic!("it is done");
    };
    assert_eq!(done.receipt, Some(receipt("ticket-1")));
    let released = must(guards.release_guard(id(&first), first.token).await);
    assert!(
        matches!(released, GuardReported::AlreadyDone(_)),
        "{released:?}"
    );
}

/// The next holder has a token of its own.
pub async fn released_guard_is_claimed_with_another_token(subject: &dyn SendSubject) {
    let first = claimed(subject, "order", LONG).await;
    let guards = subject.guards();
    let released = must(guards.release_guard(id(&first), first.token).await);
    let GuardReported::Done(view, _) = released else {
        panic!("{released:?}");
    };
    assert_eq!(view.state, SendState::Ready);
    let second = claimed(subject, "order", LONG).await;
    assert_eq!(second.guard.id, first.guard.id);
    assert_ne!(second.token, first.token);
    assert_eq!(second.guard.tries, 2);
}

/// It is unknown whether the last holder acted.
pub async fn guard_without_a_report_is_uncertain_and_not_claimable(subject: &dyn SendSubject) {
    let first = claimed(subject, "order", OVER).await;
    let shown = must(subject.guards().guard(id(&first)).await);
    assert_eq!(shown.map(|view| view.state), Some(SendState::Uncertain));
    let listed = must(subject.sends().sends(SendState::Uncertain, None, 10).await);
    assert_eq!(listed.len(), 1, "before its state was stored");
    let counts = must(subject.outbox().count_sends().await);
    let counts: Vec<_> = counts.iter().map(|it| (it.state, it.count)).collect();
    assert_eq!(counts, [(SendState::Uncertain, 1)]);
    for _ in 0..2 {
        let answer = claim(subject, guard("order")).await;
        assert!(matches!(answer, GuardClaimed::Uncertain(_)), "{answer:?}");
    }
    claimed(subject, "other", OVER).await;
    let expired = must(subject.outbox().expire_leases().await);
    assert_eq!((expired.ready, expired.uncertain), (0, 1));
    let answer = claim(subject, guard("other")).await;
    assert!(matches!(answer, GuardClaimed::Uncertain(_)), "{answer:?}");
}

/// A caller that acted may report it late, before and after the state was stored.
pub async fn late_confirm_is_accepted_after_the_lease(subject: &dyn SendSubject) {
    for is_stored in [false, true] {
        let entity = format!("order-{is_stored}");
        let first = claimed(subject, &entity, OVER).await;
        if is_stored {
            must(subject.outbox().expire_leases().await);
        }
        let confirmed = subject
            .guards()
            .confirm_guard(id(&first), first.token, Some(receipt("late")))
            .await;
        let GuardReported::Done(view, _) = must(confirmed) else {
            panic!("it is proof");
        };
        assert_eq!(view.state, SendState::Sent);
        let answer = claim(subject, guard(&entity)).await;
        assert!(
            matches!(answer, GuardClaimed::AlreadyDone(..)),
            "{answer:?}"
        );
    }
}

/// A holder whose guard was given to another did act.
pub async fn confirm_with_an_older_token_is_accepted(subject: &dyn SendSubject) {
    let first = claimed(subject, "order", OVER).await;
    let by = must("operator".parse());
    let settled = subject
        .sends()
        .settle_send(first.guard.id, OperatorSettlement::Retry, &by)
        .await;
    assert!(matches!(must(settled), SendDecided::Done(_)));
    let second = claimed(subject, "order", LONG).await;
    let guards = subject.guards();
    let late = guards
        .confirm_guard(id(&first), first.token, Some(receipt("first")))
        .await;
    assert!(matches!(must(late), GuardReported::Done(..)));
    let own = guards
        .confirm_guard(id(&second), second.token, Some(receipt("second")))
        .await;
    let GuardReported::AlreadyDone(view) = must(own) else {
        panic!("the first proof stays");
    };
    assert_eq!(view.receipt, Some(receipt("first")));
}

/// A stale token changes nothing.
pub async fn release_and_extend_with_an_older_token_are_refused(subject: &dyn SendSubject) {
    let first = claimed(subject, "order", LONG).await;
    let guards = subject.guards();
    must(guards.release_guard(id(&first), first.token).await);
    let second = claimed(subject, "order", LONG).await;
    for answer in [
        must(guards.release_guard(id(&first), first.token).await),
        must(guards.extend_guard(id(&first), first.token, LONG).await),
    ] {
        assert!(matches!(answer, GuardReported::StaleToken(_)), "{answer:?}");
    }
    let answer = claim(subject, guard("order")).await;
    assert!(matches!(answer, GuardClaimed::InProgress(..)), "{answer:?}");
    let own = must(guards.release_guard(id(&second), second.token).await);
    assert!(matches!(own, GuardReported::Done(..)), "{own:?}");
}

/// After the deadline it is too late to say that nothing was done.
pub async fn release_after_the_lease_is_refused(subject: &dyn SendSubject) {
    let first = claimed(subject, "order", OVER).await;
    let guards = subject.guards();
    for answer in [
        must(guards.release_guard(id(&first), first.token).await),
        must(guards.extend_guard(id(&first), first.token, LONG).await),
        must(guards.release_guard(id(&first), first.token).await),
    ] {
        assert!(matches!(answer, GuardReported::LeaseOver(_)), "{answer:?}");
    }
    let answer = claim(subject, guard("order")).await;
    assert!(matches!(answer, GuardClaimed::Uncertain(_)), "{answer:?}");
}

/// The new lease counts from now.
pub async fn extended_guard_holds_longer(subject: &dyn SendSubject) {
    let first = claimed(subject, "order", Duration::from_mins(1)).await;
    let extended = subject
        .guards()
        .extend_guard(id(&first), first.token, LONG)
        .await;
    let GuardReported::Done(view, remaining) = must(extended) else {
        panic!("the token is right");
    };
    assert!(remaining > Duration::from_mins(50), "{remaining:?}");
    assert!(view.lease_until > first.guard.lease_until);
}

/// An id alone is no permission.
pub async fn token_of_another_guard_is_unknown(subject: &dyn SendSubject) {
    let first = claimed(subject, "order", LONG).await;
    let other = claimed(subject, "other", LONG).await;
    let guards = subject.guards();
    for token in [other.token, ClaimToken::new()] {
        for answer in [
            must(guards.confirm_guard(id(&first), token, None).await),
            must(guards.release_guard(id(&first), token).await),
            must(guards.extend_guard(id(&first), token, LONG).await),
        ] {
            assert_eq!(answer, GuardReported::Unknown);
        }
    }
    let absent = guards
        .confirm_guard(GuardId::new(), first.token, None)
        .await;
    assert_eq!(must(absent), GuardReported::Unknown);
    let send = recorded(subject, "mail").await;
    let as_guard = GuardId::from_uuid(send.id.as_uuid());
    assert_eq!(must(guards.guard(as_guard).await), None);
}

/// A payment and a mail with one intent are two actions; so are those of two senders.
pub async fn guards_of_other_actions_and_senders_are_separate(subject: &dyn SendSubject) {
    claimed(subject, "order", LONG).await;
    let other = must("other".parse());
    for request in [
        GuardRequest {
            action: must("payment".parse()),
            key: key("payment", &shop(), "order"),
            ..guard("order")
        },
        GuardRequest {
            key: key("mail", &other, "order"),
            sender: other,
            ..guard("order")
        },
    ] {
        let answer = claim(subject, request).await;
        assert!(matches!(answer, GuardClaimed::Yours(_)), "{answer:?}");
    }
}

/// A mail that is sent here and one that an agent sends itself are one intent.
pub async fn guard_and_send_share_an_intent(subject: &dyn SendSubject) {
    let send = recorded(subject, "order").await;
    let GuardClaimed::InProgress(view, _) = claim(subject, guard("order")).await else {
        panic!("the send is ready");
    };
    assert_eq!((view.id, view.kind), (send.id, SendKind::Send));
    claimed(subject, "other", LONG).await;
    let answer = must(subject.sends().record_send(new_send("other")).await);
    let SendRecorded::IntentUsed(view) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(view.kind, SendKind::Guard);
}

/// The operator says what happened, or that it shall not happen.
pub async fn uncertain_guard_is_settled_by_the_operator(subject: &dyn SendSubject) {
    let by = must("operator".parse());
    let sends = subject.sends();
    for (entity, how) in [
        ("sent", OperatorSettlement::Sent(Some(receipt("by-hand")))),
        ("retry", OperatorSettlement::Retry),
        ("abandon", OperatorSettlement::Abandon),
    ] {
        let guard = claimed(subject, entity, OVER).await;
        let settled = must(sends.settle_send(guard.guard.id, how, &by).await);
        assert!(matches!(settled, SendDecided::Done(_)), "{settled:?}");
    }
    assert!(matches!(
        claim(subject, guard("sent")).await,
        GuardClaimed::AlreadyDone(..)
    ));
    let again = claim(subject, guard("retry")).await;
    assert!(matches!(again, GuardClaimed::Yours(_)), "{again:?}");
    assert!(matches!(
        claim(subject, guard("abandon")).await,
        GuardClaimed::Closed(_)
    ));
    let live = claimed(subject, "live", LONG).await;
    let early = sends
        .settle_send(live.guard.id, OperatorSettlement::Retry, &by)
        .await;
    assert!(matches!(must(early), SendDecided::NotNow(_)));
}
