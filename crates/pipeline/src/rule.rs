//! Inbound rules: what happens to a mail before it can reach an agent.
//!
//! Rules of the configuration come first, then those of the inbox, each list in its
//! order. The first `drop` or `route` ends them. Three rules are built in and cannot be
//! removed: a copy of our own mail is dropped, and automated and list mail is not
//! answered.

mod settings;

use crate::{InboxId, ReplyRefusal};

pub use settings::{RuleError, RuleSettings};

/// One checked rule. All of its conditions must hold.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "RuleSettings", into = "RuleSettings")]
pub struct InboundRule {
    name: String,
    condition: RuleCondition,
    action: RuleAction,
}

/// When a rule applies. A condition that is `None` always holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct RuleCondition {
    sender: Option<String>,
    /// A domain with its subdomains.
    domain: Option<String>,
    proven: Option<bool>,
    recipient: Option<InboxId>,
    automated: Option<bool>,
    list: Option<bool>,
    own_echo: Option<bool>,
}

/// What a rule does.
#[derive(Debug, Clone, PartialEq, Eq)]
enum RuleAction {
    Drop,
    Route(InboxId),
    Label(String),
    NoReply,
}

impl RuleAction {
    fn word(&self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::Route(_) => "route",
            Self::Label(_) => "label",
            Self::NoReply => "no_reply",
        }
    }
}

/// What rules look at.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a condition of its own that a rule may name"
)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MailTraits<'m> {
    /// The sender's address, as the mail states it.
    pub sender: Option<&'m str>,
    /// The sender's domain, in ASCII.
    pub domain: Option<&'m str>,
    /// Whether the sender is proven.
    pub is_proven: bool,
    /// The addresses of the inbox that the mail was sent to.
    pub recipients: &'m [InboxId],
    /// Whether a machine sent it.
    pub is_automated: bool,
    /// Whether a mailing list sent it.
    pub is_list: bool,
    /// Whether it is a copy of a mail that was sent here.
    pub is_own_echo: bool,
}

/// Where a mail goes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Disposition {
    /// To its inbox.
    #[default]
    Keep,
    /// Nowhere: it is recorded without artifacts.
    Drop,
    /// To this inbox instead of its own.
    Route(InboxId),
}

/// What the rules did with a mail.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleEffects {
    /// Where it goes.
    pub disposition: Disposition,
    /// The labels that it got.
    pub labels: Vec<String>,
    /// Why it must not be answered.
    pub no_reply: Option<ReplyRefusal>,
    /// What was applied, in order, such as `built_in.own_echo:drop` or
    /// `inbox.newsletters:label`.
    pub applied: Vec<String>,
}

impl InboundRule {
    /// The inbox that it routes mail to.
    pub fn route(&self) -> Option<&InboxId> {
        match &self.action {
            RuleAction::Route(inbox) => Some(inbox),
            RuleAction::Drop | RuleAction::Label(_) | RuleAction::NoReply => None,
        }
    }

    /// Whether it matters to the rule if the sender is proven.
    pub fn asks_for_proof(&self) -> bool {
        self.condition.proven.is_some()
    }

    fn applies_to(&self, mail: &MailTraits<'_>) -> bool {
        let RuleCondition {
            sender,
            domain,
            proven,
            recipient,
            automated,
            list,
            own_echo,
        } = &self.condition;
        let is = |wanted: &Option<bool>, actual: bool| wanted.is_none_or(|wanted| wanted == actual);
        let is_in = |domain: &String| mail.domain.is_some_and(|of| lies_in(of, domain));
        sender
            .as_ref()
            .is_none_or(|sender| mail.sender == Some(sender))
            && domain.as_ref().is_none_or(is_in)
            && is(proven, mail.is_proven)
            && recipient
                .as_ref()
                .is_none_or(|address| mail.recipients.contains(address))
            && is(automated, mail.is_automated)
            && is(list, mail.is_list)
            && is(own_echo, mail.is_own_echo)
    }
}

/// Whether a domain is another one or below it.
fn lies_in(domain: &str, over: &str) -> bool {
    let rest = domain.strip_suffix(over);
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

impl RuleEffects {
    /// Applies the built-in rules, those of the configuration and those of the inbox.
    pub fn of(mail: &MailTraits<'_>, configured: &[InboundRule], of_inbox: &[InboundRule]) -> Self {
        let mut effects = Self::default();
        for (holds, refusal, applied) in [
            (
                mail.is_own_echo,
                ReplyRefusal::OwnEcho,
                "built_in.own_echo:drop",
            ),
            (
                mail.is_automated,
                ReplyRefusal::Automated,
                "built_in.automated:no_reply",
            ),
            (mail.is_list, ReplyRefusal::List, "built_in.list:no_reply"),
        ] {
            if holds {
                effects.applied.push(applied.to_owned());
                effects.no_reply.get_or_insert(refusal);
            }
        }
        if mail.is_own_echo {
            effects.disposition = Disposition::Drop;
        }
        let configured = configured.iter().map(|rule| ("config", rule));
        let of_inbox = of_inbox.iter().map(|rule| ("inbox", rule));
        for (origin, rule) in configured.chain(of_inbox) {
            if rule.applies_to(mail) {
                effects.apply(origin, rule);
            }
            if effects.disposition != Disposition::Keep && !mail.is_own_echo {
                break;
            }
        }
        effects
    }

    /// A copy of our own mail stays dropped; it can only get labels.
    fn apply(&mut self, origin: &str, rule: &InboundRule) {
        let is_over = self.disposition != Disposition::Keep;
        match &rule.action {
            RuleAction::Drop | RuleAction::Route(_) if is_over => return,
            RuleAction::Drop => self.disposition = Disposition::Drop,
            RuleAction::Route(inbox) => self.disposition = Disposition::Route(inbox.clone()),
            RuleAction::Label(label) => self.labels.push(label.clone()),
            RuleAction::NoReply => {
                self.no_reply.get_or_insert(ReplyRefusal::Rule);
            }
        }
        let (name, word) = (&rule.name, rule.action.word());
        self.applied.push(format!("{origin}.{name}:{word}"));
    }
}

#[cfg(test)]
mod tests;
