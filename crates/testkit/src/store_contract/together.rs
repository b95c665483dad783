//! Workers that claim and complete at the same time share units of work. Each must get
//! the same result as if it were alone.

use std::sync::Arc;
use std::time::Duration;

use pipeline::{Claim, Claimed, Completed, DeliveryId, Finished, Processed, Recorded, StoreError};
use tokio::task::JoinSet;

use crate::wait::until;

use super::{LONG, Seams, StoreSubject, code, delivery, held, inbox, mail, must, positions};

/// How many deliveries the tests have at once. They need several units of work.
const MANY: usize = 100;

/// The outcomes of completing these claims at the same time, in their order.
async fn complete_at_once(
    seams: &Seams,
    claims: Vec<(Claim, Processed)>,
) -> Vec<Result<Completed<Finished>, StoreError>> {
    let mut tasks = JoinSet::new();
    for (index, (claim, processed)) in claims.into_iter().enumerate() {
        let work = Arc::clone(&seams.work);
        tasks.spawn(async move { (index, work.complete(claim, processed).await) });
    }
    let mut answers = tasks.join_all().await;
    answers.sort_by_key(|(index, _)| *index);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

async fn claimed(seams: &Seams, prefix: &str, number: usize) -> Vec<(Claim, DeliveryId)> {
    let mut claims = Vec::with_capacity(number);
    for index in 0..number {
        let id = seams.new_delivery(&format!("{prefix}_{index}")).await;
        claims.push((seams.claim(id, LONG).await.0, id));
    }
    claims
}

/// Two workers ask for each of many deliveries at the same time, in opposite orders.
pub async fn claims_at_once_give_each_delivery_to_one_worker(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let mut ids = Vec::with_capacity(MANY);
    for index in 0..MANY {
        ids.push(seams.new_delivery(&format!("evt_{index}")).await);
    }
    let mut tasks = JoinSet::new();
    for id in ids.iter().chain(ids.iter().rev()).copied() {
        let work = Arc::clone(&seams.work);
        tasks.spawn(async move {
            match must(work.claim(id, LONG).await) {
                Claimed::Yours(claim, stored) => {
                    assert_eq!((claim.delivery, stored.id), (id, id));
                    Some(id)
                }
                Claimed::NotNow => None,
                other => panic!("expected a claim or nothing, got {other:?}"),
            }
        });
    }
    let mut won: Vec<DeliveryId> = tasks.join_all().await.into_iter().flatten().collect();
    won.sort();
    ids.sort();
    assert_eq!(won, ids);
}

/// Many mails to one inbox are completed at the same time: no position is missing, and
/// none is taken twice.
pub async fn completions_at_once_leave_no_gap_in_the_positions(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    let claims = claimed(&seams, "evt", MANY).await;
    let with_mail = |(index, (claim, _)): (usize, (Claim, DeliveryId))| {
        // Every value comes twice, in two mails.
        let value = format!("{:06}", 100_000 + index / 2);
        let mail = mail(&to, &format!("m{index}"), vec![code(&to, &value)]);
        (claim, held(vec![mail]))
    };
    let claims = claims.into_iter().enumerate().map(with_mail).collect();
    let mut new = 0;
    for answer in complete_at_once(&seams, claims).await {
        match must(answer) {
            Completed::Done(finished) => {
                assert_eq!(finished.messages, 1);
                assert_eq!(finished.artifacts + finished.duplicate_artifacts, 1);
                new += finished.artifacts;
            }
            Completed::Lost => panic!("a valid claim was lost"),
        }
    }
    assert_eq!(new as usize, MANY / 2);
    let expected: Vec<i64> = (1..).take(MANY / 2).collect();
    assert_eq!(positions(&seams.items(&to).await), expected);
}

/// Some of the claims that are completed at the same time have expired and belong to
/// other workers now.
pub async fn lost_claim_among_others_is_lost_alone(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    let mut claims = Vec::new();
    for index in 0..20 {
        let id = seams.new_delivery(&format!("evt_{index}")).await;
        let is_lost = index % 4 == 0;
        let lease = if is_lost { Duration::ZERO } else { LONG };
        let (claim, _) = seams.claim(id, lease).await;
        let mail = mail(
            &to,
            &format!("m{index}"),
            vec![code(&to, &format!("48{index:04}"))],
        );
        if is_lost {
            let (newer, _) = seams.claim(id, LONG).await;
            claims.push((newer, held(vec![mail.clone()])));
        }
        claims.push((claim, held(vec![mail])));
    }
    let total = claims.len();
    let answers = complete_at_once(&seams, claims).await;
    let answers: Vec<_> = answers.into_iter().map(must).collect();
    let lost = answers.iter().filter(|it| matches!(it, Completed::Lost));
    let done = answers.iter().filter(|it| matches!(it, Completed::Done(_)));
    assert_eq!((lost.count(), done.count(), total), (5, 20, 25));
    let expected: Vec<i64> = (1..=20).collect();
    assert_eq!(positions(&seams.items(&to).await), expected);
}

/// The database refuses the rows of one completion. The others are written.
pub async fn refused_completion_among_others_fails_alone(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    let taken = seams.bring(&to, "first", code(&to, "111111")).await;
    let claims = claimed(&seams, "evt", 20).await;
    let with_mail = |(index, (claim, _)): (usize, (Claim, DeliveryId))| {
        let mut artifact = code(&to, &format!("48{index:04}"));
        if index == 7 {
            artifact.id = taken;
        }
        (
            claim,
            held(vec![mail(&to, &format!("m{index}"), vec![artifact])]),
        )
    };
    let claims = claims.into_iter().enumerate().map(with_mail).collect();
    for (index, answer) in complete_at_once(&seams, claims)
        .await
        .into_iter()
        .enumerate()
    {
        match answer {
            Err(StoreError::Broken(_)) => assert_eq!(index, 7),
            Ok(Completed::Done(finished)) => {
                assert_eq!((finished.artifacts, index == 7), (1, false));
            }
            other => panic!("{index}: {other:?}"),
        }
    }
    let expected: Vec<i64> = (1..=20).collect();
    assert_eq!(positions(&seams.items(&to).await), expected);
}

/// Workers hold few large bodies at a time. A further one can be claimed when one of
/// them is dropped.
pub async fn few_large_bodies_are_held_at_once(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let body = vec![b'x'; 300_000];
    let mut held = Vec::new();
    for index in 0..4 {
        let new = delivery(&format!("evt_{index}"), &body);
        let Recorded::New(id) = seams.record(new).await else {
            panic!("expected a new delivery");
        };
        let (_, stored) = seams.claim(id, LONG).await;
        assert_eq!(stored.body, body);
        held.push(stored);
    }
    let fifth = seams.record(delivery("evt_5", &body)).await.id();
    let refused = must(seams.work.claim(fifth, LONG).await);
    assert!(matches!(refused, Claimed::NotNow), "{refused:?}");
    // A small body can be claimed meanwhile.
    let small = seams.new_delivery("small").await;
    seams.claim(small, LONG).await;
    drop(held);
    let claim = until("the fifth can be claimed", || async {
        match must(seams.work.claim(fifth, LONG).await) {
            Claimed::Yours(claim, _) => Some(claim),
            _ => None,
        }
    });
    let claim = claim.await;
    assert_eq!((claim.attempt, claim.unended), (1, 0));
}
