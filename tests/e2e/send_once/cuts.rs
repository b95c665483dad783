//! SMTP: the connection is cut before, in and after the final dot.

use testkit::smtp_server::{SmtpFault, SmtpServer};

use super::office::{FAILED, Office, Profile, SENT, UNCERTAIN, on_each_database};

on_each_database!(
    smtp_cut_before_the_message_is_retried_and_later_is_uncertain,
    smtp_killed_after_the_final_dot_is_uncertain,
    smtp_that_refuses_what_it_may_have_accepted_leaves_it_uncertain,
);

async fn smtp_cut_before_the_message_is_retried_and_later_is_uncertain(profile: Profile) {
    let server = SmtpServer::start().await;
    let office = Office::open_smtp(profile, server.port).await;
    server.fail([SmtpFault::CutAtGreeting, SmtpFault::CutAtData]);
    office.order("before").await;
    office.harness.until_count(SENT, 1).await;
    assert_eq!(server.accepted().len(), 1);

    server.fail([SmtpFault::Recipient(550)]);
    office.order("refused").await;
    office.harness.until_count(FAILED, 1).await;

    let open = [
        SmtpFault::CutInMessage,
        SmtpFault::CutAtDot,
        SmtpFault::CutAfterDot,
        SmtpFault::SilenceAfterDot,
        SmtpFault::GarbageAfterDot,
    ];
    server.fail(open);
    for n in 0..open.len() {
        office.order(&format!("cut{n}")).await;
    }
    let all = i64::try_from(open.len()).unwrap();
    office.harness.until_count(UNCERTAIN, all).await;
    office.stays(UNCERTAIN).await;
    // One copy of the first, and one of each of the last three.
    assert_eq!(server.accepted().len(), 4);
    office.harness.end().await;
}

async fn smtp_killed_after_the_final_dot_is_uncertain(profile: Profile) {
    let server = SmtpServer::start().await;
    let mut office = Office::open_smtp(profile, server.port).await;
    server.fail([SmtpFault::StallAfterDot]);
    office.order("o1").await;
    server.dotted(1).await;
    office.kill_and_restart().await;
    office.harness.until_count(UNCERTAIN, 1).await;
    office.stays(UNCERTAIN).await;
    assert_eq!(server.accepted().len(), 1);
    office.harness.end().await;
}

/// The operator wants a second try. That it is refused says nothing about the first one.
async fn smtp_that_refuses_what_it_may_have_accepted_leaves_it_uncertain(profile: Profile) {
    let server = SmtpServer::start().await;
    let office = Office::open_retrying_smtp(profile, server.port).await;
    server.fail([SmtpFault::CutAfterDot, SmtpFault::Recipient(550)]);
    let id = office.order("o1").await;
    let refused = "SELECT count(*) FROM send_events
                   WHERE what = 'uncertain' AND why = 'smtp_refused'";
    office.harness.until_count(refused, 1).await;
    assert_eq!(office.state(&id).await, "uncertain");
    office.stays(UNCERTAIN).await;
    assert_eq!(server.accepted().len(), 1);
    office.harness.end().await;
}
