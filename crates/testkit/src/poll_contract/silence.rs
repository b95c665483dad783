//! What is heard of sources.

use pipeline::{Completed, SourceHealth};

use super::{PollSubject, found, held};
use crate::store_contract::{must, source};

async fn standing(subject: &dyn PollSubject) -> SourceHealth {
    let standings = must(subject.silence().source_health().await);
    match standings.into_iter().next() {
        Some(standing) => standing,
        None => panic!("nothing is known of the source"),
    }
}

/// A webhook that is dead must not look alive because polling finds its mail.
pub async fn posts_make_a_habit_and_finds_do_not(subject: &dyn PollSubject) {
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
    let heard = standing(subject).await;
    assert_eq!(heard.posts, 3);
    assert!(heard.since_last_post.is_some());
    must(silence.observe_posts(&source()).await);
    assert_eq!(
        standing(subject).await.posts,
        3,
        "each post is counted once"
    );
    seams.new_delivery("f").await;
    must(silence.observe_posts(&source()).await);
    assert_eq!(standing(subject).await.posts, 4);
}

/// A long history is not read at once, and makes no habit.
pub async fn what_came_before_the_first_listening_is_not_counted(subject: &dyn PollSubject) {
    let (seams, silence) = (subject.seams(), subject.silence());
    seams.new_delivery("a").await;
    must(silence.observe_posts(&source()).await);
    let heard = standing(subject).await;
    assert_eq!((heard.posts, heard.since_last_post), (0, None));
}
