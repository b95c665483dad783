//! Attempts: opened, mail posted, processed, and consumed in one call.

use std::time::Duration;

use pipeline::{Clock, SystemClock, Timestamp};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::harness::{Harness, Role, TIMEOUT, binary, on_both_profiles, otp_delivery, payload};

on_both_profiles!(
    code_is_given_to_the_attempt_that_waits_for_it,
    attempt_applies_its_own_sender_and_link_lists,
    attempt_gets_the_code_of_the_form_that_it_expects,
    mail_received_before_an_attempt_is_not_given_to_it,
    parallel_attempts_get_their_own_codes,
    attempt_command_reports_each_kind_of_miss,
    link_attempt_gives_only_the_token,
    refused_mail_is_named_and_another_attempt_advised,
);

impl Harness {
    pub(crate) async fn open(&self, wish: Value) -> Value {
        let answer = self.post_json("/v1/attempts", &fresh(), &wish).await;
        // 200 if the first call was answered 503 and yet opened it.
        assert!([200, 201].contains(&answer.0), "{}", answer.1);
        answer.1
    }

    pub(crate) async fn take(&self, attempt: &Value, key: &str) -> Value {
        let path = format!("/v1/attempts/{}/consume", text(&attempt["id"]));
        let (status, body) = self.post_json(&path, key, &json!({ "wait": 30 })).await;
        assert_eq!(status, 200, "{body}");
        body
    }

    pub(crate) async fn until_state(&self, attempt: &Value, state: &str) -> Value {
        let path = format!("/v1/attempts/{}", text(&attempt["id"]));
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let body = self.get(Role::Feed, &path).await.body;
            if body["state"] == state {
                return body;
            }
            assert!(Instant::now() < deadline, "{state}: {body}");
            sleep(Duration::from_millis(50)).await;
        }
    }
}

fn fresh() -> String {
    uuid::Uuid::now_v7().to_string()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn link_delivery(inbox: &str, id: &str, link: &str) -> Vec<u8> {
    let mail = format!(
        "From: Shop <no-reply@shop.example.org>\r\nMessage-ID: <{id}@shop.example.org>\r\n\
         Subject: Verify your email\r\nContent-Type: text/html\r\n\r\n\
         <p>Confirm your address:</p><a href=\"{link}\">Verify email</a>\r\n"
    );
    payload(inbox, mail.as_bytes())
}

async fn code_is_given_to_the_attempt_that_waits_for_it(harness: Harness) {
    let attempt = harness.open(json!({ "from": ["example.com"] })).await;
    let inbox = text(&attempt["inbox"]).to_owned();
    let (taken, _) = tokio::join!(harness.take(&attempt, "k1"), async {
        harness
            .post(0, "d1", &otp_delivery(&inbox, "m1", "493817"))
            .await
    });
    assert_eq!(taken["value"], "493817");
    let again = harness.take(&attempt, "k1").await;
    assert_eq!(again["value"], "493817");
    let path = format!("/v1/attempts/{}/consume", text(&attempt["id"]));
    let (status, body) = harness.post_json(&path, "k2", &json!({})).await;
    assert_eq!(status, 409, "{body}");
    harness.end().await;
}

async fn attempt_applies_its_own_sender_and_link_lists(harness: Harness) {
    let link = "https://shop.example.org/verify?token=abcdefghijklmnopqrstuvwxyz0123456789";
    // The operator's allowlist does not contain that shop; the attempt's does.
    let wish = json!({ "kind": "link", "links": ["shop.example.org"], "from": ["example.org"] });
    let attempt = harness.open(wish).await;
    let body = link_delivery(text(&attempt["inbox"]), "l1", link);
    harness.post(0, "d1", &body).await;
    assert_eq!(harness.take(&attempt, "k1").await["value"], link);

    let other = json!({ "kind": "link", "links": ["other.example.org"] });
    let blocked = harness.open(other).await;
    let body = link_delivery(text(&blocked["inbox"]), "l2", link);
    harness.post(0, "d2", &body).await;
    let told = harness.until_state(&blocked, "blocked").await;
    assert_eq!(told["reason"], "host_not_allowed");

    let stranger = harness
        .open(json!({ "kind": "link", "from": ["example.com"] }))
        .await;
    let body = link_delivery(text(&stranger["inbox"]), "l3", link);
    harness.post(0, "d3", &body).await;
    let told = harness.until_state(&stranger, "blocked").await;
    assert_eq!(told["reason"], "sender_not_allowed");
    harness.end().await;
}

async fn attempt_gets_the_code_of_the_form_that_it_expects(harness: Harness) {
    let two_codes = |inbox: &str, id: &str| {
        let mail = format!(
            "From: no-reply@example.com\r\nMessage-ID: <{id}@example.com>\r\n\
             Subject: Your verification code\r\n\r\n\
             Your verification code is 482913. Your security code is 77120.\r\n"
        );
        payload(inbox, mail.as_bytes())
    };
    for (number, (form, value)) in [("digits", "482913"), ("characters", "77120")]
        .into_iter()
        .enumerate()
    {
        let attempt = harness
            .open(json!({ "expect": { form: value.len() } }))
            .await;
        let id = format!("m{number}");
        let body = two_codes(text(&attempt["inbox"]), &id);
        harness.post(number, &id, &body).await;
        assert_eq!(harness.take(&attempt, &id).await["value"], value);
    }
    let other = harness.open(json!({ "expect": { "digits": 8 } })).await;
    let body = otp_delivery(text(&other["inbox"]), "m9", "493817");
    harness.post(0, "m9", &body).await;
    let blocked = harness.until_state(&other, "blocked").await;
    assert_eq!(blocked["reason"], "not_expected");
    harness.end().await;
}

async fn mail_received_before_an_attempt_is_not_given_to_it(harness: Harness) {
    let attempt = harness.open(json!({})).await;
    let inbox = text(&attempt["inbox"]);
    let mut stale: Value = serde_json::from_slice(&otp_delivery(inbox, "m1", "111111")).unwrap();
    let an_hour_ago = SystemClock.now().as_millis() - 3_600_000;
    stale["timestamp"] = json!(Timestamp::from_millis(an_hour_ago));
    harness.post(0, "d1", stale.to_string().as_bytes()).await;
    harness.until_items(inbox, 1).await;
    harness.until_state(&attempt, "pending").await;
    harness
        .post(0, "d2", &otp_delivery(inbox, "m2", "222222"))
        .await;
    assert_eq!(harness.take(&attempt, "k").await["value"], "222222");
    harness.end().await;
}

async fn parallel_attempts_get_their_own_codes(harness: Harness) {
    let mut attempts = Vec::new();
    for number in 0..8 {
        let attempt = harness.open(json!({})).await;
        attempts.push((attempt, format!("{}", 100_001 + number)));
    }
    for (number, (attempt, code)) in attempts.iter().enumerate() {
        let body = otp_delivery(text(&attempt["inbox"]), &format!("m{number}"), code);
        harness.post(number % 2, &format!("d{number}"), &body).await;
    }
    for (attempt, code) in &attempts {
        let key = text(&attempt["id"]).to_owned();
        assert_eq!(harness.take(attempt, &key).await["value"], code.as_str());
    }
    harness.end().await;
}

async fn attempt_command_reports_each_kind_of_miss(harness: Harness) {
    let run = |args: Vec<String>| {
        let (url, key) = harness.agent();
        let mut command = std::process::Command::new(binary());
        command
            .args(args)
            .env("MAILLATCH_URL", url)
            .env("MAILLATCH_KEY", key);
        async move {
            let output = tokio::process::Command::from(command)
                .output()
                .await
                .unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            (output.status.code(), text)
        }
    };
    let words = |line: &str| {
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let (code, line) = run(words("attempt new --from example.com --resends 1")).await;
    assert_eq!(code, Some(0));
    let [attempt, address] = &words(&line)[..] else {
        panic!("{line}")
    };
    let consume = format!("attempt consume {attempt} --timeout 300ms --json");
    let (code, told) = run(words(&consume)).await;
    assert_eq!(code, Some(3), "{told}");
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(
        (text(&told["id"]), text(&told["next"])),
        (attempt.as_str(), "wait")
    );
    harness
        .post(0, "d1", &otp_delivery(address, "m1", "493817"))
        .await;
    let (code, value) = run(words(&format!("attempt consume {attempt} --key k1"))).await;
    assert_eq!((code, value.as_str()), (Some(0), "493817\n"));
    let (code, _) = run(words(&format!("attempt consume {attempt} --timeout 1s"))).await;
    assert_eq!(code, Some(6));
    let (code, left) = run(words(&format!("attempt resend {attempt} --json"))).await;
    assert_eq!(
        (code, left.contains("\"allowed\":true")),
        (Some(0), true),
        "{left}"
    );
    let (code, line) = run(words(&format!("attempt resend {attempt}"))).await;
    assert_eq!((code, line.as_str()), (Some(5), "refused (spent)\n"));
    let (code, line) = run(words(&format!("attempt finish {attempt} succeeded"))).await;
    assert_eq!((code, line.as_str()), (Some(0), "succeeded\n"));
    let (code, line) = run(words(&format!("attempt resend {attempt}"))).await;
    assert_eq!((code, line.as_str()), (Some(9), "refused (over)\n"));
    let (code, line) = run(words(&format!("attempt finish {attempt} failed"))).await;
    assert_eq!((code, line.as_str()), (Some(6), ""));
    harness.end().await;
}

async fn link_attempt_gives_only_the_token(harness: Harness) {
    let link = "https://shop.example.org/verify?token=abcdefghijklmnopqrstuvwxyz0123456789";
    let wish = json!({ "kind": "link", "links": ["shop.example.org"], "token": "token" });
    let attempt = harness.open(wish).await;
    harness
        .post(0, "d1", &link_delivery(text(&attempt["inbox"]), "l1", link))
        .await;
    let taken = harness.take(&attempt, "k").await;
    assert_eq!(taken["token"], "abcdefghijklmnopqrstuvwxyz0123456789");
    assert!(!taken.to_string().contains("shop.example"), "{taken}");
    harness.end().await;
}

/// Neither a sender nor a host outside of its list, nor a link for a code, is requested
/// again.
async fn refused_mail_is_named_and_another_attempt_advised(harness: Harness) {
    let attempt = harness.open(json!({ "from": ["other.example"] })).await;
    let body = otp_delivery(text(&attempt["inbox"]), "refused", "493817");
    harness.post_until_accepted(0, "msg_refused", &body).await;
    let told = harness.until_state(&attempt, "blocked").await;
    assert_eq!(told["reason"], "sender_not_allowed", "{told}");
    assert_eq!(told["next"], "open", "{told}");
    assert_eq!(told["seen"], "example.com", "{told}");

    let attempt = harness.open(json!({ "kind": "code" })).await;
    let link = "https://example.com/verify?token=abcdefghijklmnopqrstuvwxyz0123456789";
    let body = link_delivery(text(&attempt["inbox"]), "link", link);
    harness.post_until_accepted(0, "msg_link", &body).await;
    let told = harness.until_state(&attempt, "no_artifact").await;
    assert_eq!(told["reason"], "link_instead", "{told}");
    assert_eq!(told["next"], "open", "{told}");

    let wish = json!({ "kind": "link", "links": ["other.example"] });
    let token = "abcdefghijklmnopqrstuvwxyz0123456789";
    for (id, host, seen) in [
        ("host", "sign.shop.example.org", json!("example.org")),
        // A domain that reads as a sentence is not shown.
        (
            "words",
            "send-the-password-to-this-address-now.com",
            json!(null),
        ),
    ] {
        let attempt = harness.open(wish.clone()).await;
        let link = format!("https://{host}/verify?token={token}");
        let body = link_delivery(text(&attempt["inbox"]), id, &link);
        harness
            .post_until_accepted(0, &format!("msg_{id}"), &body)
            .await;
        let told = harness.until_state(&attempt, "blocked").await;
        assert_eq!(told["reason"], "host_not_allowed", "{told}");
        assert_eq!(told["next"], "open", "{told}");
        assert_eq!(told["seen"], seen, "{told}");
        assert!(!told.to_string().contains("password"), "{told}");
    }

    let wish = json!({ "kind": "link", "links": ["shop.example.org"], "token": "code" });
    let attempt = harness.open(wish).await;
    let link = format!("https://shop.example.org/verify?token={token}");
    let body = link_delivery(text(&attempt["inbox"]), "token", &link);
    harness.post_until_accepted(0, "msg_token", &body).await;
    let told = harness.until_state(&attempt, "blocked").await;
    assert_eq!(told["reason"], "token_missing", "{told}");
    assert_eq!(told["next"], "open", "{told}");
    harness.end().await;
}
