//! Workers killed with SIGKILL again and again: a kill is not the fault of the mails that
//! were claimed, and a mail that is its cause is dead-lettered alone.

use std::time::Duration;

use maillatch::deployment::Role;
use tokio::time::{Instant, sleep};

use crate::harness::{Harness, TIMEOUT, on_both_profiles, otp_delivery, otp_mail, payload};

on_both_profiles!(
    twelve_kills_with_claimed_mail_dead_letter_nothing,
    mail_that_kills_its_worker_each_time_is_dead_lettered_alone,
);

const INBOX: &str = "agent@inbox.test";
/// How often a delivery was claimed and its claim was left open, or completed.
const ALL_CLAIMS: &str = "SELECT CAST(coalesce(sum(unended_claims), 0) AS bigint) FROM deliveries";
const UNFINISHED: &str = "SELECT count(*) FROM deliveries WHERE state IN ('pending', 'claimed')";
const DEAD_LETTERS: &str = "SELECT count(*) FROM deliveries WHERE state = 'buried'";
/// The attempts that are counted for the one long mail that was not read to its end.
const COUNTED: &str = "SELECT coalesce(max(attempts), 0) FROM
    (SELECT CAST(attempts AS bigint) AS attempts FROM deliveries
     WHERE length(body) > 1000000 AND state <> 'done') long";
/// How often it was claimed and not finished.
const CLAIMS: &str = "SELECT coalesce(max(unended), 0) FROM
    (SELECT CAST(unended_claims AS bigint) AS unended FROM deliveries
     WHERE length(body) > 1000000) long";

/// The long mails that are not finished.
const UNFINISHED_LONG: &str = "SELECT count(*) FROM deliveries
    WHERE length(body) > 1000000 AND state IN ('pending', 'claimed')";

/// A mail that takes a while to read: `lines` lines after a code.
fn long_mail(n: u32, lines: usize) -> Vec<u8> {
    let filler = "Thank you for reading.\r\n".repeat(lines);
    let mail = otp_mail(&n.to_string(), &(100_000 + n * 5_003).to_string());
    payload(INBOX, &[mail, filler.into_bytes()].concat())
}

/// Each kill comes when the unfinished mails were claimed again, and most of them wait
/// for their turn.
async fn twelve_kills_with_claimed_mail_dead_letter_nothing(mut harness: Harness) {
    const KILLS: u32 = 12;
    let (mut claims, mut unfinished) = (0, 0);
    for kill in 0..KILLS {
        for n in [2 * kill, 2 * kill + 1] {
            let id = format!("msg_{n}");
            // Below the size of a large body, of which workers hold only a few.
            let body = long_mail(n, 7_000);
            let posted = harness.post_until_accepted(n as usize, &id, &body);
            assert_eq!(posted.await.status, 200);
        }
        harness
            .until_at_least(ALL_CLAIMS, claims + 1 + unfinished / 2)
            .await;
        harness.deployment.kill(Role::Worker).await.unwrap();
        // Nothing changes while no worker runs.
        claims = harness.count(ALL_CLAIMS).await;
        unfinished = harness.count(UNFINISHED).await;
        harness.deployment.revive().await.unwrap();
    }
    harness.until_count(UNFINISHED, 0).await;
    assert_eq!(harness.count(DEAD_LETTERS).await, 0);
    harness.until_items(INBOX, 2 * KILLS as usize).await;
    harness.end().await;
}

/// The test plays the mail: it kills the workers whenever the long mail is read.
async fn mail_that_kills_its_worker_each_time_is_dead_lettered_alone(mut harness: Harness) {
    const ATTEMPTS: i64 = 5;
    /// The first kill may find it claimed with others, the next ones find it read alone.
    const KILLS: u32 = 4;
    // Long mails that were read before the test killed their worker: they are ordinary mails.
    let mut finished = 0_u32;
    post_killer(&harness, finished).await;
    let mut posts = 0_u32;
    let deadline = Instant::now() + 3 * TIMEOUT;
    let (mut counted, mut kills) = (0, 0);
    while counted < ATTEMPTS {
        assert!(Instant::now() < deadline, "{counted} attempts were counted");
        // Others come all the time, so some are claimed when the worker dies.
        if posts < 40 {
            posts += 1;
            let body = otp_delivery(
                INBOX,
                &posts.to_string(),
                &(100_000 + posts * 7_919).to_string(),
            );
            let id = format!("msg_{posts}");
            assert_eq!(harness.post_until_accepted(0, &id, &body).await.status, 200);
        }
        let is_claimed = kills == 0 && harness.count(CLAIMS).await > 0;
        if is_claimed || harness.count(COUNTED).await > counted {
            harness.deployment.kill(Role::Worker).await.unwrap();
            // Nothing changes while no worker runs.
            let found = harness.count(COUNTED).await;
            // A kill that came after the reading takes no part, and counts are gone.
            kills = if found > counted { kills + 1 } else { 1 };
            counted = found;
            harness.deployment.revive().await.unwrap();
        } else if harness.count(UNFINISHED_LONG).await == 0 {
            finished += 1;
            (counted, kills) = (0, 0);
            post_killer(&harness, finished).await;
        }
        sleep(Duration::from_millis(10)).await;
    }
    assert!(kills <= KILLS, "{kills} kills");
    harness.until_count(UNFINISHED, 0).await;
    assert_eq!(harness.count(DEAD_LETTERS).await, 1);
    let list = harness
        .command(&["failures", "list", "--json"])
        .output()
        .unwrap();
    let list: serde_json::Value = serde_json::from_slice(&list.stdout).unwrap();
    assert_eq!(list["items"][0]["reason"], "attempts_spent");
    let ordinary = posts + finished;
    harness.until_items(INBOX, ordinary as usize).await;
    harness.end().await;
}

async fn post_killer(harness: &Harness, number: u32) {
    let id = format!("msg_killer_{number}");
    let body = long_mail(100 + number, 100_000);
    let posted = harness.post_until_accepted(0, &id, &body);
    assert_eq!(posted.await.status, 200);
}
