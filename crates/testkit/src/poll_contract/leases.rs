//! Who may ask a source, and for how long.

use std::time::Duration;

use pipeline::{Leased, PollerId};
use tokio::task::JoinSet;

use super::{PollSubject, held, held_for};
use crate::store_contract::{LONG, must, source};

/// The row decides, however many ask at once.
pub async fn of_many_pollers_one_holds_a_source(subject: &dyn PollSubject) {
    let polls = subject.polls();
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let polls = subject.polls();
        tasks.spawn(async move { must(polls.lease(&source(), PollerId::new(), LONG).await) });
    }
    let answers = tasks.join_all().await;
    let yours = |answer: &&Leased| matches!(answer, Leased::Yours(_));
    assert_eq!(answers.iter().filter(yours).count(), 1);
    let late = must(polls.lease(&source(), PollerId::new(), LONG).await);
    assert_eq!(late, Leased::Held);
    let other = must("other".parse());
    let free = must(polls.lease(&other, PollerId::new(), LONG).await);
    assert!(
        matches!(free, Leased::Yours(_)),
        "sources are held one by one"
    );
}

/// What is under way when a lease is prolonged must still count.
pub async fn a_lease_is_prolonged_under_the_same_fence(subject: &dyn PollSubject) {
    let polls = subject.polls();
    let poller = PollerId::new();
    let first = held_for(&*polls, poller, LONG).await;
    let again = held_for(&*polls, poller, LONG).await;
    assert_eq!(first.fence, again.fence);
    assert_eq!(first.since_last, None);
}

/// A poller that died does not keep its source.
pub async fn a_source_is_taken_over_when_its_lease_has_passed(subject: &dyn PollSubject) {
    let polls = subject.polls();
    let dead = held_for(&*polls, PollerId::new(), Duration::ZERO).await;
    let heir = held(&*polls).await;
    assert!(heir.fence > dead.fence);
}

/// A poller that ends in good order does not make the next one wait.
pub async fn a_source_given_back_is_free_at_once(subject: &dyn PollSubject) {
    let polls = subject.polls();
    let first = held(&*polls).await;
    must(polls.release(&first).await);
    let second = held(&*polls).await;
    assert!(second.fence > first.fence);
}

/// Somebody who was overtaken cannot free what another one holds.
pub async fn a_lease_that_was_lost_gives_nothing_back(subject: &dyn PollSubject) {
    let polls = subject.polls();
    let lost = held_for(&*polls, PollerId::new(), Duration::ZERO).await;
    held(&*polls).await;
    must(polls.release(&lost).await);
    let third = must(polls.lease(&source(), PollerId::new(), LONG).await);
    assert_eq!(third, Leased::Held);
}
