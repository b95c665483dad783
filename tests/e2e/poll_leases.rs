//! Two pollers of one source, one of them frozen for longer than its lease.

use std::process::Command;

use maillatch::deployment::{Process, Role};

use crate::harness::{Harness, otp_mail};

const BRISK: &str = "poll.lease = \"1s\"\npoll.answer_budget = \"500ms\"\npoll.every = \"300ms\"\n";

fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args([name, &pid.to_string()]).status();
    assert!(sent.unwrap().success());
}

/// Another poller takes over each time the holder is frozen, and a poller that wakes up
/// late saves nothing.
#[tokio::test(flavor = "multi_thread")]
async fn poller_frozen_past_its_lease_saves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let settings = format!(
        "{BRISK}source.folder = {{ provider = \"folder\", poll = {{ path = \"{}\" }} }}\n",
        folder.path().display()
    );
    let mut harness = Harness::full_with(&settings).await;
    harness.deployment.add(Role::Poll).await.unwrap();
    harness.deployment.add(Role::Poll).await.unwrap();
    let pids: Vec<u32> = harness
        .deployment
        .playing(Role::Poll)
        .filter_map(Process::pid)
        .collect();
    let mut delivered = 0;
    for round in 0..3 {
        let frozen = pids[round % 2];
        for _ in 0..20 {
            delivered += 1;
            let mail = otp_mail(&format!("{delivered}"), &format!("{}", 200_000 + delivered));
            let aside = folder.path().join(format!("{delivered}.aside"));
            std::fs::write(&aside, mail).unwrap();
            std::fs::rename(aside, folder.path().join(format!("{delivered}.eml"))).unwrap();
        }
        // It is frozen at any point, whether it holds the source or not.
        signal(frozen, "-STOP");
        harness
            .until_count("SELECT count(*) FROM messages", i64::from(delivered))
            .await;
        signal(frozen, "-CONT");
    }
    let rows = i64::from(delivered);
    assert_eq!(harness.count("SELECT count(*) FROM deliveries").await, rows);
    assert_eq!(harness.count("SELECT count(*) FROM polled").await, rows);
    assert_eq!(harness.count("SELECT count(*) FROM messages").await, rows);
    let fence = harness
        .count("SELECT fence FROM polls WHERE source = 'folder'")
        .await;
    assert!(fence > 1, "nobody ever took over");
    harness.end().await;
}
