//! A source that proves its posts with a shared secret in headers; what differs
//! between such providers is a scheme, an identity and a payload.

use std::time::Duration;

use pipeline::{SourceName, Timestamp};

use crate::contract::Provider;
use crate::identity::Identity;
use crate::key::Keys;
use crate::sample::Shape;
use crate::scheme::Scheme;
use crate::{Coverage, DecodeError, Decoded, Post, RawRequest, Sample, Verified, VerifyError};

/// How the body of a proven post is read: `(content type, body)` to mail.
pub(crate) type Decoder = Box<dyn Fn(&str, &[u8]) -> Result<Decoded, DecodeError> + Send + Sync>;

/// A source with a shared secret.
pub(crate) struct Symmetric {
    pub(crate) scheme: Scheme,
    pub(crate) keys: Keys,
    pub(crate) identity: Identity,
    pub(crate) decoder: Decoder,
    /// The inverse of the decoder, where there is one.
    pub(crate) shape: Option<fn(&Sample<'_>) -> Shape>,
}

impl Provider for Symmetric {
    fn verify(
        &self,
        source: &SourceName,
        request: &RawRequest<'_>,
        now: Timestamp,
    ) -> Result<Verified, VerifyError> {
        let proven = self.scheme.prove(&self.keys, request, now)?;
        let coverage = Coverage::Body;
        Ok(self.identity.verified(source, request, proven.id, coverage))
    }

    fn tolerance(&self) -> Option<Duration> {
        self.scheme.stamp.map(|stamp| stamp.tolerance)
    }

    fn decode(&self, content_type: &str, body: &[u8]) -> Result<Decoded, DecodeError> {
        (self.decoder)(content_type, body)
    }

    fn sample(&self, sample: &Sample<'_>) -> Option<Post> {
        let shape = self.shape?(sample);
        let headers = self
            .scheme
            .sign(&self.keys, sample.id, sample.at, &shape.body)?;
        Some(shape.with(headers))
    }
}
