//! Recording deliveries: the first layer against duplicates; and what the sweeper sees.

use std::time::Duration;

use pipeline::{DeliveryId, NewDelivery, OnConflict, Processed, Reason, Recorded};
use tokio::task::JoinSet;

use super::{LONG, Seams, StoreSubject, delivery, held, must};
use crate::noise::noise;
use crate::wait::until;

/// The key decides, and the answer names the existing row.
pub async fn duplicate_post_is_recorded_once(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let first = delivery("evt_1", b"body");
    let id = first.id;
    assert_eq!(seams.record(first).await, Recorded::New(id));
    let again = delivery("evt_1", b"body");
    assert_eq!(seams.record(again).await, Recorded::Duplicate(id));
    assert_eq!(unfinished(&seams).await, 1);
}

/// Fifty retries at once: one is new, and all others are told its id.
pub async fn fifty_identical_posts_at_once_make_one_row(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let answers = at_once(&seams, (0..50).map(|_| vec![delivery("evt_1", b"body")])).await;
    let new: Vec<_> = new_ids(&answers);
    assert_eq!(new.len(), 1);
    assert!(
        answers
            .iter()
            .flatten()
            .all(|answer| Some(&answer.id()) == new.first())
    );
    assert_eq!(unfinished(&seams).await, 1);
}

/// A batch is recorded in one commit, and each delivery gets its own answer.
pub async fn batch_with_duplicates_is_answered_in_order(subject: &dyn StoreSubject) {
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

/// Bodies of all lengths in one batch, more than one statement takes, and one that is longer
/// than that.
pub async fn each_delivery_of_a_batch_keeps_its_own_body(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let lengths = [0, 1, 300, 5_000, 300_000, 70, 600_000, 200_000, 9];
    let bodies = (0..)
        .zip(lengths)
        .map(|(seed, length)| noise(seed, length).into_bytes());
    let bodies: Vec<Vec<u8>> = bodies.collect();
    let batch = bodies.iter().enumerate();
    let batch = batch.map(|(number, body)| delivery(&number.to_string(), body));
    let batch: Vec<NewDelivery> = batch.collect();
    let ids: Vec<DeliveryId> = batch.iter().map(|delivery| delivery.id).collect();
    let answers = must(seams.deliveries.record(batch).await);
    assert_eq!(
        answers,
        ids.iter().copied().map(Recorded::New).collect::<Vec<_>>()
    );
    for (id, body) in ids.into_iter().zip(bodies) {
        let (_claim, stored) = seams.claim(id, LONG).await;
        assert!(stored.body == body, "a body of {} bytes", body.len());
    }
}

/// An empty batch is allowed.
pub async fn empty_batch_gives_an_empty_answer(subject: &dyn StoreSubject) {
    let answers = must(subject.seams().deliveries.record(Vec::new()).await);
    assert_eq!(answers, []);
}

/// Two concurrent batches may contain the same keys in any order.
pub async fn batches_with_the_same_keys_in_any_order_do_not_deadlock(subject: &dyn StoreSubject) {
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
        assert_eq!(new_ids(&answers).len(), 24);
    }
    assert_eq!(unfinished(&seams).await, 240);
}

/// An authentic post is kept even when its id was used before. Its retry is a duplicate of
/// the extra row.
pub async fn reused_id_with_other_content_gets_its_own_row(subject: &dyn StoreSubject) {
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

/// An authentic post with a used id is refused if its signature covers only a one-time
/// token.
pub async fn reused_token_with_other_content_is_refused(subject: &dyn StoreSubject) {
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

/// Both may arrive in the same batch.
pub async fn one_batch_may_contain_both_sides_of_a_conflict(subject: &dyn StoreSubject) {
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

/// Retries of a conflicting post are duplicates too.
pub async fn same_conflict_fifty_times_at_once_makes_one_row(subject: &dyn StoreSubject) {
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

/// The store does not change the bytes of a body.
pub async fn claimed_body_equals_the_recorded_bytes(subject: &dyn StoreSubject) {
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

/// The webhook sends the first notification; the sweeper sends another if it was lost.
pub async fn new_delivery_is_due_after_its_first_notification_had_time(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let id = seams.new_delivery("evt_1").await;
    assert_eq!(must(seams.deliveries.due(10).await), []);
    until("a delivery without a notification is due", async || {
        let due = must(seams.deliveries.due(10).await);
        (due == [id]).then_some(())
    })
    .await;
}

/// After it has notified, the sweeper gives workers time.
pub async fn notified_delivery_is_due_again_only_after_the_wait(subject: &dyn StoreSubject) {
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

/// A delivery may be claimed and fail between being listed as due and being marked.
pub async fn notifying_does_not_postpone_a_retry(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let id = seams.new_delivery("evt_1").await;
    let (claim, _) = seams.claim(id, LONG).await;
    let (wait, why) = (Duration::from_secs(2), Reason::new("test"));
    must(seams.work.retry_later(claim, wait, why).await);
    must(seams.deliveries.mark_notified(&[id], LONG).await);
    until("the retry is due", async || {
        let due = must(seams.deliveries.due(10).await);
        (due == [id]).then_some(())
    })
    .await;
}

/// `mark_notified` does not move a later due time forward.
pub async fn notifying_never_makes_a_delivery_due_earlier(subject: &dyn StoreSubject) {
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

/// The oldest deliveries of a backlog come first.
pub async fn due_lists_longest_due_first_up_to_the_limit(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let mut ids = Vec::new();
    for number in 0..5 {
        ids.push(due_delivery(&seams, &format!("evt_{number}")).await);
    }
    let due = must(seams.deliveries.due(3).await);
    assert_eq!(Some(due.as_slice()), ids.get(..3));
}

/// A worker that looks for work itself finds a new delivery before its second
/// notification is due, and nothing that somebody else works on.
pub async fn claimable_lists_what_is_due_soon_and_not_claimed(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let ids = [
        seams.new_delivery("new").await,
        seams.new_delivery("claimed").await,
        seams.new_delivery("waits").await,
        due_delivery(&seams, "notified").await,
    ];
    let [new, claimed, waits, notified] = ids;
    seams.claim(claimed, LONG).await;
    let (claim, _) = seams.claim(waits, LONG).await;
    let why = Reason::new("test");
    must(seams.work.retry_later(claim, LONG, why).await);
    must(seams.deliveries.mark_notified(&[notified], LONG).await);
    let ahead = Duration::from_secs(3);
    assert_eq!(must(seams.deliveries.claimable(ahead, 10).await), [new]);
    let (claim, _) = seams.claim(new, LONG).await;
    assert_eq!(must(seams.deliveries.claimable(ahead, 10).await), []);
    seams.complete(claim, held(Vec::new())).await;
}

/// The numbers behind the gauges of `/metrics`.
pub async fn backlog_counts_unfinished_and_dead_letters(subject: &dyn StoreSubject) {
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

/// A provider's outage can delay mail for hours; that does not mean that workers are behind.
pub async fn only_claimable_deliveries_are_overdue(subject: &dyn StoreSubject) {
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
    // A retry is due since its scheduled time, not for its whole age.
    due_delivery(&seams, "due").await;
    let backlog = until("it is overdue", async || {
        let backlog = must(seams.deliveries.backlog().await);
        (backlog.overdue > Duration::ZERO).then_some(backlog)
    })
    .await;
    assert!(backlog.overdue < backlog.oldest, "{backlog:?}");
}

/// The delivery of a dead worker becomes due again.
pub async fn delivery_with_an_expired_lease_is_overdue(subject: &dyn StoreSubject) {
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

/// Records each batch from its own task.
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

fn new_ids(answers: &[Vec<Recorded>]) -> Vec<DeliveryId> {
    let answers = answers.iter().flatten();
    answers
        .filter(|answer| matches!(answer, Recorded::New(_)))
        .map(|answer| answer.id())
        .collect()
}
