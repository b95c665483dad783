//! Processes killed with SIGKILL at bad moments: nothing acknowledged is lost, and nothing
//! is duplicated.

use std::collections::BTreeSet;
use std::sync::Arc;

use maillatch::deployment::Role;

use crate::harness::{Harness, on_both_profiles, otp_delivery, otp_mail, payload};

const MAILS: u32 = 150;

on_both_profiles!(
    killed_workers_lose_and_repeat_nothing,
    killed_webhooks_lose_no_acknowledged_post,
    feed_killed_after_a_consume_repeats_the_answer_to_the_consumer,
);

fn mail(n: u32) -> Vec<u8> {
    otp_delivery("agent@inbox.test", &n.to_string(), &code(n))
}

fn code(n: u32) -> String {
    (100_000 + n * 5_003).to_string()
}

/// A mail that takes long enough to kill its worker while it is processed.
fn long_mail(n: u32) -> Vec<u8> {
    let filler = "Thank you for reading.\r\n".repeat(5_000);
    let mail = [otp_mail(&n.to_string(), &code(n)), filler.into_bytes()].concat();
    payload("agent@inbox.test", &mail)
}

/// Every mail is there once: the right number of items, with consecutive positions.
async fn expect_each_once(harness: &Harness, mails: usize) {
    harness.until_items("agent@inbox.test", mails).await;
    harness
        .until_count("SELECT count(*) FROM deliveries WHERE state <> 'done'", 0)
        .await;
    let items = harness.items(1, "agent@inbox.test").await;
    let ids: BTreeSet<_> = items.iter().map(|item| item["id"].to_string()).collect();
    assert_eq!((items.len(), ids.len()), (mails, mails));
    let wanted = i64::try_from(mails).unwrap();
    assert_eq!(harness.count("SELECT count(*) FROM messages").await, wanted);
    assert_eq!(
        harness.count("SELECT max(seq) FROM artifacts").await,
        wanted
    );
}

async fn killed_workers_lose_and_repeat_nothing(mut harness: Harness) {
    let mut kills = 0;
    for n in 0..MAILS {
        let is_before_a_kill = n % 50 >= 44;
        let body = if is_before_a_kill {
            long_mail(n)
        } else {
            mail(n)
        };
        let answer = harness
            .post_until_accepted(n as usize, &format!("msg_{n}"), &body)
            .await;
        assert_eq!(answer.status, 200);
        if n % 50 == 49 {
            let unfinished = "SELECT count(*) FROM deliveries WHERE state <> 'done'";
            let left = harness.count(unfinished).await;
            harness.deployment.kill(Role::Worker).await.unwrap();
            harness.deployment.revive().await.unwrap();
            kills += i64::from(left > 0);
        }
    }
    assert!(kills > 0, "no worker was ever killed with work left");
    expect_each_once(&harness, MAILS as usize).await;
    harness.end().await;
}

async fn killed_webhooks_lose_no_acknowledged_post(harness: Harness) {
    let mut harness = Arc::new(harness);
    let mut acknowledged = BTreeSet::new();
    for round in 0..3 {
        let posts: Vec<_> = (0..MAILS)
            .filter(|n| !acknowledged.contains(n))
            .map(|n| {
                let harness = Arc::clone(&harness);
                tokio::spawn(async move {
                    let answer = harness
                        .try_post(n as usize, &format!("msg_{n}"), &mail(n))
                        .await;
                    (n, answer.is_ok_and(|answer| answer.status == 200))
                })
            })
            .collect();
        let pids: Vec<u32> = harness
            .deployment
            .playing(Role::Webhook)
            .filter_map(maillatch::deployment::Process::pid)
            .collect();
        // The first answers have arrived, the rest have not.
        let mut posts = posts.into_iter();
        for post in posts.by_ref().take(10) {
            let (n, ok) = post.await.unwrap();
            ok.then(|| acknowledged.insert(n));
        }
        for pid in pids {
            let killed = std::process::Command::new("kill")
                .args(["-9", &pid.to_string()])
                .status();
            assert!(killed.unwrap().success(), "round {round}");
        }
        for post in posts {
            let (n, ok) = post.await.unwrap();
            ok.then(|| acknowledged.insert(n));
        }
        let deployment = &mut Arc::get_mut(&mut harness).unwrap().deployment;
        deployment.kill(Role::Webhook).await.unwrap();
        deployment.revive().await.unwrap();
    }
    assert!(!acknowledged.is_empty());
    // What was acknowledged must be there although it is not posted again.
    let rows = harness.count("SELECT count(*) FROM deliveries").await;
    assert!(rows >= i64::try_from(acknowledged.len()).unwrap());
    for n in 0..MAILS {
        let answer = harness
            .post_until_accepted(n as usize, &format!("msg_{n}"), &mail(n))
            .await;
        assert_eq!(answer.status, 200);
        if acknowledged.contains(&n) {
            assert_eq!(
                answer.body["status"], "duplicate",
                "msg_{n} was acknowledged and lost"
            );
        }
    }
    expect_each_once(&harness, MAILS as usize).await;
    Arc::into_inner(harness).unwrap().end().await;
}

async fn feed_killed_after_a_consume_repeats_the_answer_to_the_consumer(mut harness: Harness) {
    harness.post(0, "msg_1", &mail(1)).await;
    let items = harness.until_items("agent@inbox.test", 1).await;
    let artifact = items[0]["id"].as_str().unwrap();
    let first = harness.consume(artifact, 0, "k1").await;
    assert_eq!(first.status, 200);
    harness.deployment.kill(Role::Feed).await.unwrap();
    harness.deployment.revive().await.unwrap();
    let retry = harness.consume(artifact, 0, "k1").await;
    assert_eq!(
        (retry.status.as_u16(), &retry.body["value"]),
        (200, &first.body["value"])
    );
    assert_eq!(harness.consume(artifact, 1, "k2").await.status, 409);
    harness.end().await;
}
