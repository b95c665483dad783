//! Uncertain sends: settled by proof, by policy or by the operator.

use std::time::Duration;

use pipeline::{
    EchoClues, OperatorSettlement, Reason, Receipt, RetentionKind, RetentionPeriods, SendClaim,
    SendDecided, SendPermit, SendResult, SendState, SendWritten, Settlement,
};

use super::SendSubject;
use super::fixtures::{OVER, claim_ready, claim_uncertain, claimed, guard, new_send, now, shop};
use super::outbox::dispatched;
use crate::store_contract::{LONG, must};

const WHY: Reason = Reason::new("test");

fn receipt() -> Receipt {
    must("re_1".parse())
}

/// An uncertain send that is due to be settled.
pub(super) async fn uncertain(subject: &dyn SendSubject, entity: &str) -> SendClaim {
    let claim = dispatched(subject, entity, LONG).await;
    let maybe = SendResult::Maybe(Duration::ZERO, WHY);
    let written = must(subject.outbox().end_dispatch(claim, maybe).await);
    assert_eq!(written, SendWritten::Done(SendState::Uncertain));
    claim
}

async fn settle(subject: &dyn SendSubject, claim: SendClaim, how: Settlement) -> SendWritten {
    must(subject.outbox().settle(claim, how).await)
}

/// It stays uncertain meanwhile, and is due again when the lease is over.
pub async fn uncertain_send_is_settled_by_one_process(subject: &dyn SendSubject) {
    uncertain(subject, "order").await;
    let first = claim_uncertain(subject, OVER).await;
    assert_eq!(first.settle_tries, 1);
    assert_eq!(first.payload, new_send("order").payload);
    let second = claim_uncertain(subject, LONG).await;
    assert_eq!(second.settle_tries, 2);
    let none = subject.outbox().claim_uncertain(&[shop()], 10, LONG).await;
    assert!(must(none).is_empty());
    let stale = settle(subject, first.claim, Settlement::Retry(WHY)).await;
    assert_eq!(stale, SendWritten::Lost);
    let view = now(subject, first.claim.send).await;
    assert_eq!(view.state, SendState::Uncertain);
    let settled = settle(subject, second.claim, Settlement::Retry(WHY)).await;
    assert_eq!(settled, SendWritten::Done(SendState::Ready));
}

/// Later the provider would take the same key for a new mail.
pub async fn replay_is_permitted_only_within_the_window(subject: &dyn SendSubject) {
    uncertain(subject, "order").await;
    let outbox = subject.outbox();
    let claim = claim_uncertain(subject, LONG).await.claim;
    let permit =
        async |claim, timeout, window| must(outbox.permit_replay(claim, timeout, window).await);
    let short = Duration::from_secs(1);
    assert_eq!(permit(claim, short, OVER).await, SendPermit::WindowOver);
    assert_eq!(permit(claim, LONG * 2, LONG).await, SendPermit::Lost);
    assert_eq!(now(subject, claim.send).await.tries, 1);
    assert_eq!(permit(claim, short, LONG).await, SendPermit::Go);
    assert_eq!(now(subject, claim.send).await.tries, 2);
    settle(subject, claim, Settlement::Sent(Some(receipt()))).await;
    assert_eq!(permit(claim, short, LONG).await, SendPermit::Lost);
}

/// What is not proved stays uncertain.
pub async fn settlements_lead_to_their_states(subject: &dyn SendSubject) {
    for (entity, how, written) in [
        (
            "sent",
            Settlement::Sent(Some(receipt())),
            SendWritten::Late(SendState::Uncertain),
        ),
        (
            "unknown",
            Settlement::Unknown(Some(LONG), WHY),
            SendWritten::Done(SendState::Uncertain),
        ),
        (
            "operator",
            Settlement::Unknown(None, WHY),
            SendWritten::Done(SendState::Uncertain),
        ),
        (
            "unsent",
            Settlement::Retry(WHY),
            SendWritten::Done(SendState::Ready),
        ),
    ] {
        let send = uncertain(subject, entity).await.send;
        let claim = claim_uncertain(subject, LONG).await.claim;
        assert_eq!(claim.send, send);
        assert_eq!(settle(subject, claim, how).await, written, "{entity}");
    }
    let due = subject.outbox().claim_uncertain(&[shop()], 10, LONG).await;
    assert!(must(due).is_empty(), "none is due");
    let listed = must(subject.sends().sends(SendState::Uncertain, None, 10).await);
    assert_eq!(listed.len(), 2);
    assert_eq!(claim_ready(subject, LONG).await.len(), 1);
    let counts = must(subject.outbox().count_sends().await);
    let uncertain = counts
        .iter()
        .find(|count| count.state == SendState::Uncertain);
    assert_eq!(uncertain.map(|count| count.count), Some(2));
}

/// A retry by the operator sends the same bytes.
pub async fn operator_settles_an_uncertain_send(subject: &dyn SendSubject) {
    let by = must("operator".parse());
    let settle = async |entity: &str, how| {
        let send = uncertain(subject, entity).await.send;
        let settled = must(subject.sends().settle_send(send, how, &by).await);
        match settled {
            SendDecided::Done(view) => view.state,
            other => panic!("{other:?}"),
        }
    };
    let sent = settle("sent", OperatorSettlement::Sent(Some(receipt()))).await;
    assert_eq!(sent, SendState::Sent);
    let failed = settle("abandon", OperatorSettlement::Abandon).await;
    assert_eq!(failed, SendState::Failed);
    let ready = settle("retry", OperatorSettlement::Retry).await;
    assert_eq!(ready, SendState::Ready);
    let claimed = claim_ready(subject, LONG).await;
    let [retried] = claimed.as_slice() else {
        panic!("{claimed:?}");
    };
    assert_eq!(retried.payload, new_send("retry").payload);
    for how in [OperatorSettlement::Retry, OperatorSettlement::Abandon] {
        let early = must(
            subject
                .sends()
                .settle_send(retried.claim.send, how, &by)
                .await,
        );
        assert!(matches!(early, SendDecided::NotNow(_)), "{early:?}");
    }
}

/// The provider's own events name the key. They are believed in every state, also in one
/// that only a database from before the dispatch can have.
pub async fn event_of_the_provider_proves_a_send_in_every_state(subject: &dyn SendSubject) {
    let prove = async |entity: &str| {
        let key = new_send(entity).key;
        must(subject.echoes().prove_sent(key, Some(receipt())).await)
    };
    let in_doubt = uncertain(subject, "uncertain").await.send;
    let under_way = dispatched(subject, "dispatched", LONG).await;
    must(subject.sends().record_send(new_send("ready")).await);
    for (entity, before) in [
        ("uncertain", SendState::Uncertain),
        ("dispatched", SendState::Dispatched),
        ("ready", SendState::Ready),
    ] {
        assert_eq!(prove(entity).await, SendWritten::Late(before));
        assert_eq!(prove(entity).await, SendWritten::Done(SendState::Sent));
    }
    assert_eq!(prove("absent").await, SendWritten::Lost);
    let proven = now(subject, in_doubt).await;
    assert_eq!(proven.state, SendState::Sent);
    assert_eq!(proven.receipt, Some(receipt()));
    // Nothing is left to hand over, and the answer of the provider changes nothing.
    let senders = [shop()];
    let left = subject.outbox().claim_ready(&senders, 9, LONG).await;
    assert_eq!(must(left).len(), 0);
    let maybe = SendResult::Maybe(Duration::ZERO, WHY);
    let late = must(subject.outbox().end_dispatch(under_way, maybe).await);
    assert_eq!(late, SendWritten::Lost);
    assert_eq!(now(subject, under_way.send).await.state, SendState::Sent);
}

/// By the key in its header, and by its Message-ID.
pub async fn copy_that_comes_back_proves_a_send(subject: &dyn SendSubject) {
    let by_key = uncertain(subject, "key").await.send;
    let by_id = uncertain(subject, "id").await.send;
    let none = EchoClues::default();
    for clues in [
        EchoClues {
            key: Some(new_send("key").key.to_string()),
            ..none.clone()
        },
        EchoClues {
            message_id: Some(new_send("id").message_id),
            ..none
        },
    ] {
        let found = must(subject.echoes().recognise(&clues).await);
        assert_eq!(found, SendWritten::Late(SendState::Uncertain));
        let again = must(subject.echoes().recognise(&clues).await);
        assert_eq!(again, SendWritten::Done(SendState::Sent));
    }
    for send in [by_key, by_id] {
        assert_eq!(now(subject, send).await.state, SendState::Sent);
    }
}

/// An agent is given the key of its guard, and could put it into any mail.
pub async fn key_of_a_guard_in_a_mail_proves_nothing(subject: &dyn SendSubject) {
    let held = claimed(subject, "guard", LONG).await.guard;
    let key = guard("guard").key;
    let clues = EchoClues {
        key: Some(key.to_string()),
        ..EchoClues::default()
    };
    let found = must(subject.echoes().recognise(&clues).await);
    assert_eq!(found, SendWritten::Done(SendState::Dispatched));
    let found = must(subject.echoes().prove_sent(key, None).await);
    assert_eq!(found, SendWritten::Done(SendState::Dispatched));
    assert_eq!(now(subject, held.id).await.state, SendState::Dispatched);
}

/// Nothing is kept for longer than it is needed, and nothing uncertain is deleted.
pub async fn contents_intents_and_events_are_deleted_in_time(subject: &dyn SendSubject) {
    let nothing = RetentionPeriods {
        consumed_values: LONG,
        expired_values: LONG,
        done_bodies: LONG,
        dead_letter_bodies: LONG,
        items: LONG,
        known: LONG,
        consumes: LONG,
        send_contents: Duration::ZERO,
        send_events: Duration::ZERO,
        intents: Duration::ZERO,
    };
    let sent = dispatched(subject, "sent", LONG).await;
    must(
        subject
            .outbox()
            .end_dispatch(sent, SendResult::Sent(Some(receipt())))
            .await,
    );
    let open = uncertain(subject, "uncertain").await;
    let live = claimed(subject, "guard", LONG).await;
    let discard = async |what, keep: &RetentionPeriods| {
        must(subject.retention().discard(what, keep, 100).await).count
    };
    let all = RetentionPeriods {
        send_contents: LONG,
        send_events: LONG,
        intents: LONG,
        ..nothing.clone()
    };
    for what in [
        RetentionKind::SendContents,
        RetentionKind::SendEvents,
        RetentionKind::Intents,
    ] {
        assert_eq!(discard(what, &all).await, 0, "{what:?}");
    }
    assert_eq!(discard(RetentionKind::SendContents, &nothing).await, 1);
    assert_eq!(discard(RetentionKind::SendContents, &nothing).await, 0);
    assert_eq!(discard(RetentionKind::Intents, &nothing).await, 1);
    assert!(discard(RetentionKind::SendEvents, &nothing).await > 0);
    assert_eq!(must(subject.sends().send(sent.send).await), None);
    assert_eq!(now(subject, open.send).await.state, SendState::Uncertain);
    let claim = claim_uncertain(subject, LONG).await;
    assert_eq!(claim.payload, new_send("uncertain").payload);
    assert_eq!(
        now(subject, live.guard.id).await.state,
        SendState::Dispatched
    );
}
