//! How a source is configured.

mod secret;

use secrecy::SecretString;
use serde::Deserialize;

pub use secret::SecretSetting;

use crate::PollSettings;

/// One `[source.NAME]` of the configuration, as written and not yet checked.
/// Which of these a provider takes is part of its contract; another one set is
/// an error, never ignored.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceSettings {
    /// Whose contract the source speaks, such as `standard-webhooks`.
    pub provider: String,
    /// The live secrets: the present one, and during a rotation the one before
    /// and the one to come.
    #[serde(default)]
    pub secrets: Vec<SecretSetting>,
    /// How far a post's timestamp may be from now; the provider's own figure
    /// when left out.
    pub tolerance_seconds: Option<u64>,
    /// The name that a post must give by basic authentication.
    pub username: Option<String>,
    /// The password that goes with it.
    pub password: Option<SecretString>,
    /// What must stand in the URL as `?token=…`.
    pub url_token: Option<SecretString>,
    /// The addresses that its posts come from, as `192.0.2.7` or `192.0.2.0/24`;
    /// none means any.
    #[serde(default)]
    pub addresses: Vec<String>,
    /// The domains whose inboxes its mail may reach; none means all that the
    /// server takes mail for.
    #[serde(default)]
    pub domains: Vec<String>,
    /// The provider's public key, in base64.
    pub public_key: Option<String>,
    /// The webhook's URL as it is entered at the provider.
    pub url: Option<String>,
    /// The address that the webhook was made for, where the post does not say.
    pub recipient: Option<String>,
    /// The names (ARNs) of the SNS topics that it takes mail from.
    #[serde(default)]
    pub topics: Vec<String>,
    /// Where SNS is, when it is not at the usual place of the topic's region.
    pub sns_url: Option<String>,
    /// How to get mail out of S3.
    pub s3: Option<S3Settings>,
    /// The key to the provider's API, for mail that its webhook does not carry.
    pub api_key: Option<SecretString>,
    /// The API's URL, when it is not the provider's usual one.
    pub api_url: Option<String>,
    /// How the sender signs.
    pub scheme: Option<SchemeSettings>,
    /// Where the sender puts the mail.
    pub payload: Option<PayloadSettings>,
    /// How the source is polled; it is not when this is left out.
    pub poll: Option<PollSettings>,
}

impl SourceSettings {
    /// A Standard Webhooks source with these secrets.
    pub fn standard_webhooks(secrets: impl IntoIterator<Item = SecretString>) -> Self {
        Self {
            provider: crate::contract::standard_webhooks::CONTRACT.name.to_owned(),
            secrets: secrets.into_iter().map(SecretSetting::from).collect(),
            ..Self::default()
        }
    }

    /// The settings that are set and that not every provider takes.
    pub(crate) fn set(&self) -> impl Iterator<Item = Knob> {
        [
            (Knob::Secrets, !self.secrets.is_empty()),
            (Knob::Tolerance, self.tolerance_seconds.is_some()),
            (Knob::PublicKey, self.public_key.is_some()),
            (Knob::Url, self.url.is_some()),
            (Knob::Recipient, self.recipient.is_some()),
            (Knob::Topics, !self.topics.is_empty()),
            (Knob::SnsUrl, self.sns_url.is_some()),
            (Knob::S3, self.s3.is_some()),
            (Knob::Api, self.api_key.is_some() || self.api_url.is_some()),
            (Knob::Scheme, self.scheme.is_some()),
            (Knob::Payload, self.payload.is_some()),
            (Knob::Poll, self.poll.is_some()),
        ]
        .into_iter()
        .filter_map(|(knob, is_set)| is_set.then_some(knob))
    }
}

/// A setting that only some providers take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Knob {
    Secrets,
    Tolerance,
    PublicKey,
    Url,
    Recipient,
    Topics,
    SnsUrl,
    S3,
    Api,
    Scheme,
    Payload,
    Poll,
}

impl Knob {
    /// Its name in the configuration.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Secrets => "secrets",
            Self::Tolerance => "tolerance_seconds",
            Self::PublicKey => "public_key",
            Self::Url => "url",
            Self::Recipient => "recipient",
            Self::Topics => "topics",
            Self::SnsUrl => "sns_url",
            Self::S3 => "s3",
            Self::Api => "api_key",
            Self::Scheme => "scheme",
            Self::Payload => "payload",
            Self::Poll => "poll",
        }
    }
}

/// How to get mail out of S3.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct S3Settings {
    /// The bucket that the mail is put into; none other is ever read.
    pub bucket: String,
    /// The id of the access key.
    pub access_key: String,
    /// The secret of the access key.
    pub secret_key: SecretString,
    /// The bucket's region; the topics' own if left out.
    pub region: Option<String>,
    /// Where S3 is, when it is not at the usual place of the region.
    pub url: Option<String>,
}

/// How a sender signs with a shared secret; what is left out is the preset of
/// the provider.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SchemeSettings {
    /// The header that holds the signatures.
    pub signature_header: Option<String>,
    /// The header that holds the time of signing.
    pub timestamp_header: Option<String>,
    /// The header that holds the delivery's id.
    pub id_header: Option<String>,
    /// Where the body holds the delivery's id, as keys with dots between.
    pub id_field: Option<String>,
    /// What is signed, of `{id}`, `{timestamp}` and `{body}`.
    pub signed: Option<String>,
    /// `single`, `list` (by spaces) or `pairs` (`t=…,v1=…`).
    pub layout: Option<String>,
    /// What stands before each signature; for `pairs` its name.
    pub prefix: Option<String>,
    /// `hex` or `base64`.
    pub encoding: Option<String>,
    /// `seconds` or `milliseconds`.
    pub unit: Option<String>,
    /// `literal`, or `base64` behind an optional `whsec_`.
    pub key: Option<String>,
    /// The hash inside the MAC: `sha256`, `sha1` or `sha512`.
    pub digest: Option<String>,
}

impl SchemeSettings {
    /// These settings, and `preset` where nothing is set.
    pub(crate) fn or(self, preset: Self) -> Self {
        Self {
            signature_header: self.signature_header.or(preset.signature_header),
            timestamp_header: self.timestamp_header.or(preset.timestamp_header),
            id_header: self.id_header.or(preset.id_header),
            id_field: self.id_field.or(preset.id_field),
            signed: self.signed.or(preset.signed),
            layout: self.layout.or(preset.layout),
            prefix: self.prefix.or(preset.prefix),
            encoding: self.encoding.or(preset.encoding),
            unit: self.unit.or(preset.unit),
            key: self.key.or(preset.key),
            digest: self.digest.or(preset.digest),
        }
    }
}

/// Where a JSON body holds a mail; paths are keys with dots between.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PayloadSettings {
    /// The envelope's recipients: one text or a list.
    pub recipients: String,
    /// The message.
    pub raw: String,
    /// How the message is written.
    #[serde(default)]
    pub encoding: RawForm,
    /// When the sender received the mail, by its own clock and not by the mail's
    /// headers: as RFC 3339 has it, or in seconds or milliseconds.
    pub received_at: Option<String>,
    /// Which event is inbound mail; others are ignored. All are when left out.
    pub event: Option<String>,
    /// Where the event's name stands.
    #[serde(default = "event_field")]
    pub event_field: String,
}

fn event_field() -> String {
    "type".to_owned()
}

/// How a message is written into JSON.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RawForm {
    /// In base64.
    #[default]
    Base64,
    /// As text.
    Text,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_settings_are_errors() {
        for bad in [
            r#"{"provider":"x","secret":"a"}"#,
            r#"{"provider":"x","secrets":[{"secret":"a","until":"x"}]}"#,
            r#"{"provider":"x","secrets":[{"not_after":"2026-01-01T00:00:00Z"}]}"#,
            r#"{"provider":"x","secrets":[{"secret":"a","not_after":"soon"}]}"#,
            r#"{"provider":"x","scheme":{"header":"a"}}"#,
        ] {
            assert!(
                serde_json::from_str::<SourceSettings>(bad).is_err(),
                "{bad}"
            );
        }
    }
}
