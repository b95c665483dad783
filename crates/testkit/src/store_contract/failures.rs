//! What was given up, for the operator; and whether the database is there.

use std::time::Duration;

use pipeline::{Completed, DeadLetter, DeliveryId, Reason, Timestamp};

use super::{LONG, Seams, Subject, delivery, held, must, source};

/// Nothing is thrown away.
pub async fn a_buried_delivery_is_kept_with_its_reason_and_body(subject: &dyn Subject) {
    let seams = subject.seams();
    let id = seams.new_delivery("evt_1").await;
    seams.claim(id, Duration::ZERO).await;
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

/// The newest trouble is the one that is looked for.
pub async fn the_last_buried_come_first(subject: &dyn Subject) {
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

/// The operator has mended what was wrong.
pub async fn a_requeued_delivery_starts_anew(subject: &dyn Subject) {
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

/// Whatever else it is, it is left alone.
pub async fn only_a_buried_delivery_is_requeued(subject: &dyn Subject) {
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

/// The operator sees that the id had been used.
pub async fn a_buried_conflict_is_marked(subject: &dyn Subject) {
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

/// And after closing, everything is answered and nothing hangs.
pub async fn the_probe_tells_an_open_database_from_a_closed_one(subject: &dyn Subject) {
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
