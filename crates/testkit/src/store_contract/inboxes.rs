//! Inboxes: their owners, their settings, and which inbox an address belongs to.

use std::sync::Arc;
use std::time::Duration;

use pipeline::{AttemptStatus, Created, InboxId, InboxRules, NewInbox, Scope};
use tokio::task::JoinSet;

use super::{LONG, StoreSubject, attempt, code, inbox, must};
use crate::wait::{soon, until_quiet};

/// A caller sees only its own inboxes.
pub async fn inbox_is_visible_only_to_its_owner(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let made = must(seams.inboxes.create_inbox(new("a1", "a")).await);
    let rules = made.fresh().map(|view| view.rules);
    assert_eq!(rules, Some(new("a1", "a").rules));
    must(seams.inboxes.create_inbox(new("b1", "b")).await);
    seams
        .bring(&inbox("c1"), "m1", code(&inbox("c1"), "111111"))
        .await;
    let sees = async |scope: &Scope| {
        let all = must(seams.inboxes.inboxes(scope, None, 10).await);
        let names: Vec<InboxId> = all.into_iter().map(|view| view.inbox).collect();
        names
    };
    assert_eq!(sees(&own("a", &[])).await, [inbox("a1")]);
    assert_eq!(sees(&own("a", &["c1"])).await, [inbox("a1"), inbox("c1")]);
    assert_eq!(
        sees(&Scope::All).await,
        [inbox("a1"), inbox("b1"), inbox("c1")]
    );
    let after = inbox("a1");
    let rest = must(seams.inboxes.inboxes(&Scope::All, Some(&after), 1).await);
    assert_eq!(
        rest.first().map(|view| view.inbox.clone()),
        Some(inbox("b1"))
    );
    let foreign = must(seams.inboxes.inbox(&inbox("b1"), &own("a", &[])).await);
    assert_eq!(foreign, None);
}

/// Of two requests for one address one succeeds.
pub async fn address_is_created_once(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    assert!(
        must(seams.inboxes.create_inbox(new("x", "a")).await)
            .fresh()
            .is_some()
    );
    let taken = must(seams.inboxes.create_inbox(new("x", "b")).await);
    assert_eq!(taken, Created::Refused);
    let owner = must(seams.inboxes.inbox(&inbox("x"), &Scope::All).await);
    assert_eq!(owner.and_then(|view| view.owner).as_deref(), Some("a"));
}

/// The old address accepts no mail; the new one has the old one's settings.
pub async fn rotated_inbox_has_a_new_address(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    must(seams.inboxes.create_inbox(new("old", "a")).await);
    let (old, new_name) = (inbox("old"), inbox("new"));
    let rotate = async |owner: &str| {
        let scope = own(owner, &[]);
        let rotated = seams.inboxes.rotate_inbox(&old, &new_name, &scope, None);
        must(rotated.await).fresh()
    };
    assert_eq!(rotate("b").await, None);
    let rotated = rotate("a").await;
    assert_eq!(
        rotated.map(|view| (view.inbox, view.rules)),
        Some((new_name.clone(), new("x", "a").rules))
    );
    let expectations = must(seams.work.expectations(&[old.clone(), inbox("new")]).await);
    let expired: Vec<bool> = expectations
        .iter()
        .map(|expected| expected.is_expired)
        .collect();
    assert_eq!(expired, [true, false]);
    let late = must(seams.attempts.open_attempt(attempt(&old)).await);
    assert!(matches!(late, pipeline::Opened::InboxUnknown), "{late:?}");
}

/// A caller may not expire an inbox that it may only read.
pub async fn only_the_owner_expires_an_inbox(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    must(seams.inboxes.create_inbox(new("x", "a")).await);
    let (x, y, granted) = (inbox("x"), inbox("y"), own("b", &["x"]));
    assert!(must(seams.inboxes.inbox(&x, &granted).await).is_some());
    assert_eq!(
        must(seams.inboxes.rotate_inbox(&x, &y, &granted, None).await),
        Created::Refused
    );
    assert_eq!(must(seams.inboxes.expire_inbox(&x, &granted).await), None);
    let ended = must(seams.inboxes.expire_inbox(&x, &own("a", &[])).await);
    assert!(ended.is_some_and(|view| view.is_expired));
}

/// An inbox is rotated to one other address, which keeps the expiry of the first.
pub async fn inbox_is_rotated_once(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let old = NewInbox {
        expires_in: Some(LONG),
        ..new("old", "a")
    };
    let made = must(seams.inboxes.create_inbox(old).await).fresh();
    let mut rotations = JoinSet::new();
    for number in 0..8 {
        let inboxes = Arc::clone(&seams.inboxes);
        let to = inbox(&format!("new{number}"));
        rotations.spawn(async move {
            let old = inbox("old");
            let rotated = inboxes.rotate_inbox(&old, &to, &Scope::All, None);
            must(rotated.await).fresh()
        });
    }
    let rotated: Vec<_> = rotations.join_all().await.into_iter().flatten().collect();
    let ends: Vec<_> = rotated.iter().map(|view| view.expires_at).collect();
    assert_eq!(ends, [made.and_then(|view| view.expires_at)]);
}

/// What an attempt withholds cannot be read from the feed of its generated inbox.
pub async fn inbox_generated_for_an_attempt_has_its_rules(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let mut asked = attempt(&inbox("minted"));
    asked.is_minted = true;
    asked.rules.senders = vec!["bank.test".to_owned()];
    asked.rules.links = Some(vec!["*.bank.test".to_owned()]);
    asked.rules.needs_proof = true;
    let rules = asked.rules.clone();
    must(seams.attempts.open_attempt(asked).await);
    let expected = must(seams.work.expectations(&[inbox("minted")]).await).remove(0);
    assert_eq!(expected.rules.senders, rules.senders);
    assert_eq!(expected.rules.links, rules.links);
    assert!(expected.rules.needs_proof);
}

/// An agent does not wait for mail that cannot arrive.
pub async fn watch_wakes_when_the_inbox_expires(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    must(seams.inboxes.create_inbox(new("x", "a")).await);
    let opened = attempt(&inbox("x"));
    let id = opened.id;
    must(seams.attempts.open_attempt(opened).await);
    let look = async || must(seams.attempts.attempt(id, &Scope::All).await);
    assert!(look().await.is_some_and(|view| view.may_change()));
    let mut arrival = seams.agents.watch(&inbox("x"));
    until_quiet(&mut *arrival).await;
    must(seams.inboxes.expire_inbox(&inbox("x"), &Scope::All).await);
    soon("the watch wakes", arrival.changed()).await;
    let view = look()
        .await
        .unwrap_or_else(|| panic!("the attempt is gone"));
    assert_eq!(
        (view.status(), view.may_change()),
        (AttemptStatus::Expired, false)
    );
}

/// An address with a tag belongs to the inbox with that address, or else to the one without
/// the tag.
pub async fn tagged_address_finds_the_untagged_inbox(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    must(seams.inboxes.create_inbox(new("agent", "a")).await);
    must(seams.inboxes.create_inbox(new("agent+own", "a")).await);
    let opened = attempt(&inbox("agent"));
    let waiting = opened.id;
    must(seams.attempts.open_attempt(opened).await);
    let names = ["agent+shop", "agent+own", "nobody+x"].map(inbox);
    let expectations = must(seams.work.expectations(&names).await);
    let found: Vec<Option<InboxId>> = expectations.iter().map(|e| e.inbox.clone()).collect();
    assert_eq!(
        found,
        [Some(inbox("agent")), Some(inbox("agent+own")), None]
    );
    let waiters: Vec<Vec<_>> = expectations
        .iter()
        .map(|expected| expected.attempts.iter().map(|attempt| attempt.id).collect())
        .collect();
    assert_eq!(waiters, [vec![waiting], vec![], vec![]]);
}

#[track_caller]
fn new(name: &str, owner: &str) -> NewInbox {
    NewInbox {
        inbox: inbox(name),
        owner: must(owner.parse()),
        asked: None,
        rules: InboxRules {
            senders: vec!["example.com".to_owned()],
            needs_proof: true,
            links: Some(vec!["*.example.com".to_owned()]),
            lifetime: Some(Duration::from_mins(3)),
        },
        metadata: Some("{}".to_owned()),
        expires_in: None,
        retention: Some(LONG),
    }
}

#[track_caller]
fn own(owner: &str, others: &[&str]) -> Scope {
    Scope::Own {
        owner: must(owner.parse()),
        others: others.iter().map(|name| inbox(name)).collect(),
    }
}
