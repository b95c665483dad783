//! A source: one configured place that mail comes from.

use std::fmt;
use std::time::Duration;

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
    pub(crate) domains: Vec<String>,
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

    /// How much of a post its proof covers.
    pub fn coverage(&self) -> Coverage {
        self.provider.coverage().unwrap_or(self.contract.coverage)
    }

    /// How old a proof may be; `None` where no time is signed.
    pub fn tolerance(&self) -> Option<Duration> {
        self.provider.tolerance()
    }

    /// What the operator should know about its proof, if anything.
    pub fn caution(&self) -> Option<&'static str> {
        let has_second = self.gate.is_shut() || self.gate.is_narrow();
        let is_weak = self.contract.coverage == Coverage::TokenOnly && !has_second;
        is_weak.then_some(
            "its signature does not cover the body: set `username` and `password`, `url_token` or \
             `addresses`",
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

    /// Where the certificate is that this post says it is signed with, for
    /// providers who sign so. It is one of few places, whatever the post says, and
    /// is given only for a post that passes the password in front; what was got
    /// there goes with the post into [`Self::verify`].
    pub fn certificate_url(&self, request: &RawRequest<'_>) -> Result<Option<String>, VerifyError> {
        self.gate.check(request)?;
        self.provider.certificate_url(request)
    }

    /// Checks the password and the client's address, before the body is read.
    pub fn precheck(&self, request: &RawRequest<'_>) -> Result<(), VerifyError> {
        self.gate.check(request)
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

    /// The domains whose inboxes its mail may reach, in lower case; `None` when
    /// nothing is said.
    pub fn domains(&self) -> Option<&[String]> {
        (!self.domains.is_empty()).then_some(&self.domains)
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
