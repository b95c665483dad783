//! A source: one configured place that mail comes from.

use std::fmt;

use pipeline::{SourceName, Timestamp};

use crate::contract::pulled::is_pulled;
use crate::contract::{Contract, Handshake, Provider};
use crate::gate::Gate;
use crate::polled::{self, POLLED};
use crate::{
    Answers, Api, Coverage, DecodeError, Decoded, Post, RawRequest, Sample, Verified, VerifyError,
};

/// One configured place that mail comes from.
pub struct Source {
    pub(crate) name: SourceName,
    pub(crate) contract: &'static Contract,
    pub(crate) gate: Gate,
    pub(crate) api: Option<Api>,
    pub(crate) provider: Box<dyn Provider>,
}

impl Source {
    /// Its configured name, which is also the last part of its webhook's path.
    pub fn name(&self) -> &SourceName {
        &self.name
    }

    /// The name of the provider whose contract it speaks.
    pub fn provider(&self) -> &'static str {
        self.contract.name
    }

    /// The statuses with which its provider is refused.
    pub fn answers(&self) -> Answers {
        self.contract.answers
    }

    /// Whether it posts; one that is only polled does not.
    pub fn posts(&self) -> bool {
        !is_pulled(self.contract)
    }

    /// What the operator should know about its proof, if anything.
    pub fn caution(&self) -> Option<&'static str> {
        let is_weak = self.contract.coverage == Coverage::TokenOnly && !self.gate.is_shut();
        is_weak.then_some(
            "its signature does not cover the body: set `username` and `password` or `url_token`",
        )
    }

    /// The text to answer when the provider checks that the webhook is there,
    /// by `method` and the URL's `query`; `None` when this is no such check. A
    /// value to be echoed is a stranger's text, so only letters, digits, `-` and
    /// `_` are.
    pub fn greet(&self, method: &str, query: &str) -> Option<String> {
        match (self.contract.handshake, method) {
            (Handshake::Head, "HEAD") => Some(String::new()),
            (Handshake::Echo(field), "GET") => {
                let mut values = form_urlencoded::parse(query.as_bytes())
                    .filter(|(name, _)| name == field)
                    .map(|(_, value)| value.into_owned());
                let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
                values
                    .next()
                    .filter(|value| (1..=256).contains(&value.len()) && value.bytes().all(plain))
            }
            _ => None,
        }
    }

    /// Proves that the provider sent this post, as of `now`.
    pub fn verify(
        &self,
        request: &RawRequest<'_>,
        now: Timestamp,
    ) -> Result<Verified, VerifyError> {
        self.gate.check(request)?;
        self.provider.verify(&self.name, request, now)
    }

    /// A correctly signed post of the provider's own shape, with the password in
    /// front; `None` when only the provider itself can sign.
    pub fn sample(&self, sample: &Sample<'_>) -> Option<Post> {
        let mut post = self.provider.sample(sample)?;
        self.gate.pass(&mut post);
        Some(post)
    }

    /// The provider's API, when the source has a key to it.
    pub fn api(&self) -> Option<&Api> {
        self.api.as_ref()
    }

    /// Reads the mail out of a recorded body.
    pub fn decode(&self, content_type: &str, body: &[u8]) -> Result<Decoded, DecodeError> {
        if content_type == POLLED {
            return polled::decode(body).map(Decoded::mail);
        }
        self.provider.decode(content_type, body)
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("name", &self.name)
            .field("provider", &self.contract.name)
            .finish_non_exhaustive()
    }
}
