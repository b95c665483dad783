//! Claims with an idempotency key: a key is used for one intent.

use pipeline::{
    GuardClaim, GuardClaimed, GuardId, GuardRequest, Request, RequestKind, RetentionKind,
    RetentionPeriods,
};
use tokio::task::JoinSet;

use super::SendSubject;
use super::fixtures::{OVER, claimed, guard, recorded};
use crate::retention_contract::keep_everything;
use crate::store_contract::{LONG, must};

/// A claim of `agent` with a key. The tag stands for the key and the intent.
#[track_caller]
fn keyed(entity: &str, key: &str, tag: u8) -> GuardRequest {
    GuardRequest {
        asked: Some(Request {
            consumer: must("agent".parse()),
            kind: RequestKind::Guard,
            key: must(key.parse()),
            tag: [tag; 16],
        }),
        ..guard(entity)
    }
}

async fn claim(subject: &dyn SendSubject, request: GuardRequest) -> GuardClaimed {
    must(subject.guards().claim_guard(request).await)
}

#[track_caller]
fn yours(answer: GuardClaimed) -> GuardClaim {
    match answer {
        GuardClaimed::Yours(claim) => claim,
        other => panic!("{other:?}"),
    }
}

async fn end(subject: &dyn SendSubject, claim: &GuardClaim, is_done: bool) {
    let guards = subject.guards();
    let id = GuardId::from_uuid(claim.guard.id.as_uuid());
    must(if is_done {
        guards.confirm_guard(id, claim.token, None).await
    } else {
        guards.release_guard(id, claim.token).await
    });
}

/// A retry whose first answer was lost gets the permission that it has.
pub async fn repeated_claim_request_gets_the_same_token(subject: &dyn SendSubject) {
    let first = yours(claim(subject, keyed("order", "k", 1)).await);
    let GuardClaimed::Again(again) = claim(subject, keyed("order", "k", 1)).await else {
        panic!("the request is the same");
    };
    assert_eq!((again.token, again.guard.id), (first.token, first.guard.id));
    for other in [keyed("order", "k2", 2), guard("order")] {
        let answer = claim(subject, other).await;
        assert!(matches!(answer, GuardClaimed::InProgress(..)), "{answer:?}");
    }
    end(subject, &first, false).await;
    let next = yours(claim(subject, keyed("order", "k", 1)).await);
    assert_ne!(next.token, first.token);
    let other = claim(subject, keyed("other", "k", 3)).await;
    assert_eq!(other, GuardClaimed::KeyReused);
}

/// The unique key of the request decides before that of the intent.
pub async fn of_fifty_equal_claim_requests_one_is_new(subject: &dyn SendSubject) {
    for round in 0..4 {
        let entity = format!("order-{round}");
        let mut tasks = JoinSet::new();
        for _ in 0..50 {
            let (guards, request) = (subject.guards(), keyed(&entity, &entity, 1));
            tasks.spawn(async move { must(guards.claim_guard(request).await) });
        }
        let (mut new, mut tokens) = (0, Vec::new());
        for answer in tasks.join_all().await {
            match answer {
                GuardClaimed::Yours(claim) => {
                    new += 1;
                    tokens.push(claim.token);
                }
                GuardClaimed::Again(claim) => tokens.push(claim.token),
                other => panic!("{other:?}"),
            }
        }
        tokens.dedup();
        assert_eq!((new, tokens.len()), (1, 1));
    }
}

/// A claim whose key belongs to another intent changes nothing: the intent stays free.
pub async fn of_fifty_intents_under_one_key_one_is_claimed(subject: &dyn SendSubject) {
    for round in 0..4 {
        let (key, entity) = (format!("k{round}"), |n: u8| format!("order-{round}-{n}"));
        let mut tasks = JoinSet::new();
        for n in 0..50 {
            let (guards, request) = (subject.guards(), keyed(&entity(n), &key, n));
            tasks.spawn(async move { (n, must(guards.claim_guard(request).await)) });
        }
        let mut claimed_one = Vec::new();
        for (n, answer) in tasks.join_all().await {
            match answer {
                GuardClaimed::Yours(_) => claimed_one.push(n),
                other => assert_eq!(other, GuardClaimed::KeyReused),
            }
        }
        assert_eq!(claimed_one.len(), 1, "{claimed_one:?}");
        for n in (0..50).filter(|n| !claimed_one.contains(n)) {
            yours(claim(subject, guard(&entity(n))).await);
        }
    }
}

/// Its answer was one, too. Keys of another caller are separate.
pub async fn key_of_a_done_intent_is_used_for_it(subject: &dyn SendSubject) {
    let first = claimed(subject, "order", LONG).await;
    end(subject, &first, true).await;
    for is_repeated in [false, true] {
        let answer = claim(subject, keyed("order", "k", 1)).await;
        let GuardClaimed::AlreadyDone(view, flag) = answer else {
            panic!("{answer:?}");
        };
        assert_eq!((view.id, flag), (first.guard.id, is_repeated));
    }
    let other = claim(subject, keyed("other", "k", 2)).await;
    assert_eq!(other, GuardClaimed::KeyReused);
    let mut of_another = keyed("other", "k", 2);
    if let Some(asked) = &mut of_another.asked {
        asked.consumer = must("another".parse());
    }
    yours(claim(subject, of_another).await);
}

/// The caller was told that nothing is its own, so it may use the key for something else.
pub async fn refused_claim_leaves_its_key_free(subject: &dyn SendSubject) {
    let held = claimed(subject, "held", LONG).await;
    claimed(subject, "over", OVER).await;
    recorded(subject, "send").await;
    for entity in ["held", "over", "send"] {
        let answer = claim(subject, keyed(entity, "k", 1)).await;
        assert!(
            matches!(
                answer,
                GuardClaimed::InProgress(..) | GuardClaimed::Uncertain(_)
            ),
            "{answer:?}"
        );
    }
    let free = yours(claim(subject, keyed("free", "k", 2)).await);
    let answer = claim(subject, keyed("held", "k", 1)).await;
    assert_eq!(answer, GuardClaimed::KeyReused);
    // A key that was used stays used when its claim is refused later.
    end(subject, &free, false).await;
    let other = yours(claim(subject, guard("free")).await);
    let answer = claim(subject, keyed("free", "k", 2)).await;
    assert!(matches!(answer, GuardClaimed::InProgress(..)), "{answer:?}");
    end(subject, &other, false).await;
    end(subject, &held, false).await;
    let answer = claim(subject, keyed("held", "k", 1)).await;
    assert_eq!(answer, GuardClaimed::KeyReused);
}

/// After that the same key counts as new.
pub async fn claim_request_is_kept_for_its_retention_time(subject: &dyn SendSubject) {
    yours(claim(subject, keyed("order", "k", 1)).await);
    let discard = async |keep: &RetentionPeriods| {
        let requests = RetentionKind::Requests;
        must(subject.retention().discard(requests, keep, 100).await).count
    };
    assert_eq!(discard(&keep_everything()).await, 0);
    let other = async || claim(subject, keyed("other", "k", 2)).await;
    assert_eq!(other().await, GuardClaimed::KeyReused);
    let keep_no_requests = RetentionPeriods {
        items: OVER,
        ..keep_everything()
    };
    assert_eq!(discard(&keep_no_requests).await, 1);
    yours(other().await);
}
