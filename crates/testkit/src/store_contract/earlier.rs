//! Attempts that also take mail from before they were opened.

use pipeline::{
    ALREADY_CONSUMED, AttemptId, AttemptOutcome, AttemptRules, AttemptStatus, AttemptView,
    CodeForm, GIVEN_TO_ANOTHER_ATTEMPT, NewAttempt, Opened, Request, RequestKind, Scope,
};
use tokio::task::JoinSet;

use super::{Seams, StoreSubject, answered, attempt, bring_for, inbox, must, request};

/// A request for an attempt that takes earlier mail.
fn asked(owner: &str) -> NewAttempt {
    NewAttempt {
        owner: must(owner.parse()),
        takes_earlier: true,
        ..attempt(&inbox("agent"))
    }
}

async fn open(seams: &Seams, asked: NewAttempt) -> AttemptView {
    view(must(seams.attempts.open_attempt(asked).await))
}

fn view(opened: Opened) -> AttemptView {
    match opened {
        Opened::New(view) | Opened::Known(view) => view,
        other => panic!("expected an attempt, got {other:?}"),
    }
}

/// Opens an attempt; the key makes it the same attempt if it has to ask again.
async fn open_with_key(seams: &Seams, key: &str) -> AttemptView {
    let asked = NewAttempt {
        asked: Some(Request {
            consumer: must("a".parse()),
            kind: RequestKind::Attempt,
            key: must(key.parse()),
            tag: [1; 16],
        }),
        ..asked("a")
    };
    view(
        answered(|| seams.attempts.open_attempt(asked.clone()))
            .await
            .0,
    )
}

async fn finish(seams: &Seams, attempt: AttemptId) {
    let outcome = AttemptOutcome::Abandoned;
    let finished = seams
        .attempts
        .finish_attempt(attempt, &Scope::All, outcome, None);
    must(finished.await);
}

/// The newest value that is neither consumed nor bound to an attempt.
pub async fn earlier_value_goes_to_an_attempt_that_takes_it(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    bring_for(&seams, &to, "m1", "111111", &[]).await;
    let newest = bring_for(&seams, &to, "m2", "222222", &[]).await;
    let view = open(&seams, asked("a")).await;
    assert_eq!(view.status(), AttemptStatus::Ready);
    assert_eq!(view.current.map(|item| item.id), Some(newest));
    let value = super::value(seams.take(view.id, "a", "k").await);
    assert_eq!(value, ("222222".to_owned(), false));
    // The older one is stale now.
    let view = open(&seams, asked("a")).await;
    assert_eq!(view.status(), AttemptStatus::NoArtifact(ALREADY_CONSUMED));
    bring_for(&seams, &to, "m3", "333333", &[view.id]).await;
    assert_eq!(
        super::value(seams.take(view.id, "a", "k2").await).0,
        "333333"
    );
}

/// One value, one attempt, however many ask at once.
pub async fn of_many_attempts_one_gets_the_earlier_value(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    bring_for(&seams, &inbox("agent"), "m1", "493817", &[]).await;
    let mut tasks = JoinSet::new();
    for n in 0..8 {
        let seams = seams.clone();
        tasks.spawn(async move { open_with_key(&seams, &format!("key-{n}")).await });
    }
    let views = tasks.join_all().await;
    let ready = views
        .iter()
        .filter(|it| it.status() == AttemptStatus::Ready);
    assert_eq!(ready.count(), 1);
    let other = views.iter().find(|it| it.current.is_none());
    let other = other.map_or_else(|| panic!("{views:?}"), |it| it.id);
    finish(&seams, other).await;
    assert_eq!(
        seams.status(other).await,
        AttemptStatus::NoArtifact(GIVEN_TO_ANOTHER_ATTEMPT)
    );
}

/// Its newer value may be consumed next, and then the older one is stale.
pub async fn older_value_beside_one_of_an_open_attempt_is_not_given(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    bring_for(&seams, &to, "m1", "111111", &[]).await;
    let newest = bring_for(&seams, &to, "m2", "222222", &[]).await;
    let first = open(&seams, asked("a")).await;
    assert_eq!(first.current.map(|item| item.id), Some(newest));
    let second = open(&seams, asked("b")).await;
    assert!(second.current.is_none(), "{second:?}");
    finish(&seams, second.id).await;
    assert_eq!(
        seams.status(second.id).await,
        AttemptStatus::NoArtifact(GIVEN_TO_ANOTHER_ATTEMPT)
    );
}

/// The rules of the inbox might withhold it.
pub async fn value_by_the_rules_of_an_ended_attempt_is_not_free(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    for (name, links, expected) in [
        ("m1", Some(vec!["example.com".to_owned()]), None),
        ("m2", None, Some(CodeForm::Digits(6))),
    ] {
        let own = attempt(&to);
        let own = NewAttempt {
            owner: must("a".parse()),
            rules: AttemptRules {
                links,
                expected,
                ..own.rules.clone()
            },
            ..own
        };
        let ended = open(&seams, own).await.id;
        bring_for(&seams, &to, name, "493817", &[ended]).await;
        assert_eq!(seams.status(ended).await, AttemptStatus::Ready);
        finish(&seams, ended).await;
        assert!(open(&seams, asked("a")).await.current.is_none(), "{name}");
    }
}

/// For example when the process that waited was killed.
pub async fn value_of_an_ended_attempt_is_free_for_its_owner_alone(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    let ended = open(&seams, asked("a")).await.id;
    bring_for(&seams, &to, "m1", "493817", &[ended]).await;
    // It is not free while its attempt is open.
    assert!(open(&seams, asked("a")).await.current.is_none());
    finish(&seams, ended).await;
    assert!(open(&seams, asked("b")).await.current.is_none());
    let next = open(&seams, asked("a")).await;
    assert_eq!(next.status(), AttemptStatus::Ready);
    assert_eq!(
        super::value(seams.take(next.id, "a", "k").await).0,
        "493817"
    );
    assert_eq!(seams.status(ended).await, AttemptStatus::Expired);
}

/// Mail that was received before the attempt was opened and written after it.
pub async fn repeated_request_finds_mail_that_was_written_since(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    let asked = NewAttempt {
        reference: Some(must("wait-1".parse())),
        ..asked("a")
    };
    let first = open(&seams, asked.clone()).await;
    assert_eq!(first.status(), AttemptStatus::Pending);
    let written = bring_for(&seams, &to, "m1", "493817", &[]).await;
    assert_eq!(seams.status(first.id).await, AttemptStatus::Pending);
    let again = NewAttempt {
        id: AttemptId::new(),
        ..asked
    };
    let view = open(&seams, again.clone()).await;
    assert_eq!(view.id, first.id);
    assert_eq!(view.current.map(|item| item.id), Some(written));
    // A value that the attempt has is not replaced by a repetition.
    seams.consume(&request(written, "b", "k")).await;
    bring_for(&seams, &to, "m2", "555555", &[]).await;
    let view = open(&seams, again).await;
    assert_eq!(view.current.map(|item| item.id), Some(written));
}

/// A repetition and a mail lock the inbox and the attempt in the same order.
pub async fn repeated_requests_beside_arriving_mail_do_not_fail(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    let asked = NewAttempt {
        reference: Some(must("wait-1".parse())),
        heartbeat: Some(super::LONG),
        ..asked("a")
    };
    let first = open(&seams, asked.clone()).await.id;
    let mut tasks = JoinSet::new();
    for caller in 0..4 {
        let (seams, asked, to) = (seams.clone(), asked.clone(), to.clone());
        tasks.spawn(async move {
            for round in 0..20 {
                let name = format!("m{caller}-{round}");
                let value = format!("{caller}{round:05}");
                let again = NewAttempt {
                    id: AttemptId::new(),
                    ..asked.clone()
                };
                let attempts = [first];
                let mail = bring_for(&seams, &to, &name, &value, &attempts);
                let (_, view) = tokio::join!(mail, open(&seams, again));
                assert_eq!(view.id, first);
            }
        });
    }
    tasks.join_all().await;
    assert_eq!(seams.status(first).await, AttemptStatus::Ready);
}
