//! What is kept of a message: what rules did, and what a reply needs.

use std::time::Duration;

use pipeline::{
    EchoClues, Handling, InboundRule, InboxId, NewInbox, NewMessage, Receipt, ReplyRefusal,
    RetentionKind, RuleSettings, Scope, SendResult, SendState, SendWritten, Seq, TracedId,
};

use super::ReplySubject;
use super::fixtures::{agent, arrives, context, letter, nothing, replied, reply_to, thread};
use crate::retention_contract::keep_everything;
use crate::store_contract::{LONG, inbox, mail, must};

/// It is visible to the operator alone.
pub async fn dropped_message_has_no_item_and_is_explained(subject: &dyn ReplySubject) {
    let seams = subject.seams();
    let dropped = NewMessage {
        handling: Handling {
            rules: vec!["built_in.own_echo:drop".to_owned()],
            no_reply: Some(ReplyRefusal::OwnEcho),
            ..Handling::default()
        },
        ..mail(&agent(), "echo", Vec::new())
    };
    let id = arrives(subject, dropped.clone()).await;
    let items = must(seams.agents.artifacts(&agent(), Seq::START, 10).await);
    assert!(items.is_empty());
    let trace = must(seams.failures.trace(TracedId::Message(id)).await);
    let Some(trace) = trace else {
        panic!("the message has a trace");
    };
    let [message] = trace.messages.as_slice() else {
        panic!("{trace:?}");
    };
    assert_eq!((message.id, message.items), (id, 0));
    assert_eq!(message.rules, ["built_in.own_echo:drop"]);
    // The other path brings the same mail: it is the same message.
    let again = NewMessage {
        id: pipeline::MessageId::new(),
        ..dropped
    };
    let finished = seams.process("again", vec![again]).await;
    assert_eq!((finished.messages, finished.duplicate_messages), (0, 1));
}

/// Mail from before a sender was configured.
pub async fn message_without_handling_cannot_be_answered(subject: &dyn ReplySubject) {
    let plain = mail(&agent(), "m", vec![nothing()]);
    let id = arrives(subject, plain).await;
    let target = must(subject.replies().reply_target(id, &Scope::All).await);
    let Some(target) = target else {
        panic!("the message is known");
    };
    assert_eq!((target.context, target.thread), (None, None));
    let view = must(subject.threads().message(id, &Scope::All).await);
    let Some(view) = view else {
        panic!("the message is known");
    };
    assert!(view.rules.is_empty() && view.thread.is_none());
    let nowhere = pipeline::MessageId::new();
    let unknown = subject.threads().message(nowhere, &Scope::All).await;
    assert_eq!(must(unknown), None);
}

/// The subject and the address of a person are kept no longer than the items.
pub async fn context_is_kept_as_it_was_and_deleted_with_the_items(subject: &dyn ReplySubject) {
    let id = arrives(subject, letter("m", "t")).await;
    let target = async || {
        let target = subject.replies().reply_target(id, &Scope::All).await;
        match must(target) {
            Some(target) => target,
            None => panic!("the message is known"),
        }
    };
    let kept = target().await;
    assert_eq!(kept.context, Some(context("m")));
    assert_eq!(kept.thread, Some(thread("t")));
    assert!(kept.proof.holds());
    let keep = pipeline::RetentionPeriods {
        items: Duration::ZERO,
        ..keep_everything()
    };
    let items = RetentionKind::Items;
    must(subject.retention().discard(items, &keep, 10).await);
    assert_eq!(target().await.context, None);
}

/// A copy has the header, or our Message-ID, or the id that the provider returned.
pub async fn own_mail_is_recognised_by_key_id_and_receipt(subject: &dyn ReplySubject) {
    let message = arrives(subject, letter("m", "t")).await;
    let reply = reply_to(message, "t");
    let (key, message_id) = (reply.send.key.to_string(), reply.send.message_id.clone());
    replied(subject, reply).await;
    let senders = [must("shop".parse())];
    let claimed = must(subject.outbox().claim_ready(&senders, 1, LONG).await);
    let outbox = subject.outbox();
    let [claimed] = claimed.as_slice() else {
        panic!("{claimed:?}");
    };
    must(outbox.dispatch(claimed.claim, Duration::ZERO).await);
    let sent = SendResult::Sent(Receipt::from_provider("provider-1"));
    must(outbox.end_dispatch(claimed.claim, sent).await);
    let clues = |key: &str, message_id: &str, provider_id: &str| {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        EchoClues {
            key: some(key),
            message_id: some(message_id),
            provider_id: some(provider_id),
        }
    };
    for (clues, is_own) in [
        (clues(&key, "", ""), true),
        (clues("", &message_id, ""), true),
        (clues("", "", "provider-1"), true),
        (clues(&format!("ml-{}", "0".repeat(64)), "", ""), false),
        (clues("ml-not hexadecimal", "", ""), false),
        (clues("", "ml.0@mail.example.com", "provider-2"), false),
        (EchoClues::default(), false),
    ] {
        let found = must(subject.echoes().recognise(&clues).await);
        let expected = if is_own {
            SendWritten::Done(SendState::Sent)
        } else {
            SendWritten::Lost
        };
        assert_eq!(found, expected);
    }
}

fn rule(name: &str, action: &str, to: Option<&InboxId>) -> InboundRule {
    let settings = RuleSettings {
        name: name.to_owned(),
        list: Some(true),
        action: action.to_owned(),
        to: to.map(ToString::to_string),
        ..RuleSettings::default()
    };
    must(InboundRule::try_from(settings))
}

async fn create(subject: &dyn ReplySubject, inbox: &InboxId, owner: &str) {
    let inboxes = subject.seams().inboxes;
    let created = inboxes.create_inbox(NewInbox {
        inbox: inbox.clone(),
        owner: must(owner.parse()),
        asked: None,
        rules: pipeline::InboxRules::default(),
        metadata: None,
        expires_in: None,
        retention: None,
    });
    assert!(must(created.await).fresh().is_some());
}

fn own(owner: &str) -> Scope {
    Scope::Own {
        owner: must(owner.parse()),
        others: Vec::new(),
    }
}

/// Only the owner sets them, and only routes to its own inboxes.
pub async fn inbound_rules_keep_their_order_and_their_owner(subject: &dyn ReplySubject) {
    let (own_inbox, foreign) = (inbox("other"), inbox("foreign"));
    create(subject, &agent(), "a").await;
    create(subject, &own_inbox, "a").await;
    create(subject, &foreign, "b").await;
    let inboxes = &subject.seams().inboxes;
    let rules = vec![
        rule("second", "no_reply", None),
        rule("first", "route", Some(&own_inbox)),
    ];
    let set = inboxes
        .set_inbound_rules(&agent(), &own("a"), rules.clone())
        .await;
    assert!(must(set));
    let read = must(inboxes.inbound_rules(&agent(), &own("a")).await);
    assert_eq!(read.as_ref(), Some(&rules));
    let expected = must(subject.seams().work.expectations(&[agent()]).await);
    let [expected] = expected.as_slice() else {
        panic!("{expected:?}");
    };
    assert_eq!(expected.inbound, rules);
    assert_eq!(expected.owner.as_deref(), Some("a"));
    let theft = vec![rule("theft", "route", Some(&foreign))];
    for (scope, rules) in [
        (own("b"), Vec::new()),
        (own("a"), theft),
        (own("a"), vec![rule("lost", "route", Some(&inbox("none")))]),
    ] {
        let set = inboxes.set_inbound_rules(&agent(), &scope, rules).await;
        assert!(!must(set));
    }
    assert_eq!(must(inboxes.inbound_rules(&agent(), &own("b")).await), None);
    let read = must(inboxes.inbound_rules(&agent(), &own("a")).await);
    assert_eq!(read, Some(rules));
    let set = inboxes
        .set_inbound_rules(&agent(), &own("a"), Vec::new())
        .await;
    assert!(must(set));
    let read = must(inboxes.inbound_rules(&agent(), &own("a")).await);
    assert_eq!(read, Some(Vec::new()));
}

/// A new address has the rules of the old one.
pub async fn rotated_inbox_keeps_its_rules(subject: &dyn ReplySubject) {
    create(subject, &agent(), "a").await;
    let inboxes = &subject.seams().inboxes;
    let rules = vec![rule("quiet", "no_reply", None)];
    let set = inboxes
        .set_inbound_rules(&agent(), &own("a"), rules.clone())
        .await;
    assert!(must(set));
    let to = inbox("rotated");
    let rotated = inboxes.rotate_inbox(&agent(), &to, &own("a"), None).await;
    assert!(must(rotated).fresh().is_some());
    let read = must(inboxes.inbound_rules(&to, &own("a")).await);
    assert_eq!(read, Some(rules));
}
