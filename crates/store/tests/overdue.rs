//! A callback that no worker posted before its deadline. The test moves the clock.

#![expect(clippy::indexing_slicing, reason = "what is not there fails the test")]

use std::time::Duration;

use pipeline::{CallbackResult, NewAttempt, Reason};
use testkit::store_contract::{attempt, code, delivery, held, inbox, mail, must, suited};

use crate::model::process::Process;

const MINUTE: i64 = 60_000;
const LEASE: Duration = Duration::from_secs(30);

#[test]
fn a_callback_that_is_long_overdue_is_given_up_on_sqlite() {
    a_callback_that_is_long_overdue_is_given_up(Process::on_sqlite());
}

#[test]
fn a_callback_that_is_long_overdue_is_given_up_on_postgres() {
    a_callback_that_is_long_overdue_is_given_up(Process::on_postgres());
}

/// A callback that is claimed soon after its deadline gets one last try; one that is
/// claimed later is given up.
fn a_callback_that_is_long_overdue_is_given_up(mut process: Process) {
    bring(&process, "first");
    bring(&process, "second");
    process.pass(11 * MINUTE / 2);
    let store = process.store();
    let log = store.callbacks;
    let claimed = must(process.run(log.claim_callbacks(1, LEASE, &[])));
    assert!(claimed[0].remaining.is_zero());
    let done = log.end_callback(claimed[0].id, claimed[0].token, CallbackResult::Done);
    assert!(must(process.run(done)));
    process.pass(MINUTE);
    assert!(must(process.run(log.claim_callbacks(1, LEASE, &[]))).is_empty());
    let dead = must(process.run(log.dead_callbacks(10)));
    let reasons: Vec<&Reason> = dead.iter().map(|dead| &dead.reason).collect();
    assert_eq!(reasons, [&Reason::new("deadline")]);
    process.end();
}

/// Brings a code for a callback that has five minutes.
fn bring(process: &Process, name: &str) {
    let store = process.store();
    let asked = NewAttempt {
        callback: Some("flow".to_owned()),
        timeout: Duration::from_mins(5),
        ..attempt(&inbox(name))
    };
    let (to, id) = (asked.inbox.clone(), asked.id);
    process.run(async {
        must(store.attempts.open_attempt(asked).await);
        let new = delivery(name, name.as_bytes());
        let recorded = must(store.deliveries.record(vec![new]).await);
        let claimed = must(store.work.claim(recorded[0].id(), LEASE).await);
        let pipeline::Claimed::Yours(claim, _) = claimed else {
            panic!("{claimed:?}");
        };
        let message = mail(&to, name, vec![suited(code(&to, "493817"), &[id])]);
        must(store.work.complete(claim, held(vec![message])).await);
    });
}
