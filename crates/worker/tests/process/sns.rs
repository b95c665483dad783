//! SNS and SES: subscriptions that the worker confirms, and mail that it fetches
//! from S3.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningSettings,
    UriPathNormalizationMode, sign,
};
use aws_sigv4::sign::v4::SigningParams;
use pipeline::Timestamp;
use providers::{S3Settings, SourceSettings};
use testkit::api::{Answer, Api, ok};
use testkit::sns::{Kind, Sns, TOPIC};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::fixture::{Fixture, otp_mail};

const ACCESS_KEY: &str = "AKIAIOSFODNN7EXAMPLE";
const SECRET_KEY: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
const CONFIRMATION: &str = "/?Action=ConfirmSubscription&\
    TopicArn=arn%3Aaws%3Asns%3Aeu-west-1%3A123456789012%3Amail&Token=a-token";

/// A worker with a source whose SNS and S3 are both at `api`.
async fn fixture(api: &Api) -> Fixture {
    let settings = SourceSettings {
        provider: "ses-sns".to_owned(),
        topics: vec![TOPIC.to_owned()],
        sns_url: Some(api.url.clone()),
        s3: Some(S3Settings {
            bucket: "mail".to_owned(),
            access_key: ACCESS_KEY.to_owned(),
            secret_key: SECRET_KEY.into(),
            region: None,
            url: Some(api.url.clone()),
        }),
        ..SourceSettings::default()
    };
    Fixture::with_sources(BTreeMap::from([("ses".to_owned(), settings)])).await
}

fn at() -> Timestamp {
    Timestamp::from_millis(1_763_164_800_000)
}

fn heads(api: &Api) -> Vec<String> {
    api.asked.lock().unwrap().clone()
}

async fn confirm(answers: Vec<Answer>) -> (Api, Fixture) {
    let api = Api::start().await;
    api.on(CONFIRMATION, answers);
    let fixture = fixture(&api).await;
    let kind = Kind::SubscriptionConfirmation;
    let body = Sns::at(&api.url).post(kind, "s-1", "Please confirm.", at());
    fixture.record_from("ses", "s-1", body.as_bytes()).await;
    fixture.work_until_idle().await;
    (api, fixture)
}

fn status(code: u16) -> Answer {
    (code, String::new(), Vec::new())
}

#[tokio::test]
async fn subscription_is_confirmed_once() {
    let (api, fixture) = confirm(vec![ok("<ConfirmSubscriptionResponse/>")]).await;
    let heads = heads(&api);
    assert_eq!(heads.len(), 1, "{heads:?}");
    assert!(!heads[0].to_lowercase().contains("authorization"));
    assert_eq!(
        fixture.store.failures.dead_letters(10).await.unwrap().len(),
        0
    );
}

#[tokio::test]
async fn confirmation_is_retried_while_sns_is_unavailable() {
    let (api, fixture) = confirm(vec![status(503), ok("yes")]).await;
    assert_eq!(heads(&api).len(), 2);
    assert_eq!(
        fixture.store.failures.dead_letters(10).await.unwrap().len(),
        0
    );
}

#[tokio::test]
async fn refused_or_redirected_confirmation_is_dead_lettered() {
    let redirect = (
        302,
        "location: http://localhost:1/\r\n".to_owned(),
        Vec::new(),
    );
    for (answer, reason) in [
        (status(400), "confirmation_refused"),
        (redirect, "fetch_leads_away"),
    ] {
        let (api, fixture) = confirm(vec![answer]).await;
        let dead_letters = fixture.store.failures.dead_letters(10).await.unwrap();
        assert_eq!(dead_letters[0].reason.as_str(), reason);
        assert_eq!(heads(&api).len(), 1);
    }
}

/// The value of a header in a request's head.
fn header<'a>(head: &'a str, name: &str) -> &'a str {
    head.lines()
        .filter_map(|line| line.split_once(": "))
        .find(|(have, _)| have.eq_ignore_ascii_case(name))
        .map_or("", |(_, value)| value)
}

/// The signature that S3 expects of a request with this head.
fn expected(head: &str) -> String {
    let path = head.split(' ').nth(1).unwrap();
    let url = format!("http://{}{path}", header(head, "host"));
    // The form is `20251115T000000Z`.
    let compact = header(head, "x-amz-date");
    let part = |range: std::ops::Range<usize>| compact.get(range).unwrap();
    let dated = format!(
        "{}-{}-{}T{}:{}:{}Z",
        part(0..4),
        part(4..6),
        part(6..8),
        part(9..11),
        part(11..13),
        part(13..15)
    );
    let moment = OffsetDateTime::parse(&dated, &Rfc3339).unwrap();
    let seconds = u64::try_from(moment.unix_timestamp()).unwrap();
    let mut settings = SigningSettings::default();
    settings.percent_encoding_mode = PercentEncodingMode::Single;
    settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
    settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
    let identity = Credentials::new(ACCESS_KEY, SECRET_KEY, None, None, "test").into();
    let params = SigningParams::builder()
        .identity(&identity)
        .region("eu-west-1")
        .name("s3")
        .time(UNIX_EPOCH + Duration::from_secs(seconds))
        .settings(settings)
        .build()
        .unwrap();
    let nothing = SignableBody::Bytes(b"");
    let request = SignableRequest::new("GET", &url, std::iter::empty(), nothing).unwrap();
    sign(request, &params.into())
        .unwrap()
        .signature()
        .to_owned()
}

#[tokio::test]
async fn mail_in_s3_is_fetched_with_a_valid_aws_signature() {
    let api = Api::start().await;
    api.on("/mail/in/a%20b%2Bc", vec![ok(otp_mail("1", "493817"))]);
    let fixture = fixture(&api).await;
    let body = Sns::at(&api.url).mail_in(["mail", "in/a b+c"], "agent@inbox.test", at());
    fixture.record_from("ses", "m-1", body.as_bytes()).await;
    fixture.work_until_idle().await;
    assert_eq!(fixture.items("agent@inbox.test").await.len(), 1);
    let heads = heads(&api);
    let authorization = header(&heads[0], "authorization");
    let scope = format!("AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/");
    assert!(authorization.starts_with(&scope), "{authorization}");
    let expected = format!("Signature={}", expected(&heads[0]));
    assert!(authorization.ends_with(&expected), "{authorization}");
    assert!(!heads[0].contains(SECRET_KEY));
}

#[tokio::test]
async fn foreign_bucket_and_s3_refusals_are_dead_lettered_with_a_reason() {
    let api = Api::start().await;
    api.on("/mail/gone", vec![status(403)]);
    let fixture = fixture(&api).await;
    let sns = Sns::at(&api.url);
    for (place, reason) in [
        (["secrets", "keys"], "bucket_foreign"),
        (["mail", "gone"], "fetch_unauthorised"),
        (["mail", "a/../b"], "fetch_odd"),
    ] {
        let body = sns.mail_in(place, "agent@inbox.test", at());
        fixture.record_from("ses", place[1], body.as_bytes()).await;
        fixture.work_until_idle().await;
        let dead_letters = fixture.store.failures.dead_letters(10).await.unwrap();
        let found = dead_letters
            .iter()
            .any(|failure| failure.reason.as_str() == reason);
        assert!(found, "{reason}: {dead_letters:?}");
    }
    assert!(
        heads(&api)
            .iter()
            .all(|head| head.starts_with("GET /mail/gone "))
    );
}

#[tokio::test]
async fn spam_and_virus_verdicts_of_ses_are_flags_of_the_item() {
    let api = Api::start().await;
    let fixture = fixture(&api).await;
    let message = serde_json::json!({
        "notificationType": "Received",
        "receipt": {
            "recipients": ["agent@inbox.test"],
            "action": { "type": "SNS", "encoding": "UTF8" },
            "spamVerdict": { "status": "FAIL" },
            "virusVerdict": { "status": "FAIL" },
        },
        "content": String::from_utf8(otp_mail("1", "493817")).unwrap(),
    });
    let message = message.to_string();
    let body = Sns::at(&api.url).post(Kind::Notification, "m-1", &message, at());
    fixture.record_from("ses", "m-1", body.as_bytes()).await;
    fixture.work_until_idle().await;
    let item = fixture.items("agent@inbox.test").await.remove(0);
    let of_provider: Vec<&String> = item
        .flags
        .iter()
        .filter(|flag| flag.starts_with("provider"))
        .collect();
    assert_eq!(of_provider, ["provider_spam", "provider_virus"]);
    assert_eq!(item.verdict.as_str(), "usable", "the flags only inform");
}

/// The verdict is about the sender that SES has read. Mail in S3 is fetched afterwards.
#[tokio::test]
async fn dmarc_verdict_about_another_sender_proves_nothing() {
    let mail = String::from_utf8(otp_mail("1", "493817")).unwrap();
    for (from, flags, proof) in [
        ("Example <no-reply@example.com>", &[][..], "provider"),
        ("no-reply@evil.test", &["provider_mismatch"], "unchecked"),
        (
            "no-reply@example.com, x@evil.test",
            &["provider_mismatch"],
            "unchecked",
        ),
    ] {
        for action in ["SNS", "S3"] {
            let api = Api::start().await;
            api.on("/mail/k", vec![ok(mail.clone())]);
            let fixture = fixture(&api).await;
            let mut message = serde_json::json!({
                "notificationType": "Received",
                "mail": { "commonHeaders": { "from": from.split(", ").collect::<Vec<_>>() } },
                "receipt": {
                    "recipients": ["agent@inbox.test"],
                    "action": { "type": action, "bucketName": "mail", "objectKey": "k" },
                    "dmarcVerdict": { "status": "PASS" },
                },
            });
            if action == "SNS" {
                message["content"] = mail.clone().into();
            }
            let message = message.to_string();
            let body = Sns::at(&api.url).post(Kind::Notification, "m-1", &message, at());
            fixture.record_from("ses", "m-1", body.as_bytes()).await;
            fixture.work_until_idle().await;
            let item = fixture.items("agent@inbox.test").await.remove(0);
            assert_eq!(item.sender_proof.as_str(), proof, "{action} {from}");
            let of_provider = item
                .flags
                .iter()
                .filter(|flag| flag.starts_with("provider"));
            assert_eq!(of_provider.collect::<Vec<_>>(), flags, "{action} {from}");
        }
    }
}
