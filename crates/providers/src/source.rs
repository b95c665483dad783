//! A source: one configured origin of mail.

pub(crate) mod access;
pub(crate) mod addressees;

use std::fmt;
use std::time::Duration;

use pipeline::{InboxId, SourceName, Timestamp};

use access::AccessRules;
use addressees::Addressees;

use crate::api::Api;
use crate::contract::answers::Answers;
use crate::contract::sample::{Post, Sample};
use crate::contract::{Contract, Handshake, Provider};
use crate::payload::{DecodeError, Decoded, addressed_message};
use crate::proof::request::RawRequest;
use crate::proof::{Coverage, Verified, VerifyError};

/// One configured origin of mail.
pub struct Source {
    pub(crate) name: SourceName,
    pub(crate) contract: &'static Contract,
    pub(crate) access: AccessRules,
    pub(crate) api: Option<Api>,
    pub(crate) domains: Vec<String>,
    pub(crate) addressees: Addressees,
    /// Whether its mail goes to addresses that its settings or its provider name.
    pub(crate) has_fixed_inboxes: bool,
    pub(crate) provider: Box<dyn Provider>,
}

impl Source {
    /// Its configured name, which is also the last segment of its webhook's path.
    pub fn name(&self) -> &SourceName {
        &self.name
    }

    /// The name of its provider.
    pub fn provider(&self) -> &'static str {
        self.contract.name
    }

    /// Its provider's row in the registry.
    pub fn contract(&self) -> &'static Contract {
        self.contract
    }

    /// The statuses that refuse a post of its provider.
    pub fn answers(&self) -> Answers {
        self.contract.answers
    }

    /// Whether its provider posts; some sources are only polled.
    pub fn posts(&self) -> bool {
        !self.contract.is_poll_only()
    }

    /// How much of a post its proof covers.
    pub fn coverage(&self) -> Coverage {
        self.provider.coverage().unwrap_or(self.contract.coverage)
    }

    /// Whether its posts say, in what they sign, that a sender is proven.
    pub fn proves_senders(&self) -> bool {
        let says_so = ["ses-sns", "sendgrid"].contains(&self.contract.name);
        says_so && self.coverage() == Coverage::Body
    }

    /// How old a proof may be; `None` if no time is signed.
    pub fn tolerance(&self) -> Option<Duration> {
        self.provider.tolerance()
    }

    /// A warning about a weak proof, for the operator.
    pub fn warning(&self) -> Option<&'static str> {
        let has_second = self.access.needs_password() || self.access.needs_listed_address();
        let is_weak = self.contract.coverage == Coverage::TokenOnly && !has_second;
        is_weak.then_some(
            "its signature does not cover the body: set `username` and `password`, `url_token` or \
             `addresses`",
        )
    }

    /// The answer to a provider that checks a new webhook by `method` and `query`;
    /// `None` if this is no such check. The value that is echoed comes from an
    /// unauthenticated caller, so only letters, digits, `-` and `_` are allowed in it.
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

    /// The URL of the certificate that this post says it is signed with, if the
    /// provider signs with certificates. Only the provider's own URLs are returned, and
    /// only for a post with the right password. The fetched certificate goes into
    /// [`Self::verify`] with the post.
    pub fn certificate_url(&self, request: &RawRequest<'_>) -> Result<Option<String>, VerifyError> {
        self.access.check(request)?;
        self.provider.certificate_url(request)
    }

    /// Checks the password and the client's address, before the body is read.
    pub fn precheck(&self, request: &RawRequest<'_>) -> Result<(), VerifyError> {
        self.access.check(request)
    }

    /// Proves that the provider sent this post, as of `now`.
    pub fn verify(
        &self,
        request: &RawRequest<'_>,
        now: Timestamp,
    ) -> Result<Verified, VerifyError> {
        self.access.check(request)?;
        self.provider.verify(&self.name, request, now)
    }

    /// A correctly signed post in the provider's own format, with the password;
    /// `None` if only the provider itself can sign.
    pub fn sample(&self, sample: &Sample<'_>) -> Option<Post> {
        let mut post = self.provider.sample(sample)?;
        self.access.add_password(&mut post);
        Some(post)
    }

    /// The domains whose inboxes its mail may reach, in lower case; `None` for every
    /// domain.
    pub fn domains(&self) -> Option<&[String]> {
        let is_any = self.domains.is_empty() || self.domains.iter().any(|one| one == "*");
        (!is_any).then_some(&self.domains)
    }

    /// Whether it receives mail for any address of this domain.
    pub fn covers(&self, domain: &str) -> bool {
        let is_listed = |domains: &[String]| domains.iter().any(|one| one == domain);
        !self.has_fixed_inboxes && self.domains().is_none_or(is_listed)
    }

    /// Whether its mail may be addressed to anybody. Otherwise a proof of the sender
    /// counts only for the inbox that the mail was addressed to.
    pub fn accepts_any_addressee(&self) -> bool {
        self.addressees == Addressees::Any
    }

    /// Whether mail to this address, which is no inbox, is forwarded to the source.
    pub fn accepts_addressee(&self, address: &InboxId) -> bool {
        match &self.addressees {
            Addressees::Any => true,
            Addressees::These(addresses) => addresses.contains(address),
        }
    }

    /// The provider's API, if the source has a key to it.
    pub fn api(&self) -> Option<&Api> {
        self.api.as_ref()
    }

    /// Reads the mail out of a recorded body. What the provider says about a sender
    /// counts only if the proof of the post covers it: whoever has a password could
    /// write it.
    pub fn decode(&self, content_type: &str, body: &[u8]) -> Result<Decoded, DecodeError> {
        if let Some(polled) = addressed_message::polled(content_type, body) {
            return polled;
        }
        let decoded = self.provider.decode(content_type, body)?;
        Ok(if self.coverage() == Coverage::Body {
            decoded
        } else {
            decoded.without_verdicts()
        })
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
