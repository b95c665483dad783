//! Attempts with a heartbeat: they end soon after their opener stops repeating its request.

use std::time::Duration;

use pipeline::{AttemptId, AttemptStatus, AttemptView, NewAttempt, Opened};

use super::{LONG, Seams, StoreSubject, attempt, bring_for, inbox, must};
use crate::wait::until;

/// Long enough for a few statements on a busy machine.
const HEARTBEAT: Duration = Duration::from_secs(4);

/// A request for an attempt that ends unless it is repeated within [`HEARTBEAT`].
fn with_heartbeat(reference: &str) -> NewAttempt {
    NewAttempt {
        reference: Some(must(reference.parse())),
        timeout: LONG,
        heartbeat: Some(HEARTBEAT),
        ..attempt(&inbox("agent"))
    }
}

/// Opens the attempt, or repeats the request for it.
async fn ask(seams: &Seams, asked: &NewAttempt) -> AttemptView {
    let asked = NewAttempt {
        id: AttemptId::new(),
        ..asked.clone()
    };
    match must(seams.attempts.open_attempt(asked).await) {
        Opened::New(view) | Opened::Known(view) => view,
        other => panic!("{other:?}"),
    }
}

async fn until_over(seams: &Seams, id: AttemptId) {
    until("the attempt is over", async || {
        seams.look(id).await.is_over.then_some(())
    })
    .await;
}

/// For example when its process was killed.
pub async fn attempt_without_its_heartbeat_ends_before_its_deadline(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let dead = ask(&seams, &with_heartbeat("dead")).await;
    assert!(dead.remaining <= HEARTBEAT, "{:?}", dead.remaining);
    until_over(&seams, dead.id).await;
    assert_eq!(seams.status(dead.id).await, AttemptStatus::NothingArrived);
    // The next mail is for the next attempt.
    let next = ask(&seams, &with_heartbeat("next")).await;
    bring_for(&seams, &next.inbox, "m1", "493817", &[dead.id, next.id]).await;
    assert_eq!(seams.status(dead.id).await, AttemptStatus::NothingArrived);
    assert_eq!(seams.status(next.id).await, AttemptStatus::Ready);
}

/// It stays open for longer than one heartbeat, and its mail is for it.
pub async fn repeated_request_keeps_an_attempt_with_a_heartbeat_open(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let asked = with_heartbeat("alive");
    let alive = ask(&seams, &asked).await;
    let silent = ask(&seams, &with_heartbeat("silent")).await;
    until("the silent attempt is over", async || {
        assert_eq!(ask(&seams, &asked).await.id, alive.id);
        seams.look(silent.id).await.is_over.then_some(())
    })
    .await;
    assert_eq!(seams.status(alive.id).await, AttemptStatus::Pending);
    bring_for(&seams, &alive.inbox, "m1", "493817", &[alive.id]).await;
    assert_eq!(seams.status(alive.id).await, AttemptStatus::Ready);
    // The deadline is the end, whatever the heartbeat says.
    let brief = NewAttempt {
        timeout: HEARTBEAT,
        heartbeat: Some(LONG),
        ..with_heartbeat("brief")
    };
    ask(&seams, &brief).await;
    let renewed = ask(&seams, &brief).await;
    assert!(renewed.remaining <= HEARTBEAT, "{:?}", renewed.remaining);
}

/// Mail that came meanwhile may have been given to another attempt.
pub async fn heartbeat_after_the_end_or_for_another_attempt_changes_nothing(
    subject: &dyn StoreSubject,
) {
    let seams = subject.seams();
    let asked = with_heartbeat("late");
    let late = ask(&seams, &asked).await;
    until_over(&seams, late.id).await;
    let asked_again = ask(&seams, &asked).await;
    assert_eq!(asked_again.id, late.id);
    assert_eq!(asked_again.deadline, late.deadline);
    assert!(asked_again.is_over);
    let finished = ask(&seams, &with_heartbeat("finished")).await;
    seams.end(finished.id).await;
    let before = seams.look(finished.id).await.deadline;
    assert_eq!(
        ask(&seams, &with_heartbeat("finished")).await.deadline,
        before
    );
    // The same reference for another request opens and renews nothing.
    let other = NewAttempt {
        request: [1; 16],
        ..with_heartbeat("late")
    };
    let answer = must(seams.attempts.open_attempt(other).await);
    assert!(matches!(answer, Opened::ReferenceReused), "{answer:?}");
}
