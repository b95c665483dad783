//! SIGKILL and SIGSTOP at each point between the request of an agent and the record that
//! its mail was sent.
//!
//! A trigger in the database holds a process at a point: it refuses one step.

use std::time::Duration;

use maillatch::deployment::Role;
use testkit::mail_provider::Lie;
use testkit::wait;
use tokio::time::sleep;

use super::office::{
    ALL, CLAIMED, DISPATCHED, Office, PATIENT, Profile, SENT, UNCERTAIN, on_each_database,
};

on_each_database!(
    killed_before_the_insert_the_retry_creates_one,
    killed_after_the_insert_the_retry_gets_the_same_send,
    killed_between_claim_and_dispatch_it_is_sent_once,
    killed_with_nothing_on_the_wire_it_is_replayed_by_its_key_or_held,
    killed_in_the_body_it_is_replayed_by_its_key,
    killed_after_acceptance_it_is_settled_by_key_or_look_up_or_held,
    killed_before_the_mark_it_is_settled_by_its_key,
    frozen_during_the_send_it_ends_as_sent,
    frozen_processes_send_nothing_twice,
    window_that_has_passed_is_not_used,
);

/// Refuses the insert of a send.
const NO_INSERT: [&str; 2] = [
    "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
         'BEGIN RAISE EXCEPTION ''refused''; END';
     CREATE TRIGGER refuse BEFORE INSERT ON sends FOR EACH ROW EXECUTE FUNCTION refuse()",
    "CREATE TRIGGER refuse BEFORE INSERT ON sends BEGIN SELECT RAISE(ABORT, 'refused'); END",
];
/// Refuses the step from `claimed` to `dispatched`.
const NO_DISPATCH: [&str; 2] = [
    "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
         'BEGIN RAISE EXCEPTION ''refused''; END';
     CREATE TRIGGER refuse BEFORE UPDATE ON sends FOR EACH ROW
         WHEN (NEW.state = 'dispatched') EXECUTE FUNCTION refuse()",
    "CREATE TRIGGER refuse BEFORE UPDATE ON sends WHEN NEW.state = 'dispatched'
         BEGIN SELECT RAISE(ABORT, 'refused'); END",
];
/// Refuses the step to `sent`.
const NO_MARK: [&str; 2] = [
    "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
         'BEGIN RAISE EXCEPTION ''refused''; END';
     CREATE TRIGGER refuse BEFORE UPDATE ON sends FOR EACH ROW
         WHEN (NEW.state = 'sent') EXECUTE FUNCTION refuse()",
    "CREATE TRIGGER refuse BEFORE UPDATE ON sends WHEN NEW.state = 'sent'
         BEGIN SELECT RAISE(ABORT, 'refused'); END",
];
/// Allows it again.
const ALLOW: [&str; 2] = [
    "DROP TRIGGER refuse ON sends; DROP FUNCTION refuse()",
    "DROP TRIGGER refuse",
];
/// Makes every first dispatch look 21 hours old.
const AGE: [&str; 2] = [
    "UPDATE sends SET first_dispatched_at = first_dispatched_at - interval '21 hours'",
    "UPDATE sends SET first_dispatched_at = first_dispatched_at - 75600000",
];

async fn killed_before_the_insert_the_retry_creates_one(profile: Profile) {
    let mut office = Office::open(profile, "resend").await;
    office.harness.database.execute(NO_INSERT).await;
    let answer = office.try_order(&office.senders[0], 0, "o1", "paid").await;
    assert!(answer.is_none_or(|(status, _)| status >= 500));
    office.harness.deployment.kill(Role::Feed).await.unwrap();
    assert_eq!(office.harness.count(ALL).await, 0);
    office.harness.database.execute(ALLOW).await;
    office.harness.deployment.revive().await.unwrap();
    office.order("o1").await;
    office.harness.until_count(SENT, 1).await;
    assert_eq!(office.accepted(), 1);
    office.harness.end().await;
}

async fn killed_after_the_insert_the_retry_gets_the_same_send(profile: Profile) {
    let mut office = Office::open(profile, "resend").await;
    let id = office.order("o1").await;
    office.harness.deployment.kill(Role::Feed).await.unwrap();
    office.harness.deployment.revive().await.unwrap();
    // The agent lost the answer and asks again, in other words.
    for (state, expected) in [("paid", 200), ("sent", 409)] {
        let (status, body) = office
            .try_order(&office.senders[0], 0, "o1", state)
            .await
            .unwrap();
        assert_eq!(status, expected, "{body}");
        assert_eq!(body["id"], id.as_str(), "{body}");
    }
    office.harness.until_count(SENT, 1).await;
    assert_eq!(office.accepted(), 1);
    office.harness.end().await;
}

async fn killed_between_claim_and_dispatch_it_is_sent_once(profile: Profile) {
    let mut office = Office::open(profile, "postmark").await;
    office.harness.database.execute(NO_DISPATCH).await;
    office.order("o1").await;
    office.harness.until_count(CLAIMED, 1).await;
    // The process has tried to dispatch it, and the database has refused.
    wait::until("a refused dispatch", async || {
        let logs = office.harness.deployment.logs().unwrap();
        logs.contains("a send could not be dispatched")
            .then_some(())
    })
    .await;
    office.harness.deployment.kill(Role::Worker).await.unwrap();
    assert_eq!(
        office.provider().requests(),
        0,
        "nothing leaves before the dispatch"
    );
    office.harness.database.execute(ALLOW).await;
    office.harness.deployment.revive().await.unwrap();
    office.harness.until_count(SENT, 1).await;
    assert_eq!(office.accepted(), 1);
    office.harness.end().await;
}

async fn killed_with_nothing_on_the_wire_it_is_replayed_by_its_key_or_held(profile: Profile) {
    let (keyed, others) = (["resend", "brevo"], ["ses", "mailgun"]);
    let names = [keyed, others].concat();
    let mut office = Office::open_with(profile, &names, PATIENT).await;
    // The providers accept no connection, so the process hangs in connecting.
    for sender in &office.senders {
        sender.provider.close().await;
    }
    office.order_by_all("o1", "paid").await;
    office.harness.until_count(DISPATCHED, office.all()).await;
    office.harness.deployment.kill(Role::Worker).await.unwrap();
    for sender in &office.senders {
        sender.provider.open().await;
    }
    office.harness.deployment.revive().await.unwrap();
    office.harness.until_count(SENT, 2).await;
    office.harness.until_count(UNCERTAIN, 2).await;
    office.stays(UNCERTAIN).await;
    for sender in &office.senders {
        let is_keyed = keyed.contains(&sender.name.as_str());
        assert_eq!(sender.accepted() == 1, is_keyed, "{}", sender.name);
        sender.expect_each_at_most_once();
    }
    office.harness.end().await;
}

async fn killed_in_the_body_it_is_replayed_by_its_key(profile: Profile) {
    let mut office = Office::open(profile, "resend").await;
    office.provider().lie([Lie::StallBeforeReading]);
    office.order("o1").await;
    office.provider().arrived(1).await;
    office.kill_and_restart().await;
    office.provider().release();
    office.harness.until_count(SENT, 1).await;
    assert_eq!(office.accepted(), 1);
    office.harness.end().await;
}

async fn killed_after_acceptance_it_is_settled_by_key_or_look_up_or_held(profile: Profile) {
    let keyed = ["resend", "agentmail", "nylas", "brevo", "sparkpost"];
    let looked_up = ["postmark", "mailgun"];
    let held = ["ses", "sendgrid"];
    let names: Vec<&str> = [&keyed[..], &looked_up, &held].concat();
    let mut office = Office::open_with(profile, &names, PATIENT).await;
    for sender in &office.senders {
        sender.provider.lie([Lie::StallAfterAccepting]);
    }
    let ids = office.order_by_all("o1", "paid").await;
    for sender in &office.senders {
        sender.provider.arrived(1).await;
    }
    office.harness.until_count(DISPATCHED, office.all()).await;
    office.kill_and_restart().await;
    for sender in &office.senders {
        sender.provider.release();
    }
    office.harness.until_count(SENT, 7).await;
    office.harness.until_count(UNCERTAIN, 2).await;
    office.stays(UNCERTAIN).await;
    for (sender, id) in office.senders.iter().zip(&ids) {
        let is_held = held.contains(&sender.name.as_str());
        let state = if is_held { "uncertain" } else { "sent" };
        assert_eq!(office.state(id).await, state, "{}", sender.name);
        assert_eq!(sender.accepted(), 1, "{}", sender.name);
        sender.same_bytes();
    }
    office.harness.end().await;
}

async fn killed_before_the_mark_it_is_settled_by_its_key(profile: Profile) {
    let mut office = Office::open(profile, "resend").await;
    office.harness.database.execute(NO_MARK).await;
    office.order("o1").await;
    office.provider().arrived(1).await;
    office.harness.until_count(DISPATCHED, 1).await;
    office.harness.deployment.kill(Role::Worker).await.unwrap();
    assert_eq!(office.accepted(), 1);
    office.harness.database.execute(ALLOW).await;
    office.harness.deployment.revive().await.unwrap();
    office.harness.until_count(SENT, 1).await;
    assert_eq!(office.accepted(), 1);
    office.senders[0].same_bytes();
    office.harness.end().await;
}

async fn frozen_during_the_send_it_ends_as_sent(profile: Profile) {
    let office = Office::open(profile, "ses").await;
    office.provider().lie([Lie::StallAfterAccepting]);
    office.order("o1").await;
    office.provider().arrived(1).await;
    office.harness.until_count(DISPATCHED, 1).await;
    office.signal("-STOP");
    office.provider().release();
    // Longer than the lease of three seconds.
    sleep(Duration::from_secs(4)).await;
    office.signal("-CONT");
    office.harness.until_count(SENT, 1).await;
    office.stays(SENT).await;
    assert_eq!((office.accepted(), office.provider().requests()), (1, 1));
    office.harness.end().await;
}

async fn frozen_processes_send_nothing_twice(profile: Profile) {
    let office = Office::open(profile, "ses").await;
    for round in 0..4 {
        for n in 0..10 {
            office.order(&format!("o{round}-{n}")).await;
        }
        office.signal("-STOP");
        sleep(Duration::from_millis(3_500)).await;
        office.signal("-CONT");
    }
    office
        .harness
        .until_count(
            "SELECT count(*) FROM sends WHERE state NOT IN ('sent', 'uncertain')",
            0,
        )
        .await;
    office.senders[0].expect_each_at_most_once();
    office.harness.end().await;
}

async fn window_that_has_passed_is_not_used(profile: Profile) {
    let names = ["resend", "nylas", "brevo", "sparkpost"];
    let mut office = Office::open_with(profile, &names, PATIENT).await;
    for sender in &office.senders {
        sender.provider.hide_accepted(true);
        sender.provider.lie([Lie::StallAfterAccepting]);
    }
    office.order_by_all("o1", "paid").await;
    for sender in &office.senders {
        sender.provider.arrived(1).await;
    }
    office.harness.until_count(DISPATCHED, office.all()).await;
    office.harness.deployment.kill(Role::Worker).await.unwrap();
    office.harness.database.execute(AGE).await;
    office.harness.deployment.revive().await.unwrap();
    office.harness.until_count(UNCERTAIN, office.all()).await;
    office.stays(UNCERTAIN).await;
    for sender in &office.senders {
        let counts = (sender.accepted(), sender.provider.requests());
        assert_eq!(counts, (1, 1), "{}", sender.name);
    }
    office.harness.end().await;
}
