//! Builds a sender from its settings.

use std::sync::Arc;

use pipeline::Clock;
use url::Host;

use super::api::Api;
use super::smtp::smtp;
use super::{Sender, SenderFlaw};
use crate::mailbox::Mailbox;
use crate::provider::{
    AgentMail, Brevo, Mailgun, Nylas, Postmark, Resend, SendGrid, Ses, Smtp, SparkPost,
};
use crate::recipients::Recipients;
use crate::settings::{SendSettings, SenderSettings};
use crate::transport::Transport;

impl Sender {
    /// Checks the settings of a sender.
    pub(crate) fn build(
        name: &str,
        settings: SenderSettings,
        shared: &SendSettings,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, SenderFlaw> {
        let from: Mailbox = settings.from.parse()?;
        let recipients = Recipients::parse(&settings.recipients).map_err(SenderFlaw::Recipient)?;
        let transport = transport(&settings, &from, shared, clock)?;
        let mut links = Vec::new();
        for host in settings.links {
            match Host::parse(&host) {
                Ok(Host::Domain(domain)) => links.push(domain),
                _ => return Err(SenderFlaw::Link(host)),
            }
        }
        Ok(Self {
            name: name.parse()?,
            from,
            recipients,
            links,
            templates: settings.templates,
            on_uncertain: settings.on_uncertain,
            approval: settings.approval,
            per_recipient_day: settings.per_recipient_day,
            per_key_hour: settings.per_key_hour,
            transport,
        })
    }
}

fn transport(
    settings: &SenderSettings,
    from: &Mailbox,
    shared: &SendSettings,
    clock: &Arc<dyn Clock>,
) -> Result<Arc<dyn Transport>, SenderFlaw> {
    let api = Api {
        settings,
        from,
        timeout: shared.timeout,
    };
    let transport: Arc<dyn Transport> = match settings.provider.as_str() {
        AgentMail::NAME => Arc::new(api.agentmail()?),
        Brevo::NAME => Arc::new(api.brevo()?),
        Mailgun::NAME => Arc::new(api.mailgun()?),
        Nylas::NAME => Arc::new(api.nylas()?),
        Postmark::NAME => Arc::new(api.postmark()?),
        Resend::NAME => Arc::new(api.resend()?),
        SendGrid::NAME => Arc::new(api.sendgrid()?),
        Ses::NAME => Arc::new(api.ses(clock)?),
        Smtp::NAME => Arc::new(smtp(settings, from, shared)?),
        SparkPost::NAME => Arc::new(api.sparkpost()?),
        _ => return Err(SenderFlaw::Provider),
    };
    Ok(transport)
}
