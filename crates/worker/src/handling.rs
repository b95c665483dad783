//! What rules do with a mail, and what is kept so that it can be answered.

use extract::{Identity, ReplyHeaders};
use pipeline::{
    Disposition, Handling, InboundRule, InboxId, MailTraits, ReplyContext, ReplyRefusal,
    RuleEffects, Sender, ServerKey, ThreadId, person_tag,
};

use crate::decisions::Decisions;
use crate::deps::Deps;
use crate::failure::Failure;
use crate::own_mail::is_own_echo;
use crate::settings::ReplySettings;

/// What a mail is, for all the inboxes that it was sent to.
pub(crate) struct Letter<'m> {
    pub(crate) headers: &'m ReplyHeaders,
    pub(crate) identity: &'m Identity,
    /// Whether it is a copy of a mail that was sent here.
    pub(crate) is_own_echo: bool,
}

/// What rules did with a mail for one inbox.
#[derive(Debug, Default)]
pub(crate) struct Handled {
    pub(crate) is_dropped: bool,
    /// The labels that it got, as flags.
    pub(crate) labels: Vec<String>,
    pub(crate) handling: Handling,
}

impl<'m> Letter<'m> {
    /// What a mail is. `provider_id` is the id that its provider gave it.
    pub(crate) async fn of(
        deps: &Deps,
        mail: &'m Decisions,
        provider_id: Option<&str>,
    ) -> Result<Self, Failure> {
        let (headers, identity) = (&mail.reply, &mail.identity);
        let from = (mail.sender.address.as_deref(), provider_id);
        Ok(Self {
            headers,
            identity,
            is_own_echo: is_own_echo(deps, headers, identity, from).await?,
        })
    }
}

impl Letter<'_> {
    /// Applies the rules of the configuration and of one inbox.
    pub(crate) fn effects(
        &self,
        settings: &ReplySettings,
        of_inbox: &[InboundRule],
        sender: &Sender,
        recipients: &[InboxId],
    ) -> RuleEffects {
        let traits = MailTraits {
            sender: sender.address.as_deref(),
            domain: sender.domain.as_deref(),
            is_proven: sender.proof.holds(),
            recipients,
            is_automated: self.headers.automated.is_some(),
            is_list: self.headers.list.is_some(),
            is_own_echo: self.is_own_echo,
        };
        RuleEffects::of(&traits, &settings.rules, of_inbox)
    }

    /// What is recorded of the mail for an inbox.
    pub(crate) fn handled(
        &self,
        settings: &ReplySettings,
        effects: RuleEffects,
        sender: &Sender,
        (server, inbox): (&ServerKey, &InboxId),
    ) -> Handled {
        let is_dropped = effects.disposition == Disposition::Drop;
        let labels = effects.labels.iter().map(|label| format!("label.{label}"));
        let mut handled = Handled {
            is_dropped,
            labels: labels.collect(),
            handling: Handling {
                rules: effects.applied,
                ..Handling::default()
            },
        };
        let handling = &mut handled.handling;
        if !settings.keeps_context {
            // No sender is configured to answer it, so the reason does not matter.
            handling
                .rules
                .retain(|rule| !(rule.starts_with("built_in.") && rule.ends_with(":no_reply")));
            return handled;
        }
        let own = &settings.own_addresses;
        let address = sender.address.as_deref();
        let is_from_us = address.is_some_and(|address| own.contains(address));
        handling.no_reply = match effects.no_reply {
            Some(ReplyRefusal::OwnEcho) => effects.no_reply,
            _ if is_from_us => Some(ReplyRefusal::OwnAddress),
            Some(refusal) => Some(refusal),
            None => address.map_or(Some(ReplyRefusal::NoSender), refused_address),
        };
        // A mail of ours belongs to the thread of the person that it was sent to.
        let person = if is_from_us {
            self.headers.to.as_deref()
        } else {
            address
        };
        handling.is_ours = is_from_us && !self.is_own_echo && person.is_some();
        handling.thread = person.map(|person| {
            let root = self.thread_root();
            let thread = ThreadId::of(server, inbox, &root, person);
            (thread, person_tag(server, inbox, person))
        });
        if handling.no_reply.is_none() {
            handling.context = address.map(|address| self.context(address));
        }
        handled
    }

    /// A mail without any id is a thread of its own.
    fn thread_root(&self) -> String {
        let root = self.headers.thread_root();
        let content = || format!("{:02x?}", self.identity.content);
        root.map_or_else(content, str::to_owned)
    }

    fn context(&self, from: &str) -> ReplyContext {
        let reply_to = self.headers.reply_to.clone();
        ReplyContext {
            from: from.to_owned(),
            reply_to: reply_to.filter(|address| address != from),
            message_id: self.headers.message_id.clone(),
            references: self.headers.references.clone(),
            subject: self.headers.subject.clone(),
        }
    }
}

/// Addresses whose name says that their mail is not read.
fn refused_address(address: &str) -> Option<ReplyRefusal> {
    let local = address.split('@').next().unwrap_or_default();
    let plain: String = local.chars().filter(char::is_ascii_alphanumeric).collect();
    let is_begun = ["noreply", "donotreply", "mailerdaemon"]
        .iter()
        .any(|word| plain.starts_with(word));
    let is_whole = ["postmaster", "bounce", "bounces"].contains(&plain.as_str());
    (is_begun || is_whole).then_some(ReplyRefusal::NoReplyAddress)
}

#[cfg(test)]
mod tests;
