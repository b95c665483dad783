//! A configured sender: who it is, to whom it may write, and how its mail is handed over.

mod api;
mod build;
mod foreign;
mod smtp;

use std::sync::Arc;
use std::time::Duration;

use pipeline::SenderName;

use crate::approval::Approval;
use crate::mailbox::Mailbox;
use crate::recipients::Recipients;
use crate::settings::OnUncertain;
use crate::transport::Transport;

/// A checked sender.
#[derive(Clone)]
pub(crate) struct Sender {
    pub(crate) name: SenderName,
    pub(crate) from: Mailbox,
    pub(crate) recipients: Recipients,
    pub(crate) links: Vec<String>,
    pub(crate) templates: Option<Vec<String>>,
    pub(crate) on_uncertain: OnUncertain,
    pub(crate) approval: Approval,
    pub(crate) per_recipient_day: Option<u32>,
    pub(crate) per_key_hour: Option<u32>,
    pub(crate) transport: Arc<dyn Transport>,
}

impl Sender {
    /// Whether it may use a template.
    pub(crate) fn uses(&self, template: &str) -> bool {
        let listed = |names: &Vec<String>| names.iter().any(|name| name == template);
        self.templates.as_ref().is_none_or(listed)
    }

    /// How long a claim of its sends holds: longer than the longest call.
    pub(crate) fn lease(&self, margin: Duration) -> Duration {
        self.transport.timeout() + margin
    }
}

/// What is wrong with a sender's settings.
#[derive(Debug, thiserror::Error)]
pub enum SenderFlaw {
    /// Its name.
    #[error(transparent)]
    Name(#[from] pipeline::SenderNameError),
    /// Its provider is unknown.
    #[error(
        "unknown provider; known are: agentmail, brevo, mailgun, nylas, postmark, resend, \
         sendgrid, ses, smtp, sparkpost"
    )]
    Provider,
    /// Its provider takes no such setting.
    #[error("this provider takes no `{0}`")]
    Unfit(&'static str),
    /// Its provider needs a setting that is missing.
    #[error("`{0}` must be set for this provider")]
    Missing(&'static str),
    /// The `from` setting.
    #[error("`from` is {0}")]
    From(#[from] crate::mailbox::MailboxError),
    /// A recipient.
    #[error("`recipients`: `{0}` is neither user@example.com nor @example.com")]
    Recipient(String),
    /// A host for links.
    #[error("`links`: `{0}` is not a host name")]
    Link(String),
    /// A template that does not exist.
    #[error("`templates`: there is no template `{0}`")]
    UnknownTemplate(String),
    /// One of its templates cannot be used with it.
    #[error("template `{0}`: {1}")]
    Template(String, crate::template::TemplateFlaw),
    /// The URL of its API.
    #[error("`api_url` must be https, or http to this machine")]
    Url,
    /// A setting that cannot be used.
    #[error("`{0}` cannot be used")]
    Unusable(&'static str),
    /// Passwords and mail are not sent in the clear over a network.
    #[error("`tls` may be off only for a server on this machine")]
    PlainText,
    /// The file with certificates.
    #[error("`ca_file` could not be read as certificates")]
    CaFile,
    /// The HTTP client could not be built.
    #[error("failed to build the HTTP client")]
    Client(#[from] reqwest::Error),
}
