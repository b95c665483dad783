//! How a source is configured.

mod poll;
mod scheme;
mod secret;

use secrecy::SecretString;
use serde::Deserialize;

pub use poll::{ListSettings, PollSettings};
pub use scheme::{PayloadSettings, RawForm, SchemeSettings};
pub use secret::SecretSetting;

/// One `[source.NAME]` of the configuration, as written and not yet checked. A
/// provider's contract says which of these it takes; setting another one is an error.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceSettings {
    /// The provider, such as `standard-webhooks`.
    pub provider: String,
    /// The valid secrets: the current one, and during a rotation the previous and the
    /// next one.
    #[serde(default)]
    pub secrets: Vec<SecretSetting>,
    /// How far a post's timestamp may be from now; the provider's own value if left
    /// out.
    pub tolerance_seconds: Option<u64>,
    /// The username that a post must send by basic authentication.
    pub username: Option<String>,
    /// The password that goes with it.
    pub password: Option<SecretString>,
    /// The token that the URL must have as `?token=…`.
    pub url_token: Option<SecretString>,
    /// The IP addresses that its posts may come from, as `192.0.2.7` or
    /// `192.0.2.0/24`; any if empty.
    #[serde(default)]
    pub addresses: Vec<String>,
    /// The domains whose inboxes its mail may reach; `*` for every domain.
    #[serde(default)]
    pub domains: Vec<String>,
    /// Addresses whose mail is forwarded to this source: a mail that is addressed to one
    /// of them counts as addressed to its inbox. `*`: to whom a mail is addressed is
    /// not checked.
    #[serde(default)]
    pub addressed_to: Vec<String>,
    /// The provider's public key, in base64.
    pub public_key: Option<String>,
    /// The webhook's URL, exactly as entered at the provider.
    pub url: Option<String>,
    /// The recipient of all its mail, if posts do not name one.
    pub recipient: Option<String>,
    /// The ARNs of the SNS topics that it accepts.
    #[serde(default)]
    pub topics: Vec<String>,
    /// The URL of SNS, if it is not the usual one of the topic's region.
    pub sns_url: Option<String>,
    /// How to fetch mail from S3.
    pub s3: Option<S3Settings>,
    /// The key to the provider's API, for mail that its posts do not hold.
    pub api_key: Option<SecretString>,
    /// The URL of the API, if it is not the provider's usual one.
    pub api_url: Option<String>,
    /// How the sender signs.
    pub scheme: Option<SchemeSettings>,
    /// Where the sender puts the mail.
    pub payload: Option<PayloadSettings>,
    /// How the source is polled; it is not polled if this is left out.
    pub poll: Option<PollSettings>,
}

impl SourceSettings {
    /// The optional settings that are set.
    pub(crate) fn set(&self) -> impl Iterator<Item = Setting> {
        [
            (Setting::Secrets, !self.secrets.is_empty()),
            (Setting::Tolerance, self.tolerance_seconds.is_some()),
            (Setting::PublicKey, self.public_key.is_some()),
            (Setting::Url, self.url.is_some()),
            (Setting::Recipient, self.recipient.is_some()),
            (Setting::Topics, !self.topics.is_empty()),
            (Setting::SnsUrl, self.sns_url.is_some()),
            (Setting::S3, self.s3.is_some()),
            (
                Setting::Api,
                self.api_key.is_some() || self.api_url.is_some(),
            ),
            (Setting::Scheme, self.scheme.is_some()),
            (Setting::Payload, self.payload.is_some()),
            (Setting::Poll, self.poll.is_some()),
        ]
        .into_iter()
        .filter_map(|(setting, is_set)| is_set.then_some(setting))
    }
}

/// A setting that only some providers take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
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

impl Setting {
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

/// How to fetch mail from S3.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct S3Settings {
    /// The bucket that holds the mail; no other bucket is read.
    pub bucket: String,
    /// The id of the access key.
    pub access_key: String,
    /// The secret of the access key.
    pub secret_key: SecretString,
    /// The bucket's region; the region of the topics if left out.
    pub region: Option<String>,
    /// The URL of S3, if it is not the usual one of the region.
    pub url: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_setting_is_an_error() {
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
