//! Attempts: which mail each one gets, once.

use std::sync::Arc;
use std::time::Duration;

use pipeline::{
    ArtifactId, ArtifactKey, ArtifactKind, AttemptConsume, AttemptConsumed, AttemptFinished,
    AttemptId, AttemptMatch, AttemptOutcome, AttemptRules, AttemptStatus, AttemptView, Consumed,
    ConsumerId, InboxId, InboxRules, Miss, MissKind, NewArtifact, NewAttempt, NewInbox, NewMessage,
    Opened, Reason, ResendOutcome, ResendRequest, Scope, ServerKey, Timestamp, Wanted,
};
use secrecy::ExposeSecret;
use tokio::task::JoinSet;

use super::{LONG, Seams, StoreSubject, code, inbox, mail, must, request, resend};
use crate::wait::{soon, until, until_quiet};

/// The reason to open an attempt before triggering the mail.
pub async fn attempt_gets_mail_that_arrives_after_it_was_opened(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let (to, attempt) = opened(&seams, "agent").await;
    assert_eq!(seams.status(attempt).await, AttemptStatus::Pending);
    let id = bring_for(&seams, &to, "m1", "493817", &[attempt]).await;
    let view = seams.look(attempt).await;
    assert_eq!(view.status(), AttemptStatus::Ready);
    assert_eq!(view.current.map(|item| item.id), Some(id));
    assert_eq!(
        value(seams.take(attempt, "a", "k").await),
        ("493817".to_owned(), false)
    );
    assert_eq!(seams.status(attempt).await, AttemptStatus::Consumed);
}

/// For example yesterday's code.
pub async fn mail_recorded_before_an_attempt_is_never_for_it(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    bring_for(&seams, &to, "m1", "111111", &[]).await;
    // Recorded before the attempt was opened, and processed after.
    let delivery = seams.new_delivery("m2").await;
    seams
        .clock_passes(must(seams.deliveries.backlog().await).at)
        .await;
    let (to, attempt) = opened(&seams, "agent").await;
    let (claim, _) = seams.claim(delivery, LONG).await;
    let late = mail(&to, "m2", vec![suited(code(&to, "222222"), &[attempt])]);
    seams.complete(claim, super::held(vec![late])).await;
    assert_eq!(seams.status(attempt).await, AttemptStatus::Pending);
    assert!(matches!(
        seams.take(attempt, "a", "k").await,
        AttemptConsumed::NotReady(_)
    ));
}

/// For example when a provider delivers its backlog after an outage.
pub async fn mail_received_before_an_attempt_is_not_for_it(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let (to, attempt) = opened(&seams, "agent").await;
    let view = seams.look(attempt).await;
    let stale = NewMessage {
        received_at: Some(Timestamp::from_millis(view.opened_at.as_millis() - 1)),
        ..mail(&to, "m1", vec![suited(code(&to, "111111"), &[attempt])])
    };
    seams.process("m1", vec![stale]).await;
    assert_eq!(seams.status(attempt).await, AttemptStatus::Pending);
    let item = seams.items(&to).await.pop();
    assert_eq!(item.map(|item| item.attempt), Some(None));
}

/// A newer code invalidates the older one.
pub async fn newest_mail_of_an_attempt_supersedes_older_mail(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let (to, attempt) = opened(&seams, "agent").await;
    let old = bring_for(&seams, &to, "m1", "111111", &[attempt]).await;
    bring_for(&seams, &to, "m2", "222222", &[attempt]).await;
    let answer = seams.consume(&request(old, "agent", "k1")).await;
    assert!(matches!(answer, Consumed::Superseded), "{answer:?}");
    assert_eq!(value(seams.take(attempt, "a", "k2").await).0, "222222");
    let superseded: Vec<bool> = seams
        .items(&to)
        .await
        .iter()
        .map(|i| i.is_superseded)
        .collect();
    assert_eq!(superseded, [true, false]);
}

/// The time of receipt decides, not the order of processing.
pub async fn older_mail_that_arrives_late_supersedes_nothing(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let (to, attempt) = opened(&seams, "agent").await;
    let opened_at = seams.look(attempt).await.opened_at;
    let later = opened_at.plus(Duration::from_millis(10));
    seams.clock_passes(later).await;
    for (name, value, after) in [("m2", "222222", 10), ("m1", "111111", 5)] {
        let message = NewMessage {
            received_at: Some(opened_at.plus(Duration::from_millis(after))),
            ..mail(&to, name, vec![suited(code(&to, value), &[attempt])])
        };
        seams.process(name, vec![message]).await;
    }
    assert_eq!(value(seams.take(attempt, "a", "k").await).0, "222222");
}

/// The same code twice in one attempt is one artifact; in two attempts it is two.
pub async fn repeated_value_is_one_artifact_per_attempt(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let (to, first) = opened(&seams, "agent").await;
    bring_for(&seams, &to, "m1", "493817", &[first]).await;
    let again = mail(&to, "m2", vec![suited(code(&to, "493817"), &[first])]);
    let finished = seams.process("m2", vec![again]).await;
    assert_eq!((finished.artifacts, finished.duplicate_artifacts), (0, 1));
    assert_eq!(value(seams.take(first, "a", "k1").await).0, "493817");
    seams.end(first).await;
    let (_, second) = opened(&seams, "agent").await;
    bring_for(&seams, &to, "m3", "493817", &[second]).await;
    assert_eq!(value(seams.take(second, "a", "k2").await).0, "493817");
}

/// The answer was lost, and a newer mail arrived before the retry.
pub async fn retry_of_an_attempt_consume_gets_the_first_answer(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let (to, attempt) = opened(&seams, "agent").await;
    bring_for(&seams, &to, "m1", "111111", &[attempt]).await;
    assert_eq!(
        value(seams.take(attempt, "a", "k1").await),
        ("111111".to_owned(), false)
    );
    bring_for(&seams, &to, "m2", "222222", &[attempt]).await;
    assert_eq!(seams.status(attempt).await, AttemptStatus::Superseded);
    assert_eq!(
        value(seams.take(attempt, "a", "k1").await),
        ("111111".to_owned(), true)
    );
    assert_eq!(
        value(seams.take(attempt, "a", "k2").await),
        ("222222".to_owned(), false)
    );
}

/// Of many concurrent requests one succeeds.
pub async fn of_fifty_consumers_of_an_attempt_one_gets_the_value(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let (to, attempt) = opened(&seams, "agent").await;
    bring_for(&seams, &to, "m1", "493817", &[attempt]).await;
    let mut tasks = JoinSet::new();
    for number in 0..50 {
        let seams = seams.clone();
        tasks.spawn(async move { seams.take(attempt, &format!("agent_{number}"), "k").await });
    }
    let answers = tasks.join_all().await;
    let is_value = |answer: &&AttemptConsumed| matches!(answer, AttemptConsumed::Value { .. });
    let is_already = |answer: &&AttemptConsumed| matches!(answer, AttemptConsumed::Already { .. });
    assert_eq!(answers.iter().filter(is_value).count(), 1);
    assert_eq!(answers.iter().filter(is_already).count(), 49);
}

/// An idempotency key names one request.
pub async fn idempotency_key_used_for_another_attempt_is_refused(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let (to, first) = opened(&seams, "agent").await;
    let (_, second) = opened(&seams, "agent").await;
    bring_for(&seams, &to, "m1", "111111", &[first]).await;
    bring_for(&seams, &to, "m2", "222222", &[second]).await;
    value(seams.take(first, "a", "k").await);
    let answer = seams.take(second, "a", "k").await;
    assert!(matches!(answer, AttemptConsumed::KeyReused), "{answer:?}");
}

/// Twenty concurrent retries open one attempt.
pub async fn same_reference_returns_the_same_attempt(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let asked = NewAttempt {
        reference: Some(must("signup-7".parse())),
        ..attempt(&inbox("agent"))
    };
    let mut tasks = JoinSet::new();
    for _ in 0..20 {
        let seams = seams.clone();
        let asked = NewAttempt {
            id: AttemptId::new(),
            ..asked.clone()
        };
        tasks.spawn(async move { must(seams.attempts.open_attempt(asked).await) });
    }
    let (mut new, mut ids) = (0, Vec::new());
    for answer in tasks.join_all().await {
        match answer {
            Opened::New(view) => {
                new += 1;
                ids.push(view.id);
            }
            Opened::Known(view) => ids.push(view.id),
            other => panic!("{other:?}"),
        }
    }
    ids.dedup();
    assert_eq!((new, ids.len()), (1, 1));
    let other = NewAttempt {
        request: [1; 16],
        ..asked
    };
    let answer = must(seams.attempts.open_attempt(other).await);
    assert!(matches!(answer, Opened::ReferenceReused), "{answer:?}");
}

/// A retry opens nothing new, so it works even when the inbox accepts no mail any more.
pub async fn reference_works_after_its_inbox_expired(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    let owner: ConsumerId = must("a".parse());
    let own = |others: &[InboxId]| Scope::Own {
        owner: owner.clone(),
        others: others.to_vec(),
    };
    let new = NewInbox {
        inbox: to.clone(),
        owner: must("b".parse()),
        asked: None,
        rules: InboxRules::default(),
        metadata: None,
        expires_in: None,
        retention: None,
    };
    must(seams.inboxes.create_inbox(new).await);
    let asked = |reference: &str| NewAttempt {
        id: AttemptId::new(),
        reference: Some(must(reference.parse())),
        scope: own(std::slice::from_ref(&to)),
        ..attempt(&to)
    };
    let open = async |asked| must(seams.attempts.open_attempt(asked).await);
    let first = match open(asked("signup-7")).await {
        Opened::New(view) => view.id,
        other => panic!("{other:?}"),
    };
    must(seams.inboxes.expire_inbox(&to, &Scope::All).await);
    match open(asked("signup-7")).await {
        Opened::Known(view) => assert_eq!(view.id, first),
        other => panic!("{other:?}"),
    }
    let other_request = NewAttempt {
        request: [1; 16],
        ..asked("signup-7")
    };
    let answer = open(other_request).await;
    assert!(matches!(answer, Opened::ReferenceReused), "{answer:?}");
    let answer = open(asked("signup-8")).await;
    assert!(matches!(answer, Opened::InboxUnknown), "{answer:?}");
    let narrowed = NewAttempt {
        scope: own(&[]),
        ..asked("signup-7")
    };
    let answer = open(narrowed).await;
    assert!(matches!(answer, Opened::InboxUnknown), "{answer:?}");
}

/// Unlimited resends could flood the sender.
pub async fn resends_are_counted_once_for_each_key(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let (_, attempt) = opened(&seams, "agent").await;
    let resend = async |key| must(seams.attempts.resend(&resend(attempt, "a", key)).await);
    assert_eq!(resend("k1").await, ResendOutcome::Granted { left: 1 });
    assert_eq!(resend("k1").await, ResendOutcome::Repeated { left: 1 });
    assert_eq!(resend("k2").await, ResendOutcome::Granted { left: 0 });
    assert_eq!(resend("k3").await, ResendOutcome::Spent);
    assert_eq!(resend("k2").await, ResendOutcome::Repeated { left: 0 });
    seams.end(attempt).await;
    assert_eq!(resend("k4").await, ResendOutcome::Over);
}

/// Idempotency keys belong to their caller.
pub async fn same_key_of_two_callers_counts_two_resends(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let (_, first) = opened(&seams, "agent").await;
    let (_, second) = opened(&seams, "agent").await;
    let ask = async |asked| must(seams.attempts.resend(&asked).await);
    let granted = |left| ResendOutcome::Granted { left };
    assert_eq!(ask(resend(first, "a", "k")).await, granted(1));
    assert_eq!(ask(resend(first, "b", "k")).await, granted(0));
    assert_eq!(
        ask(resend(second, "a", "k")).await,
        ResendOutcome::KeyReused
    );
    assert_eq!(seams.look(second).await.resends_left, 2);
}

/// The first request gets the key; the other attempt's budget is unchanged.
pub async fn one_key_for_two_attempts_at_once_is_granted_once(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    for round in 0..10 {
        let mut askers = JoinSet::new();
        for _ in 0..4 {
            let (_, id) = opened(&seams, "agent").await;
            let attempts = Arc::clone(&seams.attempts);
            let asked = resend(id, "a", &format!("k{round}"));
            askers.spawn(async move { must(attempts.resend(&asked).await) });
        }
        let answers = askers.join_all().await;
        let granted = answers
            .iter()
            .filter(|it| matches!(it, ResendOutcome::Granted { .. }));
        assert_eq!(granted.count(), 1, "{answers:?}");
        let reused = answers.iter().filter(|it| **it == ResendOutcome::KeyReused);
        assert_eq!(reused.count(), 3, "{answers:?}");
    }
}

/// After a wrong code the agent asks for another one and waits again.
pub async fn resend_after_a_consume_is_pending_until_new_mail(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let (to, attempt) = opened(&seams, "agent").await;
    bring_for(&seams, &to, "m1", "111111", &[attempt]).await;
    value(seams.take(attempt, "a", "k1").await);
    let answer = seams.take(attempt, "a", "k2").await;
    assert!(
        matches!(answer, AttemptConsumed::Already { .. }),
        "{answer:?}"
    );
    must(seams.attempts.resend(&resend(attempt, "a", "r")).await);
    let answer = seams.take(attempt, "a", "k2").await;
    assert!(matches!(answer, AttemptConsumed::NotReady(_)), "{answer:?}");
    bring_for(&seams, &to, "m2", "222222", &[attempt]).await;
    assert_eq!(value(seams.take(attempt, "a", "k2").await).0, "222222");
}

/// An agent does not wait for an attempt that is finished.
pub async fn watch_wakes_when_an_attempt_is_finished(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let (to, attempt) = opened(&seams, "agent").await;
    let mut arrival = seams.agents.watch(&to);
    until_quiet(&mut *arrival).await;
    seams.end(attempt).await;
    soon("the watch wakes", arrival.changed()).await;
    assert_eq!(seams.status(attempt).await, AttemptStatus::Expired);
}

/// Mail after the end is not given to the attempt.
pub async fn finished_attempt_gets_no_more_mail(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let (to, attempt) = opened(&seams, "agent").await;
    seams.end(attempt).await;
    bring_for(&seams, &to, "m1", "493817", &[attempt]).await;
    assert_eq!(seams.look(attempt).await.current, None);
    let again = seams
        .attempts
        .finish_attempt(attempt, &Scope::All, AttemptOutcome::Failed, None);
    let answer = must(again.await);
    assert!(
        matches!(
            answer,
            AttemptFinished::OtherOutcome(AttemptOutcome::Succeeded)
        ),
        "{answer:?}"
    );
}

/// An attempt does not give out a value after its deadline.
pub async fn attempt_gives_no_value_after_its_deadline(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let asked = NewAttempt {
        timeout: Duration::from_secs(4),
        ..attempt(&inbox("agent"))
    };
    let (to, id) = (asked.inbox.clone(), asked.id);
    let silent = NewAttempt {
        timeout: Duration::ZERO,
        ..attempt(&to)
    };
    let unheard = silent.id;
    for asked in [asked, silent] {
        must(seams.attempts.open_attempt(asked).await);
    }
    assert_eq!(seams.status(unheard).await, AttemptStatus::NothingArrived);
    bring_for(&seams, &to, "m1", "493817", &[id, unheard]).await;
    assert_eq!(seams.status(unheard).await, AttemptStatus::NothingArrived);
    assert_eq!(seams.status(id).await, AttemptStatus::Ready);
    until("the deadline passes", async || {
        seams.look(id).await.is_over.then_some(())
    })
    .await;
    assert_eq!(seams.status(id).await, AttemptStatus::Expired);
    let answer = seams.take(id, "a", "k").await;
    assert!(matches!(answer, AttemptConsumed::NotReady(_)), "{answer:?}");
}

/// The attempt says why the last mail gave nothing.
pub async fn miss_is_reported_until_an_artifact_arrives(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let (to, attempt) = opened(&seams, "agent").await;
    let why = Reason::new("host_not_allowed");
    let blocked = NewMessage {
        misses: vec![Miss {
            attempt,
            kind: MissKind::Blocked,
            reason: why.clone(),
            seen: Some("shop.example".to_owned()),
        }],
        ..mail(&to, "m1", vec![code(&to, "111111")])
    };
    seams.process("m1", vec![blocked]).await;
    assert_eq!(seams.status(attempt).await, AttemptStatus::Blocked(why));
    let seen = seams.look(attempt).await.miss_seen;
    assert_eq!(seen.as_deref(), Some("shop.example"));
    bring_for(&seams, &to, "m2", "222222", &[attempt]).await;
    assert_eq!(seams.status(attempt).await, AttemptStatus::Ready);
}

/// A key that was given an inbox may use it, but not end what its owner waits for.
pub async fn granted_caller_finishes_only_its_own_attempts(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let owned = NewAttempt {
        is_minted: true,
        owner: must("a".parse()),
        scope: own("a"),
        ..attempt(&inbox("minted"))
    };
    let granted = Scope::Own {
        owner: must("b".parse()),
        others: vec![owned.inbox.clone()],
    };
    let others = NewAttempt {
        id: AttemptId::new(),
        is_minted: false,
        owner: must("b".parse()),
        scope: granted.clone(),
        ..owned.clone()
    };
    for asked in [owned.clone(), others.clone()] {
        let answer = must(seams.attempts.open_attempt(asked).await);
        assert!(matches!(answer, Opened::New(_)), "{answer:?}");
    }
    let finish = async |id, scope: &Scope| {
        let outcome = AttemptOutcome::Abandoned;
        must(
            seams
                .attempts
                .finish_attempt(id, scope, outcome, None)
                .await,
        )
    };
    let answer = finish(owned.id, &granted).await;
    assert!(matches!(answer, AttemptFinished::Unknown), "{answer:?}");
    assert_eq!(seams.status(owned.id).await, AttemptStatus::Pending);
    let answer = finish(others.id, &granted).await;
    assert!(matches!(answer, AttemptFinished::Finished(_)), "{answer:?}");
    let answer = finish(owned.id, &own("a")).await;
    assert!(matches!(answer, AttemptFinished::Finished(_)), "{answer:?}");
}

/// A caller cannot see the attempts of others.
pub async fn attempt_outside_the_scope_is_unknown(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let minted = NewAttempt {
        is_minted: true,
        scope: own("a"),
        ..attempt(&inbox("minted"))
    };
    let id = minted.id;
    must(seams.attempts.open_attempt(minted.clone()).await);
    assert!(must(seams.attempts.attempt(id, &own("a")).await).is_some());
    assert!(must(seams.attempts.attempt(id, &own("b")).await).is_none());
    bring_for(&seams, &minted.inbox, "m1", "493817", &[id]).await;
    let mut asked = consume(id, "b", "k");
    asked.scope = own("b");
    let answer = must(seams.attempts.consume_attempt(&asked).await);
    assert!(matches!(answer, AttemptConsumed::Unknown), "{answer:?}");
    let asked = ResendRequest {
        scope: own("b"),
        ..resend(id, "b", "r")
    };
    let answer = must(seams.attempts.resend(&asked).await);
    assert_eq!(answer, ResendOutcome::Unknown);
    let foreign = NewAttempt {
        scope: own("b"),
        is_minted: false,
        id: AttemptId::new(),
        ..minted
    };
    let answer = must(seams.attempts.open_attempt(foreign).await);
    assert!(matches!(answer, Opened::InboxUnknown), "{answer:?}");
}

#[track_caller]
fn own(owner: &str) -> Scope {
    Scope::Own {
        owner: must(owner.parse()),
        others: Vec::new(),
    }
}

/// An attempt at an inbox, for a code, with two resends.
#[track_caller]
pub fn attempt(inbox: &InboxId) -> NewAttempt {
    NewAttempt {
        id: AttemptId::new(),
        owner: must("a".parse()),
        scope: Scope::All,
        reference: None,
        asked: None,
        request: [0; 16],
        inbox: inbox.clone(),
        is_minted: false,
        takes_earlier: false,
        rules: AttemptRules {
            wanted: Wanted::Code,
            senders: Vec::new(),
            needs_proof: false,
            links: None,
            token: None,
            expected: None,
        },
        timeout: LONG,
        heartbeat: None,
        resends: 2,
        callback: None,
    }
}

/// The rules of the inbox alone withhold such a value.
pub async fn value_that_needs_an_attempt_is_recorded_for_an_attempt_only(
    subject: &dyn StoreSubject,
) {
    let seams = subject.seams();
    let (to, open) = opened(&seams, "agent").await;
    let needs_attempt = |value: &str, attempt| NewArtifact {
        needs_attempt: true,
        ..suited(code(&to, value), &[attempt])
    };
    let ended = AttemptId::new();
    let lost = mail(&to, "m1", vec![needs_attempt("111111", ended)]);
    seams.process("evt_1", vec![lost]).await;
    assert!(seams.items(&to).await.is_empty());
    let given = mail(&to, "m2", vec![needs_attempt("222222", open)]);
    seams.process("evt_2", vec![given]).await;
    assert_eq!(seams.items(&to).await.len(), 1);
    assert_eq!(value(seams.take(open, "a", "k").await).0, "222222");
}

/// An artifact that matches these attempts.
pub fn suited(artifact: NewArtifact, attempts: &[AttemptId]) -> NewArtifact {
    let server = ServerKey::new([7; 32]);
    let value = artifact
        .value
        .as_ref()
        .map(|value| value.expose_secret().to_owned())
        .unwrap_or_default();
    let matches = attempts.iter().map(|&attempt| AttemptMatch {
        attempt,
        key: ArtifactKey::for_attempt(&server, attempt, ArtifactKind::Code, &value),
    });
    NewArtifact {
        matches: matches.collect(),
        ..artifact
    }
}

pub(super) async fn opened(seams: &Seams, name: &str) -> (InboxId, AttemptId) {
    let asked = attempt(&inbox(name));
    let (to, id) = (asked.inbox.clone(), asked.id);
    match must(seams.attempts.open_attempt(asked).await) {
        Opened::New(view) => assert_eq!(view.id, id),
        other => panic!("expected a new attempt, got {other:?}"),
    }
    (to, id)
}

pub(super) async fn bring_for(
    seams: &Seams,
    to: &InboxId,
    name: &str,
    value: &str,
    attempts: &[AttemptId],
) -> ArtifactId {
    seams
        .bring(to, name, suited(code(to, value), attempts))
        .await
}

fn consume(attempt: AttemptId, consumer: &str, key: &str) -> AttemptConsume {
    AttemptConsume {
        attempt,
        consumer: must(consumer.parse()),
        scope: Scope::All,
        idempotency_key: must(key.parse()),
        replay_window: LONG,
    }
}

/// The value, and whether the answer is a replay.
#[track_caller]
pub(super) fn value(answer: AttemptConsumed) -> (String, bool) {
    match answer {
        AttemptConsumed::Value {
            value, is_replay, ..
        } => (value.expose_secret().to_owned(), is_replay),
        other => panic!("expected a value, got {other:?}"),
    }
}

impl Seams {
    /// Waits until the database's clock is past a moment.
    pub(super) async fn clock_passes(&self, moment: Timestamp) {
        until("the clock moves on", async || {
            let now = must(self.deliveries.backlog().await).at;
            (now > moment).then_some(())
        })
        .await;
    }

    /// Waits until this much time has passed by the database's clock.
    pub(super) async fn time_passes(&self, span: Duration) {
        let now = must(self.deliveries.backlog().await).at;
        self.clock_passes(now.plus(span)).await;
    }

    pub(super) async fn look(&self, attempt: AttemptId) -> AttemptView {
        match must(self.attempts.attempt(attempt, &Scope::All).await) {
            Some(view) => view,
            None => panic!("the attempt is gone"),
        }
    }

    pub(super) async fn status(&self, attempt: AttemptId) -> AttemptStatus {
        self.look(attempt).await.status()
    }

    pub(super) async fn take(
        &self,
        attempt: AttemptId,
        consumer: &str,
        key: &str,
    ) -> AttemptConsumed {
        let asked = consume(attempt, consumer, key);
        must(self.attempts.consume_attempt(&asked).await)
    }

    pub(super) async fn end(&self, attempt: AttemptId) {
        let outcome = AttemptOutcome::Succeeded;
        let ended = self
            .attempts
            .finish_attempt(attempt, &Scope::All, outcome, None);
        let answer = must(ended.await);
        assert!(matches!(answer, AttemptFinished::Finished(_)), "{answer:?}");
    }
}
