//! Judges whether a mail holds what an attempt waits for.

use extract::{Decision, Extraction, WordLimit, reads_as_words};
use pipeline::{
    ArtifactKind, AttemptRules, MAX_DOMAIN, MissKind, Reason, SENDER_NOT_ALLOWED,
    SENDER_NOT_VERIFIED, Sender, TokenError, Wanted, refuse_sender, token_of,
};

use crate::finding::Finding;

const HOST_NOT_ALLOWED: Reason = Reason::new("host_not_allowed");

/// The result of judging a mail for an attempt.
pub(crate) enum Judgement {
    /// The mail holds what the attempt waits for.
    Suits(Finding),
    /// It does not, for this reason.
    Misses(MissKind, Reason),
}

impl Judgement {
    /// A rule blocks the mail.
    pub(crate) fn blocked(reason: Reason) -> Self {
        Self::Misses(MissKind::Blocked, reason)
    }
}

/// Judges a mail by the rules of an attempt. `mail` is the decision under the attempt's
/// own allowlist.
pub(crate) fn judge(rules: &AttemptRules, sender: &Sender, mail: &Decision) -> Judgement {
    if let Some(reason) = judge_sender(sender, &rules.senders, rules.needs_proof) {
        return Judgement::blocked(reason);
    }
    let Some(finding) = wanted(mail, rules.wanted) else {
        return Judgement::Misses(MissKind::NoArtifact, absence(mail, rules.wanted));
    };
    if let Some(reason) = finding.verdict.reason() {
        return Judgement::blocked(reason.clone());
    }
    if let Some(error) = lack_of_token(&finding, rules.token.as_deref()) {
        return Judgement::blocked(Reason::new(error.as_str()));
    }
    Judgement::Suits(finding)
}

/// Why the sender of a mail is not accepted, if so.
pub(crate) fn judge_sender(
    sender: &Sender,
    allowed: &[String],
    needs_proof: bool,
) -> Option<Reason> {
    let domain = sender.domain.as_deref();
    refuse_sender(domain, &sender.proof, allowed, needs_proof)
}

/// The domain that a list refused: of the sender, or of the host of the link.
pub(crate) fn refused_domain(reason: &Reason, sender: &Sender, mail: &Decision) -> Option<String> {
    let domain = match reason {
        reason if *reason == SENDER_NOT_ALLOWED => sender.domain.as_ref()?,
        reason if *reason == HOST_NOT_ALLOWED => mail.refused_host.as_ref()?,
        _ => return None,
    };
    (domain.len() <= MAX_DOMAIN).then(|| domain.clone())
}

/// Whether the reason is about the sender only.
pub(crate) fn is_of_sender(reason: &Reason) -> bool {
    [SENDER_NOT_ALLOWED, SENDER_NOT_VERIFIED].contains(reason)
}

/// Why a link has no token, if one is wanted.
fn lack_of_token(finding: &Finding, token: Option<&str>) -> Option<TokenError> {
    match (token, &finding.value, finding.kind) {
        (Some(name), Some(link), ArtifactKind::Link) => match token_of(link, name) {
            Ok(token) if reads_as_words(&token, WordLimit::Token) => Some(TokenError::Unfit),
            token => token.err(),
        },
        _ => None,
    }
}

/// The artifact that is wanted. Of a code and a link that are both usable, the one with
/// more confidence; at equal confidence the code.
fn wanted(mail: &Decision, wanted: Wanted) -> Option<Finding> {
    let (code, link) = (Finding::of_code(&mail.code), Finding::of_link(&mail.link));
    let rank = |finding: &Finding| (finding.is_usable(), finding.confidence);
    match (wanted, code, link) {
        (Wanted::Code, code, _) => code,
        (Wanted::Link, _, link) => link,
        (Wanted::Either, Some(code), Some(link)) if rank(&link) > rank(&code) => Some(link),
        (Wanted::Either, code, link) => code.or(link),
    }
}

/// Why the mail holds nothing that is wanted.
fn absence(mail: &Decision, wanted: Wanted) -> Reason {
    let slug = match (wanted, &mail.code, &mail.link) {
        (Wanted::Code, Extraction::Nothing(_), Extraction::Found(_)) => "link_instead",
        (Wanted::Link, Extraction::Found(_), Extraction::Nothing(_)) => "code_instead",
        (Wanted::Link, _, Extraction::Nothing(reason))
        | (Wanted::Code | Wanted::Either, Extraction::Nothing(reason), _) => reason.as_str(),
        _ => "nothing_found",
    };
    Reason::new(slug)
}
