//! What rules do with mail, and what is kept so that it can be answered.

use std::sync::Arc;
use std::time::Duration;

use pipeline::{
    ArtifactKind, InboundRule, InboxRules, MessageView, NewInbox, NewSend, ReplyRefusal,
    RuleSettings, Scope, SendRecorded, TracedId, TracedMessage,
};
use testkit::dns::Dns;
use testkit::store_contract::attempt;
use worker::{Dkim, ReplySettings};

use crate::fixture::{Fixture, otp_mail, payload};
use crate::senders::{by, mail_from};

const TO: &str = "agent@inbox.test";
const OTHER: &str = "other@inbox.test";

fn rule(action: &str, condition: fn(&mut RuleSettings)) -> InboundRule {
    let mut settings = RuleSettings {
        name: "mine".to_owned(),
        action: action.to_owned(),
        to: (action == "route").then(|| OTHER.to_owned()),
        label: (action == "label").then(|| "news".to_owned()),
        ..RuleSettings::default()
    };
    condition(&mut settings);
    settings.try_into().unwrap()
}

fn of_example(settings: &mut RuleSettings) {
    settings.domain = Some("example.com".to_owned());
}

/// A worker with these configured rules, and a sender that could answer.
async fn fixture(rules: Vec<InboundRule>) -> Fixture {
    let mut fixture = Fixture::open().await;
    let deps = Arc::get_mut(&mut fixture.deps).unwrap();
    deps.settings.replies = ReplySettings {
        rules,
        keeps_context: true,
        own_addresses: ["shop@mail.example.com".to_owned()].into(),
    };
    fixture
}

/// A worker with an inbox that has these rules of its own.
async fn fixture_of_inbox(rules: Vec<InboundRule>, owner_of_other: &str) -> Fixture {
    let fixture = fixture(Vec::new()).await;
    for (inbox, owner) in [(TO, "a"), (OTHER, owner_of_other)] {
        let inbox = NewInbox {
            inbox: inbox.parse().unwrap(),
            owner: owner.parse().unwrap(),
            asked: None,
            rules: InboxRules::default(),
            metadata: None,
            expires_in: None,
            retention: None,
        };
        fixture.store.inboxes.create_inbox(inbox).await.unwrap();
    }
    let inbox = TO.parse().unwrap();
    let set = fixture
        .store
        .inboxes
        .set_inbound_rules(&inbox, &Scope::All, rules)
        .await;
    assert!(set.unwrap());
    fixture
}

/// Processes a mail, and returns what became of it.
async fn message(fixture: &Fixture, raw: &[u8]) -> TracedMessage {
    let id = fixture.record("one", &payload(TO, raw)).await;
    fixture.work_until_idle().await;
    let trace = fixture.store.failures.trace(TracedId::Delivery(id)).await;
    trace.unwrap().unwrap().messages.remove(0)
}

async fn view(fixture: &Fixture, message: &TracedMessage) -> MessageView {
    let view = fixture.store.threads.message(message.id, &Scope::All).await;
    view.unwrap().unwrap()
}

#[tokio::test]
async fn dropped_mail_gives_no_item_and_reaches_no_attempt() {
    let fixture = fixture(vec![rule("drop", of_example)]).await;
    let asked = attempt(&TO.parse().unwrap());
    let id = asked.id;
    fixture.store.attempts.open_attempt(asked).await.unwrap();
    let dropped = message(&fixture, &otp_mail("1", "493817")).await;
    assert_eq!(dropped.rules, ["config.mine:drop"]);
    assert_eq!(dropped.items, 0);
    assert!(fixture.items(TO).await.is_empty());
    let attempt = fixture.store.attempts.attempt(id, &Scope::All).await;
    let attempt = attempt.unwrap().unwrap();
    assert_eq!(attempt.status(), pipeline::AttemptStatus::Pending);
}

#[tokio::test]
async fn routed_mail_reaches_the_other_inbox_and_its_attempt() {
    let fixture = fixture(vec![rule("route", of_example)]).await;
    let asked = attempt(&OTHER.parse().unwrap());
    let id = asked.id;
    fixture.store.attempts.open_attempt(asked).await.unwrap();
    let routed = message(&fixture, &otp_mail("1", "493817")).await;
    assert_eq!(routed.inbox.as_str(), OTHER);
    assert_eq!(routed.rules, ["config.mine:route"]);
    assert!(fixture.items(TO).await.is_empty());
    let items = fixture.items(OTHER).await;
    assert_eq!(items[0].kind, ArtifactKind::Code);
    assert_eq!(items[0].attempt, Some(id));
}

#[tokio::test]
async fn labelled_mail_has_the_label_as_a_flag() {
    let fixture = fixture(vec![rule("label", of_example)]).await;
    let labelled = message(&fixture, &otp_mail("1", "493817")).await;
    assert_eq!(labelled.rules, ["config.mine:label"]);
    let items = fixture.items(TO).await;
    assert!(items[0].flags.contains(&"label.news".to_owned()));
    assert_eq!(items[0].kind, ArtifactKind::Code);
}

#[tokio::test]
async fn no_reply_rule_keeps_the_item_and_no_context() {
    let fixture = fixture(vec![rule("no_reply", of_example)]).await;
    let raw = person("user@example.com", "");
    let kept = message(&fixture, &raw).await;
    assert_eq!(
        view(&fixture, &kept).await.no_reply,
        Some(ReplyRefusal::Rule)
    );
    assert_eq!(fixture.items(TO).await.len(), 1);
    let target = fixture
        .store
        .replies
        .reply_target(kept.id, &Scope::All)
        .await;
    assert_eq!(target.unwrap().unwrap().context, None);
}

#[tokio::test]
async fn rules_of_the_inbox_apply_after_the_configured_ones() {
    let rules = vec![rule("label", of_example), rule("route", of_example)];
    let fixture = fixture_of_inbox(rules, "a").await;
    let routed = message(&fixture, &otp_mail("1", "493817")).await;
    assert_eq!(routed.inbox.as_str(), OTHER);
    assert_eq!(routed.rules, ["inbox.mine:label", "inbox.mine:route"]);
}

#[tokio::test]
async fn route_of_an_inbox_to_a_foreign_inbox_keeps_the_mail() {
    let rules = vec![rule("route", of_example)];
    let fixture = fixture_of_inbox(rules, "b").await;
    let kept = message(&fixture, &otp_mail("1", "493817")).await;
    assert_eq!(kept.inbox.as_str(), TO);
    let marks = ["inbox.mine:route", "built_in.route_unusable:keep"];
    assert_eq!(kept.rules, marks);
    assert_eq!(fixture.items(TO).await.len(), 1);
}

/// A mail of a person, with additional header fields.
fn person(from: &str, fields: &str) -> Vec<u8> {
    let text = format!(
        "From: {from}\r\nTo: agent@inbox.test\r\nMessage-ID: <q1@example.com>\r\n\
         Date: Sun, 15 Nov 2026 10:00:00 +0000\r\nSubject: Where is it?\r\n{fields}\r\n\
         Where is my order?\r\n"
    );
    text.into_bytes()
}

#[tokio::test]
async fn automated_list_and_own_mail_is_not_answered() {
    for (from, fields, refusal) in [
        (
            "user@example.com",
            "Auto-Submitted: auto-replied\r\n",
            ReplyRefusal::Automated,
        ),
        (
            "user@example.com",
            "List-Id: <x.example.com>\r\n",
            ReplyRefusal::List,
        ),
        ("shop@mail.example.com", "", ReplyRefusal::OwnAddress),
        ("noreply@example.com", "", ReplyRefusal::NoReplyAddress),
        ("\"a b\"@example.com", "", ReplyRefusal::NoSender),
    ] {
        let fixture = fixture(Vec::new()).await;
        let refused = message(&fixture, &person(from, fields)).await;
        let view = view(&fixture, &refused).await;
        assert_eq!(view.no_reply, Some(refusal), "{from} {fields}");
        assert_eq!(fixture.items(TO).await.len(), 1, "it is still received");
    }
}

#[tokio::test]
async fn mail_of_a_person_keeps_its_ids_and_subject_for_the_reply() {
    let fixture = fixture(Vec::new()).await;
    let raw = person("user@example.com", "References: <p0@x> <p1@y>\r\n");
    let kept = message(&fixture, &raw).await;
    let target = fixture
        .store
        .replies
        .reply_target(kept.id, &Scope::All)
        .await;
    let target = target.unwrap().unwrap();
    let context = target.context.unwrap();
    assert_eq!(context.from, "user@example.com");
    assert_eq!(context.message_id.as_deref(), Some("<q1@example.com>"));
    assert_eq!(context.references, ["<p0@x>", "<p1@y>"]);
    assert_eq!(context.subject, "Where is it?");
    assert!(target.thread.is_some());
}

/// A send, and a copy of it as it comes back.
async fn sent_copy(fixture: &Fixture, has_header: bool) -> Vec<u8> {
    let intent = pipeline::Intent::from_key("order-1").unwrap();
    let sender = "shop".parse().unwrap();
    let mail = pipeline::ActionName::mail();
    let key = pipeline::ProviderKey::derive(&fixture.deps.server_key, &mail, &sender, &intent);
    let send = NewSend {
        id: pipeline::SendId::new(),
        sender,
        provider: "resend".to_owned(),
        key,
        label: pipeline::IntentLabel {
            kind: "order".to_owned(),
            entity: "1".to_owned(),
            version: 1,
        },
        fingerprint: [1; 32],
        to: "user@example.com".parse().unwrap(),
        payload: pipeline::SendPayload::new(Vec::new()),
        message_id: key.message_id("mail.example.com"),
        hold: None,
        by: "agent".parse().unwrap(),
        asked: None,
        caps: Vec::new(),
    };
    let message_id = send.message_id.clone();
    let recorded = fixture.store.sends.record_send(send).await.unwrap();
    assert!(matches!(recorded, SendRecorded::New(_)));
    let header = if has_header {
        format!("X-Maillatch-Send: {key}\r\nMessage-ID: <rewritten@provider.test>\r\n")
    } else {
        format!("Message-ID: <{message_id}>\r\n")
    };
    let text = format!(
        "From: Shop <shop@mail.example.com>\r\nTo: user@example.com\r\n{header}\
         Subject: Your verification code\r\n\r\nYour verification code is 493817.\r\n"
    );
    text.into_bytes()
}

#[tokio::test]
async fn copy_of_our_own_mail_gives_no_item_whichever_id_it_kept() {
    for has_header in [true, false] {
        let fixture = fixture(Vec::new()).await;
        let raw = sent_copy(&fixture, has_header).await;
        let echo = message(&fixture, &raw).await;
        assert_eq!(echo.items, 0);
        assert_eq!(echo.rules, ["built_in.own_echo:drop"]);
        let view = view(&fixture, &echo).await;
        assert_eq!(view.no_reply, Some(ReplyRefusal::OwnEcho));
        assert!(fixture.items(TO).await.is_empty());
    }
}

#[tokio::test]
async fn header_of_an_unknown_send_is_no_echo() {
    let fixture = fixture(Vec::new()).await;
    let field = format!("X-Maillatch-Send: ml-{}\r\n", "ab".repeat(32));
    let kept = message(&fixture, &person("user@example.com", &field)).await;
    assert_eq!(kept.items, 1);
    assert_eq!(view(&fixture, &kept).await.no_reply, None);
}

#[tokio::test]
async fn without_a_sender_and_rules_nothing_more_is_stored() {
    let fixture = Fixture::open().await;
    let fields = "Auto-Submitted: auto-generated\r\nList-Id: <x.example.com>\r\n";
    let kept = message(&fixture, &person("user@example.com", fields)).await;
    let view = view(&fixture, &kept).await;
    assert!(view.rules.is_empty() && view.thread.is_none() && view.no_reply.is_none());
}

/// Without an answer it is not known whether the rule applies, and what it drops is gone.
#[tokio::test]
async fn mail_waits_for_a_silent_dns_if_a_rule_asks_for_a_proof() {
    let mute = Dns::mute().await;
    let rules = || vec![rule("drop", |it| it.proven = Some(false))];
    for mut fixture in [
        fixture(rules()).await,
        fixture_of_inbox(rules(), "somebody").await,
    ] {
        let deps = Arc::get_mut(&mut fixture.deps).unwrap();
        deps.dkim = Dkim::new(&[mute.address()], Duration::from_millis(200)).unwrap();
        deps.settings.upstream_backoff.wall_clock = Duration::from_millis(500);
        let signed = by("example.com").sign(&mail_from("example.com"));
        fixture.record("1", &payload(TO, signed.as_bytes())).await;
        fixture.work_until_idle().await;
        let failures = fixture.store.failures.dead_letters(10).await.unwrap();
        let reasons: Vec<&str> = failures.iter().map(|one| one.reason.as_str()).collect();
        assert_eq!(reasons, ["dns_away"]);
    }
}
