//! Which allowlist applies when an inbox and its attempts each have one.

use std::time::Duration;

use pipeline::{
    ArtifactView, AttemptId, AttemptRules, AttemptStatus, AttemptView, CodeForm, InboxRules,
    NewAttempt, NewInbox, Verdict, Wanted,
};
use testkit::store_contract::attempt;
use testkit::wait::until;

use crate::fixture::{Fixture, payload};

const TO: &str = "agent@inbox.test";

fn list(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

/// A mail from a bank with one link.
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

/// A worker and an inbox with this allowlist for links.
async fn fixture(links: Option<&[&str]>) -> Fixture {
    let fixture = Fixture::open().await;
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
    fixture.store.inboxes.create_inbox(inbox).await.unwrap();
    fixture
}

async fn open_attempt(fixture: &Fixture, rules: AttemptRules) -> AttemptId {
    let asked = NewAttempt {
        rules,
        ..attempt(&TO.parse().unwrap())
    };
    let id = asked.id;
    fixture.store.attempts.open_attempt(asked).await.unwrap();
    id
}

fn links(words: &[&str]) -> AttemptRules {
    AttemptRules {
        wanted: Wanted::Link,
        senders: Vec::new(),
        needs_proof: false,
        links: Some(list(words)),
        token: None,
        expected: None,
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

async fn process_mail(fixture: &Fixture) {
    fixture.record("one", &payload(TO, &mail())).await;
    fixture.work_until_idle().await;
}

async fn view(fixture: &Fixture, attempt: AttemptId) -> AttemptView {
    let view = fixture
        .store
        .attempts
        .attempt(attempt, &pipeline::Scope::All)
        .await;
    view.unwrap().unwrap()
}

#[tokio::test]
async fn attempt_does_not_widen_the_allowlist_of_its_inbox() {
    let fixture = fixture(Some(&["shop.example"])).await;
    let id = open_attempt(&fixture, links(&["*.bank.example"])).await;
    process_mail(&fixture).await;
    let status = view(&fixture, id).await.status();
    assert!(
        matches!(&status, AttemptStatus::Blocked(why) if why.as_str() == "host_not_allowed"),
        "{status:?}"
    );
}

#[tokio::test]
async fn attempt_narrows_the_allowlist_of_its_inbox() {
    let fixture = fixture(Some(&["*.bank.example", "shop.example"])).await;
    let other = open_attempt(&fixture, links(&["login.bank.example"])).await;
    let id = open_attempt(&fixture, links(&["go.bank.example"])).await;
    process_mail(&fixture).await;
    assert_eq!(view(&fixture, id).await.status(), AttemptStatus::Ready);
    assert!(matches!(
        view(&fixture, other).await.status(),
        AttemptStatus::Blocked(_)
    ));
}

#[tokio::test]
async fn mail_for_another_attempt_by_sender_is_not_a_miss() {
    let fixture = fixture(None).await;
    let other = open_attempt(&fixture, senders(&["shop.example"])).await;
    let id = open_attempt(&fixture, senders(&["bank.example"])).await;
    process_mail(&fixture).await;
    assert_eq!(view(&fixture, id).await.status(), AttemptStatus::Ready);
    let other = view(&fixture, other).await;
    assert_eq!((other.status(), other.miss), (AttemptStatus::Pending, None));
}

#[tokio::test]
async fn mail_from_a_sender_nobody_allows_is_a_miss() {
    let fixture = fixture(None).await;
    let id = open_attempt(&fixture, senders(&["shop.example"])).await;
    process_mail(&fixture).await;
    let status = view(&fixture, id).await.status();
    assert!(
        matches!(&status, AttemptStatus::Blocked(why) if why.as_str() == "sender_not_allowed"),
        "{status:?}"
    );
}

#[tokio::test]
async fn mail_for_20_allowlists_is_parsed_once_and_judged_by_each() {
    let fixture = fixture(None).await;
    let mut waiting = Vec::new();
    for number in 0..20 {
        let own = format!("host{number}.example");
        let hosts = [own.as_str(), "go.bank.example"];
        let allowed = if number == 7 { &hosts[..] } else { &hosts[..1] };
        waiting.push(open_attempt(&fixture, links(allowed)).await);
    }
    process_mail(&fixture).await;
    assert_eq!(fixture.deps.parser_threads.parsed(), 1);
    for (number, id) in waiting.into_iter().enumerate() {
        let status = view(&fixture, id).await.status();
        let is_right = match &status {
            AttemptStatus::Ready => number == 7,
            AttemptStatus::Blocked(why) => number != 7 && why.as_str() == "host_not_allowed",
            _ => false,
        };
        assert!(is_right, "attempt {number}: {status:?}");
    }
}

/// Two codes of different lengths: without a hint there is no way to choose.
const TWO_CODES: &[u8] = b"From: Bank <no-reply@bank.example>\r\n\
    To: agent@inbox.test\r\n\
    Message-ID: <1@bank.example>\r\n\
    Subject: Your verification code\r\n\
    \r\n\
    Your verification code is 482913. Your security code is 77120.\r\n";

fn expecting(expected: Option<CodeForm>) -> AttemptRules {
    AttemptRules {
        wanted: Wanted::Code,
        links: None,
        expected,
        ..links(&[])
    }
}

#[tokio::test]
async fn attempt_that_knows_the_form_of_its_code_gets_the_fitting_one() {
    let fixture = fixture(None).await;
    let eight = open_attempt(&fixture, expecting(Some(CodeForm::Digits(8)))).await;
    let any = open_attempt(&fixture, expecting(None)).await;
    let six = open_attempt(&fixture, expecting(Some(CodeForm::Digits(6)))).await;
    fixture.record("one", &payload(TO, TWO_CODES)).await;
    fixture.work_until_idle().await;
    assert_eq!(view(&fixture, six).await.status(), AttemptStatus::Ready);
    for other in [eight, any] {
        let view = view(&fixture, other).await;
        assert_ne!(view.status(), AttemptStatus::Ready, "{view:?}");
    }
}

/// Attempts are looked up for an hour after their end, because mail may be read late. What
/// the hint of such an attempt would give is not for the inbox.
#[tokio::test]
async fn hint_of_an_attempt_that_cannot_get_a_mail_gives_the_inbox_no_value() {
    let fixture = fixture(None).await;
    let asked = NewAttempt {
        rules: expecting(Some(CodeForm::Digits(6))),
        timeout: Duration::from_millis(1),
        ..attempt(&TO.parse().unwrap())
    };
    let ended = asked.id;
    fixture.store.attempts.open_attempt(asked).await.unwrap();
    until("the end of the attempt", async || {
        view(&fixture, ended).await.is_over.then_some(())
    })
    .await;
    fixture.record("one", &payload(TO, TWO_CODES)).await;
    fixture.work_until_idle().await;
    assert_ne!(view(&fixture, ended).await.status(), AttemptStatus::Ready);
    let items = fixture.items(TO).await;
    let is_usable = |item: &ArtifactView| item.verdict == Verdict::Usable;
    assert!(!items.iter().any(is_usable), "{items:?}");
}
