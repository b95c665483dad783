//! Requests for sends with an idempotency key: a key is used for one request of one caller.

use pipeline::{
    NewSend, Request, RequestKind, RetentionKind, RetentionPeriods, SendDecision, SendRecorded,
};
use tokio::task::JoinSet;

use super::SendSubject;
use super::fixtures::{OVER, claim_ready, new_send, recorded};
use crate::retention_contract::keep_everything;
use crate::store_contract::{LONG, must};

/// A request of `a` for a send, with a key. The tag stands for what it says.
#[track_caller]
fn keyed(entity: &str, key: &str, tag: u8) -> NewSend {
    NewSend {
        asked: Some(Request {
            consumer: must("a".parse()),
            kind: RequestKind::Send,
            key: must(key.parse()),
            tag: [tag; 16],
        }),
        ..new_send(entity)
    }
}

async fn record(subject: &dyn SendSubject, send: NewSend) -> SendRecorded {
    must(subject.sends().record_send(send).await)
}

/// A key of another caller is another key.
pub async fn repeated_request_gets_the_same_send(subject: &dyn SendSubject) {
    let SendRecorded::New(first) = record(subject, keyed("order", "k", 1)).await else {
        panic!("the request is new");
    };
    let SendRecorded::Again(again) = record(subject, keyed("order", "k", 1)).await else {
        panic!("the request is known");
    };
    assert_eq!(again.id, first.id);
    let reused = record(subject, keyed("other", "k", 2)).await;
    assert_eq!(reused, SendRecorded::KeyReused);
    let mut of_another = keyed("other", "k", 2);
    if let Some(asked) = &mut of_another.asked {
        asked.consumer = must("b".parse());
    }
    let of_another = record(subject, of_another).await;
    assert!(matches!(of_another, SendRecorded::New(_)), "{of_another:?}");
}

/// A request that made nothing new was answered, too.
pub async fn key_of_a_duplicate_is_used_for_its_send(subject: &dyn SendSubject) {
    let first = recorded(subject, "order").await;
    let SendRecorded::Duplicate(known) = record(subject, keyed("order", "k", 1)).await else {
        panic!("the intent is known");
    };
    assert_eq!(known.id, first.id);
    let reused = record(subject, keyed("other", "k", 2)).await;
    assert_eq!(reused, SendRecorded::KeyReused);
    let again = record(subject, keyed("order", "k", 1)).await;
    assert_eq!(again, SendRecorded::Again(first));
    recorded(subject, "other").await;
    assert_eq!(claim_ready(subject, LONG).await.len(), 2);
}

/// One asks for a send again, the other for a new one. The unique key of the request decides.
pub async fn of_two_requests_at_once_under_one_key_one_is_answered(subject: &dyn SendSubject) {
    for round in 0..4 {
        let known = format!("known-{round}");
        let new = format!("new-{round}");
        let key = format!("k{round}");
        let first = recorded(subject, &known).await;
        let mut tasks = JoinSet::new();
        for n in 0..20 {
            let sends = subject.sends();
            let (entity, tag) = if n % 2 == 0 { (&known, 1) } else { (&new, 2) };
            let send = keyed(entity, &key, tag);
            tasks.spawn(async move { (tag, must(sends.record_send(send).await)) });
        }
        let (mut answered, mut refused) = (Vec::new(), Vec::new());
        for (tag, answer) in tasks.join_all().await {
            match answer {
                SendRecorded::KeyReused => refused.push(tag),
                SendRecorded::Duplicate(view) => {
                    assert_eq!(view.id, first.id);
                    answered.push(tag);
                }
                SendRecorded::New(_) | SendRecorded::Again(_) => answered.push(tag),
                other => panic!("{other:?}"),
            }
        }
        answered.dedup();
        refused.dedup();
        let is_known_first = answered == [1];
        let others = if is_known_first { [2] } else { [1] };
        assert_eq!((answered.len(), refused), (1, others.to_vec()));
        let later = record(subject, new_send(&new)).await;
        let is_free = matches!(later, SendRecorded::New(_));
        assert_eq!(is_free, is_known_first, "{later:?}");
    }
}

/// Concurrent calls may share a commit. A call that is refused leaves nothing in it: its
/// idempotency key is free, and the sends beside it are recorded.
pub async fn concurrent_calls_that_record_nothing_leave_nothing(subject: &dyn SendSubject) {
    recorded(subject, "known").await;
    let mut tasks = JoinSet::new();
    for n in 0..20 {
        let sends = subject.sends();
        let key = format!("k{n}");
        let send = if n % 2 == 0 {
            NewSend {
                fingerprint: [2; 32],
                ..keyed("known", &key, 1)
            }
        } else {
            keyed(&format!("new-{n}"), &key, 1)
        };
        tasks.spawn(async move { (n, must(sends.record_send(send).await)) });
    }
    for (n, answer) in tasks.join_all().await {
        match answer {
            SendRecorded::IntentUsed(_) => assert_eq!(n % 2, 0),
            SendRecorded::New(_) => assert_eq!(n % 2, 1),
            other => panic!("{other:?}"),
        }
    }
    for n in 0..20 {
        let later = keyed(&format!("later-{n}"), &format!("k{n}"), 2);
        let answer = record(subject, later).await;
        let is_free = matches!(answer, SendRecorded::New(_));
        assert_eq!(is_free, n % 2 == 0, "{answer:?}");
    }
}

/// The intent counts as new then. But the request was answered, and is not carried out now.
pub async fn request_that_outlives_its_send_is_not_sent_again(subject: &dyn SendSubject) {
    let first = recorded(subject, "order").await;
    record(subject, keyed("order", "k", 1)).await;
    let by = must("operator".parse());
    let cancel = SendDecision::Cancel;
    must(subject.sends().decide_send(first.id, cancel, &by).await);
    let keep = RetentionPeriods {
        intents: OVER,
        ..keep_everything()
    };
    let intents = RetentionKind::Intents;
    let discarded = subject.retention().discard(intents, &keep, 100).await;
    assert_eq!(must(discarded).count, 1);
    for _ in 0..2 {
        let again = record(subject, keyed("order", "k", 1)).await;
        assert_eq!(again, SendRecorded::KeyReused);
    }
    assert!(claim_ready(subject, LONG).await.is_empty());
    recorded(subject, "order").await;
}
