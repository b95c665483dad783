//! Broken sources beside a working one.

use maillatch::deployment::Role;
use testkit::wait::until;

use crate::broken_api;
use crate::harness::Harness;
use crate::poll_http::{provider_mail, signers, source};
use crate::provider_api::ProviderApi;

const PAGES: usize = 5;

fn settings(api: &ProviderApi) -> String {
    format!(
        "poll.pages = {PAGES}\nwebhook.body_limit = 1000000\n{}{}",
        source(api, "postmark", 1),
        broken_api::sources(api)
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_sources_are_limited_and_reported_on_the_embedded_profile() {
    let api = ProviderApi::start();
    let harness = Harness::embedded_with(&settings(&api)).await;
    broken_sources_are_limited_and_reported(harness, api).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_sources_are_limited_and_reported_on_the_full_profile() {
    let api = ProviderApi::start();
    let mut harness = Harness::full_with(&settings(&api)).await;
    harness.deployment.add(Role::Poll).await.unwrap();
    broken_sources_are_limited_and_reported(harness, api).await;
}

/// The number of rounds of a source.
fn rounds(metrics: &str, source: &str) -> usize {
    let of_source = format!("maillatch_polls_total{{source=\"{source}\"");
    let lines = metrics.lines().filter(|line| line.starts_with(&of_source));
    let counts = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<usize>().ok());
    counts.sum()
}

async fn broken_sources_are_limited_and_reported(harness: Harness, api: ProviderApi) {
    let good = "postmark@inbox.test";
    let signers = signers(&source(&api, "postmark", 1));
    api.arrive(
        "postmark",
        provider_mail(&signers, "postmark", "m1", "493817").mail,
    );
    harness.until_items(good, 1).await;
    let endless = "SELECT count(*) FROM polls WHERE failure = 'poll_endless'";
    harness.until_count(endless, 2).await;
    // Mail below the size limit is ingested; mail with a future time counts as new.
    harness.until_items("huge@inbox.test", 1).await;
    harness.until_items("ahead@inbox.test", 1).await;
    // After several rounds the working source is still polled.
    until("rounds of the broken sources", async || {
        let metrics = harness.metrics(Role::Poll).await;
        let rounds = ["endless", "circling", "broken"].map(|source| rounds(&metrics, source));
        rounds.iter().all(|rounds| *rounds >= 2).then_some(())
    })
    .await;
    api.arrive(
        "postmark",
        provider_mail(&signers, "postmark", "m2", "582946").mail,
    );
    harness.until_items(good, 2).await;

    let asked = ["endless", "circling"].map(|source| (source, api.list_requests(source)));
    let metrics = harness.metrics(Role::Poll).await;
    for (source, asked) in asked {
        let most = PAGES * (rounds(&metrics, source) + 1);
        assert!(
            asked <= most,
            "{source} was asked {asked} times, {most} at most"
        );
    }
    for expected in [
        "maillatch_poll_failing{source=\"endless\"} 1",
        "maillatch_poll_failing{source=\"circling\"} 1",
        "maillatch_poll_failing{source=\"broken\"} 1",
        "maillatch_poll_skipped_total{source=\"huge\",reason=\"too_large\"}",
        "maillatch_poll_ahead_total{source=\"ahead\"} 1",
    ] {
        assert!(metrics.contains(expected), "{expected} is not in {metrics}");
    }
    let (doctor, log) = (harness.doctor().await, harness.deployment.logs().unwrap());
    for said in [
        "endless: poll_endless",
        "circling: poll_endless",
        "broken: poll_away",
    ] {
        assert!(doctor.contains(said), "{said} is not in {doctor}");
    }
    assert!(log.contains("failed to poll the source"));
    assert!(log.contains("a listed mail was not recorded"));
    // One mail of each, however often it was listed.
    let from_broken = "SELECT count(*) FROM deliveries WHERE source IN ('endless', 'circling')";
    assert_eq!(harness.count(from_broken).await, 2);
    harness.end().await;
    api.stop().await;
}
