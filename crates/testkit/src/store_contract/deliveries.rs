//! The first layer, and the sweeper's view of it.

use std::time::Duration;

use pipeline::{DeliveryId, NewDelivery, OnConflict, Processed, Reason, Recorded};
use tokio::task::JoinSet;

use super::{LONG, Seams, Subject, delivery, must};
use crate::patience::until;

/// The key is what counts, and the answer names the row that is there.
pub async fn the_same_post_twice_is_recorded_once(subject: &dyn Subject) {
    let seams = subject.seams();
    let first = delivery("evt_1", b"body");
    let id = first.id;
    assert_eq!(seams.record(first).await, Recorded::New(id));
    let again = delivery("evt_1", b"body");
    assert_eq!(seams.record(again).await, Recorded::Duplicate(id));
    assert_eq!(unfinished(&seams).await, 1);
}

/// A storm of retries: one is the first, all others learn which.
pub async fn fifty_identical_posts_at_once_make_one_row(subject: &dyn Subject) {
    let seams = subject.seams();
    let answers = at_once(&seams, (0..50).map(|_| vec![delivery("evt_1", b"body")])).await;
    let new: Vec<_> = news(&answers);
    assert_eq!(new.len(), 1);
    assert!(
        answers
            .iter()
            .flatten()
            .all(|answer| Some(&answer.id()) == new.first())
    );
    assert_eq!(unfinished(&seams).await, 1);
}

/// What arrives together is recorded together, and everybody gets his answer.
pub async fn a_batch_that_repeats_itself_is_answered_in_its_order(subject: &dyn Subject) {
    let seams = subject.seams();
    let known = seams.new_delivery("known").await;
    let batch = vec![
        delivery("z", b"1"),
        delivery("known", b"known"),
        delivery("a", b"1"),
        delivery("z", b"1"),
    ];
    let ids: Vec<DeliveryId> = batch.iter().map(|delivery| delivery.id).collect();
    let answers = must(seams.deliveries.record(batch).await);
    let [z, _, a, _] = ids.as_slice() else {
        panic!("four were sent");
    };
    let expected = [
        Recorded::New(*z),
        Recorded::Duplicate(known),
        Recorded::New(*a),
        Recorded::Duplicate(*z),
    ];
    assert_eq!(answers, expected);
    assert_eq!(unfinished(&seams).await, 3);
}

/// Nothing in, nothing out.
pub async fn an_empty_batch_needs_no_answer(subject: &dyn Subject) {
    let answers = must(subject.seams().deliveries.record(Vec::new()).await);
    assert_eq!(answers, []);
}

/// Two committers may hold the same keys in any order.
pub async fn batches_with_the_same_keys_in_any_order_do_not_deadlock(subject: &dyn Subject) {
    let seams = subject.seams();
    for round in 0..10 {
        let batches = (0..6).map(|committer| {
            let mut batch: Vec<NewDelivery> = (0..24)
                .map(|number| delivery(&format!("{round}-{number}"), b"body"))
                .collect();
            batch.rotate_left(committer * 4);
            if committer % 2 == 1 {
                batch.reverse();
            }
            batch
        });
        let answers = at_once(&seams, batches).await;
        assert_eq!(news(&answers).len(), 24);
    }
    assert_eq!(unfinished(&seams).await, 240);
}

/// An authentic post is kept even when its id was used before, and its own
/// retry is a duplicate of its own row.
pub async fn other_content_under_a_known_id_has_a_row_of_its_own(subject: &dyn Subject) {
    let seams = subject.seams();
    let (one, two, three) = (
        delivery("evt_1", b"one"),
        delivery("evt_1", b"two"),
        delivery("evt_1", b"three"),
    );
    let ids = [one.id, two.id, three.id];
    let mut answers = Vec::new();
    for post in [one, two, three] {
        answers.push(seams.record(post).await);
    }
    for body in [b"one".as_slice(), b"two", b"three"] {
        answers.push(seams.record(delivery("evt_1", body)).await);
    }
    let [first, second, third] = ids;
    let expected = [
        Recorded::New(first),
        Recorded::Conflict(second),
        Recorded::Conflict(third),
        Recorded::Duplicate(first),
        Recorded::Duplicate(second),
        Recorded::Duplicate(third),
    ];
    assert_eq!(answers, expected);
    let (_, stored) = seams.claim(second, LONG).await;
    assert_eq!(stored.body, b"two");
}

/// Unless its proof was a token that is used once.
pub async fn other_content_for_a_token_used_once_is_refused(subject: &dyn Subject) {
    let seams = subject.seams();
    let post = |body: &[u8]| NewDelivery {
        on_conflict: OnConflict::Refuse,
        ..delivery("token_1", body)
    };
    let first = post(b"one");
    let id = first.id;
    let batch = vec![first, post(b"two"), post(b"two"), post(b"one")];
    let expected = [
        Recorded::New(id),
        Recorded::Refused(id),
        Recorded::Refused(id),
        Recorded::Duplicate(id),
    ];
    assert_eq!(must(seams.deliveries.record(batch).await), expected);
    let again = seams.record(post(b"three")).await;
    assert_eq!(again, Recorded::Refused(id));
    assert_eq!(unfinished(&seams).await, 1);
}

/// The two may even arrive in the same instant.
pub async fn one_batch_may_hold_both_sides_of_a_conflict(subject: &dyn Subject) {
    let seams = subject.seams();
    let batch = vec![
        delivery("evt_1", b"one"),
        delivery("evt_1", b"two"),
        delivery("evt_1", b"two"),
    ];
    let answers = must(seams.deliveries.record(batch).await);
    let [one, two, again] = answers.as_slice() else {
        panic!("three answers, not {answers:?}");
    };
    assert!(matches!(one, Recorded::New(_)));
    assert!(matches!(two, Recorded::Conflict(_)));
    assert_eq!(*again, Recorded::Duplicate(two.id()));
    assert_eq!(unfinished(&seams).await, 2);
}

/// A conflict is deduplicated as well as anything else.
pub async fn the_same_conflict_fifty_times_at_once_makes_one_row(subject: &dyn Subject) {
    let seams = subject.seams();
    seams.new_delivery("evt_1").await;
    let answers = at_once(&seams, (0..50).map(|_| vec![delivery("evt_1", b"other")])).await;
    let fresh = answers.iter().flatten().filter(|answer| answer.is_fresh());
    let fresh: Vec<_> = fresh.collect();
    assert!(
        matches!(fresh.as_slice(), [Recorded::Conflict(_)]),
        "{fresh:?}"
    );
    assert_eq!(unfinished(&seams).await, 2);
}

/// No encoding, no compression and no text rule touches the bytes.
pub async fn the_bytes_of_a_delivery_come_back_as_they_came(subject: &dyn Subject) {
    let seams = subject.seams();
    let every_byte: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    for (id, body) in [("empty", Vec::new()), ("every", every_byte)] {
        let new = NewDelivery {
            content_type: "multipart/form-data; boundary=x".to_owned(),
            ..delivery(id, &body)
        };
        let (new_id, source) = (new.id, new.source.clone());
        seams.record(new).await;
        let (_, stored) = seams.claim(new_id, LONG).await;
        assert!(stored.body == body, "{id} changed");
        assert_eq!(stored.id, new_id);
        assert_eq!(stored.source, source);
        assert_eq!(stored.content_type, "multipart/form-data; boundary=x");
    }
}

/// The first ring is the webhook's; the sweeper comes in when it was lost.
pub async fn a_new_delivery_is_due_when_its_first_ring_had_time(subject: &dyn Subject) {
    let seams = subject.seams();
    let id = seams.new_delivery("evt_1").await;
    assert_eq!(must(seams.deliveries.due(10).await), []);
    until("a delivery that nobody rang for is due", async || {
        let due = must(seams.deliveries.due(10).await);
        (due == [id]).then_some(())
    })
    .await;
}

/// A sweeper that has rung gives the worker time.
pub async fn a_rung_delivery_is_due_again_only_after_patience(subject: &dyn Subject) {
    let seams = subject.seams();
    let id = due_delivery(&seams, "evt_1").await;
    must(seams.deliveries.mark_notified(&[id], LONG).await);
    assert_eq!(must(seams.deliveries.due(10).await), []);
    let other = due_delivery(&seams, "evt_2").await;
    must(
        seams
            .deliveries
            .mark_notified(&[other, DeliveryId::new()], Duration::ZERO)
            .await,
    );
    until("it is due again", async || {
        let due = must(seams.deliveries.due(10).await);
        (due == [other]).then_some(())
    })
    .await;
}

/// A note that the bell was rung leaves a later time alone.
pub async fn ringing_never_makes_a_delivery_due_earlier(subject: &dyn Subject) {
    let seams = subject.seams();
    let id = seams.new_delivery("evt_1").await;
    let (claim, _) = seams.claim(id, LONG).await;
    must(
        seams
            .work
            .retry_later(claim, LONG, Reason::new("test"))
            .await,
    );
    must(seams.deliveries.mark_notified(&[id], Duration::ZERO).await);
    assert_eq!(must(seams.deliveries.due(10).await), []);
}

/// A backlog is worked off from its old end.
pub async fn the_longest_due_come_first_and_no_more_than_asked_for(subject: &dyn Subject) {
    let seams = subject.seams();
    let mut ids = Vec::new();
    for number in 0..5 {
        ids.push(due_delivery(&seams, &format!("evt_{number}")).await);
    }
    let due = must(seams.deliveries.due(3).await);
    assert_eq!(Some(due.as_slice()), ids.get(..3));
}

/// The gauges of `/metrics`.
pub async fn the_backlog_counts_what_waits_and_what_was_given_up(subject: &dyn Subject) {
    let seams = subject.seams();
    let empty = must(seams.deliveries.backlog().await);
    assert_eq!((empty.unfinished, empty.dead_letters), (0, 0));
    assert_eq!(empty.oldest, Duration::ZERO);
    seams.new_delivery("waits").await;
    seams.claim(seams.new_delivery("held").await, LONG).await;
    let (claim, _) = seams
        .claim(seams.new_delivery("given_up").await, LONG)
        .await;
    must(seams.work.dead_letter(claim, Reason::new("test")).await);
    let (claim, _) = seams.claim(seams.new_delivery("done").await, LONG).await;
    seams.complete(claim, Processed::default()).await;
    let backlog = until("time passes", async || {
        let backlog = must(seams.deliveries.backlog().await);
        (backlog.oldest > Duration::ZERO).then_some(backlog)
    })
    .await;
    assert_eq!((backlog.unfinished, backlog.dead_letters), (2, 1));
    assert!(backlog.oldest < LONG);
    assert!(backlog.at > empty.at);
}

/// A stranger can have mail put off for hours; that says nothing of the workers.
pub async fn only_what_a_worker_could_take_is_overdue(subject: &dyn Subject) {
    let seams = subject.seams();
    seams.claim(seams.new_delivery("held").await, LONG).await;
    let (claim, _) = seams.claim(seams.new_delivery("put off").await, LONG).await;
    must(
        seams
            .work
            .retry_later(claim, LONG, Reason::new("test"))
            .await,
    );
    let backlog = until("they are old", async || {
        let backlog = must(seams.deliveries.backlog().await);
        (backlog.oldest > Duration::from_millis(50)).then_some(backlog)
    })
    .await;
    assert_eq!(backlog.overdue, Duration::ZERO);
    // A put-back whose time has come is due since then, and not for its whole age.
    due_delivery(&seams, "due").await;
    let backlog = until("it is overdue", async || {
        let backlog = must(seams.deliveries.backlog().await);
        (backlog.overdue > Duration::ZERO).then_some(backlog)
    })
    .await;
    assert!(backlog.overdue < backlog.oldest, "{backlog:?}");
}

/// A worker that died leaves its delivery to the others.
pub async fn a_lease_that_has_passed_is_overdue(subject: &dyn Subject) {
    let seams = subject.seams();
    let lease = Duration::from_millis(1);
    seams.claim(seams.new_delivery("left").await, lease).await;
    until("it is overdue", async || {
        let backlog = must(seams.deliveries.backlog().await);
        (backlog.overdue > Duration::ZERO).then_some(())
    })
    .await;
}

async fn due_delivery(seams: &Seams, id: &str) -> DeliveryId {
    let id = seams.new_delivery(id).await;
    let (claim, _) = seams.claim(id, LONG).await;
    let why = Reason::new("test");
    must(seams.work.retry_later(claim, Duration::ZERO, why).await);
    id
}

async fn unfinished(seams: &Seams) -> u64 {
    must(seams.deliveries.backlog().await).unfinished
}

/// Records batches from as many tasks.
async fn at_once(
    seams: &Seams,
    batches: impl Iterator<Item = Vec<NewDelivery>>,
) -> Vec<Vec<Recorded>> {
    let mut tasks = JoinSet::new();
    for batch in batches {
        let seams = seams.clone();
        tasks.spawn(async move { must(seams.deliveries.record(batch).await) });
    }
    tasks.join_all().await
}

fn news(answers: &[Vec<Recorded>]) -> Vec<DeliveryId> {
    let answers = answers.iter().flatten();
    answers
        .filter(|answer| matches!(answer, Recorded::New(_)))
        .map(|answer| answer.id())
        .collect()
}
