//! One mail by two paths, webhook and polling, and the age of mail that is found late.

use std::time::Duration;

use pipeline::{
    Clock, Completed, Consumed, DeliveryId, Finished, InboxId, MessageKey, NewMessage, Polled,
    SystemClock, Timestamp,
};

use super::{PollSubject, found, held};
use crate::store_contract::{
    LONG, code, held as holding, inbox, mail, must, request, server_key, source,
};

/// Saves a found mail and processes it.
async fn find(subject: &dyn PollSubject, polled: Polled, messages: Vec<NewMessage>) -> Finished {
    let polls = subject.polls();
    let lease = held(&*polls).await;
    let id = match must(polls.save(&lease, vec![polled], "").await) {
        Completed::Done(answers) => answers.first().map(|answer| answer.id()),
        Completed::Lost => None,
    };
    must(polls.release(&lease).await);
    finish(subject, must(id.ok_or("no row")), messages).await
}

async fn finish(subject: &dyn PollSubject, id: DeliveryId, messages: Vec<NewMessage>) -> Finished {
    let seams = subject.seams();
    let (claim, _) = seams.claim(id, LONG).await;
    seams.complete(claim, holding(messages)).await
}

/// The metric that shows the use of polling.
pub async fn mail_first_found_by_polling_counts_as_recovered(subject: &dyn PollSubject) {
    let to = inbox("agent");
    let by_poll = vec![mail(&to, "<1@shop.test>", vec![code(&to, "111111")])];
    let finished = find(subject, found("a"), by_poll).await;
    assert_eq!((finished.messages, finished.recovered), (1, 1));
    assert_eq!(finished.other_path_lag, None);
    let by_post = vec![mail(&to, "<2@shop.test>", vec![code(&to, "222222")])];
    let finished = subject.seams().process("evt_1", by_post).await;
    assert_eq!((finished.messages, finished.recovered), (1, 0));
}

/// Both directions: a late webhook, and polling that finds posted mail.
pub async fn lag_of_the_second_path_is_reported_once(subject: &dyn PollSubject) {
    let to = inbox("agent");
    let letter = |id: &str| vec![mail(&to, id, vec![code(&to, id)])];
    find(subject, found("a"), letter("<1@shop.test>")).await;
    let late = subject
        .seams()
        .process("evt_1", letter("<1@shop.test>"))
        .await;
    assert_eq!(late.duplicate_messages, 1);
    assert!(late.other_path_lag.is_some_and(|lag| lag < LONG));
    let later = find(subject, found("b"), letter("<1@shop.test>")).await;
    assert_eq!((later.duplicate_messages, later.other_path_lag), (1, None));

    subject
        .seams()
        .process("evt_2", letter("<2@shop.test>"))
        .await;
    let reconciled = find(subject, found("c"), letter("<2@shop.test>")).await;
    assert_eq!((reconciled.messages, reconciled.recovered), (0, 0));
    assert!(reconciled.other_path_lag.is_some());
}

/// A provider may post the original and list only its parts. The content differs, but it is
/// one mail.
pub async fn same_provider_id_is_one_message_whatever_the_content(subject: &dyn PollSubject) {
    let named = |to: &InboxId, content: &str, id: &str| {
        let key = MessageKey::of_provider(&server_key(), &source(), to, id);
        vec![NewMessage {
            provider_key: Some(key),
            ..mail(to, content, vec![code(to, content)])
        }]
    };
    let (to, other) = (inbox("agent"), inbox("other"));
    let posted = named(&to, "original", "1");
    let posted = subject.seams().process("evt_1", posted).await;
    assert_eq!(posted.messages, 1);
    let polled = find(subject, found("a"), named(&to, "parts", "1")).await;
    assert_eq!((polled.messages, polled.duplicate_messages), (0, 1));
    assert_eq!(polled.artifacts, 0);
    assert!(polled.other_path_lag.is_some());
    for (n, (to, content, id)) in [(&to, "another", "2"), (&other, "original", "1")]
        .into_iter()
        .enumerate()
    {
        let polled = find(subject, found(&n.to_string()), named(to, content, id)).await;
        assert_eq!((polled.messages, polled.recovered), (1, 1), "{content}");
    }
    // The same content under another id is still the same mail.
    let again = find(subject, found("b"), named(&to, "another", "3")).await;
    assert_eq!((again.messages, again.duplicate_messages), (0, 1));
}

/// Old mail found by a first poll must not look like a fresh code.
pub async fn code_found_late_expires_by_the_age_of_its_mail(subject: &dyn PollSubject) {
    let to = inbox("agent");
    let past = SystemClock.now().as_millis() - 2 * i64::try_from(LONG.as_millis()).unwrap_or(0);
    let old = Polled {
        arrived_at: Some(Timestamp::from_millis(past)),
        ..found("a")
    };
    let artifact = code(&to, "111111");
    let id = artifact.id;
    find(
        subject,
        old,
        vec![mail(&to, "<1@shop.test>", vec![artifact])],
    )
    .await;
    let seams = subject.seams();
    let items = seams.items(&to).await;
    assert!(
        items
            .iter()
            .all(|item| item.is_expired && item.received_at.as_millis() == past)
    );
    assert_eq!(items.len(), 1);
    let consumed = seams.consume(&request(id, "agent-a", "k1")).await;
    assert!(matches!(consumed, Consumed::Expired { .. }), "{consumed:?}");
}

/// A wrong or forged time of the source cannot extend the lifetime of a code.
pub async fn mail_with_a_future_time_counts_as_received_now(subject: &dyn PollSubject) {
    let to = inbox("agent");
    let ahead = Polled {
        arrived_at: Some(SystemClock.now().plus(Duration::from_hours(9))),
        ..found("a")
    };
    find(
        subject,
        ahead,
        vec![mail(&to, "<1@shop.test>", vec![code(&to, "111111")])],
    )
    .await;
    let latest = SystemClock.now().plus(Duration::from_mins(1));
    let items = subject.seams().items(&to).await;
    assert!(items.iter().all(|item| item.received_at < latest));
}
