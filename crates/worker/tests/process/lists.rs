//! Whose lists a mail is judged by when an inbox and those who wait there have some.

use pipeline::{
    AttemptId, AttemptRules, AttemptStatus, AttemptView, InboxRules, NewAttempt, NewInbox, Wanted,
};
use testkit::store_contract::attempt;

use crate::desk::{Desk, payload};

const TO: &str = "agent@inbox.test";

fn list(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

/// A mail from a bank with links to two places.
fn mail() -> Vec<u8> {
    let text = "From: Bank <no-reply@bank.example>\r\n\
         To: agent@inbox.test\r\n\
         Message-ID: <1@bank.example>\r\n\
         Subject: Confirm your address\r\n\
         Content-Type: text/html\r\n\
         \r\n\
         <p>Please confirm your email address:</p>\r\n\
         <a href=\"https://go.bank.example/confirm?token=bank4Kq8Zt2LpW9x\">Confirm email</a>\r\n";
    text.as_bytes().to_vec()
}

/// An inbox with a list of links.
async fn desk(links: Option<&[&str]>) -> Desk {
    let desk = Desk::open().await;
    let inbox = NewInbox {
        inbox: TO.parse().unwrap(),
        owner: "a".parse().unwrap(),
        asked: None,
        rules: InboxRules {
            links: links.map(list),
            ..InboxRules::default()
        },
        metadata: None,
        expires_in: None,
        retention: None,
    };
    desk.store.inboxes.create_inbox(inbox).await.unwrap();
    desk
}

async fn wait_for(desk: &Desk, rules: AttemptRules) -> AttemptId {
    let asked = NewAttempt {
        rules,
        ..attempt(&TO.parse().unwrap())
    };
    let id = asked.id;
    desk.store.attempts.open_attempt(asked).await.unwrap();
    id
}

fn links(words: &[&str]) -> AttemptRules {
    AttemptRules {
        wanted: Wanted::Link,
        senders: Vec::new(),
        needs_proof: false,
        links: Some(list(words)),
        token: None,
    }
}

fn senders(words: &[&str]) -> AttemptRules {
    AttemptRules {
        wanted: Wanted::Either,
        senders: list(words),
        links: Some(list(&["*.bank.example"])),
        ..links(&[])
    }
}

async fn bring(desk: &Desk) {
    desk.record("one", &payload(TO, &mail())).await;
    desk.work_until_idle().await;
}

async fn view(desk: &Desk, attempt: AttemptId) -> AttemptView {
    let view = desk
        .store
        .attempts
        .attempt(attempt, &pipeline::Scope::All)
        .await;
    view.unwrap().unwrap()
}

#[tokio::test]
async fn an_attempt_does_not_widen_the_list_of_its_inbox() {
    let desk = desk(Some(&["shop.example"])).await;
    let id = wait_for(&desk, links(&["*.bank.example"])).await;
    bring(&desk).await;
    let status = view(&desk, id).await.status();
    assert!(
        matches!(&status, AttemptStatus::Blocked(why) if why.as_str() == "host_not_allowed"),
        "{status:?}"
    );
}

#[tokio::test]
async fn an_attempt_narrows_the_list_of_its_inbox() {
    let desk = desk(Some(&["*.bank.example", "shop.example"])).await;
    let other = wait_for(&desk, links(&["login.bank.example"])).await;
    let id = wait_for(&desk, links(&["go.bank.example"])).await;
    bring(&desk).await;
    assert_eq!(view(&desk, id).await.status(), AttemptStatus::Ready);
    assert!(matches!(
        view(&desk, other).await.status(),
        AttemptStatus::Blocked(_)
    ));
}

#[tokio::test]
async fn a_mail_that_is_anothers_by_its_sender_is_no_miss() {
    let desk = desk(None).await;
    let other = wait_for(&desk, senders(&["shop.example"])).await;
    let id = wait_for(&desk, senders(&["bank.example"])).await;
    bring(&desk).await;
    assert_eq!(view(&desk, id).await.status(), AttemptStatus::Ready);
    let other = view(&desk, other).await;
    assert_eq!((other.status(), other.miss), (AttemptStatus::Pending, None));
}

#[tokio::test]
async fn a_mail_from_somebody_else_is_a_miss_when_it_is_nobodys() {
    let desk = desk(None).await;
    let id = wait_for(&desk, senders(&["shop.example"])).await;
    bring(&desk).await;
    let status = view(&desk, id).await.status();
    assert!(
        matches!(&status, AttemptStatus::Blocked(why) if why.as_str() == "sender_not_allowed"),
        "{status:?}"
    );
}

/// A mail is not read for every list in the world, and nobody gets by that what
/// another list than its own would let through.
#[tokio::test]
async fn a_list_too_many_admits_nothing() {
    let desk = desk(None).await;
    let mut waiting = Vec::new();
    for number in 0..20 {
        let host = format!("host{number}.example");
        waiting.push(wait_for(&desk, links(&["go.bank.example", &host])).await);
    }
    bring(&desk).await;
    let mut blocked = 0;
    for id in waiting {
        let status = view(&desk, id).await.status();
        let why = "too_many_lists";
        blocked += usize::from(matches!(&status, AttemptStatus::Blocked(it) if it.as_str() == why));
    }
    assert_eq!(blocked, 4);
}
