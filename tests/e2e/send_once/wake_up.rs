//! A send is dispatched at once, whichever process recorded it, and a lost notification
//! costs only time.

use super::office::{Office, Profile, SENT, on_each_database};

on_each_database!(
    recorded_send_is_dispatched_without_a_look_at_the_database,
    lost_notification_costs_one_interval,
);

/// Senders look at the database once in an hour, so only a notification is in time. On
/// the full profile it comes from another process.
async fn recorded_send_is_dispatched_without_a_look_at_the_database(profile: Profile) {
    let office = Office::open_with(profile, &["resend"], "send.every = \"1h\"\n").await;
    for n in 0..5 {
        office.order(&format!("o{n}")).await;
        office.harness.until_count(SENT, n + 1).await;
    }
    assert_eq!(office.accepted(), 5);
    office.harness.end().await;
}

/// A send becomes ready, and no process hears of it.
async fn lost_notification_costs_one_interval(profile: Profile) {
    let extra = "send.every = \"1s\"\ntemplates.shipped.approval = \"always\"\n";
    let office = Office::open_with(profile, &["resend"], extra).await;
    let id = office.order("o1").await;
    assert_eq!(office.state(&id).await, "held");
    let release = "UPDATE sends SET state = 'ready', due_at = created_at";
    office.harness.database.execute([release, release]).await;
    office.harness.until_count(SENT, 1).await;
    assert_eq!(office.accepted(), 1);
    office.harness.end().await;
}
