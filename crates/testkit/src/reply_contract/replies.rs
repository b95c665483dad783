//! A message has one reply.

use pipeline::{
    CapKind, ConsumerId, Handling, NewInbox, NewMessage, NewReply, NewSend, ReplyRecorded, Scope,
    SendCap, SendDecision, SendState,
};
use tokio::task::JoinSet;

use super::ReplySubject;
use super::fixtures::{
    agent, arrives, letter, next_millisecond, nothing, record, record_when_available, replied,
    reply_by, reply_to, thread,
};
use crate::store_contract::{LONG, mail, must};

/// Two agents with two keys and different words: all callers get the id of the one.
pub async fn of_fifty_replies_to_one_message_one_is_recorded(subject: &dyn ReplySubject) {
    let message = arrives(subject, letter("m", "t")).await;
    let mut tasks = JoinSet::new();
    for n in 0..50_u8 {
        let replies = subject.replies();
        let mut reply = reply_to(message, "t");
        reply.send.by = must(format!("agent-{}", n % 2).parse());
        reply.send.fingerprint = [n; 32];
        tasks.spawn(async move { record_when_available(&*replies, reply).await });
    }
    let (mut new, mut ids) = (0, Vec::new());
    for answer in tasks.join_all().await {
        match answer {
            ReplyRecorded::New(view) => {
                new += 1;
                ids.push(view.id);
            }
            ReplyRecorded::Known(view, is_same) => {
                assert!(!is_same, "each has other words");
                ids.push(view.id);
            }
            other => panic!("{other:?}"),
        }
    }
    ids.sort();
    ids.dedup();
    assert_eq!((new, ids.len()), (1, 1));
    let senders = [must("shop".parse())];
    let claimed = must(subject.outbox().claim_ready(&senders, 10, LONG).await);
    assert_eq!(claimed.len(), 1);
}

/// The message decides, and not the sender's own intent.
pub async fn two_senders_give_a_message_one_reply(subject: &dyn ReplySubject) {
    let message = arrives(subject, letter("m", "t")).await;
    let first = replied(subject, reply_by("shop", message, "t")).await;
    assert_eq!(first.reply_to, Some(message));
    let other = record(subject, reply_by("support", message, "t")).await;
    let ReplyRecorded::Known(view, _) = other else {
        panic!("{other:?}");
    };
    assert_eq!(view.id, first.id);
}

/// What was written before our last mail in the thread is answered by it.
pub async fn message_that_ours_followed_is_not_answered(subject: &dyn ReplySubject) {
    let first = arrives(subject, letter("m1", "t")).await;
    let second = arrives(subject, letter("m2", "t")).await;
    let elsewhere = arrives(subject, letter("m3", "other")).await;
    replied(subject, reply_to(second, "t")).await;
    let late = record(subject, reply_to(first, "t")).await;
    assert_eq!(late, ReplyRecorded::AnsweredSince);
    replied(subject, reply_to(elsewhere, "other")).await;
    let third = arrives(subject, letter("m4", "t")).await;
    replied(subject, reply_to(third, "t")).await;
}

/// A person who answers from the mailbox counts like an agent.
pub async fn mail_in_our_name_follows_a_message(subject: &dyn ReplySubject) {
    let message = arrives(subject, letter("m1", "t")).await;
    let ours = NewMessage {
        handling: Handling {
            thread: Some(thread("t")),
            is_ours: true,
            no_reply: Some(pipeline::ReplyRefusal::OwnAddress),
            ..Handling::default()
        },
        ..mail(&agent(), "ours", vec![nothing()])
    };
    next_millisecond().await;
    arrives(subject, ours).await;
    let late = record(subject, reply_to(message, "t")).await;
    assert_eq!(late, ReplyRecorded::AnsweredSince);
}

/// A refusal writes nothing.
pub async fn refused_reply_leaves_its_intent_and_its_request_free(subject: &dyn ReplySubject) {
    let first = arrives(subject, letter("m1", "t")).await;
    let second = arrives(subject, letter("m2", "t")).await;
    replied(subject, reply_to(second, "t")).await;
    let late = record(subject, reply_to(first, "t")).await;
    assert_eq!(late, ReplyRecorded::AnsweredSince);
    let target = subject.replies().reply_target(first, &Scope::All).await;
    assert_eq!(must(target).map(|target| target.reply), Some(None));
    let again = record(subject, reply_to(first, "t")).await;
    assert_eq!(again, ReplyRecorded::AnsweredSince);
}

/// Replies are sends, too.
pub async fn reply_counts_for_the_caps_of_sends(subject: &dyn ReplySubject) {
    let capped = |message| {
        let reply = reply_to(message, "t");
        let cap = SendCap {
            what: CapKind::Recipient,
            subject: [9; 16],
            window: LONG * 24 * 36_500,
            most: 1,
        };
        NewReply {
            send: NewSend {
                caps: vec![cap],
                ..reply.send
            },
            ..reply
        }
    };
    let first = arrives(subject, letter("m1", "t")).await;
    replied(subject, capped(first)).await;
    let second = arrives(subject, letter("m2", "t")).await;
    let answer = record(subject, capped(second)).await;
    assert!(
        matches!(answer, ReplyRecorded::Capped(CapKind::Recipient, _)),
        "{answer:?}"
    );
}

/// A key sees the messages of its own inboxes.
pub async fn message_of_another_owner_is_unknown(subject: &dyn ReplySubject) {
    let owner: ConsumerId = must("owner".parse());
    let inboxes = subject.seams().inboxes;
    let created = inboxes.create_inbox(NewInbox {
        inbox: agent(),
        owner: owner.clone(),
        asked: None,
        rules: pipeline::InboxRules::default(),
        metadata: None,
        expires_in: None,
        retention: None,
    });
    assert!(must(created.await).fresh().is_some());
    let message = arrives(subject, letter("m", "t")).await;
    let of = |name: &str| Scope::Own {
        owner: must(name.parse()),
        others: Vec::new(),
    };
    for (scope, is_known) in [(of("owner"), true), (of("stranger"), false)] {
        let target = must(subject.replies().reply_target(message, &scope).await);
        assert_eq!(target.is_some(), is_known);
        let view = must(subject.threads().message(message, &scope).await);
        assert_eq!(view.is_some(), is_known);
    }
}

/// A reply that a person refused is not replaced by another.
pub async fn cancelled_reply_is_the_only_reply(subject: &dyn ReplySubject) {
    let message = arrives(subject, letter("m", "t")).await;
    let first = replied(subject, reply_to(message, "t")).await;
    let by = must("operator".parse());
    let cancel = SendDecision::Cancel;
    must(subject.sends().decide_send(first.id, cancel, &by).await);
    let again = record(subject, reply_to(message, "t")).await;
    let ReplyRecorded::Known(view, true) = again else {
        panic!("{again:?}");
    };
    assert_eq!((view.id, view.state), (first.id, SendState::Cancelled));
}
