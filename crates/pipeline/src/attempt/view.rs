//! The state of an attempt.

use std::time::Duration;

use super::{AttemptOutcome, AttemptRules, GIVEN_TO_ANOTHER_ATTEMPT, MissKind};
use crate::{ArtifactView, AttemptId, CallbackState, InboxId, Reason, Timestamp, Verdict};

/// Everything that is known of an attempt, without the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptView {
    /// The id of its row.
    pub id: AttemptId,
    /// The inbox that it waits on.
    pub inbox: InboxId,
    /// Which mail counts.
    pub rules: AttemptRules,
    /// The configured callback that receives the value instead of the agent.
    pub callback: Option<String>,
    /// The state of that callback, once there is a value.
    pub callback_state: Option<CallbackState>,
    /// When it was opened, by the database's clock; mail counts from then on.
    pub opened_at: Timestamp,
    /// When it stops waiting.
    pub deadline: Timestamp,
    /// For how long mail can still arrive: zero after the deadline, or when the inbox
    /// accepts no mail.
    pub remaining: Duration,
    /// Whether the deadline has passed.
    pub is_over: bool,
    /// Whether its inbox no longer accepts mail.
    pub inbox_has_ended: bool,
    /// How often the agent may still ask the sender for another mail.
    pub resends_left: u32,
    /// When the agent last asked the sender for another mail.
    pub resent_at: Option<Timestamp>,
    /// How it ended, if the agent reported it.
    pub outcome: Option<AttemptOutcome>,
    /// The newest artifact of this attempt.
    pub current: Option<ArtifactView>,
    /// Whether an artifact of this attempt was consumed.
    pub has_consumed: bool,
    /// Why the last mail that gave nothing did so.
    pub miss: Option<(MissKind, Reason)>,
    /// The domain that its list refused: of the sender, or of the host of the link.
    pub miss_seen: Option<String>,
}

/// The state of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptStatus {
    /// No mail has arrived yet.
    Pending,
    /// An artifact can be consumed.
    Ready,
    /// Its artifact was consumed.
    Consumed,
    /// An artifact was consumed, and a newer one has arrived that can be consumed too.
    Superseded,
    /// Mail arrived, and this rule withholds its value.
    Blocked(Reason),
    /// Mail arrived without a value that is safe to give out, for this reason.
    NoArtifact(Reason),
    /// The deadline has passed without any mail.
    NothingArrived,
    /// The artifact expired, or the deadline has passed, or no mail can arrive because
    /// the attempt was finished or its inbox has expired.
    Expired,
}

impl AttemptView {
    /// The state, decided by the newest artifact or mail.
    pub fn status(&self) -> AttemptStatus {
        if let Some(current) = &self.current {
            return match &current.verdict {
                _ if self.awaits_another(current) => AttemptStatus::Pending,
                _ if current.consumed_at.is_some() => AttemptStatus::Consumed,
                _ if current.is_expired || self.is_over || self.outcome.is_some() => {
                    AttemptStatus::Expired
                }
                Verdict::Withheld(reason) | Verdict::Abstained(reason) => {
                    AttemptStatus::Blocked(reason.clone())
                }
                Verdict::Usable if self.has_consumed => AttemptStatus::Superseded,
                Verdict::Usable => AttemptStatus::Ready,
            };
        }
        match &self.miss {
            // The mail for this attempt may still arrive.
            Some((_, reason)) if *reason == GIVEN_TO_ANOTHER_ATTEMPT && self.may_change() => {
                AttemptStatus::Pending
            }
            Some((MissKind::Blocked, reason)) => AttemptStatus::Blocked(reason.clone()),
            Some((MissKind::NoArtifact, reason)) => AttemptStatus::NoArtifact(reason.clone()),
            None if self.is_over => AttemptStatus::NothingArrived,
            None if self.may_change() => AttemptStatus::Pending,
            None => AttemptStatus::Expired,
        }
    }

    /// Whether the agent asked the sender for another mail after consuming this one.
    fn awaits_another(&self, current: &ArtifactView) -> bool {
        let was_asked = self.resent_at.zip(current.consumed_at);
        self.may_change() && was_asked.is_some_and(|(resent, consumed)| resent >= consumed)
    }

    /// Whether the state can still change.
    pub fn may_change(&self) -> bool {
        !self.is_over && self.outcome.is_none() && !self.inbox_has_ended
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::usable_code;
    use super::*;
    use crate::Wanted;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_millis(second * 1000)
    }

    fn attempt() -> AttemptView {
        AttemptView {
            id: AttemptId::new(),
            inbox: "agent@inbox.test".parse().unwrap(),
            rules: AttemptRules {
                wanted: Wanted::Code,
                senders: Vec::new(),
                needs_proof: false,
                links: None,
                token: None,
                expected: None,
            },
            callback: None,
            callback_state: None,
            opened_at: at(0),
            deadline: at(600),
            remaining: Duration::from_mins(10),
            is_over: false,
            inbox_has_ended: false,
            resends_left: 1,
            resent_at: None,
            outcome: None,
            current: None,
            has_consumed: false,
            miss: None,
            miss_seen: None,
        }
    }

    fn with_artifact() -> AttemptView {
        AttemptView {
            current: Some(usable_code(1)),
            ..attempt()
        }
    }

    fn consumed(second: i64) -> AttemptView {
        let mut view = with_artifact();
        if let Some(current) = &mut view.current {
            current.consumed_at = Some(at(second));
        }
        view.has_consumed = true;
        view
    }

    fn over(view: AttemptView) -> AttemptView {
        AttemptView {
            is_over: true,
            remaining: Duration::ZERO,
            ..view
        }
    }

    #[test]
    fn attempt_without_mail_is_pending_and_after_its_deadline_nothing_arrived() {
        assert_eq!(attempt().status(), AttemptStatus::Pending);
        assert_eq!(over(attempt()).status(), AttemptStatus::NothingArrived);
    }

    #[test]
    fn miss_decides_the_status_before_and_after_the_deadline() {
        let why = Reason::new("host_not_allowed");
        let view = AttemptView {
            miss: Some((MissKind::Blocked, why.clone())),
            ..attempt()
        };
        assert_eq!(view.status(), AttemptStatus::Blocked(why.clone()));
        assert_eq!(over(view).status(), AttemptStatus::Blocked(why.clone()));
        let view = AttemptView {
            miss: Some((MissKind::NoArtifact, why.clone())),
            ..attempt()
        };
        assert_eq!(view.status(), AttemptStatus::NoArtifact(why));
    }

    #[test]
    fn mail_given_to_another_attempt_counts_only_after_the_deadline() {
        let view = AttemptView {
            miss: Some((MissKind::NoArtifact, GIVEN_TO_ANOTHER_ATTEMPT)),
            ..attempt()
        };
        assert_eq!(view.status(), AttemptStatus::Pending);
        assert_eq!(
            over(view).status(),
            AttemptStatus::NoArtifact(GIVEN_TO_ANOTHER_ATTEMPT)
        );
    }

    #[test]
    fn newest_artifact_decides_the_status() {
        assert_eq!(with_artifact().status(), AttemptStatus::Ready);
        assert_eq!(over(with_artifact()).status(), AttemptStatus::Expired);
        assert_eq!(consumed(5).status(), AttemptStatus::Consumed);
        assert_eq!(over(consumed(5)).status(), AttemptStatus::Consumed);
        let newer = AttemptView {
            has_consumed: true,
            ..with_artifact()
        };
        assert_eq!(newer.status(), AttemptStatus::Superseded);
    }

    #[test]
    fn finished_attempt_is_expired_unless_it_was_consumed() {
        let finished = |view| AttemptView {
            outcome: Some(AttemptOutcome::Abandoned),
            ..view
        };
        assert_eq!(finished(attempt()).status(), AttemptStatus::Expired);
        assert_eq!(finished(with_artifact()).status(), AttemptStatus::Expired);
        assert_eq!(finished(consumed(5)).status(), AttemptStatus::Consumed);
    }

    #[test]
    fn expired_inbox_expires_the_attempt_unless_an_artifact_is_ready() {
        let ended = |view| AttemptView {
            inbox_has_ended: true,
            ..view
        };
        assert_eq!(ended(attempt()).status(), AttemptStatus::Expired);
        assert_eq!(
            ended(over(attempt())).status(),
            AttemptStatus::NothingArrived
        );
        assert_eq!(ended(with_artifact()).status(), AttemptStatus::Ready);
    }

    #[test]
    fn resend_after_a_consume_is_pending_until_the_deadline() {
        let resent = |second| AttemptView {
            resent_at: Some(at(second)),
            ..consumed(5)
        };
        assert_eq!(resent(4).status(), AttemptStatus::Consumed);
        assert_eq!(resent(6).status(), AttemptStatus::Pending);
        assert_eq!(over(resent(6)).status(), AttemptStatus::Consumed);
    }
}
