//! Mailboxes that are full when a source is added: the old mail is left alone, and where it
//! was asked for, it does not delay new mail.

use std::time::{Duration, Instant};

use maillatch::deployment::Role;
use serde_json::json;

use crate::harness::{Harness, otp_mail};
use crate::mailbox::Mailbox;

const OLD_MAILS: usize = 20_000;
/// The time between two polls.
const POLL: Duration = Duration::from_secs(30);

/// How many sources were polled with success.
const POLLED: &str = "SELECT count(*) FROM polls WHERE polled_at IS NOT NULL";

fn settings(mailbox: &Mailbox) -> String {
    let every = POLL.as_secs();
    format!(
        "poll.every = \"{every}s\"\n{}",
        mailbox.source("mailbox", "imap")
    )
}

/// A mailbox with old mails, each for another address.
async fn full_mailbox(mails: usize) -> Mailbox {
    let mailbox = Mailbox::start().await;
    mailbox.fill(mails, |number| {
        let mail = String::from_utf8(otp_mail(&format!("old-{number}"), "111111")).unwrap();
        mail.replace("agent@inbox.test", "nobody@elsewhere.test")
            .into_bytes()
    });
    // The server's first look at so many files takes a while; it is not what is measured.
    assert_eq!(
        mailbox.client().await.status("MESSAGES").await,
        i64::try_from(mails).unwrap()
    );
    mailbox
}

async fn old_mail_is_left_alone_and_a_new_code_comes_at_once(
    harness: Harness,
    mut mailbox: Mailbox,
) {
    harness.until_count(POLLED, 1).await;
    mailbox.deliver(&otp_mail("new", "493817"));
    the_new_code_comes_at_once(harness).await;
}

async fn the_new_code_comes_at_once(harness: Harness) {
    let delivered = Instant::now();
    let items = harness.until_items("agent@inbox.test", 1).await;
    let took = delivered.elapsed();
    eprintln!("the code came {} ms after its mail", took.as_millis());
    let id = items[0]["id"].as_str().unwrap();
    let consumed = harness.consume(id, 0, "new").await;
    assert_eq!(consumed.body["value"], "493817");
    assert_eq!(harness.count("SELECT count(*) FROM deliveries").await, 1);
    harness.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn new_code_beside_20000_old_mails_comes_at_once_on_the_embedded_profile() {
    let mailbox = full_mailbox(OLD_MAILS).await;
    let harness = Harness::embedded_with(&settings(&mailbox)).await;
    old_mail_is_left_alone_and_a_new_code_comes_at_once(harness, mailbox).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn new_code_beside_20000_old_mails_comes_at_once_on_the_full_profile() {
    let mailbox = full_mailbox(OLD_MAILS).await;
    let mut harness = Harness::full_with(&settings(&mailbox)).await;
    harness.deployment.add(Role::Poll).await.unwrap();
    old_mail_is_left_alone_and_a_new_code_comes_at_once(harness, mailbox).await;
}

/// All UIDs become invalid after the first poll, as when the mailbox is restored from a backup.
/// The new mail has old ones before and after it.
#[tokio::test(flavor = "multi_thread")]
async fn new_code_among_10000_old_mails_whose_uids_have_changed_comes_at_once() {
    let mut mailbox = full_mailbox(OLD_MAILS / 2).await;
    let harness = Harness::embedded_with(&settings(&mailbox)).await;
    harness.until_count(POLLED, 1).await;
    mailbox
        .restore(|mailbox| {
            mailbox.deliver(&otp_mail("new", "493817"));
            mailbox.put_old(1_799_000_000, &otp_mail("old", "111111"));
        })
        .await;
    the_new_code_comes_at_once(harness).await;
}

/// The source has `since = "all"`, and each poll reads one page, oldest mail first. When an
/// attempt waits, the newest mail is read before the rest.
#[tokio::test(flavor = "multi_thread")]
async fn awaited_code_is_read_before_the_backlog_of_a_source_with_since_all() {
    let mails = 5_000;
    let mut mailbox = full_mailbox(mails).await;
    let source = mailbox.source("mailbox", "imap");
    let source = source.replace("user =", "since = \"all\", user =");
    let brisk = "poll.patience = \"1s\"\npoll.pages = 1\ninbox.domains = [\"inbox.test\"]\n";
    let settings = format!("{brisk}{source}");
    let harness = Harness::embedded_with(&settings).await;
    let attempt = harness.open(json!({ "inbox": "agent@inbox.test" })).await;
    mailbox.deliver(&otp_mail("new", "493817"));
    let delivered = Instant::now();
    let taken = harness.take(&attempt, "take").await;
    let took = delivered.elapsed().as_millis();
    let recorded = harness.count("SELECT count(*) FROM deliveries").await;
    eprintln!("the code came {took} ms after its mail, with {recorded} mails recorded");
    assert_eq!(taken["value"], "493817");
    assert!(recorded < i64::try_from(mails).unwrap(), "{recorded}");
    harness.end().await;
}
