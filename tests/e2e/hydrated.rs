//! Mail that its webhook tells of and does not carry, fetched from a local server
//! that speaks the provider's contract; and mail that gives an agent nothing.

use pipeline::{Clock, SystemClock};
use secrecy::SecretString;
use serde_json::json;
use testkit::api::{Api, ok};

use crate::harness::{Harness, on_both_profiles, otp_mail, payload};

const SECRET: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

on_both_profiles!(an_answer_of_a_machine_and_the_inboxs_own_mail_are_marked_and_give_nothing);

/// Posts a body as Svix does.
async fn send(harness: &Harness, source: &str, body: &str) {
    let now = SystemClock.now();
    let secret = SecretString::from(SECRET);
    let signature = providers::sign(&secret, "msg_1", now, body.as_bytes()).unwrap();
    let stamp = now.as_seconds().to_string();
    let headers = [
        ("content-type", "application/json"),
        ("svix-id", "msg_1"),
        ("svix-timestamp", &stamp),
        ("svix-signature", &signature),
    ];
    let to = &harness.deployment;
    let answer = harness
        .speaker
        .post_to(to, source, &headers, body.as_bytes());
    assert_eq!(answer.await.unwrap().status, 200);
}

fn sources(api: &Api) -> String {
    let of = |provider: &str| {
        format!(
            "source.{provider} = {{ provider = \"{provider}\", secrets = [\"{SECRET}\"], \
             api_key = \"the-key\", api_url = \"{}\" }}\n",
            api.url
        )
    };
    [of("resend"), of("agentmail")].concat()
}

async fn mail_is_fetched_from_the_providers_api(api: Api, harness: Harness) {
    let link = format!("{}/files/e1.eml", api.url);
    let away = (503, String::new(), Vec::new());
    let found = json!({ "raw": { "download_url": link } }).to_string();
    api.on("/emails/receiving/e1", vec![away, ok(found)]);
    api.on("/files/e1.eml", vec![ok(otp_mail("1", "493817"))]);
    api.on(
        "/v0/inboxes/agentmail%40inbox.test/messages/m1/raw",
        vec![ok(otp_mail("2", "271828"))],
    );
    let resend = json!({ "type": "email.received", "data": {
        "email_id": "e1", "received_for": ["resend@inbox.test"],
    } });
    send(&harness, "resend", &resend.to_string()).await;
    let agentmail = json!({ "event_type": "message.received", "message": {
        "inbox_id": "agentmail@inbox.test", "message_id": "m1",
    } });
    send(&harness, "agentmail", &agentmail.to_string()).await;
    for (inbox, code) in [
        ("resend@inbox.test", "493817"),
        ("agentmail@inbox.test", "271828"),
    ] {
        let items = harness.until_items(inbox, 1).await;
        let id = items[0]["id"].as_str().unwrap();
        let consumed = harness.consume(id, 0, inbox).await;
        assert_eq!(consumed.body["value"], code);
    }
    harness.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mail_is_fetched_from_the_providers_api_on_the_embedded_profile() {
    let api = Api::start().await;
    let harness = Harness::embedded_with(&sources(&api)).await;
    mail_is_fetched_from_the_providers_api(api, harness).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mail_is_fetched_from_the_providers_api_on_the_full_profile() {
    let api = Api::start().await;
    let harness = Harness::full_with(&sources(&api)).await;
    mail_is_fetched_from_the_providers_api(api, harness).await;
}

async fn an_answer_of_a_machine_and_the_inboxs_own_mail_are_marked_and_give_nothing(
    harness: Harness,
) {
    let mail = String::from_utf8(otp_mail("1", "493817")).unwrap();
    let replied = format!("Auto-Submitted: auto-replied\r\n{mail}");
    let own = mail.replace("no-reply@example.com", "agent@inbox.test");
    for (inbox, raw, mark) in [
        ("reply@inbox.test", replied, "auto_reply"),
        ("own@inbox.test", own, "self_sent"),
    ] {
        harness.post(0, mark, &payload(inbox, raw.as_bytes())).await;
        let items = harness.until_items(inbox, 1).await;
        let id = items[0]["id"].as_str().unwrap();
        let consumed = harness.consume(id, 0, mark).await;
        assert_ne!(consumed.status, 200, "{}", items[0]);
        assert!(!consumed.body.to_string().contains("493817"));
        assert!(items[0].to_string().contains(mark), "{}", items[0]);
    }
    harness.end().await;
}
