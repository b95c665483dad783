//! A source whose posts are signed with a shared secret, with the signature in headers.
//! Such providers differ in their scheme, delivery id and payload.

use std::time::Duration;

use pipeline::{SourceName, Timestamp};

use super::Provider;
use crate::contract::sample::{Post, Sample, Shape};
use crate::payload::{DecodeError, Decoded};
use crate::proof::identity::Identity;
use crate::proof::key::Keys;
use crate::proof::request::RawRequest;
use crate::proof::scheme::Scheme;
use crate::proof::{Coverage, Verified, VerifyError};

/// Decodes the body of a proven post, given its content type.
pub(crate) type Decoder = Box<dyn Fn(&str, &[u8]) -> Result<Decoded, DecodeError> + Send + Sync>;

/// A source with a shared secret.
pub(crate) struct Symmetric {
    pub(crate) scheme: Scheme,
    pub(crate) keys: Keys,
    pub(crate) identity: Identity,
    pub(crate) decoder: Decoder,
    /// Writes a sample mail in the provider's format, if that is possible.
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
