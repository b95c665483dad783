//! What every database must do with what is no longer needed; beside
//! [`crate::store_contract`] and made the same way.

use std::sync::Arc;
use std::time::Duration;

use pipeline::{
    ArtifactKey, ArtifactKind, AttemptMatch, AttemptOutcome, Consumed, FeedBounds, InboxRules,
    NewArtifact, NewAttempt, NewInbox, Opened, Reason, Recorded, Request, RequestKind,
    ResendOutcome, RetentionKind, RetentionLog, RetentionPeriods, Scope, Seq, ServerKey,
};

use crate::patience;
use crate::store_contract::{
    LONG, Subject, attempt, code, delivery, held, inbox, mail, must, request, resend, suited,
};

const NOW: Duration = Duration::ZERO;

/// An open database under test that is cleared away in.
pub trait RetentionSubject: Subject {
    /// What clears away.
    fn retention(&self) -> Arc<dyn RetentionLog>;
}

/// Everything is kept for longer than any test takes.
fn everything() -> RetentionPeriods {
    RetentionPeriods {
        consumed_values: LONG,
        expired_values: LONG,
        done_bodies: LONG,
        dead_letter_bodies: LONG,
        items: LONG,
        known: LONG,
        consumes: LONG,
    }
}

async fn discard(
    subject: &dyn RetentionSubject,
    what: RetentionKind,
    keep: &RetentionPeriods,
) -> u64 {
    must(subject.retention().discard(what, keep, 100).await).count
}

/// What was given is given again for a while, and then it is gone.
pub async fn a_consumed_value_is_wiped_when_its_window_has_ended(subject: &dyn RetentionSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    let id = seams.bring(&to, "m1", code(&to, "493817")).await;
    let asked = request(id, "agent", "k");
    let first = seams.consume(&asked).await;
    assert!(matches!(first, Consumed::First { .. }), "{first:?}");
    assert_eq!(
        discard(subject, RetentionKind::Values, &everything()).await,
        0
    );
    let again = seams.consume(&asked).await;
    assert!(matches!(again, Consumed::Replayed { .. }), "{again:?}");
    let keep = RetentionPeriods {
        consumed_values: NOW,
        ..everything()
    };
    assert_eq!(discard(subject, RetentionKind::Values, &keep).await, 1);
    assert_eq!(discard(subject, RetentionKind::Values, &keep).await, 0);
    // Even a feed that would still tell it again has nothing to tell.
    let late = seams.consume(&asked).await;
    assert!(matches!(late, Consumed::Already { .. }), "{late:?}");
    assert_eq!(seams.items(&to).await.len(), 1);
}

/// What nobody used is of no use any more.
pub async fn an_unused_value_is_wiped_after_it_has_expired(subject: &dyn RetentionSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    let expired = NewArtifact {
        lifetime: NOW,
        ..code(&to, "111111")
    };
    let gone = seams.bring(&to, "m1", expired).await;
    let kept = seams.bring(&to, "m2", code(&to, "222222")).await;
    assert_eq!(
        discard(subject, RetentionKind::Values, &everything()).await,
        0
    );
    let keep = RetentionPeriods {
        expired_values: NOW,
        ..everything()
    };
    assert_eq!(discard(subject, RetentionKind::Values, &keep).await, 1);
    let answer = seams.consume(&request(gone, "agent", "k1")).await;
    assert!(matches!(answer, Consumed::Expired { .. }), "{answer:?}");
    let answer = seams.consume(&request(kept, "agent", "k2")).await;
    assert!(matches!(answer, Consumed::First { .. }), "{answer:?}");
}

/// What is still to be done is never touched.
pub async fn bodies_are_wiped_when_nobody_needs_them(subject: &dyn RetentionSubject) {
    let seams = subject.seams();
    let pending = seams.new_delivery("pending").await;
    let done = seams.new_delivery("done").await;
    let (claim, _) = seams.claim(done, LONG).await;
    seams.complete(claim, held(Vec::new())).await;
    let buried = seams.new_delivery("buried").await;
    let (claim, _) = seams.claim(buried, LONG).await;
    must(seams.work.dead_letter(claim, Reason::new("test")).await);

    let keep = RetentionPeriods {
        done_bodies: NOW,
        ..everything()
    };
    assert_eq!(discard(subject, RetentionKind::Bodies, &keep).await, 1);
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
    // It is still known that it came.
    let again = seams.record(delivery("done", b"done")).await;
    assert_eq!(again, Recorded::Duplicate(done));
}

/// Whoever reads on can tell that something is missing.
pub async fn discarded_items_leave_a_mark_in_their_inbox(subject: &dyn RetentionSubject) {
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
        discard(subject, RetentionKind::Items, &everything()).await,
        0
    );
    let keep = RetentionPeriods {
        items: NOW,
        ..everything()
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

/// An inbox may be kept for longer or shorter than the others.
pub async fn an_inbox_has_a_retention_of_its_own(subject: &dyn RetentionSubject) {
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
        discard(subject, RetentionKind::Items, &everything()).await,
        1
    );
    assert_eq!(seams.items(&short).await, []);
    let keep = RetentionPeriods {
        items: NOW,
        ..everything()
    };
    assert_eq!(discard(subject, RetentionKind::Items, &keep).await, 1);
    assert_eq!(seams.items(&usual).await, []);
    assert_eq!(seams.items(&long).await.len(), 1);
}

/// Nothing is forgotten while something that is kept depends on it.
pub async fn what_others_depend_on_goes_last(subject: &dyn RetentionSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    let id = seams.bring(&to, "m1", code(&to, "493817")).await;
    seams.consume(&request(id, "agent", "k")).await;
    let nothing = RetentionPeriods {
        consumed_values: NOW,
        expired_values: NOW,
        done_bodies: NOW,
        dead_letter_bodies: NOW,
        items: NOW,
        known: NOW,
        consumes: NOW,
    };
    // The delivery has a body and a message, the consume has its artifact.
    assert_eq!(
        discard(subject, RetentionKind::Deliveries, &nothing).await,
        0
    );
    assert_eq!(discard(subject, RetentionKind::Consumes, &nothing).await, 0);
    let answer = seams.consume(&request(id, "other", "k")).await;
    assert!(matches!(answer, Consumed::Already { .. }), "{answer:?}");
    for what in RetentionKind::ALL {
        let is_there = !matches!(what, RetentionKind::Attempts | RetentionKind::Requests);
        let count = u64::from(is_there);
        assert_eq!(discard(subject, what, &nothing).await, count, "{what:?}");
    }
    let answer = seams.consume(&request(id, "agent", "k")).await;
    assert!(matches!(answer, Consumed::Unknown), "{answer:?}");
    let again = seams.record(delivery("m1", b"m1")).await;
    assert!(matches!(again, Recorded::New(_)), "{again:?}");
}

/// After that the same key is a new one.
pub async fn a_request_is_known_for_its_time(subject: &dyn RetentionSubject) {
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
        discard(subject, RetentionKind::Requests, &everything()).await,
        0
    );
    assert!(matches!(open().await, Opened::Known(_)));
    let nothing = RetentionPeriods {
        items: NOW,
        ..everything()
    };
    assert_eq!(discard(subject, RetentionKind::Requests, &nothing).await, 1);
    assert!(matches!(open().await, Opened::New(_)));
}

/// An attempt is known for as long as something that came of it is.
pub async fn an_attempt_goes_after_its_deadline_and_its_items(subject: &dyn RetentionSubject) {
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
    let nothing = RetentionPeriods {
        items: NOW,
        ..everything()
    };
    assert_eq!(
        discard(subject, RetentionKind::Attempts, &everything()).await,
        0
    );
    patience::until("the one that nothing came of goes", || async {
        let gone = discard(subject, RetentionKind::Attempts, &nothing).await;
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
    assert_eq!(discard(subject, RetentionKind::Items, &nothing).await, 1);
    assert_eq!(discard(subject, RetentionKind::Attempts, &nothing).await, 1);
    assert_eq!([known(open.id).await, known(used.id).await], [true, false]);
}

/// A copy of a mail may come by another way when nothing is left to see of it.
pub async fn a_message_is_known_for_longer_than_its_items(subject: &dyn RetentionSubject) {
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
        ..everything()
    };
    assert_eq!(discard(subject, RetentionKind::Items, &short).await, 1);
    assert_eq!(discard(subject, RetentionKind::Items, &short).await, 0);
    assert_eq!(discard(subject, RetentionKind::Messages, &short).await, 0);
    assert_eq!(again("polled").await, (1, 0));
    assert_eq!(seams.items(&to).await, []);
    let nothing = RetentionPeriods {
        known: NOW,
        ..short
    };
    assert_eq!(discard(subject, RetentionKind::Messages, &nothing).await, 1);
    assert_eq!(again("years later").await, (0, 1));
}

/// The same code again must still be the same one.
pub async fn what_an_open_attempt_has_is_kept(subject: &dyn RetentionSubject) {
    let seams = subject.seams();
    let asked = attempt(&inbox("agent"));
    let (to, id) = (asked.inbox.clone(), asked.id);
    must(seams.attempts.open_attempt(asked).await);
    let artifact = suited(code(&to, "493817"), &[id]);
    seams.bring(&to, "m1", artifact).await;
    let short = RetentionPeriods {
        items: NOW,
        ..everything()
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

/// Strangers make inboxes by writing to them, and attempts make one each.
pub async fn an_inbox_that_nobody_asked_for_goes_at_last(subject: &dyn RetentionSubject) {
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
    let nothing = RetentionPeriods {
        items: NOW,
        known: NOW,
        ..everything()
    };
    // A message lies in one, and an attempt waits at another.
    assert_eq!(discard(subject, RetentionKind::Inboxes, &nothing).await, 0);
    assert_eq!(discard(subject, RetentionKind::Items, &nothing).await, 1);
    assert_eq!(discard(subject, RetentionKind::Messages, &nothing).await, 1);
    assert_eq!(
        discard(subject, RetentionKind::Inboxes, &everything()).await,
        0
    );
    assert_eq!(discard(subject, RetentionKind::Inboxes, &nothing).await, 1);
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
            a_consumed_value_is_wiped_when_its_window_has_ended,
            an_unused_value_is_wiped_after_it_has_expired,
            bodies_are_wiped_when_nobody_needs_them,
            discarded_items_leave_a_mark_in_their_inbox,
            an_inbox_has_a_retention_of_its_own,
            what_others_depend_on_goes_last,
            an_attempt_goes_after_its_deadline_and_its_items,
            a_message_is_known_for_longer_than_its_items,
            what_an_open_attempt_has_is_kept,
            an_inbox_that_nobody_asked_for_goes_at_last,
            a_request_is_known_for_its_time,
        );
    };
    ($subject:ty: $($rule:ident),+ $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $rule() {
                let subject = <$subject as $crate::store_contract::Subject>::open().await;
                $crate::retention_contract::$rule(&subject).await;
                $crate::store_contract::Subject::close(&subject).await;
            }
        )+
    };
}
