//! Amazon SES inbound mail, through an SNS topic.
//!
//! Request: JSON under `text/plain`, the same envelope for everything SNS posts:
//! `Type`, `MessageId`, `TopicArn`, `Message`, `Timestamp`, `SignatureVersion`,
//! `Signature`, `SigningCertURL`; a confirmation also has `Token` and
//! `SubscribeURL`, a notification may have `Subject`. The signature is RSA
//! (PKCS #1 v1.5) over the names and values of those fields, under SHA-1 in
//! version 1 and SHA-256 in version 2, by the certificate at `SigningCertURL`.
//! Everybody with an account can have SNS sign, so the topic must be one of the
//! source's `topics`. The certificate is taken from
//! `https://sns.REGION.amazonaws.com/SimpleNotificationService-….pem` of the
//! topic's own region and from nowhere else, and kept. `MessageId` is the same on
//! every try and is the delivery's key; `Timestamp` is that of the first try, so a
//! proof may be two hours old where SNS retries for one.
//!
//! `Message` is SES's own JSON as text: `notificationType` `Received`,
//! `receipt.recipients`, and the mail in `content` (as text, or in base64 if the
//! action says so), or in S3 where `receipt.action` names `bucketName` and
//! `objectKey`; then it is fetched with the keys in `s3`, of that bucket alone.
//! Other notifications are closed as ignored.
//!
//! Received: `mail.timestamp`, else `receipt.timestamp`, else the envelope's own, which
//! is that of the first try.
//!
//! A `SubscriptionConfirmation` is recorded like any post; the worker confirms it
//! at the topic's own SNS, and tries again while SNS is away. The URL in the post
//! is not fetched: one with the same token is made. An `UnsubscribeConfirmation`
//! is recorded and closed as `subscription_ended`.
//!
//! Answers: 200 stored or duplicate; 403 not proven or stale, which SNS does not
//! try again, as with any 4xx; 413 too large, which SNS cannot be (256 KiB); 503
//! not stored, a body that broke off or came too slowly, or the certificate could not
//! be had just now: SNS tries again three times, 20 s apart, or as the subscription's
//! policy says.
//!
//! Set-up: the steps in `setup` below, which `maillatch source add ses-sns` prints.

mod envelope;
mod received;
mod topic;

use std::time::Duration;

use pipeline::{ContentDigest, DeliveryKey, Reason, SourceName, Timestamp};

use super::{Contract, Handshake, Provider, tolerance};
use crate::freshness;
use crate::settings::Knob;
use crate::sources::SourceFlaw;
use crate::{
    Answers, Confirmation, Coverage, DecodeError, Decoded, Post, RawRequest, Sample,
    SourceSettings, Verified, VerifyError,
};
use envelope::{Envelope, Kind};
use topic::Topic;

pub(crate) use topic::s3_place;

pub(crate) const CONTRACT: Contract = Contract {
    name: "ses-sns",
    answers: Answers {
        unproven: 403,
        unread: Some(503),
        ..Answers::PLAIN
    },
    setup: &[
        "Create an SNS topic (standard) in the region where SES receives, and copy its ARN into \
         `topics`.",
        "Set `url_token` and subscribe the source's URL with `?token=…` to the topic over HTTPS; \
         leave raw message delivery off. Maillatch confirms the subscription by itself.",
        "In SES, add to the receipt rule either \"Publish to Amazon SNS topic\" with the encoding \
         Base64 (mail up to 150 KB), or \"Deliver to S3 bucket\" with this topic (larger mail).",
        "For S3, create an access key that may do `s3:GetObject` on that bucket and nothing else, \
         and set `s3 = { bucket = \"…\", access_key = \"…\", secret_key = \"…\" }`.",
        "Raise the subscription's delivery policy to an hour of retries, so that mail outlives \
         an outage of ours.",
    ],
    coverage: Coverage::Body,
    handshake: Handshake::None,
    api: None,
    knobs: &[Knob::Topics, Knob::SnsUrl, Knob::S3, Knob::Tolerance],
    build,
};

struct SesSns {
    topics: Vec<Topic>,
    /// The bucket that mail may be in.
    bucket: Option<String>,
    tolerance: Duration,
}

fn build(settings: &SourceSettings) -> Result<Box<dyn Provider>, SourceFlaw> {
    if settings.topics.is_empty() {
        return Err(SourceFlaw::Missing("topics"));
    }
    let place = settings.sns_url.as_deref();
    let topics = settings.topics.iter().map(|arn| Topic::read(arn, place));
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
    /// The source's own topic that an envelope says it is of.
    fn topic(&self, envelope: &Envelope) -> Result<&Topic, VerifyError> {
        self.topics
            .iter()
            .find(|topic| topic.arn == envelope.topic)
            .ok_or(VerifyError::TopicForeign)
    }

    /// Where the envelope's certificate is, if that is where it may be.
    fn place<'e>(&self, envelope: &'e Envelope) -> Result<&'e str, VerifyError> {
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
        self.place(&envelope).map(|url| Some(url.to_owned()))
    }

    fn verify(
        &self,
        source: &SourceName,
        request: &RawRequest<'_>,
        now: Timestamp,
    ) -> Result<Verified, VerifyError> {
        let envelope = Envelope::read(request.body())?;
        self.place(&envelope)?;
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
