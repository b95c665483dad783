//! The contract of a database for callbacks. Its tests are made as those of
//! [`crate::store_contract`].

use std::sync::Arc;
use std::time::Duration;

use pipeline::{
    AttemptConsume, AttemptConsumed, AttemptId, Callback, CallbackLog, CallbackResult,
    CallbackState, Consumed, NewAttempt, Reason, RetentionKind, RetentionLog, RetentionPeriods,
    Scope,
};
use secrecy::ExposeSecret;
use tokio::task::JoinSet;

use crate::retention_contract::RetentionSubject;
use crate::store_contract::{LONG, attempt, code, inbox, must, request, suited};
use crate::wait::until;

/// A database under test with callbacks.
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
            callback_consumes_and_nobody_else_can,
            callback_of_a_dead_worker_is_claimed_again_unchanged,
            of_many_workers_one_claims_a_callback,
            retried_callback_waits,
            busy_receiver_gets_no_callback,
            dead_callback_is_listed_and_not_claimed_again,
            value_is_kept_until_its_callback_was_sent,
            dead_callback_can_be_requeued_while_its_value_is_usable,
        );
    };
    ($subject:ty: $($rule:ident),+ $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $rule() {
                let subject = <$subject as $crate::store_contract::StoreSubject>::open().await;
                $crate::callback_contract::$rule(&subject).await;
                $crate::store_contract::StoreSubject::close(&subject).await;
            }
        )+
    };
}

/// An attempt whose code has arrived and is sent to the callback `flow`.
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

/// Keeps no values.
fn nothing() -> RetentionPeriods {
    RetentionPeriods {
        consumed_values: Duration::ZERO,
        expired_values: Duration::ZERO,
        done_bodies: LONG,
        dead_letter_bodies: LONG,
        items: LONG,
        known: LONG,
        consumes: LONG,
        send_contents: LONG,
        send_events: LONG,
        intents: LONG,
    }
}

/// Claims the due callbacks for this lease.
async fn claim(subject: &dyn CallbackSubject, lease: Duration) -> Vec<Callback> {
    must(subject.callbacks().claim_callbacks(10, lease, &[]).await)
}

/// Claims the only due callback.
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

/// The consume row names the callback before anybody else can consume.
pub async fn callback_consumes_and_nobody_else_can(subject: &dyn CallbackSubject) {
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

/// The receiver recognises the second post by its id and gets the same body.
pub async fn callback_of_a_dead_worker_is_claimed_again_unchanged(subject: &dyn CallbackSubject) {
    code_for_a_callback(subject, "493817").await;
    let dead = claim_one(subject, Duration::ZERO).await;
    let next = claim_one(subject, LONG).await;
    assert_eq!((next.id, next.tries), (dead.id, 2));
    assert_eq!(next.value.expose_secret(), dead.value.expose_secret());
    assert_eq!(next.artifact, dead.artifact);
    // The first worker wakes up and can no longer end the claim.
    let again = CallbackResult::RetryLater(Duration::ZERO, Reason::new("failed"));
    assert!(!end(subject, &dead, again).await);
    assert!(end(subject, &next, CallbackResult::Done).await);
    assert!(!end(subject, &next, CallbackResult::Done).await);
    assert!(claim(subject, LONG).await.is_empty());
}

/// Two workers must not post the same callback at once.
pub async fn of_many_workers_one_claims_a_callback(subject: &dyn CallbackSubject) {
    code_for_a_callback(subject, "493817").await;
    let mut workers = JoinSet::new();
    for _ in 0..8 {
        let log = subject.callbacks();
        workers.spawn(async move { must(log.claim_callbacks(10, LONG, &[]).await).len() });
    }
    assert_eq!(workers.join_all().await.into_iter().sum::<usize>(), 1);
}

/// A failed callback is retried after a wait.
pub async fn retried_callback_waits(subject: &dyn CallbackSubject) {
    code_for(subject, "flow", "493817").await;
    let patient = claim_one(subject, LONG).await;
    let later = CallbackResult::RetryLater(LONG, Reason::new("failed"));
    assert!(end(subject, &patient, later).await);
    assert!(claim(subject, LONG).await.is_empty());
    code_for(subject, "other", "493818").await;
    let first = claim_one(subject, LONG).await;
    let soon = CallbackResult::RetryLater(Duration::from_millis(50), Reason::new("failed"));
    assert!(end(subject, &first, soon).await);
    let second = until("it is due again", async || claim(subject, LONG).await.pop()).await;
    assert_eq!((second.id, second.tries), (first.id, 2));
}

/// Callbacks of one receiver do not block those of another.
pub async fn busy_receiver_gets_no_callback(subject: &dyn CallbackSubject) {
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

/// The operator sees callbacks that were given up.
pub async fn dead_callback_is_listed_and_not_claimed_again(subject: &dyn CallbackSubject) {
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

/// After the receiver was fixed, it gets the callback with the same id.
pub async fn dead_callback_can_be_requeued_while_its_value_is_usable(
    subject: &dyn CallbackSubject,
) {
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
    // The replay window is over, but the value is kept until it expires.
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

/// A value that is wiped before it was sent would be lost.
pub async fn value_is_kept_until_its_callback_was_sent(subject: &dyn CallbackSubject) {
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
