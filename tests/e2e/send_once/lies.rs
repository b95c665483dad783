//! Providers that lie, and providers that say plainly that nothing was sent.

use testkit::mail_provider::Lie;

use super::office::{FAILED, Office, PATIENT, Profile, READY, SENT, UNCERTAIN, on_each_database};

on_each_database!(
    lies_leave_it_uncertain_and_nothing_is_repeated_without_a_key,
    lies_are_settled_by_the_key,
    lies_are_settled_by_a_look_up_if_the_mail_was_accepted,
    proven_failures_are_retried_or_final,
    look_up_that_lags_leaves_it_uncertain,
    refused_sender_is_paused_and_its_mail_is_kept,
);

const LIES: [Lie; 7] = [
    Lie::ErrorAfterAccepting,
    Lie::GarbageAfterAccepting,
    Lie::ResetBeforeBody,
    Lie::ResetInBody,
    Lie::ResetAfterAccepting,
    Lie::SilenceAfterAccepting,
    Lie::Silence,
];

/// An office whose providers tell every lie, and a mail for each lie.
async fn lying_office(profile: Profile, providers: &[&str]) -> Office {
    let office = Office::open_with(profile, providers, "").await;
    for sender in &office.senders {
        sender.provider.lie(LIES);
    }
    for n in 0..LIES.len() {
        office.order_by_all(&format!("o{n}"), "paid").await;
    }
    office
}

/// So many mails of each sender.
fn of_each(office: &Office, mails: usize) -> i64 {
    office.all() * i64::try_from(mails).unwrap()
}

async fn lies_leave_it_uncertain_and_nothing_is_repeated_without_a_key(profile: Profile) {
    let office = lying_office(profile, &["ses", "sendgrid"]).await;
    let all = of_each(&office, LIES.len());
    office.harness.until_count(UNCERTAIN, all).await;
    office.stays(UNCERTAIN).await;
    for sender in &office.senders {
        let name = &sender.name;
        assert_eq!(sender.provider.requests(), LIES.len(), "{name}");
        sender.expect_each_at_most_once();
    }
    office.harness.end().await;
}

async fn lies_are_settled_by_the_key(profile: Profile) {
    let keyed = ["resend", "agentmail", "nylas", "brevo", "sparkpost"];
    let office = lying_office(profile, &keyed).await;
    let all = of_each(&office, LIES.len());
    office.harness.until_count(SENT, all).await;
    for sender in &office.senders {
        assert_eq!(sender.accepted(), LIES.len(), "{}", sender.name);
        sender.expect_each_at_most_once();
        sender.same_bytes();
    }
    office.harness.end().await;
}

/// Four of the lies accept the mail. The look-up finds these, and says nothing of the
/// others.
async fn lies_are_settled_by_a_look_up_if_the_mail_was_accepted(profile: Profile) {
    let office = lying_office(profile, &["postmark", "mailgun"]).await;
    let (found, unknown) = (of_each(&office, 4), of_each(&office, LIES.len() - 4));
    office.harness.until_count(SENT, found).await;
    office.harness.until_count(UNCERTAIN, unknown).await;
    office.stays(UNCERTAIN).await;
    for sender in &office.senders {
        let counts = (sender.accepted(), sender.provider.requests());
        assert_eq!(counts, (4, LIES.len()), "{}", sender.name);
        sender.expect_each_at_most_once();
    }
    office.harness.end().await;
}

/// All but Nylas, which repeats an error for an hour.
const REFUSALS: [(&str, u16, &str); 5] = [
    ("postmark", 422, "{\"ErrorCode\":300}"),
    ("mailgun", 400, "{\"message\":\"'to' is missing\"}"),
    ("sendgrid", 413, "{\"errors\":[]}"),
    ("brevo", 400, "{\"code\":\"invalid_parameter\"}"),
    ("sparkpost", 422, "{\"errors\":[{\"code\":\"1400\"}]}"),
];

async fn proven_failures_are_retried_or_final(profile: Profile) {
    let names = REFUSALS.map(|(name, ..)| name);
    let office = Office::open_with(profile, &names, PATIENT).await;
    let expect_counts = |expected: (usize, usize)| {
        for sender in &office.senders {
            let counts = (sender.accepted(), sender.provider.requests());
            assert_eq!(counts, expected, "{}", sender.name);
        }
    };
    let limited = Lie::Answer(429, "{}".to_owned());
    for sender in &office.senders {
        sender.provider.lie([limited.clone(), limited.clone()]);
    }
    office.order_by_all("o1", "paid").await;
    office.harness.until_count(SENT, office.all()).await;
    expect_counts((1, 3));

    for (sender, (_, status, body)) in office.senders.iter().zip(REFUSALS) {
        sender.provider.lie([Lie::Answer(status, body.to_owned())]);
    }
    let refused = office.order_by_all("o2", "paid").await;
    office.harness.until_count(FAILED, office.all()).await;
    for id in &refused {
        assert_eq!(office.state(id).await, "failed");
    }
    expect_counts((1, 4));

    // Connections are refused, and then they are not.
    for sender in &office.senders {
        sender.provider.refuse().await;
    }
    office.order_by_all("o3", "paid").await;
    let tried = "SELECT count(*) FROM sends WHERE state <> 'sent' AND state <> 'failed' \
                 AND tries > 0";
    office.harness.until_count(tried, office.all()).await;
    for sender in &office.senders {
        sender.provider.open().await;
    }
    office.harness.until_count(SENT, 2 * office.all()).await;
    expect_counts((2, 5));
    office.harness.end().await;
}

async fn look_up_that_lags_leaves_it_uncertain(profile: Profile) {
    let office = Office::open_with(profile, &["postmark", "mailgun"], "").await;
    for sender in &office.senders {
        sender.provider.hide_accepted(true);
        sender.provider.lie([Lie::ResetAfterAccepting]);
    }
    office.order_by_all("o1", "paid").await;
    let looked = "SELECT count(*) FROM sends WHERE state = 'uncertain' AND settle_tries > 3";
    office.harness.until_count(looked, office.all()).await;
    for sender in &office.senders {
        sender.provider.hide_accepted(false);
    }
    office.harness.until_count(SENT, office.all()).await;
    for sender in &office.senders {
        let counts = (sender.accepted(), sender.provider.requests());
        assert_eq!(counts, (1, 1), "{}", sender.name);
    }
    office.harness.end().await;
}

async fn refused_sender_is_paused_and_its_mail_is_kept(profile: Profile) {
    let office = Office::open(profile, "resend").await;
    office
        .provider()
        .always(Some(Lie::Answer(401, "{}".to_owned())));
    for n in 0..5 {
        office.order(&format!("o{n}")).await;
    }
    let tried = "SELECT count(*) FROM sends WHERE tries > 0";
    office.harness.until_at_least(tried, 1).await;
    office.harness.until_count(READY, 5).await;
    assert_eq!(office.accepted(), 0);
    office.harness.end().await;
}
