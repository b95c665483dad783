//! A source: one configured place that mail comes from.

use std::fmt;

use pipeline::{SourceName, Timestamp};

use crate::{DecodeError, Decoded, RawRequest, Verified, VerifyError};

/// What a provider's contract consists of, behind its settings.
pub(crate) trait Provider: fmt::Debug + Send + Sync {
    /// The provider's name in the configuration.
    fn name(&self) -> &'static str;

    /// Proves a post's origin, or refuses it.
    fn verify(
        &self,
        source: &SourceName,
        request: &RawRequest<'_>,
        now: Timestamp,
    ) -> Result<Verified, VerifyError>;

    /// Reads the mail out of a body that was recorded.
    fn decode(&self, content_type: &str, body: &[u8]) -> Result<Decoded, DecodeError>;
}

/// One configured place that mail comes from.
#[derive(Debug)]
pub struct Source {
    name: SourceName,
    provider: Box<dyn Provider>,
}

impl Source {
    pub(crate) fn new(name: SourceName, provider: Box<dyn Provider>) -> Self {
        Self { name, provider }
    }

    /// Its configured name, which is also the last part of its webhook's path.
    pub fn name(&self) -> &SourceName {
        &self.name
    }

    /// The name of the provider whose contract it speaks.
    pub fn provider(&self) -> &'static str {
        self.provider.name()
    }

    /// Proves that the provider sent this post, as of `now`.
    pub fn verify(
        &self,
        request: &RawRequest<'_>,
        now: Timestamp,
    ) -> Result<Verified, VerifyError> {
        self.provider.verify(&self.name, request, now)
    }

    /// Reads the mail out of a recorded body.
    pub fn decode(&self, content_type: &str, body: &[u8]) -> Result<Decoded, DecodeError> {
        self.provider.decode(content_type, body)
    }
}
