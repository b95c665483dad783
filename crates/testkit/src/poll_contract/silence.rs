//! The health of sources.

use pipeline::{Completed, SourceHealth};

use super::{PollSubject, found, held};
use crate::store_contract::{must, source};

async fn health(subject: &dyn PollSubject) -> SourceHealth {
    let standings = must(subject.silence().source_health().await);
    match standings.into_iter().next() {
        Some(standing) => standing,
        None => panic!("the source has no health row"),
    }
}

/// Mail that polling finds must not hide that the webhook is broken.
pub async fn only_posts_change_the_usual_gap(subject: &dyn PollSubject) {
    let (seams, silence) = (subject.seams(), subject.silence());
    must(silence.observe_posts(&source()).await);
    for id in ["a", "b", "c"] {
        seams.new_delivery(id).await;
    }
    let polls = subject.polls();
    let lease = held(&*polls).await;
    let saved = must(polls.save(&lease, vec![found("d"), found("e")], "").await);
    assert!(matches!(saved, Completed::Done(_)));
    must(silence.observe_posts(&source()).await);
    let seen = health(subject).await;
    assert_eq!(seen.posts, 3);
    assert!(seen.since_last_post.is_some());
    must(silence.observe_posts(&source()).await);
    assert_eq!(health(subject).await.posts, 3, "each post is counted once");
    seams.new_delivery("f").await;
    must(silence.observe_posts(&source()).await);
    assert_eq!(health(subject).await.posts, 4);
}

/// Posts from before the first observation do not count.
pub async fn posts_before_the_first_observation_do_not_count(subject: &dyn PollSubject) {
    let (seams, silence) = (subject.seams(), subject.silence());
    seams.new_delivery("a").await;
    must(silence.observe_posts(&source()).await);
    let seen = health(subject).await;
    assert_eq!((seen.posts, seen.since_last_post), (0, None));
}
