//! A code or a link in one common form.

use std::fmt;

use extract::{Code, Decision, Extraction, Link};
use pipeline::{ArtifactKind, AttemptId, Reason, Verdict};

/// The result of the extractor for one kind of artifact.
#[derive(Clone)]
pub(crate) struct Finding {
    pub(crate) kind: ArtifactKind,
    pub(crate) verdict: Verdict,
    pub(crate) value: Option<String>,
    pub(crate) rule: Reason,
    pub(crate) confidence: u8,
    pub(crate) host: Option<String>,
    /// The attempts that it matches.
    pub(crate) suits: Vec<AttemptId>,
    /// The rules of the inbox alone withhold it.
    pub(crate) needs_attempt: bool,
}

/// Leaves the value out, because it must not reach a log.
impl fmt::Debug for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Finding")
            .field("kind", &self.kind)
            .field("verdict", &self.verdict)
            .field("rule", &self.rule)
            .field("suits", &self.suits)
            .finish_non_exhaustive()
    }
}

impl Finding {
    /// The mail's code, if it has one.
    pub(crate) fn of_code(found: &Extraction<Code>) -> Option<Self> {
        let kind = ArtifactKind::Code;
        match found {
            Extraction::Found(code) => Some(Self {
                kind,
                verdict: Verdict::Usable,
                value: Some(code.value.clone()),
                rule: Reason::new(code.rule),
                confidence: code.confidence,
                host: None,
                suits: Vec::new(),
                needs_attempt: false,
            }),
            Extraction::Withheld(reason) => {
                Some(Self::withheld(kind, Reason::new(reason.as_str())))
            }
            Extraction::Nothing(_) => None,
        }
    }

    /// The mail's link, if it has one.
    pub(crate) fn of_link(found: &Extraction<Link>) -> Option<Self> {
        let kind = ArtifactKind::Link;
        match found {
            Extraction::Found(link) => Some(Self {
                kind,
                verdict: Verdict::Usable,
                value: Some(link.url.clone()),
                rule: Reason::new(link.kind.as_str()),
                confidence: link.confidence,
                host: Some(link.host.clone()),
                suits: Vec::new(),
                needs_attempt: false,
            }),
            Extraction::Withheld(reason) => {
                Some(Self::withheld(kind, Reason::new(reason.as_str())))
            }
            Extraction::Nothing(_) => None,
        }
    }

    /// The mail has an artifact of this kind, and it is withheld.
    pub(crate) fn withheld(kind: ArtifactKind, reason: Reason) -> Self {
        let verdict = Verdict::Withheld(reason.clone());
        Self::valueless(kind, verdict, reason)
    }

    /// The mail has no artifact. The reason is that of the code, which says most.
    pub(crate) fn nothing(mail: &Decision) -> Self {
        let reason = match &mail.code {
            Extraction::Nothing(reason) => Reason::new(reason.as_str()),
            Extraction::Found(_) | Extraction::Withheld(_) => Reason::new("nothing_found"),
        };
        let verdict = Verdict::Abstained(reason.clone());
        Self::valueless(ArtifactKind::Nothing, verdict, reason)
    }

    fn valueless(kind: ArtifactKind, verdict: Verdict, rule: Reason) -> Self {
        Self {
            kind,
            verdict,
            value: None,
            rule,
            confidence: 0,
            host: None,
            suits: Vec::new(),
            needs_attempt: false,
        }
    }

    /// Whether it may be handed out.
    pub(crate) fn is_usable(&self) -> bool {
        self.verdict == Verdict::Usable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_has_no_value() {
        let finding = Finding {
            value: Some("493817".to_owned()),
            ..Finding::withheld(ArtifactKind::Code, Reason::new("x"))
        };
        assert!(!format!("{finding:?}").contains("493817"));
    }
}
