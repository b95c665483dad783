//! Which attempt gets a mail when several wait on one inbox.

use pipeline::{AttemptConsumed, AttemptStatus, Consumed, GIVEN_TO_ANOTHER_ATTEMPT};

use super::attempts::{bring_for, opened, value};
use super::{StoreSubject, code, mail, must, request, resend, suited};

/// Two agents on one inbox get one mail each.
pub async fn parallel_attempts_get_one_mail_each(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let (to, first) = opened(&seams, "agent").await;
    let (_, second) = opened(&seams, "agent").await;
    let both = [first, second];
    bring_for(&seams, &to, "m1", "111111", &both).await;
    bring_for(&seams, &to, "m2", "222222", &both).await;
    assert_eq!(value(seams.take(second, "b", "k").await).0, "222222");
    assert_eq!(value(seams.take(first, "a", "k").await).0, "111111");
}

/// A repeated code is not given to the other attempt.
pub async fn repeated_value_stays_with_the_attempt_that_has_it(subject: &dyn StoreSubject) {
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

/// Services send the same code again while it is valid. The first attempt has it already, so
/// the repeated code goes to the attempt that was opened later.
pub async fn code_mailed_again_goes_to_the_attempt_opened_since(subject: &dyn StoreSubject) {
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

/// The same code arrives after a resend: it goes to the attempt that asked for it.
pub async fn same_code_after_a_resend_goes_to_the_attempt_that_asked(subject: &dyn StoreSubject) {
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

/// Mail that was given to another attempt is reported only when the attempt is over.
pub async fn attempt_whose_mail_went_to_another_learns_it_at_the_end(subject: &dyn StoreSubject) {
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

/// The newest message decides, even when it repeats an older code.
pub async fn code_that_arrives_again_is_the_newest_again(subject: &dyn StoreSubject) {
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
