//! At most once: the value of an artifact is given to one consumer.

use std::time::Duration;

use pipeline::{
    ArtifactId, ArtifactKind, AttemptConsumed, ConsumeRequest, Consumed, InboxId, NewArtifact,
    Reason, Scope, Timestamp, Verdict,
};
use secrecy::ExposeSecret;
use tokio::task::JoinSet;

use super::attempts::{bring_for, opened, value};
use super::{LONG, Seams, StoreSubject, answered, attempt, code, inbox, must, request, valueless};
use crate::wait::until;

/// The consumer gets the value, and it gets it once.
pub async fn first_consume_gets_the_value(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let id = code_for_agent(&seams).await;
    let (kind, value, at) = first(seams.consume(&request(id, "agent", "k1")).await);
    assert_eq!((kind, value.as_str()), (ArtifactKind::Code, "493817"));
    let items = seams.items(&inbox("agent")).await;
    let consumed: Vec<_> = items.iter().map(|item| item.consumed_at).collect();
    assert_eq!(consumed, [Some(at)]);
}

/// The second consumer learns when it was consumed, but not the value.
pub async fn of_two_consumers_one_gets_the_value(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let id = code_for_agent(&seams).await;
    let (_, _, at) = first(seams.consume(&request(id, "a", "k")).await);
    let answer = seams.consume(&request(id, "b", "k")).await;
    assert!(
        matches!(answer, Consumed::Already { at: when } if when == at),
        "{answer:?}"
    );
}

/// Of many concurrent requests one succeeds.
pub async fn of_fifty_consumers_one_gets_the_value(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let id = code_for_agent(&seams).await;
    let requests = (0..50).map(|number| request(id, &format!("agent_{number}"), "k"));
    let answers = at_once(&seams, requests).await;
    let is_first = |answer: &&Consumed| matches!(answer, Consumed::First { .. });
    let is_already = |answer: &&Consumed| matches!(answer, Consumed::Already { .. });
    assert_eq!(answers.iter().filter(is_first).count(), 1);
    assert_eq!(answers.iter().filter(is_already).count(), 49);
}

/// The answer was lost; the agent retries.
pub async fn repeated_consume_request_gets_the_same_answer(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let id = code_for_agent(&seams).await;
    let asked = request(id, "agent", "k1");
    let told = first(seams.consume(&asked).await);
    for _ in 0..2 {
        assert_eq!(replayed(seams.consume(&asked).await), told);
    }
}

/// An agent may send all its retries at once.
pub async fn concurrent_repeats_of_a_consume_request_consume_once(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let id = code_for_agent(&seams).await;
    let answers = at_once(&seams, (0..20).map(|_| request(id, "agent", "k1"))).await;
    let (mut firsts, mut replays) = (0, 0);
    for answer in answers {
        match answer {
            Consumed::First { value, .. } => {
                assert_eq!(value.expose_secret(), "493817");
                firsts += 1;
            }
            Consumed::Replayed { value, .. } => {
                assert_eq!(value.expose_secret(), "493817");
                replays += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((firsts, replays), (1, 19));
}

/// An idempotency key that leaks later gives no value.
pub async fn retry_after_the_replay_window_gets_no_value(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let id = code_for_agent(&seams).await;
    let asked = request(id, "agent", "k1");
    let (_, _, at) = first(seams.consume(&asked).await);
    let late = ConsumeRequest {
        replay_window: Duration::ZERO,
        ..asked
    };
    let answer = seams.consume(&late).await;
    assert!(
        matches!(answer, Consumed::Already { at: when } if when == at),
        "{answer:?}"
    );
}

/// Another idempotency key means another request.
pub async fn same_consumer_with_another_key_gets_no_value(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let id = code_for_agent(&seams).await;
    first(seams.consume(&request(id, "agent", "k1")).await);
    let answer = seams.consume(&request(id, "agent", "k2")).await;
    assert!(matches!(answer, Consumed::Already { .. }), "{answer:?}");
}

/// An idempotency key names one request. Using it for another artifact is a mistake of the
/// caller, and that artifact is not consumed.
pub async fn idempotency_key_used_for_another_artifact_is_refused(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    let one = seams.bring(&to, "m1", code(&to, "111111")).await;
    let two = seams.bring(&to, "m2", code(&to, "222222")).await;
    first(seams.consume(&request(one, "agent", "k1")).await);
    let answer = seams.consume(&request(two, "agent", "k1")).await;
    assert!(matches!(answer, Consumed::KeyReused), "{answer:?}");
    // Another consumer may use the same key.
    let (_, value, _) = first(seams.consume(&request(two, "other", "k1")).await);
    assert_eq!(value, "222222");
}

/// Consuming an attempt and consuming its artifact are different requests: one may give only
/// a part of the value.
pub async fn same_key_for_another_kind_is_another_request(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let (to, attempt) = opened(&seams, "agent").await;
    let one = bring_for(&seams, &to, "m1", "111111", &[attempt]).await;
    value(seams.take(attempt, "a", "k1").await);
    let answer = seams.consume(&request(one, "a", "k1")).await;
    assert!(matches!(answer, Consumed::KeyReused), "{answer:?}");
    let two = bring_for(&seams, &to, "m2", "222222", &[attempt]).await;
    first(seams.consume(&request(two, "a", "k2")).await);
    let answer = seams.take(attempt, "a", "k2").await;
    assert!(matches!(answer, AttemptConsumed::KeyReused), "{answer:?}");
}

/// An attempt that wants one field of a link must not show the link.
pub async fn link_with_a_wanted_token_shows_no_link(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let mut asked = attempt(&inbox("agent"));
    asked.rules.token = Some("t".to_owned());
    let (to, id) = (asked.inbox.clone(), asked.id);
    must(seams.attempts.open_attempt(asked).await);
    let link = "https://shop.test/?t=1";
    let artifact = bring_for(&seams, &to, "m1", link, &[id]).await;
    let answer = seams.consume(&request(artifact, "a", "k1")).await;
    assert!(
        matches!(&answer, Consumed::Withheld(why) if why.as_str() == "token_only"),
        "{answer:?}"
    );
    assert_eq!(value(seams.take(id, "a", "k2").await).0, link);
}

/// The same mistake in two concurrent requests.
pub async fn one_key_for_two_artifacts_at_once_consumes_one(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    for round in 0..10 {
        let mut requests = Vec::new();
        for side in ["a", "b"] {
            let name = format!("{round}{side}");
            let id = seams.bring(&to, &name, code(&to, &name)).await;
            requests.push(request(id, "agent", &format!("k{round}")));
        }
        let answers = at_once(&seams, requests.into_iter()).await;
        let is_first = |answer: &&Consumed| matches!(answer, Consumed::First { .. });
        let is_reused = |answer: &&Consumed| matches!(answer, Consumed::KeyReused);
        assert_eq!(answers.iter().filter(is_first).count(), 1);
        assert_eq!(answers.iter().filter(is_reused).count(), 1);
    }
}

/// An expired code is not given out.
pub async fn expired_artifact_is_not_consumed(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let id = artifact_for_agent(&seams, Duration::ZERO).await;
    let answer = seams.consume(&request(id, "agent", "k1")).await;
    for item in seams.items(&inbox("agent")).await {
        assert!(item.is_expired);
        assert_eq!(item.consumed_at, None);
        assert!(matches!(answer, Consumed::Expired { at } if at == item.expires_at));
    }
}

/// A retry gets the value even if the artifact has expired since.
pub async fn retry_in_the_replay_window_works_after_the_artifact_expired(
    subject: &dyn StoreSubject,
) {
    let seams = subject.seams();
    let id = artifact_for_agent(&seams, Duration::from_secs(3)).await;
    let asked = request(id, "agent", "k1");
    let told = first(seams.consume(&asked).await);
    until("it expires", async || {
        let items = seams.items(&inbox("agent")).await;
        items.iter().all(|item| item.is_expired).then_some(())
    })
    .await;
    assert_eq!(replayed(seams.consume(&asked).await), told);
    let answer = seams.consume(&request(id, "other", "k1")).await;
    assert!(matches!(answer, Consumed::Already { .. }), "{answer:?}");
}

/// A withheld artifact has no value.
pub async fn withheld_artifact_is_not_consumed(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    let why = Reason::new("host_not_allowed");
    let verdicts = [
        (ArtifactKind::Link, Verdict::Withheld(why.clone())),
        (ArtifactKind::Nothing, Verdict::Abstained(why.clone())),
    ];
    for (kind, verdict) in verdicts {
        let artifact = valueless(&to, kind, verdict);
        let id = seams.bring(&to, kind.as_str(), artifact).await;
        let answer = seams.consume(&request(id, "agent", kind.as_str())).await;
        assert!(
            matches!(&answer, Consumed::Withheld(told) if *told == why),
            "{answer:?}"
        );
    }
    assert!(
        seams
            .items(&to)
            .await
            .iter()
            .all(|item| item.consumed_at.is_none())
    );
}

/// The answer does not reveal whether the artifact exists.
pub async fn artifact_outside_the_scope_is_unknown(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    let usable = code_for_agent(&seams).await;
    let withheld = Verdict::Withheld(Reason::new("host_not_allowed"));
    let withheld = valueless(&to, ArtifactKind::Link, withheld);
    let withheld = seams.bring(&to, "m2", withheld).await;
    for id in [usable, withheld, ArtifactId::new()] {
        let outside = ConsumeRequest {
            scope: own(vec![inbox("other")]),
            ..request(id, "agent", "k1")
        };
        let answer = seams.consume(&outside).await;
        assert!(matches!(answer, Consumed::Unknown), "{answer:?}");
    }
    let inside = ConsumeRequest {
        scope: own(vec![inbox("other"), to]),
        ..request(usable, "agent", "k1")
    };
    first(seams.consume(&inside).await);
}

#[track_caller]
fn own(others: Vec<InboxId>) -> Scope {
    let owner = must("agent".parse());
    Scope::Own { owner, others }
}

async fn code_for_agent(seams: &Seams) -> ArtifactId {
    artifact_for_agent(seams, LONG).await
}

async fn artifact_for_agent(seams: &Seams, lifetime: Duration) -> ArtifactId {
    let to = inbox("agent");
    let artifact = NewArtifact {
        lifetime,
        ..code(&to, "493817")
    };
    seams.bring(&to, "m1", artifact).await
}

async fn at_once(seams: &Seams, requests: impl Iterator<Item = ConsumeRequest>) -> Vec<Consumed> {
    let mut tasks = JoinSet::new();
    for request in requests {
        let seams = seams.clone();
        tasks.spawn(async move { answered(|| seams.agents.consume(&request)).await.0 });
    }
    tasks.join_all().await
}

#[track_caller]
fn first(answer: Consumed) -> (ArtifactKind, String, Timestamp) {
    match answer {
        Consumed::First {
            kind, value, at, ..
        } => (kind, value.expose_secret().to_owned(), at),
        other => panic!("expected the first use, got {other:?}"),
    }
}

#[track_caller]
fn replayed(answer: Consumed) -> (ArtifactKind, String, Timestamp) {
    match answer {
        Consumed::Replayed {
            kind, value, at, ..
        } => (kind, value.expose_secret().to_owned(), at),
        other => panic!("expected the same answer again, got {other:?}"),
    }
}
