//! Mail that a provider received before an attempt was opened is not given to it, even when
//! the provider posts it later because the webhook was unavailable.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pipeline::{Clock, SystemClock, Timestamp};
use serde_json::{Value, json};
use testkit::api::{Api, ok};
use testkit::shared_secret::hex_signature;

use crate::harness::{Harness, otp_mail};

const SECRET: &str = "a-shared-secret-of-some-length";

/// A provider that posts the mail, and one whose API it is fetched from.
fn sources(api: &Api) -> String {
    format!(
        "source.mailersend = {{ provider = \"mailersend\", secrets = [\"{SECRET}\"] }}\n\
         source.nylas = {{ provider = \"nylas\", secrets = [\"{SECRET}\"], \
         api_key = \"the-key\", api_url = \"{}\" }}\n",
        api.url
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn late_post_of_older_mail_is_given_to_no_attempt_on_the_embedded_profile() {
    let api = Api::start().await;
    let harness = Harness::embedded_with(&sources(&api)).await;
    late_post_of_older_mail_is_given_to_no_attempt(harness, &api).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn late_post_of_older_mail_is_given_to_no_attempt_on_the_full_profile() {
    let api = Api::start().await;
    let harness = Harness::full_with(&sources(&api)).await;
    late_post_of_older_mail_is_given_to_no_attempt(harness, &api).await;
}

async fn late_post_of_older_mail_is_given_to_no_attempt(harness: Harness, api: &Api) {
    let yesterday = Timestamp::from_millis(SystemClock.now().as_millis() - 86_400_000);
    for source in ["mailersend", "nylas"] {
        let attempt = harness.open(json!({})).await;
        let inbox = attempt["inbox"].as_str().unwrap();
        post(&harness, source, api, inbox, ("111111", yesterday)).await;
        let items = harness.until_items(inbox, 1).await;
        assert_eq!(items[0]["attempt"], Value::Null, "{source}: {}", items[0]);
        harness.until_state(&attempt, "pending").await;
        post(&harness, source, api, inbox, ("222222", SystemClock.now())).await;
        let taken = harness.take(&attempt, source).await;
        assert_eq!(taken["value"], "222222", "{source}");
    }
    harness.end().await;
}

/// Posts a mail with this code that its provider received at this time.
async fn post(
    harness: &Harness,
    source: &str,
    api: &Api,
    inbox: &str,
    (code, at): (&str, Timestamp),
) {
    let (header, body) = if source == "nylas" {
        ("x-nylas-signature", by_nylas(api, inbox, code, at))
    } else {
        ("signature", by_mailersend(inbox, code, at))
    };
    let body = body.to_string();
    let signature = hex_signature(SECRET, body.as_bytes());
    let headers = [("content-type", "application/json"), (header, &*signature)];
    let to = &harness.deployment;
    let answer = harness
        .client
        .post_to(to, source, &headers, body.as_bytes());
    assert_eq!(answer.await.unwrap().status, 200, "{source}");
}

fn by_mailersend(inbox: &str, code: &str, at: Timestamp) -> Value {
    let raw = String::from_utf8(otp_mail(code, code)).unwrap();
    json!({ "type": "inbound.message", "data": {
        "id": code, "raw": raw, "created_at": at,
        "recipients": { "rcptTo": [{ "email": inbox }] },
    } })
}

/// The mail is available at the API.
fn by_nylas(api: &Api, inbox: &str, code: &str, at: Timestamp) -> Value {
    let raw = URL_SAFE_NO_PAD.encode(otp_mail(code, code));
    let answer = json!({ "data": { "raw_mime": raw } });
    let path = format!("/v3/grants/g/messages/{code}?fields=raw_mime");
    api.on(&path, vec![ok(answer.to_string())]);
    json!({ "type": "message.created.truncated", "id": code, "data": { "object": {
        "id": code, "grant_id": "g", "date": at.as_seconds(),
        "to": [{ "email": inbox }], "folders": ["INBOX"],
    } } })
}
