//! The contract of a database for retention. Its tests are made as those of
//! [`crate::store_contract`].

use std::sync::Arc;
use std::time::Duration;

use pipeline::{
    ArtifactKey, ArtifactKind, AttemptMatch, AttemptOutcome, Consumed, DeliveryId, FeedBounds,
    InboxRules, NewArtifact, NewAttempt, NewDelivery, NewInbox, Opened, Reason, Recorded, Request,
    RequestKind, ResendOutcome, RetentionKind, RetentionLog, RetentionPeriods, Scope, Seq,
    ServerKey, StorageQuota,
};

use crate::noise::noise;
use crate::store_contract::{
    LONG, StoreSubject, attempt, code, delivery, held, inbox, mail, must, request, resend, suited,
};
use crate::wait;

const NOW: Duration = Duration::ZERO;

/// A database under test with retention.
pub trait RetentionSubject: StoreSubject {
    /// Its retention.
    fn retention(&self) -> Arc<dyn RetentionLog>;
}

/// Keeps everything for longer than any test takes.
pub(crate) fn keep_everything() -> RetentionPeriods {
    RetentionPeriods {
        consumed_values: LONG,
        expired_values: LONG,
        done_bodies: LONG,
        dead_letter_bodies: LONG,
        items: LONG,
        known: LONG,
        consumes: LONG,
        send_contents: LONG,
        send_events: LONG,
        intents: LONG,
    }
}

async fn discard(
    subject: &dyn RetentionSubject,
    what: RetentionKind,
    keep: &RetentionPeriods,
) -> u64 {
    must(subject.retention().discard(what, keep, 100).await).count
}

/// A consumed value is given to a retry for a while, and then it is wiped.
pub async fn consumed_value_is_wiped_after_its_replay_window(subject: &dyn RetentionSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    let id = seams.bring(&to, "m1", code(&to, "493817")).await;
    let asked = request(id, "agent", "k");
    let first = seams.consume(&asked).await;
    assert!(matches!(first, Consumed::First { .. }), "{first:?}");
    assert_eq!(
        discard(subject, RetentionKind::Values, &keep_everything()).await,
        0
    );
    let again = seams.consume(&asked).await;
    assert!(matches!(again, Consumed::Replayed { .. }), "{again:?}");
    let keep = RetentionPeriods {
        consumed_values: NOW,
        ..keep_everything()
    };
    assert_eq!(discard(subject, RetentionKind::Values, &keep).await, 1);
    assert_eq!(discard(subject, RetentionKind::Values, &keep).await, 0);
    // Even with an open replay window there is no value to return.
    let late = seams.consume(&asked).await;
    assert!(matches!(late, Consumed::Already { .. }), "{late:?}");
    assert_eq!(seams.items(&to).await.len(), 1);
}

/// A value that expired unused is wiped.
pub async fn unused_value_is_wiped_after_it_expired(subject: &dyn RetentionSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    let expired = NewArtifact {
        lifetime: NOW,
        ..code(&to, "111111")
    };
    let gone = seams.bring(&to, "m1", expired).await;
    let kept = seams.bring(&to, "m2", code(&to, "222222")).await;
    assert_eq!(
        discard(subject, RetentionKind::Values, &keep_everything()).await,
        0
    );
    let keep = RetentionPeriods {
        expired_values: NOW,
        ..keep_everything()
    };
    assert_eq!(discard(subject, RetentionKind::Values, &keep).await, 1);
    let answer = seams.consume(&request(gone, "agent", "k1")).await;
    assert!(matches!(answer, Consumed::Expired { .. }), "{answer:?}");
    let answer = seams.consume(&request(kept, "agent", "k2")).await;
    assert!(matches!(answer, Consumed::First { .. }), "{answer:?}");
}

/// The bodies of unfinished deliveries are never wiped.
pub async fn bodies_are_wiped_after_their_retention_time(subject: &dyn RetentionSubject) {
    let seams = subject.seams();
    let pending = seams.new_delivery("pending").await;
    let done = seams.new_delivery("done").await;
    let (claim, _) = seams.claim(done, LONG).await;
    seams.complete(claim, held(Vec::new())).await;
    let buried = seams.new_delivery("buried").await;
    let (claim, _) = seams.claim(buried, LONG).await;
    must(seams.work.dead_letter(claim, Reason::new("test")).await);

    let unknown = seams.new_delivery("unknown").await;
    let (claim, _) = seams.claim(unknown, LONG).await;
    let reason = Reason::new("inbox_unknown");
    must(seams.work.dead_letter(claim, reason).await);

    let keep = RetentionPeriods {
        done_bodies: NOW,
        ..keep_everything()
    };
    assert_eq!(discard(subject, RetentionKind::Bodies, &keep).await, 2);
    let (_, body) =
        must(seams.failures.find_dead_letter(buried).await).unwrap_or_else(|| panic!("buried"));
    assert!(body.is_some());
    let keep = RetentionPeriods {
        dead_letter_bodies: NOW,
        ..keep
    };
    assert_eq!(discard(subject, RetentionKind::Bodies, &keep).await, 1);
    let (item, body) =
        must(seams.failures.find_dead_letter(buried).await).unwrap_or_else(|| panic!("buried"));
    assert_eq!((item.body_bytes, body), (None, None));
    assert!(!must(seams.failures.requeue(buried).await));
    let (_, stored) = seams.claim(pending, LONG).await;
    assert_eq!(stored.body, b"pending");
    // Its row still detects duplicates.
    let again = seams.record(delivery("done", b"done")).await;
    assert_eq!(again, Recorded::Duplicate(done));
}

async fn unfinished(subject: &dyn RetentionSubject) -> Vec<(String, u64)> {
    let measured = must(subject.retention().unfinished_bytes().await);
    let mut measured: Vec<_> = measured
        .into_iter()
        .map(|(source, bytes)| (source.to_string(), bytes))
        .collect();
    measured.sort();
    measured
}

async fn finished(subject: &dyn RetentionSubject) -> u64 {
    must(subject.retention().finished_bytes().await)
}

/// Unfinished ones by source. A body moves from unfinished to finished.
pub async fn stored_bytes_are_counted_by_source_and_state(subject: &dyn RetentionSubject) {
    let seams = subject.seams();
    assert_eq!(unfinished(subject).await, []);
    assert_eq!(finished(subject).await, 0);
    let empty = seams.new_delivery("").await;
    let [(_, row)] = &unfinished(subject).await[..] else {
        panic!("one source");
    };
    // Sealing adds a few bytes to the body.
    let row = *row;
    assert!((StorageQuota::ROW..StorageQuota::ROW + 100).contains(&row));
    let other = NewDelivery {
        source: must("other".parse()),
        ..delivery("other", noise(7, 1000).as_bytes())
    };
    seams.record(other).await;
    let of = |source: &str, bytes| (source.to_owned(), bytes);
    let both = [of("contract", row), of("other", row + 1000)];
    assert_eq!(unfinished(subject).await, both);
    let (claim, _) = seams.claim(empty, LONG).await;
    // What a worker holds is unfinished, too.
    assert_eq!(unfinished(subject).await, both);
    seams.complete(claim, held(Vec::new())).await;
    assert_eq!(unfinished(subject).await, [of("other", row + 1000)]);
    assert_eq!(finished(subject).await, row);
}

/// Dead letters come last, because an operator may requeue them. Unfinished deliveries keep
/// their bodies in any case.
pub async fn bodies_are_freed_oldest_first_and_dead_letters_last(subject: &dyn RetentionSubject) {
    let seams = subject.seams();
    let bury = async |name: &str, reason: &'static str| {
        let id = seams.new_delivery(name).await;
        let (claim, _) = seams.claim(id, LONG).await;
        must(seams.work.dead_letter(claim, Reason::new(reason)).await);
        id
    };
    let has_body = async |id: DeliveryId| {
        let found = must(seams.failures.find_dead_letter(id).await);
        found.is_some_and(|(_, body)| body.is_some())
    };
    let free = async |bytes, limit| must(subject.retention().free_bodies(bytes, limit).await);
    let pending = seams.new_delivery("pending").await;
    let buried = bury("buried", "test").await;
    let first = bury("first", "inbox_unknown").await;
    let second = bury("second", "not_the_sources_domain").await;
    let done = seams.new_delivery("done").await;
    let (claim, _) = seams.claim(done, LONG).await;
    seams.complete(claim, held(Vec::new())).await;

    assert_eq!(free(0, 100).await.count, 0);
    let before = finished(subject).await;
    let freed = free(1, 100).await;
    assert_eq!(freed.count, 1);
    assert_eq!(before - finished(subject).await, freed.bytes);
    let kept = [
        has_body(buried).await,
        has_body(first).await,
        has_body(second).await,
    ];
    assert_eq!(kept, [true, false, true]);

    assert_eq!(free(u64::MAX, 2).await.count, 2);
    assert!(!has_body(second).await);
    assert!(has_body(buried).await);
    assert_eq!(free(u64::MAX, 100).await.count, 1);
    assert!(!has_body(buried).await);
    assert_eq!(free(u64::MAX, 100).await.count, 0);
    assert_eq!(finished(subject).await, 0);
    let (_, stored) = seams.claim(pending, LONG).await;
    assert_eq!(stored.body, b"pending");
    // Its row still detects duplicates.
    let again = seams.record(delivery("done", b"done")).await;
    assert_eq!(again, Recorded::Duplicate(done));
}

/// Two janitors may free bodies at the same time.
pub async fn bodies_freed_by_several_at_once_are_the_oldest(subject: &dyn RetentionSubject) {
    let seams = subject.seams();
    let mut finished = Vec::new();
    for number in 0..24 {
        let id = seams.new_delivery(&format!("m{number}")).await;
        let (claim, _) = seams.claim(id, LONG).await;
        let reason = Reason::new("inbox_unknown");
        must(seams.work.dead_letter(claim, reason).await);
        finished.push(id);
    }
    // Each needs one body, and could take three.
    let free = async || must(subject.retention().free_bodies(1, 3).await).count;
    let (one, two, three, four) = tokio::join!(free(), free(), free(), free());
    let freed = one + two + three + four;
    let mut has_body = Vec::new();
    for id in finished {
        let found = must(seams.failures.find_dead_letter(id).await);
        has_body.push(found.is_some_and(|(_, body)| body.is_some()));
    }
    assert!(freed > 0);
    let kept = has_body.iter().skip_while(|has_body| !**has_body);
    assert!(kept.clone().all(|has_body| *has_body), "{has_body:?}");
    assert_eq!(u64::try_from(kept.count()), Ok(24 - freed));
}

/// A reader can tell that items before its cursor were deleted.
pub async fn deleted_items_move_the_bounds_of_their_inbox(subject: &dyn RetentionSubject) {
    let seams = subject.seams();
    let (to, other) = (inbox("agent"), inbox("other"));
    let nowhere = must(seams.agents.feed_bounds(&to).await);
    assert_eq!(nowhere, FeedBounds::default());
    for name in ["m1", "m2", "m3"] {
        seams.bring(&to, name, code(&to, name)).await;
    }
    let bounds = |purged, last| FeedBounds {
        purged: Seq::new(purged),
        last: Seq::new(last),
    };
    assert_eq!(must(seams.agents.feed_bounds(&to).await), bounds(0, 3));
    assert_eq!(
        discard(subject, RetentionKind::Items, &keep_everything()).await,
        0
    );
    let keep = RetentionPeriods {
        items: NOW,
        ..keep_everything()
    };
    let gone = must(
        subject
            .retention()
            .discard(RetentionKind::Items, &keep, 2)
            .await,
    );
    assert_eq!(gone.count, 2);
    assert_eq!(discard(subject, RetentionKind::Items, &keep).await, 1);
    assert_eq!(seams.items(&to).await, []);
    assert_eq!(must(seams.agents.feed_bounds(&to).await), bounds(3, 3));
    seams.bring(&to, "m4", code(&to, "m4")).await;
    seams.bring(&other, "m5", code(&other, "m5")).await;
    assert_eq!(must(seams.agents.feed_bounds(&to).await), bounds(3, 4));
    assert_eq!(must(seams.agents.feed_bounds(&other).await), bounds(0, 1));
}

/// An inbox may have a longer or shorter retention time than the default.
pub async fn retention_of_an_inbox_overrides_the_default(subject: &dyn RetentionSubject) {
    let seams = subject.seams();
    let (short, long, usual) = (inbox("short"), inbox("long"), inbox("usual"));
    for (to, retention) in [(&short, NOW), (&long, LONG)] {
        let new = NewInbox {
            inbox: to.clone(),
            owner: must("agent".parse()),
            asked: None,
            rules: InboxRules::default(),
            metadata: None,
            expires_in: None,
            retention: Some(retention),
        };
        assert!(
            must(seams.inboxes.create_inbox(new).await)
                .fresh()
                .is_some()
        );
    }
    for to in [&short, &long, &usual] {
        seams.bring(to, to.as_str(), code(to, "493817")).await;
    }
    assert_eq!(
        discard(subject, RetentionKind::Items, &keep_everything()).await,
        1
    );
    assert_eq!(seams.items(&short).await, []);
    let keep = RetentionPeriods {
        items: NOW,
        ..keep_everything()
    };
    assert_eq!(discard(subject, RetentionKind::Items, &keep).await, 1);
    assert_eq!(seams.items(&usual).await, []);
    assert_eq!(seams.items(&long).await.len(), 1);
}

/// A row is not deleted while another row depends on it.
pub async fn deletion_keeps_rows_that_others_depend_on(subject: &dyn RetentionSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    let id = seams.bring(&to, "m1", code(&to, "493817")).await;
    seams.consume(&request(id, "agent", "k")).await;
    let keep_nothing = RetentionPeriods {
        consumed_values: NOW,
        expired_values: NOW,
        done_bodies: NOW,
        dead_letter_bodies: NOW,
        items: NOW,
        known: NOW,
        consumes: NOW,
        send_contents: NOW,
        send_events: NOW,
        intents: NOW,
    };
    // The delivery has a body and a message, the consume has its artifact.
    assert_eq!(
        discard(subject, RetentionKind::Deliveries, &keep_nothing).await,
        0
    );
    assert_eq!(
        discard(subject, RetentionKind::Consumes, &keep_nothing).await,
        0
    );
    let answer = seams.consume(&request(id, "other", "k")).await;
    assert!(matches!(answer, Consumed::Already { .. }), "{answer:?}");
    for what in RetentionKind::ALL {
        let is_there = !matches!(
            what,
            RetentionKind::Attempts
                | RetentionKind::Requests
                | RetentionKind::SendContents
                | RetentionKind::SendEvents
                | RetentionKind::Intents
        );
        let count = u64::from(is_there);
        assert_eq!(
            discard(subject, what, &keep_nothing).await,
            count,
            "{what:?}"
        );
    }
    let answer = seams.consume(&request(id, "agent", "k")).await;
    assert!(matches!(answer, Consumed::Unknown), "{answer:?}");
    let again = seams.record(delivery("m1", b"m1")).await;
    assert!(matches!(again, Recorded::New(_)), "{again:?}");
}

/// After that the same idempotency key counts as new.
pub async fn request_is_kept_for_its_retention_time(subject: &dyn RetentionSubject) {
    let seams = subject.seams();
    let asked = || NewAttempt {
        asked: Some(Request {
            consumer: must("a".parse()),
            kind: RequestKind::Attempt,
            key: must("k".parse()),
            tag: [1; 16],
        }),
        ..attempt(&inbox("agent"))
    };
    let open = async || must(seams.attempts.open_attempt(asked()).await);
    assert!(matches!(open().await, Opened::New(_)));
    assert_eq!(
        discard(subject, RetentionKind::Requests, &keep_everything()).await,
        0
    );
    assert!(matches!(open().await, Opened::Known(_)));
    let keep_no_requests = RetentionPeriods {
        items: NOW,
        ..keep_everything()
    };
    assert_eq!(
        discard(subject, RetentionKind::Requests, &keep_no_requests).await,
        1
    );
    assert!(matches!(open().await, Opened::New(_)));
}

/// An attempt is kept for as long as it has items.
pub async fn attempt_is_deleted_after_its_deadline_and_its_items(subject: &dyn RetentionSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    let (open, used, idle) = (attempt(&to), attempt(&to), attempt(&to));
    let over = |attempt: &NewAttempt| NewAttempt {
        timeout: Duration::from_secs(3),
        ..attempt.clone()
    };
    for asked in [open.clone(), over(&used), over(&idle)] {
        must(seams.attempts.open_attempt(asked).await);
    }
    let granted = seams.attempts.resend(&resend(idle.id, "a", "k")).await;
    assert!(matches!(must(granted), ResendOutcome::Granted { .. }));
    let artifact = NewArtifact {
        matches: vec![AttemptMatch {
            attempt: used.id,
            key: ArtifactKey::for_message(&ServerKey::new([9; 32]), &[1; 16], ArtifactKind::Code),
        }],
        ..code(&to, "493817")
    };
    seams.bring(&to, "m1", artifact).await;
    let keep_no_items = RetentionPeriods {
        items: NOW,
        ..keep_everything()
    };
    assert_eq!(
        discard(subject, RetentionKind::Attempts, &keep_everything()).await,
        0
    );
    wait::until("the attempt without items is deleted", || async {
        let gone = discard(subject, RetentionKind::Attempts, &keep_no_items).await;
        (gone == 1).then_some(())
    })
    .await;
    let known = async |id| must(seams.attempts.attempt(id, &Scope::All).await).is_some();
    assert_eq!(
        [
            known(open.id).await,
            known(used.id).await,
            known(idle.id).await
        ],
        [true, true, false]
    );
    assert_eq!(
        discard(subject, RetentionKind::Items, &keep_no_items).await,
        1
    );
    assert_eq!(
        discard(subject, RetentionKind::Attempts, &keep_no_items).await,
        1
    );
    assert_eq!([known(open.id).await, known(used.id).await], [true, false]);
}

/// A duplicate of a mail may arrive by another path after the mail's items were deleted.
pub async fn message_key_is_kept_longer_than_its_items(subject: &dyn RetentionSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    let again = async |delivery: &str| {
        let copy = mail(&to, "m1", vec![code(&to, "493817")]);
        let finished = seams.process(delivery, vec![copy]).await;
        (finished.duplicate_messages, finished.artifacts)
    };
    assert_eq!(again("pushed").await, (0, 1));
    let short = RetentionPeriods {
        items: NOW,
        ..keep_everything()
    };
    assert_eq!(discard(subject, RetentionKind::Items, &short).await, 1);
    assert_eq!(discard(subject, RetentionKind::Items, &short).await, 0);
    assert_eq!(discard(subject, RetentionKind::Messages, &short).await, 0);
    assert_eq!(again("polled").await, (1, 0));
    assert_eq!(seams.items(&to).await, []);
    let keep_no_keys = RetentionPeriods {
        known: NOW,
        ..short
    };
    assert_eq!(
        discard(subject, RetentionKind::Messages, &keep_no_keys).await,
        1
    );
    assert_eq!(again("years later").await, (0, 1));
}

/// A repeated code must still be recognised as the same artifact.
pub async fn items_of_an_open_attempt_are_kept(subject: &dyn RetentionSubject) {
    let seams = subject.seams();
    let asked = attempt(&inbox("agent"));
    let (to, id) = (asked.inbox.clone(), asked.id);
    must(seams.attempts.open_attempt(asked).await);
    let artifact = suited(code(&to, "493817"), &[id]);
    seams.bring(&to, "m1", artifact).await;
    let short = RetentionPeriods {
        items: NOW,
        ..keep_everything()
    };
    assert_eq!(discard(subject, RetentionKind::Items, &short).await, 0);
    let outcome = AttemptOutcome::Succeeded;
    must(
        seams
            .attempts
            .finish_attempt(id, &Scope::All, outcome, None)
            .await,
    );
    assert_eq!(discard(subject, RetentionKind::Items, &short).await, 1);
}

/// Anybody can create inboxes by sending mail to new addresses, and each attempt may generate
/// one.
pub async fn ownerless_empty_inbox_is_deleted(subject: &dyn RetentionSubject) {
    let seams = subject.seams();
    let new = NewInbox {
        inbox: inbox("asked-for"),
        owner: must("agent".parse()),
        asked: None,
        rules: InboxRules::default(),
        metadata: None,
        expires_in: None,
        retention: None,
    };
    assert!(
        must(seams.inboxes.create_inbox(new).await)
            .fresh()
            .is_some()
    );
    let minted = NewAttempt {
        is_minted: true,
        ..attempt(&inbox("minted"))
    };
    must(seams.attempts.open_attempt(minted).await);
    let to = inbox("written-to");
    seams.bring(&to, "m1", code(&to, "493817")).await;
    let keep_no_messages = RetentionPeriods {
        items: NOW,
        known: NOW,
        ..keep_everything()
    };
    // One has a message, and an attempt waits on the other.
    assert_eq!(
        discard(subject, RetentionKind::Inboxes, &keep_no_messages).await,
        0
    );
    assert_eq!(
        discard(subject, RetentionKind::Items, &keep_no_messages).await,
        1
    );
    assert_eq!(
        discard(subject, RetentionKind::Messages, &keep_no_messages).await,
        1
    );
    assert_eq!(
        discard(subject, RetentionKind::Inboxes, &keep_everything()).await,
        0
    );
    assert_eq!(
        discard(subject, RetentionKind::Inboxes, &keep_no_messages).await,
        1
    );
    let left = must(seams.inboxes.inboxes(&Scope::All, None, 10).await);
    let left: Vec<_> = left.into_iter().map(|view| view.inbox).collect();
    assert_eq!(left, [inbox("asked-for"), inbox("minted")]);
}

/// Makes a test of every rule of the contract for a [`RetentionSubject`].
#[macro_export]
macro_rules! retention_contract {
    ($subject:ty) => {
        $crate::retention_contract!(
            $subject:
            consumed_value_is_wiped_after_its_replay_window,
            unused_value_is_wiped_after_it_expired,
            bodies_are_wiped_after_their_retention_time,
            stored_bytes_are_counted_by_source_and_state,
            bodies_are_freed_oldest_first_and_dead_letters_last,
            bodies_freed_by_several_at_once_are_the_oldest,
            deleted_items_move_the_bounds_of_their_inbox,
            retention_of_an_inbox_overrides_the_default,
            deletion_keeps_rows_that_others_depend_on,
            attempt_is_deleted_after_its_deadline_and_its_items,
            message_key_is_kept_longer_than_its_items,
            items_of_an_open_attempt_are_kept,
            ownerless_empty_inbox_is_deleted,
            request_is_kept_for_its_retention_time,
        );
    };
    ($subject:ty: $($rule:ident),+ $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $rule() {
                let subject = <$subject as $crate::store_contract::StoreSubject>::open().await;
                $crate::retention_contract::$rule(&subject).await;
                $crate::store_contract::StoreSubject::close(&subject).await;
            }
        )+
    };
}
