//! Mail that its webhook post did not carry.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use providers::SourceSettings;
use secrecy::SecretString;
use testkit::api::{Answer, Api, ok};

use crate::fixture::{Fixture, otp_mail};

/// A worker with one source for each provider whose mail is fetched from `api`.
async fn fixture(api: &Api) -> Fixture {
    let sources = ["resend", "agentmail", "nylas"].map(|provider| {
        let secret = SecretString::from(format!("whsec_{}", STANDARD.encode([7; 32])));
        let settings = SourceSettings {
            provider: provider.to_owned(),
            secrets: vec![secret.into()],
            api_key: Some("the-key".into()),
            api_url: Some(api.url.clone()),
            ..SourceSettings::default()
        };
        (provider.to_owned(), settings)
    });
    Fixture::with_sources(BTreeMap::from(sources)).await
}

const RESEND: &[u8] =
    br#"{"type":"email.received","data":{"email_id":"e1","received_for":["agent@inbox.test"]}}"#;

fn link_to(url: &str) -> Vec<u8> {
    format!(r#"{{"raw":{{"download_url":"{url}"}}}}"#).into_bytes()
}

#[tokio::test]
async fn resend_mail_is_fetched_through_the_link_of_its_api() {
    let api = Api::start().await;
    let link = link_to(&format!("{}/files/e1.eml", api.url));
    api.on("/emails/receiving/e1", vec![ok(link)]);
    api.on("/files/e1.eml", vec![ok(otp_mail("1", "493817"))]);
    let fixture = fixture(&api).await;
    fixture.record_from("resend", "one", RESEND).await;
    fixture.work_until_idle().await;
    assert_eq!(fixture.items("agent@inbox.test").await.len(), 1);
    let asked = api.asked.lock().unwrap();
    assert!(
        asked[0]
            .to_lowercase()
            .contains("authorization: bearer the-key")
    );
}

#[tokio::test]
async fn resend_mail_without_its_original_is_rebuilt_and_says_so() {
    let api = Api::start().await;
    let answer = r#"{"from":"no-reply@example.com","to":["agent@inbox.test"],"raw":null,
        "subject":"Code","text":"Your verification code is 493817.","html":null}"#;
    api.on("/emails/receiving/e1", vec![ok(answer)]);
    let fixture = fixture(&api).await;
    fixture.record_from("resend", "one", RESEND).await;
    fixture.work_until_idle().await;
    let item = fixture.items("agent@inbox.test").await.remove(0);
    assert_eq!(item.verdict.as_str(), "usable", "{item:?}");
    assert_eq!(item.sender_proof.as_str(), "rebuilt", "{item:?}");
}

#[tokio::test]
async fn agentmail_large_mail_is_fetched_through_a_link() {
    let api = Api::start().await;
    let path = "/v0/inboxes/agent%40inbox.test/messages/%3Cm%40z%3E/raw";
    let link = format!(r#"{{"download_url":"{}/raw/m"}}"#, api.url);
    api.on(path, vec![ok(link)]);
    api.on("/raw/m", vec![ok(otp_mail("1", "493817"))]);
    let fixture = fixture(&api).await;
    let body = br#"{"event_type":"message.received",
        "message":{"inbox_id":"agent@inbox.test","message_id":"<m@z>"}}"#;
    fixture.record_from("agentmail", "one", body).await;
    fixture.work_until_idle().await;
    assert_eq!(fixture.items("agent@inbox.test").await.len(), 1);
}

#[tokio::test]
async fn nylas_truncated_mail_is_fetched_as_base64() {
    let api = Api::start().await;
    let raw = URL_SAFE_NO_PAD.encode(otp_mail("1", "493817"));
    let answer = format!(r#"{{"data":{{"raw_mime":"{raw}"}}}}"#);
    api.on("/v3/grants/g/messages/m?fields=raw_mime", vec![ok(answer)]);
    let fixture = fixture(&api).await;
    let body = br#"{"type":"message.created.truncated","data":{"object":
        {"id":"m","grant_id":"g","to":[{"email":"agent@inbox.test"}]}}}"#;
    fixture.record_from("nylas", "one", body).await;
    fixture.work_until_idle().await;
    assert_eq!(fixture.items("agent@inbox.test").await.len(), 1);
}

#[tokio::test]
async fn unavailable_api_is_retried() {
    let api = Api::start().await;
    let unavailable = (503, String::new(), Vec::new());
    let link = link_to(&format!("{}/files/e1.eml", api.url));
    api.on("/emails/receiving/e1", vec![unavailable, ok(link)]);
    api.on("/files/e1.eml", vec![ok(otp_mail("1", "493817"))]);
    let fixture = fixture(&api).await;
    fixture.record_from("resend", "one", RESEND).await;
    fixture.work_until_idle().await;
    assert_eq!(fixture.items("agent@inbox.test").await.len(), 1);
}

#[tokio::test]
async fn unavailable_api_is_retried_beyond_the_attempt_limit() {
    let api = Api::start().await;
    let unavailable = || (503, String::new(), Vec::new());
    let link = link_to(&format!("{}/files/e1.eml", api.url));
    let mut answers: Vec<Answer> = (0..6).map(|_| unavailable()).collect();
    answers.push(ok(link));
    api.on("/emails/receiving/e1", answers);
    api.on("/files/e1.eml", vec![ok(otp_mail("1", "493817"))]);
    let fixture = fixture(&api).await;
    assert!(fixture.deps.settings.backoff.attempts < 6);
    fixture.record_from("resend", "one", RESEND).await;
    fixture.work_until_idle().await;
    assert_eq!(fixture.items("agent@inbox.test").await.len(), 1);
}

#[tokio::test]
async fn expired_download_link_is_requested_again() {
    let api = Api::start().await;
    let link = |name: &str| ok(link_to(&format!("{}/files/{name}.eml", api.url)));
    api.on("/emails/receiving/e1", vec![link("old"), link("new")]);
    api.on("/files/old.eml", vec![(403, String::new(), Vec::new())]);
    api.on("/files/new.eml", vec![ok(otp_mail("1", "493817"))]);
    let fixture = fixture(&api).await;
    fixture.record_from("resend", "one", RESEND).await;
    fixture.work_until_idle().await;
    assert_eq!(fixture.items("agent@inbox.test").await.len(), 1);
}

#[tokio::test]
async fn redirect_within_the_providers_hosts_is_followed() {
    let api = Api::start().await;
    let moved = (307, "location: /moved/e1\r\n".to_owned(), Vec::new());
    api.on("/emails/receiving/e1", vec![moved]);
    let link = link_to(&format!("{}/files/e1.eml", api.url));
    api.on("/moved/e1", vec![ok(link)]);
    api.on("/files/e1.eml", vec![ok(otp_mail("1", "493817"))]);
    let fixture = fixture(&api).await;
    fixture.record_from("resend", "one", RESEND).await;
    fixture.work_until_idle().await;
    assert_eq!(fixture.items("agent@inbox.test").await.len(), 1);
}

/// The reason for which a delivery is dead-lettered when the API gives this answer.
async fn dead_letter_reason(answer: Answer) -> String {
    let api = Api::start().await;
    api.on("/emails/receiving/e1", vec![answer]);
    let fixture = fixture(&api).await;
    fixture.record_from("resend", "one", RESEND).await;
    fixture.work_until_idle().await;
    let dead_letters = fixture.store.failures.dead_letters(10).await.unwrap();
    dead_letters[0].reason.to_string()
}

#[tokio::test]
async fn api_errors_are_dead_lettered_with_a_reason() {
    assert_eq!(
        dead_letter_reason((404, String::new(), Vec::new())).await,
        "fetch_unavailable"
    );
    assert_eq!(
        dead_letter_reason((401, String::new(), Vec::new())).await,
        "fetch_unauthorised"
    );
    assert_eq!(dead_letter_reason(ok("not json")).await, "fetch_odd");
    assert_eq!(
        dead_letter_reason(ok(vec![b' '; 100_001])).await,
        "too_large"
    );
    let elsewhere = "location: http://localhost:1/x\r\n".to_owned();
    assert_eq!(
        dead_letter_reason((302, elsewhere, Vec::new())).await,
        "fetch_leads_away"
    );
    assert_eq!(
        dead_letter_reason(ok(link_to("http://localhost:1/x"))).await,
        "fetch_leads_away"
    );
}

#[tokio::test]
async fn redirect_loop_is_dead_lettered() {
    let around = "location: /emails/receiving/e1\r\n".to_owned();
    assert_eq!(
        dead_letter_reason((302, around, Vec::new())).await,
        "fetch_odd"
    );
}

#[tokio::test]
async fn remote_mail_without_an_api_key_is_dead_lettered() {
    let secret = SecretString::from(format!("whsec_{}", STANDARD.encode([7; 32])));
    let settings = SourceSettings {
        provider: "resend".to_owned(),
        secrets: vec![secret.into()],
        ..SourceSettings::default()
    };
    let fixture = Fixture::with_sources(BTreeMap::from([("resend".to_owned(), settings)])).await;
    fixture.record_from("resend", "one", RESEND).await;
    fixture.work_until_idle().await;
    let dead_letters = fixture.store.failures.dead_letters(10).await.unwrap();
    assert_eq!(dead_letters[0].reason.as_str(), "message_not_included");
}
