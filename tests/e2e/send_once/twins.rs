//! Twins: the same intent many times at once, reworded, from several processes and keys.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::office::{ALL, Office, Profile, SENT, on_each_database};

on_each_database!(
    fifty_twins_at_once_are_one_mail,
    twins_of_many_intents_during_kills_are_one_mail_each,
);

async fn fifty_twins_at_once_are_one_mail(profile: Profile) {
    let office = Arc::new(Office::open(profile, "resend").await);
    let twins = (0..50).map(|n| {
        let office = Arc::clone(&office);
        tokio::spawn(async move {
            let state = if n % 2 == 0 { "paid" } else { "sent" };
            office.try_order(n, "o1", state).await.unwrap()
        })
    });
    let mut ids = BTreeSet::new();
    let mut created = 0;
    for twin in twins.collect::<Vec<_>>() {
        let (status, body) = twin.await.unwrap();
        assert!([200, 201, 409].contains(&status), "{status} {body}");
        created += usize::from(status == 201);
        ids.insert(body["id"].as_str().unwrap().to_owned());
    }
    assert_eq!((created, ids.len()), (1, 1));
    office.harness.until_count(SENT, 1).await;
    assert_eq!(office.accepted(), 1);
    Arc::into_inner(office).unwrap().harness.end().await;
}

async fn twins_of_many_intents_during_kills_are_one_mail_each(profile: Profile) {
    const INTENTS: usize = 60;
    let mut office = Office::open(profile, "resend").await;
    for round in 0..3 {
        for intent in 0..INTENTS {
            let state = if round % 2 == 0 { "paid" } else { "sent" };
            // An answer may be lost in a kill; the next round asks again.
            let _ = office.try_order(round, &format!("o{intent}"), state).await;
        }
        office.kill_and_restart().await;
    }
    let all = i64::try_from(INTENTS).unwrap();
    assert_eq!(office.harness.count(ALL).await, all);
    office.harness.until_count(SENT, all).await;
    assert_eq!(office.accepted(), INTENTS);
    office.expect_each_at_most_once();
    office.same_bytes();
    office.harness.end().await;
}
