//! From what the extractor found to the little that is kept and shown.

use std::time::Duration;

use extract::{Code, Extracted, Link, Verdict as Found};
use pipeline::{
    ArtifactId, ArtifactKey, ArtifactKind, InboxId, MessageId, MessageKey, NewArtifact, NewMessage,
    Reason, Sender, ServerKey, Timestamp, Verdict,
};
use secrecy::SecretString;

/// What is needed besides the mail itself.
pub(crate) struct Minimizer<'a> {
    pub(crate) server_key: &'a ServerKey,
    pub(crate) received_at: Timestamp,
    pub(crate) lifetime: Duration,
    pub(crate) same_value_window: Duration,
}

/// The message for one inbox, with at least one artifact: when nothing was
/// found, an item that says so and why.
pub(crate) fn minimize(mail: &Extracted, inbox: InboxId, with: &Minimizer<'_>) -> NewMessage {
    let identity = &mail.identity;
    let key = MessageKey::new(&inbox, identity.message_id.as_deref(), &identity.content);
    let artifacts = artifacts(mail, &inbox, &key, with);
    NewMessage {
        id: MessageId::new(),
        inbox,
        key,
        sender: Sender {
            address: mail.sender.address.clone(),
            domain: mail.sender.domain.clone(),
        },
        flags: mail
            .flags
            .iter()
            .map(|flag| flag.as_str().to_owned())
            .collect(),
        artifacts,
    }
}

fn artifacts(
    mail: &Extracted,
    inbox: &InboxId,
    message: &MessageKey,
    with: &Minimizer<'_>,
) -> Vec<NewArtifact> {
    let item = |kind, finding: Finding| finding.into_artifact(kind, inbox, message, with);
    let code = Finding::of_code(&mail.code).map(|finding| item(ArtifactKind::Code, finding));
    let link = Finding::of_link(&mail.link).map(|finding| item(ArtifactKind::Link, finding));
    let found: Vec<NewArtifact> = [code, link].into_iter().flatten().collect();
    if !found.is_empty() {
        return found;
    }
    let reason = abstention(mail);
    vec![item(ArtifactKind::Nothing, Finding::nothing(reason))]
}

/// Why there is nothing: the code's reason, which says the most about a mail.
fn abstention(mail: &Extracted) -> Reason {
    match &mail.code {
        Found::Nothing(reason) => Reason::new(reason.as_str()),
        Found::Found(_) | Found::Withheld(_) => Reason::new("nothing_found"),
    }
}

/// A code or a link, reduced to what they have in common.
struct Finding {
    verdict: Verdict,
    value: Option<String>,
    rule: Reason,
    confidence: u8,
    host: Option<String>,
}

impl Finding {
    fn of_code(found: &Found<Code>) -> Option<Self> {
        match found {
            Found::Found(code) => Some(Self {
                verdict: Verdict::Usable,
                value: Some(code.value.clone()),
                rule: Reason::new(code.rule),
                confidence: code.confidence,
                host: None,
            }),
            Found::Withheld(reason) => Some(Self::withheld(Reason::new(reason.as_str()))),
            Found::Nothing(_) => None,
        }
    }

    fn of_link(found: &Found<Link>) -> Option<Self> {
        match found {
            Found::Found(link) => Some(Self {
                verdict: Verdict::Usable,
                value: Some(link.url.clone()),
                rule: Reason::new(link.kind.as_str()),
                confidence: link.confidence,
                host: Some(link.host.clone()),
            }),
            Found::Withheld(reason) => Some(Self::withheld(Reason::new(reason.as_str()))),
            Found::Nothing(_) => None,
        }
    }

    fn withheld(reason: Reason) -> Self {
        Self {
            verdict: Verdict::Withheld(reason.clone()),
            value: None,
            rule: reason,
            confidence: 0,
            host: None,
        }
    }

    fn nothing(reason: Reason) -> Self {
        Self {
            verdict: Verdict::Abstained(reason.clone()),
            value: None,
            rule: reason,
            confidence: 0,
            host: None,
        }
    }

    fn into_artifact(
        self,
        kind: ArtifactKind,
        inbox: &InboxId,
        message: &MessageKey,
        with: &Minimizer<'_>,
    ) -> NewArtifact {
        let key = match &self.value {
            Some(value) => ArtifactKey::for_value(
                with.server_key,
                inbox,
                kind,
                value,
                window(with.received_at, with.same_value_window),
            ),
            None => ArtifactKey::for_message(with.server_key, message.as_bytes(), kind),
        };
        NewArtifact {
            id: ArtifactId::new(),
            key,
            kind,
            verdict: self.verdict,
            value: self.value.map(SecretString::from),
            rule: self.rule,
            confidence: self.confidence,
            host: self.host,
            lifetime: with.lifetime,
        }
    }
}

/// Which window of time a moment falls into.
fn window(moment: Timestamp, length: Duration) -> u64 {
    let moment = u64::try_from(moment.as_millis()).unwrap_or(0);
    let length = u64::try_from(length.as_millis()).unwrap_or(u64::MAX).max(1);
    moment / length
}
