//! A poller is killed after it has fetched a mail and before it has saved it.

use maillatch::deployment::Role;
use testkit::wait::until;

use crate::harness::Harness;
use crate::poll_http::{provider_mail, signers, source};
use crate::provider_api::ProviderApi;

fn settings(api: &ProviderApi) -> String {
    let source = source(api, "postmark", 1);
    format!("poll.lease = \"1s\"\npoll.answer_budget = \"500ms\"\n{source}")
}

#[tokio::test(flavor = "multi_thread")]
async fn mail_fetched_but_not_saved_is_recorded_once_on_the_embedded_profile() {
    let api = ProviderApi::start();
    let harness = Harness::embedded_with(&settings(&api)).await;
    mail_fetched_but_not_saved_is_recorded_once(harness, api).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mail_fetched_but_not_saved_is_recorded_once_on_the_full_profile() {
    let api = ProviderApi::start();
    let mut harness = Harness::full_with(&settings(&api)).await;
    harness.deployment.add(Role::Poll).await.unwrap();
    mail_fetched_but_not_saved_is_recorded_once(harness, api).await;
}

async fn mail_fetched_but_not_saved_is_recorded_once(mut harness: Harness, api: ProviderApi) {
    let signers = signers(&source(&api, "postmark", 1));
    api.hold();
    api.arrive(
        "postmark",
        provider_mail(&signers, "postmark", "m1", "493817").mail,
    );
    until("the poller asks for the mail", async || {
        (api.fetches() > 0).then_some(())
    })
    .await;
    // From here on nothing can be saved; now the API returns the mail.
    let lock = harness.database.lock_polls().await;
    api.release();
    until("the poller has the mail and saves it", async || {
        let log = harness.deployment.logs().unwrap();
        let saves =
            |line: &str| line.contains("recording polled mails") && line.contains("mails\":1");
        log.lines().any(saves).then_some(())
    })
    .await;
    harness.deployment.kill(Role::Poll).await.unwrap();
    lock.release().await;
    assert_eq!(harness.count("SELECT count(*) FROM deliveries").await, 0);

    harness.deployment.revive().await.unwrap();
    harness.until_items("postmark@inbox.test", 1).await;
    harness
        .until_count("SELECT count(*) FROM polls WHERE failure IS NULL", 1)
        .await;
    for rows in [
        "SELECT count(*) FROM deliveries",
        "SELECT count(*) FROM polled",
        "SELECT count(*) FROM messages",
        "SELECT count(*) FROM artifacts",
    ] {
        assert_eq!(harness.count(rows).await, 1, "{rows}");
    }
    assert!(api.fetches() >= 2, "it was fetched again");
    harness.end().await;
    api.stop().await;
}
