//! Requests for replies with an idempotency key: a key is used for one request of one caller.

use std::time::Duration;

use pipeline::{
    MessageId, NewReply, NewSend, ReplyRecorded, Request, RequestKind, RetentionKind,
    RetentionPeriods, Scope, SendView,
};
use tokio::task::JoinSet;

use super::ReplySubject;
use super::fixtures::{
    arrives, letter, next_millisecond, record, record_when_available, replied, reply_to, thread,
};
use crate::retention_contract::keep_everything;
use crate::store_contract::must;

#[track_caller]
fn request(key: &str, tag: u8) -> Request {
    Request {
        consumer: must("agent".parse()),
        kind: RequestKind::Send,
        key: must(key.parse()),
        tag: [tag; 16],
    }
}

/// A reply in the thread `t`, asked for with a key.
fn keyed(message: MessageId, asked: Request) -> NewReply {
    worded(message, asked, 1)
}

/// The same with these words.
fn worded(message: MessageId, asked: Request, words: u8) -> NewReply {
    let reply = reply_to(message, "t");
    NewReply {
        send: NewSend {
            asked: Some(asked),
            fingerprint: [words; 32],
            ..reply.send
        },
        ..reply
    }
}

#[track_caller]
fn known(view: &SendView, is_same: bool) -> ReplyRecorded {
    ReplyRecorded::Known(view.clone(), is_same)
}

/// The key belongs to the request, whatever is rendered for it later.
pub async fn repeated_reply_request_gets_the_same_reply(subject: &dyn ReplySubject) {
    let message = arrives(subject, letter("m", "t")).await;
    let first = replied(subject, keyed(message, request("k", 1))).await;
    for words in [1, 2] {
        let again = record(subject, worded(message, request("k", 1), words)).await;
        assert_eq!(again, known(&first, true));
    }
    let reused = record(subject, keyed(message, request("k", 2))).await;
    assert_eq!(reused, ReplyRecorded::KeyReused);
}

/// A request that made nothing new was answered, too. Its repetition gets the same answer,
/// whatever is rendered for it later.
pub async fn key_of_a_duplicate_reply_is_used_for_it(subject: &dyn ReplySubject) {
    let message = arrives(subject, letter("m1", "t")).await;
    let first = replied(subject, reply_to(message, "t")).await;
    let next = arrives(subject, letter("m2", "t")).await;
    for (key, words, later) in [("same", 1, 2), ("other", 2, 1)] {
        for words in [words, words, later] {
            let answer = record(subject, worded(message, request(key, 1), words)).await;
            assert_eq!(answer, known(&first, key == "same"), "{key}");
        }
        let reused = record(subject, keyed(next, request(key, 2))).await;
        assert_eq!(reused, ReplyRecorded::KeyReused);
    }
    replied(subject, reply_to(next, "t")).await;
}

/// A message that was answered may later be one that is not answered.
pub async fn key_of_a_reply_that_is_not_rendered_again_is_used_for_it(subject: &dyn ReplySubject) {
    let message = arrives(subject, letter("m1", "t")).await;
    let first = replied(subject, keyed(message, request("first", 1))).await;
    let next = arrives(subject, letter("m2", "t")).await;
    let repeat = async |asked| must(subject.replies().repeat_reply(first.id, asked).await);
    for (key, is_same) in [("first", true), ("later", false)] {
        for _ in 0..2 {
            assert_eq!(repeat(request(key, 1)).await, known(&first, is_same));
        }
        assert_eq!(repeat(request(key, 2)).await, ReplyRecorded::KeyReused);
        let reused = record(subject, keyed(next, request(key, 3))).await;
        assert_eq!(reused, ReplyRecorded::KeyReused);
    }
    let again = record(subject, keyed(message, request("later", 1))).await;
    assert_eq!(again, known(&first, false));
    replied(subject, reply_to(next, "t")).await;
}

/// One asks for a reply again, the other for a new one. The unique key of the request decides.
pub async fn of_two_reply_requests_at_once_under_one_key_one_is_answered(
    subject: &dyn ReplySubject,
) {
    let message = arrives(subject, letter("m1", "t")).await;
    let first = replied(subject, reply_to(message, "t")).await;
    next_millisecond().await;
    let next = arrives(subject, letter("m2", "t")).await;
    let mut tasks = JoinSet::new();
    for n in 0..20 {
        let replies = subject.replies();
        let (to, tag) = if n % 2 == 0 { (message, 1) } else { (next, 2) };
        let reply = keyed(to, request("k", tag));
        tasks.spawn(async move { (tag, record_when_available(&*replies, reply).await) });
    }
    let (mut answered, mut refused) = (Vec::new(), Vec::new());
    for (tag, answer) in tasks.join_all().await {
        match answer {
            ReplyRecorded::KeyReused => refused.push(tag),
            ReplyRecorded::New(view) | ReplyRecorded::Known(view, true) => {
                assert_eq!(view.id == first.id, tag == 1);
                answered.push(tag);
            }
            other => panic!("{other:?}"),
        }
    }
    answered.dedup();
    refused.dedup();
    let others = if answered == [1] { [2] } else { [1] };
    assert_eq!((answered.len(), refused), (1, others.to_vec()));
    let later = record(subject, reply_to(next, "t")).await;
    let is_free = matches!(later, ReplyRecorded::New(_));
    assert_eq!(is_free, others == [2], "{later:?}");
}

/// A thread whose retention time is over does not come back.
pub async fn duplicate_reply_leaves_only_its_request(subject: &dyn ReplySubject) {
    let message = arrives(subject, letter("m", "t")).await;
    let first = replied(subject, reply_to(message, "t")).await;
    let keep = RetentionPeriods {
        intents: Duration::ZERO,
        ..keep_everything()
    };
    next_millisecond().await;
    let intents = RetentionKind::Intents;
    must(subject.retention().discard(intents, &keep, 100).await);
    let shown = async || {
        let shown = subject.threads().thread(thread("t").0, &Scope::All).await;
        must(shown).is_some()
    };
    assert!(
        !shown().await,
        "the thread is deleted, and its reply is not"
    );
    for _ in 0..2 {
        let again = record(subject, keyed(message, request("k", 1))).await;
        assert_eq!(again, known(&first, true));
    }
    assert!(!shown().await);
}
