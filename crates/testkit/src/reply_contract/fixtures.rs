//! Messages that can be answered, and replies to them.

use std::time::Duration;

use pipeline::{
    ActionName, ArtifactKind, Clock, Handling, InboxId, Intent, IntentLabel, MessageId,
    NewArtifact, NewMessage, NewReply, NewSend, ProviderKey, Reason, ReplyContext, ReplyLog,
    ReplyRecorded, SendId, SendPayload, SendView, SenderName, SystemClock, ThreadCaps, ThreadId,
    Verdict, person_tag,
};

use super::ReplySubject;
use crate::store_contract::{answered, inbox, mail, must, server_key, valueless};

/// The person who writes in every test.
pub(super) const PERSON: &str = "user@example.com";

/// Caps that a test reaches quickly: three in a thread, five for a person.
pub(super) fn caps() -> ThreadCaps {
    ThreadCaps {
        burst_window: Duration::from_mins(5),
        burst: 3,
        day: 20,
        person_burst: 5,
        person_day: 60,
        callback: Some("people".to_owned()),
    }
}

/// Waits until the clock shows another millisecond. Times are compared in milliseconds; two
/// of them, because a time may be rounded.
pub(super) async fn next_millisecond() {
    let before = SystemClock.now();
    while SystemClock.now().since(before) < Duration::from_millis(2) {
        tokio::task::yield_now().await;
    }
}

pub(super) fn agent() -> InboxId {
    inbox("agent")
}

/// An item that says that a mail holds nothing.
pub(super) fn nothing() -> NewArtifact {
    let verdict = Verdict::Abstained(Reason::new("no_candidate"));
    valueless(&agent(), ArtifactKind::Nothing, verdict)
}

/// The thread with this root.
pub(super) fn thread(root: &str) -> (ThreadId, [u8; 16]) {
    let key = server_key();
    let thread = ThreadId::of(&key, &agent(), root, PERSON);
    (thread, person_tag(&key, &agent(), PERSON))
}

pub(super) fn context(id: &str) -> ReplyContext {
    ReplyContext {
        from: PERSON.to_owned(),
        reply_to: None,
        message_id: Some(format!("<{id}@example.com>")),
        references: vec!["<root@example.com>".to_owned()],
        subject: "Where is it?".to_owned(),
    }
}

/// A mail in a thread that can be answered.
pub fn letter(id: &str, root: &str) -> NewMessage {
    let handling = Handling {
        thread: Some(thread(root)),
        context: Some(context(id)),
        ..Handling::default()
    };
    NewMessage {
        handling,
        ..mail(&agent(), id, vec![nothing()])
    }
}

/// Records a mail, and returns its id.
pub async fn arrives(subject: &dyn ReplySubject, message: NewMessage) -> MessageId {
    let (id, name) = (message.id, message.id.to_string());
    let finished = subject.seams().process(&name, vec![message]).await;
    assert_eq!(finished.messages, 1);
    id
}

/// Records a reply, and asks again where a busy database gives no answer.
pub(super) async fn record_when_available(
    replies: &dyn ReplyLog,
    reply: NewReply,
) -> ReplyRecorded {
    match answered(|| replies.record_reply(reply.clone())).await {
        // A call that gave no answer recorded it.
        (ReplyRecorded::Known(view, true), 2..) => ReplyRecorded::New(view),
        (answer, _) => answer,
    }
}

/// A reply to a message in a thread.
pub fn reply_to(message: MessageId, root: &str) -> NewReply {
    reply_by("shop", message, root)
}

/// The same by another sender.
pub(super) fn reply_by(sender: &str, message: MessageId, root: &str) -> NewReply {
    let sender: SenderName = must(sender.parse());
    let label = IntentLabel {
        kind: "reply".to_owned(),
        entity: message.to_string(),
        version: 1,
    };
    let to = must(PERSON.parse());
    let intent = must(Intent::new(label.clone(), Some(to)));
    let key = ProviderKey::derive(&server_key(), &ActionName::mail(), &sender, &intent);
    NewReply {
        send: NewSend {
            id: SendId::new(),
            sender,
            provider: "resend".to_owned(),
            key,
            label,
            fingerprint: [1; 32],
            to: must(PERSON.parse()),
            payload: SendPayload::new(b"rendered".to_vec()),
            message_id: key.message_id("mail.example.com"),
            hold: None,
            by: must("agent".parse()),
            asked: None,
            caps: Vec::new(),
        },
        message,
        inbox: agent(),
        thread: thread(root),
        caps: caps(),
    }
}

pub(super) async fn record(subject: &dyn ReplySubject, reply: NewReply) -> ReplyRecorded {
    must(subject.replies().record_reply(reply).await)
}

/// Records a reply that is new.
pub(super) async fn replied(subject: &dyn ReplySubject, reply: NewReply) -> SendView {
    match record(subject, reply).await {
        ReplyRecorded::New(view) => view,
        other => panic!("{other:?}"),
    }
}

/// A mail arrives in a thread and is answered, `count` times.
pub(super) async fn rounds(subject: &dyn ReplySubject, root: &str, count: usize) {
    for round in 0..count {
        let id = format!("{root}-{round}");
        let message = arrives(subject, letter(&id, root)).await;
        replied(subject, reply_to(message, root)).await;
    }
}
