//! How senders are configured.

use std::time::Duration;

use secrecy::SecretString;
use serde::Deserialize;

use crate::approval::Approval;

/// One `[senders.NAME]` of the configuration, as written and not yet checked.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SenderSettings {
    /// The provider: `agentmail`, `brevo`, `mailgun`, `nylas`, `postmark`, `resend`,
    /// `sendgrid`, `ses`, `smtp` or `sparkpost`.
    pub provider: String,
    /// The sender's name and address: `Shop <support@mail.example.com>`.
    pub from: String,
    /// The addresses (`user@example.com`) and domains (`@example.com`) that it may send to.
    #[serde(default)]
    pub recipients: Vec<String>,
    /// The hosts that links in its mail may lead to.
    #[serde(default)]
    pub links: Vec<String>,
    /// The templates that it may use; all if left out.
    pub templates: Option<Vec<String>>,
    /// What happens to a send when it is unknown whether the provider accepted it.
    #[serde(default)]
    pub on_uncertain: OnUncertain,
    /// Whether an operator must approve each mail.
    #[serde(default)]
    pub approval: Approval,
    /// The most mails a day to one recipient.
    pub per_recipient_day: Option<u32>,
    /// The most mails an hour that one API key may ask for.
    pub per_key_hour: Option<u32>,
    /// The URL of the API, if it is not the provider's usual one.
    pub api_url: Option<String>,
    /// The key to the API.
    pub api_key: Option<SecretString>,
    /// The message stream of Postmark.
    pub stream: Option<String>,
    /// The domain of Mailgun.
    pub domain: Option<String>,
    /// The grant of Nylas.
    pub grant: Option<String>,
    /// The inbox of `AgentMail`.
    pub inbox: Option<String>,
    /// The region of Amazon SES.
    pub region: Option<String>,
    /// The id of the AWS access key.
    pub access_key: Option<String>,
    /// The secret of the AWS access key.
    pub secret_key: Option<SecretString>,
    /// The host of an SMTP server.
    pub host: Option<String>,
    /// Its port, if it is not the usual one.
    pub port: Option<u16>,
    /// How the connection to it is encrypted.
    pub tls: Option<SmtpTls>,
    /// A file with the certificates of the authorities that may have signed its own.
    pub ca_file: Option<String>,
    /// The user name.
    pub username: Option<String>,
    /// The password.
    pub password: Option<SecretString>,
}

/// What happens to a send when it is unknown whether the provider accepted it, when neither its
/// key nor a look-up can tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnUncertain {
    /// It waits for an operator: maybe no mail.
    #[default]
    Hold,
    /// It is sent once more: maybe two mails.
    Retry,
}

/// How a connection to an SMTP server is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SmtpTls {
    /// From the first byte; port 465.
    Implicit,
    /// By `STARTTLS`; port 587.
    Starttls,
    /// Not at all; port 25. Only to this machine.
    Off,
}

/// The settings that all senders share.
#[derive(Debug, Clone)]
pub struct SendSettings {
    /// How long a provider may take to answer.
    pub timeout: Duration,
    /// How long an SMTP server may take to answer the final dot.
    pub smtp_timeout: Duration,
    /// How much longer than the longest call a claim holds.
    pub lease_margin: Duration,
    /// How often due sends are looked for when nothing announces them.
    pub every: Duration,
    /// How many sends are handed over at once.
    pub concurrency: usize,
    /// How long a held send waits for its approval.
    pub hold: Duration,
    /// The most mails a day, all senders together.
    pub per_day: u32,
    /// How old a send may become before it is given up, if it provably was not sent.
    pub give_up: Duration,
    /// The wait before the first look at an uncertain send; it grows from try to try.
    pub settle_first: Duration,
    /// The longest wait between two looks.
    pub settle_ceiling: Duration,
    /// How long after the first try a look-up must have found nothing, before `retry`
    /// sends once more.
    pub retry_after: Duration,
}

/// The settings cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendSettingsError {
    /// A claim would end while a provider may still accept the mail.
    #[error("send.lease_margin must be at least 1s: a claim must outlive every call")]
    Margin,
    /// The timeout is too short to succeed or too long to wait for.
    #[error("send.timeout must be 100ms to 5m")]
    Timeout,
    /// The answer to the final dot may take ten minutes.
    #[error("send.smtp_timeout must be 100ms to 30m")]
    SmtpTimeout,
    /// Nothing would be sent.
    #[error("send.concurrency must be 1 to 256")]
    Concurrency,
}

impl SendSettings {
    /// Checks the settings.
    pub fn checked(self) -> Result<Self, SendSettingsError> {
        let shortest = Duration::from_millis(100);
        if self.lease_margin < Duration::from_secs(1) {
            return Err(SendSettingsError::Margin);
        }
        if !(shortest..=Duration::from_mins(5)).contains(&self.timeout) {
            return Err(SendSettingsError::Timeout);
        }
        if !(shortest..=Duration::from_mins(30)).contains(&self.smtp_timeout) {
            return Err(SendSettingsError::SmtpTimeout);
        }
        if !(1..=256).contains(&self.concurrency) {
            return Err(SendSettingsError::Concurrency);
        }
        Ok(self)
    }
}
