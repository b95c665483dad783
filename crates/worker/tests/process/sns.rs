//! What SNS and SES leave to the worker: a subscription to be confirmed, and mail
//! that is in S3.

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

use crate::desk::{Desk, otp_mail};

const ACCESS_KEY: &str = "AKIAIOSFODNN7EXAMPLE";
const SECRET_KEY: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
const CONFIRMATION: &str = "/?Action=ConfirmSubscription&\
    TopicArn=arn%3Aaws%3Asns%3Aeu-west-1%3A123456789012%3Amail&Token=a-token";

/// A desk with a source whose SNS and S3 are both at `api`.
async fn desk(api: &Api) -> Desk {
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
    Desk::with_sources(BTreeMap::from([("ses".to_owned(), settings)])).await
}

fn at() -> Timestamp {
    Timestamp::from_millis(1_763_164_800_000)
}

fn heads(api: &Api) -> Vec<String> {
    api.asked.lock().unwrap().clone()
}

async fn confirm(answers: Vec<Answer>) -> (Api, Desk) {
    let api = Api::start().await;
    api.on(CONFIRMATION, answers);
    let desk = desk(&api).await;
    let kind = Kind::SubscriptionConfirmation;
    let body = Sns::at(&api.url).post(kind, "s-1", "Please confirm.", at());
    desk.record_from("ses", "s-1", body.as_bytes()).await;
    desk.work_until_idle().await;
    (api, desk)
}

fn status(code: u16) -> Answer {
    (code, String::new(), Vec::new())
}

#[tokio::test]
async fn a_subscription_is_confirmed_once() {
    let (api, desk) = confirm(vec![ok("<ConfirmSubscriptionResponse/>")]).await;
    let heads = heads(&api);
    assert_eq!(heads.len(), 1, "{heads:?}");
    assert!(!heads[0].to_lowercase().contains("authorization"));
    assert_eq!(desk.store.failures.dead_letters(10).await.unwrap().len(), 0);
}

#[tokio::test]
async fn a_confirmation_is_tried_again_while_sns_is_away() {
    let (api, desk) = confirm(vec![status(503), ok("yes")]).await;
    assert_eq!(heads(&api).len(), 2);
    assert_eq!(desk.store.failures.dead_letters(10).await.unwrap().len(), 0);
}

#[tokio::test]
async fn a_confirmation_that_comes_too_late_or_leads_away_is_kept_for_the_operator() {
    let away = (
        302,
        "location: http://localhost:1/\r\n".to_owned(),
        Vec::new(),
    );
    for (answer, reason) in [
        (status(400), "confirmation_refused"),
        (away, "fetch_leads_away"),
    ] {
        let (api, desk) = confirm(vec![answer]).await;
        let buried = desk.store.failures.dead_letters(10).await.unwrap();
        assert_eq!(buried[0].reason.as_str(), reason);
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
    // `20251115T000000Z`, as the standard has it.
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
async fn mail_in_s3_is_got_with_a_signature_that_aws_would_take() {
    let api = Api::start().await;
    api.on("/mail/in/a%20b%2Bc", vec![ok(otp_mail("1", "493817"))]);
    let desk = desk(&api).await;
    let body = Sns::at(&api.url).mail_in(["mail", "in/a b+c"], "agent@inbox.test", at());
    desk.record_from("ses", "m-1", body.as_bytes()).await;
    desk.work_until_idle().await;
    assert_eq!(desk.items("agent@inbox.test").await.len(), 1);
    let heads = heads(&api);
    let authorization = header(&heads[0], "authorization");
    let scope = format!("AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/");
    assert!(authorization.starts_with(&scope), "{authorization}");
    let expected = format!("Signature={}", expected(&heads[0]));
    assert!(authorization.ends_with(&expected), "{authorization}");
    assert!(!heads[0].contains(SECRET_KEY));
}

#[tokio::test]
async fn another_bucket_is_not_read_and_s3s_refusal_is_named() {
    let api = Api::start().await;
    api.on("/mail/gone", vec![status(403)]);
    let desk = desk(&api).await;
    let sns = Sns::at(&api.url);
    for (place, reason) in [
        (["secrets", "keys"], "bucket_foreign"),
        (["mail", "gone"], "fetch_unauthorised"),
        (["mail", "a/../b"], "fetch_odd"),
    ] {
        let body = sns.mail_in(place, "agent@inbox.test", at());
        desk.record_from("ses", place[1], body.as_bytes()).await;
        desk.work_until_idle().await;
        let buried = desk.store.failures.dead_letters(10).await.unwrap();
        let found = buried
            .iter()
            .any(|failure| failure.reason.as_str() == reason);
        assert!(found, "{reason}: {buried:?}");
    }
    assert!(
        heads(&api)
            .iter()
            .all(|head| head.starts_with("GET /mail/gone "))
    );
}
