//! Who may work on a delivery, and how that ends.

use std::time::Duration;

use pipeline::{Claim, Claimed, Completed, DeliveryId, Reason};
use tokio::task::JoinSet;

use super::{LONG, Subject, code, held, inbox, mail, must};
use crate::patience::until;

/// Everything a worker needs comes with the claim.
pub async fn a_claim_brings_the_delivery_and_its_first_attempt(subject: &dyn Subject) {
    let seams = subject.seams();
    let id = seams.new_delivery("evt_1").await;
    let (claim, stored) = seams.claim(id, LONG).await;
    assert_eq!((claim.delivery, claim.attempt), (id, 1));
    assert!(claim.age < LONG);
    assert_eq!(
        (stored.id, stored.body.as_slice()),
        (id, b"evt_1".as_slice())
    );
}

/// The row decides, not the ring.
pub async fn of_many_claimers_one_gets_it(subject: &dyn Subject) {
    let seams = subject.seams();
    for round in 0..20 {
        let id = seams.new_delivery(&format!("evt_{round}")).await;
        let mut tasks = JoinSet::new();
        for _ in 0..8 {
            let seams = seams.clone();
            tasks.spawn(async move { must(seams.work.claim(id, LONG).await) });
        }
        let answers = tasks.join_all().await;
        let yours = |answer: &&Claimed| matches!(answer, Claimed::Yours(..));
        let not_now = |answer: &&Claimed| matches!(answer, Claimed::NotNow);
        assert_eq!(answers.iter().filter(yours).count(), 1);
        assert_eq!(answers.iter().filter(not_now).count(), 7);
    }
}

/// Otherwise a mail that kills its worker would kill workers for ever.
pub async fn an_attempt_counts_even_if_the_worker_dies(subject: &dyn Subject) {
    let seams = subject.seams();
    let id = seams.new_delivery("evt_1").await;
    for attempt in 1..=3 {
        let (claim, _) = seams.claim(id, Duration::ZERO).await;
        assert_eq!(claim.attempt, attempt);
        // The worker is gone; its lease passes at once.
    }
}

/// A worker that died is noticed by the sweeper, one at work is left alone.
pub async fn a_claimed_delivery_is_due_when_its_lease_has_passed(subject: &dyn Subject) {
    let seams = subject.seams();
    let at_work = seams.new_delivery("at_work").await;
    let dead = seams.new_delivery("dead").await;
    seams.claim(at_work, LONG).await;
    seams.claim(dead, Duration::ZERO).await;
    until("the abandoned one is due", async || {
        let due = must(seams.deliveries.due(10).await);
        (due == [dead]).then_some(())
    })
    .await;
}

/// The fence: whatever the first worker still tries after a second one has
/// taken over, not a row of it is written.
pub async fn a_worker_whose_lease_has_passed_writes_nothing(subject: &dyn Subject) {
    let seams = subject.seams();
    let to = inbox("agent");
    let id = seams.new_delivery("evt_1").await;
    let mut stale = Vec::new();
    for _ in 0..3 {
        stale.push(seams.claim(id, Duration::ZERO).await.0);
    }
    let (current, _) = seams.claim(id, LONG).await;
    let [first, second, third] = match <[Claim; 3]>::try_from(stale) {
        Ok(claims) => claims,
        Err(other) => panic!("three claims, not {other:?}"),
    };
    let late = held(vec![mail(&to, "late", vec![code(&to, "111111")])]);
    let why = Reason::new("late");
    assert_eq!(
        must(seams.work.complete(first, late).await),
        Completed::Lost
    );
    let retry_later = seams.work.retry_later(second, Duration::ZERO, why.clone());
    assert_eq!(must(retry_later.await), Completed::Lost);
    assert_eq!(
        must(seams.work.dead_letter(third, why).await),
        Completed::Lost
    );
    assert_eq!(seams.items(&to).await, []);
    assert_eq!(must(seams.failures.dead_letters(10).await), []);
    assert!(matches!(
        must(seams.work.claim(id, LONG).await),
        Claimed::NotNow
    ));

    let good = held(vec![mail(&to, "good", vec![code(&to, "222222")])]);
    assert_eq!(seams.complete(current, good).await.artifacts, 1);
}

/// Not even by a worker that answers twice.
pub async fn an_ended_claim_cannot_be_ended_again(subject: &dyn Subject) {
    let seams = subject.seams();
    let to = inbox("agent");
    let (claim, _) = seams.claim(seams.new_delivery("evt_1").await, LONG).await;
    let again = copy(&claim);
    let once_more = copy(&claim);
    seams
        .complete(
            claim,
            held(vec![mail(&to, "m1", vec![code(&to, "111111")])]),
        )
        .await;
    let second = held(vec![mail(&to, "m2", vec![code(&to, "222222")])]);
    assert_eq!(
        must(seams.work.complete(again, second).await),
        Completed::Lost
    );
    let buried = seams.work.dead_letter(once_more, Reason::new("test"));
    assert_eq!(must(buried.await), Completed::Lost);
    assert_eq!(seams.items(&to).await.len(), 1);
}

/// A transient failure: later, and counted.
pub async fn a_delivery_put_back_waits_and_comes_again(subject: &dyn Subject) {
    let seams = subject.seams();
    let id = seams.new_delivery("evt_1").await;
    let (claim, _) = seams.claim(id, LONG).await;
    let retry_later = seams.work.retry_later(claim, LONG, Reason::new("test"));
    assert_eq!(must(retry_later.await), Completed::Done(()));
    assert!(matches!(
        must(seams.work.claim(id, LONG).await),
        Claimed::NotNow
    ));
    assert_eq!(must(seams.deliveries.due(10).await), []);

    let id = seams.new_delivery("evt_2").await;
    let (claim, _) = seams.claim(id, LONG).await;
    must(
        seams
            .work
            .retry_later(claim, Duration::ZERO, Reason::new("test"))
            .await,
    );
    assert_eq!(must(seams.deliveries.due(10).await), [id]);
    let (claim, _) = seams.claim(id, LONG).await;
    assert_eq!(claim.attempt, 2);
}

/// Something that belongs to it is not there yet: later, and not counted.
pub async fn a_delivery_that_is_put_off_has_used_no_attempt(subject: &dyn Subject) {
    let seams = subject.seams();
    let id = seams.new_delivery("evt_1").await;
    for _ in 0..3 {
        let (claim, _) = seams.claim(id, LONG).await;
        assert_eq!(claim.attempt, 1);
        let why = Reason::new("test");
        let retry_uncounted = seams.work.retry_uncounted(claim, Duration::ZERO, why);
        assert_eq!(must(retry_uncounted.await), Completed::Done(()));
        assert_eq!(must(seams.deliveries.due(10).await), [id]);
    }
    let (claim, _) = seams.claim(id, LONG).await;
    must(
        seams
            .work
            .retry_uncounted(claim, LONG, Reason::new("test"))
            .await,
    );
    assert!(matches!(
        must(seams.work.claim(id, LONG).await),
        Claimed::NotNow
    ));
}

/// A bell may ring twice, late, or for a row that was purged.
pub async fn a_ring_for_a_finished_delivery_is_an_echo(subject: &dyn Subject) {
    let seams = subject.seams();
    let done = seams.new_delivery("done").await;
    let (claim, _) = seams.claim(done, LONG).await;
    seams.complete(claim, held(Vec::new())).await;
    let buried = seams.new_delivery("buried").await;
    let (claim, _) = seams.claim(buried, LONG).await;
    must(seams.work.dead_letter(claim, Reason::new("test")).await);
    for id in [done, buried, DeliveryId::new()] {
        let answer = must(seams.work.claim(id, LONG).await);
        assert!(matches!(answer, Claimed::Finished), "{answer:?}");
    }
    assert_eq!(must(seams.deliveries.due(10).await), []);
}

fn copy(claim: &Claim) -> Claim {
    Claim { ..*claim }
}
