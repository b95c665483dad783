//! Mail that arrived before an attempt was opened, for an attempt that asks for it.

use std::cmp::Reverse;

use super::{AttemptRules, GIVEN_TO_ANOTHER_ATTEMPT, MissKind};
use crate::{
    ArtifactId, ArtifactKind, ArtifactView, MAX_DOMAIN, Reason, SENDER_NOT_ALLOWED, Verdict,
    refuse_sender,
};

/// The reason of a miss when the newest value had been consumed before the attempt was
/// opened. Older values are stale then.
pub const ALREADY_CONSUMED: Reason = Reason::new("already_consumed");

/// What the earlier mail of an inbox means to an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Earlier {
    /// It has a value for the attempt.
    Value(ArtifactId),
    /// It has none; the state of the attempt says why.
    Miss {
        /// Whether something was withheld or nothing was found.
        kind: MissKind,
        /// The rule that decided.
        reason: Reason,
        /// The domain that a list refused.
        seen: Option<String>,
    },
    /// There is no earlier mail that matters.
    Nothing,
}

impl Earlier {
    /// Chooses among the items of an inbox: the newest value that fits, and none that is
    /// older than a value that was consumed or replaced. Without one, the newest value that
    /// does not fit explains why; if there is no value at all, the newest mail does.
    pub fn choose(rules: &AttemptRules, mut items: Vec<ArtifactView>) -> Self {
        items.sort_by_key(|item| Reverse((item.received_at, item.seq)));
        let (mut explanation, mut last_resort) = (None, None);
        for item in items.iter().filter(|item| !item.is_expired) {
            match Meaning::of(rules, item) {
                Meaning::Fits => return Self::Value(item.id),
                Meaning::IsUsed(miss) => {
                    explanation = explanation.or(miss);
                    break;
                }
                Meaning::Explains(miss) => explanation = explanation.or(Some(miss)),
                Meaning::Irrelevant => {}
                Meaning::HasNoValue(miss) => last_resort = last_resort.or(Some(miss)),
            }
        }
        explanation.or(last_resort).unwrap_or(Self::Nothing)
    }
}

/// What one item means to an attempt.
enum Meaning {
    /// The attempt can have it.
    Fits,
    /// It was consumed or replaced, or belongs to another attempt, so older ones are stale.
    IsUsed(Option<Earlier>),
    /// It is a value of the wanted kind that the attempt cannot have.
    Explains(Earlier),
    /// It is from another sender, and it was consumed or replaced or belongs to an attempt.
    Irrelevant,
    /// It is no value of the wanted kind.
    HasNoValue(Earlier),
}

impl Meaning {
    fn of(rules: &AttemptRules, item: &ArtifactView) -> Self {
        if !rules.wanted.includes(item.kind) {
            return Self::HasNoValue(no_artifact(match item.kind {
                ArtifactKind::Code => Reason::new("code_instead"),
                ArtifactKind::Link => Reason::new("link_instead"),
                ArtifactKind::Nothing => match &item.verdict {
                    Verdict::Withheld(reason) | Verdict::Abstained(reason) => reason.clone(),
                    Verdict::Usable => Reason::new("nothing_found"),
                },
            }));
        }
        let domain = item.sender_domain.as_deref();
        let needs_proof = rules.needs_proof;
        let refusal = refuse_sender(domain, &item.sender_proof, &rules.senders, needs_proof);
        if refusal == Some(SENDER_NOT_ALLOWED) {
            let was_taken =
                item.consumed_at.is_some() || item.is_superseded || item.attempt.is_some();
            return if was_taken {
                Self::Irrelevant
            } else {
                Self::Explains(blocked(SENDER_NOT_ALLOWED, domain))
            };
        }
        if item.consumed_at.is_some() {
            return Self::IsUsed(Some(no_artifact(ALREADY_CONSUMED)));
        }
        // What replaced it is among the items, too.
        if item.is_superseded {
            return Self::IsUsed(None);
        }
        if item.attempt.is_some() {
            return Self::IsUsed(Some(no_artifact(GIVEN_TO_ANOTHER_ATTEMPT)));
        }
        match (refusal, &item.verdict) {
            (Some(reason), _) => Self::Explains(blocked(reason, None)),
            (None, Verdict::Withheld(reason) | Verdict::Abstained(reason)) => {
                Self::Explains(blocked(reason.clone(), None))
            }
            (None, Verdict::Usable) => Self::Fits,
        }
    }
}

fn blocked(reason: Reason, seen: Option<&str>) -> Earlier {
    Earlier::Miss {
        kind: MissKind::Blocked,
        reason,
        seen: seen
            .filter(|domain| domain.len() <= MAX_DOMAIN)
            .map(str::to_owned),
    }
}

fn no_artifact(reason: Reason) -> Earlier {
    Earlier::Miss {
        kind: MissKind::NoArtifact,
        reason,
        seen: None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::usable_code;
    use super::*;
    use crate::{AttemptId, Wanted};

    fn rules(senders: &[&str]) -> AttemptRules {
        AttemptRules {
            wanted: Wanted::Code,
            senders: senders.iter().map(|&one| one.to_owned()).collect(),
            needs_proof: false,
            links: None,
            token: None,
            expected: None,
        }
    }

    fn code(second: i64, domain: &str) -> ArtifactView {
        ArtifactView {
            sender_domain: Some(domain.to_owned()),
            ..usable_code(second)
        }
    }

    fn consumed(item: ArtifactView) -> ArtifactView {
        ArtifactView {
            consumed_at: Some(item.received_at),
            ..item
        }
    }

    fn withheld(item: ArtifactView, reason: &'static str) -> ArtifactView {
        ArtifactView {
            verdict: Verdict::Withheld(Reason::new(reason)),
            ..item
        }
    }

    fn reason(choice: Earlier) -> &'static str {
        let Earlier::Miss { reason, .. } = choice else {
            panic!("{choice:?}");
        };
        let known = Reason::FOR_AGENTS.iter();
        let mut known = known.filter(|(word, _)| *word == reason.as_str());
        known.next().unwrap().0
    }

    #[test]
    fn newest_value_is_chosen_also_behind_one_that_is_withheld() {
        let items = [code(1, "a.test"), code(3, "a.test"), code(2, "a.test")];
        let newest = Earlier::Value(items[1].id);
        let mut items = items.to_vec();
        items.push(withheld(code(4, "a.test"), "ambiguous"));
        assert_eq!(Earlier::choose(&rules(&[]), items), newest);
        assert_eq!(Earlier::choose(&rules(&[]), Vec::new()), Earlier::Nothing);
    }

    #[test]
    fn value_older_than_a_used_one_is_stale() {
        let used = consumed(code(2, "a.test"));
        let items = vec![code(1, "a.test"), used];
        assert_eq!(
            reason(Earlier::choose(&rules(&[]), items)),
            "already_consumed"
        );
        let replaced = ArtifactView {
            is_superseded: true,
            ..code(2, "a.test")
        };
        let items = vec![code(1, "a.test"), replaced];
        assert_eq!(Earlier::choose(&rules(&[]), items), Earlier::Nothing);
    }

    #[test]
    fn used_value_of_another_sender_leaves_older_ones_fresh() {
        let older = code(1, "mail.a.test");
        let items = vec![consumed(code(2, "b.test")), older.clone()];
        let choice = Earlier::choose(&rules(&["a.test"]), items);
        assert_eq!(choice, Earlier::Value(older.id));
    }

    #[test]
    fn every_value_that_does_not_fit_says_why() {
        let of_attempt = ArtifactView {
            attempt: Some(AttemptId::new()),
            ..code(1, "a.test")
        };
        let link = ArtifactView {
            kind: ArtifactKind::Link,
            ..code(2, "a.test")
        };
        for (item, word) in [
            (code(1, "b.test"), "sender_not_allowed"),
            (withheld(code(1, "a.test"), "ambiguous"), "ambiguous"),
            (of_attempt, "given_to_another_attempt"),
            (link.clone(), "link_instead"),
        ] {
            // The link came later and says less.
            let choice = Earlier::choose(&rules(&["a.test"]), vec![link.clone(), item]);
            assert_eq!(reason(choice), word);
        }
        let proven_only = AttemptRules {
            needs_proof: true,
            ..rules(&[])
        };
        let choice = Earlier::choose(&proven_only, vec![code(1, "a.test")]);
        assert_eq!(reason(choice), "sender_not_verified");
    }

    #[test]
    fn expired_items_explain_nothing() {
        let expired = ArtifactView {
            is_expired: true,
            ..code(1, "a.test")
        };
        assert_eq!(
            Earlier::choose(&rules(&[]), vec![expired]),
            Earlier::Nothing
        );
    }
}
