//! Sends: recorded once for each intent, and decided about.

use std::time::Duration;

use pipeline::{
    CapKind, NewSend, SendCap, SendDecided, SendDecision, SendId, SendRecorded, SendState,
};
use tokio::task::JoinSet;

use super::SendSubject;
use super::fixtures::{OVER, claim_one, claim_ready, new_send, now, recorded};
use crate::store_contract::{LONG, must};

async fn record(subject: &dyn SendSubject, send: NewSend) -> SendRecorded {
    must(subject.sends().record_send(send).await)
}

async fn decide(subject: &dyn SendSubject, send: SendId, decision: SendDecision) -> SendDecided {
    let by = must("operator".parse());
    must(subject.sends().decide_send(send, decision, &by).await)
}

/// All callers get the id of the one.
pub async fn of_fifty_equal_sends_one_is_recorded(subject: &dyn SendSubject) {
    let mut tasks = JoinSet::new();
    for n in 0..50 {
        let sends = subject.sends();
        let send = NewSend {
            by: must(format!("agent-{}", n % 2).parse()),
            ..new_send("order")
        };
        tasks.spawn(async move { must(sends.record_send(send).await) });
    }
    let (mut new, mut ids) = (0, Vec::new());
    for answer in tasks.join_all().await {
        match answer {
            SendRecorded::New(view) => {
                new += 1;
                ids.push(view.id);
            }
            SendRecorded::Duplicate(view) => ids.push(view.id),
            other => panic!("{other:?}"),
        }
    }
    ids.dedup();
    assert_eq!((new, ids.len()), (1, 1));
    assert_eq!(claim_ready(subject, LONG).await.len(), 1);
}

/// The intent decides, also when the words differ.
pub async fn same_intent_with_other_content_is_refused(subject: &dyn SendSubject) {
    let first = recorded(subject, "order").await;
    let reworded = NewSend {
        fingerprint: [2; 32],
        ..new_send("order")
    };
    let SendRecorded::IntentUsed(view) = record(subject, reworded).await else {
        panic!("the intent is used");
    };
    assert_eq!(view.id, first.id);
}

fn capped(entity: &str, most: u32) -> NewSend {
    NewSend {
        caps: vec![SendCap {
            what: CapKind::Recipient,
            subject: [9; 16],
            // Longer than the time since 1970, so no window ends during the test.
            window: Duration::from_hours(24 * 36_500),
            most,
        }],
        ..new_send(entity)
    }
}

/// Not one too many, however many ask at once.
pub async fn cap_is_exact_under_concurrency(subject: &dyn SendSubject) {
    let mut tasks = JoinSet::new();
    for n in 0..20 {
        let (sends, send) = (subject.sends(), capped(&format!("order-{n}"), 5));
        tasks.spawn(async move { must(sends.record_send(send).await) });
    }
    let answers = tasks.join_all().await;
    let new = answers
        .iter()
        .filter(|answer| matches!(answer, SendRecorded::New(_)));
    assert_eq!(new.count(), 5);
    for answer in answers {
        match answer {
            SendRecorded::New(_) => {}
            SendRecorded::Capped(CapKind::Recipient, left) => assert!(left > Duration::ZERO),
            other => panic!("{other:?}"),
        }
    }
    let none = record(subject, capped("none", 0)).await;
    assert!(matches!(none, SendRecorded::Capped(..)), "{none:?}");
    assert_eq!(claim_ready(subject, LONG).await.len(), 5);
}

/// A repeated send costs nothing.
pub async fn duplicate_does_not_count_for_a_cap(subject: &dyn SendSubject) {
    for _ in 0..5 {
        record(subject, capped("order", 2)).await;
    }
    let second = record(subject, capped("second", 2)).await;
    assert!(matches!(second, SendRecorded::New(_)), "{second:?}");
    let third = record(subject, capped("third", 2)).await;
    assert!(matches!(third, SendRecorded::Capped(..)), "{third:?}");
}

/// Without an approval a held send is cancelled in the end.
pub async fn held_send_is_approved_or_expires(subject: &dyn SendSubject) {
    let held = |entity: &str, hold| NewSend {
        hold: Some(hold),
        ..new_send(entity)
    };
    let SendRecorded::New(send) = record(subject, held("order", LONG)).await else {
        panic!("the intent is new");
    };
    assert_eq!(send.state, SendState::Held);
    assert!(claim_ready(subject, LONG).await.is_empty());
    let approved = decide(subject, send.id, SendDecision::Approve).await;
    assert!(matches!(approved, SendDecided::Done(_)), "{approved:?}");
    let again = decide(subject, send.id, SendDecision::Approve).await;
    assert!(matches!(again, SendDecided::NotNow(_)), "{again:?}");
    let refused = decide(subject, send.id, SendDecision::Refuse).await;
    assert!(matches!(refused, SendDecided::NotNow(_)), "{refused:?}");
    assert_eq!(claim_one(subject, LONG).await.claim.send, send.id);

    let SendRecorded::New(late) = record(subject, held("late", OVER)).await else {
        panic!("the intent is new");
    };
    let approved = decide(subject, late.id, SendDecision::Approve).await;
    assert!(matches!(approved, SendDecided::NotNow(_)), "{approved:?}");
    assert_eq!(must(subject.outbox().expire_leases().await).cancelled, 1);
    assert_eq!(now(subject, late.id).await.state, SendState::Cancelled);
}

/// A cancelled send cannot be asked for again under its intent.
pub async fn cancelled_send_keeps_its_intent_and_loses_its_content(subject: &dyn SendSubject) {
    let send = recorded(subject, "order").await;
    let cancelled = decide(subject, send.id, SendDecision::Cancel).await;
    let SendDecided::Done(view) = cancelled else {
        panic!("{cancelled:?}");
    };
    assert_eq!(view.state, SendState::Cancelled);
    assert!(claim_ready(subject, LONG).await.is_empty());
    let again = record(subject, new_send("order")).await;
    let SendRecorded::Duplicate(view) = again else {
        panic!("{again:?}");
    };
    assert_eq!(view.state, SendState::Cancelled);
    recorded(subject, "claimed").await;
    let claimed = claim_one(subject, LONG).await;
    let late = decide(subject, claimed.claim.send, SendDecision::Cancel).await;
    assert!(matches!(late, SendDecided::NotNow(_)), "{late:?}");
    let absent = decide(subject, SendId::new(), SendDecision::Cancel).await;
    assert_eq!(absent, SendDecided::Unknown);
}

/// A page continues before the last id of the one before.
pub async fn sends_are_listed_by_state_newest_first(subject: &dyn SendSubject) {
    let mut ids = Vec::new();
    for n in 0..5 {
        ids.push(recorded(subject, &format!("order-{n}")).await.id);
    }
    ids.reverse();
    let page = async |before, limit| {
        let listed = subject.sends().sends(SendState::Ready, before, limit).await;
        let listed = must(listed).into_iter().map(|view| view.id);
        listed.collect::<Vec<_>>()
    };
    let (first, rest) = ids.split_at(3);
    assert_eq!(page(None, 3).await, first);
    assert_eq!(page(first.last().copied(), 3).await, rest);
    let sent = must(subject.sends().sends(SendState::Sent, None, 10).await);
    assert!(sent.is_empty());
    let events = must(subject.sends().send_events(ids.remove(0)).await);
    let what: Vec<&str> = events.iter().map(|event| event.what.as_str()).collect();
    assert_eq!(what, ["ready"]);
    let by: Vec<_> = events.into_iter().map(|event| event.by).collect();
    assert_eq!(by, [Some("agent".to_owned())]);
}

/// A caller that waits for a send is notified at once.
pub async fn watch_wakes_when_a_send_changes(subject: &dyn SendSubject) {
    let send = recorded(subject, "order").await;
    let mut watch = subject.sends().watch_send(send.id);
    decide(subject, send.id, SendDecision::Cancel).await;
    let woken = tokio::time::timeout(Duration::from_secs(10), watch.changed()).await;
    assert!(woken.is_ok(), "the watch did not wake");
}
