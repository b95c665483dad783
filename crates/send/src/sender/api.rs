//! The senders that use an API, from their settings.

use std::sync::Arc;
use std::time::Duration;

use pipeline::Clock;
use providers::Scope;
use secrecy::SecretString;
use url::Url;

use super::SenderFlaw;
use super::foreign::refuse_others;
use crate::http::{Http, api_url};
use crate::mailbox::Mailbox;
use crate::provider::{
    AgentMail, Brevo, Mailgun, Nylas, Postmark, Resend, SendGrid, Ses, SparkPost,
};
use crate::settings::SenderSettings;

/// What a sender that uses an API is built from.
pub(super) struct Api<'a> {
    pub(super) settings: &'a SenderSettings,
    pub(super) from: &'a Mailbox,
    pub(super) timeout: Duration,
}

impl Api<'_> {
    pub(super) fn agentmail(&self) -> Result<AgentMail, SenderFlaw> {
        self.takes(&["api_url", "api_key", "inbox"])?;
        let inbox = self.settings.inbox.clone();
        let inbox = inbox.unwrap_or_else(|| self.from.address().to_string());
        Ok(AgentMail {
            api: self.url(AgentMail::API)?,
            api_key: self.key()?,
            inbox: segment("inbox", inbox)?,
            http: self.http()?,
        })
    }

    pub(super) fn brevo(&self) -> Result<Brevo, SenderFlaw> {
        self.takes(&["api_url", "api_key"])?;
        Ok(Brevo {
            api: self.url(Brevo::API)?,
            api_key: self.key()?,
            http: self.http()?,
        })
    }

    pub(super) fn mailgun(&self) -> Result<Mailgun, SenderFlaw> {
        self.takes(&["api_url", "api_key", "domain"])?;
        let domain = self.settings.domain.clone();
        let domain = domain.unwrap_or_else(|| self.from.domain().to_owned());
        Ok(Mailgun {
            api: self.url(Mailgun::API)?,
            api_key: self.key()?,
            domain: segment("domain", domain)?,
            http: self.http()?,
        })
    }

    pub(super) fn nylas(&self) -> Result<Nylas, SenderFlaw> {
        self.takes(&["api_url", "api_key", "grant"])?;
        let grant = self.settings.grant.clone();
        let grant = grant.ok_or(SenderFlaw::Missing("grant"))?;
        Ok(Nylas {
            api: self.url(Nylas::API)?,
            api_key: self.key()?,
            grant: segment("grant", grant)?,
            http: self.http()?,
        })
    }

    pub(super) fn postmark(&self) -> Result<Postmark, SenderFlaw> {
        self.takes(&["api_url", "api_key", "stream"])?;
        let stream = self.settings.stream.as_deref().unwrap_or("outbound");
        Ok(Postmark {
            api: self.url(Postmark::API)?,
            api_key: self.key()?,
            stream: stream.to_owned(),
            http: self.http()?,
        })
    }

    pub(super) fn resend(&self) -> Result<Resend, SenderFlaw> {
        self.takes(&["api_url", "api_key"])?;
        Ok(Resend {
            api: self.url(Resend::API)?,
            api_key: self.key()?,
            http: self.http()?,
        })
    }

    pub(super) fn sendgrid(&self) -> Result<SendGrid, SenderFlaw> {
        self.takes(&["api_url", "api_key"])?;
        Ok(SendGrid {
            api: self.url(SendGrid::API)?,
            api_key: self.key()?,
            http: self.http()?,
        })
    }

    pub(super) fn ses(&self, clock: &Arc<dyn Clock>) -> Result<Ses, SenderFlaw> {
        self.takes(&["api_url", "region", "access_key", "secret_key"])?;
        let region = self.settings.region.clone();
        let region = region.ok_or(SenderFlaw::Missing("region"))?;
        let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if region.is_empty() || !region.bytes().all(is_plain) {
            return Err(SenderFlaw::Unusable("region"));
        }
        let access_key = self.settings.access_key.clone();
        let secret_key = self.settings.secret_key.clone();
        Ok(Ses {
            api: self.url(&Ses::api(&region))?,
            scope: Scope {
                access_key: access_key.ok_or(SenderFlaw::Missing("access_key"))?,
                region,
            },
            secret_key: secret_key.ok_or(SenderFlaw::Missing("secret_key"))?,
            clock: Arc::clone(clock),
            http: self.http()?,
        })
    }

    pub(super) fn sparkpost(&self) -> Result<SparkPost, SenderFlaw> {
        self.takes(&["api_url", "api_key"])?;
        Ok(SparkPost {
            api: self.url(SparkPost::API)?,
            api_key: self.key()?,
            http: self.http()?,
        })
    }

    fn takes(&self, own: &[&str]) -> Result<(), SenderFlaw> {
        refuse_others(self.settings, own)
    }

    fn url(&self, usual: &str) -> Result<Url, SenderFlaw> {
        let text = self.settings.api_url.as_deref().unwrap_or(usual);
        api_url(text).ok_or(SenderFlaw::Url)
    }

    fn key(&self) -> Result<SecretString, SenderFlaw> {
        let key = self.settings.api_key.clone();
        key.ok_or(SenderFlaw::Missing("api_key"))
    }

    fn http(&self) -> Result<Http, SenderFlaw> {
        Ok(Http::new(self.timeout)?)
    }
}

/// A setting that becomes a segment of a path. Dots would lead to another path.
fn segment(name: &'static str, text: String) -> Result<String, SenderFlaw> {
    if matches!(text.as_str(), "" | "." | "..") {
        return Err(SenderFlaw::Unusable(name));
    }
    Ok(text)
}
