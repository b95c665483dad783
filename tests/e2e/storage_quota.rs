//! The storage quota. Finished mail over it loses its bodies, oldest first. Unfinished
//! mail keeps them; when it fills the share of its source, posts of that source are
//! answered 503, and other sources deliver.

use std::time::Duration;

use pipeline::{Clock, SystemClock};
use secrecy::SecretString;
use serde_json::{Value, json};
use testkit::api::{Api, ok};
use testkit::noise::noise;
use tokio::time::{Instant, sleep};

use crate::client::HttpAnswer;
use crate::harness::{Harness, Role, TIMEOUT, otp_mail, payload};

const SECRET: &str = "whsec_dGhlIHF1b3RhIHRlc3Qgc2lnbnMgd2l0aCB0aGlz";

/// Room for six bodies of 60,000 bytes.
const QUOTA: usize = 400_000;

/// So many bodies fill the share of one source, which is three quarters of the quota.
const FULL_SHARE: i64 = 5;

const ANNOUNCED: &str = "SELECT count(*) FROM deliveries WHERE source = 'resend'";

fn settings(api: &Api) -> String {
    format!(
        "retention.max_bytes = {QUOTA}\nretention.every = \"200ms\"\n\
         worker.fetch_retry_ceiling = \"1s\"\n\
         source.resend = {{ provider = \"resend\", secrets = [\"{SECRET}\"], \
         api_key = \"the-key\", api_url = \"{}\" }}\n",
        api.url
    )
}

/// A mail of about 60,000 bytes. The base64 of its post is decoded before it is stored.
fn large_mail(number: usize) -> Vec<u8> {
    let mut mail = otp_mail(&number.to_string(), "493817");
    for line in noise(number as u64, 58_000).as_bytes().chunks(76) {
        mail.extend([line, b"\r\n"].concat());
    }
    mail
}

/// A large post that announces a mail of the provider's API.
async fn announce(harness: &Harness, number: usize) -> HttpAnswer {
    let body: Value = json!({ "type": "email.received", "data": {
        "email_id": format!("e{number}"), "received_for": ["resend@inbox.test"],
        "subject": noise(number as u64, 60_000),
    } });
    let (id, body) = (format!("r-{number}"), body.to_string());
    let now = SystemClock.now();
    let secret = SecretString::from(SECRET);
    let signature = providers::sign(&secret, &id, now, body.as_bytes()).unwrap();
    let seconds = now.as_seconds().to_string();
    let headers = [
        ("content-type", "application/json"),
        ("svix-id", &id),
        ("svix-timestamp", &seconds),
        ("svix-signature", &signature),
    ];
    let to = &harness.deployment;
    let answer = harness
        .client
        .post_to(to, "resend", &headers, body.as_bytes());
    answer.await.unwrap()
}

/// Announces until the answer is neither an outage of a busy machine nor `status`.
async fn announce_until(harness: &Harness, number: usize, status: u16) -> HttpAnswer {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let answer = announce(harness, number).await;
        if answer.status == status {
            return answer;
        }
        assert!(Instant::now() < deadline, "{answer:?}");
        sleep(Duration::from_millis(100)).await;
    }
}

fn is_full(answer: &HttpAnswer) -> bool {
    answer.body["type"] == "urn:maillatch:problem:storage-full"
}

async fn finished_mail_loses_its_oldest_bodies(harness: &Harness) {
    for number in 0..12 {
        let post = payload("agent@inbox.test", &large_mail(number));
        let answer = harness
            .post_until_accepted(0, &format!("m{number}"), &post)
            .await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let done = "SELECT count(*) FROM deliveries WHERE state = 'done'";
        harness
            .until_at_least(done, i64::try_from(number + 1).unwrap())
            .await;
    }
    let wiped = "SELECT count(*) FROM deliveries WHERE body IS NULL";
    harness.until_at_least(wiped, 6).await;
    let newest_first = "SELECT count(*) FROM deliveries old JOIN deliveries young
        ON old.finished_at < young.finished_at
        WHERE old.body IS NOT NULL AND young.body IS NULL";
    assert_eq!(harness.count(newest_first).await, 0);
    let metrics = harness.metrics(Role::Worker).await;
    assert!(metrics.contains("maillatch_stored_bytes{kind=\"finished\"}"));
    assert!(metrics.contains("maillatch_wiped_total{kind=\"bodies_over_quota\"}"));
    // A duplicate is still one, and the code is there.
    let post = payload("agent@inbox.test", &large_mail(0));
    let again = harness.post_until_accepted(0, "m0", &post).await;
    assert_eq!(again.body["status"], "duplicate");
    assert!(!harness.until_items("agent@inbox.test", 1).await.is_empty());
}

/// Announces mails until the source's share is full; returns how many were accepted.
///
/// The figures of a process are measured every few seconds. In between, mail that was
/// finished meanwhile is counted, and mail that was recorded meanwhile may be missing. So a
/// refusal counts only when the database holds a full share, and a mail too many may pass.
async fn fill_the_share(harness: &Harness) -> usize {
    let deadline = Instant::now() + TIMEOUT;
    let mut accepted = 0;
    loop {
        let answer = announce(harness, accepted).await;
        if is_full(&answer) {
            assert_eq!(answer.status, 503);
            assert_eq!(answer.headers["retry-after"], "60");
            if harness.count(ANNOUNCED).await >= FULL_SHARE && warns(harness).await {
                return accepted;
            }
            sleep(Duration::from_millis(100)).await;
        }
        accepted += usize::from(answer.status == 200);
        assert!(accepted <= 6, "the quota is for six");
        assert!(Instant::now() < deadline, "{answer:?}");
    }
}

async fn warns(harness: &Harness) -> bool {
    let answer = harness.ops(Role::Webhook, "readyz").await;
    assert_eq!(answer.status, 200);
    let warnings = answer.body["warnings"].to_string();
    warnings.contains("storage: unfinished mail")
}

async fn unfinished_mail_closes_the_door_for_its_source_alone(harness: &Harness, api: &Api) {
    let unavailable = vec![(503, String::new(), Vec::new())];
    for number in 0..8 {
        api.on(&format!("/emails/receiving/e{number}"), unavailable.clone());
    }
    let accepted = fill_the_share(harness).await;
    let measured = async || {
        let metrics = harness.metrics(Role::Worker).await;
        let meter = "maillatch_stored_bytes{kind=\"unfinished\"} ";
        let bytes = metrics.lines().find_map(|line| line.strip_prefix(meter))?;
        (bytes.parse::<f64>().ok()? >= 60_000.0).then_some(())
    };
    testkit::wait::until("the janitor has measured it", measured).await;
    let other = payload("agent@inbox.test", &otp_mail("other", "271828"));
    let other = harness.post_until_accepted(1, "other", &other).await;
    assert_eq!(other.status, 200, "{other:?}");
    let doctor = harness.doctor().await;
    let line = doctor.lines().find(|line| line.contains("storage"));
    assert!(
        line.is_some_and(|line| line.starts_with("warn")),
        "{doctor}"
    );
    let wiped = "SELECT count(*) FROM deliveries WHERE source = 'resend' AND body IS NULL";
    assert_eq!(harness.count(wiped).await, 0);

    // The API answers again: the mail is processed, and the refused post is accepted.
    for number in 0..8 {
        let place = json!({ "raw": { "download_url": format!("{}/mail", api.url) } });
        let answers = vec![ok(place.to_string())];
        api.on(&format!("/emails/receiving/e{number}"), answers);
    }
    api.on("/mail", vec![ok(otp_mail("fetched", "161803"))]);
    announce_until(harness, accepted, 200).await;
    let done = "SELECT count(*) FROM deliveries WHERE source = 'resend' AND state = 'done'";
    harness
        .until_count(done, i64::try_from(accepted + 1).unwrap())
        .await;
}

async fn quota_is_kept(harness: Harness, api: Api) {
    finished_mail_loses_its_oldest_bodies(&harness).await;
    unfinished_mail_closes_the_door_for_its_source_alone(&harness, &api).await;
    harness.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn quota_is_kept_on_the_embedded_profile() {
    let api = Api::start().await;
    quota_is_kept(Harness::embedded_with(&settings(&api)).await, api).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn quota_is_kept_on_the_full_profile() {
    let api = Api::start().await;
    quota_is_kept(Harness::full_with(&settings(&api)).await, api).await;
}
