//! Polling by IMAP: every mail becomes one message, whatever happens to the poller, the
//! mailbox and the mails already read.

use maillatch::deployment::Role;

use crate::harness::{Harness, otp_mail};
use crate::mailbox::Mailbox;

/// Short leases, so that another poller soon takes over from a killed one.
const BRISK: &str =
    "poll.lease = \"1500ms\"\npoll.answer_budget = \"750ms\"\npoll.every = \"1s\"\n";

fn number(variable: &str, usual: usize) -> usize {
    let set = std::env::var(variable).ok();
    set.map_or(usual, |text| text.parse().unwrap())
}

fn mail(n: usize) -> Vec<u8> {
    otp_mail(&n.to_string(), &(100_000 + n * 73).to_string())
}

const MESSAGES: &str = "SELECT count(*) FROM messages";

/// `POLL_MAILS=1000 POLL_KILLS=10` runs it at full length.
#[tokio::test(flavor = "multi_thread")]
async fn every_mail_of_a_mailbox_is_ingested_once_despite_failures() {
    let (mails, kills) = (number("POLL_MAILS", 120), number("POLL_KILLS", 3));
    let mut mailbox = Mailbox::start().await;
    let settings = format!("{BRISK}{}", mailbox.source("mailbox", "imap"));
    let mut harness = Harness::full_with(&settings).await;
    harness.deployment.add(Role::Poll).await.unwrap();
    let share = mails / (kills + 1);
    let (mut delivered, mut deleted) = (0, 0);
    for kill in 0..kills {
        for _ in 0..share {
            mailbox.deliver(&mail(delivered));
            delivered += 1;
        }
        // The first of these are recorded, the rest are not yet.
        let first = i64::try_from(delivered - share + 1).unwrap();
        harness
            .until_at_least("SELECT count(*) FROM deliveries", first)
            .await;
        harness.deployment.kill(Role::Poll).await.unwrap();
        harness.deployment.revive().await.unwrap();
        if kill == kills / 2 {
            mailbox.change_uid_validity().await;
        } else {
            read_and_delete(&mailbox, &harness, &mut deleted).await;
        }
    }
    while delivered < mails {
        mailbox.deliver(&mail(delivered));
        delivered += 1;
    }
    let all = i64::try_from(mails).unwrap();
    harness.until_count(MESSAGES, all).await;
    harness
        .until_count("SELECT count(*) FROM deliveries WHERE state <> 'done'", 0)
        .await;
    assert_eq!(harness.count("SELECT count(*) FROM deliveries").await, all);
    assert_eq!(harness.count("SELECT count(*) FROM artifacts").await, all);
    let by_poll = "SELECT count(*) FROM messages WHERE path = 'poll'";
    assert_eq!(harness.count(by_poll).await, all);
    harness.end().await;
}

/// Another client reads everything and deletes half of the mails that the poller has
/// ingested. Mail is ingested in the order of its arrival, which is also the order of its
/// numbers.
async fn read_and_delete(mailbox: &Mailbox, harness: &Harness, deleted: &mut i64) {
    let ingested = harness.count("SELECT count(*) FROM deliveries").await;
    let mut client = mailbox.client().await;
    client.run("STORE 1:* +FLAGS (\\Seen)").await;
    let ours = (ingested - *deleted) / 2;
    if ours > 0 {
        client
            .run(&format!("STORE 1:{ours} +FLAGS (\\Deleted)"))
            .await;
        client.run("EXPUNGE").await;
        *deleted += ours;
    }
    client.run("LOGOUT").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn imap_idle_over_tls_finds_mail_and_leaves_it_unread() {
    let mut mailbox = Mailbox::start().await;
    let settings = format!(
        "poll.every = \"10m\"\n{}{}",
        mailbox.source("from-the-start", "imaps"),
        mailbox.source("later-on", "imap+starttls")
    );
    let harness = Harness::embedded_with(&settings).await;
    // The first rounds run at once; after that only the server's IDLE notices.
    harness
        .until_count("SELECT count(*) FROM polls WHERE polled_at IS NOT NULL", 2)
        .await;
    mailbox.deliver(&mail(1));
    // A mail that two sources have is one message.
    let found = "SELECT count(*) FROM deliveries WHERE state = 'done'";
    harness.until_count(found, 2).await;
    assert_eq!(harness.until_items("agent@inbox.test", 1).await.len(), 1);
    let mut client = mailbox.client().await;
    let flags = client.run("FETCH 1 (FLAGS)").await;
    assert!(!flags.contains("\\Seen"), "{flags}");
    let metrics = harness.metrics(Role::Poll).await;
    for source in ["from-the-start", "later-on"] {
        let expected = format!("{{source=\"{source}\",cause=\"announced\",outcome=\"done\"}}");
        assert!(
            metrics.contains(&expected),
            "{expected} is not in {metrics}"
        );
    }
    harness.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mailbox_with_a_wrong_password_is_reported_and_blocks_nothing() {
    let mut mailbox = Mailbox::start().await;
    let good = mailbox.source("good", "imap");
    let bad = mailbox
        .source("bad", "imap")
        .replace("secret-of", "wrong-secret-of");
    let gone = mailbox.source("gone", "imap");
    let gone = gone.replace("imap://localhost:", "imap://localhost:1/?");
    let harness = Harness::embedded_with(&format!("{BRISK}{good}{bad}{gone}")).await;
    mailbox.deliver(&mail(1));
    harness.until_items("agent@inbox.test", 1).await;
    let failing = "SELECT count(*) FROM polls WHERE failure = 'poll_unauthorised'";
    harness.until_count(failing, 1).await;
    let doctor = harness.doctor().await;
    assert!(doctor.contains("poll_unauthorised"), "{doctor}");
    for (source, word) in [("bad", "poll_unauthorised"), ("gone", "poll_away")] {
        // On a busy machine the answer of a mailbox may come too late.
        testkit::wait::until("`source test` has the mailbox's answer", async || {
            let mut command = harness.command(&["source", "test", source]);
            let tested = tokio::task::spawn_blocking(move || command.output().unwrap());
            let tested = tested.await.unwrap();
            let said = String::from_utf8_lossy(&tested.stderr);
            assert!(!tested.status.success(), "{said}");
            said.contains(word).then_some(())
        })
        .await;
    }
    let log = harness.deployment.logs().unwrap();
    assert!(
        !log.contains("secret-of-the-tests"),
        "a password was logged"
    );
    harness.end().await;
}
