//! What a provider's row in the registry says, and what its code must do.
//!
//! A contract is data: what the provider posts, how its mail can be polled, which
//! settings it takes, what `maillatch source add` asks the operator for, and how a
//! post is refused so that the mail is kept. The file of each provider in `provider/`
//! holds its row and the code behind it.

pub(crate) mod answers;
pub(crate) mod polling;
pub(crate) mod sample;
pub(crate) mod source_add;
pub(crate) mod symmetric;

use std::time::Duration;

use pipeline::{SourceName, Timestamp};

use crate::flaw::SourceFlaw;
use crate::payload::{DecodeError, Decoded};
use crate::proof::request::RawRequest;
use crate::proof::{Coverage, Verified, VerifyError};
use crate::settings::{Setting, SourceSettings};

use answers::Answers;
use polling::Polling;
use sample::{Post, Sample};
use source_add::Ask;

/// One provider: its row in the registry.
#[derive(Debug)]
pub struct Contract {
    /// The provider's name in the configuration.
    pub name: &'static str,
    /// The name that `source add` gives a source when the operator gives none.
    pub source_name: &'static str,
    /// What a post of this provider holds.
    pub posts: Posts,
    /// How its mail can be polled, if it can.
    pub polling: Option<Polling>,
    /// What `source add` prints for the operator to paste and to fill in.
    pub asks: &'static [Ask],
    /// What the operator does at the provider, step by step.
    pub setup: &'static [&'static str],
    /// The statuses that refuse a post and still keep its mail.
    pub answers: Answers,
    /// How much of a post its proof covers.
    pub coverage: Coverage,
    /// How the provider checks a new webhook.
    pub(crate) handshake: Handshake,
    /// The URL of the provider's API, if mail may have to be fetched from there.
    pub(crate) api: Option<&'static str>,
    /// Which optional settings it takes. Username, password, token and addresses are
    /// taken by every provider.
    pub(crate) takes: &'static [Setting],
    /// Builds the verifier and decoder of one source.
    pub(crate) build: fn(&SourceSettings) -> Result<Box<dyn Provider>, SourceFlaw>,
}

/// What a post of a provider holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Posts {
    /// The provider never posts: its mail is only polled.
    Nothing,
    /// The message as it was received.
    Original,
    /// Parsed fields, from which a message is rebuilt.
    Fields,
    /// A notice; the message has to be fetched from the provider's API.
    Notice,
}

/// How a provider checks that a new webhook is ours before it posts to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handshake {
    /// It does not check.
    None,
    /// It sends `HEAD` and expects 200.
    Head,
    /// It sends `GET` with a value in this query field and expects 200 with that
    /// value as the body.
    Echo(&'static str),
}

/// The code behind a contract, built from one source's settings.
pub(crate) trait Provider: Send + Sync {
    /// The URL of the certificate that the post says it is signed with, if the
    /// provider signs with certificates. The URL is checked to be the provider's own.
    fn certificate_url(&self, _request: &RawRequest<'_>) -> Result<Option<String>, VerifyError> {
        Ok(None)
    }

    /// Proves where a post comes from, or refuses it.
    fn verify(
        &self,
        source: &SourceName,
        request: &RawRequest<'_>,
        now: Timestamp,
    ) -> Result<Verified, VerifyError>;

    /// How much the proof covers, where that depends on the settings.
    fn coverage(&self) -> Option<Coverage> {
        None
    }

    /// How old a proof may be; `None` if no time is signed.
    fn tolerance(&self) -> Option<Duration> {
        None
    }

    /// Reads the mail out of a recorded body.
    fn decode(&self, content_type: &str, body: &[u8]) -> Result<Decoded, DecodeError>;

    /// A correctly signed post in the provider's own format; `None` if only the
    /// provider itself can sign.
    fn sample(&self, sample: &Sample<'_>) -> Option<Post>;
}

impl Contract {
    /// Whether sources of this provider are polled and never posted to.
    pub fn is_poll_only(&self) -> bool {
        self.posts == Posts::Nothing
    }
}

/// The configured tolerance, if it is within the provider's bounds.
pub(crate) fn tolerance(
    settings: &SourceSettings,
    default: Duration,
    least: Duration,
    most: Duration,
) -> Result<Duration, SourceFlaw> {
    let tolerance = settings
        .tolerance_seconds
        .map_or(default, Duration::from_secs);
    if (least..=most).contains(&tolerance) {
        Ok(tolerance)
    } else {
        Err(SourceFlaw::Tolerance {
            least: least.as_secs(),
            most: most.as_secs(),
        })
    }
}
