//! What every database must do for callbacks; as with the contract of the store,
//! one test is made of each function below.

use std::sync::Arc;
use std::time::Duration;

use pipeline::{
    AttemptConsume, AttemptConsumed, AttemptId, Callback, CallbackLog, CallbackResult,
    CallbackState, Consumed, NewAttempt, Reason, RetentionKind, RetentionLog, RetentionPeriods,
    Scope,
};
use secrecy::ExposeSecret;
use tokio::task::JoinSet;

use crate::patience::until;
use crate::retention_contract::RetentionSubject;
use crate::store_contract::{LONG, attempt, code, inbox, must, request, suited};

/// A database under test that has values to tell.
pub trait CallbackSubject: RetentionSubject {
    /// Its callbacks.
    fn callbacks(&self) -> Arc<dyn CallbackLog>;
}

/// Makes a test of every rule of the contract for a [`CallbackSubject`].
#[macro_export]
macro_rules! callback_contract {
    ($subject:ty) => {
        $crate::callback_contract!(
            $subject:
            a_callback_consumes_and_nobody_else_can,
            a_worker_that_died_leaves_the_same_callback_behind,
            of_many_workers_one_tells,
            a_callback_put_back_waits,
            a_busy_receiver_is_left_alone,
            a_dead_callback_is_listed_and_never_told_again,
            a_value_stays_until_its_callback_was_told,
            a_dead_callback_is_told_again_while_its_value_is_good,
        );
    };
    ($subject:ty: $($rule:ident),+ $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $rule() {
                let subject = <$subject as $crate::store_contract::Subject>::open().await;
                $crate::callback_contract::$rule(&subject).await;
                $crate::store_contract::Subject::close(&subject).await;
            }
        )+
    };
}

/// An attempt whose code has come and goes to the callback `flow`.
async fn code_for_a_callback(subject: &dyn CallbackSubject, value: &str) -> AttemptId {
    code_for(subject, "flow", value).await
}

async fn code_for(subject: &dyn CallbackSubject, name: &str, value: &str) -> AttemptId {
    let seams = subject.seams();
    let asked = NewAttempt {
        callback: Some(name.to_owned()),
        ..attempt(&inbox(name))
    };
    let (to, id) = (asked.inbox.clone(), asked.id);
    must(seams.attempts.open_attempt(asked).await);
    seams
        .bring(&to, value, suited(code(&to, value), &[id]))
        .await;
    id
}

/// No value is kept.
fn nothing() -> RetentionPeriods {
    RetentionPeriods {
        consumed_values: Duration::ZERO,
        expired_values: Duration::ZERO,
        done_bodies: LONG,
        dead_letter_bodies: LONG,
        items: LONG,
        known: LONG,
        consumes: LONG,
    }
}

/// The callbacks that are due, for so long.
async fn claim(subject: &dyn CallbackSubject, lease: Duration) -> Vec<Callback> {
    must(subject.callbacks().claim_callbacks(10, lease, &[]).await)
}

/// The one that is due.
async fn claim_one(subject: &dyn CallbackSubject, lease: Duration) -> Callback {
    let mut claimed = claim(subject, lease).await;
    match (claimed.pop(), claimed.is_empty()) {
        (Some(callback), true) => callback,
        (other, _) => panic!("not one callback: {other:?} and {claimed:?}"),
    }
}

async fn end(subject: &dyn CallbackSubject, callback: &Callback, told: CallbackResult) -> bool {
    let log = subject.callbacks();
    must(log.end_callback(callback.id, callback.token, told).await)
}

/// The row of the consume names the callback before anybody could ask.
pub async fn a_callback_consumes_and_nobody_else_can(subject: &dyn CallbackSubject) {
    let seams = subject.seams();
    let id = code_for_a_callback(subject, "493817").await;
    let callback = claim_one(subject, LONG).await;
    assert_eq!(callback.value.expose_secret(), "493817");
    assert_eq!((callback.attempt, callback.tries), (id, 1));
    assert!(callback.artifact.consumed_at.is_some());
    let answer = seams
        .consume(&request(callback.artifact.id, "a", "k"))
        .await;
    assert!(matches!(answer, Consumed::Already { .. }), "{answer:?}");
    let asked = AttemptConsume {
        attempt: id,
        consumer: must("a".parse()),
        scope: Scope::All,
        idempotency_key: must("k".parse()),
        replay_window: LONG,
    };
    let answer = must(seams.attempts.consume_attempt(&asked).await);
    assert!(
        matches!(answer, AttemptConsumed::Already { .. }),
        "{answer:?}"
    );
}

/// The receiver knows the second post by its id, and finds the same in it.
pub async fn a_worker_that_died_leaves_the_same_callback_behind(subject: &dyn CallbackSubject) {
    code_for_a_callback(subject, "493817").await;
    let dead = claim_one(subject, Duration::ZERO).await;
    let next = claim_one(subject, LONG).await;
    assert_eq!((next.id, next.tries), (dead.id, 2));
    assert_eq!(next.value.expose_secret(), dead.value.expose_secret());
    assert_eq!(next.artifact, dead.artifact);
    // The dead one wakes up and has nothing to say any more.
    let again = CallbackResult::RetryLater(Duration::ZERO, Reason::new("failed"));
    assert!(!end(subject, &dead, again).await);
    assert!(end(subject, &next, CallbackResult::Done).await);
    assert!(!end(subject, &next, CallbackResult::Done).await);
    assert!(claim(subject, LONG).await.is_empty());
}

/// Two posts at the same time would be one too many.
pub async fn of_many_workers_one_tells(subject: &dyn CallbackSubject) {
    code_for_a_callback(subject, "493817").await;
    let mut workers = JoinSet::new();
    for _ in 0..8 {
        let log = subject.callbacks();
        workers.spawn(async move { must(log.claim_callbacks(10, LONG, &[]).await).len() });
    }
    assert_eq!(workers.join_all().await.into_iter().sum::<usize>(), 1);
}

/// A receiver that failed is left alone for a while.
pub async fn a_callback_put_back_waits(subject: &dyn CallbackSubject) {
    code_for_a_callback(subject, "493817").await;
    let first = claim_one(subject, LONG).await;
    let soon = CallbackResult::RetryLater(Duration::from_millis(300), Reason::new("failed"));
    assert!(end(subject, &first, soon).await);
    assert!(claim(subject, LONG).await.is_empty());
    let second = until("it is due again", async || claim(subject, LONG).await.pop()).await;
    assert_eq!((second.id, second.tries), (first.id, 2));
}

/// What waits for one receiver holds up no other.
pub async fn a_busy_receiver_is_left_alone(subject: &dyn CallbackSubject) {
    code_for(subject, "flow", "493817").await;
    code_for(subject, "other", "493818").await;
    let names = async |busy: &[&str]| {
        let busy: Vec<String> = busy.iter().map(ToString::to_string).collect();
        let log = subject.callbacks();
        let claimed = must(log.claim_callbacks(10, Duration::ZERO, &busy).await);
        let mut names: Vec<String> = claimed.into_iter().map(|one| one.name).collect();
        names.sort();
        names
    };
    assert_eq!(names(&["flow"]).await, ["other"]);
    assert_eq!(names(&["other", "nobody"]).await, ["flow"]);
    assert_eq!(names(&["flow", "other"]).await, Vec::<String>::new());
    assert_eq!(names(&[]).await, ["flow", "other"]);
}

/// What was given up is the operator's to see.
pub async fn a_dead_callback_is_listed_and_never_told_again(subject: &dyn CallbackSubject) {
    let id = code_for_a_callback(subject, "493817").await;
    let callback = claim_one(subject, LONG).await;
    assert!(must(subject.callbacks().dead_callbacks(10).await).is_empty());
    assert!(
        end(
            subject,
            &callback,
            CallbackResult::Dead(Reason::new("gone"))
        )
        .await
    );
    assert!(claim(subject, LONG).await.is_empty());
    let dead = must(subject.callbacks().dead_callbacks(10).await);
    let seen: Vec<_> = dead
        .iter()
        .map(|dead| {
            (
                dead.id,
                dead.attempt,
                dead.name.as_str(),
                dead.reason.as_str(),
            )
        })
        .collect();
    assert_eq!(seen, [(callback.id, id, "flow", "gone")]);
}

/// The receiver was mended: it gets what it did not get, under the same id.
pub async fn a_dead_callback_is_told_again_while_its_value_is_good(subject: &dyn CallbackSubject) {
    let attempt = code_for_a_callback(subject, "493817").await;
    let log = subject.callbacks();
    let callback = claim_one(subject, LONG).await;
    assert!(!must(log.requeue_callback(callback.id).await));
    assert!(
        end(
            subject,
            &callback,
            CallbackResult::Dead(Reason::new("gone"))
        )
        .await
    );
    let state = async || {
        let view = subject.seams().attempts.attempt(attempt, &Scope::All).await;
        must(view).and_then(|view| view.callback_state)
    };
    assert_eq!(state().await, Some(CallbackState::Dead));
    // Its window is over, and yet it is there until it expires.
    let keep = RetentionPeriods {
        expired_values: LONG,
        ..nothing()
    };
    let retention = subject.retention();
    let wiped = must(retention.discard(RetentionKind::Values, &keep, 10).await);
    assert_eq!(wiped.count, 0);
    assert!(must(log.requeue_callback(callback.id).await));
    assert_eq!(state().await, Some(CallbackState::Pending));
    let again = claim_one(subject, LONG).await;
    assert_eq!((again.id, again.tries), (callback.id, 1));
    assert_eq!(again.value.expose_secret(), "493817");
    assert!(!again.remaining.is_zero());
    assert!(end(subject, &again, CallbackResult::Done).await);
    assert_eq!(state().await, Some(CallbackState::Done));
    assert!(!must(log.requeue_callback(callback.id).await));
}

/// A value that is wiped before it was told is lost to everybody.
pub async fn a_value_stays_until_its_callback_was_told(subject: &dyn CallbackSubject) {
    code_for_a_callback(subject, "493817").await;
    let keep = nothing();
    let retention: Arc<dyn RetentionLog> = subject.retention();
    let wiped = async || must(retention.discard(RetentionKind::Values, &keep, 10).await).count;
    assert_eq!(wiped().await, 0);
    let callback = claim_one(subject, LONG).await;
    assert_eq!(wiped().await, 0);
    assert!(end(subject, &callback, CallbackResult::Done).await);
    assert_eq!(wiped().await, 1);
}
