//! Providers that lie, and providers that say plainly that nothing was sent.

use testkit::mail_provider::Lie;

use super::office::{FAILED, Office, Profile, READY, SENT, UNCERTAIN, on_each_database};

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

async fn lies_leave_it_uncertain_and_nothing_is_repeated_without_a_key(profile: Profile) {
    for provider in ["ses", "sendgrid"] {
        let office = Office::open(profile, provider).await;
        office.provider.lie(LIES);
        for n in 0..LIES.len() {
            office.order(&format!("o{n}")).await;
        }
        let all = i64::try_from(LIES.len()).unwrap();
        office.harness.until_count(UNCERTAIN, all).await;
        office.stays(UNCERTAIN).await;
        assert_eq!(office.provider.requests(), LIES.len(), "{provider}");
        office.expect_each_at_most_once();
        office.harness.end().await;
    }
}

async fn lies_are_settled_by_the_key(profile: Profile) {
    for provider in ["resend", "agentmail", "nylas", "brevo", "sparkpost"] {
        let office = Office::open(profile, provider).await;
        office.provider.lie(LIES);
        for n in 0..LIES.len() {
            office.order(&format!("o{n}")).await;
        }
        let all = i64::try_from(LIES.len()).unwrap();
        office.harness.until_count(SENT, all).await;
        assert_eq!(office.accepted(), LIES.len(), "{provider}");
        office.expect_each_at_most_once();
        office.same_bytes();
        office.harness.end().await;
    }
}

/// Four of the lies accept the mail. The look-up finds these, and says nothing of the
/// others.
async fn lies_are_settled_by_a_look_up_if_the_mail_was_accepted(profile: Profile) {
    for provider in ["postmark", "mailgun"] {
        let office = Office::open(profile, provider).await;
        office.provider.lie(LIES);
        for n in 0..LIES.len() {
            office.order(&format!("o{n}")).await;
        }
        office.harness.until_count(SENT, 4).await;
        office.harness.until_count(UNCERTAIN, 3).await;
        office.stays(UNCERTAIN).await;
        let counts = (office.accepted(), office.provider.requests());
        assert_eq!(counts, (4, LIES.len()), "{provider}");
        office.expect_each_at_most_once();
        office.harness.end().await;
    }
}

/// All but Nylas, which repeats an error for an hour.
async fn proven_failures_are_retried_or_final(profile: Profile) {
    for (provider, refusal) in [
        ("postmark", (422, "{\"ErrorCode\":300}")),
        ("mailgun", (400, "{\"message\":\"'to' is missing\"}")),
        ("sendgrid", (413, "{\"errors\":[]}")),
        ("brevo", (400, "{\"code\":\"invalid_parameter\"}")),
        ("sparkpost", (422, "{\"errors\":[{\"code\":\"1400\"}]}")),
    ] {
        fails_and_is_retried_or_final(profile, provider, refusal).await;
    }
}

async fn fails_and_is_retried_or_final(profile: Profile, provider: &str, refusal: (u16, &str)) {
    let office = Office::open(profile, provider).await;
    let limited = Lie::Answer(429, "{}".to_owned());
    office.provider.lie([limited.clone(), limited]);
    office.order("o1").await;
    office.harness.until_count(SENT, 1).await;
    assert_eq!((office.accepted(), office.provider.requests()), (1, 3));

    let (status, body) = refusal;
    office.provider.lie([Lie::Answer(status, body.to_owned())]);
    let id = office.order("o2").await;
    office.harness.until_count(FAILED, 1).await;
    assert_eq!(office.state(&id).await, "failed");
    assert_eq!((office.accepted(), office.provider.requests()), (1, 4));

    // Connections are refused, and then they are not.
    office.provider.refuse().await;
    office.order("o3").await;
    let tried = "SELECT count(*) FROM sends WHERE state = 'ready' AND tries > 0";
    office.harness.until_count(tried, 1).await;
    office.provider.open().await;
    office.harness.until_count(SENT, 2).await;
    assert_eq!(office.accepted(), 2);
    office.harness.end().await;
}

async fn look_up_that_lags_leaves_it_uncertain(profile: Profile) {
    for provider in ["postmark", "mailgun"] {
        let office = Office::open(profile, provider).await;
        office.provider.hide_accepted(true);
        office.provider.lie([Lie::ResetAfterAccepting]);
        office.order("o1").await;
        office.harness.until_count(UNCERTAIN, 1).await;
        let looked = "SELECT count(*) FROM sends WHERE state = 'uncertain' AND settle_tries > 3";
        office.harness.until_count(looked, 1).await;
        assert_eq!(office.provider.requests(), 1, "{provider}");
        office.provider.hide_accepted(false);
        office.harness.until_count(SENT, 1).await;
        assert_eq!((office.accepted(), office.provider.requests()), (1, 1));
        office.harness.end().await;
    }
}

async fn refused_sender_is_paused_and_its_mail_is_kept(profile: Profile) {
    let office = Office::open(profile, "resend").await;
    office
        .provider
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
