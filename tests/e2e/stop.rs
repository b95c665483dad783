//! A clean stop: what was begun is finished.

use std::sync::Arc;
use std::time::Duration;

use maillatch::deployment::{Process, Role};
use tokio::time::Instant;

use crate::harness::{Harness, on_both_profiles, otp_delivery};

on_both_profiles!(
    posts_under_way_at_a_stop_are_answered,
    a_waiting_agent_is_answered_at_a_stop,
);

async fn posts_under_way_at_a_stop_are_answered(harness: Harness) {
    let harness = Arc::new(harness);
    let posts: Vec<_> = (0..64_u32)
        .map(|n| {
            let harness = Arc::clone(&harness);
            let code = (100_000 + n * 7_919).to_string();
            let body = otp_delivery("agent@inbox.test", &n.to_string(), &code);
            tokio::spawn(async move {
                harness
                    .try_post(n as usize, &format!("msg_{n}"), &body)
                    .await
            })
        })
        .collect();
    let mut posts = posts.into_iter();
    let first = posts.next().unwrap().await.unwrap().unwrap();
    assert_eq!(first.status, 200);
    for pid in harness
        .deployment
        .playing(Role::Webhook)
        .filter_map(Process::pid)
    {
        terminate(pid);
    }
    let mut acknowledged = 1;
    for post in posts {
        match post.await.unwrap() {
            Ok(answer) => {
                assert_eq!(answer.status, 200, "{:?}", answer.body);
                acknowledged += 1;
            }
            // A connection that was never accepted is refused, not half-served.
            Err(error) => {
                let error: reqwest::Error = error.downcast().unwrap();
                assert!(error.is_connect() || error.is_request(), "{error:?}");
            }
        }
    }
    let rows = harness.count("SELECT count(*) FROM deliveries").await;
    assert!(
        rows >= acknowledged,
        "{rows} rows for {acknowledged} acknowledged posts"
    );
}

async fn a_waiting_agent_is_answered_at_a_stop(mut harness: Harness) {
    let speaker = harness.speaker.clone();
    let stop = async {
        let deadline = Instant::now() + crate::harness::PATIENCE;
        loop {
            let metrics = harness.ask(Role::Feed, "metrics").await;
            if metrics
                .body
                .as_str()
                .unwrap()
                .contains("maillatch_waiting 1")
            {
                break;
            }
            assert!(Instant::now() < deadline, "the wait was never seen");
        }
        for pid in harness
            .deployment
            .playing(Role::Feed)
            .filter_map(Process::pid)
        {
            terminate(pid);
        }
    };
    let wait = "v1/inboxes/agent@inbox.test/artifacts?wait=50";
    let asked = Instant::now();
    let (answer, ()) = tokio::join!(speaker.ask(&harness.deployment, Role::Feed, 0, wait), stop);
    assert_eq!(answer.unwrap().status, 200);
    assert!(
        asked.elapsed() < Duration::from_secs(40),
        "the wait was sat out"
    );
    harness.deployment.stop().await.unwrap();
}

fn terminate(pid: u32) {
    let asked = std::process::Command::new("kill")
        .args(["-TERM", &pid.to_string()])
        .status();
    assert!(asked.unwrap().success());
}
