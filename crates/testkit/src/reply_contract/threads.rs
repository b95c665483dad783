//! Threads are handed over to a person.

use std::time::Duration;

use pipeline::{HandoverTime, ReplyRecorded, Scope, ThreadReleased, ThreadState, ThreadView};
use tokio::task::JoinSet;

use super::ReplySubject;
use super::fixtures::{
    arrives, letter, next_millisecond, record, record_when_available, replied, reply_to, rounds,
    thread,
};
use crate::store_contract::{LONG, must};

async fn view(subject: &dyn ReplySubject, root: &str) -> ThreadView {
    let found = subject.threads().thread(thread(root).0, &Scope::All).await;
    match must(found) {
        Some(view) => view,
        None => panic!("there is no such thread"),
    }
}

async fn release(subject: &dyn ReplySubject, root: &str) -> ThreadReleased {
    let by = must("operator".parse());
    must(subject.threads().release_thread(thread(root).0, &by).await)
}

/// Replies count anew after a release.
pub async fn thread_is_handed_over_at_its_cap_and_released(subject: &dyn ReplySubject) {
    rounds(subject, "t", 3).await;
    assert_eq!(view(subject, "t").await.state, ThreadState::Open);
    let fourth = arrives(subject, letter("m4", "t")).await;
    let (id, _) = thread("t");
    let refused = record(subject, reply_to(fourth, "t")).await;
    assert_eq!(refused, ReplyRecorded::HandedOver(id, HandoverTime::Now));
    let again = record(subject, reply_to(fourth, "t")).await;
    assert_eq!(again, ReplyRecorded::HandedOver(id, HandoverTime::Before));
    let handed = view(subject, "t").await;
    assert_eq!(handed.state, ThreadState::HandedOver);
    assert_eq!((handed.replies, handed.message), (3, Some(fourth)));
    let reason = handed.reason.as_ref().map(ToString::to_string);
    assert_eq!(reason.as_deref(), Some("thread_burst"));
    assert_eq!(must(subject.threads().handed_over(10).await), [handed]);
    assert_eq!(must(subject.threads().count_handed_over().await), 1);

    let released = release(subject, "t").await;
    let ThreadReleased::Done(open) = released else {
        panic!("{released:?}");
    };
    assert_eq!(open.state, ThreadState::Open);
    assert!(matches!(
        release(subject, "t").await,
        ThreadReleased::NotHandedOver(_)
    ));
    assert_eq!(release(subject, "other").await, ThreadReleased::Unknown);
    replied(subject, reply_to(fourth, "t")).await;
    assert_eq!(must(subject.threads().count_handed_over().await), 0);
}

/// The thread is locked while a reply is recorded: the others see that it followed them.
pub async fn of_twenty_replies_in_one_thread_at_once_one_is_recorded(subject: &dyn ReplySubject) {
    let mut messages = Vec::new();
    for n in 0..20 {
        messages.push(arrives(subject, letter(&format!("m{n}"), "t")).await);
    }
    next_millisecond().await;
    let mut tasks = JoinSet::new();
    for message in messages {
        let (replies, reply) = (subject.replies(), reply_to(message, "t"));
        tasks.spawn(async move { record_when_available(&*replies, reply).await });
    }
    let answers = tasks.join_all().await;
    let new = answers
        .iter()
        .filter(|answer| matches!(answer, ReplyRecorded::New(_)));
    assert_eq!(new.count(), 1, "{answers:?}");
    let since = answers
        .iter()
        .filter(|answer| **answer == ReplyRecorded::AnsweredSince);
    assert_eq!(since.count(), 19, "{answers:?}");
}

/// Who asked for a reply learns what became of it, whatever happened to the thread.
pub async fn duplicate_reply_in_a_handed_over_thread_is_found(subject: &dyn ReplySubject) {
    let first = arrives(subject, letter("m1", "t")).await;
    let reply = replied(subject, reply_to(first, "t")).await;
    rounds(subject, "t", 2).await;
    let fourth = arrives(subject, letter("m4", "t")).await;
    record(subject, reply_to(fourth, "t")).await;
    assert_eq!(view(subject, "t").await.state, ThreadState::HandedOver);
    let again = record(subject, reply_to(first, "t")).await;
    assert_eq!(again, ReplyRecorded::Known(reply, true));
}

/// A machine that answers without naming what it answers begins a thread each time.
pub async fn new_threads_with_one_person_are_handed_over_at_the_persons_cap(
    subject: &dyn ReplySubject,
) {
    for n in 0..5 {
        rounds(subject, &format!("t{n}"), 1).await;
    }
    for n in 5..8 {
        let root = format!("t{n}");
        let message = arrives(subject, letter(&format!("m{n}"), &root)).await;
        let refused = record(subject, reply_to(message, &root)).await;
        let now = HandoverTime::Now;
        assert_eq!(refused, ReplyRecorded::HandedOver(thread(&root).0, now));
        let reason = view(subject, &root).await.reason;
        let reason = reason.as_ref().map(ToString::to_string);
        assert_eq!(reason.as_deref(), Some("person_burst"));
    }
}

/// The callback is posted once, and again only after a failure.
pub async fn handover_is_claimed_by_one_worker_until_it_is_reported(subject: &dyn ReplySubject) {
    rounds(subject, "t", 3).await;
    let fourth = arrives(subject, letter("m4", "t")).await;
    record(subject, reply_to(fourth, "t")).await;
    let threads = subject.threads();
    let claimed = must(threads.claim_handovers(10, LONG).await);
    let [handover] = claimed.as_slice() else {
        panic!("{claimed:?}");
    };
    assert_eq!((handover.callback.as_str(), handover.tries), ("people", 1));
    assert_eq!(handover.thread.id, thread("t").0);
    assert!(must(threads.claim_handovers(10, LONG).await).is_empty());
    let (id, token) = (handover.thread.id, handover.token);
    let retry = Some(Duration::ZERO);
    assert!(must(threads.end_handover(id, token, retry).await));
    let claimed = must(threads.claim_handovers(10, LONG).await);
    let [again] = claimed.as_slice() else {
        panic!("{claimed:?}");
    };
    assert_eq!(again.tries, 2);
    assert!(!must(threads.end_handover(id, token, None).await));
    assert!(must(threads.end_handover(id, again.token, None).await));
    assert!(must(threads.claim_handovers(10, LONG).await).is_empty());
}

/// A thread that was released needs no person.
pub async fn release_ends_the_report_of_a_handover(subject: &dyn ReplySubject) {
    rounds(subject, "t", 3).await;
    let fourth = arrives(subject, letter("m4", "t")).await;
    record(subject, reply_to(fourth, "t")).await;
    release(subject, "t").await;
    let claimed = must(subject.threads().claim_handovers(10, LONG).await);
    assert!(claimed.is_empty());
}
