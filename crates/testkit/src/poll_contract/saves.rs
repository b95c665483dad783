//! Saving found mails together with the cursor.

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

/// Otherwise a crash between the two would lose or repeat mail.
pub async fn mails_and_cursor_are_saved_together(subject: &dyn PollSubject) {
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

/// Pages may overlap and cursors may repeat; the key decides.
pub async fn mail_found_twice_is_recorded_once(subject: &dyn PollSubject) {
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

/// The fencing token protects the rows and the cursor.
pub async fn poller_with_an_old_fence_saves_nothing(subject: &dyn PollSubject) {
    let polls = subject.polls();
    let frozen = held_for(&*polls, PollerId::new(), Duration::ZERO).await;
    let poller = PollerId::new();
    let successor = held_for(&*polls, poller, Duration::from_hours(1)).await;
    assert_eq!(
        fresh(&save(&*polls, &successor, &["a"], "successor").await),
        1
    );
    let late = save(&*polls, &frozen, &["b"], "frozen").await;
    assert!(matches!(late, Completed::Lost), "{late:?}");
    let again = held_for(&*polls, poller, Duration::from_hours(1)).await;
    assert_eq!(again.cursor, "successor");
    assert_eq!(
        must(subject.seams().deliveries.backlog().await).unfinished,
        1
    );
}

/// The poller with the current fencing token saves, and each mail is recorded once.
pub async fn of_two_pollers_with_the_same_mail_one_saves(subject: &dyn PollSubject) {
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

/// A poller need not fetch mail that is recorded.
pub async fn unseen_leaves_out_recorded_mail(subject: &dyn PollSubject) {
    let polls = subject.polls();
    let lease = held(&*polls).await;
    save(&*polls, &lease, &["a"], "1").await;
    let key = |id| DeliveryKey::from_poll(&source(), id);
    let unseen = must(polls.unseen(&[key("b"), key("a"), key("c")]).await);
    assert_eq!(unseen, [key("b"), key("c")]);
}

/// The operator sees which source cannot be polled, and why.
pub async fn outcome_of_a_round_is_recorded(subject: &dyn PollSubject) {
    let polls = subject.polls();
    let lease = held(&*polls).await;
    must(polls.round_ended(&lease, None).await);
    must(
        polls
            .round_ended(&lease, Some(Reason::new("poll_away")))
            .await,
    );
    let sources = must(subject.silence().source_health().await);
    let [health] = sources.as_slice() else {
        panic!("one source, not {sources:?}");
    };
    assert!(
        health.since_last_poll.is_some(),
        "the good round is not forgotten"
    );
    assert_eq!(health.failure, Some(Reason::new("poll_away")));
    must(polls.round_ended(&lease, None).await);
    let sources = must(subject.silence().source_health().await);
    assert!(sources.iter().all(|health| health.failure.is_none()));
}
