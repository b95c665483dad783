//! Claims: which worker may process a delivery, and how a claim ends.

use std::time::Duration;

use pipeline::{Claim, Claimed, Completed, DeliveryId, Reason};
use tokio::task::JoinSet;

use super::{LONG, StoreSubject, code, held, inbox, mail, must};
use crate::wait::until;

/// The claim contains everything that a worker needs.
pub async fn first_claim_returns_the_delivery_and_attempt_one(subject: &dyn StoreSubject) {
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

/// The row decides who gets the claim, not the notification.
pub async fn of_many_concurrent_claims_one_succeeds(subject: &dyn StoreSubject) {
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

/// A worker died with the claim. That says little about this mail: many claims may have
/// been open.
pub async fn unended_claim_makes_a_suspect_and_counts_no_attempt(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let id = seams.new_delivery("evt_1").await;
    for round in 0..12 {
        let (claim, _) = seams.claim(id, Duration::ZERO).await;
        assert_eq!((claim.attempt, claim.unended), (1, round));
        // The worker is gone; its lease expires at once.
    }
}

/// Otherwise a mail that crashes its worker would crash workers forever.
pub async fn counted_attempt_stays_counted_if_the_worker_dies(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let id = seams.new_delivery("evt_1").await;
    for attempt in 1..=3 {
        let (claim, _) = seams.claim(id, Duration::ZERO).await;
        assert_eq!(claim.attempt, attempt);
        for _ in 0..2 {
            let counted = must(seams.work.count_attempt(&claim).await);
            assert_eq!(
                counted,
                Completed::Done(()),
                "counted once, also if repeated"
            );
        }
    }
}

/// The worker survived the mail, so the deaths before were not its fault either.
pub async fn uncounted_attempt_leaves_no_trace(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let id = seams.new_delivery("evt_1").await;
    for _ in 0..3 {
        let (dead, _) = seams.claim(id, Duration::ZERO).await;
        assert_eq!(dead.attempt, 1);
        must(seams.work.count_attempt(&dead).await);
        let (claim, _) = seams.claim(id, Duration::ZERO).await;
        assert_eq!(claim.attempt, 2);
        must(seams.work.count_attempt(&claim).await);
        must(seams.work.uncount_attempt(&claim).await);
    }
    let (claim, _) = seams.claim(id, LONG).await;
    must(seams.work.count_attempt(&claim).await);
    let why = Reason::new("test");
    must(seams.work.retry_uncounted(claim, Duration::ZERO, why).await);
    assert_eq!(seams.claim(id, LONG).await.0.attempt, 1);
}

/// A worker that ends its claim was not killed by the mail.
pub async fn ended_claim_makes_no_suspect(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let id = seams.new_delivery("evt_1").await;
    seams.claim(id, Duration::ZERO).await;
    let (claim, _) = seams.claim(id, LONG).await;
    assert_eq!(claim.unended, 1);
    let why = Reason::new("test");
    must(
        seams
            .work
            .retry_later(claim, Duration::ZERO, why.clone())
            .await,
    );
    let (claim, _) = seams.claim(id, Duration::ZERO).await;
    assert_eq!((claim.attempt, claim.unended), (2, 0));
    let (claim, _) = seams.claim(id, LONG).await;
    must(seams.work.dead_letter(claim, why).await);
    assert!(must(seams.failures.requeue(id).await));
    let (claim, _) = seams.claim(id, LONG).await;
    assert_eq!((claim.attempt, claim.unended), (1, 0));
}

/// A worker with an old fencing token cannot count an attempt.
pub async fn attempt_of_a_lost_claim_is_not_counted(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let id = seams.new_delivery("evt_1").await;
    let (stale, _) = seams.claim(id, Duration::ZERO).await;
    seams.claim(id, Duration::ZERO).await;
    let counted = must(seams.work.count_attempt(&stale).await);
    assert_eq!(counted, Completed::Lost);
    let uncounted = must(seams.work.uncount_attempt(&stale).await);
    assert_eq!(uncounted, Completed::Lost);
    assert_eq!(seams.claim(id, LONG).await.0.attempt, 1);
}

/// The sweeper notices a dead worker and does not disturb a working one.
pub async fn claimed_delivery_is_due_after_its_lease_expires(subject: &dyn StoreSubject) {
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

/// Slow work keeps its claim.
pub async fn extended_claim_holds_longer(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let id = seams.new_delivery("evt_1").await;
    let (claim, _) = seams.claim(id, Duration::ZERO).await;
    let extended = must(seams.work.extend(&claim, LONG).await);
    assert_eq!(extended, Completed::Done(()));
    let answer = must(seams.work.claim(id, LONG).await);
    assert!(matches!(answer, Claimed::NotNow), "{answer:?}");
    assert_eq!(must(seams.deliveries.due(10).await), []);
    seams.complete(claim, held(Vec::new())).await;
}

/// A worker with an old fencing token cannot extend the claim.
pub async fn only_the_holder_extends_a_claim(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let id = seams.new_delivery("evt_1").await;
    let (stale, _) = seams.claim(id, Duration::ZERO).await;
    let (current, _) = seams.claim(id, Duration::ZERO).await;
    let extended = must(seams.work.extend(&stale, LONG).await);
    assert_eq!(extended, Completed::Lost);
    let ended = copy(&current);
    seams.complete(current, held(Vec::new())).await;
    let extended = must(seams.work.extend(&ended, LONG).await);
    assert_eq!(extended, Completed::Lost);
}

/// The fencing token: nothing is written by the first worker after a second one has taken
/// over.
pub async fn worker_with_an_expired_lease_writes_nothing(subject: &dyn StoreSubject) {
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

/// The worker that ended a claim cannot end it again.
pub async fn ended_claim_cannot_be_ended_again(subject: &dyn StoreSubject) {
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

/// A transient failure: retried later, and the attempt counts.
pub async fn retried_delivery_waits_and_is_due_again(subject: &dyn StoreSubject) {
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

/// Something that the mail needs is unavailable: retried later, and the attempt does not
/// count.
pub async fn uncounted_retry_uses_no_attempt(subject: &dyn StoreSubject) {
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

/// A notification may arrive twice, late, or for a row that was deleted.
pub async fn claim_of_a_finished_delivery_answers_finished(subject: &dyn StoreSubject) {
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
