//! Requests signed as AWS has it (Signature Version 4), as far as getting an
//! object needs: a `GET` with an empty body. The whole of AWS's own signer is a
//! dozen crates for these few lines.
//!
//! <https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html>

use hmac::{Hmac, KeyInit, Mac};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use pipeline::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use time::OffsetDateTime;

use crate::signature::Encoding;

/// The SHA-256 of nothing, which every `GET` here carries.
const NO_BODY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// Who signs, and for where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The id of the access key.
    pub access_key: String,
    /// The region.
    pub region: String,
}

impl Scope {
    /// The headers that prove a `GET` of `path` at `host` to S3. The path is
    /// escaped as [`escape`] does it, and there is no query.
    pub fn sign(
        &self,
        secret: &SecretString,
        host: &str,
        path: &str,
        now: Timestamp,
    ) -> Option<[(&'static str, String); 3]> {
        let (day, moment) = written(now)?;
        let signed = "host;x-amz-content-sha256;x-amz-date";
        let request = format!(
            "GET\n{path}\n\nhost:{host}\nx-amz-content-sha256:{NO_BODY}\nx-amz-date:{moment}\n\n\
             {signed}\n{NO_BODY}"
        );
        let scope = format!("{day}/{}/s3/aws4_request", self.region);
        let request = Encoding::Hex.encode(&Sha256::digest(request));
        let text = format!("AWS4-HMAC-SHA256\n{moment}\n{scope}\n{request}");
        let secret = format!("AWS4{}", secret.expose_secret());
        let key = [&day, self.region.as_str(), "s3", "aws4_request"]
            .into_iter()
            .try_fold(secret.into_bytes(), |key, part| mac(&key, part))?;
        let signature = Encoding::Hex.encode(&mac(&key, &text)?);
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={}/{scope},SignedHeaders={signed},Signature={signature}",
            self.access_key
        );
        Some([
            ("authorization", authorization),
            ("x-amz-content-sha256", NO_BODY.to_owned()),
            ("x-amz-date", moment),
        ])
    }
}

/// All but the unreserved characters: the one spelling of a path that AWS signs,
/// and as good as any other elsewhere.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// A path of these segments, from which none can break out.
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

/// A moment's day and the moment itself, as AWS writes them.
fn written(now: Timestamp) -> Option<(String, String)> {
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
