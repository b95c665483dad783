//! The line: whose a mail is when several attempts wait on one inbox.

use pipeline::{AttemptConsumed, AttemptStatus, Consumed, GIVEN_TO_ANOTHER_ATTEMPT};

use super::attempts::{bring_for, opened, value};
use super::{Subject, code, mail, must, request, resend, suited};

/// Two agents on one inbox do not steal from each other.
pub async fn parallel_attempts_get_one_mail_each(subject: &dyn Subject) {
    let seams = subject.seams();
    let (to, first) = opened(&seams, "agent").await;
    let (_, second) = opened(&seams, "agent").await;
    let both = [first, second];
    bring_for(&seams, &to, "m1", "111111", &both).await;
    bring_for(&seams, &to, "m2", "222222", &both).await;
    assert_eq!(value(seams.take(second, "b", "k").await).0, "222222");
    assert_eq!(value(seams.take(first, "a", "k").await).0, "111111");
}

/// The same mail again does not become the other attempt's.
pub async fn a_repeated_value_stays_with_the_attempt_that_has_it(subject: &dyn Subject) {
    let seams = subject.seams();
    let (to, first) = opened(&seams, "agent").await;
    let (_, second) = opened(&seams, "agent").await;
    bring_for(&seams, &to, "m1", "493817", &[first, second]).await;
    let again = mail(
        &to,
        "m2",
        vec![suited(code(&to, "493817"), &[first, second])],
    );
    seams.process("m2", vec![again]).await;
    assert_eq!(seams.status(first).await, AttemptStatus::Ready);
    assert_eq!(seams.status(second).await, AttemptStatus::Pending);
}

/// Services repeat a code while it is valid. Who asked for it first has it, may have
/// used it, and waits for nothing.
pub async fn a_code_that_is_mailed_again_is_for_whoever_came_since(subject: &dyn Subject) {
    let seams = subject.seams();
    let (to, first) = opened(&seams, "agent").await;
    bring_for(&seams, &to, "m1", "493817", &[first]).await;
    let received_at = seams.items(&to).await.remove(0).received_at;
    seams.clock_passes(received_at).await;
    let (_, second) = opened(&seams, "agent").await;
    let id = bring_for(&seams, &to, "m2", "493817", &[first, second]).await;
    let view = seams.look(second).await;
    assert_eq!(view.status(), AttemptStatus::Ready);
    assert_eq!(view.current.map(|item| item.id), Some(id));
    assert_eq!(value(seams.take(first, "a", "k").await).0, "493817");
    assert_eq!(value(seams.take(second, "b", "k").await).0, "493817");
}

/// The same code again, for whoever asked for it again: there is nothing to wait for.
pub async fn a_resend_that_brings_the_same_is_the_askers_own(subject: &dyn Subject) {
    let seams = subject.seams();
    let (to, first) = opened(&seams, "agent").await;
    bring_for(&seams, &to, "m1", "493817", &[first]).await;
    value(seams.take(first, "a", "k1").await);
    let consumed_at = seams
        .look(first)
        .await
        .current
        .and_then(|it| it.consumed_at);
    seams
        .clock_passes(consumed_at.unwrap_or_else(|| panic!("not consumed")))
        .await;
    let (_, second) = opened(&seams, "agent").await;
    must(seams.attempts.resend(&resend(first, "a", "r")).await);
    assert_eq!(seams.status(first).await, AttemptStatus::Pending);
    let again = mail(
        &to,
        "m2",
        vec![suited(code(&to, "493817"), &[first, second])],
    );
    let finished = seams.process("m2", vec![again]).await;
    assert_eq!((finished.artifacts, finished.duplicate_artifacts), (0, 1));
    assert_eq!(seams.status(first).await, AttemptStatus::Consumed);
    assert_eq!(seams.status(second).await, AttemptStatus::Pending);
    let answer = seams.take(first, "b", "k2").await;
    assert!(
        matches!(answer, AttemptConsumed::Already { .. }),
        "{answer:?}"
    );
}

/// A mail that was for another is no mail of one's own, but nothing is told wrongly.
pub async fn whoever_is_passed_over_is_told_in_the_end(subject: &dyn Subject) {
    let seams = subject.seams();
    let (to, first) = opened(&seams, "agent").await;
    let (_, second) = opened(&seams, "agent").await;
    bring_for(&seams, &to, "m1", "111111", &[first, second]).await;
    assert_eq!(seams.status(second).await, AttemptStatus::Pending);
    let (_, third) = opened(&seams, "agent").await;
    seams.end(second).await;
    seams.end(third).await;
    assert_eq!(
        seams.status(second).await,
        AttemptStatus::NoArtifact(GIVEN_TO_ANOTHER_ATTEMPT)
    );
    assert_eq!(seams.status(third).await, AttemptStatus::Expired);
}

/// The newest message wins, also when it brings what an older one had brought.
pub async fn a_code_that_comes_back_is_the_newest_again(subject: &dyn Subject) {
    let seams = subject.seams();
    let (to, attempt) = opened(&seams, "agent").await;
    let first = bring_for(&seams, &to, "m1", "111111", &[attempt]).await;
    let second = bring_for(&seams, &to, "m2", "222222", &[attempt]).await;
    let again = mail(&to, "m3", vec![suited(code(&to, "111111"), &[attempt])]);
    let finished = seams.process("m3", vec![again]).await;
    assert_eq!((finished.artifacts, finished.duplicate_artifacts), (0, 1));
    let current = seams.look(attempt).await.current;
    assert_eq!(current.map(|item| item.id), Some(first));
    let answer = seams.consume(&request(second, "a", "k1")).await;
    assert!(matches!(answer, Consumed::Superseded), "{answer:?}");
    assert_eq!(value(seams.take(attempt, "a", "k2").await).0, "111111");
}
