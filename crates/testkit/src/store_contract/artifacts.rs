//! The third layer against duplicates, and the order in which agents see artifacts.

use pipeline::{ArtifactKind, ArtifactView, InboxId, NewArtifact, Reason, Seq, Verdict};
use tokio::task::JoinSet;

use super::{
    LONG, Seams, StoreSubject, code, code_in_window, held, inbox, mail, must, positions, valueless,
};
use crate::wait::soon;

/// Compares the whole view, so that no other field can appear unnoticed.
pub async fn artifact_view_has_what_an_agent_may_see(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    let link = NewArtifact {
        kind: ArtifactKind::Link,
        host: Some("shop.test".to_owned()),
        ..code(&to, "https://shop.test/verify?t=1")
    };
    let nothing = Verdict::Abstained(Reason::new("no_code"));
    let nothing = valueless(&to, ArtifactKind::Nothing, nothing);
    let message = mail(&to, "m1", vec![link.clone(), nothing.clone()]);
    let (claim, stored) = seams.claim(seams.new_delivery("evt_1").await, LONG).await;
    seams.complete(claim, held(vec![message.clone()])).await;
    let view = |artifact: &NewArtifact, seq: i64| ArtifactView {
        id: artifact.id,
        inbox: to.clone(),
        seq: Seq::new(seq),
        kind: artifact.kind,
        verdict: artifact.verdict.clone(),
        rule: artifact.rule.clone(),
        confidence: artifact.confidence,
        host: artifact.host.clone(),
        message: message.id,
        sender: message.sender.address.clone(),
        sender_domain: message.sender.domain.clone(),
        sender_proof: message.sender.proof.clone(),
        flags: message.flags.clone(),
        received_at: stored.recorded_at,
        expires_at: stored.recorded_at.plus(LONG),
        is_expired: false,
        consumed_at: None,
        attempt: None,
        is_superseded: false,
    };
    assert_eq!(seams.items(&to).await, [view(&link, 1), view(&nothing, 2)]);
}

/// A code that is mailed again within the window is the same artifact. Later it is a new one.
pub async fn same_value_in_one_window_is_one_artifact(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    let mut finished = Vec::new();
    for (id, window) in [("m1", 1), ("m2", 1), ("m3", 2)] {
        let artifact = code_in_window(&to, "493817", window);
        let done = seams.process(id, vec![mail(&to, id, vec![artifact])]).await;
        finished.push((done.messages, done.artifacts, done.duplicate_artifacts));
    }
    assert_eq!(finished, [(1, 1, 0), (1, 0, 1), (1, 1, 0)]);
    assert_eq!(seams.items(&to).await.len(), 2);
}

/// Only visible items take a position.
pub async fn duplicate_artifact_leaves_no_gap_in_the_positions(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    let artifacts = ["111111", "111111", "222222"].map(|value| code(&to, value));
    seams
        .process("evt_1", vec![mail(&to, "m1", artifacts.to_vec())])
        .await;
    seams
        .process("evt_2", vec![mail(&to, "m2", vec![code(&to, "222222")])])
        .await;
    seams
        .process("evt_3", vec![mail(&to, "m3", vec![code(&to, "333333")])])
        .await;
    assert_eq!(positions(&seams.items(&to).await), [1, 2, 3]);
}

/// A page contains the items after the cursor.
pub async fn items_after_a_position_are_listed_in_order(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    for number in 1..=5 {
        let id = format!("m{number}");
        seams.bring(&to, &id, code(&to, &id)).await;
    }
    let list = async |after: i64, limit: u32| {
        positions(&must(
            seams.agents.artifacts(&to, Seq::new(after), limit).await,
        ))
    };
    assert_eq!(list(0, 2).await, [1, 2]);
    assert_eq!(list(2, 2).await, [3, 4]);
    assert_eq!(list(4, 2).await, [5]);
    assert_eq!(list(5, 2).await, Vec::<i64>::new());
    assert_eq!(list(0, 0).await, Vec::<i64>::new());
}

/// Each inbox counts its own positions.
pub async fn inbox_lists_only_its_own_items(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let (a, b) = (inbox("a"), inbox("b"));
    let first = seams.bring(&a, "m1", code(&a, "111111")).await;
    let second = seams.bring(&b, "m2", code(&b, "111111")).await;
    for (inbox, id) in [(&a, first), (&b, second)] {
        let items = seams.items(inbox).await;
        let seen: Vec<_> = items
            .iter()
            .map(|item| (item.id, item.seq.number()))
            .collect();
        assert_eq!(seen, [(id, 1)]);
    }
    assert_eq!(seams.items(&inbox("c")).await, []);
}

/// A reader never has to return to an earlier position: neither commits out of order nor
/// duplicate artifacts may appear as gaps.
pub async fn readers_see_every_position_once_in_order_while_eight_write(
    subject: &dyn StoreSubject,
) {
    const EACH: i64 = 12;
    let seams = subject.seams();
    let to = inbox("agent");
    let mut readers = JoinSet::new();
    for page in [1, 3, 10, 100] {
        readers.spawn(read_to(seams.clone(), to.clone(), 8 * EACH, page));
    }
    let mut writers = JoinSet::new();
    for writer in 0..8 {
        let (seams, to) = (seams.clone(), to.clone());
        writers.spawn(async move {
            for number in 0..EACH {
                let name = format!("{writer}_{number}");
                // Every second mail repeats a code of another writer.
                let mut artifacts = vec![code(&to, &name)];
                if number % 2 == 1 {
                    let known = format!("{writer}_{}", number - 1);
                    artifacts.insert(0, code(&to, &known));
                }
                seams
                    .process(&name, vec![mail(&to, &name, artifacts)])
                    .await;
            }
        });
    }
    soon("all writers finish", writers.join_all()).await;
    let expected: Vec<i64> = (1..=8 * EACH).collect();
    for seen in soon("all readers finish", readers.join_all()).await {
        assert_eq!(seen, expected);
    }
}

async fn read_to(seams: Seams, inbox: InboxId, last: i64, page: u32) -> Vec<i64> {
    let mut seen = Vec::new();
    while seen.last().is_none_or(|place| *place < last) {
        let after = Seq::new(seen.last().copied().unwrap_or(0));
        seen.extend(positions(&must(
            seams.agents.artifacts(&inbox, after, page).await,
        )));
        tokio::task::yield_now().await;
    }
    seen
}

/// A new item wakes an agent that waits.
pub async fn watch_wakes_for_a_new_item(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    let waiting = tokio::spawn({
        let (seams, to) = (seams.clone(), to.clone());
        async move {
            let mut watch = seams.agents.watch(&to);
            loop {
                let items = seams.items(&to).await;
                if !items.is_empty() {
                    return items;
                }
                watch.changed().await;
            }
        }
    });
    seams.bring(&to, "m1", code(&to, "493817")).await;
    let items = must(soon("the watch wakes", waiting).await);
    assert_eq!(items.len(), 1);
}

/// A change after the items were read and before the wait begins still wakes the watch.
pub async fn change_between_watching_and_waiting_is_not_missed(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    let mut watch = seams.agents.watch(&to);
    assert_eq!(seams.items(&to).await, []);
    seams.bring(&to, "m1", code(&to, "493817")).await;
    soon("the watch wakes", watch.changed()).await;
    assert_eq!(seams.items(&to).await.len(), 1);
}
