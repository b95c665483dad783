//! The contracts of the providers, as they document them.

mod look_up;
mod reply;
mod request;

use super::accepted::{Accepted, send_key};
use super::wire::Reply;

/// A provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Provider {
    AgentMail,
    Brevo,
    Mailgun,
    Nylas,
    Postmark,
    Resend,
    SendGrid,
    Ses,
    SparkPost,
}

/// What a request asks a provider for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// To send a mail.
    Send(Provider),
    /// Which mail it has accepted.
    LookUp(Provider),
}

impl Asked {
    /// What the head of a request asks for.
    pub(super) fn of(head: &str) -> Option<Self> {
        use Provider::{
            AgentMail, Brevo, Mailgun, Nylas, Postmark, Resend, SendGrid, Ses, SparkPost,
        };
        let mut words = head.split(' ');
        let (method, target) = (words.next()?, words.next()?);
        let path = target.split('?').next()?;
        let segments: Vec<&str> = path.split('/').skip(1).collect();
        let provider = match (method, segments.as_slice()) {
            ("POST", ["v0", "inboxes", _, "messages", "send"]) => AgentMail,
            ("POST", ["v3", "smtp", "email"]) => Brevo,
            ("POST", ["v3", _, "messages"]) => Mailgun,
            ("POST", ["v3", "grants", _, "messages", "send"]) => Nylas,
            ("POST", ["email"]) => Postmark,
            ("POST", ["emails"]) => Resend,
            ("POST", ["v3", "mail", "send"]) => SendGrid,
            ("POST", ["v2", "email", "outbound-emails"]) => Ses,
            ("POST", ["api", "v1", "transmissions"]) => SparkPost,
            ("GET", ["v0", "inboxes", _, "messages"]) => return Some(Self::LookUp(AgentMail)),
            ("GET", ["v3", "smtp", "statistics", "events"]) => return Some(Self::LookUp(Brevo)),
            ("GET", ["v3", _, "events"]) => return Some(Self::LookUp(Mailgun)),
            ("GET", ["v3", "grants", _, "messages"]) => return Some(Self::LookUp(Nylas)),
            ("GET", ["messages", "outbound"]) => return Some(Self::LookUp(Postmark)),
            ("GET", ["api", "v1", "events", "message"]) => return Some(Self::LookUp(SparkPost)),
            _ => return None,
        };
        Some(Self::Send(provider))
    }
}

impl Provider {
    /// Accepts a mail, recognises it by its key, or refuses it as the provider would.
    pub(super) fn accept(self, head: &str, body: &str, accepted: &mut Vec<Accepted>) -> Reply {
        if let Some(refused) = self.refusal(head, body) {
            return refused;
        }
        let idempotency_key = self.idempotency_key(head, body);
        if !idempotency_key.is_empty() {
            let same = |mail: &&Accepted| {
                mail.provider == self.name() && mail.idempotency_key == idempotency_key
            };
            if let Some(known) = accepted.iter().find(same) {
                return self.repeated(known, body);
            }
        }
        let id = format!("{}-{}", self.name(), accepted.len() + 1);
        let reply = self.accepted(&id);
        accepted.push(Accepted {
            provider: self.name(),
            key: send_key(&self.own_headers(body)).unwrap_or_default(),
            idempotency_key,
            body: body.to_owned(),
            id,
        });
        reply
    }

    /// Whether a repetition of a request that failed gets the first error again.
    pub(super) fn keeps_errors(self) -> bool {
        self == Self::Nylas
    }

    /// Its name in the configuration.
    fn name(self) -> &'static str {
        match self {
            Self::AgentMail => "agentmail",
            Self::Brevo => "brevo",
            Self::Mailgun => "mailgun",
            Self::Nylas => "nylas",
            Self::Postmark => "postmark",
            Self::Resend => "resend",
            Self::SendGrid => "sendgrid",
            Self::Ses => "ses",
            Self::SparkPost => "sparkpost",
        }
    }
}
