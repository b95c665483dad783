//! Whether what a mail holds is what an attempt waits for.

use extract::{Extracted, Verdict as Found};
use pipeline::{
    ArtifactKind, AttemptRules, MissKind, Reason, Sender, TokenError, Wanted, token_of,
};

use crate::finding::Finding;

const SENDER_NOT_ALLOWED: Reason = Reason::new("sender_not_allowed");
const SENDER_NOT_VERIFIED: Reason = Reason::new("sender_not_verified");

/// What a mail is to an attempt.
pub(crate) enum Judgement {
    /// It holds what is waited for.
    Suits(Finding),
    /// It does not, for this reason.
    Misses(MissKind, Reason),
}

impl Judgement {
    /// A rule keeps it back.
    pub(crate) fn blocked(reason: Reason) -> Self {
        Self::Misses(MissKind::Blocked, reason)
    }
}

/// Judges a mail by the rules of an attempt, read by the attempt's allowlist.
pub(crate) fn judge(rules: &AttemptRules, sender: &Sender, mail: &Extracted) -> Judgement {
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

/// Why the sender of a mail does not count, if so.
pub(crate) fn judge_sender(
    sender: &Sender,
    allowed: &[String],
    needs_proof: bool,
) -> Option<Reason> {
    if !is_allowed_sender(sender.domain.as_deref(), allowed) {
        return Some(SENDER_NOT_ALLOWED);
    }
    (needs_proof && !sender.proof.holds()).then_some(SENDER_NOT_VERIFIED)
}

/// Whether a mail is kept back for its sender alone.
pub(crate) fn is_of_sender(reason: &Reason) -> bool {
    [SENDER_NOT_ALLOWED, SENDER_NOT_VERIFIED].contains(reason)
}

/// Why a link has no token to give, if one is wanted of it.
fn lack_of_token(finding: &Finding, token: Option<&str>) -> Option<TokenError> {
    match (token, &finding.value, finding.kind) {
        (Some(name), Some(link), ArtifactKind::Link) => token_of(link, name).err(),
        _ => None,
    }
}

/// Whether the domain is one of these or below one; with none named every one
/// is, also none at all.
fn is_allowed_sender(domain: Option<&str>, allowed: &[String]) -> bool {
    let is_below = |domain: &str, parent: &String| {
        domain
            .strip_suffix(parent.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    allowed.is_empty()
        || domain.is_some_and(|domain| allowed.iter().any(|parent| is_below(domain, parent)))
}

/// What the mail holds of what is wanted; of two usable things the surer one,
/// a code first.
fn wanted(mail: &Extracted, wanted: Wanted) -> Option<Finding> {
    let (code, link) = (Finding::of_code(&mail.code), Finding::of_link(&mail.link));
    let rank = |finding: &Finding| (finding.is_usable(), finding.confidence);
    match (wanted, code, link) {
        (Wanted::Code, code, _) => code,
        (Wanted::Link, _, link) => link,
        (Wanted::Either, Some(code), Some(link)) if rank(&link) > rank(&code) => Some(link),
        (Wanted::Either, code, link) => code.or(link),
    }
}

/// Why nothing of what is wanted was found.
fn absence(mail: &Extracted, wanted: Wanted) -> Reason {
    let slug = match (wanted, &mail.code, &mail.link) {
        (Wanted::Link, _, Found::Nothing(reason))
        | (Wanted::Code | Wanted::Either, Found::Nothing(reason), _) => reason.as_str(),
        _ => "nothing_found",
    };
    Reason::new(slug)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn senders_are_compared_on_dot_boundaries() {
        let allowed = ["example.com".to_owned()];
        for domain in ["example.com", "mail.example.com"] {
            assert!(is_allowed_sender(Some(domain), &allowed), "{domain}");
        }
        for domain in ["badexample.com", "example.com.evil.test", "com", ""] {
            assert!(!is_allowed_sender(Some(domain), &allowed), "{domain}");
        }
        assert!(!is_allowed_sender(None, &allowed));
        assert!(is_allowed_sender(None, &[]));
    }
}
