//! Dead letters, for the operator; and the health check.

use std::time::Duration;

use pipeline::{Completed, DeadLetter, DeliveryId, Reason, Timestamp, TracedId};

use super::{LONG, Seams, StoreSubject, code, delivery, held, inbox, mail, must, source};

/// A dead letter keeps everything.
pub async fn dead_letter_keeps_its_reason_and_body(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let id = seams.new_delivery("evt_1").await;
    let (claim, _) = seams.claim(id, LONG).await;
    let first = Reason::new("test");
    must(seams.work.retry_later(claim, Duration::ZERO, first).await);
    let (claim, stored) = seams.claim(id, LONG).await;
    let buried = seams.work.dead_letter(claim, Reason::new("too_deep"));
    assert_eq!(must(buried.await), Completed::Done(()));
    let listed = must(seams.failures.dead_letters(10).await);
    let [listed] = listed.as_slice() else {
        panic!("one is buried, not {listed:?}");
    };
    let expected = DeadLetter {
        id,
        source: source(),
        reason: Reason::new("too_deep"),
        attempts: 2,
        recorded_at: stored.recorded_at,
        dead_lettered_at: listed.dead_lettered_at,
        body_bytes: Some(5),
        content_type: "application/json".to_owned(),
        is_conflict: false,
    };
    assert_eq!(*listed, expected);
    assert!(listed.dead_lettered_at >= listed.recorded_at);
    let exhumed = must(seams.failures.find_dead_letter(id).await);
    assert_eq!(exhumed, Some((expected, Some(b"evt_1".to_vec()))));
    assert_eq!(
        must(seams.failures.find_dead_letter(DeliveryId::new()).await),
        None
    );
}

/// The newest dead letter is listed first.
pub async fn dead_letters_are_listed_newest_first(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let mut ids = Vec::new();
    let mut last = Timestamp::from_millis(0);
    for number in 0..3 {
        let id = dead_letter(&seams, &format!("evt_{number}")).await;
        ids.insert(0, id);
        let listed = must(seams.failures.dead_letters(1).await);
        assert!(
            listed
                .iter()
                .all(|buried| buried.id == id && buried.dead_lettered_at >= last)
        );
        last = listed
            .first()
            .map_or(last, |buried| buried.dead_lettered_at);
    }
    let listed = must(seams.failures.dead_letters(2).await);
    let listed: Vec<DeliveryId> = listed.iter().map(|buried| buried.id).collect();
    assert_eq!(Some(listed.as_slice()), ids.get(..2));
}

/// The operator has fixed the cause and requeues.
pub async fn requeued_delivery_is_due_with_zero_attempts(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let id = dead_letter(&seams, "evt_1").await;
    assert!(must(seams.failures.requeue(id).await));
    assert_eq!(must(seams.failures.dead_letters(10).await), []);
    assert_eq!(must(seams.deliveries.due(10).await), [id]);
    let (claim, stored) = seams.claim(id, LONG).await;
    assert_eq!(
        (claim.attempt, stored.body.as_slice()),
        (1, b"evt_1".as_slice())
    );
    seams.complete(claim, held(Vec::new())).await;
}

/// The time limit of the retries is for trying, not for waiting for a worker or for the operator.
pub async fn retries_are_limited_from_the_first_claim(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let pause = Duration::from_millis(500);
    let id = seams.new_delivery("evt_1").await;
    seams.time_passes(pause).await;
    let (claim, _) = seams.claim(id, LONG).await;
    assert!(claim.age < pause, "{claim:?}");
    let (wait, why) = (Duration::ZERO, Reason::new("test"));
    must(seams.work.retry_later(claim, wait, why).await);
    seams.time_passes(pause).await;
    let (claim, _) = seams.claim(id, LONG).await;
    assert!(claim.age >= pause, "{claim:?}");
    must(seams.work.dead_letter(claim, Reason::new("test")).await);
    assert!(must(seams.failures.requeue(id).await));
    let (claim, _) = seams.claim(id, LONG).await;
    assert!(claim.age < pause, "{claim:?}");
    seams.complete(claim, held(Vec::new())).await;
}

/// Deliveries in other states are not changed.
pub async fn only_a_dead_letter_is_requeued(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let pending = seams.new_delivery("pending").await;
    let claimed = seams.new_delivery("claimed").await;
    let (claim, _) = seams.claim(claimed, LONG).await;
    for id in [pending, claimed, DeliveryId::new()] {
        assert!(!must(seams.failures.requeue(id).await));
        assert_eq!(must(seams.failures.find_dead_letter(id).await), None);
    }
    seams.complete(claim, held(Vec::new())).await;
    assert!(!must(seams.failures.requeue(claimed).await));
}

/// Whatever id an operator has, it leads to the delivery and its state.
pub async fn ids_lead_to_their_delivery(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    let id = seams.new_delivery("evt_1").await;
    let state = async |of: TracedId| {
        let trace = must(seams.failures.trace(of).await);
        trace.map(|trace| (trace.delivery, trace.state))
    };
    let of = TracedId::Delivery(id);
    assert_eq!(state(of).await, Some((id, "pending".to_owned())));
    let (claim, _) = seams.claim(id, LONG).await;
    let mail = mail(&to, "m1", vec![code(&to, "111111")]);
    let (message, artifact) = (mail.id, mail.artifacts.iter().map(|one| one.id).next());
    let artifact = artifact.unwrap_or_else(|| panic!("the mail has a code"));
    seams.complete(claim, held(vec![mail])).await;
    for of in [of, TracedId::Message(message), TracedId::Artifact(artifact)] {
        assert_eq!(state(of).await, Some((id, "done".to_owned())));
    }
    let buried = seams.new_delivery("evt_2").await;
    let (claim, _) = seams.claim(buried, LONG).await;
    must(seams.work.dead_letter(claim, Reason::new("test")).await);
    let trace = must(seams.failures.trace(TracedId::Delivery(buried)).await);
    assert_eq!(
        trace.and_then(|trace| trace.reason),
        Some(Reason::new("test"))
    );
    assert_eq!(state(TracedId::Delivery(DeliveryId::new())).await, None);
}

/// The operator sees that the id had been used before.
pub async fn dead_letter_of_a_conflict_is_marked(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    seams.new_delivery("evt_1").await;
    let conflict = seams.record(delivery("evt_1", b"other")).await.id();
    let (claim, _) = seams.claim(conflict, LONG).await;
    must(seams.work.dead_letter(claim, Reason::new("test")).await);
    let listed = must(seams.failures.dead_letters(10).await);
    let marks: Vec<_> = listed
        .iter()
        .map(|buried| (buried.id, buried.is_conflict))
        .collect();
    assert_eq!(marks, [(conflict, true)]);
}

/// After closing, calls return an error and do not hang.
pub async fn probe_fails_when_the_database_is_closed(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    assert_eq!(seams.probe.name(), "database");
    must(seams.probe.probe().await);
    subject.close().await;
    assert!(seams.probe.probe().await.is_err());
    let refused = seams
        .deliveries
        .record(vec![delivery("evt_1", b"body")])
        .await;
    assert!(
        matches!(refused, Err(pipeline::StoreError::Unavailable(_))),
        "{refused:?}"
    );
}

async fn dead_letter(seams: &Seams, id: &str) -> DeliveryId {
    let id = seams.new_delivery(id).await;
    let (claim, _) = seams.claim(id, LONG).await;
    must(seams.work.dead_letter(claim, Reason::new("test")).await);
    id
}
