//! From what the extractor found to the little that is kept and shown.

use std::time::Duration;

use pipeline::{
    ArtifactId, ArtifactKey, ArtifactKind, AttemptId, AttemptMatch, Expectation, InboxId,
    MessageId, MessageKey, Miss, NewArtifact, NewMessage, Sender, ServerKey, SourceName, Timestamp,
};
use secrecy::SecretString;

use crate::decisions::{Decisions, Terms};
use crate::finding::Finding;
use crate::handling::Handled;
use crate::judge::{Judgement, is_of_sender, judge, judge_sender, refused_domain};

/// What is needed besides the mail itself.
pub(crate) struct Minimizer<'a> {
    pub(crate) server_key: &'a ServerKey,
    /// The source, and its provider's id for the mail.
    pub(crate) named: Option<(&'a SourceName, &'a str)>,
    /// Whether the operator wants every sender proven.
    pub(crate) needs_proof: bool,
    pub(crate) recorded_at: Timestamp,
    pub(crate) received_at: Option<Timestamp>,
    pub(crate) lifetime: Duration,
    pub(crate) same_value_window: Duration,
}

/// An inbox that a mail was sent to.
pub(crate) struct Recipient {
    pub(crate) inbox: InboxId,
    pub(crate) expected: Expectation,
    /// The sender, and whether it is proven to this inbox.
    pub(crate) sender: Sender,
    /// What rules did with the mail, and what a reply needs.
    pub(crate) handled: Handled,
}

/// The message for one inbox, with at least one artifact: when nothing was
/// found, an item that says so and why. A mail that a rule dropped has none.
pub(crate) fn minimize(
    decisions: &Decisions,
    recipient: Recipient,
    with: &Minimizer<'_>,
) -> NewMessage {
    let Recipient {
        inbox,
        expected,
        sender,
        handled,
    } = recipient;
    let mail = decisions.under(&Terms::of_inbox(&expected));
    let identity = &decisions.identity;
    let message_id = identity.message_id.as_deref();
    let key = MessageKey::new(with.server_key, &inbox, message_id, &identity.content);
    let named = with.named;
    let provider_key =
        named.map(|(source, id)| MessageKey::of_provider(with.server_key, source, &inbox, id));
    let (findings, misses) = if handled.is_dropped {
        (Vec::new(), Vec::new())
    } else {
        find(decisions, &expected, &sender, with.needs_proof)
    };
    let lifetime = expected.rules.lifetime.unwrap_or(with.lifetime);
    let artifacts = findings.into_iter().map(|finding| {
        let key = artifact_key(&finding, (&inbox, &sender), &key, with);
        artifact(finding, key, lifetime, with.server_key)
    });
    let artifacts = artifacts.collect();
    NewMessage {
        id: MessageId::new(),
        key,
        provider_key,
        sender,
        flags: mail
            .flags
            .iter()
            .map(|flag| flag.as_str().to_owned())
            .chain(handled.labels)
            .collect(),
        received_at: with.received_at,
        artifacts,
        misses,
        inbox,
        handling: handled.handling,
    }
}

/// The findings for an inbox, each with the attempts that it matches, and for every other
/// attempt the reason why it gets nothing.
fn find(
    decisions: &Decisions,
    expected: &Expectation,
    sender: &Sender,
    needs_proof: bool,
) -> (Vec<Finding>, Vec<Miss>) {
    let needs_proof = needs_proof || expected.rules.needs_proof;
    let refusal = judge_sender(sender, &expected.rules.senders, needs_proof);
    let (mut suited, mut misses) = (Vec::new(), Vec::new());
    for attempt in &expected.attempts {
        let decision = decisions.under(&Terms::of_attempt(expected, attempt));
        let judgement = match &refusal {
            Some(reason) => Judgement::blocked(reason.clone()),
            None => judge(&attempt.rules, sender, decision),
        };
        match judgement {
            Judgement::Suits(finding) => suit(&mut suited, finding, attempt.id),
            Judgement::Misses(kind, reason) => misses.push(Miss {
                attempt: attempt.id,
                kind,
                seen: refused_domain(&reason, sender, decision),
                reason,
            }),
        }
    }
    // A mail that matches one attempt is not reported to the attempts that wait for other
    // senders: their mail may still arrive.
    if !suited.is_empty() {
        misses.retain(|miss| !is_of_sender(&miss.reason));
    }
    let mail = decisions.under(&Terms::of_inbox(expected));
    let general = [Finding::of_code(&mail.code), Finding::of_link(&mail.link)];
    let general = general.into_iter().flatten().map(|finding| match &refusal {
        Some(reason) => Finding::withheld(finding.kind, reason.clone()),
        None => finding,
    });
    let general: Vec<Finding> = general.collect();
    let is_same = |one: &Finding, other: &Finding| {
        one.kind == other.kind && one.value == other.value && other.is_usable()
    };
    for own in &mut suited {
        own.needs_attempt = !general.iter().any(|other| is_same(own, other));
    }
    for finding in general {
        // What matches an attempt replaces what is withheld, and the same value.
        let replaces = |own: &Finding| {
            own.kind == finding.kind && (!finding.is_usable() || own.value == finding.value)
        };
        if !suited.iter().any(replaces) {
            suited.push(finding);
        }
    }
    if suited.is_empty() {
        suited.push(Finding::nothing(mail));
    }
    (suited, misses)
}

/// Adds an attempt to the finding that it matches. Equal values are one finding.
fn suit(suited: &mut Vec<Finding>, finding: Finding, attempt: AttemptId) {
    let same = suited
        .iter_mut()
        .find(|other| other.kind == finding.kind && other.value == finding.value);
    match same {
        Some(same) => same.suits.push(attempt),
        None => suited.push(Finding {
            suits: vec![attempt],
            ..finding
        }),
    }
}

fn artifact_key(
    finding: &Finding,
    (inbox, sender): (&InboxId, &Sender),
    message: &MessageKey,
    with: &Minimizer<'_>,
) -> ArtifactKey {
    match &finding.value {
        Some(value) => ArtifactKey::for_value(
            with.server_key,
            inbox,
            finding.kind,
            &from_sender(value, sender),
            window(with.recorded_at, with.same_value_window),
        ),
        None => ArtifactKey::for_message(with.server_key, message.as_bytes(), finding.kind),
    }
}

/// A value together with its sender. A stranger who guesses a short code and sends it
/// first must not make the real one a duplicate.
fn from_sender(value: &str, sender: &Sender) -> String {
    let domain = sender.domain.as_deref().unwrap_or_default();
    let proven = if sender.proof.holds() { "proven" } else { "" };
    format!("{value}\0{domain}\0{proven}")
}

fn artifact(
    finding: Finding,
    key: ArtifactKey,
    lifetime: Duration,
    server_key: &ServerKey,
) -> NewArtifact {
    let value = finding.value.unwrap_or_default();
    let suit = |&attempt: &AttemptId| AttemptMatch {
        attempt,
        key: ArtifactKey::for_attempt(server_key, attempt, finding.kind, &value),
    };
    let matches = finding.suits.iter().map(suit).collect();
    let is_usable = finding.verdict.reason().is_none() && finding.kind != ArtifactKind::Nothing;
    NewArtifact {
        id: ArtifactId::new(),
        key,
        kind: finding.kind,
        verdict: finding.verdict,
        value: is_usable.then(|| SecretString::from(value)),
        rule: finding.rule,
        confidence: finding.confidence,
        host: finding.host,
        lifetime,
        matches,
        needs_attempt: finding.needs_attempt,
    }
}

/// The number of the time window that a moment is in, counted from the Unix epoch.
fn window(moment: Timestamp, length: Duration) -> u64 {
    let moment = u64::try_from(moment.as_millis()).unwrap_or(0);
    let length = u64::try_from(length.as_millis()).unwrap_or(u64::MAX).max(1);
    moment / length
}
