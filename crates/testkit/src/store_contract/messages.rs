//! The second layer against duplicates: one e-mail is one message, whichever way it came.

use pipeline::{Finished, InboxId, Processed, Reason};
use tokio::task::JoinSet;

use super::{LONG, StoreSubject, code, held, inbox, mail, must};

/// The provider posts the same mail under two delivery ids.
pub async fn same_mail_in_two_deliveries_is_one_message(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    let first = seams
        .process("evt_1", vec![mail(&to, "m1", vec![code(&to, "493817")])])
        .await;
    let second = seams
        .process("evt_2", vec![mail(&to, "m1", vec![code(&to, "493817")])])
        .await;
    let expected = Finished {
        messages: 1,
        artifacts: 1,
        ..Finished::default()
    };
    assert_eq!(first, expected);
    let expected = Finished {
        duplicate_messages: 1,
        ..Finished::default()
    };
    assert_eq!(second, expected);
    assert_eq!(seams.items(&to).await.len(), 1);
}

/// A mail is one message even when eight workers complete it at once.
pub async fn same_mail_by_eight_workers_at_once_is_one_message(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    for round in 0..5 {
        let mut tasks = JoinSet::new();
        for worker in 0..8 {
            let (seams, to) = (seams.clone(), to.clone());
            let value = format!("49381{round}");
            tasks.spawn(async move {
                let mail = mail(&to, &format!("m{round}"), vec![code(&to, &value)]);
                seams
                    .process(&format!("evt_{round}_{worker}"), vec![mail])
                    .await
            });
        }
        let finished = tasks.join_all().await;
        assert_eq!(finished.iter().map(|f| f.messages).sum::<u32>(), 1);
        assert_eq!(
            finished.iter().map(|f| f.duplicate_messages).sum::<u32>(),
            7
        );
        assert_eq!(finished.iter().map(|f| f.artifacts).sum::<u32>(), 1);
    }
    assert_eq!(seams.items(&to).await.len(), 5);
}

/// Only the first delivery of a message adds artifacts.
pub async fn duplicate_message_adds_no_artifacts(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    seams
        .process("evt_1", vec![mail(&to, "m1", vec![code(&to, "111111")])])
        .await;
    let second = seams
        .process("evt_2", vec![mail(&to, "m1", vec![code(&to, "222222")])])
        .await;
    assert_eq!((second.artifacts, second.duplicate_artifacts), (0, 0));
    assert_eq!(seams.items(&to).await.len(), 1);
}

/// A mail to several inboxes is several messages, written in one transaction.
pub async fn completions_for_the_same_inboxes_in_any_order_do_not_deadlock(
    subject: &dyn StoreSubject,
) {
    let seams = subject.seams();
    let to: Vec<InboxId> = ["a", "b", "c", "d"].into_iter().map(inbox).collect();
    for round in 0..5 {
        let mut tasks = JoinSet::new();
        for worker in 0..4 {
            let (seams, mut to) = (seams.clone(), to.clone());
            to.rotate_left(worker);
            if worker % 2 == 1 {
                to.reverse();
            }
            tasks.spawn(async move {
                // One mail that all of them contain, and one that only this one contains.
                let name = format!("evt_{round}_{worker}");
                let shared = format!("shared_{round}");
                let mut mails = Vec::new();
                for (number, inbox) in to.iter().enumerate() {
                    let value = format!("{round}{worker}{number}");
                    mails.push(mail(inbox, &name, vec![code(inbox, &value)]));
                    mails.push(mail(inbox, &shared, vec![code(inbox, &shared)]));
                }
                seams.process(&name, mails).await
            });
        }
        let finished = tasks.join_all().await;
        assert_eq!(finished.iter().map(|f| f.messages).sum::<u32>(), 16 + 4);
    }
    for inbox in &to {
        let items = seams.items(inbox).await;
        assert_eq!(super::positions(&items), (1..=25).collect::<Vec<_>>());
    }
}

/// For example a bounce, a receipt or a provider's test event.
pub async fn delivery_without_mail_is_finished(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let (claim, _) = seams.claim(seams.new_delivery("evt_1").await, LONG).await;
    let nothing = Processed {
        messages: Vec::new(),
        ignored: Some(Reason::new("not_inbound_mail")),
    };
    assert_eq!(seams.complete(claim, nothing).await, Finished::default());
    assert_eq!(must(seams.deliveries.backlog().await).unfinished, 0);
}

/// A message is received when its delivery was recorded, by the database's clock. Headers
/// and the worker's clock do not count.
pub async fn message_is_received_when_its_delivery_was_recorded(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let to = inbox("agent");
    let id = seams.new_delivery("evt_1").await;
    let (claim, stored) = seams.claim(id, LONG).await;
    seams
        .complete(
            claim,
            held(vec![mail(&to, "m1", vec![code(&to, "493817")])]),
        )
        .await;
    for item in seams.items(&to).await {
        assert_eq!(item.received_at, stored.recorded_at);
        assert_eq!(item.expires_at, stored.recorded_at.plus(LONG));
    }
}
