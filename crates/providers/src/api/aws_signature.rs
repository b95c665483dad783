//! AWS Signature Version 4, as far as fetching an object from S3 needs it (a `GET` with an
//! empty body) and sending a mail by SES (a `POST` with a body). AWS's own signer would
//! add a dozen crates for these lines; the tests compare ours with it.
//!
//! <https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html>

use hmac::{Hmac, KeyInit, Mac};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use pipeline::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use time::OffsetDateTime;

use crate::encoding::Encoding;

/// The SHA-256 of an empty body.
const EMPTY_BODY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// The access key and the region that a signature is made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The id of the access key.
    pub access_key: String,
    /// The region.
    pub region: String,
}

impl Scope {
    /// The headers that sign a `GET` of `path` at `host` for S3. The path must be
    /// escaped by [`escape`] and must have no query.
    pub fn sign(
        &self,
        secret: &SecretString,
        host: &str,
        path: &str,
        now: Timestamp,
    ) -> Option<[(&'static str, String); 3]> {
        let (_, moment) = aws_time(now)?;
        let signed = "host;x-amz-content-sha256;x-amz-date";
        let request = format!(
            "GET\n{path}\n\nhost:{host}\nx-amz-content-sha256:{EMPTY_BODY}\nx-amz-date:{moment}\n\n\
             {signed}\n{EMPTY_BODY}"
        );
        let authorization = self.authorization(secret, "s3", (&request, signed), now)?;
        Some([
            ("authorization", authorization),
            ("x-amz-content-sha256", EMPTY_BODY.to_owned()),
            ("x-amz-date", moment),
        ])
    }

    /// The headers that sign a `POST`.
    pub fn sign_post(
        &self,
        secret: &SecretString,
        post: &SignedPost<'_>,
        now: Timestamp,
    ) -> Option<[(&'static str, String); 2]> {
        let (_, moment) = aws_time(now)?;
        let (path, host) = (post.path, post.host);
        let signed = "host;x-amz-date";
        let body = Encoding::Hex.encode(&Sha256::digest(post.body));
        let request =
            format!("POST\n{path}\n\nhost:{host}\nx-amz-date:{moment}\n\n{signed}\n{body}");
        let authorization = self.authorization(secret, post.service, (&request, signed), now)?;
        Some([("authorization", authorization), ("x-amz-date", moment)])
    }

    /// The header that signs a canonical request with these signed headers.
    fn authorization(
        &self,
        secret: &SecretString,
        service: &str,
        (request, signed): (&str, &str),
        now: Timestamp,
    ) -> Option<String> {
        let (day, moment) = aws_time(now)?;
        let scope = format!("{day}/{}/{service}/aws4_request", self.region);
        let request = Encoding::Hex.encode(&Sha256::digest(request));
        let text = format!("AWS4-HMAC-SHA256\n{moment}\n{scope}\n{request}");
        let secret = format!("AWS4{}", secret.expose_secret());
        let key = [&day, self.region.as_str(), service, "aws4_request"]
            .into_iter()
            .try_fold(secret.into_bytes(), |key, part| mac(&key, part))?;
        let signature = Encoding::Hex.encode(&mac(&key, &text)?);
        Some(format!(
            "AWS4-HMAC-SHA256 Credential={}/{scope},SignedHeaders={signed},Signature={signature}",
            self.access_key
        ))
    }
}

/// A `POST` to sign.
#[derive(Debug, Clone, Copy)]
pub struct SignedPost<'a> {
    /// The AWS service, such as `ses`.
    pub service: &'a str,
    /// The host, with its port if it is not the usual one.
    pub host: &'a str,
    /// The path, of unreserved characters and slashes. It has no query.
    pub path: &'a str,
    /// The body.
    pub body: &'a [u8],
}

/// All but the unreserved characters. AWS signs exactly this spelling of a path, and
/// other servers accept it.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// A path of these segments. Slashes inside a segment are escaped, so it stays one segment.
/// Dots are not: the caller must refuse the segments `.` and `..`.
pub fn escape(segments: &[String]) -> String {
    segments
        .iter()
        .flat_map(|segment| {
            ["/"]
                .into_iter()
                .chain(utf8_percent_encode(segment, RESERVED))
        })
        .collect()
}

fn mac(key: &[u8], text: &str) -> Option<Vec<u8>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    mac.update(text.as_bytes());
    Some(mac.finalize().into_bytes().to_vec())
}

/// The day and the time of a moment, as AWS writes them.
fn aws_time(now: Timestamp) -> Option<(String, String)> {
    let moment = OffsetDateTime::from_unix_timestamp(now.as_seconds()).ok()?;
    let day = format!(
        "{:04}{:02}{:02}",
        moment.year(),
        u8::from(moment.month()),
        moment.day()
    );
    let (hour, minute, second) = moment.to_hms();
    let moment = format!("{day}T{hour:02}{minute:02}{second:02}Z");
    Some((day, moment))
}

#[cfg(test)]
mod tests;
