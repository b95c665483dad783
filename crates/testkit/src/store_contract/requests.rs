//! Requests with an idempotency key: repeated, they are carried out once.

use pipeline::{
    AttemptFinished, AttemptId, AttemptOutcome, Created, InboxRules, NewAttempt, NewInbox, Opened,
    Request, RequestKind, Scope,
};
use tokio::task::JoinSet;

use super::{Seams, StoreSubject, attempt, inbox, must, opened};

#[track_caller]
fn request(kind: RequestKind, key: &str, tag: u8) -> Request {
    Request {
        consumer: must("a".parse()),
        kind,
        key: must(key.parse()),
        tag: [tag; 16],
    }
}

#[track_caller]
fn asked(name: &str, key: &str, tag: u8) -> NewInbox {
    NewInbox {
        inbox: inbox(name),
        owner: must("a".parse()),
        asked: Some(request(RequestKind::Inbox, key, tag)),
        rules: InboxRules::default(),
        metadata: None,
        expires_in: None,
        retention: None,
    }
}

async fn inboxes(seams: &Seams) -> usize {
    must(seams.inboxes.inboxes(&Scope::All, None, 100).await).len()
}

/// Twenty concurrent retries open one attempt with one address.
pub async fn repeated_request_opens_one_attempt(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let minted = |n: usize, key: &str, tag| NewAttempt {
        is_minted: true,
        asked: Some(request(RequestKind::Attempt, key, tag)),
        ..attempt(&inbox(&format!("minted-{n}")))
    };
    let mut tasks = JoinSet::new();
    for n in 0..20 {
        let (seams, new) = (seams.clone(), minted(n, "k", 1));
        tasks.spawn(async move { must(seams.attempts.open_attempt(new).await) });
    }
    let (mut new, mut ids) = (0, Vec::<AttemptId>::new());
    for answer in tasks.join_all().await {
        match answer {
            Opened::New(view) => {
                new += 1;
                ids.push(view.id);
            }
            Opened::Known(view) => ids.push(view.id),
            other => panic!("{other:?}"),
        }
    }
    ids.dedup();
    assert_eq!((new, ids.len(), inboxes(&seams).await), (1, 1, 1));
    let other = must(seams.attempts.open_attempt(minted(21, "k", 2)).await);
    assert!(matches!(other, Opened::KeyReused), "{other:?}");
    let another = must(seams.attempts.open_attempt(minted(22, "k2", 1)).await);
    assert!(matches!(another, Opened::New(_)), "{another:?}");
    assert_eq!(inboxes(&seams).await, 2);
}

/// The same text as a reference and as an idempotency key are two things.
pub async fn reference_and_idempotency_key_are_separate(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let open = async |reference: Option<&str>, key: Option<&str>, tag: u8| {
        let new = NewAttempt {
            reference: reference.map(|word| must(word.parse())),
            request: [tag; 16],
            asked: key.map(|key| request(RequestKind::Attempt, key, tag)),
            ..attempt(&inbox("agent"))
        };
        must(seams.attempts.open_attempt(new).await)
    };
    assert!(matches!(open(None, Some("x"), 1).await, Opened::New(_)));
    let Opened::New(first) = open(Some("x"), None, 2).await else {
        panic!("the reference is new");
    };
    // A new key for a known reference names the same attempt from then on.
    let Opened::Known(same) = open(Some("x"), Some("y"), 2).await else {
        panic!("the reference is known");
    };
    assert_eq!(same.id, first.id);
    let reused = open(Some("z"), Some("y"), 3).await;
    assert!(matches!(reused, Opened::KeyReused), "{reused:?}");
    let reused = open(Some("x"), Some("x"), 2).await;
    assert!(matches!(reused, Opened::KeyReused), "{reused:?}");
}

/// Twenty concurrent retries create one inbox. Another address under the same key is refused.
/// A request that was refused may be repeated.
pub async fn repeated_request_creates_one_inbox(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let mut tasks = JoinSet::new();
    for n in 0..20 {
        let (seams, new) = (seams.clone(), asked(&format!("in-{n}"), "k", 1));
        tasks.spawn(async move { must(seams.inboxes.create_inbox(new).await) });
    }
    let (mut new, mut names) = (0, Vec::new());
    for answer in tasks.join_all().await {
        match answer {
            Created::New(view) => {
                new += 1;
                names.push(view.inbox);
            }
            Created::Known(view) => names.push(view.inbox),
            other => panic!("{other:?}"),
        }
    }
    names.dedup();
    assert_eq!((new, names.len(), inboxes(&seams).await), (1, 1, 1));
    let make = async |new| must(seams.inboxes.create_inbox(new).await);
    assert_eq!(make(asked("x", "k", 2)).await, Created::KeyReused);
    assert!(make(asked("x", "k2", 3)).await.fresh().is_some());
    for _ in 0..2 {
        assert_eq!(make(asked("x", "k3", 3)).await, Created::Refused);
    }
    assert!(make(asked("y", "k3", 4)).await.fresh().is_some());
}

/// The key of one inbox or attempt cannot be reused for another.
pub async fn rotation_and_finish_happen_once_for_each_key(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    for name in ["one", "two"] {
        must(seams.inboxes.create_inbox(asked(name, name, 1)).await);
    }
    let rotate = async |from: &str, to: &str, tag| {
        let request = request(RequestKind::Rotate, "k", tag);
        let (from, to) = (inbox(from), inbox(to));
        let rotated = seams
            .inboxes
            .rotate_inbox(&from, &to, &Scope::All, Some(&request));
        must(rotated.await)
    };
    let first = rotate("one", "new-1", 1).await.fresh();
    assert_eq!(
        first.as_ref().map(|view| view.inbox.clone()),
        Some(inbox("new-1"))
    );
    let again = rotate("one", "new-2", 1).await;
    assert_eq!(again, first.map_or(Created::Refused, Created::Known));
    assert_eq!(rotate("two", "new-3", 2).await, Created::KeyReused);

    let (_, attempt) = opened(&seams, "agent").await;
    let finish = async |outcome, tag| {
        let request = request(RequestKind::Finish, "k", tag);
        let ended = seams
            .attempts
            .finish_attempt(attempt, &Scope::All, outcome, Some(&request));
        must(ended.await)
    };
    let ended = finish(AttemptOutcome::Failed, 1).await;
    assert!(matches!(ended, AttemptFinished::Finished(_)), "{ended:?}");
    let ended = finish(AttemptOutcome::Failed, 1).await;
    assert!(matches!(ended, AttemptFinished::Repeated(_)), "{ended:?}");
    let ended = finish(AttemptOutcome::Succeeded, 2).await;
    assert!(matches!(ended, AttemptFinished::KeyReused), "{ended:?}");
}
