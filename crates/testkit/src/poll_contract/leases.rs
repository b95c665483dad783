//! Leases: which poller may poll a source, and for how long.

use std::time::Duration;

use pipeline::{Leased, PollerId};
use tokio::task::JoinSet;

use super::{PollSubject, held, held_for};
use crate::store_contract::{LONG, must, source};

/// The row decides when many ask at once.
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

/// A round that is running while its lease is extended can still save.
pub async fn lease_is_extended_with_the_same_fence(subject: &dyn PollSubject) {
    let polls = subject.polls();
    let poller = PollerId::new();
    let first = held_for(&*polls, poller, LONG).await;
    let again = held_for(&*polls, poller, LONG).await;
    assert_eq!(first.fence, again.fence);
    assert_eq!(first.since_last, None);
}

/// The source of a dead poller can be taken over.
pub async fn source_is_taken_over_after_its_lease_expired(subject: &dyn PollSubject) {
    let polls = subject.polls();
    let dead = held_for(&*polls, PollerId::new(), Duration::ZERO).await;
    let next = held(&*polls).await;
    assert!(next.fence > dead.fence);
}

/// A poller that stops cleanly releases its source at once.
pub async fn released_source_is_free_at_once(subject: &dyn PollSubject) {
    let polls = subject.polls();
    let first = held(&*polls).await;
    must(polls.release(&first).await);
    let second = held(&*polls).await;
    assert!(second.fence > first.fence);
}

/// A poller whose lease was taken over cannot release it.
pub async fn lost_lease_releases_nothing(subject: &dyn PollSubject) {
    let polls = subject.polls();
    let lost = held_for(&*polls, PollerId::new(), Duration::ZERO).await;
    held(&*polls).await;
    must(polls.release(&lost).await);
    let third = must(polls.lease(&source(), PollerId::new(), LONG).await);
    assert_eq!(third, Leased::Held);
}
