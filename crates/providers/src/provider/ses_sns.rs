//! Amazon SES inbound mail, through an SNS topic.
//!
//! Request: JSON under `text/plain`, with the same envelope for everything SNS posts:
//! `Type`, `MessageId`, `TopicArn`, `Message`, `Timestamp`, `SignatureVersion`, `Signature`,
//! `SigningCertURL`. A confirmation also has `Token` and `SubscribeURL`; a notification may
//! have `Subject`. The signature is RSA (PKCS #1 v1.5) over the names and values of those
//! fields, with SHA-1 in version 1 and SHA-256 in version 2, by the certificate at
//! `SigningCertURL`. Anybody with an AWS account can have SNS sign, so the topic must be one
//! of the source's `topics`. The certificate is only fetched from
//! `https://sns.REGION.amazonaws.com/SimpleNotificationService-….pem` of the topic's region,
//! and is cached. `MessageId` stays the same in retries and is the key of the delivery.
//! `Timestamp` is that of the first attempt, and SNS retries for up to an hour, so a proof
//! may be two hours old.
//!
//! `Message` is SES's own JSON as text: `notificationType` `Received`, `receipt.recipients`,
//! and the mail in `content` (as text, or in base64 if the action says so). If
//! `receipt.action` names `bucketName` and `objectKey`, the mail is in S3; then it is fetched
//! with the keys in `s3`, and only from that bucket. An event about sent mail proves a
//! send: its tags or headers have the provider key. Other notifications are closed as
//! ignored. A `spamVerdict` or `virusVerdict` of `FAIL` becomes the flag `provider_spam` or
//! `provider_virus`; a `dmarcVerdict` is about the sender.
//!
//! Received: `mail.timestamp`, else `receipt.timestamp`, else the envelope's own, which is
//! that of the first attempt.
//!
//! A `SubscriptionConfirmation` is recorded like any post. The worker confirms it at the
//! topic's own SNS and retries while SNS is unavailable. The URL in the post is not fetched:
//! a URL with the same token is built instead. An `UnsubscribeConfirmation` is recorded and
//! closed as `subscription_ended`.
//!
//! Answers:
//!
//! | status | when | what the provider does | evidence |
//! |---|---|---|---|
//! | 200 | stored or duplicate | done | SNS's documents on delivery retries |
//! | 503 | everything else, also a certificate that cannot be fetched now | retries three times, 20 s apart, or as the subscription's policy says (at most an hour) | the same: only server errors are retried |
//!
//! A 4xx counts as a permanent failure: SNS discards the message, unless the subscription has
//! a dead-letter queue.
//!
//! Set-up: the steps in `setup` below, which `maillatch source add ses-sns` prints.

mod envelope;
mod received;
mod topic;

use std::time::Duration;

use pipeline::{ContentDigest, DeliveryKey, Reason, SourceName, Timestamp};

use crate::contract::answers::Answers;
use crate::contract::sample::{Post, Sample};
use crate::contract::source_add::Ask;
use crate::contract::{Contract, Handshake, Posts, Provider, tolerance};
use crate::flaw::SourceFlaw;
use crate::payload::remote_mail::Confirmation;
use crate::payload::{DecodeError, Decoded};
use crate::proof::request::RawRequest;
use crate::proof::{Coverage, Verified, VerifyError, freshness};
use crate::settings::{Setting, SourceSettings};
use envelope::{Envelope, Kind};
use topic::Topic;

pub(crate) use topic::s3_url;

pub(crate) const CONTRACT: Contract = Contract {
    name: "ses-sns",
    source_name: "ses-sns",
    posts: Posts::Original,
    polling: None,
    asks: &[
        Ask::Paste {
            key: "topics",
            what: "the topic's ARN",
            example: "arn:aws:sns:eu-west-1:123456789012:mail",
            is_list: true,
        },
        Ask::MintToken,
    ],
    answers: Answers::RETRY_ON_5XX,
    setup: &[
        "Create an SNS topic (standard) in the region where SES receives, and copy its ARN into \
         `topics`.",
        "Subscribe the source's URL with `?token=…` to the topic over HTTPS; \
         leave raw message delivery off. Maillatch confirms the subscription by itself.",
        "In SES, add to the receipt rule either \"Publish to Amazon SNS topic\" with the encoding \
         Base64 (mail up to 150 KB), or \"Deliver to S3 bucket\" with this topic (larger mail).",
        "For S3, create an access key that may do `s3:GetObject` on that bucket and nothing else, \
         and set `s3 = { bucket = \"…\", access_key = \"…\", secret_key = \"…\" }`.",
        "Raise the subscription's delivery policy to an hour of retries, so that mail survives \
         an outage of this server.",
    ],
    coverage: Coverage::Body,
    handshake: Handshake::None,
    api: None,
    takes: &[
        Setting::Topics,
        Setting::SnsUrl,
        Setting::S3,
        Setting::Tolerance,
    ],
    build,
};

struct SesSns {
    topics: Vec<Topic>,
    /// The bucket that mail may be fetched from.
    bucket: Option<String>,
    tolerance: Duration,
}

fn build(settings: &SourceSettings) -> Result<Box<dyn Provider>, SourceFlaw> {
    if settings.topics.is_empty() {
        return Err(SourceFlaw::Missing("topics"));
    }
    let sns_url = settings.sns_url.as_deref();
    let topics = settings.topics.iter().map(|arn| Topic::read(arn, sns_url));
    Ok(Box::new(SesSns {
        topics: topics
            .collect::<Option<_>>()
            .ok_or(SourceFlaw::Unusable("topics"))?,
        bucket: settings.s3.as_ref().map(|s3| s3.bucket.clone()),
        tolerance: tolerance(
            settings,
            Duration::from_hours(2),
            Duration::from_mins(5),
            Duration::from_hours(72),
        )?,
    }))
}

impl SesSns {
    /// The configured topic that an envelope names.
    fn topic(&self, envelope: &Envelope) -> Result<&Topic, VerifyError> {
        self.topics
            .iter()
            .find(|topic| topic.arn == envelope.topic)
            .ok_or(VerifyError::TopicForeign)
    }

    /// The URL of the envelope's certificate, if it is an allowed one.
    fn allowed_certificate<'e>(&self, envelope: &'e Envelope) -> Result<&'e str, VerifyError> {
        let url = envelope.certificate_url.as_str();
        if self.topic(envelope)?.may_hold(url) {
            Ok(url)
        } else {
            Err(VerifyError::CertificateForeign)
        }
    }
}

impl Provider for SesSns {
    fn certificate_url(&self, request: &RawRequest<'_>) -> Result<Option<String>, VerifyError> {
        let envelope = Envelope::read(request.body())?;
        self.allowed_certificate(&envelope)
            .map(|url| Some(url.to_owned()))
    }

    fn verify(
        &self,
        source: &SourceName,
        request: &RawRequest<'_>,
        now: Timestamp,
    ) -> Result<Verified, VerifyError> {
        let envelope = Envelope::read(request.body())?;
        self.allowed_certificate(&envelope)?;
        let certificate = request
            .certificate()
            .ok_or(VerifyError::CertificateMissing)?;
        let signed = envelope.signed();
        let key = certificate.key();
        if !key.has_signed(envelope.hash, signed.as_bytes(), &envelope.signature) {
            return Err(VerifyError::SignatureMismatch);
        }
        freshness::check(envelope.at, now, self.tolerance)?;
        Ok(Verified::new(
            DeliveryKey::from_provider_id(source, &envelope.id),
            ContentDigest::of(&[signed.as_bytes()]),
            Coverage::Body,
        ))
    }

    fn tolerance(&self) -> Option<Duration> {
        Some(self.tolerance)
    }

    fn decode(&self, _content_type: &str, body: &[u8]) -> Result<Decoded, DecodeError> {
        let envelope = Envelope::parse(body)?;
        match &envelope.kind {
            Kind::Notification { .. } => {
                received::decode(&envelope.message, self.bucket.as_deref(), envelope.at)
            }
            Kind::Subscription { token, .. } => {
                let topic = self.topic(&envelope).ok().ok_or(DecodeError::Malformed)?;
                Ok(Decoded::Confirm(Confirmation {
                    base: topic.origin.clone(),
                    query: vec![
                        ("Action", "ConfirmSubscription".to_owned()),
                        ("TopicArn", topic.arn.clone()),
                        ("Token", token.clone()),
                    ],
                }))
            }
            Kind::Unsubscription { .. } => Ok(Decoded::Ignored(Reason::new("subscription_ended"))),
        }
    }

    fn sample(&self, _sample: &Sample<'_>) -> Option<Post> {
        None
    }
}

#[cfg(test)]
mod tests;
