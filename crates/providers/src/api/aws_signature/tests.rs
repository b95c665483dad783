//! Compares our signer with AWS's own.

use std::time::{Duration, UNIX_EPOCH};

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningSettings,
    UriPathNormalizationMode, sign,
};
use aws_sigv4::sign::v4::SigningParams;
use proptest::prelude::*;

use super::*;

/// The `authorization` header that AWS's own library makes for the same request.
fn theirs(scope: &Scope, secret: &str, url: &str, seconds: u32) -> String {
    let identity = Credentials::new(&scope.access_key, secret, None, None, "test").into();
    // Only S3 signs the path as it was sent, without normalizing it.
    let mut settings = SigningSettings::default();
    settings.percent_encoding_mode = PercentEncodingMode::Single;
    settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
    settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
    let params = SigningParams::builder()
        .identity(&identity)
        .region(&scope.region)
        .name("s3")
        .time(UNIX_EPOCH + Duration::from_secs(seconds.into()))
        .settings(settings)
        .build()
        .expect("parameters");
    let nothing = SignableBody::Bytes(b"");
    let request = SignableRequest::new("GET", url, std::iter::empty(), nothing).expect("a request");
    let (instructions, _) = sign(request, &params.into()).expect("signed").into_parts();
    instructions
        .headers()
        .find(|(name, _)| *name == "authorization")
        .expect("a header")
        .1
        .to_owned()
}

/// The `authorization` header that AWS's own library makes for the same `POST`.
fn theirs_for_post(
    scope: &Scope,
    secret: &str,
    (url, body): (&str, &[u8]),
    seconds: u32,
) -> String {
    let identity = Credentials::new(&scope.access_key, secret, None, None, "test").into();
    let params = SigningParams::builder()
        .identity(&identity)
        .region(&scope.region)
        .name("ses")
        .time(UNIX_EPOCH + Duration::from_secs(seconds.into()))
        .settings(SigningSettings::default())
        .build()
        .expect("parameters");
    let body = SignableBody::Bytes(body);
    let request = SignableRequest::new("POST", url, std::iter::empty(), body).expect("a request");
    let (instructions, _) = sign(request, &params.into()).expect("signed").into_parts();
    let mut headers = instructions.headers();
    let found = headers.find(|(name, _)| *name == "authorization");
    found.expect("a header").1.to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn our_signature_of_a_post_equals_the_aws_librarys(
        access_key in "[A-Z0-9]{16,20}",
        secret in "[A-Za-z0-9/+]{40}",
        region in "[a-z]{2}-[a-z]{4,9}-[1-9]",
        path in "(/[a-z0-9.~_-]{1,12}){1,4}",
        body in proptest::collection::vec(any::<u8>(), 0..200),
        seconds in any::<u32>(),
    ) {
        prop_assume!(!path.split('/').any(|segment| segment == "." || segment == ".."));
        let scope = Scope { access_key, region };
        let host = format!("email.{}.amazonaws.com", scope.region);
        let now = Timestamp::from_millis(i64::from(seconds) * 1000);
        let post = SignedPost { service: "ses", host: &host, path: &path, body: &body };
        let ours = scope.sign_post(&SecretString::from(secret.as_str()), &post, now);
        let [(_, ours), ..] = ours.expect("signed");
        let url = format!("https://{host}{path}");
        let theirs = theirs_for_post(&scope, &secret, (&url, &body), seconds);
        prop_assert_eq!(ours.replace(", ", ","), theirs.replace(", ", ","));
    }

    #[test]
    fn our_signature_equals_the_aws_librarys(
        access_key in "[A-Z0-9]{16,20}",
        secret in "[A-Za-z0-9/+]{40}",
        region in "[a-z]{2}-[a-z]{4,9}-[1-9]",
        bucket in "[a-z0-9.-]{3,20}",
        key in "[ -~äß€]{1,40}",
        seconds in any::<u32>(),
    ) {
        let scope = Scope { access_key, region };
        let host = format!("s3.{}.amazonaws.com", scope.region);
        let path = escape(&[bucket, key]);
        let now = Timestamp::from_millis(i64::from(seconds) * 1000);
        let ours = scope.sign(&SecretString::from(secret.as_str()), &host, &path, now);
        let [(_, ours), ..] = ours.expect("signed");
        let theirs = theirs(&scope, &secret, &format!("https://{host}{path}"), seconds);
        prop_assert_eq!(ours.replace(", ", ","), theirs.replace(", ", ","));
    }
}

#[test]
fn slash_in_a_segment_is_escaped_and_dots_are_not() {
    let path = |parts: &[&str]| escape(&parts.iter().map(ToString::to_string).collect::<Vec<_>>());
    assert_eq!(path(&["mail", "a b", "c+d"]), "/mail/a%20b/c%2Bd");
    assert_eq!(path(&["mail", "../x?y#z"]), "/mail/..%2Fx%3Fy%23z");
    assert_eq!(path(&["a-b_c.d~e", "ä"]), "/a-b_c.d~e/%C3%A4");
}
