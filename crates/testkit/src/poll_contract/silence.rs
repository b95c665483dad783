//! What is heard of sources.

use pipeline::{Completed, Standing};

use super::{PollSubject, found, held};
use crate::store_contract::{must, source};

async fn standing(subject: &dyn PollSubject) -> Standing {
    let standings = must(subject.silence().standings().await);
    match standings.into_iter().next() {
        Some(standing) => standing,
        None => panic!("nothing is known of the source"),
    }
}

/// A webhook that is dead must not look alive because polling finds its mail.
pub async fn posts_make_a_habit_and_finds_do_not(subject: &dyn PollSubject) {
    let (seams, silence) = (subject.seams(), subject.silence());
    must(silence.listen(&source()).await);
    for id in ["a", "b", "c"] {
        seams.new_delivery(id).await;
    }
    let polls = subject.polls();
    let lease = held(&*polls).await;
    let saved = must(polls.save(&lease, vec![found("d"), found("e")], "").await);
    assert!(matches!(saved, Completed::Done(_)));
    must(silence.listen(&source()).await);
    let heard = standing(subject).await;
    assert_eq!(heard.posts, 3);
    assert!(heard.quiet.is_some());
    must(silence.listen(&source()).await);
    assert_eq!(
        standing(subject).await.posts,
        3,
        "each post is counted once"
    );
    seams.new_delivery("f").await;
    must(silence.listen(&source()).await);
    assert_eq!(standing(subject).await.posts, 4);
}

/// A long history is not read at once, and makes no habit.
pub async fn what_came_before_the_first_listening_is_not_counted(subject: &dyn PollSubject) {
    let (seams, silence) = (subject.seams(), subject.silence());
    seams.new_delivery("a").await;
    must(silence.listen(&source()).await);
    let heard = standing(subject).await;
    assert_eq!((heard.posts, heard.quiet), (0, None));
}
