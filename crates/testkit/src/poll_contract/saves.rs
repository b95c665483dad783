//! What is found, and how far that is.

use std::time::Duration;

use pipeline::{Completed, DeliveryKey, Lease, PollLog, Polled, PollerId, Reason, Recorded};
use tokio::task::JoinSet;

use super::{PollSubject, found, held, held_for};
use crate::store_contract::{must, source};

async fn save(
    polls: &dyn PollLog,
    lease: &Lease,
    ids: &[&str],
    cursor: &str,
) -> Completed<Vec<Recorded>> {
    let finds: Vec<Polled> = ids.iter().map(|id| found(id)).collect();
    must(polls.save(lease, finds, cursor).await)
}

fn fresh(saved: &Completed<Vec<Recorded>>) -> usize {
    match saved {
        Completed::Done(answers) => answers.iter().filter(|answer| answer.is_fresh()).count(),
        Completed::Lost => panic!("the lease was lost"),
    }
}

/// Otherwise a crash between the two loses or repeats.
pub async fn what_is_found_and_how_far_that_is_are_saved_together(subject: &dyn PollSubject) {
    let polls = subject.polls();
    let poller = PollerId::new();
    let lease = held_for(&*polls, poller, Duration::from_hours(1)).await;
    assert_eq!(lease.cursor, "");
    assert_eq!(fresh(&save(&*polls, &lease, &["a", "b"], "2").await), 2);
    let again = held_for(&*polls, poller, Duration::from_hours(1)).await;
    assert_eq!(again.cursor, "2");
    assert_eq!(
        must(subject.seams().deliveries.backlog().await).unfinished,
        2
    );
}

/// Pages shift, cursors are read again: the key decides.
pub async fn what_is_found_twice_is_recorded_once(subject: &dyn PollSubject) {
    let polls = subject.polls();
    let lease = held(&*polls).await;
    assert_eq!(
        fresh(&save(&*polls, &lease, &["a", "b", "a"], "1").await),
        2
    );
    assert_eq!(fresh(&save(&*polls, &lease, &["b", "c"], "2").await), 1);
    assert_eq!(
        must(subject.seams().deliveries.backlog().await).unfinished,
        3
    );
}

/// The fence: not a row and not the cursor.
pub async fn a_poller_that_was_overtaken_saves_nothing(subject: &dyn PollSubject) {
    let polls = subject.polls();
    let frozen = held_for(&*polls, PollerId::new(), Duration::ZERO).await;
    let poller = PollerId::new();
    let heir = held_for(&*polls, poller, Duration::from_hours(1)).await;
    assert_eq!(fresh(&save(&*polls, &heir, &["a"], "heir").await), 1);
    let late = save(&*polls, &frozen, &["b"], "frozen").await;
    assert!(matches!(late, Completed::Lost), "{late:?}");
    let again = held_for(&*polls, poller, Duration::from_hours(1)).await;
    assert_eq!(again.cursor, "heir");
    assert_eq!(
        must(subject.seams().deliveries.backlog().await).unfinished,
        1
    );
}

/// Whoever comes first is the one whose fence counts, and the rows are there once.
pub async fn of_two_pollers_with_the_same_finds_one_saves(subject: &dyn PollSubject) {
    for round in 0..10 {
        let polls = subject.polls();
        let old = held_for(&*polls, PollerId::new(), Duration::ZERO).await;
        let new = held_for(&*polls, PollerId::new(), Duration::ZERO).await;
        let id = format!("evt_{round}");
        let mut tasks = JoinSet::new();
        for lease in [old, new] {
            let (polls, id) = (subject.polls(), id.clone());
            tasks.spawn(async move { save(&*polls, &lease, &[&id], &id).await });
        }
        let answers = tasks.join_all().await;
        let lost = |answer: &&Completed<_>| matches!(answer, Completed::Lost);
        assert_eq!(answers.iter().filter(lost).count(), 1);
    }
    assert_eq!(
        must(subject.seams().deliveries.backlog().await).unfinished,
        10
    );
}

/// A hint for whoever would otherwise fetch a mail to throw it away.
pub async fn what_is_known_need_not_be_fetched(subject: &dyn PollSubject) {
    let polls = subject.polls();
    let lease = held(&*polls).await;
    save(&*polls, &lease, &["a"], "1").await;
    let key = |id| DeliveryKey::from_poll(&source(), id);
    let unseen = must(polls.unseen(&[key("b"), key("a"), key("c")]).await);
    assert_eq!(unseen, [key("b"), key("c")]);
}

/// An operator sees which source cannot be asked, and why.
pub async fn a_round_is_noted_with_how_it_ended(subject: &dyn PollSubject) {
    let polls = subject.polls();
    let lease = held(&*polls).await;
    must(polls.round_ended(&lease, None).await);
    must(
        polls
            .round_ended(&lease, Some(Reason::new("poll_away")))
            .await,
    );
    let standings = must(subject.silence().source_health().await);
    let [standing] = standings.as_slice() else {
        panic!("one source, not {standings:?}");
    };
    assert!(
        standing.since_last_poll.is_some(),
        "the good round is not forgotten"
    );
    assert_eq!(standing.failure, Some(Reason::new("poll_away")));
    must(polls.round_ended(&lease, None).await);
    let standings = must(subject.silence().source_health().await);
    assert!(standings.iter().all(|standing| standing.failure.is_none()));
}
