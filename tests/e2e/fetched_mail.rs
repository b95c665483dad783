//! Webhooks that announce a mail without its content: the mail is fetched from a fake
//! provider API. Also mail that gives an agent nothing.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use pipeline::{Clock, SystemClock, Timestamp};
use secrecy::SecretString;
use serde_json::{Value, json};
use testkit::api::{Api, ok};
use testkit::shared_secret::hex_signature;

use crate::client::HttpAnswer;
use crate::harness::{Harness, on_both_profiles, otp_mail, payload};

const SECRET: &str = "whsec_c2VjcmV0IG9mIHRoZSBlbmQtdG8tZW5kIHRlc3Rz";

on_both_profiles!(automatic_replies_and_own_mail_are_flagged_and_give_nothing);

/// A post as Svix signs it, signed this many seconds ago.
fn by_svix(id: &str, body: &Value, seconds_ago: i64) -> Vec<(String, String)> {
    let now = Timestamp::from_millis(SystemClock.now().as_millis() - seconds_ago * 1000);
    let secret = SecretString::from(SECRET);
    let signature = providers::sign(&secret, id, now, body.to_string().as_bytes());
    let headers = [
        ("svix-id", id.to_owned()),
        ("svix-timestamp", now.as_seconds().to_string()),
        ("svix-signature", signature.unwrap()),
    ];
    headers
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
}

/// A post as Nylas signs it.
fn by_nylas(body: &Value) -> Vec<(String, String)> {
    let signature = hex_signature(SECRET, body.to_string().as_bytes());
    vec![("x-nylas-signature".to_owned(), signature)]
}

async fn send(
    harness: &Harness,
    source: &str,
    signed: Vec<(String, String)>,
    body: &Value,
) -> HttpAnswer {
    let mut headers = vec![("content-type", "application/json")];
    headers.extend(signed.iter().map(|(name, value)| (&**name, &**value)));
    let body = body.to_string();
    let to = &harness.deployment;
    let answer = harness
        .client
        .post_to(to, source, &headers, body.as_bytes());
    answer.await.unwrap()
}

fn sources(api: &Api) -> String {
    let of = |provider: &str| {
        format!(
            "source.{provider} = {{ provider = \"{provider}\", secrets = [\"{SECRET}\"], \
             api_key = \"the-key\", api_url = \"{}\" }}\n",
            api.url
        )
    };
    [of("resend"), of("agentmail"), of("nylas")].concat()
}

fn resend(id: &str, inbox: &str) -> Value {
    json!({ "type": "email.received", "data": {
        "email_id": id, "received_for": [inbox], "to": ["list@sender.test"], "subject": "Code",
    } })
}

fn agentmail() -> Value {
    json!({ "event_type": "message.received", "event_id": "evt_1", "message": {
        "inbox_id": "agentmail@inbox.test", "message_id": "m1", "subject": "Code",
    } })
}

fn nylas(attempt: u8) -> Value {
    json!({
        "specversion": "1.0", "type": "message.created.truncated", "id": "n-1",
        "webhook_delivery_attempt": attempt,
        "data": { "application_id": "a", "object": {
            "id": "m-1", "grant_id": "g-1", "folders": ["INBOX"], "subject": "Code",
            "to": [{ "name": "", "email": "nylas@inbox.test" }],
        } },
    })
}

/// A mail larger than what `AgentMail` puts into a post.
fn large_mail(code: &str) -> Vec<u8> {
    let attachment = STANDARD.encode(vec![7; 800_000]);
    let text = format!(
        "From: Example Accounts <no-reply@example.com>\r\nMessage-ID: <large@example.com>\r\n\
         Subject: Your verification code\r\nMIME-Version: 1.0\r\n\
         Content-Type: multipart/mixed; boundary=b\r\n\r\n\
         --b\r\nContent-Type: text/plain\r\n\r\nYour verification code is {code}.\r\n\
         --b\r\nContent-Type: application/pdf; name=terms.pdf\r\n\
         Content-Disposition: attachment\r\nContent-Transfer-Encoding: base64\r\n\r\n\
         {attachment}\r\n--b--\r\n"
    );
    text.into_bytes()
}

/// The answers of each provider's API, and one whose link leads to `other`.
fn shelve(api: &Api, other: &Api) {
    let link = |name: &str| json!({ "raw": { "download_url": format!("{}{name}", api.url) } });
    // The first link has expired when it is used.
    let links = ["/files/old.eml", "/files/new.eml"].map(|name| ok(link(name).to_string()));
    api.on("/emails/receiving/e1", links.to_vec());
    api.on("/files/old.eml", vec![(403, String::new(), Vec::new())]);
    api.on("/files/new.eml", vec![ok(otp_mail("1", "493817"))]);

    let raw = json!({ "size": 1_000_000, "download_url": format!("{}/files/m1", api.url) });
    let path = "/v0/inboxes/agentmail%40inbox.test/messages/m1/raw";
    api.on(path, vec![ok(raw.to_string())]);
    let mail = large_mail("271828");
    assert!(mail.len() > 1_000_000);
    api.on("/files/m1", vec![ok(mail)]);

    let raw = URL_SAFE_NO_PAD.encode(otp_mail("3", "161803"));
    let answer = json!({ "data": { "id": "m-1", "raw_mime": raw } }).to_string();
    api.on(
        "/v3/grants/g-1/messages/m-1?fields=raw_mime",
        vec![ok(answer)],
    );

    let away = format!("location: {}/emails/receiving/e2\r\n", other.url);
    api.on("/emails/receiving/e2", vec![(302, away, Vec::new())]);
    let stolen = json!({ "raw": { "download_url": format!("{}/x", other.url) } });
    api.on("/emails/receiving/e3", vec![ok(stolen.to_string())]);
}

async fn each_post_is_answered_as_its_contract_asks(harness: &Harness) {
    let (to_resend, to_agentmail) = (resend("e1", "resend@inbox.test"), agentmail());
    let (first_try, second_try) = (nylas(1), nylas(2));
    // Svix signs each retry again; Nylas counts retries in the body.
    for (source, first, first_body, retry, retry_body) in [
        (
            "resend",
            by_svix("r-1", &to_resend, 60),
            &to_resend,
            by_svix("r-1", &to_resend, 0),
            &to_resend,
        ),
        (
            "agentmail",
            by_svix("a-1", &to_agentmail, 60),
            &to_agentmail,
            by_svix("a-1", &to_agentmail, 0),
            &to_agentmail,
        ),
        (
            "nylas",
            by_nylas(&first_try),
            &first_try,
            by_nylas(&second_try),
            &second_try,
        ),
    ] {
        let first = send(harness, source, first, first_body).await;
        assert_eq!(first.body["status"], "accepted", "{source} {first:?}");
        let retry = send(harness, source, retry, retry_body).await;
        assert_eq!(retry.body["status"], "duplicate", "{source} {retry:?}");
        assert_eq!(retry.body["delivery"], first.body["delivery"], "{source}");
    }
    // A post that is too old, and forged copies.
    for (source, signed, body) in [
        ("resend", by_svix("r-1", &to_resend, 301), &to_resend),
        ("resend", by_svix("r-1", &to_agentmail, 0), &to_resend),
        ("agentmail", by_svix("a-2", &to_resend, 0), &to_agentmail),
        ("nylas", by_nylas(&second_try), &first_try),
    ] {
        let answer = send(harness, source, signed, body).await;
        // Nylas gives up after a 401 and comes back after a 503.
        let status = if source == "nylas" { 503 } else { 401 };
        assert_eq!(answer.status, status, "{source} {answer:?}");
    }
}

/// Links to other hosts are not followed; the delivery is dead-lettered.
async fn nothing_is_fetched_from_elsewhere(harness: &Harness, other: &Api) {
    for id in ["e2", "e3"] {
        let body = resend(id, "resend@inbox.test");
        let answer = send(harness, "resend", by_svix(id, &body, 0), &body).await;
        assert_eq!(answer.status, 200);
    }
    let buried = "SELECT count(*) FROM deliveries WHERE reason = 'fetch_leads_away'";
    harness.until_count(buried, 2).await;
    assert!(other.asked.lock().unwrap().is_empty());
}

async fn mail_is_fetched_from_the_providers_api(api: Api, harness: Harness) {
    let other = Api::start().await;
    shelve(&api, &other);
    each_post_is_answered_as_its_contract_asks(&harness).await;
    for (inbox, code) in [
        ("resend@inbox.test", "493817"),
        ("agentmail@inbox.test", "271828"),
        ("nylas@inbox.test", "161803"),
    ] {
        let items = harness.until_items(inbox, 1).await;
        let id = items[0]["id"].as_str().unwrap();
        let consumed = harness.consume(id, 0, inbox).await;
        assert_eq!(consumed.body["value"], code);
    }
    nothing_is_fetched_from_elsewhere(&harness, &other).await;
    assert_eq!(harness.count("SELECT count(*) FROM deliveries").await, 5);
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

async fn automatic_replies_and_own_mail_are_flagged_and_give_nothing(harness: Harness) {
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
