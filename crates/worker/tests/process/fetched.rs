//! Mail that its webhook did not carry.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use providers::SourceSettings;
use secrecy::SecretString;
use testkit::api::{Answer, Api, ok};

use crate::desk::{Desk, otp_mail};

/// A desk with a source of each provider whose mail may be at `api`.
async fn desk(api: &Api) -> Desk {
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
    Desk::with_sources(BTreeMap::from(sources)).await
}

const RESEND: &[u8] =
    br#"{"type":"email.received","data":{"email_id":"e1","received_for":["agent@inbox.test"]}}"#;

fn link_to(url: &str) -> Vec<u8> {
    format!(r#"{{"raw":{{"download_url":"{url}"}}}}"#).into_bytes()
}

#[tokio::test]
async fn resends_mail_is_fetched_through_the_link_its_api_gives() {
    let api = Api::start().await;
    let link = link_to(&format!("{}/files/e1.eml", api.url));
    api.on("/emails/receiving/e1", vec![ok(link)]);
    api.on("/files/e1.eml", vec![ok(otp_mail("1", "493817"))]);
    let desk = desk(&api).await;
    desk.record_from("resend", "one", RESEND).await;
    desk.work_until_idle().await;
    assert_eq!(desk.items("agent@inbox.test").await.len(), 1);
    let asked = api.asked.lock().unwrap();
    assert!(
        asked[0]
            .to_lowercase()
            .contains("authorization: bearer the-key")
    );
}

#[tokio::test]
async fn agentmails_large_mail_is_fetched_through_a_link_too() {
    let api = Api::start().await;
    let path = "/v0/inboxes/agent%40inbox.test/messages/%3Cm%40z%3E/raw";
    let link = format!(r#"{{"download_url":"{}/raw/m"}}"#, api.url);
    api.on(path, vec![ok(link)]);
    api.on("/raw/m", vec![ok(otp_mail("1", "493817"))]);
    let desk = desk(&api).await;
    let body = br#"{"event_type":"message.received",
        "message":{"inbox_id":"agent@inbox.test","message_id":"<m@z>"}}"#;
    desk.record_from("agentmail", "one", body).await;
    desk.work_until_idle().await;
    assert_eq!(desk.items("agent@inbox.test").await.len(), 1);
}

#[tokio::test]
async fn nylas_truncated_mail_is_fetched_in_base64() {
    let api = Api::start().await;
    let raw = URL_SAFE_NO_PAD.encode(otp_mail("1", "493817"));
    let answer = format!(r#"{{"data":{{"raw_mime":"{raw}"}}}}"#);
    api.on("/v3/grants/g/messages/m?fields=raw_mime", vec![ok(answer)]);
    let desk = desk(&api).await;
    let body = br#"{"type":"message.created.truncated","data":{"object":
        {"id":"m","grant_id":"g","to":[{"email":"agent@inbox.test"}]}}}"#;
    desk.record_from("nylas", "one", body).await;
    desk.work_until_idle().await;
    assert_eq!(desk.items("agent@inbox.test").await.len(), 1);
}

#[tokio::test]
async fn an_api_that_is_away_for_a_while_is_asked_again() {
    let api = Api::start().await;
    let away = (503, String::new(), Vec::new());
    let link = link_to(&format!("{}/files/e1.eml", api.url));
    api.on("/emails/receiving/e1", vec![away, ok(link)]);
    api.on("/files/e1.eml", vec![ok(otp_mail("1", "493817"))]);
    let desk = desk(&api).await;
    desk.record_from("resend", "one", RESEND).await;
    desk.work_until_idle().await;
    assert_eq!(desk.items("agent@inbox.test").await.len(), 1);
}

#[tokio::test]
async fn an_api_that_is_away_for_more_tries_than_a_mail_has_is_still_asked() {
    let api = Api::start().await;
    let away = || (503, String::new(), Vec::new());
    let link = link_to(&format!("{}/files/e1.eml", api.url));
    let mut answers: Vec<Answer> = (0..6).map(|_| away()).collect();
    answers.push(ok(link));
    api.on("/emails/receiving/e1", answers);
    api.on("/files/e1.eml", vec![ok(otp_mail("1", "493817"))]);
    let desk = desk(&api).await;
    assert!(desk.deps.settings.backoff.attempts < 6);
    desk.record_from("resend", "one", RESEND).await;
    desk.work_until_idle().await;
    assert_eq!(desk.items("agent@inbox.test").await.len(), 1);
}

#[tokio::test]
async fn a_link_that_has_expired_is_asked_for_anew() {
    let api = Api::start().await;
    let link = |name: &str| ok(link_to(&format!("{}/files/{name}.eml", api.url)));
    api.on("/emails/receiving/e1", vec![link("old"), link("new")]);
    api.on("/files/old.eml", vec![(403, String::new(), Vec::new())]);
    api.on("/files/new.eml", vec![ok(otp_mail("1", "493817"))]);
    let desk = desk(&api).await;
    desk.record_from("resend", "one", RESEND).await;
    desk.work_until_idle().await;
    assert_eq!(desk.items("agent@inbox.test").await.len(), 1);
}

#[tokio::test]
async fn a_redirect_within_the_providers_own_hosts_is_followed() {
    let api = Api::start().await;
    let moved = (307, "location: /moved/e1\r\n".to_owned(), Vec::new());
    api.on("/emails/receiving/e1", vec![moved]);
    let link = link_to(&format!("{}/files/e1.eml", api.url));
    api.on("/moved/e1", vec![ok(link)]);
    api.on("/files/e1.eml", vec![ok(otp_mail("1", "493817"))]);
    let desk = desk(&api).await;
    desk.record_from("resend", "one", RESEND).await;
    desk.work_until_idle().await;
    assert_eq!(desk.items("agent@inbox.test").await.len(), 1);
}

/// Runs a delivery whose first answer is `answer`; why it was given up.
async fn dead_letters(answer: Answer) -> String {
    let api = Api::start().await;
    api.on("/emails/receiving/e1", vec![answer]);
    let desk = desk(&api).await;
    desk.record_from("resend", "one", RESEND).await;
    desk.work_until_idle().await;
    let buried = desk.store.failures.dead_letters(10).await.unwrap();
    buried[0].reason.to_string()
}

#[tokio::test]
async fn what_the_api_does_wrong_is_bounded_and_named() {
    assert_eq!(
        dead_letters((404, String::new(), Vec::new())).await,
        "fetch_unavailable"
    );
    assert_eq!(
        dead_letters((401, String::new(), Vec::new())).await,
        "fetch_unauthorised"
    );
    assert_eq!(dead_letters(ok("not json")).await, "fetch_odd");
    assert_eq!(dead_letters(ok(vec![b' '; 100_001])).await, "too_large");
    let elsewhere = "location: http://localhost:1/x\r\n".to_owned();
    assert_eq!(
        dead_letters((302, elsewhere, Vec::new())).await,
        "fetch_leads_away"
    );
    assert_eq!(
        dead_letters(ok(link_to("http://localhost:1/x"))).await,
        "fetch_leads_away"
    );
}

#[tokio::test]
async fn a_redirect_to_itself_ends() {
    let around = "location: /emails/receiving/e1\r\n".to_owned();
    assert_eq!(dead_letters((302, around, Vec::new())).await, "fetch_odd");
}

#[tokio::test]
async fn without_a_key_the_delivery_is_kept_for_the_operator() {
    let secret = SecretString::from(format!("whsec_{}", STANDARD.encode([7; 32])));
    let settings = SourceSettings {
        provider: "resend".to_owned(),
        secrets: vec![secret.into()],
        ..SourceSettings::default()
    };
    let desk = Desk::with_sources(BTreeMap::from([("resend".to_owned(), settings)])).await;
    desk.record_from("resend", "one", RESEND).await;
    desk.work_until_idle().await;
    let buried = desk.store.failures.dead_letters(10).await.unwrap();
    assert_eq!(buried[0].reason.as_str(), "message_not_included");
}
