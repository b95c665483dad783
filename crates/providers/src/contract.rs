//! What is known of each provider: one file each, and the list of them. A file's
//! comment tells what the request holds, every status that it is answered with and
//! why, and where the steps to set it up are.
//!
//! Besides those statuses every provider is answered 404 where no source has the
//! name, 405 to anything but a post and its own handshake, 400 and 408 where the
//! body breaks off or comes too slowly, and 415 where it is compressed or has no
//! usable type; but the last three not where that would cost mail
//! (`Answers::unread`).

mod agentmail;
mod cloudflare;
mod cloudmailin;
mod generic;
mod github_style;
mod mailersend;
mod mailgun;
mod mailhook;
mod mandrill;
mod native;
mod nylas;
mod postal;
mod postmark;
pub(crate) mod pulled;
mod relay;
mod resend;
mod sendgrid;
mod ses_sns;
pub(crate) mod standard_webhooks;
mod stripe_style;

use std::time::Duration;

use pipeline::{SourceName, Timestamp};

use crate::settings::Knob;
use crate::sources::SourceFlaw;
use crate::{
    Answers, Coverage, DecodeError, Decoded, Post, RawRequest, Sample, SourceSettings, Verified,
    VerifyError,
};

pub(crate) use ses_sns::s3_place;

/// One provider's contract, as data.
#[derive(Debug)]
pub struct Contract {
    /// The provider's name in the configuration.
    pub name: &'static str,
    /// How it is to be refused so that mail is kept.
    pub answers: Answers,
    /// What the operator does at the provider, step by step.
    pub setup: &'static [&'static str],
    /// How much of a post its signature covers.
    pub coverage: Coverage,
    /// How it checks a new webhook.
    pub(crate) handshake: Handshake,
    /// Where its API is, if mail may have to be fetched from there.
    pub(crate) api: Option<&'static str>,
    /// Which settings it takes besides the password in front.
    pub(crate) knobs: &'static [Knob],
    /// Makes the verifier and decoder of one source.
    pub(crate) build: fn(&SourceSettings) -> Result<Box<dyn Provider>, SourceFlaw>,
}

/// How a provider checks that a new webhook is ours before it posts to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handshake {
    /// Not at all.
    None,
    /// By `HEAD`, to be answered 200.
    Head,
    /// By `GET` with a value in this field of the query, to be answered 200 with
    /// the value.
    Echo(&'static str),
}

/// What a contract does, behind a source's settings.
pub(crate) trait Provider: Send + Sync {
    /// Where the certificate is that the post says it is signed with, for those
    /// who sign so; checked to be the provider's own place.
    fn certificate_url(&self, _request: &RawRequest<'_>) -> Result<Option<String>, VerifyError> {
        Ok(None)
    }

    /// Proves a post's origin, or refuses it.
    fn verify(
        &self,
        source: &SourceName,
        request: &RawRequest<'_>,
        now: Timestamp,
    ) -> Result<Verified, VerifyError>;

    /// How much its proof covers, where that depends on the settings.
    fn coverage(&self) -> Option<Coverage> {
        None
    }

    /// How old a proof may be; `None` where no time is signed.
    fn tolerance(&self) -> Option<Duration> {
        None
    }

    /// Reads the mail out of a body that was recorded.
    fn decode(&self, content_type: &str, body: &[u8]) -> Result<Decoded, DecodeError>;

    /// A correctly signed post of the provider's own shape; `None` when only
    /// the provider itself can sign.
    fn sample(&self, sample: &Sample<'_>) -> Option<Post>;
}

/// Every contract, by name.
const ALL: [&Contract; 21] = [
    &agentmail::CONTRACT,
    &cloudflare::CONTRACT,
    &cloudmailin::CONTRACT,
    &pulled::FOLDER,
    &generic::CONTRACT,
    &github_style::CONTRACT,
    &pulled::HTTP_LIST,
    &pulled::IMAP,
    &mailersend::CONTRACT,
    &mailgun::CONTRACT,
    &mailhook::CONTRACT,
    &mandrill::CONTRACT,
    &nylas::CONTRACT,
    &postal::CONTRACT,
    &postmark::CONTRACT,
    &relay::CONTRACT,
    &resend::CONTRACT,
    &sendgrid::CONTRACT,
    &ses_sns::CONTRACT,
    &standard_webhooks::CONTRACT,
    &stripe_style::CONTRACT,
];

/// Every contract, by name.
pub fn contracts() -> impl Iterator<Item = &'static Contract> {
    ALL.into_iter()
}

/// The configured tolerance within what makes sense for a provider.
fn tolerance(
    settings: &SourceSettings,
    own: Duration,
    least: Duration,
    most: Duration,
) -> Result<Duration, SourceFlaw> {
    let tolerance = settings.tolerance_seconds.map_or(own, Duration::from_secs);
    if (least..=most).contains(&tolerance) {
        Ok(tolerance)
    } else {
        Err(SourceFlaw::Tolerance {
            least: least.as_secs(),
            most: most.as_secs(),
        })
    }
}

#[cfg(test)]
mod tests;
